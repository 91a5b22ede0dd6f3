"""The value of a placement from sampled jobs: compared pair by pair, and reported.

With w_j = λ_j/Σλ over the classes that count and y_ji what job i of N of class j is worth (1 if it is later
than its SLO and else 0; or its completion time in seconds)::

    value = Σ_j w_j ȳ_j,   Var ≤ Σ_j w_j² s²(y_j)/N

Two placements are walked with the same random numbers, so differences are taken pair by pair:
Δ = Σ_j w_j mean_i(y_ji − y'_ji), Var Δ = Σ_j w_j² s²(y_j − y'_j)/N (common random numbers: Law, Simulation
Modeling and Analysis, 5th ed. 2015, section 11.2). Jobs that meet the same sample path of waits are alike,
which that leaves out; so the same is estimated from the means of the few paths, and the larger one counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nona.arrays import Floats, Ints
from nona.errors import PlacementError
from nona.placement.model import Known
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import (
    Certificate,
    Placement,
    Queries,
    Response,
    SampledObjective,
    SubGraphPlacement,
)
from nona.system import QueryClass, System

_LATE = 1e-9  # relative: rounding does not make a job late


@dataclass(frozen=True, eq=False)
class Values:
    """Worth of the walked jobs of the classes that count: ``y[j]`` (N,), and the classes' weights.

    ``path[j]`` (N,) is the number of the sample path of waits that a job met, if that is known.
    """

    weights: Floats
    y: tuple[Floats, ...]
    path: tuple[Ints, ...] = ()

    @property
    def value(self) -> float:
        """Mean over the mix; infinite where jobs wait for an overloaded link."""
        return float(sum(w * x.mean() for w, x in zip(self.weights.tolist(), self.y, strict=True)))

    @property
    def error(self) -> float:
        """Standard error; what was never seen in N jobs may still be as frequent as about 1/N.

        It is not a number where the value is infinite.

        >>> Values(np.ones(1), (np.array([1.0, 0.0, 0.0, 0.0]),)).error
        0.25
        >>> Values(np.ones(1), (np.array([1.0, math.inf]),)).error
        nan
        """
        if not math.isfinite(self.value):
            return math.nan
        unseen = sum(
            w**2 * float(x.mean() == 0) / len(x) ** 2
            for w, x in zip(self.weights.tolist(), self.y, strict=True)
        )
        return math.sqrt(unseen + self._error(self.y) ** 2)

    def _error(self, y: Sequence[Floats]) -> float:
        """Standard error of Σ_j w_j ȳ_j: by jobs, or by paths, whichever is larger."""
        pairs = list(zip(self.weights.tolist(), y, strict=True))
        by_jobs = math.sqrt(sum(w**2 * float(x.var(ddof=1)) / len(x) for w, x in pairs))
        if not self.path:
            return by_jobs
        paths = np.unique(self.path[0])
        means = [
            sum(w * float(x[p == r].mean()) for (w, x), p in zip(pairs, self.path, strict=True))
            for r in paths
        ]
        by_paths = float(np.std(means, ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else 0.0
        return max(by_jobs, by_paths)

    def less_than(self, other: Values) -> tuple[float, float]:
        """(other's value − this one's, its standard error), pair by pair.

        >>> a = Values(np.ones(1), (np.array([1.0, 0.0, 0.0, 0.0]),))
        >>> b = Values(np.ones(1), (np.array([1.0, 1.0, 1.0, 0.0]),))
        >>> a.less_than(b)[0], round(a.less_than(b)[1], 3)
        (0.5, 0.289)
        """
        if not math.isfinite(self.value) or not math.isfinite(other.value):
            return (math.inf if math.isfinite(self.value) else -math.inf), 0.0
        less = [y - x for x, y in zip(self.y, other.y, strict=True)]
        gain = sum(w * float(d.mean()) for w, d in zip(self.weights.tolist(), less, strict=True))
        return gain, self._error(less)


class Judge:
    """Walks the jobs of placements of one system for one objective; counts how often it was asked."""

    def __init__(self, system: System, objective: SampledObjective, shares: Floats | None = None) -> None:
        self.system, self.objective, self.shares, self.asked = system, objective, shares, 0
        self.known = Known(system, shares)
        slo = objective == "slo"
        self.counted = [j for j, q in enumerate(system.queries) if q.slo_s is not None or not slo]
        if not self.counted:
            raise PlacementError(
                "Objective 'slo': no query class has an SLO; give a row of the workload an slo, or choose "
                "the objective 'mean-jct'."
            )
        rates = np.array([system.queries[j].rate for j in self.counted])
        total = float(rates.sum())
        self.weights: Floats = rates / total if total > 0 else np.full(len(rates), 1 / len(rates))

    def values(self, queries: Queries, samples: int, seed: int) -> Values:
        """Walk ``samples`` jobs of each class."""
        return self.worth(
            predict_response(
                self.system, queries, shares=self.shares, samples=samples, seed=seed, evaluated=self.known
            )
        )

    def worth(self, response: Response) -> Values:
        """Return the worth of a response's jobs for the objective."""
        self.asked += 1
        of = [response.queries[j] for j in self.counted]
        worth = tuple(self._worth(j, r.times_s) for j, r in zip(self.counted, of, strict=True))
        return Values(self.weights, worth, tuple(r.group for r in of))

    def _worth(self, query: int, times_s: Floats) -> Floats:
        if self.objective != "slo":
            return times_s
        limit = self.system.queries[query].slo_s or math.inf
        late: Floats = (times_s > limit * (1 + _LATE)).astype(float)
        return late

    def by_class(self, values: Values) -> tuple[float | None, ...]:
        """The value of each class of the system; ``None`` for those that do not count."""
        means: list[float | None] = [None] * len(self.system.queries)
        for j, x in zip(self.counted, values.y, strict=True):
            means[j] = float(x.mean())
        return tuple(means)

    def bound(self) -> float:
        """A lower bound for every placement: no queueing, and every task runs on the fastest executor.

        A job takes at least its longest chain of tasks. Where task times are drawn (``service_scv`` > 0)
        that holds for means, but some job may be quick by luck: such a class then adds 0 to missed SLOs.
        """
        return float(np.dot(self.weights, self.bounds()))

    def bounds(self) -> list[float]:
        """:meth:`bound` of each class that counts."""
        bounds = []
        for j in self.counted:
            query = self.system.queries[j]
            chain_s = query.tasks.dag.critical_path(_least_s(query).tolist())[0]
            sure = self.objective != "slo" or query.service_scv == 0
            bounds.append(float(self._worth(j, np.array([chain_s]))[0]) if sure else 0.0)
        return bounds


def rows(queries: Sequence[Sequence[SubGraphPlacement]]) -> Queries:
    """The same as tuples."""
    return tuple(tuple(row) for row in queries)


def _least_s(query: QueryClass) -> Floats:
    result: Floats = query.step_s.min(axis=(0, 1))
    return result


FINAL = 2048  # walked jobs of each class for the figures that are reported
_Shares = tuple[tuple[float, ...], ...] | None


def walked(system: System, queries: Queries, shares: Floats | None, seed: int) -> Response:
    """The response of the jobs that are reported; it is kept for a while."""
    return _walked(system, queries, None if shares is None else tuple(map(tuple, shares.tolist())), seed)


@lru_cache(maxsize=8)  # a placement is judged as a step of the search, then beside others, then reported
def _walked(system: System, queries: Queries, shares: _Shares, seed: int) -> Response:
    given = None if shares is None else np.array(shares)
    return predict_response(system, queries, shares=given, samples=FINAL, seed=seed + 1)


def mean_of(system: System, optimum: Placement, queries: Queries, seed: int = 0) -> Values:
    """The completion times of a placement on the samples by which placements are reported."""
    response = walked(system, queries, optimum.class_shares, seed)
    return Judge(system, "mean-jct", optimum.class_shares).worth(response)


def reported_response(system: System, placement: Placement, seed: int = 0) -> Response:
    """The distribution behind :func:`mean_of`: the same jobs, so the same mean."""
    return walked(system, placement.queries, placement.class_shares, seed)


def by_response(system: System, placement: Placement, seed: int = 0) -> Placement:
    """A placement that was evaluated by formula, with the response's mean as its objective."""
    values = mean_of(system, placement, placement.queries, seed)
    return replace(
        placement, objective_s=values.value, objective_error_s=values.error, formula=certificate_of(placement)
    )


def certificate_of(placement: Placement) -> Certificate:
    """Return the formula's certificate of a placement: kept where the response is the objective."""
    return placement.formula or Certificate(placement.objective_s, placement.lower_bound_s)


def bounded(system: System, placement: Placement) -> Placement:
    """The same with the formula's bounds, or the mean of the longest chains where that is higher.

    A bound is never reported above the value that it bounds: a sampled mean has an error, and for some
    placements the formula's waits are too long.
    """
    floor_s, objective_s = Judge(system, "mean-jct").bound(), placement.objective_s
    certified = certificate_of(placement).lower_bound_s
    return replace(
        placement,
        lower_bound_s=_at_most(certified, floor_s, objective_s),
        global_bound_s=_at_most(placement.global_bound_s, floor_s, objective_s),
    )


def _at_most(bound: float, floor: float, value: float) -> float:
    """The larger of two bounds, not above the value; ``nan`` where the formula has none."""
    return bound if math.isnan(bound) else min(max(bound, floor), value)
