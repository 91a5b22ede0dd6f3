"""Scenario: the queries that arrive, the servers that they share, the network, background load."""

import streamlit as st

from nona.app.layout.equivalents import equivalent
from nona.app.pages.models.times import pick_precision
from nona.app.pages.scenario.page import clusters_of, links, mix, more, servers, standing
from nona.app.pages.scenario.workload_facts import offered
from nona.app.session.workspace import current
from nona.app.widgets.fields import plain

state = current()
(cluster, tasks), load = clusters_of(state), offered(state)
standing(state, tasks, load)
if state.notice:
    st.warning(plain(state.notice), icon=":material/warning:")
mix(state, load)
servers(state, cluster, tasks)
links(state, cluster)
more(state, tasks)
with st.container(horizontal=True):
    pick_precision(state)
    equivalent(state, "place" if state.scenario.workload else "simulate", "--json", key="scenario")
