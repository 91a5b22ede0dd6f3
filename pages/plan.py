"""Plan: what to buy so that every target holds, what it costs, and what it bears."""

from dataclasses import replace

import streamlit as st

from nona.app.layout.first_steps import examples, no_queries
from nona.app.pages.language.plan import LANGUAGE_PLAN
from nona.app.pages.planning.page import PLAN
from nona.app.pages.planning.question import DEMOS, count_card, start_screen
from nona.app.pages.run_page import run_page
from nona.app.session.workspace import current

state = current()
of_language = bool(state.scenario.language) and not state.scenario.workload
if not of_language and no_queries(state, "A plan"):
    examples(state, "plan", DEMOS)
    st.stop()
counts = state.scenario.plan is not None and state.scenario.plan.group is not None
if state.scenario.language and state.scenario.workload and not counts:
    st.info(
        "This scenario has queries and requests to language models. The cheapest cluster is planned for rows "
        "of one kind: take the others out on page Scenario; Undo brings them back.",
        icon=":material/info:",
    )
    count_card(state)
elif state.scenario.plan is None:
    start_screen(state)
elif of_language:
    run_page(state, LANGUAGE_PLAN)
else:
    run_page(state, replace(PLAN, label="Count servers") if counts else PLAN)
