"""Simulation: does the cluster hold; schedulers compared live; what other numbers would change; a sweep."""

import streamlit as st

from evidence.tabs import with_advice
from nona.app.layout.first_steps import no_queries
from nona.app.pages.language.page import LANGUAGE
from nona.app.pages.queries.simulation import SIMULATION
from nona.app.pages.queries.simulation_holds import holds_panel
from nona.app.pages.queries.simulation_sweep import sweep_panel
from nona.app.pages.queries.simulation_what_if import what_if_drawer
from nona.app.pages.run_page import run_page
from nona.app.session.workspace import current
from nona.app.widgets.fields import one_of

VIEWS = ("Run", "Sweep")

state = current()
if state.scenario.language:
    if state.scenario.workload:
        st.subheader("Requests", anchor="requests")
    run_page(state, LANGUAGE)
    if not state.scenario.workload:
        st.stop()
    st.divider()
    st.subheader("Queries", anchor="queries")
if no_queries(state, "A simulation"):
    st.stop()
holds_panel(state)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    hint = "Run: every scheduler on the present scenario. Sweep: many values of one or two numbers."
    view = one_of("Ask by", VIEWS, "simulation-view", hint, label_visibility="collapsed")
    if view == "Run":
        hint = "Move sliders on a copy of the scenario; all schedulers are simulated at once."
        st.toggle("What if?", key="what-if-open", persist_state="session", help=hint)
if view == "Sweep":
    sweep_panel(state)
else:
    what_if_drawer(state)
    run_page(state, with_advice(SIMULATION))
