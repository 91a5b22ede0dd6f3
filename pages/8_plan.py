"""Plan: what to buy so that every target holds, what it costs, and when it breaks."""

import streamlit as st

from nona.ui.pages.plan.files import plan_files
from nona.ui.pages.plan.form.controls import controls
from nona.ui.pages.plan.option_views import options_section
from nona.ui.pages.plan.run_area import run_area
from nona.ui.pages.plan.start import demo_screen, start_screen
from nona.ui.pages.plan.tabs import plan_tabs
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.no_queries import no_queries
from nona.ui.widgets.guide_link import guide_link

state = current()
if no_queries(state, "A plan"):
    demo_screen(state)
    st.stop()
if state.scenario.plan is None:
    start_screen(state)
else:
    controls(state)
    found = run_area(state)
    if found is not None:
        options_section(state, found.report)
        plan_tabs(found.report)
        plan_files(state, found)
    guide_link("plan", "How the plan is searched, and what its verdicts mean")
    equivalent(state, "plan", key="plan")
