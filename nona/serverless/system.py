"""The serverless system in arrays: applications, invokers, memory, network, calls.

Made by :mod:`nona.serverless.workflows` from a scenario; search, policies and simulation see only this.

They depend on the system's seed and the replication alone, so every policy meets the same calls, and the
first n of many calls are the n of few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nona.cluster.sharing.pool import Invoker
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.models.graph.dag import Dag
from nona.queries.system import SharedNetwork
from nona.scenario.arrivals import CHUNK, Arrivals, arrival_chunks, effective_rate
from nona.scenario.serverless import (
    ContainersSpec,
    DispatchSpec,
    IntervalSpec,
    ServerlessPricesSpec,
    SharingSpec,
    TransferSpec,
)
from nona.serverless.functions import ConfigurationSpace, Function


@dataclass(frozen=True, eq=False)
class Application:
    """One workflow; S stages, numbered in a topological order.

    ``stage_names``: names of the stages; they differ.
    ``function`` (S,): number of each stage's function in the system.
    ``dag``: its nodes are the stages; every arc goes to a later stage.
    ``input_bytes`` (S,): bytes of one job that a stage fetches, from the invokers of its predecessors in
        equal parts; an entry stage fetches them from outside.
    ``slo_s``: seconds from a call's arrival to the end of its last stage.
    ``rate``: calls per second.

    Raises ``SimulationError`` for arrays that do not fit, or an SLO or rate that is not above 0.
    """

    name: str
    stage_names: tuple[str, ...]
    function: tuple[int, ...]
    dag: Dag
    input_bytes: tuple[float, ...]
    slo_s: float
    rate: float
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        if not self.stage_names or not (
            len(self.stage_names) == len(self.function) == len(self.dag) == len(self.input_bytes)
        ):
            raise SimulationError(f"Application {self.name!r}: stages, functions and inputs must be as many.")
        if any(u >= v for u, v in self.dag.edges()):
            raise SimulationError(
                f"Application {self.name!r}: stages must be in topological order; sort them."
            )
        for what, value in (("slo_s", self.slo_s), ("rate", self.rate)):
            if not (np.isfinite(value) and value > 0):
                raise SimulationError(
                    f"Application {self.name!r}: {what}={value} must be above 0; change it."
                )

    @property
    def stages(self) -> int:
        """Number of stages of the workflow."""
        return len(self.function)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Stages without predecessor."""
        return tuple(s for s in range(self.stages) if not self.dag.predecessors[s])

    def longest_s(self, stage_s: Floats) -> float:
        """Seconds along the longest path when stage s takes ``stage_s[s]``."""
        return self.dag.critical_path(stage_s.tolist())[0]


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """``node_bytes`` (N,) of each invoker; ``container_bytes`` (F,) of a container of each function.

    Raises ``SimulationError`` when no node holds a container of some function.

    >>> NodeMemory((10,), (11,), ("a",))
    Traceback (most recent call last):
    nona.core.errors.SimulationError: Function 'a': its container needs 1.1e-08 GB, no node has more than \
1e-08 GB; give nodes more memory, or the function less.
    """

    node_bytes: tuple[int, ...]
    container_bytes: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        most = max(self.node_bytes)
        for name, needs in zip(self.names, self.container_bytes, strict=True):
            if needs > most:
                raise SimulationError(
                    f"Function {name!r}: its container needs {needs / 1e9:.4g} GB, no node has more than "
                    f"{most / 1e9:.4g} GB; give nodes more memory, or the function less."
                )


HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class ServerlessSystem:
    """F functions, A applications, N invokers, C configurations.

    ``sharing``, ``prices``, ``transfer``, ``containers`` and ``dispatch`` are the scenario's own parts.
    ``idle_cost``: the share of its price that an idle container pays.
    ``memory``: of the invokers, ``None`` where it is no limit.
    ``network``: what transfers share, ``None`` where each takes its time alone.

    Raises ``SimulationError`` when there is no application or no invoker, or an invoker cannot hold the
    smallest configuration.
    """

    space: ConfigurationSpace
    functions: tuple[Function, ...]
    applications: tuple[Application, ...]
    invokers: tuple[Invoker, ...]
    sharing: SharingSpec = field(default_factory=SharingSpec)
    prices: ServerlessPricesSpec = field(default_factory=ServerlessPricesSpec)
    transfer: TransferSpec = field(default_factory=TransferSpec)
    containers: ContainersSpec = field(default_factory=ContainersSpec)
    dispatch: DispatchSpec = field(default_factory=DispatchSpec)
    noise: float = 0.0
    profile_percentile: float = 95.0
    interval: IntervalSpec | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()
    network: SharedNetwork | None = None
    idle_cost: float = 0.0
    memory: NodeMemory | None = None

    def __post_init__(self) -> None:
        if not self.applications or not self.invokers:
            raise SimulationError("Serverless: give at least one application and one invoker.")
        least = self.space[self.space.smallest]
        for number, node in enumerate(self.invokers):
            if node.vcpus < least.vcpus or node.vgpus < least.vgpus:
                raise SimulationError(
                    f"Invoker {number}: {node.vcpus} vCPUs and {node.vgpus} vGPUs a GPU do not hold the "
                    f"smallest configuration ({least.text}); enlarge it, or allow smaller ones."
                )

    @cached_property
    def _seconds(self) -> tuple[Floats, Floats]:
        pairs = [f.seconds(self.space) for f in self.functions]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    @property
    def cpu_s(self) -> Floats:
        """(F, C) Seconds on the CPU."""
        return self._seconds[0]

    @property
    def gpu_s(self) -> Floats:
        """(F, C) Seconds on the GPU, alone on its part of it."""
        return self._seconds[1]

    @property
    def remote_path(self) -> tuple[float, float]:
        """Latency (s) and bandwidth (bytes/s) of a transfer from elsewhere when nothing is in its way."""
        if self.network is not None:
            return self.network.latency_s, self.network.slowest
        return self.transfer.remote_latency, self.transfer.remote_bandwidth

    @cached_property
    def time_s(self) -> Floats:
        """(F, C) Seconds of a whole batch: CPU, then GPU; infinite where it cannot run."""
        return self.cpu_s + self.gpu_s

    @cached_property
    def price_per_s(self) -> Floats:
        """(C,) US dollars a second that a configuration costs while it is held."""
        hourly = self.space.vcpus * self.prices.vcpu_hour + self.space.vgpus * self.prices.vgpu_hour
        return np.asarray(hourly / HOUR_S, dtype=np.float64)

    @cached_property
    def job_cost(self) -> Floats:
        """(F, C) US dollars a job of a full batch that has a GPU part to itself."""
        return self.job_cost_at(self.time_s)

    def job_cost_at(self, time_s: Floats) -> Floats:
        """(F, C) US dollars a job of a full batch that takes ``time_s``: time · price / batch.

        Infinite where the time is, also without a price.
        """
        cost = np.full_like(time_s, np.inf)
        np.multiply(time_s, self.price_per_s, out=cost, where=np.isfinite(time_s))
        return np.asarray(cost / self.space.batch, dtype=np.float64)

    def smallest_s(self, application: Application) -> float:
        """L: seconds of an application with every stage at the smallest configuration."""
        return application.longest_s(self.time_s[list(application.function), self.space.smallest])

    @cached_property
    def queues(self) -> tuple[tuple[int, int], ...]:
        """The AFW queues: every (application, stage), in order."""
        return tuple((a, s) for a, app in enumerate(self.applications) for s in range(app.stages))


def least_nodes(system: ServerlessSystem) -> int:
    """Nodes like these without which queues grow under every policy; 1 where GPUs are oversubscribed.

    Formula: the larger of Σ rate · min(vGPUs · seconds / batch) over the vGPUs of a node and the same of
    vCPUs, both over all stages, each with the configuration that needs least of it.
    """
    if SHARING_MODES.find(system.sharing.mode).oversubscribes:
        return 1
    rates = np.array([effective_rate(app.arrivals, app.rate) for app in system.applications])
    if system.interval is not None:
        rates *= system.interval.rate / rates.sum()
    needed = 1.0
    for sizes, of in (
        (system.space.vgpus, [node.gpus * node.vgpus for node in system.invokers]),
        (system.space.vcpus, [node.vcpus for node in system.invokers]),
    ):
        per_job = (system.time_s * sizes / system.space.batch).min(axis=1)
        work = [per_job[list(app.function)].sum() for app in system.applications]
        needed = max(needed, float(rates @ work) / float(np.mean(of)))
    return math.ceil(needed)


LEAST_NOISE = 0.1  # of a factor on times


def calls(system: ServerlessSystem, count: int, replication: int = 0) -> tuple[Floats, Ints]:
    """Return the first ``count`` calls: (count,) arrival instants in seconds, increasing.

    (count,) applications.

    Without ``interval`` every application has its own stream of arrivals and these are merged; calls
    of one instant are in order of application. With it gaps are uniform, and each call is of an
    application drawn in proportion to the rates.

    Raises ``SimulationError`` for a count below 1, or arrivals that no process has.
    """
    if count < 1:
        raise SimulationError(f"Calls: count={count} must be at least 1; give a larger number.")
    streams = RandomStreams(system.seed, replication)
    if system.interval is not None:
        return _drawn(system, count, streams)
    return _merged_arrivals(system, count, streams, replication)


def _drawn(system: ServerlessSystem, count: int, streams: RandomStreams) -> tuple[Floats, Ints]:
    interval = system.interval
    if interval is None:
        raise SimulationError("Calls: the system has no interval; give one.")
    gaps = streams.generator("serverless", "gaps").uniform(interval.least, interval.most, count)
    rates = np.cumsum([app.rate for app in system.applications])
    drawn = streams.generator("serverless", "applications").random(count) * rates[-1]
    which = np.minimum(np.searchsorted(rates, drawn, side="right"), len(rates) - 1)
    return np.cumsum(gaps), which.astype(np.int64)


def _merged_arrivals(
    system: ServerlessSystem, count: int, streams: RandomStreams, replication: int
) -> tuple[Floats, Ints]:
    """Return the first ``count`` arrivals of all applications: times (s), and application numbers."""
    sources = [
        arrival_chunks(
            app.arrivals,
            app.rate,
            streams.generator("serverless", "arrivals", app.arrivals.trace or app.name),
            replication,
        )
        for app in system.applications
    ]
    read: list[list[Floats]] = [[next(source)] for source in sources]
    while True:
        last = [chunks[-1][-1] if len(chunks[-1]) else -math.inf for chunks in read]
        known_s = min(last)  # nothing that is still to come is earlier
        ready = sum(int(np.searchsorted(chunk, known_s, side="right")) for chunks in read for chunk in chunks)
        if ready >= count:
            break
        for chunks, source, end in zip(read, sources, last, strict=True):
            if end <= known_s:
                chunks.extend(next(source) for _ in range(1 + (count - ready) // (CHUNK * 8 * len(read))))
    times = np.concatenate([np.concatenate(chunks) for chunks in read])
    which = np.repeat(np.arange(len(read)), [sum(map(len, chunks)) for chunks in read])
    order = np.lexsort((which, times))[:count]
    return times[order], which[order].astype(np.int64)


def noise_factors(system: ServerlessSystem, application: Ints, replication: int = 0) -> Floats:
    """(n, S) The factor on a stage's times of each call: max(0.1, 1 + noise · z), z standard normal.

    ``application`` (n,) is that of each call, S the most stages of any application; the k-th call of an
    application gets row k of its stream, whatever other applications do. Stages that an application
    lacks have 1.
    """
    widest = max(app.stages for app in system.applications)
    factors = np.ones((len(application), widest))
    if system.noise == 0:
        return factors
    streams = RandomStreams(system.seed, replication)
    for number, app in enumerate(system.applications):
        rows = np.flatnonzero(application == number)
        z = streams.generator("serverless", "noise", app.name).standard_normal((len(rows), app.stages))
        factors[rows, : app.stages] = np.maximum(LEAST_NOISE, 1 + system.noise * z)
    return factors
