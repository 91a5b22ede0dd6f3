"""The workload of one replication: service times, plans of queries, jobs with their draws.

Every draw comes from a stream with its own name, so it is the same for every scheduler and every
engine. Jobs come in chunks; memory does not grow with the length of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import tee
from typing import Any, TypeVar

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.queries.system import BackgroundStream, QueryClass, System
from nona.scenario.arrivals import CHUNK, arrival_chunks

BLOCK = 512  # background items, and queries of users, that are drawn at a time
T = TypeVar("T")


def gamma_draws(rng: np.random.Generator, scv: float, size: int) -> Floats:
    """(size,) Draws of mean 1 and squared coefficient of variation ``scv`` (0: all 1; 1: exponential).

    >>> gamma_draws(np.random.default_rng(0), 0.0, 3).tolist()
    [1.0, 1.0, 1.0]
    """
    if scv == 0:
        return np.ones(size)
    return rng.exponential(1.0, size) if scv == 1 else rng.gamma(1 / scv, scv, size)


def background_items(
    stream: BackgroundStream, streams: RandomStreams, *name: str
) -> Iterator[tuple[float, float]]:
    """Endless (arrival instant in s, service in the stream's unit) of one resource's background."""
    for times, services in background_blocks(stream, streams, *name):
        yield from zip(times.tolist(), services.tolist(), strict=True)


def background_blocks(
    stream: BackgroundStream, streams: RandomStreams, *name: str
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the background in blocks, so memory is bounded: Poisson arrivals, gamma services.

    Ends at once when there is no background.
    """
    if stream.rate <= 0 or stream.mean <= 0:
        return
    gaps = streams.generator("background", *name, "gaps")
    services = streams.generator("background", *name, "services")
    now = 0.0
    while True:
        times = now + np.cumsum(gaps.exponential(1 / stream.rate, BLOCK))
        now = float(times[-1])
        yield times, stream.mean * gamma_draws(services, stream.scv, BLOCK)


def link_background(
    stream: BackgroundStream, streams: RandomStreams, name: Sequence[str], capacity: float
) -> Iterator[tuple[float, float]]:
    """Yield the background of a link of ``capacity`` (bytes/s): (arrival instant, seconds of the link)."""
    for arrival, size in background_items(stream, streams, *name):
        yield arrival, size / capacity


def link_blocks(
    stream: BackgroundStream, streams: RandomStreams, name: Sequence[str], capacity: float
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the background of a link in blocks."""
    for times, sizes in background_blocks(stream, streams, *name):
        yield times, sizes / capacity


MAX_TASKS = 1 << 20  # of a query: the event key of a task holds its number in 20 bits


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a task makes and others read.

    ``numbers[i]`` is the number of the input (tensor, ``targets[i]``) among all inputs of the
    graph, in order of tensor, then target: the place of a message in the order of its job.
    ``only`` is the target where there is just one, else −1.
    """

    tensor: int
    size_bytes: float
    work_s: float
    targets: tuple[int, ...]
    numbers: tuple[int, ...]
    only: int


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Tables of one query class.

    ``times[c][t]``: modelled seconds of task t on executor class c, ``loads[c][t]`` those that it takes of an
    executor whose batches are full. ``inputs[t]``: tensors that t
    reads, ``predecessors[t]`` the number of tasks that make them, ``successors[t]`` the tasks that
    read from t. ``reads[t]`` holds, for each input, the output that it is, t's place in it,
    and the task that makes it; ``makers[t]`` those tasks alone. ``numbered`` holds the output and
    its task for each input by its number, ``readers`` the task that reads it.
    """

    tasks: int
    times: list[list[float]]
    loads: list[list[float]]
    sources: tuple[int, ...]
    inputs: list[int]
    predecessors: list[int]
    successors: list[tuple[int, ...]]
    outputs: list[tuple[Output, ...]]
    reads: list[tuple[tuple[Output, int, int], ...]]
    makers: list[tuple[int, ...]]
    numbered: list[tuple[Output, int]]
    readers: list[int]


def make_plan(query: QueryClass, capacity: float) -> QueryPlan:
    """Tables of ``query`` on a link of ``capacity`` (bytes/s)."""
    graph = query.tasks
    n = len(graph)
    inputs = sorted(
        set(
            zip(
                graph.edge_tensor.tolist(),
                graph.edge_target.tolist(),
                graph.edge_source.tolist(),
                strict=True,
            )
        )
    )
    if not 0 < n < MAX_TASKS or len(inputs) >= MAX_TASKS:
        raise SimulationError(
            f"Query {graph.name!r}: {n} tasks with {len(inputs)} inputs; there must be at least one task, "
            f"and fewer than {MAX_TASKS} of each; contract the graph further."
        )
    by_tensor: dict[int, list[tuple[int, int, int]]] = {}
    for number, (tensor, target, source) in enumerate(inputs):
        by_tensor.setdefault(tensor, []).append((target, number, source))
    outputs: list[list[Output]] = [[] for _ in range(n)]
    reads: list[list[tuple[Output, int, int]]] = [[] for _ in range(n)]
    numbered: list[tuple[Output, int]] = []
    for tensor, uses in by_tensor.items():
        size = float(graph.tensor_bytes[tensor])
        source = uses[0][2]
        targets, numbers = tuple(u[0] for u in uses), tuple(u[1] for u in uses)
        only = targets[0] if len(targets) == 1 else -1
        output = Output(tensor, size, size / capacity, targets, numbers, only)
        outputs[source].append(output)
        for place, (target, _, _) in enumerate(uses):
            reads[target].append((output, place, source))
            numbered.append((output, source))
    return QueryPlan(
        tasks=n,
        times=graph.compute_s.tolist(),
        loads=query.load_s.tolist(),
        sources=tuple(t for t in range(n) if not reads[t]),
        inputs=[len(r) for r in reads],
        predecessors=[len(p) for p in graph.dag.predecessors],
        successors=list(graph.dag.successors),
        outputs=[tuple(o) for o in outputs],
        reads=[tuple(r) for r in reads],
        makers=[tuple(source for _, _, source in r) for r in reads],
        numbered=numbered,
        readers=[target for _, target, _ in inputs],
    )


WIDTH = (
    16  # uniforms are drawn in columns of this width, so a job's k-th does not depend on how many are used
)


@dataclass(frozen=True, slots=True)
class JobChunk:
    """A chunk of jobs in order of (arrival, class).

    ``services`` holds a multiplier of mean 1 for every task: those of job i begin at ``offsets[i]``,
    which is −1 where the class's services are deterministic; ``uniforms`` is (n, uniforms_per_job).
    """

    arrival_s: Floats
    query: Ints
    services: Floats
    offsets: Ints
    uniforms: Floats

    def rows(
        self, tasks: Sequence[int], lists: bool = False
    ) -> Iterator[tuple[float, int, list[float] | None, Any]]:
        """Job by job, in plain Python's numbers: arrival, class, multipliers, uniforms.

        ``tasks`` is the number of tasks in a job of each class. The uniforms of a job are an array, or
        a list when ``lists``.
        """
        services = self.services.tolist()
        columns = (self.arrival_s.tolist(), self.query.tolist(), self.offsets.tolist())
        drawn = self.uniforms.tolist() if lists else self.uniforms
        for arrival, query, at, uniforms in zip(*columns, drawn, strict=True):
            yield arrival, query, None if at < 0 else services[at : at + tasks[query]], uniforms


def stream_names(queries: tuple[QueryClass, ...]) -> tuple[str, ...]:
    """Return a name for each class's streams: its own, numbered where two classes share one.

    Random streams follow the name, so a class keeps its arrivals when another is added.
    """
    seen: Counter[str] = Counter()
    names = []
    for q in queries:
        names.append(f"{q.name}#{seen[q.name]}" if seen[q.name] else q.name)
        seen[q.name] += 1
    return tuple(names)


def _stream(query: QueryClass, name: str) -> tuple[str, ...]:
    """Return the name of the stream of a class's arrivals; classes that replay one window share theirs."""
    return ("window of a trace", query.arrivals.trace) if query.arrivals.trace else (name,)


class _ClassServices:
    def __init__(self, query: QueryClass, rng: np.random.Generator) -> None:
        self.scv, self.tasks, self.rng = query.service_scv, len(query.tasks), rng
        if not 0 <= self.scv < np.inf:
            raise SimulationError(
                f"Query {query.name!r}: service_scv={self.scv:g} must be at least 0; 0 is deterministic."
            )

    def draw(self, n: int) -> Floats:
        """Multipliers of ``n`` jobs, one job after the other."""
        return gamma_draws(self.rng, self.scv, n * self.tasks)


Block = tuple[Floats, Floats]
Kept = dict[tuple[str, int], Iterator[Any]]  # of one replication: (kind, number) → what it draws


class Workload:
    """All that one replication draws: jobs and background.

    ``system``, ``replication``: seed and replication decide the streams. ``uniforms_per_job``: columns of
    ``Jobs.uniforms``. ``kept``: keep there what is drawn, for other runs of this replication; memory grows
    with the longest of them.
    """

    def __init__(
        self, system: System, replication: int, uniforms_per_job: int = 0, kept: Kept | None = None
    ) -> None:
        self.system, self._kept = system, kept
        self.streams = RandomStreams(system.seed, replication)
        self.uniforms_per_job = uniforms_per_job
        names = stream_names(system.queries)
        active = [
            i
            for i, q in enumerate(system.queries)
            if not q.users and (q.rate > 0 or q.arrivals.process == "trace")
        ]
        if not active and not system.closed:
            raise SimulationError("Workload: no query class has a rate above 0; give one of them a rate.")
        self._sources = [
            arrival_chunks(
                system.queries[i].arrivals,
                system.queries[i].rate,
                self.streams.generator("arrivals", *_stream(system.queries[i], names[i])),
                replication,
            )
            for i in active
        ]
        self._active = active
        self._services = [
            _ClassServices(q, self.streams.generator("services", n))
            for q, n in zip(system.queries, names, strict=True)
        ]
        blocks = -(-uniforms_per_job // WIDTH)
        self._uniforms = [self.streams.generator("uniforms", str(b)) for b in range(blocks)]
        self._names, self._blocks = names, blocks

    def chunks(self) -> Iterator[JobChunk]:
        """Endless chunks of jobs, from the first one."""
        return self._from_start("jobs", self.uniforms_per_job, self._draw_jobs)

    def of_users(self, query: int) -> Iterator[Block]:
        """Blocks of what the queries of a class in a closed loop draw, in order of their arrival.

        (:data:`BLOCK`, T) multipliers of the services, and (:data:`BLOCK`, uniforms of a job).
        """
        return self._from_start("users", query, lambda: self._draw_users(query))

    def _draw_users(self, query: int) -> Iterator[Block]:
        name = self._names[query]
        source = _ClassServices(self.system.queries[query], self.streams.generator("services", name))
        drawn = [self.streams.generator("uniforms", "users", name, str(b)) for b in range(self._blocks)]
        while True:
            services = source.draw(BLOCK).reshape(BLOCK, source.tasks)
            uniforms = [rng.random((BLOCK, WIDTH)) for rng in drawn] or [np.empty((BLOCK, 0))]
            yield services, np.concatenate(uniforms, axis=1)[:, : self.uniforms_per_job]

    def executor_background(self, executor: int) -> Iterator[Block]:
        """Blocks of (arrival instant in s, service in s) of an executor's background."""
        compute, name = self.system.background_compute, ("executor", str(executor))
        return self._from_start("executor", executor, lambda: background_blocks(compute, self.streams, *name))

    def link_background(self, link: int) -> Iterator[Block]:
        """Blocks of (arrival instant in s, seconds of the link) of a link's background."""
        name, stream = self.system.link_streams[link]
        capacity = float(self.system.link_capacity[link])
        return self._from_start("link", link, lambda: link_blocks(stream, self.streams, name, capacity))

    def _from_start(self, kind: str, number: int, draw: Callable[[], Iterator[T]]) -> Iterator[T]:
        if self._kept is None:
            return draw()
        if (kind, number) not in self._kept:
            self._kept[kind, number] = tee(draw(), 1)[0]
        # A copy of an iterator of tee begins where that stands: here at the first item.
        return copy(self._kept[kind, number])

    def _draw_jobs(self) -> Iterator[JobChunk]:
        for times, queries in self._merged():
            offsets, drawn, begin = np.full(len(times), -1), [np.empty(0)], 0
            for q in np.unique(queries).tolist():
                places, source = np.flatnonzero(queries == q), self._services[q]
                if source.scv:
                    drawn.append(source.draw(len(places)))
                    offsets[places] = begin + source.tasks * np.arange(len(places))
                    begin += len(drawn[-1])
            yield JobChunk(times, queries, np.concatenate(drawn), offsets, self._draw_uniforms(len(times)))

    def _draw_uniforms(self, n: int) -> Floats:
        if not self._uniforms:
            return np.empty((n, 0))
        blocks = [rng.random((n, WIDTH)) for rng in self._uniforms]
        whole = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        return whole[:, : self.uniforms_per_job]

    def _merged(self) -> Iterator[tuple[Floats, Ints]]:
        """Arrivals of all classes in order; those up to the horizon that every class has reached."""
        if not self._sources:  # all classes are in closed loops: none of the others ever comes
            while True:
                yield np.full(CHUNK, np.inf), np.zeros(CHUNK, dtype=np.int64)
        pending = [np.empty(0) for _ in self._sources]
        while True:
            for i, source in enumerate(self._sources):
                while len(pending[i]) < 2:  # a chunk may be short; ties at its end may go on in the next
                    pending[i] = np.concatenate([pending[i], next(source)])
            horizon = min(float(h[-1]) for h in pending)
            counts = [int(np.searchsorted(h, horizon, side="left")) for h in pending]
            if not any(counts):  # all that is pending lies at one instant
                pending = [np.concatenate([h, next(s)]) for h, s in zip(pending, self._sources, strict=True)]
                continue
            times = np.concatenate([h[:n] for h, n in zip(pending, counts, strict=True)])
            queries = np.repeat(np.array(self._active, dtype=np.int64), counts)
            pending = [h[n:] for h, n in zip(pending, counts, strict=True)]
            order = np.lexsort((queries, times))
            for begin in range(0, len(order), CHUNK):
                part = order[begin : begin + CHUNK]
                yield times[part], queries[part]
