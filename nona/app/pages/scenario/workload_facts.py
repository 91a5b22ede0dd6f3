"""Facts of a row of the workload: its cost, its load and its picture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TypeVar

import numpy as np
import streamlit as st

from nona.app.models.loading import load_graph, load_measured
from nona.app.session.state import AppState
from nona.app.widgets.components import Node, colour, el
from nona.app.widgets.fields import plain
from nona.cluster.hardware.device import user_devices
from nona.cluster.hardware.executor import executor_class
from nona.core.arrays import Floats
from nona.core.document import GivenTimes
from nona.core.errors import NonaError
from nona.core.units import format_number, format_time
from nona.models.cost.batches import activation_bytes, at_every_batch, cost_batches, padded
from nona.models.cost.costed import CostedGraph
from nona.models.cost.options import CostOptions, resident_bytes, scaled_edges
from nona.models.cost.stated import with_given
from nona.models.graph.model import ModelGraph
from nona.models.report import provenance_shares
from nona.models.times_report import given_times, no_verdict
from nona.queries.report import workloads
from nona.queries.workflows.cache import batch_key
from nona.queries.workflows.pools import estimated_rate
from nona.queries.workflows.rows import held_bytes
from nona.scenario.arrivals import Arrivals, effective_rate
from nona.scenario.lookup import Sources
from nona.scenario.rows import BatchingSpec, StageSpec
from nona.scenario.schema import GivenSpec, Scenario
from nona.scenario.traces import BY_HEADER, Clock, ReadTrace, Where, read_trace, row_arrivals, trace_columns

T = TypeVar("T")


@dataclass(frozen=True)
class RowCost:
    """One query on one kind of executor.

    ``total_s``: all its operators one after the other; ``critical_s``: the longest chain, which no
    placement goes below; ``weight_bytes``: its weights, once; ``activation_bytes``: what it needs beside;
    ``batch_s`` (B,): seconds of 1, …, B queries that run as one, ``stage_s`` those of each task of a row
    with stages; ``provenance``: share of the time by
    where it comes from; ``given``: the hardware for which its file states times; ``uncounted`` of
    ``with_work`` operators have neither known work nor a time.
    """

    total_s: float
    critical_s: float
    weight_bytes: float
    activation_bytes: float
    batch_s: Floats
    stage_s: Mapping[str, Floats]
    provenance: Mapping[str, float]
    given: GivenTimes
    uncounted: int = 0
    with_work: int = 0

    @cached_property
    def parallelism(self) -> float:
        """Total over critical path; 1 for a model that takes no time."""
        return self.total_s / self.critical_s if self.critical_s > 0 else 1.0


def row_cost(state: AppState, index: int, executor: str) -> RowCost:
    """Row ``index`` of the workload on the executor class called ``executor``."""
    row, cost = state.scenario.workload[index], state.scenario.cost
    graph, spec = load_graph(state, row.model, row.symbols), cost.given.get(row.model, GivenSpec())
    largest, per_query = batch_key(row, state.scenario)
    options = CostOptions(cost.stack, cost.precision, row.batch, per_query=per_query)
    own, given = json.dumps(state.scenario.cluster.devices, sort_keys=True), spec.model_dump_json()
    digest, measured = load_measured(state) or ("", None)
    staged = bool(row.stages)

    def make() -> tuple[RowCost, ModelGraph]:
        """Return the cost; with it the graph, so that no other one can have its ``id`` while this is kept."""
        devices = user_devices(json.loads(own))
        timed, kind = with_given(graph, spec.device, spec.factors, devices), executor_class(executor, devices)
        batches = cost_batches(timed, kind, options, largest, measured, devices)
        return _cost(timed, batches, options, staged), graph

    return kept(("cost", id(graph), executor, own, options, largest, digest, given, staged), make)[0]


def _cost(
    graph: ModelGraph, batches: Mapping[int, CostedGraph], options: CostOptions, staged: bool
) -> RowCost:
    costed, sizes = batches[1], tuple(batches)
    tasks = [operator.id for operator in costed.graph.operators] if staged else []
    each_s = zip(*(c.compute_s for c in batches.values()), strict=True)
    return RowCost(
        costed.total_compute_s,
        costed.critical_path_s,
        resident_bytes(graph, options),
        activation_bytes(costed, scaled_edges(graph, options)),
        at_every_batch(sizes, [c.total_compute_s for c in batches.values()]),
        {task: at_every_batch(sizes, own_s) for task, own_s in zip(tasks, each_s, strict=False)},
        provenance_shares(costed),
        given_times(costed),
        costed.uncounted,
        costed.with_work,
    )


ANSWERING = frozenset({"scenario", "placement", "simulation", "plan"})


def uncounted_notice(state: AppState, page: str) -> None:
    """Models of which too much work is not counted for any answer on ``page``."""
    if page not in ANSWERING:
        return
    for index, name in enumerate(state.scenario.labels):
        try:
            cost = row_cost(state, index, next(iter(state.scenario.cluster.build().classes)))
        except NonaError:
            continue  # page Scenario says what is wrong with it
        if line := no_verdict(name, cost.uncounted, cost.with_work):
            st.error(plain(line), icon=":material/block:")


def fastest(state: AppState, index: int) -> RowCost:
    """Row ``index`` on the kind of executor that runs it fastest; raises :class:`NonaError`."""
    classes = state.scenario.cluster.build().classes
    return min((row_cost(state, index, name) for name in classes), key=lambda c: (c.total_s, c.critical_s))


def arrivals_of(state: AppState, index: int) -> Arrivals:
    """Return the arrivals of row ``index`` with its trace read.

    Raises :class:`NonaError` if that cannot be.
    """
    key = "arrivals", index, _key(state, index)
    return kept(key, lambda: row_arrivals(state.scenario, index, _reader(state)))


def rate_of(state: AppState, index: int) -> float:
    """Mean queries per second of row ``index``: its own, or those of the trace that it replays.

    Of users an estimate: they send at most as fast as when each is alone, and as the executors carry.
    """
    row = state.scenario.workload[index]
    if row.concurrency is None:
        return effective_rate(arrivals_of(state, index), row.rate)
    cost, executors = fastest(state, index), len(state.scenario.cluster.build().executors)
    return estimated_rate(row.concurrency, row.think, cost.critical_s, cost.total_s, executors)


def rates_of(state: AppState) -> list[float] | None:
    """:func:`rate_of` every row; ``None`` while one of them cannot be read."""
    try:
        return [rate_of(state, i) for i in range(len(state.scenario.workload))]
    except NonaError:
        return None  # its row says what is wrong with it


def trace_of(state: AppState, name: str) -> Floats:
    """All instants of an uploaded trace; raises :class:`NonaError` for one that cannot be read."""
    clocks = (r.arrivals.clock for r in state.scenario.workload if r.arrivals.trace == name)
    return _reader(state)(name, None, next(clocks, BY_HEADER))


def columns_of(state: AppState, name: str) -> dict[str, tuple[str, ...]]:
    """Map each column of an uploaded trace to its values."""
    key, sources = ("columns", name, file_mark(state, name)), state.uploads.sources
    return kept(key, lambda: trace_columns(sources.read(name), PurePath(name).name))


def _reader(state: AppState) -> ReadTrace:
    def read(name: str, where: Where | None, clock: Clock) -> Floats:
        return _trace(file_mark(state, name), name, where, clock, state.uploads.sources)

    return read


def file_mark(state: AppState, name: str) -> str:
    """Return a mark that identifies an upload without reading it: large ones are drawn often."""
    if name not in state.uploads.names():
        state.uploads.sources.read(name)  # says that it is missing
    about = (state.uploads.folder / name).stat()
    return f"{state.uploads.folder} {about.st_mtime_ns} {about.st_size}"


@st.cache_resource(max_entries=32, show_spinner="Reading the trace")
def _trace(mark: str, name: str, where: Where | None, clock: Clock, _sources: Sources) -> Floats:
    return read_trace(_sources.read(name), PurePath(name).name, where, clock)


@st.cache_resource(max_entries=512, show_spinner=False)
def kept(key: Hashable, _make: Callable[[], T]) -> T:
    """Return what was made for a key, which names all that it depends on."""
    return _make()


def _key(state: AppState, index: int) -> str:
    rows = state.scenario.workload
    name = rows[index].arrivals.trace
    content = file_mark(state, name) if name else ""
    shares = [row for row in rows if row.arrivals.trace == name] if name else [rows[index]]
    return json.dumps([content, [r.arrivals.model_dump(mode="json") for r in shares], rows[index].label])


def sample_of(state: AppState, index: int) -> workloads.ArrivalSample:
    """Return the arrivals of row ``index`` as the first run simulates them; raises :class:`NonaError`."""
    row, arrivals = state.scenario.workload[index], arrivals_of(state, index)
    rate = row.rate if row.concurrency is None else rate_of(state, index)
    drawn = rate, state.scenario.seed, state.scenario.labels[index]
    key = ("sample", index, _key(state, index), *drawn)
    return kept(key, lambda: workloads.arrival_sample(arrivals, *drawn))


def offered(state: AppState) -> workloads.OfferedLoad | None:
    """Return the load that the mix offers; ``None`` where a model or the cluster is not valid."""
    scenario, rates = state.scenario, rates_of(state)
    background = scenario.background.compute.utilization
    if not rates:
        return None if rates is None else workloads.OfferedLoad(background, 0.0, 0.0, "", ())
    try:
        cluster = scenario.cluster.build()
        costs = [
            [row_cost(state, i, name) for name in cluster.classes] for i in range(len(scenario.workload))
        ]
    except NonaError:
        return None  # each row says what is wrong with it
    counts = Counter(e.executor_class for e in cluster.executors)
    room = np.array([kind.memory_bytes for kind in cluster.classes.values()])
    batching = [scenario.batching_of(row) for row in scenario.workload]
    pairs = list(zip(batching, costs, strict=True))
    fits = np.array([[held_bytes(spec, c) for c in row] for spec, row in pairs]) <= room
    if not fits.any(axis=1).all():
        return None
    seconds = np.array(
        [
            [share_of(spec, row.stages, c) for c in own]
            for row, (spec, own) in zip(scenario.workload, pairs, strict=True)
        ]
    )
    load = workloads.offered_load(
        rates, seconds, {name: counts[name] for name in cluster.classes}, fits, background
    )
    staged = [stage.batching for row in scenario.workload for stage in row.stages.values()]
    users = any(row.concurrency is not None for row in scenario.workload)
    load = replace(
        load,
        even=load.best if users else load.even,  # on slower executors users send fewer queries
        batches=any(spec is not None and spec.max_batch > 1 for spec in batching + staged),
        host=_fullest_host(scenario, rates, costs),
    )
    if any(row.stages for row in scenario.workload):
        return load
    if not all(spec is None or spec.starts == "greedy" for spec in batching) or not any(batching):
        return load
    k = list(cluster.classes).index(load.kind)
    holders = np.where(fits, np.array([counts[name] for name in cluster.classes], dtype=float), 0.0).sum(
        axis=1
    )
    steps = [np.array([row[k].total_s]) if spec is None else filled(spec, row[k]) for spec, row in pairs]
    here = [rate / n if fits[j, k] else 0.0 for j, (rate, n) in enumerate(zip(rates, holders, strict=True))]
    return replace(load, busy=background + workloads.busy_in_batches(here, steps))


def share_of(spec: BatchingSpec | None, stages: Mapping[str, StageSpec], cost: RowCost) -> float:
    """Seconds that a query takes of an executor whose batches are full; stages of the host take none."""
    if not stages:
        return cost.total_s if spec is None else float(filled(spec, cost)[-1]) / spec.max_batch
    found = {task: stages.get(task, StageSpec()) for task in cost.stage_s}
    return sum(_full_s(spec, of, cost.stage_s[task]) for task, of in found.items() if of.cpu is None)


def _full_s(spec: BatchingSpec | None, stage: StageSpec, seconds: Floats) -> float:
    """Seconds that a query takes of a stage in full batches."""
    own = stage.batching or spec
    most = 1 if own is None else own.max_batch
    return float(padded(seconds, own.allowed if own else (), most)[-1]) / most


def _fullest_host(
    scenario: Scenario, rates: Sequence[float], costs: Sequence[Sequence[RowCost]]
) -> tuple[str, float] | None:
    """Return the stage whose processes of the host are the fullest, and their load; ``None`` without any."""
    servers = sum(group.count for group in scenario.cluster.task_groups)
    loads = {
        f"{task} of {label}": rate * _full_s(scenario.batching_of(row), stage, own[0].stage_s[task])
        / (stage.cpu * servers)
        for label, row, rate, own in zip(scenario.labels, scenario.workload, rates, costs, strict=True)
        for task, stage in row.stages.items()
        if stage.cpu is not None and task in own[0].stage_s
    }  # fmt: skip
    return max(loads.items(), key=lambda item: item[1], default=None)


def filled(spec: BatchingSpec, cost: RowCost) -> Floats:
    """(B,) Seconds of a row's batches."""
    return padded(cost.batch_s, spec.allowed, spec.max_batch)


WIDTH, HEIGHT = 240, 54
DRAWN = "Drawn with the scenario's seed, as in the first run."
REPLAYED = "The first run replays these arrivals of the trace."


def shares_picture(rate_share: float, load_share: float | None, number: int) -> Node:
    """Draw a row's shares of the queries and of the compute as bars."""
    bars = [_share_meter("of the queries", rate_share, number)]
    if load_share is not None:
        bars.append(_share_meter("of the compute they ask for", load_share, number))
    return el("div", "shares", *bars)


def _share_meter(what: str, share: float, number: int) -> Node:
    """Return a meter of a share, in the colour of the row ``number``."""
    return el(
        "div",
        "sharebar",
        el("div", "meter", el("i", ""), __w=f"{100 * share:.2f}%", __mc=colour(number)),
        el("span", "", el("b", "", f"{format_number(100 * share)} %"), f" {what}"),
        role="img",
        aria_label=f"{format_number(100 * share)} % {what}",
    )


def arrivals_picture(
    sample: workloads.ArrivalSample, arrivals: Arrivals, number: int, origin: str = DRAWN
) -> Node:
    """Count over the first seconds, and the distribution of gaps beside that of a Poisson process.

    ``origin`` is a sentence on where the arrivals are from.
    """
    words = workloads.regularity(sample, arrivals)
    about = f"{words[0].upper()}{words[1:]}; CV of the gaps in this sample {sample.cv:.2f}."
    when = f" from {format_time(sample.begin_s)} on" if sample.begin_s else ""
    return el(
        "div",
        "arrivals",
        _figure(_counts(sample), f"arrivals in {format_time(sample.window_s)}{when}", number),
        _figure(_gaps(sample), "gaps between them, 0 to 4 mean gaps; line: Poisson", number),
        el("p", "note", f"{about} {origin}".rstrip()),
    )


def _figure(shapes: list[Node], caption: str, number: int) -> Node:
    picture = el(
        "svg", "", *shapes, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none", role="img",
        aria_label=caption,
    )  # fmt: skip
    return el("div", "spark", picture, el("span", "note", caption), __c=colour(number))


def _bars(heights: list[float]) -> str:
    """Bars from the ground up as one path; heights within 0 … 1."""
    step = WIDTH / len(heights)
    return "".join(
        f"M{i * step + 0.4:.2f},{HEIGHT}v{-h * (HEIGHT - 4):.2f}h{step - 0.8:.2f}V{HEIGHT}Z"
        for i, h in enumerate(heights)
        if h > 0
    )


def _counts(sample: workloads.ArrivalSample) -> list[Node]:
    most = max(int(sample.counts.max()), 1)
    return [el("path", "bars", d=_bars([c / most for c in sample.counts.tolist()] or [0.0] * workloads.BINS))]


def _gaps(sample: workloads.ArrivalSample) -> list[Node]:
    width = workloads.LARGEST_GAP / workloads.GAP_BINS
    poisson = [2.718281828459045 ** (-(i + 0.5) * width) for i in range(workloads.GAP_BINS)]
    most = max(float(sample.density.max()), 1.0)
    line = " ".join(
        f"{(i + 0.5) * WIDTH / workloads.GAP_BINS:.1f},{HEIGHT - p / most * (HEIGHT - 4):.1f}"
        for i, p in enumerate(poisson)
    )
    return [
        el("path", "bars", d=_bars([d / most for d in sample.density.tolist()])),
        el("polyline", "line", points=line),
    ]


def gauge(
    name: str,
    what: str,
    background: float,
    queries: float | None,
    most: float | None = None,
    otherwise: str = "",
    busy: float | None = None,
    batches: bool = False,
) -> Node:
    """Return a bar with background and queries, the point of overload marked.

    ``otherwise`` where it is unknown.

    A paler bar goes on to ``most``, what the queries take where executors are drawn alike.
    """
    own = queries or 0.0
    upto = own if most is None else max(most, own)
    scale = max(1.25, (background + upto) * 1.05)
    text = otherwise if queries is None else workloads.load_text(what, background, own, most, busy, batches)
    over = " over" if background + own >= 1 else ""
    return el(
        "div",
        f"gauge{over}",
        el("b", "", name),
        el(
            "div",
            "track",
            el("i", "bg", __w=f"{100 * background / scale:.2f}%"),
            _piece("own", background / scale, own / scale),
            _piece("upto", (background + own) / scale, (upto - own) / scale),
            el("i", "full", __x=f"{100 / scale:.2f}%"),
            *([] if over else [el("span", "limit", "100 %", __x=f"{100 / scale:.2f}%")]),
            role="img",
            aria_label=f"{name}: {text}",
        ),
        el("p", "", text),
    )


def _piece(kind: str, begin: float, length: float) -> Node:
    return el("i", kind, __w=f"{100 * length:.2f}%", __x=f"{100 * begin:.2f}%")
