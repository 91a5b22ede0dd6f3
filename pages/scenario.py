"""Scenario: the queries that arrive, the servers that they share, the network, background load."""

import streamlit as st

from nona.ui.pages.models_times import pick_precision
from nona.ui.pages.scenario import clusters_of, links, mix, more, servers, standing
from nona.ui.pages.workload_facts import offered
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.fields import plain

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
