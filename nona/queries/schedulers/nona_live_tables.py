"""The tables of ``nona-live``: task graphs, the plan's configurations, expected waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.models.decomposition import VIRTUAL, SubGraph
from nona.queries.placement.configurations import to_labels
from nona.queries.placement.result import Placement, SubGraphPlacement
from nona.queries.schedulers.least_loaded import works_of
from nona.queries.system import QueryClass, System
from nona.scenario.arrivals import Arrivals


class Expected(NamedTuple):
    """Expectations while a job of one of Q query classes runs.

    Link: ``link_load`` and ``link_wait_s``, its utilisation and wait by background; ``senders``, queries per
    second that may be split, each of which waits for what is sent before it.

    Executors: ``load`` and ``wait_s``, utilisation by background and the wait behind it; ``query_load``
    and ``query_wait_s``, by queries, and what is left of a job when a task comes; ``busy_load``, work that
    comes per second where work waits; ``crowding``, how much more of the queries' work meets the few tasks
    bound to an idle executor; ``wanted_rate``, executors that arriving queries take per second;
    ``burst_s`` and ``burst_wanted`` (Q,), work per executor and executors of the queries that follow at once.

    ``margin``: by what share of the query's time splitting must be better where executors are scarce.
    """

    link_load: float
    link_wait_s: float
    senders: float
    load: float
    wait_s: float
    query_load: float
    query_wait_s: float
    busy_load: float
    crowding: float
    wanted_rate: float
    burst_s: Floats
    burst_wanted: Floats
    margin: float


class LiveTables(NamedTuple):
    """Q query classes, K executor classes, N tasks, G sub-graphs, C configurations, S servers.

    x[i]…x[i+1] delimits the i-th row. Tasks have their number in their query class; where tables are
    over all N tasks, the task t of query class q stands at ``tasks[q]`` + t.

    Query classes: ``tasks`` (Q+1,), ``graphs`` (Q+1,), ``first`` (Q,) the task at the head, −1 where
    virtual; ``work_s`` (Q·K,) seconds of all tasks, ``inf`` where the model does not fit; ``others`` (Q,)
    how many servers beside the first are looked at; ``near`` (Q,) how many more executors of the first.

    Tasks: ``time_s`` (N·K,); ``inputs`` (N+1,) delimits ``source`` (the task that makes the input),
    ``tensor`` and ``size_bytes``; ``back_bytes`` (N,) is the least that comes back from a server where
    the task runs.

    Sub-graphs: ``order`` (G+1,) delimits ``task``, interior and sink in order of earliest start;
    ``configurations`` (G+1,); ``labels`` (C,) is where the labels of a configuration start in ``label``,
    one for each task of ``task``: 0 is the root's executor, 1, 2, … others.

    Network: ``rack`` (S,); ``rack_s`` and ``core_s`` (S,) seconds per byte on the way within the rack and
    beyond; ``latency_s``; ``core_bytes_s``, the link's capacity; ``price_s`` per byte; ``live``: 1 where the
    link's queue is read.

    ``expected``: what will happen while the job runs. ``quota`` (Q,): share of the jobs that may be split.

    ``most_tasks``, ``most_tensors``, ``most_slots``: sizes of the working arrays.
    """

    tasks: Ints
    graphs: Ints
    first: Ints
    work_s: Floats
    others: Ints
    near: Ints
    time_s: Floats
    inputs: Ints
    source: Ints
    tensor: Ints
    size_bytes: Floats
    back_bytes: Floats
    order: Ints
    task: Ints
    configurations: Ints
    labels: Ints
    label: Ints
    rack: Ints
    rack_s: Floats
    core_s: Floats
    latency_s: float
    core_bytes_s: float
    price_s: float
    live: int
    expected: Expected
    quota: Floats
    classes: int
    most_tasks: int
    most_tensors: int
    most_slots: int


# Chosen by simulation; with few executors a newcomer meets a given one more often.
BUSY_LOAD = 1.2
CROWDING, FEW_CROWDING = 1.0, 9.0  # 1 + 9 / executors
FEW_MARGIN, MOST_MARGIN = 1.6, 0.3  # 1.6 / executors, at most 0.3


def _expected_of(system: System, others: Sequence[int]) -> Expected:
    """Return the wait behind background, the mean rest of a job that a newcomer meets, and bursts.

    The wait follows Pollaczek and Khinchine: ρ·E[S²] / (2·E[S]·(1 − ρ)); the rest is E[S²] / (2·E[S]); for
    bursts see :func:`_followers`.

    ``others``: how many executors beside the first a query of each class may take.
    """
    rate = np.array([q.rate for q in system.queries])
    work_s = np.array([q.load_s.sum(axis=1) @ system.class_weights for q in system.queries], dtype=float)
    compute, network = system.background_compute, system.background_network
    load = compute.rate * compute.mean
    link_load = network.load(system.capacity)
    follow = np.array([_followers(q.arrivals) for q in system.queries])
    wide = 1.0 + np.array(others)
    return Expected(
        link_load=link_load,
        link_wait_s=_wait_s(link_load, network.mean / system.capacity, network.scv),
        load=load,
        wait_s=_wait_s(load, compute.mean, compute.scv),
        query_load=float(rate @ work_s) / system.executors,
        query_wait_s=float(rate @ work_s**2 / (2 * max(rate @ work_s, 1e-300))),
        busy_load=BUSY_LOAD,
        crowding=CROWDING + FEW_CROWDING / system.executors,
        wanted_rate=float(rate @ wide),
        burst_s=follow * work_s / system.executors,
        burst_wanted=follow * wide,
        margin=min(FEW_MARGIN / system.executors, MOST_MARGIN),
        senders=float(rate @ (np.array(others) > 0)),
    )


def _followers(arrivals: Arrivals) -> float:
    """Arrivals soon after one beyond what the rate says: (c² − 1) / 2 for gaps of squared variation c².

    That is the constant of the renewal function, m(t) → λt + (c² − 1) / 2 (Cox: Renewal Theory, 1962,
    section 4.2). Other processes than gamma count as if they were Poisson.

    >>> _followers(Arrivals("gamma", cv=3.0)), _followers(Arrivals())
    (4.0, 0.0)
    """
    return max(arrivals.cv**2 - 1, 0.0) / 2 if arrivals.process == "gamma" else 0.0


def _wait_s(load: float, mean_s: float, scv: float) -> float:
    return load * mean_s * (1 + scv) / 2 / max(1 - load, 0.05)


MOST_SLOTS = 8  # other servers, and other executors of the first server, that are looked at
MOST_CONFIGURATIONS = 4  # of a sub-graph, the most probable
_SAVES = 1e-3  # of the time of a sub-graph that runs on one executor


@dataclass(slots=True)
class _Flat:
    tasks: list[int] = field(default_factory=lambda: [0])
    graphs: list[int] = field(default_factory=lambda: [0])
    wide: list[int] = field(default_factory=list)
    time_s: list[Floats] = field(default_factory=list)
    inputs: list[int] = field(default_factory=lambda: [0])
    source: list[int] = field(default_factory=list)
    tensor: list[int] = field(default_factory=list)
    size_bytes: list[float] = field(default_factory=list)
    back_bytes: list[float] = field(default_factory=list)
    order: list[int] = field(default_factory=lambda: [0])
    task: list[int] = field(default_factory=list)
    configurations: list[int] = field(default_factory=lambda: [0])
    labels: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)

    def add_query(self, query: QueryClass, placed: Sequence[SubGraphPlacement]) -> None:
        graph = query.tasks
        self.tasks.append(self.tasks[-1] + len(graph))
        self.time_s.append(graph.compute_s.T.ravel())
        columns = (graph.edge_target.tolist(), graph.edge_source.tolist(), graph.edge_tensor.tolist())
        reads: list[list[tuple[int, int]]] = [[] for _ in range(len(graph))]
        for target, source, tensor in sorted(set(zip(*columns, strict=True))):
            reads[target].append((source, tensor))
        for row in reads:
            self.source += [source for source, _ in row]
            self.tensor += [tensor for _, tensor in row]
            self.size_bytes += [float(graph.tensor_bytes[tensor]) for _, tensor in row]
            self.inputs.append(len(self.source))
        self.back_bytes += _back_bytes(query)
        start_s = _earliest_s(query)
        self.wide.append(max((self.add_subgraph(query, p, start_s) for p in placed), default=0))
        self.graphs.append(len(self.order) - 1)

    def add_subgraph(self, query: QueryClass, placed: SubGraphPlacement, start_s: Sequence[float]) -> int:
        """Append a sub-graph; how many executors beside the root's it may use."""
        graph = placed.subgraph
        listed = sorted(graph.interior, key=lambda i: (start_s[i], i))
        listed += [graph.sink] if graph.sink != VIRTUAL else []
        self.task += listed
        self.order.append(len(self.task))
        rows = [] if _critical_share(query, graph) > 1 - _SAVES else _likely_labels(placed)
        for row in rows:
            at = dict(zip((*graph.interior, graph.sink), row, strict=True))
            self.labels.append(len(self.label))
            self.label += [at[i] for i in listed]
        self.configurations.append(len(self.labels))
        return max(2, *(max(row) for row in rows)) if rows else 0


def build_live(system: System, placement: Placement, live: bool) -> LiveTables:
    """Tables for a placement; ``live``: the link's queue is read, where there is a single link."""
    flat, works = _Flat(), works_of(system)
    for query, placed in zip(system.queries, placement.queries, strict=True):
        flat.add_query(query, placed)
    most_near = int(np.bincount(system.executor_server).max()) - 1
    others = [min(wide, system.servers - 1, MOST_SLOTS) for wide in flat.wide]
    near = [min(wide, most_near, MOST_SLOTS) for wide in flat.wide]
    rack, rack_s, core_s = _paths_of(system)
    price_s = placement.prediction.congestion_price_s_per_byte
    return LiveTables(
        tasks=_ints(flat.tasks),
        graphs=_ints(flat.graphs),
        first=_ints([q.decomposition.cuts[0] for q in system.queries]),
        work_s=works.work_s,
        others=_ints(others),
        near=_ints(near),
        time_s=np.concatenate(flat.time_s).astype(float),
        inputs=_ints(flat.inputs),
        source=_ints(flat.source),
        tensor=_ints(flat.tensor),
        size_bytes=np.array(flat.size_bytes, dtype=float),
        back_bytes=np.array(flat.back_bytes, dtype=float),
        order=_ints(flat.order),
        task=_ints(flat.task),
        configurations=_ints(flat.configurations),
        labels=_ints(flat.labels),
        label=_ints(flat.label),
        rack=rack,
        rack_s=rack_s,
        core_s=core_s,
        latency_s=system.latency_s,
        core_bytes_s=system.capacity,
        price_s=price_s or 0.0,
        live=int(live and system.topology is None),
        expected=_expected_of(system, others),
        quota=np.ones(len(system.queries)),
        classes=works.classes,
        most_tasks=max(len(q.tasks) for q in system.queries),
        most_tensors=max(len(q.tasks.tensor_bytes) for q in system.queries),
        most_slots=1 + max(a + b for a, b in zip(others, near, strict=True)),
    )


def _likely_labels(placed: SubGraphPlacement) -> list[list[int]]:
    """Return labels of the likeliest configurations that leave the root's server; else one row of zeros."""
    p = np.asarray(placed.probabilities, dtype=float)
    interior = placed.subgraph.interior
    away = [i for i in np.argsort(-p, kind="stable") if p[i] > 0 and not placed.configurations[i].is_local]
    rows = [list(to_labels(placed.configurations[i], interior)) for i in away[:MOST_CONFIGURATIONS]]
    return [[int(v) for v in row] for row in rows] or [[0] * (len(interior) + 1)]


def _critical_share(query: QueryClass, graph: SubGraph) -> float:
    """Return the interior's longest chain over its whole work; 1 where nothing can run side by side."""
    time_s = query.tasks.compute_s.mean(axis=0)
    ends: dict[int, float] = {}
    for i in graph.interior:
        before = [ends[p] for p in query.tasks.dag.predecessors[i] if p in ends]
        ends[i] = max(before, default=0.0) + float(time_s[i])
    whole_s = float(sum(time_s[i] for i in graph.interior))
    return max(ends.values()) / whole_s if whole_s > 0 else 1.0


def _earliest_s(query: QueryClass) -> list[float]:
    """Return the earliest start of each task, if messages and waits took no time."""
    time_s, at = query.tasks.compute_s.mean(axis=0), [0.0] * len(query.tasks)
    for i, before in enumerate(query.tasks.dag.predecessors):
        at[i] = max((at[p] + float(time_s[p]) for p in before), default=0.0)
    return at


def _back_bytes(query: QueryClass) -> list[float]:
    """Return the least bytes that a task or what follows it in the interior must send back."""
    graph, cuts = query.tasks, set(query.decomposition.cuts)
    own = np.zeros(len(graph))
    for k in sorted(set(graph.edge_tensor.tolist())):
        own[graph.tensor_source[k]] += graph.tensor_bytes[k]
    back: list[float] = own.tolist()
    for i in reversed(range(len(graph))):
        later = graph.dag.successors[i]
        if later and cuts.isdisjoint(later):
            back[i] = min(back[i], sum(back[s] for s in later))
    return back


def _paths_of(system: System) -> tuple[Ints, Floats, Floats]:
    """By server: its rack, and seconds per byte on its side of a path within the rack and beyond."""
    topology = system.topology
    if topology is None:
        each = np.full(system.servers, 1 / system.capacity)
        return np.arange(system.servers), each, each
    byte_s = np.append(1 / topology.link_capacity, 0.0)  # the last stands for a link that is not there
    rack_s = np.maximum(byte_s[topology.out_link], byte_s[topology.in_link])
    beyond = np.maximum(byte_s[topology.up_link], byte_s[topology.down_link])
    core_s = np.maximum(np.maximum(rack_s, beyond), byte_s[topology.core])
    return topology.rack.astype(np.int64), rack_s, core_s


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
