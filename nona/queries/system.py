"""The system: the workload on the cluster, in arrays. Placement, schedulers and simulation see this.

It is made by :mod:`nona.queries.workflows` from a scenario, and knows nothing of files or catalogues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from nona.cluster.topology import Topology
from nona.core.arrays import Floats, Ints
from nona.core.errors import HardwareError
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition
from nona.queries.pools import Pools, single_pools
from nona.scenario.arrivals import Arrivals

if TYPE_CHECKING:
    from nona.scenario.rows import BatchRule

Discipline = Literal["fifo", "processor-sharing"]


@dataclass(frozen=True, eq=False)
class Batching:
    """How an executor takes equal tasks of queries of one class in steps, and how long these last.

    ``step_s`` (B, classes, T): seconds of a step with 1, …, B members; those of a number that the server pads
        are of the padded one.
    ``rule``: ``greedy``: what waits, at most B; ``delay``: B, or once the oldest has waited for ``delay_s``
        what waits; ``triton``: the same with ``preferred`` sizes, at once where one of them waits;
        ``static``: B.
    ``form_ahead``: for ``triton``: so many batches may be formed while the executor is busy.
    """

    step_s: Floats
    rule: BatchRule = "greedy"
    delay_s: float = 0.0
    preferred: tuple[int, ...] = ()
    form_ahead: int = 0

    @property
    def max_batch(self) -> int:
        """B, the most members of a step."""
        return len(self.step_s)

    def takes_alike(self, other: Batching | None) -> bool:
        """Return whether equal tasks under the other rule may be in one step with those under this one."""
        return (
            other is not None
            and (self.rule, self.delay_s, self.preferred, self.form_ahead)
            == (other.rule, other.delay_s, other.preferred, other.form_ahead)
            and np.array_equal(self.step_s, other.step_s)
        )

    @property
    def waits_s(self) -> float:
        """How long a step that is neither full nor of a preferred size waits for more members."""
        return {"greedy": 0.0, "static": math.inf}.get(self.rule, self.delay_s)

    @property
    def preferred_to(self) -> Ints:
        """(B,) The largest number up to b that starts without a wait, 0 where there is none."""
        largest = np.zeros(self.max_batch, dtype=np.int64)
        for size in sorted((self.rule == "triton" and self.preferred) or (self.max_batch,)):
            largest[size - 1 :] = size
        return largest


@dataclass(frozen=True, eq=False)
class QueryClass:
    """One row of the workload: a task graph, its rate (1/s) and its SLO (seconds, or none).

    ``weight_bytes`` is what an executor holds to run any of its tasks; classes with an equal
    ``replica`` share these bytes (``""``: no other class does). With ``batching`` executors take its tasks in
    batches; then ``batching.step_s[0]`` is ``tasks.compute_s``. ``stage_batching``: by task, where that
    differs. ``capacity`` (classes, T): how many such tasks an executor runs in the time of one, where it runs
    several at once; ``inf`` for tasks of the host. With ``users`` above 0 the loop is closed: each sends
    again ``think_s`` after the end of a query, and ``rate`` is an estimate.
    """

    name: str
    tasks: TaskGraph
    decomposition: Decomposition
    rate: float
    slo_s: float | None = None
    arrivals: Arrivals = field(default_factory=Arrivals)
    service_scv: float = 0.0
    weight_bytes: float = 0.0
    replica: str = ""
    batching: Batching | None = None
    stage_batching: Mapping[int, Batching | None] = field(default_factory=dict)
    capacity: Floats | None = None
    users: int = 0
    think_s: float = 0.0

    def batching_of(self, task: int) -> Batching | None:
        """How executors take a task in batches; ``None`` where they do not."""
        return self.stage_batching.get(task, self.batching)

    @property
    def batches(self) -> bool:
        """True where executors take some of its tasks in batches."""
        return self.batching is not None or any(self.stage_batching.values())

    @property
    def alone_s(self) -> float:
        """Seconds of a query alone on idle executors of the fastest class, without transfers."""
        return min(self.tasks.dag.critical_path(times)[0] for times in self.tasks.compute_s.tolist())

    @cached_property
    def step_s(self) -> Floats:
        """(B, classes, T) Seconds of a step with 1, …, B members; B = 1 without batching.

        Beyond the largest batch of a task they do not grow.
        """
        if not self.stage_batching:
            return self.tasks.compute_s[None] if self.batching is None else self.batching.step_s
        alone = self.tasks.compute_s[None]
        columns = []
        for task in range(len(self.tasks)):
            rule = self.batching_of(task)
            columns.append((alone if rule is None else rule.step_s)[:, :, task])
        most = max(map(len, columns))
        padded = [np.pad(c, ((0, most - len(c)), (0, 0)), mode="edge") for c in columns]
        return np.stack(padded, axis=2)

    @cached_property
    def load_s(self) -> Floats:
        """(classes, T) Seconds that a task takes of an executor at the most it can carry: s(B)/B."""
        if not self.stage_batching:
            rule = self.batching
            load_s = self.tasks.compute_s if rule is None else rule.step_s[-1] / rule.max_batch
        else:
            rules = [self.batching_of(task) for task in range(len(self.tasks))]
            load_s = self.step_s[-1] / np.array([1 if rule is None else rule.max_batch for rule in rules])
        return load_s if self.capacity is None else load_s / self.capacity


@dataclass(frozen=True, slots=True)
class BackgroundStream:
    """Background work at one resource: Poisson arrivals of ``rate`` (1/s), service mean and SCV.

    For executors ``mean`` is seconds, for the link bytes. Moments follow: E[S²] = mean²·(1+scv).
    """

    rate: float = 0.0
    mean: float = 0.0
    scv: float = 1.0

    def load(self, capacity: float) -> float:
        """Return the share of a resource of this capacity that it takes."""
        return self.rate * self.mean / capacity

    def merged_with(self, other: BackgroundStream) -> BackgroundStream:
        """Both together: rates and moments add up.

        >>> BackgroundStream(1.0, 1.0, 0.0).merged_with(BackgroundStream(1.0, 3.0, 0.0))
        BackgroundStream(rate=2.0, mean=2.0, scv=0.25)
        """
        streams = [stream for stream in (self, other) if stream.rate * stream.mean]
        if len(streams) < 2:
            return (streams or [self])[0]
        rate = self.rate + other.rate
        mean = sum(s.rate * s.mean for s in streams) / rate
        second = sum(s.rate * s.mean**2 * (1 + s.scv) for s in streams) / rate
        return BackgroundStream(rate, mean, max(0.0, second / mean**2 - 1))


def link_streams(
    background: BackgroundStream,
    names: Sequence[str],
    capacity: Sequence[float],
    core: int,
    messages: Sequence[BackgroundStream] = (),
) -> tuple[tuple[tuple[str, ...], BackgroundStream], ...]:
    """Return the name of the random streams of each link, and all that others send over it.

    ``background`` is that of the core; every link has the same utilisation by background: the rate of
    messages grows with ``capacity``. ``messages`` come to each link beside it, if there are any.

    >>> link_streams(BackgroundStream(2.0, 1e6), ("core", "card"), (4e6, 2e6), 0)[1]
    (('link', 'card'), BackgroundStream(rate=1.0, mean=1000000.0, scv=1.0))
    """
    own = [replace(background, rate=background.rate * (of / capacity[core])) for of in capacity]
    sent = messages or [NO_BACKGROUND] * len(own)
    return tuple(
        (("link",) if number == core else ("link", name), of.merged_with(others))
        for number, (name, of, others) in enumerate(zip(names, own, sent, strict=True))
    )


NO_BACKGROUND = BackgroundStream()


@dataclass(frozen=True, eq=False)
class SharedNetwork:
    """The links between servers, as :mod:`nona.queries.simulation.reference.links` crosses them.

    Every link is first come, first served; ``latency_s`` is added once, after the last link; ``background``
    is that of the core, ``messages`` are those of queries on each link, if there are any.
    """

    topology: Topology
    latency_s: float
    background: BackgroundStream = NO_BACKGROUND
    messages: tuple[BackgroundStream, ...] = ()

    @property
    def streams(self) -> tuple[tuple[tuple[str, ...], BackgroundStream], ...]:
        """For each link the name of its random streams, and all that others send over it."""
        links = self.topology
        capacity = links.link_capacity.tolist()
        return link_streams(self.background, links.link_names, capacity, links.core, self.messages)

    @cached_property
    def slowest(self) -> float:
        """Bytes/s of the slowest link that a message may cross."""
        return float(self.topology.link_capacity.min())

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """Return the links from one server to another, or from outside where ``source`` is −1."""
        if source < 0:
            return self.topology.entry(destination)
        return self.topology.path(source, destination)

    def alone_s(self, size: float, source: int, destination: int) -> float:
        """Seconds of a message when nothing else is on its way: size / slowest link + latency.

        >>> from nona.cluster.topology import make_topology
        >>> SharedNetwork(make_topology(2, 100.0, nic=50.0), 0.5).alone_s(100.0, -1, 0)
        2.5
        """
        capacity = self.topology.link_capacity
        return size / min(float(capacity[link]) for link in self.path(source, destination)) + self.latency_s


@dataclass(frozen=True, eq=False)
class System:
    """Executors, the shared link or links, background load, and the query classes.

    ``executor_server`` (E,): server of each executor.
    ``executor_class`` (E,): executor class of each executor: the row of ``TaskGraph.compute_s``.
    ``class_names``: names of the executor classes, e.g. ``"a100-40gb"`` or ``"a100-40gb/2g.10gb"``.
    ``capacity``, ``latency_s``, ``discipline``: the bottleneck link (the core, where there are several):
        bytes/s, seconds, how it shares.
    ``background_compute``: background of every single executor. ``background_network`` is that of the link
        (the core).
    ``messages``: what language engines send over each link of the topology, if there are any.
    ``queries``: the query classes, in the order of the scenario.
    ``seed``: the scenario's seed.
    ``topology``: the links that messages cross; ``None``: the one link alone.
    ``class_memory_bytes`` (classes,): memory of an executor of each class; ``None``: no limit.
    ``pools``: queues with several instances, and the GPUs that these share; ``None``: every executor runs one
        task at a time from a queue of its own.

    Raises ``HardwareError`` for a topology that does not fit, or with processor sharing.
    """

    executor_server: Ints
    executor_class: Ints
    class_names: tuple[str, ...]
    capacity: float
    latency_s: float
    discipline: Discipline
    background_compute: BackgroundStream
    background_network: BackgroundStream
    queries: tuple[QueryClass, ...]
    seed: int = 0
    topology: Topology | None = None
    class_memory_bytes: Floats | None = None
    messages: tuple[BackgroundStream, ...] = ()
    pools: Pools | None = None

    def __post_init__(self) -> None:
        if self.topology is not None:
            self._check_topology(self.topology)

    def _check_topology(self, topology: Topology) -> None:
        if topology.servers != self.servers:
            raise HardwareError(
                f"System: its topology has {topology.servers} servers, its executors {self.servers}; "
                "make them equal."
            )
        core = float(topology.link_capacity[topology.core])
        if core != self.capacity:
            raise HardwareError(
                f"System: capacity={self.capacity:g} and that of the topology's core, {core:g}, must be "
                "equal; give one of them twice."
            )
        if self.discipline != "fifo":
            raise HardwareError(
                f"System: discipline={self.discipline!r} is for a single link; use fifo, or no topology."
            )

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links; ``("link",)`` where there is one."""
        return ("link",) if self.topology is None else self.topology.link_names

    @property
    def link_capacity(self) -> Floats:
        """(L,) Bytes per second of each link."""
        return np.array([self.capacity]) if self.topology is None else self.topology.link_capacity

    @property
    def link_streams(self) -> tuple[tuple[tuple[str, ...], BackgroundStream], ...]:
        """For each link the name of its random streams, and all that others send over it."""
        core, capacity = 0 if self.topology is None else self.topology.core, self.link_capacity.tolist()
        return link_streams(self.background_network, self.link_names, capacity, core, self.messages)

    def isolated_s(self, size_bytes: float, source_server: int, destination_server: int) -> float:
        """Seconds of a message between two servers when nothing else is on its way.

        ``size / smallest capacity on its path + latency``: links are crossed pipelined.
        """
        slowest = self.capacity
        if self.topology is not None:
            path = self.topology.path(source_server, destination_server)
            slowest = min(float(self.topology.link_capacity[link]) for link in path)
        return size_bytes / slowest + self.latency_s

    @cached_property
    def servers(self) -> int:
        """The number of servers."""
        return int(self.executor_server.max()) + 1

    @property
    def instance_server(self) -> Ints:
        """(I,) Server of each executor, then of each other instance of the pools."""
        return self.executor_server if self.pools is None else self.pools.server

    @property
    def executors(self) -> int:
        """The number of executors."""
        return len(self.executor_server)

    @cached_property
    def class_counts(self) -> Ints:
        """(classes,) Number of executors in each class."""
        counts: Ints = np.bincount(self.executor_class, minlength=len(self.class_names))
        return counts

    @cached_property
    def uniform_shares(self) -> Floats:
        """(queries, classes) Shares of the executor classes when every executor is drawn alike."""
        return np.tile(self.class_weights, (len(self.queries), 1))

    @cached_property
    def class_weights(self) -> Floats:
        """(classes,) Fraction of the executors in each class: where a uniform draw lands."""
        weights: Floats = self.class_counts / self.class_counts.sum()
        return weights

    @property
    def batches(self) -> bool:
        """True where executors take the queries of some class in batches."""
        return any(q.batches for q in self.queries)

    @property
    def beyond_formula(self) -> bool:
        """True where the formula has no waits: with batches, pools and closed loops."""
        return self.batches or self.pools is not None or self.closed

    @property
    def decides_in_turn(self) -> bool:
        """True where what starts is decided at the end of an instant: with batches, and with pools."""
        return self.batches or self.pools is not None

    @property
    def all_pools(self) -> Pools:
        """The pools, also where every executor is one by itself."""
        tasks = sum(len(q.tasks) for q in self.queries)
        return self.pools or single_pools(self.executor_server, self.executor_class, tasks)

    @property
    def closed(self) -> bool:
        """True where queries of some class come when others end."""
        return any(q.users for q in self.queries)

    @cached_property
    def batched_with(self) -> tuple[int, ...]:
        """For each query class the first one with which it shares steps: rows of one model, taken alike."""
        queries, firsts = self.queries, []
        for j, q in enumerate(queries):
            alike = (
                i
                for i, other in enumerate(queries[:j])
                if q.batches
                and not q.stage_batching
                and not other.stage_batching
                and q.batching is not None
                and q.replica == other.replica != ""
                and q.batching.takes_alike(other.batching)
                and np.array_equal(q.tasks.edge_source, other.tasks.edge_source)
                and np.array_equal(q.tasks.edge_target, other.tasks.edge_target)
            )
            firsts.append(next(alike, j))
        return tuple(firsts)

    @property
    def slo_s(self) -> Floats:
        """(Q,) The SLO of each query class; ``nan`` where it has none."""
        return np.array([np.nan if q.slo_s is None else q.slo_s for q in self.queries])

    @property
    def total_rate(self) -> float:
        """Queries per second, all classes together."""
        return sum(q.rate for q in self.queries)
