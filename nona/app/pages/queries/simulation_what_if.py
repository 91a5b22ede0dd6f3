"""The what-if view: sliders on a copy of the scenario, answered as they move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from nona.app.layout.job_panel import progress_text
from nona.app.pages.queries.simulation_result import engine_text, overload_warnings
from nona.app.session.live import ScenarioState, ShownAnswer, question
from nona.app.session.state import AppState
from nona.app.session.workspace import jobs, owner_key
from nona.app.widgets.fields import label_text, plain, show_error
from nona.app.widgets.results import chart, table
from nona.core.errors import NonaError
from nona.core.figures import dots_figure, with_previous
from nona.core.tables import FilledTable
from nona.core.units import format_bandwidth, format_time
from nona.queries.report.figures import hit_dots, jct_dots
from nona.queries.report.report import python_decisions
from nona.queries.report.scenario_diff import change_text
from nona.queries.report.tables import RESULTS, figures
from nona.queries.sweeps.numbers import (
    CAPACITY,
    COMPUTE,
    LINK,
    LOAD,
    ScenarioNumber,
    number_named,
    numbers_of,
)
from nona.scenario.schema import Scenario

FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
LEAST_SERVERS, MOST_SERVERS = 8, 100_000
Standing = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Move:
    """A number of the copy (SI), and where it stood in the scenario when it was moved."""

    state: Standing
    value: float


@dataclass(frozen=True, slots=True)
class MovedNumbers:
    """The moved numbers by their keys."""

    moves: Mapping[str, Move] = field(default_factory=dict)


def value(state: AppState, number: ScenarioNumber) -> float:
    """Return the number as it stands in the copy (SI)."""
    move = moves(state).get(number.key)
    return number.value_in(state.scenario) if move is None else move.value


def moves(state: AppState) -> dict[str, Move]:
    """Return the moves that still hold: those of numbers that have not been changed in the scenario since."""
    numbers = {n.key: n for n in numbers_of(state.scenario)}
    return {
        key: move
        for key, move in state.choices.get(MovedNumbers).moves.items()
        if key in numbers and move.state == _standing(state.scenario, numbers[key])
    }


def move(state: AppState, number: ScenarioNumber, value: float) -> None:
    """Set a number of the copy; the scenario stays."""
    all_moves = moves(state)
    if value == number.value_in(state.scenario):
        all_moves.pop(number.key, None)
    else:
        all_moves[number.key] = Move(_standing(state.scenario, number), value)
    state.choices.keep(MovedNumbers(all_moves))


def copied(state: AppState) -> Scenario:
    """Return the scenario with the moved numbers; the scenario itself where none is moved."""
    scenario = state.scenario
    for key, moved in moves(state).items():
        scenario = number_named(state.scenario, key).with_value(scenario, moved.value)
    return scenario


def changed_text(state: AppState) -> str:
    """Describe the changes in the copy; empty without any."""
    return change_text(state.scenario, copied(state)) if moves(state) else ""


def apply(state: AppState) -> None:
    """Take the copy as the scenario, as one step to undo."""
    changed = changed_text(state)
    if changed:
        state.apply(copied(state), f"what if: {changed}")
        state.toast = "The scenario now has these numbers. Undo takes them back."
    discard(state)


def discard(state: AppState) -> None:
    """Make the copy equal to the scenario again."""
    state.choices.keep(MovedNumbers())


def _most_servers(scenario: Scenario) -> int:
    """Return the right end of the slider of servers: twice the scenario's count.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 12}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> _most_servers(parse_scenario(text))
    24
    """
    return min(max(2 * scenario.cluster.servers[0].count, LEAST_SERVERS), MOST_SERVERS)


def capacities(scenario: Scenario) -> list[float]:
    """Capacities (bytes/s) from a sixteenth to sixteen times the scenario's, to six digits in bits."""
    here = number_named(scenario, CAPACITY).value_in(scenario)
    return [here if f == 1 else float(f"{8 * here * f:.6g}") / 8 for f in FACTORS]


def _standing(scenario: Scenario, number: ScenarioNumber) -> Standing:
    if number.key == LOAD:
        return scenario.name, tuple(row.rate for row in scenario.workload)
    return scenario.name, (number.value_in(scenario),)


BEFORE = "before"


@dataclass(frozen=True, eq=False)
class DrawnAnswer:
    """Figures and rows of an answer and the one before, so that a look that finds no news costs little."""

    shown: ShownAnswer
    before: ShownAnswer | None
    jct: go.Figure
    hits: go.Figure
    table: FilledTable


def _draw_answer(state: AppState, shown: ShownAnswer, before: ShownAnswer | None) -> None:
    """Charts, table, warnings and engine; ``before`` is the answer for the scenario as it stands."""
    data = shown.data
    schedulers, drawn = data.report.schedulers, _drawn(state, shown, before)
    ghost = "; hollow and grey: the present scenario" if before is not None else ""
    with st.grid(2, min_column_width=330):
        alt = f"Mean JCT of each scheduler with its 95 % interval{ghost}"
        chart(drawn.jct, "Mean JCT", "what-if-jct", alt)
        alt = f"SLO hits of each scheduler with their 95 % interval{ghost}"
        chart(drawn.hits, "SLO hits", "what-if-hits", alt)
    alt = "Every scheduler's times, SLO hits and loads for the numbers above"
    table(drawn.table, "what-if-table", alt, "what_if")
    with st.container():
        for name, why in data.failed.items():
            st.warning(plain(f"{name} cannot run: {why}"), icon=":material/block:")
        overload_warnings(schedulers, state)
    st.caption(plain(engine_text(data.report.engine, python_decisions(data.report))))


def _drawn(state: AppState, shown: ShownAnswer, before: ShownAnswer | None) -> DrawnAnswer:
    drawn = state.choices.find(DrawnAnswer)
    if drawn is None or drawn.shown is not shown or drawn.before is not before:
        schedulers = shown.data.report.schedulers
        earlier = before.data.report.schedulers if before is not None else {}
        jct = with_previous(jct_dots(schedulers), jct_dots(earlier), BEFORE)
        hits = with_previous(hit_dots(schedulers), hit_dots(earlier), BEFORE)
        drawn = DrawnAnswer(
            shown,
            before,
            dots_figure(jct, "mean JCT, ms"),
            dots_figure(hits, "SLO hits, %", most=100.0),
            figures(schedulers, shown.data.predicted, before=earlier).select(*RESULTS),
        )
        state.choices.keep(drawn)
    return drawn


POLL_S = 0.2
AREA = "what-if-answer"


def what_if_drawer(state: AppState) -> None:
    """Sliders on a copy of the scenario, and every scheduler's answer, before and after, once it is open.

    Sliders and answer are a fragment: a change redraws them alone. The scenario changes with *Apply*,
    which the rest of the page has to say.
    """
    if not st.session_state.get("what-if-open"):
        return
    with st.container(border=True, key="what-if"):
        st.fragment(_panel)(state, state.revision)


def _panel(state: AppState, revision: int) -> None:
    if revision != state.revision:  # applied: the scenario is another one
        st.rerun()
    try:
        changed = changed_text(state)
    except NonaError as error:
        changed = ""
        show_error(error)
    _head(state, bool(changed))
    with st.grid(5, min_column_width=150):
        for key, slider in _SLIDERS.items():
            slider(state, number_named(state.scenario, key))
    caption = f"Only here: {changed}." if changed else "These are the scenario's own numbers. Move a slider."
    st.caption(plain(caption))  # below the sliders, which stay where they are when it takes two lines
    questions = _questions(state)
    if questions:
        state.live.refresh(jobs(), questions, state.uploads, owner_key())
        busy = _busy(state, questions)
        st.fragment(_answer, run_every=POLL_S if busy else None)(state, busy)


def _head(state: AppState, changed: bool) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("What if", anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            st.button(
                "Apply",
                type="primary",
                icon=":material/check:",
                disabled=not changed,
                on_click=apply,
                args=(state,),
                key="what-if-apply",
                help="Writes these numbers into the scenario; Undo takes them back. Until then the scenario "
                "and all other pages stay unchanged.",
            )
            st.button(
                "Discard",
                icon=":material/restart_alt:",
                disabled=not changed,
                on_click=discard,
                args=(state,),
                key="what-if-discard",
                help="Sets the sliders back to the scenario.",
            )


def _percent(hint: str) -> Callable[[AppState, ScenarioNumber], None]:
    def draw(state: AppState, number: ScenarioNumber) -> None:
        tied = _tied(state, number, min(round(100 * value(state, number)), 99), lambda v: v / 100)
        st.slider(number.label, 0, 99, format="%d %%", help=hint, **tied)

    return draw


def _load(state: AppState, number: ScenarioNumber) -> None:
    tied = _tied(state, number, min(max(value(state, number), 0.1), 3.0), lambda v: round(v, 2))
    hint = "Multiplies the rates of all queries of the scenario."
    st.slider(number.label, 0.1, 3.0, step=0.05, format="%.2f ×", help=hint, **tied)


def _servers(state: AppState, number: ScenarioNumber) -> None:
    most = _most_servers(state.scenario)
    tied = _tied(state, number, min(int(value(state, number)), most), float)
    hint = "How many servers this group has; all of them alike."
    st.slider(label_text(number.label), 1, most, step=1, help=hint, **tied)


def _capacity(state: AppState, number: ScenarioNumber) -> None:
    options, now = capacities(state.scenario), value(state, number)
    tied = _tied(state, number, min(options, key=lambda o: abs(o - now)), float)
    hint = "Capacity of the link that all servers share."
    st.select_slider(number.label, options, format_func=format_bandwidth, help=hint, **tied)


_SLIDERS: Mapping[str, Callable[[AppState, ScenarioNumber], None]] = {
    LINK: _percent("Share of the link's capacity that other traffic takes."),
    COMPUTE: _percent("Share of the time that other work keeps every GPU or slice busy."),
    LOAD: _load,
    "cluster.servers[0].count": _servers,
    CAPACITY: _capacity,
}


def _tied(
    state: AppState, number: ScenarioNumber, now: float, read: Callable[[Any], float]
) -> dict[str, Any]:
    """Return the key of a slider, which is put where the copy stands, and what moves its number.

    The key stays the same: a slider under a new one would hand on the value of the one before. It is set
    only where it stands elsewhere: setting it takes back what the user has moved meanwhile.
    """
    key = f"what-if-{number.key}"
    if st.session_state.get(key) != now:
        st.session_state[key] = now
    return {"key": key, "on_change": lambda: move(state, number, read(st.session_state[key]))}


def _questions(state: AppState) -> list[ScenarioState]:
    """Return the copy and, where it differs, the scenario; none where one of them cannot run."""
    try:
        both = [question(copied(state)), question(state.scenario)]
    except NonaError:
        both = []
    if not both or state.problem():
        state.live.stop(jobs())
        return []
    return both if both[0].fingerprint != both[1].fingerprint else both[:1]


def _busy(state: AppState, questions: list[ScenarioState]) -> bool:
    return not all(state.live.is_final(q.fingerprint) for q in questions)


def _answer(state: AppState, was_busy: bool) -> None:
    questions, live = _questions(state), state.live
    if not questions:
        return
    live.refresh(jobs(), questions, state.uploads, owner_key())
    mark = questions[0].fingerprint
    live.last = live.find(mark) or live.last
    shown, old = live.last, live.last is not None and live.last.fingerprint != mark
    before = live.find(questions[-1].fingerprint) if len(questions) > 1 else None
    # The style stands before the answer and not around it, so that the table stays where and what it is.
    st.html(f"<style>.st-key-{AREA} {{ opacity: {0.45 if old else 1}; transition: opacity .15s }}</style>")
    first = live.in_line(jobs())
    if first is not None:
        text = f"{progress_text(first)}."
    elif shown is None:
        text = "The first figures are being simulated, under all schedulers."
    else:
        text = _status(shown, old, before is None and len(questions) > 1)
    st.caption(plain(text))
    with st.container():  # always there, as below: what comes and goes must not move the table
        for error in live.errors.get(mark, ()):
            st.error(plain(error), icon=":material/error:")
    with st.container(key=AREA):
        if shown is not None:
            _draw_answer(state, shown, before)
    if was_busy and not _busy(state, questions):
        st.rerun()  # ends the polling


def _status(shown: ShownAnswer, old: bool, waits: bool) -> str:
    if old:
        return "Computing. The previous answer is below."
    data = shown.data
    many = f"{data.replications} replication{'s' if data.replications > 1 else ''}"
    ending = " The present scenario follows for comparison." if waits else ""
    return f"{data.jobs:,} jobs per run, {many}, {format_time(data.report.seconds)}.{ending}"
