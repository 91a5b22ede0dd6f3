"""The what-if view of the Simulation page: sliders on a copy of the scenario, answered as they move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.study import Number, number_named
from nona.study.sweeps.numbers import CAPACITY, COMPUTE, LINK, LOAD
from nona.ui.pages.simulation.what_if_answer import draw_answer
from nona.ui.pages.simulation.what_if_copy import (
    apply,
    capacities,
    changed_text,
    copied,
    discard,
    most_servers,
    move,
    value,
)
from nona.ui.session.live import Question, Shown, question
from nona.ui.session.state import AppState
from nona.ui.session.workspace import jobs, whose
from nona.ui.shell.progress import progress_text
from nona.ui.widgets.fields import label_text, plain
from nona.units import format_bandwidth, format_time

POLL_S = 0.2
AREA = "what-if-answer"


def what_if(state: AppState) -> None:
    """Sliders on a copy of the scenario, and every scheduler's answer, before and after.

    Sliders and answer are a fragment: a change redraws them alone. The scenario changes with *Apply*,
    which the rest of the page has to say.
    """
    with st.container(border=True, key="what-if"):
        if problem := state.problem():
            st.warning(plain(problem), icon=":material/edit_note:")
        st.fragment(_panel)(state, state.revision)


def _panel(state: AppState, revision: int) -> None:
    if revision != state.revision:  # applied: the scenario is another one
        st.rerun()
    try:
        changed = changed_text(state)
    except NonaError as error:
        changed = ""
        st.error(plain(str(error)), icon=":material/error:")
    _head(state, bool(changed))
    with st.grid(5, min_column_width=150):
        for key, slider in _SLIDERS.items():
            with st.container():
                slider(state, number_named(state.scenario, key))
    said = f"Only here: {changed}." if changed else "As the scenario stands. Move a slider."
    st.caption(plain(said))  # below the sliders, which stay where they are when it takes two lines
    found = _questions(state)
    if found:
        state.live.refresh(jobs(), found, state.uploads, whose())
        busy = _busy(state, found)
        st.fragment(_answer, run_every=POLL_S if busy else None)(state, busy)


def _head(state: AppState, changed: bool) -> None:
    """The title, and the two buttons that end the copy."""
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
                help="Writes these numbers into the scenario, as one step that Undo takes back. Until then "
                "the scenario and all other pages stay as they are.",
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


def _percent(hint: str) -> Callable[[AppState, Number], None]:
    def draw(state: AppState, number: Number) -> None:
        tied = _tied(state, number, min(round(100 * value(state, number)), 99), lambda v: v / 100)
        st.slider(number.label, 0, 99, format="%d %%", help=hint, **tied)

    return draw


def _load(state: AppState, number: Number) -> None:
    tied = _tied(state, number, min(max(value(state, number), 0.1), 3.0), lambda v: round(v, 2))
    hint = "Multiplies the rates of all queries of the scenario."
    st.slider(number.label, 0.1, 3.0, step=0.05, format="%.2f ×", help=hint, **tied)


def _servers(state: AppState, number: Number) -> None:
    most = most_servers(state.scenario)
    tied = _tied(state, number, min(int(value(state, number)), most), float)
    hint = "How many servers this group has; all of them alike."
    st.slider(label_text(number.label), 1, most, step=1, help=hint, **tied)


def _capacity(state: AppState, number: Number) -> None:
    options, now = capacities(state.scenario), value(state, number)
    tied = _tied(state, number, min(options, key=lambda o: abs(o - now)), float)
    hint = "Capacity of the link that all servers share."
    st.select_slider(number.label, options, format_func=format_bandwidth, help=hint, **tied)


_SLIDERS: Mapping[str, Callable[[AppState, Number], None]] = {
    LINK: _percent("Share of the link's capacity that other traffic takes."),
    COMPUTE: _percent("Share of the time that other work keeps every executor busy."),
    LOAD: _load,
    "cluster.servers[0].count": _servers,
    CAPACITY: _capacity,
}


def _tied(state: AppState, number: Number, now: float, read: Callable[[Any], float]) -> dict[str, Any]:
    """The key of a slider, which is put where the copy stands, and what moves its number.

    The key stays the same: a slider under a new one would hand on the value of the one before. It is set
    only where it stands elsewhere: setting it takes back what the user has moved meanwhile.
    """
    key = f"what-if-{number.key}"
    if st.session_state.get(key) != now:
        st.session_state[key] = now
    return {"key": key, "on_change": lambda: move(state, number, read(st.session_state[key]))}


def _questions(state: AppState) -> list[Question]:
    """The copy and, where it differs, the scenario; none where one of them cannot run."""
    try:
        both = [question(copied(state)), question(state.scenario)]
    except NonaError:
        both = []
    if not both or state.problem():
        state.live.stop(jobs())
        return []
    return both if both[0].fingerprint != both[1].fingerprint else both[:1]


def _busy(state: AppState, questions: list[Question]) -> bool:
    return not all(state.live.settled(q.fingerprint) for q in questions)


def _answer(state: AppState, was_busy: bool) -> None:
    questions, live = _questions(state), state.live
    if not questions:
        return
    live.refresh(jobs(), questions, state.uploads, whose())
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
        text = "Simulating all schedulers."
    else:
        text = _status(shown, old, before is None and len(questions) > 1)
    st.caption(plain(text))
    with st.container():  # always there, as below: what comes and goes must not move the table
        for error in live.errors.get(mark, ()):
            st.error(plain(error), icon=":material/error:")
    with st.container(key=AREA):
        if shown is not None:
            draw_answer(state, shown, before)
    if was_busy and not _busy(state, questions):
        st.rerun()  # ends the polling


def _status(shown: Shown, old: bool, waits: bool) -> str:
    """One short line: how far the answer is."""
    if old:
        return "Computing again. The previous answer is below."
    data = shown.data
    many = f"{data.replications} replication{'s' if data.replications > 1 else ''}"
    ending = " The scenario as it stands follows, to compare with." if waits else ""
    return f"{data.jobs:,} jobs per run, {many}, {format_time(data.report.seconds)}.{ending}"
