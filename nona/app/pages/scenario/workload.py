"""The mix of the Scenario page: its load, a card for each row, arrival traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import streamlit as st

from nona.app.form import entry_field, field, fields
from nona.app.models.loading import model_names
from nona.app.pages.models.times import ENDING
from nona.app.pages.scenario import workload_facts
from nona.app.pages.scenario.batching import batching_fold
from nona.app.pages.scenario.edits import remove_row
from nona.app.pages.scenario.stages import stages_fold
from nona.app.session.editing import PlacePath
from nona.app.session.state import AppState
from nona.app.widgets.components import draw, el
from nona.app.widgets.fields import field_error, plain, selector, show_error, upload
from nona.core.errors import NonaError
from nona.core.units import format_number, format_time, quantity_text
from nona.queries.placement.results import SolvedPlacement
from nona.queries.report.workloads import (
    OfferedLoad,
    arrival_sample,
    coverage_text,
    host_text,
    jobs_for_all,
    slo_text,
)
from nona.scenario.arrivals import Arrivals, effective_rate
from nona.scenario.plan import PERCENTS
from nona.scenario.traces import read_trace, recorded_s
from nona.scenario.words import words

USERS = "users"  # in place of an arrival process
WHOLE, SHARE, COLUMN = "all its arrivals", "a share of them", "those with a value"


def _own_rate(state: AppState, index: int) -> float:
    """Arrivals per second of the part of a trace that a row replays, as recorded; raises NonaError."""
    return effective_rate(replace(workload_facts.arrivals_of(state, index), scale_to_rate=False), 0.0)


def _take_trace(state: AppState, index: int, name: str) -> None:
    row = dict(state.value(("workload", index)))
    row["arrivals"] = {**row["arrivals"], "process": "trace", "trace": name, "scale_to_rate": False}
    try:
        times = workload_facts.trace_of(state, name)
        rate = len(times) / recorded_s(times)
        row["rate"] = quantity_text(float(f"{rate:.4g}"), "rate")
    except (NonaError, ZeroDivisionError):
        pass  # the row says what is wrong with its trace
    state.change(("workload", index), row)


def _trace_fields(state: AppState, index: int) -> None:
    spec, path = state.scenario.workload[index].arrivals, ("workload", index, "arrivals")
    name = spec.trace or ""
    try:
        recorded, rate = recorded_s(workload_facts.trace_of(state, name)), _own_rate(state, index)
        columns = workload_facts.columns_of(state, name)
    except NonaError:
        return  # said below the fields of the row
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        speeds = words((*path, "scale_to_rate")).choices
        speeds[False] += f", {format_number(rate, 4)}/s"
        field(state, (*path, "scale_to_rate"), choices=speeds)
        field(state, (*path, "start"), more=f"It covers {format_number(recorded, 4)} s.")
        field(state, (*path, "length"))
        _part(state, index, columns)
    _share(state, index, path, columns)
    _coverage(state, index)


def _part(state: AppState, index: int, columns: dict[str, tuple[str, ...]]) -> None:
    spec = state.scenario.workload[index].arrivals
    options = [WHOLE, SHARE, *([COLUMN] if columns or spec.column else [])]
    shown = COLUMN if spec.column else SHARE if spec.share else WHOLE
    hint = "Several rows can divide one trace: by shares, or by the values of a column."
    take = partial(_take_part, state, index, columns)
    selector("This row takes", options, shown, f"trace-part-{state.revision}-{index}", take, hint)


def _take_part(state: AppState, index: int, columns: dict[str, tuple[str, ...]], part: str) -> None:
    path: PlacePath = ("workload", index, "arrivals")
    spec: dict[str, Any] = {**state.value(path), "share": None, "column": None, "value": None}
    rows = state.scenario.workload
    if part == SHARE:
        others = (r.arrivals for i, r in enumerate(rows) if i != index)
        left = 1.0 - sum(a.share or 0.0 for a in others if a.trace == spec["trace"])
        spec["share"] = round(left if 0 < left < 1 else 0.5, 4)
    if part == COLUMN and columns:
        column, values = next(iter(columns.items()))
        spec |= {"column": column, "value": rows[index].label if rows[index].label in values else values[0]}
    state.change(path, spec)


def _share(state: AppState, index: int, path: PlacePath, columns: dict[str, tuple[str, ...]]) -> None:
    spec = state.scenario.workload[index].arrivals
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        field(state, (*path, "speed"))
        if spec.share:
            field(state, (*path, "share"))
        if spec.column:
            names = {name: name for name in (*columns, spec.column)}
            field(state, (*path, "column"), choices=names)
            label = state.scenario.labels[index]
            values: dict[str | None, str] = {
                None: f"{label}, the row's name",
                **{v: v for v in columns.get(spec.column, ())},
            }
            field(state, (*path, "value"), choices=values)


def _coverage(state: AppState, index: int) -> None:
    arrivals, rates = workload_facts.arrivals_of(state, index), workload_facts.rates_of(state)
    if not rates or len(arrivals.times_s) < 2:
        return
    period, total, jobs = len(arrivals.times_s) / rates[index], sum(rates), state.scenario.simulation.jobs
    needed = jobs_for_all(total, period)
    with st.container(horizontal=True, vertical_alignment="center"):
        runs = state.scenario.simulation.replications
        more = " Each further run starts at a random place." if runs > 1 else ""
        st.caption(plain(coverage_text(jobs, total, period) + more))
        if needed > jobs:
            st.button(
                f"Replay all: {needed:,} jobs",
                icon=":material/all_inclusive:",
                key=f"replay-{state.revision}-{index}",
                help="Sets the number of jobs on page Simulation so that a run replays this part once.",
                on_click=_set_jobs,
                args=(state, needed),
            )


def _set_jobs(state: AppState, jobs: int) -> None:
    state.change(("simulation", "jobs"), jobs)


def _traces(state: AppState) -> tuple[str, ...]:
    """Names of the uploaded CSV files that are no tables of measured times."""
    names = (n for n in state.uploads.names() if n.lower().endswith(".csv"))
    return tuple(n for n in names if not n.endswith(ENDING) and n != state.scenario.cost.measured)


def trace_upload(state: AppState) -> None:
    """Draw the upload of a trace; it then appears among the arrivals of every row."""
    st.caption(
        "Time stamps (a column of instants, or the Azure LLM inference format), or counts per minute (the "
        "Azure Functions format). It stays in this session; the bundle of the scenario contains it."
    )
    hint = "Then choose it under Arrivals of any row."
    upload(state, "Trace file", "trace-file", "trace", partial(_take_model_file, state), hint)
    for name in _traces(state):
        _preview(state, name)


def _preview(state: AppState, name: str) -> None:
    try:
        times = workload_facts.trace_of(state, name)
        st.markdown(f"**{plain(name)}** · {plain(_trace_text(times.tolist()))}")
        if times[-1] > times[0]:
            recorded = Arrivals("trace", times_s=tuple(times.tolist()), scale_to_rate=False)
            sample = arrival_sample(recorded, 0.0, state.scenario.seed, name)
            draw(f"trace-{name}", workload_facts.arrivals_picture(sample, recorded, 4, ""))
    except NonaError as error:
        show_error(error)


def _trace_text(times: Sequence[float]) -> str:
    """Arrivals, span and mean rate of a trace.

    >>> _trace_text([0.0, 1.0, 4.0])
    '3 arrivals over 4 s, 0.5/s on average, longest gap 3 s'
    """
    span = times[-1] - times[0]
    rate = f", {format_number((len(times) - 1) / span, 4)}/s on average" if span > 0 else ""
    longest = max((b - a for a, b in pairwise(times)), default=0.0)
    gap = f", longest gap {format_time(longest)}" if len(times) > 1 else ""
    return f"{len(times):,} arrivals over {format_time(span)}{rate}{gap}"


def _take_model_file(state: AppState, name: str, data: bytes) -> None:
    read_trace(data, name)
    kept = state.uploads.add(name if name.lower().endswith(".csv") else f"{name}.csv", data)
    state.notify(f"{kept} can be chosen as the arrivals of a row of", "scenario", "the mix")


OF_A_TRACE = ("trace", "scale_to_rate", "speed", "start", "length", "share", "column", "value")
_SHOW = {"never": st.error, "split": st.warning}
_ICONS = {"never": ":material/block:", "split": ":material/call_split:"}


def load_gauges(state: AppState, load: OfferedLoad | None) -> None:
    """Show the offered load of link and servers, and warnings about it."""
    background = state.scenario.background
    users = any(row.concurrency for row in state.scenario.workload)  # who overload nothing
    placed = None if state.is_stale("place") else state.result_of("place", SolvedPlacement)
    busy = None if placed is None else placed.nona.predicted.network_utilization
    own = None if busy is None else max(0.0, busy - background.network.utilization)
    wait = "How much the queries send depends on the placement; solve it on page Placement to see."
    bad = "A model or the cluster is not valid yet; see below."
    draw(
        "load",
        el(
            "div",
            "gauges",
            workload_facts.gauge(
                "Executors",
                "executors",
                background.compute.utilization,
                load.best if load else None,
                load.even if load else None,
                bad,
                load.busy if load else None,
                load is not None and load.batches,
            ),
            workload_facts.gauge("Link", "link", background.network.utilization, own, otherwise=wait),
        ),
    )
    if load is not None and load.host is not None:
        (st.error if load.host[1] >= 1 else st.caption)(plain(host_text(*load.host)))
    if load is not None and load.background + load.best >= 1:
        st.error(
            "No placement can keep up: queues grow without bound. Add servers below, or lower the rates.",
            icon=":material/error:",
        )
    elif load is not None and load.background + load.even >= 1 and not users:
        st.warning(
            "Schedulers that pick GPUs at random (local, spread) cannot keep up; nona and schedulers that "
            "see queues can.",
            icon=":material/warning:",
        )


def row_editor(state: AppState, index: int, load: OfferedLoad | None, share: float) -> None:
    """Draw the card of one row of the workload."""
    place = ("workload", index)
    with st.container(border=True, key=f"row-{index}"):
        with st.container(key=f"only-in-demo-row-{index}"):
            st.markdown(f"**{plain(_row_line(state, index))}**")
        with st.grid(5, min_column_width=125, vertical_alignment="bottom") as grid:
            field(state, (*place, "model"), choices={name: name for name in model_names(state)})
            _rate(state, index)
            field(state, (*place, "slo"))
            _process(state, index)
            with grid.cell():
                st.button(
                    "Remove",
                    icon=":material/delete:",
                    key=f"remove-row-{state.revision}-{index}",
                    help="Removes this row from the mix; the last one cannot be removed.",
                    disabled=len(state.scenario.workload) == 1,
                    on_click=remove_row,
                    args=(state, index),
                )
        if state.scenario.workload[index].arrivals.trace:
            _trace_fields(state, index)
        _row_pictures(state, index, load, share)
        with st.expander(f"More on {plain(state.scenario.labels[index])}"):
            _details(state, index)
        batching_fold(state, index)
        stages_fold(state, index)


def _row_line(state: AppState, index: int) -> str:
    row = state.scenario.workload[index]
    slo = f", SLO {format_time(row.slo)}" if row.slo is not None else ""
    try:
        rate = f", {format_number(workload_facts.rate_of(state, index), 4)}/s"
        if row.concurrency is not None:
            rate = f", {row.concurrency:,} users"
    except NonaError:
        rate = ""
    return f"{state.scenario.labels[index]}{rate}{slo}"


def _row_pictures(state: AppState, index: int, load: OfferedLoad | None, queries: float) -> None:
    """Draw a row's share of the load, its arrivals, and a verdict on its SLO."""
    row = state.scenario.workload[index]
    try:
        cost, sample = workload_facts.fastest(state, index), workload_facts.sample_of(state, index)
    except NonaError as error:
        show_error(error)
        return
    share = load.shares[index] if load else None
    pictures = [workload_facts.shares_picture(queries, share, index)]
    if row.concurrency is None:
        drawn = workload_facts.REPLAYED if row.arrivals.trace else workload_facts.DRAWN
        arrivals = workload_facts.arrivals_of(state, index)
        pictures.append(workload_facts.arrivals_picture(sample, arrivals, index, drawn))
    draw(f"row-picture-{index}", *pictures)
    if row.concurrency is not None:
        most = format_number(workload_facts.rate_of(state, index), 4)
        st.caption(
            f"{row.concurrency:,} users send at most about {most}/s. The estimate is the smaller of two "
            "rates: all users without waiting, and 80 % of what the GPUs or slices can do. Loads on this "
            "page use it; a simulation shows the true rate."
        )
    kind, text = slo_text(state.scenario.bounds_of(index), cost.total_s, cost.critical_s, row.service_scv > 0)
    if kind in _SHOW:
        _SHOW[kind](plain(text), icon=_ICONS[kind])
    else:
        st.caption(plain(text))


def _rate(state: AppState, index: int) -> None:
    row, place = state.scenario.workload[index], ("workload", index, "rate")
    arrivals = row.arrivals
    if row.concurrency is not None:
        field(state, ("workload", index, "concurrency"))
        return
    if arrivals.trace and not arrivals.scale_to_rate:
        try:
            shown = f"{format_number(workload_facts.rate_of(state, index), 4)}/s"
        except NonaError:
            shown = "unknown"
        hint = "The rate of the trace. To set another rate, stretch the trace to the rate."
        st.text_input("Rate", shown, key=f"own-rate-{index}-{shown}", disabled=True, help=hint)
        return
    field(state, place)


def _process(state: AppState, index: int) -> None:
    path: PlacePath = ("workload", index, "arrivals")
    now = state.scenario.workload[index].arrivals.trace
    drawn = words((*path, "process")).choices
    del drawn["trace"]
    traces = dict.fromkeys([*_traces(state), *([now] if now else [])])
    choices = drawn | {USERS: "Closed loop"}
    choices |= {"trace" if name == now else name: f"Trace {name}" for name in traces}
    closed = state.scenario.workload[index].concurrency is not None

    def choose(value: str) -> None:
        if value == USERS or closed:
            _close_loop(state, index, value)
        elif value in drawn:
            spec = {k: v for k, v in state.value(path).items() if k not in OF_A_TRACE}
            state.edit(path, {**spec, "process": value})
        elif value != "trace":
            _take_trace(state, index, value)

    with st.container():
        if closed:
            titles = {title: value for value, title in choices.items()}
            key = f"users-{state.revision}-{index}"
            hint = words((*path, "process")).about
            selector("Arrivals", list(titles), choices[USERS], key, lambda title: choose(titles[title]), hint)
        else:
            field(state, (*path, "process"), choices=choices, edit=choose)
        field_error(state, path)


def _close_loop(state: AppState, index: int, value: str) -> None:
    """Let users send the row's queries, or open the loop again with another process."""
    row = dict(state.value(("workload", index)))
    row |= {"arrivals": {}, "concurrency": 8 if value == USERS else None, "think": 0.0}
    row["rate"] = 0.0 if value == USERS else "10/s"
    if value not in (USERS, "poisson") and value in words(("workload", index, "arrivals", "process")).choices:
        row["arrivals"] = {"process": value}
    state.change(("workload", index), row)


def _details(state: AppState, index: int) -> None:
    _target_fields(state, state.scenario.labels[index])
    place = ("workload", index)
    with st.grid(3, min_column_width=130):
        fields(state, place, "name service_scv batch queue")
        if state.scenario.workload[index].concurrency is not None:
            field(state, (*place, "think"))
        for name in ("cv", "burst_factor", "burst_fraction", "burst_mean"):
            field(state, (*place, "arrivals", name), slider=name == "burst_fraction")


def _target_fields(state: AppState, label: str) -> None:
    """Draw the targets of the row, for *Does it hold?* and the plan alike: part of the scenario's plan."""
    path = ("plan", "targets", label)
    with st.grid(5, min_column_width=110):
        for key in ("hit", "mean", *(f"p{percent}" for percent in PERCENTS)):
            entry_field(state, path, key, part="plan")
    st.caption(
        "p95 at most 50 ms: 95 % of its jobs are complete within 50 ms. All targets must hold. The SLO "
        "counts too, unless *Within the SLO* is “not asked”."
    )
    field_error(state, path)
