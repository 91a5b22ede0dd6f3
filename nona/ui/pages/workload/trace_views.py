"""Arrival traces: the upload, and what was read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import streamlit as st

from nona.errors import NonaError
from nona.report.inputs.arrival_sample import arrival_sample
from nona.simulation.workload.traces import read_trace
from nona.system import Arrivals
from nona.ui.pages.models.measured_views import ENDING
from nona.ui.pages.workload.facts import trace_of
from nona.ui.pages.workload.picture import arrivals_picture
from nona.ui.session.state import AppState
from nona.ui.widgets.drawing.drawing import draw
from nona.ui.widgets.fields import plain
from nona.units import format_time


@dataclass(frozen=True, slots=True)
class TraceNote:
    """What came of the last upload."""

    taken: bool
    text: str


def traces(state: AppState) -> tuple[str, ...]:
    """Names of the uploaded CSV files that are no tables of measured times."""
    names = (n for n in state.uploads.names() if n.lower().endswith(".csv"))
    return tuple(n for n in names if not n.endswith(ENDING) and n != state.scenario.cost.measured)


def trace_upload(state: AppState) -> None:
    """The upload of a trace; it then appears among the arrivals of every row."""
    st.caption(
        "Time stamps (a column of instants, or the Azure LLM inference format), or counts per minute (the "
        "Azure Functions format). It stays in this session; the bundle of the scenario contains it."
    )
    st.file_uploader(
        "Trace file",
        key="trace-file",
        on_change=_take,
        args=(state,),
        max_upload_size=64,
        help="Once read, it is among the arrivals of every row.",
    )
    if note := state.choices.find(TraceNote):
        (st.success if note.taken else st.error)(plain(note.text))
    for name in traces(state):
        _preview(state, name)


def _preview(state: AppState, name: str) -> None:
    """What one trace holds, with a picture of it."""
    try:
        times = trace_of(state, name)
        st.markdown(f"**{plain(name)}** · {plain(trace_text(times.tolist()))}")
        if times[-1] > times[0]:
            recorded = Arrivals("trace", times_s=tuple(times.tolist()), scale_to_rate=False)
            sample = arrival_sample(recorded, 0.0, state.scenario.seed, name)
            draw(f"trace-{name}", arrivals_picture(sample, 4, ""))
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")


def trace_text(times: Sequence[float]) -> str:
    """Arrivals, span and mean rate of a trace.

    >>> trace_text([0.0, 1.0, 4.0])
    '3 arrivals over 4 s, 0.5/s on average, longest gap 3 s'
    """
    span = times[-1] - times[0]
    rate = f", {(len(times) - 1) / span:.4g}/s on average" if span > 0 else ""
    longest = max((b - a for a, b in pairwise(times)), default=0.0)
    gap = f", longest gap {format_time(longest)}" if len(times) > 1 else ""
    return f"{len(times):,} arrivals over {format_time(span)}{rate}{gap}"


def _take(state: AppState) -> None:
    upload = st.session_state["trace-file"]
    if upload is None:
        return
    try:
        data = upload.getvalue()
        times = read_trace(data, upload.name)
        name = upload.name if upload.name.lower().endswith(".csv") else f"{upload.name}.csv"
        kept = state.uploads.add(name, data)
        state.choices.keep(TraceNote(True, f"{kept}: {len(times):,} arrivals over {times[-1]:.4g} s."))
        state.tell(f"{kept} can be chosen as the arrivals of a row of", "workload", "the mix")
    except NonaError as error:
        state.choices.keep(TraceNote(False, str(error)))
