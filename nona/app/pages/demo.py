"""The demo: where it is, what a step found, and its bar above a page."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import streamlit as st

from nona.app.jobs.kinds import KINDS
from nona.app.layout.job_panel import ResultsByFingerprint, current_job, show_or_start, start
from nona.app.layout.run_keeper import ONLY_SAVED
from nona.app.pages.demo_questions import STORIES, DemoQuestion, DemoStep
from nona.app.pages.queries.simulation_sweep_settings import settings_of, sweep_version
from nona.app.session.imported import take_sample
from nona.app.session.kept import choose, is_kept
from nona.app.session.opening import open_shipped_scenario, shipped
from nona.app.session.state import AppState, Result
from nona.app.session.workspace import jobs
from nona.app.store.contents import scenario_of
from nona.app.widgets.components import COMPONENTS
from nona.app.widgets.fields import button, plain
from nona.language.report.tables import pace_finding
from nona.planning.report_plan import answer_text, cliff_finding, outcome_finding
from nona.planning.results import PlanOutcome
from nona.queries.placement.results import PlacementOutcome
from nona.queries.report.findings import headline, parts_finding
from nona.queries.report.placement.comparison import order_finding
from nona.queries.report.placement.layouts import layout_finding
from nona.queries.report.stage_loads import stage_finding
from nona.queries.sweeps.findings import stability_finding
from nona.queries.workflows.shipped import PLANNED, stored_result
from nona.scenario.file import scenario_hash
from nona.serverless.report.findings import serverless_finding
from nona.training.report.findings import training_finding

PARAMETER = "demo"
HOME = "pages/home.py"


@dataclass(frozen=True)
class DemoState:
    """The place in the stories; ``own`` is the session as it was, ``seen`` what steps have shown so far."""

    own: AppState
    question_index: int = 0
    step: int = 0
    shown_results: ResultsByFingerprint = field(default_factory=dict)

    @property
    def question(self) -> DemoQuestion:
        """The present story."""
        return STORIES[self.question_index]

    @property
    def place(self) -> str:
        """The present step as text, e.g. ``2.1``."""
        return f"{self.question_index + 1}.{self.step + 1}"

    @property
    def shown(self) -> DemoStep:
        """The present step."""
        return self.question.steps[self.step]


def tour_of(state: AppState) -> DemoState | None:
    """Return the demo's place while it is on; the person's own jobs go on meanwhile."""
    tour = state.choices.find(DemoState)
    if tour is not None:
        for job_id in tour.own.jobs.values():
            if job := jobs().get(job_id):
                job.mark_watched()
    return tour


def take_demo(state: AppState) -> DemoState | None:
    """Begin the demo that the address asks for (``?demo=1``, or another number); where it is then."""
    asked = st.query_params.get(PARAMETER)
    if asked is not None:
        del st.query_params[PARAMETER]
        number = int(asked) if asked.isdecimal() and 1 <= int(asked) <= len(STORIES) else 1
        begin(state, number - 1)
    return tour_of(state)


def begin(state: AppState, story: int = 0) -> None:
    """Set the person's session aside and go to the first step of a story."""
    tour = state.choices.find(DemoState)
    if tour is None:
        state.live.stop(jobs())
        tour = DemoState(copy.copy(state))
        _become(state, AppState(uploads=state.uploads, kept={ONLY_SAVED: True}))
    _go(state, replace(tour, question_index=story, step=0))


def press(state: AppState, key: str) -> None:
    """``next``, ``back`` or ``leave``; after the last step of a story comes the next question."""
    tour = state.choices.find(DemoState)
    if tour is None:
        return
    if key == "leave":
        _leave(state, tour)
        return
    place = _neighbour(tour, 1 if key == "next" else -1)
    if place is not None:
        _go(state, replace(tour, question_index=place[0], step=place[1]))


def press_key(state: AppState, message: str) -> None:
    """Take a key with the step it was pressed on: ``next 2.1``, ``back 2.1`` or ``leave 2.1``.

    One that arrives twice, or late, moves nothing. But it comes from the page of a step before, which
    Streamlit would draw again: so the demo's own page is asked for.
    """
    key, _, place = message.partition(" ")
    tour = state.choices.find(DemoState)
    if tour is None:
        return
    if place == tour.place:
        press(state, key)
    else:
        state.go_to = tour.shown.page


def can(tour: DemoState, key: str) -> bool:
    """Return whether there is a step in the direction of ``key``."""
    return _neighbour(tour, 1 if key == "next" else -1) is not None


def _neighbour(tour: DemoState, by: int) -> tuple[int, int] | None:
    places = [(s, i) for s, story in enumerate(STORIES) for i in range(len(story.steps))]
    at = places.index((tour.question_index, tour.step)) + by
    return places[at] if 0 <= at < len(places) else None


def _go(state: AppState, tour: DemoState) -> None:
    _take_shipped(tour)
    for kind, result in state.results.items():
        tour.shown_results[kind, result.fingerprint] = result
    before = state.choices.find(DemoState)
    if before is not None and before.question_index != tour.question_index:
        state.results = {}  # of another story: nothing of it is shown here
    step = tour.shown
    state.choices.keep(tour)
    if not open_shipped_scenario(state, tour.question.scenario, step.changes):
        return
    state.model = tour.question.model or state.model
    for key, value in step.choices:
        choose(state, key, value)
    if step.files:
        take_sample(state, step.files, answered=True)
    _pin(state, tour)
    if step.run:
        _show(state, tour, step.run)
    state.go_to = step.page


SHIPPED = "shipped"  # in place of the job of a result


def _take_shipped(tour: DemoState) -> None:
    """Take in the result of the search that would take longer than anybody waits in a demo."""
    if tour.question.scenario != PLANNED:
        return
    outcome = stored_result(PlanOutcome)
    scenario = scenario_of(outcome)
    version = scenario_hash(scenario, *KINDS.find("plan").parts)
    tour.shown_results.setdefault(
        ("plan", version), Result(version, outcome, SHIPPED, scenario, scenario.name)
    )


def _pin(state: AppState, tour: DemoState) -> None:
    state.runs.pinned = None
    if tour.shown.against:
        before = shipped(tour.question.scenario, tour.question.steps[tour.step - 1].changes)
        mark = scenario_hash(before, *KINDS.find("simulate").parts)
        run = next((k for k in reversed(state.runs.kept) if k.fingerprint == mark), None)
        state.runs.pinned = run.number if run else None


def _show(state: AppState, tour: DemoState, kind: str) -> None:
    """Put the result of that kind on the page, or start the job that makes it; no other one stays."""
    mark = _mark_of(state, kind)
    show_or_start(state, kind, _job_request(state, kind), mark, tour.shown_results)
    if (shown := state.results.get(kind)) is not None and shown.fingerprint != mark:
        del state.results[kind]


def _job_request(state: AppState, kind: str) -> Mapping[str, Any]:
    """Return the request of the present step to a job of that kind, beyond the scenario."""
    return settings_of(state).to_json() if kind == "sweep" else {}


def _mark_of(state: AppState, kind: str) -> str:
    """Return the fingerprint of what a result of that kind is asked for at the present step."""
    if kind == "sweep":
        return sweep_version(state.scenario, settings_of(state))
    return state.fingerprint(kind)


def _leave(state: AppState, tour: DemoState) -> None:
    for kind in KINDS:
        job = jobs().get(state.jobs.get(kind))
        if job is not None and job.unfinished:
            job.cancel()
    _become(state, tour.own)
    for key in [str(k) for k in st.session_state if is_kept(str(k))]:
        if key in state.kept:
            st.session_state[key] = state.kept[key]
        else:
            del st.session_state[key]
    state.go_to = HOME


def _become(state: AppState, other: AppState) -> None:
    """Take over every field of ``other``; all input fields are drawn again."""
    for f in fields(AppState):
        if f.name != "screens":
            setattr(state, f.name, getattr(other, f.name))
    state.screens.changed(moved=True)
    state.revision += 1


def outcome_text(state: AppState, step: DemoStep) -> str:
    """Return the finding that the step is about: of its run, once the result is there; else empty."""
    tab = next((str(value) for key, value in step.choices if key.endswith("-tabs")), "")
    result = state.results.get(step.run)
    if result is None or result.fingerprint != _mark_of(state, step.run):
        return ""
    return FINDINGS[step.run](result.data, tab)


def _plan(outcome: PlanOutcome, tab: str) -> str:
    if outcome.report.answer is None:
        return ""
    finding = outcome_finding(outcome)
    if tab == "Failures":
        return " ".join(f"Without {f.lost}: {f.verdict}." for f in outcome.report.failures)
    if tab == "Costs":
        return f"{answer_text(outcome.report.answer, outcome.report.currency)}."
    if tab == "More traffic" and outcome.report.group is not None:  # counted servers: it is not in the lead
        return f"{finding.lead} {cliff_finding(outcome.report)}"
    return finding.beside if tab == "Evidence" else finding.lead


def _placed(placement: PlacementOutcome) -> str:
    found = placement.nona.layouts
    return f"{order_finding(placement)}." if found is None else layout_finding(found)


# Of the result of each kind of job, on a tab.
FINDINGS: Mapping[str, Callable[[Any, str], str]] = {
    "place": lambda placement, tab: _placed(placement),
    "simulate": lambda run, tab: (
        f"{parts_finding(run.report.schedulers)} {stage_finding(run.report.stages)}".strip()
        if tab == "Where time goes"
        else headline(run.report.schedulers, run.differences, run.off).text
    ),
    "language": lambda run, tab: pace_finding(run.report),
    "sweep": lambda outcome, tab: stability_finding(outcome),
    "plan": _plan,
    "serverless": lambda outcome, tab: serverless_finding(outcome.report).lead,
    "training": lambda outcome, tab: training_finding(outcome.report).lead,
}

STYLE = COMPONENTS / "demo" / "demo.css"
QUESTIONS = "demo-questions"


def demo_bar(state: AppState, tour: DemoState | None) -> None:
    """Question, step and text, what was found once it is known, and buttons for what the keys do as well.

    Outside a demo it is empty.

    It has a place in every run, so that what comes below keeps its own when the demo begins.
    """
    with st.container():
        if tour is not None:
            _bar(state, tour)


def _bar(state: AppState, tour: DemoState) -> None:
    st.html(STYLE)
    with st.container(key="demo-bar", gap="xsmall"):
        count = (
            f"Question {tour.question_index + 1} of {len(STORIES)} · "
            f"step {tour.step + 1} of {len(tour.question.steps)} · keys ← →"
        )
        with st.container(horizontal=True, vertical_alignment="center", key="demo-head"):
            st.markdown(f"**{plain(tour.question.question)}** :small[{count}]")
            with st.container(horizontal=True, gap="xsmall", width="content"):
                _buttons(state, tour)
        with st.container(key="demo-text"):
            st.markdown(plain(tour.shown.text))
            outcome = outcome_text(state, tour.shown)
            if outcome:
                st.markdown(f"**Found:** {plain(outcome)}")
            shown = state.results.get(tour.shown.run)
            if shown is not None and shown.job_id == SHIPPED:
                st.caption("This result ships with the program, because the search takes minutes.")
            if _lacks_run(state, tour.shown):
                button("Run this step", "demo-run", _run_again, state, icon="play_arrow", type="primary")


def _lacks_run(state: AppState, step: DemoStep) -> bool:
    """Return whether a step's result is neither there nor on its way: its run was cancelled, or failed."""
    if not step.run:
        return False
    mark, job = _mark_of(state, step.run), current_job(state, step.run)
    result = state.results.get(step.run)
    there = result is not None and result.fingerprint == mark
    return not there and (job is None or job.fingerprint != mark or not job.unfinished)


def _run_again(state: AppState) -> None:
    tour = state.choices.find(DemoState)
    if tour is not None:
        kind = tour.shown.run
        start(state, kind, _job_request(state, kind), _mark_of(state, kind))


def _buttons(state: AppState, tour: DemoState) -> None:
    for key, label, icon in (("back", "Back", "arrow_back"), ("next", "Next", "arrow_forward")):
        st.button(
            label,
            icon=f":material/{icon}:",
            type="primary" if key == "next" else "secondary",
            disabled=not can(tour, key),
            on_click=press,
            args=(state, key),
            key=f"demo-{key}",
        )
    st.menu_button(
        "Questions",
        range(len(STORIES)),
        format_func=lambda number: STORIES[number].question,
        on_click=_start_job,
        args=(state,),
        key=QUESTIONS,
    )
    hint = "Leaves the demo (Escape). Your scenario and results come back."
    button("Leave", "demo-leave", press, state, "leave", icon="close", hint=hint)


def _start_job(state: AppState) -> None:
    begin(state, st.session_state[QUESTIONS])
