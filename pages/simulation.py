"""Simulation: does the cluster hold; schedulers compared live; what other numbers would change; a sweep."""

import streamlit as st

from nona.ui.pages.language import LANGUAGE
from nona.ui.pages.run_page import run_page
from nona.ui.pages.simulation import SIMULATION
from nona.ui.pages.simulation_holds import holds_panel
from nona.ui.pages.simulation_sweep import sweep_panel
from nona.ui.pages.simulation_what_if import what_if_drawer
from nona.ui.session.workspace import current
from nona.ui.shell.first_steps import no_queries
from nona.ui.widgets.fields import one_of
from studies.tabs import with_advice

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
    hint = "Run: every scheduler on the scenario as it is. Sweep: one number or two, many values."
    view = one_of("Ask by", VIEWS, "simulation-view", hint, label_visibility="collapsed")
    if view == "Run":
        hint = "Move sliders on a copy of the scenario, and every scheduler answers at once."
        st.toggle("What if?", key="what-if-open", persist_state="session", help=hint)
if view == "Sweep":
    sweep_panel(state)
else:
    what_if_drawer(state)
    run_page(state, with_advice(SIMULATION))
