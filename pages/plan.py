"""Plan: what to buy so that every target holds, what it costs, and what it bears."""

import streamlit as st

from nona.ui.pages.language_plan import LANGUAGE_PLAN
from nona.ui.pages.plan import PLAN
from nona.ui.pages.plan_question import demo_screen, start_screen
from nona.ui.pages.run_page import run_page
from nona.ui.session.workspace import current
from nona.ui.shell.first_steps import no_queries

state = current()
of_language = bool(state.scenario.language) and not state.scenario.workload
if not of_language and no_queries(state, "A plan"):
    demo_screen(state)
    st.stop()
if state.scenario.language and state.scenario.workload:
    st.info(
        "This scenario has queries and requests to language models. A plan is for rows of one kind: take the "
        "others out on page Scenario; Undo brings them back.",
        icon=":material/info:",
    )
elif state.scenario.plan is None:
    start_screen(state)
elif of_language:
    run_page(state, LANGUAGE_PLAN)
else:
    run_page(state, PLAN)
