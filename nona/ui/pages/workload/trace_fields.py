"""Fields of a row that replays a trace: its speed, the window, the row's part of it, what a run covers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.report.inputs.trace_text import coverage_text, jobs_for_all
from nona.simulation.workload.arrivals import effective_rate
from nona.simulation.workload.trace_window import recorded_s
from nona.ui.pages.workload.facts import arrivals_of, columns_of, rates_of, trace_of
from nona.ui.session.state import AppState, Path
from nona.ui.widgets.fields import choice, number, plain, quantity
from nona.units import quantity_text

WHOLE, SHARE, COLUMN = "all its arrivals", "a share of them", "those with a value"


def own_rate(state: AppState, index: int) -> float:
    """Arrivals per second of the part of a trace that a row replays, as recorded; raises NonaError."""
    return effective_rate(replace(arrivals_of(state, index), scale_to_rate=False), 0.0)


def take_trace(state: AppState, index: int, name: str) -> None:
    """Let a row replay a trace at the trace's own rate."""
    row = dict(state.value(("workload", index)))
    row["arrivals"] = {**row["arrivals"], "process": "trace", "trace": name, "scale_to_rate": False}
    try:
        times = trace_of(state, name)
        rate = len(times) / recorded_s(times)
        row["rate"] = quantity_text(float(f"{rate:.4g}"), "rate")
    except (NonaError, ZeroDivisionError):
        pass  # the row says what is wrong with its trace
    state.edit(("workload", index), row)
    state.revision += 1


def trace_fields(state: AppState, index: int) -> None:
    """The fields, and what a run replays of the trace."""
    spec, path = state.scenario.workload[index].arrivals, ("workload", index, "arrivals")
    name = spec.trace or ""
    try:
        recorded, rate = recorded_s(trace_of(state, name)), own_rate(state, index)
        columns = columns_of(state, name)
    except NonaError:
        return  # said below the fields of the row
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        speeds = {f"its own, {rate:.4g}/s": False, "stretched to the rate": True}
        hint = "Its own: the rate of the trace applies, not the row's."
        choice(state, "Speed of the trace", (*path, "scale_to_rate"), speeds, hint)
        quantity(
            state, "Start in the trace", (*path, "start"), f"From its first row; it covers {recorded:,.4g} s."
        )
        hint = "Length of the window that is replayed again and again; empty: to the trace's end."
        quantity(state, "Length", (*path, "length"), hint, optional=True, empty="to its end")
        _part(state, index, columns)
    _share(state, index, path, columns)
    _coverage(state, index)


def _part(state: AppState, index: int, columns: dict[str, tuple[str, ...]]) -> None:
    spec = state.scenario.workload[index].arrivals
    options = [WHOLE, SHARE, *([COLUMN] if columns or spec.column else [])]
    shown = COLUMN if spec.column else SHARE if spec.share else WHOLE
    key = f"trace-part-{state.revision}-{index}"

    def choose() -> None:
        _take_part(state, index, st.session_state[key], columns)

    st.selectbox(
        "This row takes",
        options,
        options.index(shown),
        key=key,
        on_change=choose,
        help="Several rows can divide one trace: by shares, or by the values of a column.",
    )


def _take_part(state: AppState, index: int, part: str, columns: dict[str, tuple[str, ...]]) -> None:
    path: Path = ("workload", index, "arrivals")
    spec: dict[str, Any] = {**state.value(path), "share": None, "column": None, "value": None}
    rows = state.scenario.workload
    if part == SHARE:
        others = (r.arrivals for i, r in enumerate(rows) if i != index)
        left = 1.0 - sum(a.share or 0.0 for a in others if a.trace == spec["trace"])
        spec["share"] = round(left if 0 < left < 1 else 0.5, 4)
    if part == COLUMN and columns:
        column, values = next(iter(columns.items()))
        spec |= {"column": column, "value": rows[index].label if rows[index].label in values else values[0]}
    state.edit(path, spec)
    state.revision += 1


def _share(state: AppState, index: int, path: Path, columns: dict[str, tuple[str, ...]]) -> None:
    spec = state.scenario.workload[index].arrivals
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        if not spec.scale_to_rate:
            hint = "2: twice as many arrivals a second. Rows of one trace stay in step at equal speeds."
            number(state, "Times as fast", (*path, "speed"), 0.001, 1e6, 0.1, hint, "%.3g")
        if spec.share:
            hint = "Of the trace's arrivals, at random; rows with shares of one trace take none twice."
            number(state, "Share", (*path, "share"), 0.001, 1.0, 0.1, hint, "%.3f")
        if spec.column:
            names = tuple(dict.fromkeys([*columns, spec.column]))
            choice(state, "Column", (*path, "column"), names, "The column that divides the trace.")
            hint = "The row replays the arrivals that have it there."
            label = state.scenario.labels[index]
            values = {f"{label}, the row's name": None, **{v: v for v in columns.get(spec.column, ())}}
            choice(state, "Value", (*path, "value"), values, hint)


def _coverage(state: AppState, index: int) -> None:
    arrivals, rates = arrivals_of(state, index), rates_of(state)
    if not rates or len(arrivals.times_s) < 2:
        return
    period, total, jobs = len(arrivals.times_s) / rates[index], sum(rates), state.scenario.simulation.jobs
    needed = jobs_for_all(total, period)
    with st.container(horizontal=True, vertical_alignment="center"):
        runs = state.scenario.simulation.replications
        more = " Each further run starts at a drawn place." if runs > 1 else ""
        st.caption(plain(coverage_text(jobs, total, period) + more))
        if needed > jobs:
            st.button(
                f"Replay all: {needed:,} jobs",
                icon=":material/all_inclusive:",
                key=f"replay-{state.revision}-{index}",
                help="Sets the jobs of a run, on the Simulation page, so that it replays this part once.",
                on_click=_set_jobs,
                args=(state, needed),
            )


def _set_jobs(state: AppState, jobs: int) -> None:
    state.edit(("simulation", "jobs"), jobs)
    state.revision += 1
