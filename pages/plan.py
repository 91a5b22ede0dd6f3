"""Plan: what to buy so that every target holds, what it costs, and what it bears."""

import streamlit as st

from nona.ui.pages.models_times import pick_precision
from nona.ui.pages.plan import options_section, plan_files, plan_tabs, run_area
from nona.ui.pages.plan_question import controls, demo_screen, start_screen
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.first_steps import no_queries
from nona.ui.widgets.terms import guide_link

state = current()
if no_queries(state, "A plan"):
    demo_screen(state)
    st.stop()
if state.scenario.plan is None:
    start_screen(state)
else:
    controls(state)
    pick_precision(state)
    found = run_area(state)
    if found is not None:
        options_section(state, found.report)
        plan_tabs(found.report)
        plan_files(state, found)
    guide_link("plan", "How the plan is searched, and what its verdicts mean")
    equivalent(state, "plan", key="plan")
