"""The result of a placement: configurations with probabilities, a prediction, bounds, sampled times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from nona.arrays import Floats, Ints
from nona.decomposition import SubGraph
from nona.errors import PlacementError


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


Objective = Literal["mean-jct", "slo", "formula"]
SampledObjective = Literal["mean-jct", "slo"]
SAMPLED: tuple[SampledObjective, ...] = ("mean-jct", "slo")


@dataclass(frozen=True, eq=False)
class Rival:
    """A placement close to the chosen one: where it comes from, its queries, its value by few jobs."""

    origin: str
    queries: Queries
    value: float


@dataclass(frozen=True, slots=True)
class Sampled:
    """The figures of a search, all predicted by sampled jobs: ``value`` is what was minimised.

    ``objective``: ``mean-jct``: value is the mean completion time of the mix, seconds; ``slo``: the
        probability of missing the SLO, over the jobs that have one.
    ``value``, ``error``: of the placement, on samples that the search has not seen, and the standard error.
    ``bound``: no placement has a smaller value (longest chain of tasks, no waits); ``nan`` where unknown.
    ``formula_value``: of the formula's optimum, on the same samples.
    ``gain``, ``gain_error``: ``formula_value`` − ``value``, and the standard error of that, pair by pair.
    ``queries``: the value of each query class; ``None`` for those that do not count.
    ``evaluations``, ``samples``: placements that were sampled; jobs walked of each class for the figures
        here.
    ``settled``: whether the search ended because no move was better by more than the sampling error.
    ``origin``: where it comes from: ``formula``, ``local``, ``spread``, another preset, ``expert``,
        ``search``.
    ``rivals``: other placements whose value is within the accuracy of the prediction, best first.
    """

    objective: SampledObjective
    value: float
    error: float
    bound: float
    formula_value: float
    gain: float
    gain_error: float
    queries: tuple[float | None, ...]
    evaluations: int
    samples: int
    settled: bool
    origin: str = "formula"
    rivals: tuple[Rival, ...] = ()


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
        return _relative_gap(self.objective_s, self.lower_bound_s)


def _relative_gap(objective_s: float, bound_s: float) -> float:
    """(objective − bound) / objective; 0 for an objective of 0, ``nan`` without a bound."""
    return (objective_s - bound_s) / objective_s if objective_s > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Placement:
    """A placement of every query class with its prediction and its certificate.

    ``queries[j][k]`` belongs to sub-graph k of query class j. ``objective_s`` is the mean JCT in seconds:
    that of the response, with standard error ``objective_error_s``, where the placement was judged by it
    (then ``formula`` holds the certificate of the formula's optimum); else that of the formula.
    ``lower_bound_s`` is the certified bound of the formula at the server wait of its optimum (linearised, see
    :mod:`nona.placement.solver.descent`): a placement with a different server wait may lie below.
    ``global_bound_s`` lies below every placement at every server wait, and is usually far weaker.
    Either is ``nan`` where there is none. ``notes`` says in words what was restricted or assumed.
    ``class_shares`` (J, K) is the probability that a server drawn for query class j, its home or that
    of a part, is of executor class k; ``None``: every executor is drawn alike. ``sampled`` has the figures
    of the search by sampled completion times, if there was one. ``origin`` says which start or search a
    judged placement comes from; see :class:`Sampled`.
    """

    queries: Queries
    prediction: Prediction
    objective_s: float
    lower_bound_s: float
    solver: str
    seconds: float
    notes: tuple[str, ...] = field(default=())
    global_bound_s: float = math.nan
    class_shares: Floats | None = None
    sampled: Sampled | None = None
    objective_error_s: float = 0.0
    formula: Certificate | None = None
    origin: str = "formula"

    @cached_property
    def gap(self) -> float:
        """(objective − lower bound) / objective; ``nan`` without a bound."""
        return _relative_gap(self.objective_s, self.lower_bound_s)

    @property
    def global_gap(self) -> float:
        """(objective − global bound) / objective, over all server waits; ``nan`` without a bound."""
        return _relative_gap(self.objective_s, self.global_bound_s)


_Floats = Floats
REPLICATES = 4


@dataclass(frozen=True, eq=False)
class ResponseTimes:
    """Completion times of walked jobs, of one query class or of the mix.

    ``times_s`` (N,) may hold ``inf``: these jobs wait for an overloaded link. ``weights`` (N,) add up to
    1. Job i belongs to replicate ``group[i]`` of the paths, by which the error is estimated.

    >>> some = ResponseTimes(np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, 0.25), np.array([0, 0, 1, 1]))
    >>> some.mean_s, some.quantile_s(0.5), some.miss(3.0)
    (3.0, 2.0, 0.5)
    """

    times_s: _Floats
    weights: _Floats
    group: Ints

    @property
    def mean_s(self) -> float:
        """Mean completion time in seconds."""
        counted = self.weights > 0
        return float(self.weights[counted] @ self.times_s[counted])

    @property
    def error_s(self) -> float:
        """Standard error of the mean by sampling, from the replicates; 0 where all jobs are alike."""
        if not math.isfinite(self.mean_s):
            return math.nan
        means = [
            float(self.weights[g] @ self.times_s[g] / self.weights[g].sum())
            for g in (self.group == r for r in np.unique(self.group))
        ]
        return float(np.std(means, ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.nan

    def quantile_s(self, level: float) -> float:
        """The least time within which a share ``level`` of the jobs is complete.

        Raises ``PlacementError`` for a level outside 0…1.
        """
        if not 0 <= level <= 1:
            raise PlacementError(f"Response: quantile level={level:g} must lie between 0 and 1; give 0.95.")
        order = np.argsort(self.times_s, kind="stable")
        total = np.cumsum(self.weights[order])
        at = int(np.searchsorted(total, level * total[-1] * (1 - 1e-12)))
        return float(self.times_s[order[min(at, len(order) - 1)]])

    def miss(self, slo_s: float) -> float:
        """Probability of taking longer than ``slo_s``, with room for the rounding of sums."""
        return float(self.weights[self.times_s > slo_s * (1 + 1e-9)].sum())


@dataclass(frozen=True, eq=False)
class Response:
    """Predicted completion times of every query class and of the mix.

    ``compute_utilization`` (K,) is that of an executor of each class, ``link_utilization`` that of the
    most loaded kind of link.
    """

    queries: tuple[ResponseTimes, ...]
    mix: ResponseTimes
    compute_utilization: _Floats
    link_utilization: float

    def miss(self, slo_s: Sequence[float | None]) -> tuple[float | None, ...]:
        """For each class the probability of missing its SLO; ``None`` where it has none."""
        return tuple(None if slo is None else q.miss(slo) for q, slo in zip(self.queries, slo_s, strict=True))


def mixed(times: Sequence[_Floats], weights: Sequence[float]) -> ResponseTimes:
    """All classes together, class j weighing ``weights[j]``."""
    return ResponseTimes(
        np.concatenate(times),
        np.concatenate([np.full(len(t), w / len(t)) for t, w in zip(times, weights, strict=True)]),
        np.concatenate([np.arange(len(t)) * REPLICATES // len(t) for t in times]),
    )
