"""The result of a placement: configurations with probabilities, a prediction, simulated figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nona.arrays import Floats
from nona.decomposition import SubGraph


@dataclass(frozen=True, slots=True)
class Configuration:
    """A relative placement of a sub-graph's interior.

    ``parts`` partitions the interior (task indices, each part in topological order, parts ordered
    by their first task). ``root_part`` is the index of the part on the root's server,
    ``sink_part`` of the part on the sink's server. Every other part goes to a server of its own,
    drawn uniformly among the others. ``root_part`` −1: no part stays with the root; ``sink_part``
    −1: the sink stays on the root's server, as it does when both are equal (an empty interior has
    no parts and −1, −1).

    >>> Configuration(((1,), (2,)), 0, 0).is_local, Configuration(((1, 2),), 0, 0).is_local
    (False, True)
    """

    parts: tuple[tuple[int, ...], ...]
    root_part: int
    sink_part: int

    @property
    def is_local(self) -> bool:
        """True where everything stays on the root's server."""
        return len(self.parts) <= (self.root_part == 0) and self.sink_part in (-1, self.root_part)

    @property
    def sink_moves(self) -> bool:
        """True where the sink runs on another server than the root."""
        return self.sink_part not in (-1, self.root_part)


@dataclass(frozen=True, eq=False)
class SubGraphPlacement:
    """A probability for each configuration of one sub-graph (those of probability 0 left out)."""

    subgraph: SubGraph
    configurations: tuple[Configuration, ...]
    probabilities: Floats


# ``queries[j][k]``: the configurations of sub-graph k of query class j with their probabilities.
Queries = tuple[tuple[SubGraphPlacement, ...], ...]


@dataclass(frozen=True, slots=True)
class QueryPrediction:
    """Predicted mean JCT of one query class and its parts, in seconds.

    The four shares follow the path that is longest in expectation and add up to ``jct_s``.
    """

    jct_s: float
    compute_s: float
    transfer_s: float
    network_wait_s: float
    server_wait_s: float


@dataclass(frozen=True, slots=True)
class ClassPrediction:
    """One executor class: the number of executors, the utilisation of each, and the wait of a visit."""

    name: str
    executors: int
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class LinkPrediction:
    """The links of one role that are alike, as queueing theory sees them.

    A message crosses one of the ``links`` with probability ``share``; each has ``capacity`` bytes/s,
    is used to ``utilization`` (background included), and lets the message wait ``wait_s``. The mean
    wait of a message on its whole way is Σ share·wait_s.
    """

    name: str
    kind: str
    links: int
    share: float
    capacity: float
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """Queueing theory's prediction of a placement.

    ``network_wait_s`` and ``server_wait_s`` are mean waits of one message and of one visit,
    ``compute_utilization`` the mean over all executors; ``classes`` has it for each class.
    ``congestion_price_s_per_byte`` is the increase of the mean JCT, times the total query rate,
    per byte/s of extra traffic: the marginal cost that one more byte causes to everyone.
    """

    jct_s: float
    network_wait_s: float
    server_wait_s: float
    network_utilization: float
    compute_utilization: float
    congestion_price_s_per_byte: float
    queries: tuple[QueryPrediction, ...]
    classes: tuple[ClassPrediction, ...] = ()
    links: tuple[LinkPrediction, ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether no link is overloaded; executors are checked before there is a prediction."""
        return self.network_utilization < 1.0


Objective = Literal["mean-jct", "slo", "formula"]


@dataclass(frozen=True, slots=True)
class JobTimes:
    """Simulated completion times in seconds: mean, its 95 % interval, percentiles.

    ``misses``: share of the jobs that took longer than their SLO, among those that have one; ``None``: none
        has.
    """

    mean_s: float
    ci95_s: tuple[float, float]
    p50_s: float
    p95_s: float
    p99_s: float
    misses: float | None


@dataclass(frozen=True, slots=True)
class Simulated:
    """Simulated figures of a placement, by random numbers that no choice has seen.

    ``mix``, ``queries``: times of all jobs, and of those of each query class.
    ``steady``: whether all jobs were completed; without that, times are infinite.
    ``jobs``: jobs behind the figures.
    ``candidates``: different placements that were compared; 1 where none was.
    ``lead``, ``lead_error``: how much better the placement was than the nearest of those it raced with,
        relative to its own value (for the objective ``slo``: share of jobs), and the standard error;
        ``None`` where there was no other.
    """

    mix: JobTimes
    queries: tuple[JobTimes, ...]
    steady: bool
    jobs: int
    candidates: int = 1
    lead: float | None = None
    lead_error: float | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """The formula's optimum: its mean JCT by formula, and the certified bound below it, seconds.

    >>> Certificate(2.0, 1.5).gap
    0.25
    """

    objective_s: float
    lower_bound_s: float

    @property
    def gap(self) -> float:
        """(objective − lower bound) / objective; ``nan`` without a bound."""
        if self.objective_s <= 0:
            return 0.0
        return (self.objective_s - self.lower_bound_s) / self.objective_s


@dataclass(frozen=True, eq=False)
class Placement:
    """A placement of every query class with its prediction.

    ``queries[j][k]`` belongs to sub-graph k of query class j. ``prediction`` is the formula's for this one.
    ``objective``: what it was chosen for. ``origin``: ``formula``, the name of a preset, ``expert``, ``move``
    or ``mixture`` (:mod:`nona.placement.proposals`).
    ``formula``: objective and certified bound of the formula's optimum; ``None`` where it was not solved.
    ``simulated``: simulated figures; ``None`` until they are made.
    ``notes`` says in words what was restricted or assumed.
    ``class_shares`` (J, K) is the probability that a server drawn for query class j, its home or that
    of a part, is of executor class k; ``None``: every executor is drawn alike.
    """

    queries: Queries
    prediction: Prediction
    origin: str
    seconds: float
    notes: tuple[str, ...] = ()
    class_shares: Floats | None = None
    formula: Certificate | None = None
    simulated: Simulated | None = None
    objective: Objective = "formula"

    @property
    def objective_s(self) -> float:
        """Mean JCT in seconds: simulated, or the formula's as long as it is not."""
        return self.prediction.jct_s if self.simulated is None else self.simulated.mix.mean_s
