"""The system: the workload on the cluster, in arrays. Placement, schedulers and simulation see this.

It is made by :mod:`nona.study` from a scenario, and knows nothing of files or catalogues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import Decomposition

Discipline = Literal["fifo", "processor-sharing"]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How the queries of one class arrive.

    ``process`` is ``poisson``, ``gamma`` (``cv``: coefficient of variation of the gaps),
    ``deterministic``, ``mmpp`` (Markov-modulated Poisson with two states: ``burst_factor`` times
    the mean rate during bursts, which take ``burst_fraction`` of the time and last
    ``burst_mean_s`` on average), or ``trace`` (``times_s``: arrival instants, replayed
    cyclically when the run is longer than the trace; ``scale_to_rate`` stretches time so that
    the mean rate is the class's rate).
    """

    process: str = "poisson"
    cv: float = 1.0
    burst_factor: float = 3.0
    burst_fraction: float = 0.1
    burst_mean_s: float = 10.0
    times_s: tuple[float, ...] = ()
    scale_to_rate: bool = True


@dataclass(frozen=True, eq=False)
class QueryClass:
    """One row of the workload: a task graph, its rate (1/s) and its SLO (seconds, or none)."""

    name: str
    tasks: TaskGraph
    decomposition: Decomposition
    rate: float
    slo_s: float | None = None
    arrivals: Arrivals = field(default_factory=Arrivals)
    service_scv: float = 0.0


@dataclass(frozen=True, slots=True)
class Stream:
    """Background work at one resource: Poisson arrivals of ``rate`` (1/s), service mean and SCV.

    For executors ``mean`` is seconds, for the link bytes. Moments follow: E[S²] = mean²·(1+scv).
    """

    rate: float = 0.0
    mean: float = 0.0
    scv: float = 1.0


@dataclass(frozen=True, eq=False)
class System:
    """Executors, the shared link, background load, and the query classes.

    Attributes
    ----------
    executor_server : (E,)
        Server of each executor.
    executor_class : (E,)
        Executor class of each executor: the row of ``TaskGraph.compute_s``.
    class_names
        Names of the executor classes, e.g. ``"a100-40gb"`` or ``"a100-40gb/2g.10gb"``.
    capacity, latency_s, discipline
        The bottleneck link: bytes/s, seconds, and how it shares.
    background_compute
        Background of every single executor. ``background_network`` is that of the link.
    queries
        The query classes, in the order of the scenario.
    seed
        The scenario's seed.
    """

    executor_server: NDArray[np.int64]
    executor_class: NDArray[np.int64]
    class_names: tuple[str, ...]
    capacity: float
    latency_s: float
    discipline: Discipline
    background_compute: Stream
    background_network: Stream
    queries: tuple[QueryClass, ...]
    seed: int = 0

    @cached_property
    def servers(self) -> int:
        """Number of servers."""
        return int(self.executor_server.max()) + 1

    @property
    def executors(self) -> int:
        """Number of executors."""
        return len(self.executor_server)

    @cached_property
    def class_weights(self) -> NDArray[np.float64]:
        """(classes,) Fraction of the executors in each class: where a uniform draw lands."""
        counts = np.bincount(self.executor_class, minlength=len(self.class_names))
        weights: NDArray[np.float64] = counts / counts.sum()
        return weights

    @property
    def total_rate(self) -> float:
        """Queries per second, all classes together."""
        return sum(q.rate for q in self.queries)

    def mean_compute_s(self, query: int) -> NDArray[np.float64]:
        """(T,) Mean seconds of each task over a uniformly drawn executor."""
        mean: NDArray[np.float64] = self.class_weights @ self.queries[query].tasks.compute_s
        return mean
