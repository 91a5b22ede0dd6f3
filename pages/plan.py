"""Plan: what to buy so that every target holds, what it costs, and what it bears."""

from dataclasses import replace

import streamlit as st

from nona.app.layout.first_steps import examples, no_queries
from nona.app.pages.language.plan import LANGUAGE_PLAN
from nona.app.pages.planning.page import PLAN
from nona.app.pages.planning.question import DEMOS, start_screen
from nona.app.pages.run_page import run_page
from nona.app.session.workspace import current
from nona.app.widgets.fields import one_of

PARTS = ("Queries", "Requests to language models")

state = current()
of_language = bool(state.scenario.language) and not state.scenario.workload
if not of_language and no_queries(state, "A plan"):
    examples(state, "plan", DEMOS)
    st.stop()
counts = state.scenario.plan is not None and state.scenario.plan.group is not None
if state.scenario.language and state.scenario.workload and state.scenario.plan is not None and not counts:
    hint = "The servers of the other part stay as they are, and no option's cost counts them."
    of_language = one_of("Plan for", PARTS, "plan-part", hint) == PARTS[1]
if state.scenario.plan is None:
    start_screen(state, "language-plan" if of_language else "plan")
elif of_language:
    run_page(state, LANGUAGE_PLAN)
else:
    run_page(state, replace(PLAN, label="Count servers") if counts else PLAN)
