"""Simulation: one question's controls, then a run with live charts, quick what-ifs, or a sweep."""

import streamlit as st

from nona.ui.pages.simulation import controls, view_switch
from nona.ui.pages.simulation_result import result_views
from nona.ui.pages.simulation_runs import run_area, run_buttons, shown_run
from nona.ui.pages.simulation_sweep import sweep_panel
from nona.ui.pages.simulation_what_if import what_if
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.first_steps import no_queries

state = current()
if no_queries(state, "A simulation"):
    st.stop()
controls(state)
with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="simulation-start"):
    view = view_switch()
    running = view == "Run" and run_buttons(state)
if view == "What if":
    what_if(state)
elif view == "Sweep":
    sweep_panel(state)
else:
    run = shown_run(state)
    run_area(state, run, running)
    if run is not None:
        result_views(state, run)
    equivalent(state, "simulate", key="simulate")
