"""Round by round: which job had which GPU, and why; a window of the run at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.text import counted
from nona.report.training.figures.time import gantt_figure, rounds_figure
from nona.report.training.rows import priority_rows
from nona.report.training.titles import gantt_title, rounds_title
from nona.report.training.windows import MOST_LANES, SPANS_S, fitting_span, round_at, thinned, window
from nona.report.training.words import hours_text
from nona.results.training.outcome import PolicyTrace, Round, Stay, TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

ROUND = "training-shown-round"
ALL = "all types"


def rounds_tab(state: AppState, data: TrainingOutcome) -> None:
    """GPUs by job in a window of time; a click on a stay, or a number, chooses a round to explain."""
    with st.grid(4, min_column_width=150):
        policy = choose_one("Policy", list(data.traces), "training-shown-gantt", "The policy to show.")
        trace = data.traces[policy]
        if not trace.rounds:
            st.caption("No round was kept for this policy.")
            return
        gpu = choose_one("GPUs", _ranges(data), "training-shown-gpus", "Which GPUs to show, by type.")
        kind, first, end_s = _kind(gpu), _first(gpu), trace.rounds[-1].end_s
        start_s, span_s = _window([s for s in trace.stays if kind in ("", s.gpu)], end_s)
    shown = window(trace.stays, start_s, min(start_s + span_s, end_s), kind, first)
    chosen = _chosen(trace)
    event = chart(
        gantt_figure(shown, data.job_names, None if chosen is None else chosen.start_s),
        gantt_title(trace, policy),
        "training-gantt",
        f"GPUs ({kind or ALL}) as rows, jobs as bars over time, under {policy}; the line marks the round "
        "below",
        on_select="rerun",
        selection_mode="points",
    )
    if shown.left_out:
        st.caption(f"{shown.left_out:,} later stays of this window are not drawn; choose a shorter window.")
    _take_click(event, trace)
    _explained(trace, data)
    chart(
        rounds_figure(thinned(trace.rounds)),
        rounds_title(trace.rounds),
        "training-rounds",
        f"Jobs that run and jobs that wait in each round under {policy}",
    )


def _ranges(data: TrainingOutcome) -> list[str]:
    """All types where they fit on one chart, then each; a type of many GPUs in several parts.

    A part is written ``v100 0 to 47``.
    """
    found = [ALL] if len(data.types) > 1 and sum(data.types.values()) <= MOST_LANES else []
    for gpu, count in sorted(data.types.items()):
        if count <= MOST_LANES:
            found.append(gpu)
        else:
            firsts = range(0, count, MOST_LANES)
            found += [f"{gpu} {k} to {min(count, k + MOST_LANES) - 1}" for k in firsts]
    return found


def _kind(gpu: str) -> str:
    """The type of a choice; none for all of them."""
    return "" if gpu == ALL else gpu.rsplit(" ", 3)[0] if " to " in gpu else gpu


def _first(gpu: str) -> int:
    return int(gpu.rsplit(" ", 3)[1]) if " to " in gpu else 0


def _window(stays: Sequence[Stay], end_s: float) -> tuple[float, float]:
    """Start and length of the window, both in seconds."""
    fits = fitting_span(stays, end_s)
    if fits >= end_s:
        return 0.0, end_s
    span = choose_one(
        "Window",
        [hours_text(s) for s in SPANS_S if s <= fits][::-1],
        "training-shown-span",
        "How much of the run the chart shows; longer windows would hold too many bars.",
    )
    span_s = next(s for s in SPANS_S if hours_text(s) == span)
    starts = [hours_text(k * span_s) for k in range(int(end_s // span_s) + 1)]
    start = choose_one("From", starts, "training-shown-start", "Where the window begins.")
    return starts.index(start) * span_s, span_s


def _chosen(trace: PolicyTrace) -> Round | None:
    """The round that is asked for; the first one with priorities where it does not exist."""
    number = st.session_state.get(ROUND)
    found = next((r for r in trace.rounds if r.number == number), None)
    return found or next((r for r in trace.rounds if r.priorities), None)


def _take_click(event: Any, trace: PolicyTrace) -> None:
    """A stay that was clicked chooses the round in its middle, once for each click."""
    points = event.selection.points if event is not None else []
    told = points[0].get("customdata") if points else None
    mark = str(told)
    if told and st.session_state.get("training-clicked") != mark:
        st.session_state["training-clicked"] = mark
        found = round_at(trace.rounds, float(told[0]))
        if found is not None:
            st.session_state[ROUND] = found.number
            st.rerun()


def _explained(trace: PolicyTrace, data: TrainingOutcome) -> None:
    """Why each job ran or waited in the chosen round."""
    chosen, last = _chosen(trace), trace.rounds[-1].number
    if chosen is None:
        st.caption("The priorities of this run were not kept. A run of fewer jobs keeps them.")
        return
    st.session_state[ROUND] = chosen.number
    number = st.number_input(
        "Round",
        trace.rounds[0].number,
        last,
        step=1,
        key=ROUND,
        persist_state="session",
        help="The round to explain. A click on a bar of the chart chooses the round in its middle.",
    )
    found = round_at(trace.rounds, next((r.start_s for r in trace.rounds if r.number == number), 0.0))
    if found is None:
        return
    span = f"{hours_text(found.start_s)} to {hours_text(found.end_s)}"
    st.markdown(
        f"**Round {found.number}**, {plain(span)}: {counted(found.running, 'job')} on GPUs, {found.waiting} "
        "waiting. On each type of GPU the highest priority π = X · W / τ goes first."
    )
    if not found.priorities:
        kept = [r.number for r in trace.rounds if r.priorities]
        told = f"those of rounds {kept[0]} to {kept[-1]} are" if kept else "a run of fewer jobs keeps them"
        st.caption(f"The priorities of this round were not kept; {told}.")
        return
    frame = pd.DataFrame(priority_rows(found.priorities, data.job_names))
    table(
        frame, "training-priorities", f"Every job and type of GPU in round {found.number}: priority and why"
    )
    st.caption(
        "X: share of time that the policy allocates. τ: time received on this type since the last "
        "allocation. W: the same of all rows together. Both begin with half a round for each row. Types are "
        "filled one after the other, the fastest first, or in random order if the policy sees no types; "
        "GPUs that are left go to jobs without a share."
    )
