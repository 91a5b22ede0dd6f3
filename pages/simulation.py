"""Simulation: does the cluster hold; schedulers compared live; what other numbers would change; a sweep."""

import streamlit as st

from nona.ui.pages.run_page import run_page
from nona.ui.pages.simulation import SIMULATION
from nona.ui.pages.simulation_holds import holds_panel
from nona.ui.pages.simulation_sweep import sweep_panel
from nona.ui.pages.simulation_what_if import what_if_drawer
from nona.ui.session.workspace import current
from nona.ui.shell.first_steps import no_queries

VIEWS = ("Run", "Sweep")

state = current()
if no_queries(state, "A simulation"):
    st.stop()
holds_panel(state)
view = st.segmented_control(
    "Ask by",
    VIEWS,
    default=VIEWS[0],
    required=True,
    label_visibility="collapsed",
    key="simulation-view",
    persist_state="session",
    help="Run: every scheduler on the scenario as it is. Sweep: one number or two, many values.",
)
if view == "Sweep":
    sweep_panel(state)
else:
    what_if_drawer(state)
    run_page(state, SIMULATION)
