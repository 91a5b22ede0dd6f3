"""ESG's search explained step by step."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import streamlit as st

from nona.app.pages.serverless.results import choose_one
from nona.app.session.state import AppState
from nona.app.widgets.components import declare
from nona.app.widgets.fields import plain, show_error, whole
from nona.app.widgets.results import table
from nona.core.errors import NonaError
from nona.core.figures import BAD, GOOD, PALETTE
from nona.core.options import Options
from nona.scenario.file import scenario_hash
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.esg.explain import Explanation, explain
from nona.serverless.policies.esg.policy import EsgPlanner, esg_planner
from nona.serverless.report.searches import best_paths, search_data
from nona.serverless.system import ServerlessSystem
from nona.serverless.workflows.preparation import prepare_serverless

_component = declare("searchview", why="no chart steps through a tree by keys and states reasons")


def _search_view(key: str, data: dict[str, object]) -> None:
    mark = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    colours = {"path": PALETTE[0], "best": GOOD, "time": BAD, "cost": PALETTE[2]}
    _component(key=key, data={**data, "sig": mark, "colours": colours})


LONGEST_QUEUE = 64


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """System and planner of the scenario that ``mark`` names."""

    mark: str
    system: ServerlessSystem
    planner: EsgPlanner


def search_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Draw the tab that explains one search of ESG step by step."""
    st.markdown(
        "How does ESG choose a configuration for this queue? Its search expands the cheapest open path "
        "first. The **time blade** cuts paths that cannot keep the limit; the **cost blade** cuts paths that "
        "cannot be among the best."
    )
    try:
        system, planner = _planner(state)
    except NonaError as error:
        show_error(error)
        return
    ask = _waiting_queue(system)
    explanation = explain(planner, ask)
    _why(system, ask, explanation)
    if explanation.trace.steps:
        _search_view("search-view", search_data(explanation, system.space))
    _best(system, explanation)


def _planner(state: AppState) -> tuple[ServerlessSystem, EsgPlanner]:
    """System and planner of the present scenario; kept until it changes."""
    mark = scenario_hash(state.scenario, "cluster", "workload", "models", "serverless", "seed")
    prepared = state.choices.find(PreparedSearch)
    if prepared is None or prepared.mark != mark:
        spec = state.scenario.serverless
        options: Options = next((p.options for p in spec.policies if p.name == "esg"), {}) if spec else {}
        system = prepare_serverless(state.scenario, state.uploads.sources)
        prepared = PreparedSearch(mark, system, esg_planner(system, options))
        state.choices.keep(prepared)
    return prepared.system, prepared.planner


def _waiting_queue(system: ServerlessSystem) -> WaitingQueue:
    names = [a.name for a in system.applications]
    with st.grid(4, min_column_width=165):
        hint = "The application whose queue is served."
        application = names.index(choose_one("Application ", names, "search-application", hint))
        app = system.applications[application]
        hint = "The function whose queue is served; later functions of its group are searched with it."
        stage = app.stage_names.index(choose_one("Stage", list(app.stage_names), "search-stage", hint))
        hint = "Jobs that wait in the queue; no batch may be larger."
        length = whole("Jobs in the queue", 1, LONGEST_QUEUE, 1, "serverless-shown-length", hint)
        left = st.slider(
            "Left of the SLO",
            5,
            150,
            100,
            5,
            format="%d %%",
            key="serverless-shown-slack",
            help="Time left when the stage starts, in per cent of the application's SLO. Waits, cold starts "
            "and slow stages reduce it.",
        )
    return WaitingQueue(application, stage, length, app.slo_s * left / 100)


def _why(system: ServerlessSystem, ask: WaitingQueue, explanation: Explanation) -> None:
    first = system.space[explanation.ranked[0]].text
    st.subheader(f"Why {plain(first)}?", anchor=False)
    st.markdown("\n".join(f"* {plain(line)}" for line in explanation.lines))


def _best(system: ServerlessSystem, explanation: Explanation) -> None:
    if explanation.trace.paths:
        alt = "The best paths of the search with the configuration of every function, time and cost"
        table(best_paths(explanation, system.space), "search-best", alt)
