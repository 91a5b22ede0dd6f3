"""The value of a placement from sampled jobs: compared pair by pair, and reported.

With w_j = λ_j/Σλ over the classes that count and y_ji what job i of N of class j is worth (1 if it is later
than its SLO and else 0; or its completion time in seconds)::

    value = Σ_j w_j ȳ_j,   Var ≤ Σ_j w_j² s²(y_j)/N

Two placements are walked with the same random numbers, so differences are taken pair by pair:
Δ = Σ_j w_j mean_i(y_ji − y'_ji), Var Δ = Σ_j w_j² s²(y_j − y'_j)/N (common random numbers: Law, Simulation
Modeling and Analysis, 5th ed. 2015, section 11.2). Jobs that meet the same sample path of waits are alike,
which that leaves out; so the same is estimated from the means of the few paths, and the larger one counts.

Count all work that has been drawn for an executor and is not done, from the moment at which its job
arrives, though the job may bring it later. Servers are drawn without a look at the queues, so that is the
work of a queue with Poisson batches, one for every job and executor, and it falls no faster than one
second a second: on average it is at least that of the M/G/1 queue with these batches. It is also the sum
over all tasks of rate times work times time until they start (and half their square), and
a task starts early enough for all that follows it. ``docs/joins.md`` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nona.decomposition import VIRTUAL
from nona.errors import PlacementError
from nona.placement.configurations import to_labels
from nona.placement.model import Known
from nona.placement.queueing import second_moment
from nona.placement.response.equilibrium import predict_response
from nona.placement.response.times import Response
from nona.placement.result import Certificate, Placement, Queries, SampledObjective, SubGraphPlacement
from nona.system import QueryClass, System

Floats = NDArray[np.float64]
_LATE = 1e-9  # relative: rounding does not make a job late


@dataclass(frozen=True, eq=False)
class Values:
    """Worth of the walked jobs of the classes that count: ``y[j]`` (N,), and the classes' weights.

    ``path[j]`` (N,) is the number of the sample path of waits that a job met, if that is known.
    """

    weights: Floats
    y: tuple[Floats, ...]
    path: tuple[NDArray[np.int64], ...] = ()

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
                self.system, queries, shares=self.shares, samples=samples, seed=seed, known=self.known
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


Placed = Sequence[SubGraphPlacement]


def conserved_floor_s(system: System, queries: Sequence[Placed] | None = None) -> float:
    """A bound from below on the mean JCT of a placement, or of all of them, seconds.

    Formula: with y the mean work of a job on each executor, Y = E Σ y², q = Σ p_v² over its tasks, v their
    squared coefficient of variation, ρ and ρ_b the utilisation of an executor by all and by its
    background of rate β and E[b²], N executors, and K = Σ_v p_v (p_v + longest chain behind v)::

        Σ_j λ_j P_j T_j ≥ Σ_j λ_j (max(K_j, (Y_j + q_j)/2) − (1 + v_j) q_j/2) + N (1 − ρ_b) U − N β E[b²]/2
        U = (Σ_j λ_j (Y_j + v_j q_j) / N + β E[b²]) / (2 (1 − ρ))

    The mean is the least that this allows with every T_j at least its longest chain.

    Parameters
    ----------
    queries
        The placement; by default the floor holds for all, a job's work being parted among all executors.

    Notes
    -----
    It is a theorem for Poisson arrivals and any order of service; where there are several executor classes,
    executors batch or arrivals are not Poisson, only the longest chains count.

    Examples
    --------
    One task of 1 s on one executor that is busy half of the time: M/D/1.

    >>> from nona.contraction.task_graph import TaskGraph
    >>> from nona.decomposition import decompose
    >>> from nona.system import Stream
    >>> tasks = TaskGraph.from_edges("one", [1.0])
    >>> query = QueryClass("q", tasks, decompose(tasks.dag), 0.5)
    >>> zero = np.zeros(1, dtype=np.int64)
    >>> conserved_floor_s(System(zero, zero, ("gpu",), 1e9, 0.0, "fifo", Stream(), Stream(), (query,)))
    1.5
    """
    rate = np.array([q.rate for q in system.queries])
    if not rate.sum() > 0.0:
        return 0.0
    times = [_least_s(q) for q in system.queries]
    behind = [_behind(q, p) for q, p in zip(system.queries, times, strict=True)]
    longest = np.array([float((p + b).max()) for p, b in zip(times, behind, strict=True)])
    base = float(rate @ longest / rate.sum())
    poisson = all(q.arrivals.process == "poisson" for q in system.queries)
    work = np.array([p.sum() for p in times])
    stream, number = system.background_compute, system.executors
    spare = 1.0 - stream.rate * stream.mean - float(rate @ work) / number
    if len(system.class_names) > 1 or not poisson or spare <= 0.0 or system.batches:
        return base
    more = _conserved(system, queries, times, behind, spare) - float(rate * work @ longest)
    return base + max(float(more), 0.0) / float(rate.sum() * work.max())


def _least_s(query: QueryClass) -> Floats:
    """(T,) Seconds of each task where it is quickest."""
    result: Floats = query.step_s.min(axis=(0, 1))
    return result


def _conserved(
    system: System,
    queries: Sequence[Placed] | None,
    times: Sequence[Floats],
    behind: Sequence[Floats],
    spare: float,
) -> float:
    """Return the right side of the formula, a bound below Σ λ P T; ``spare`` is 1 − ρ."""
    stream, number = system.background_compute, system.executors
    moment = stream.rate * second_moment(stream)
    total, batches = -0.5 * number * moment, 0.0
    for j, (q, p) in enumerate(zip(system.queries, times, strict=True)):
        single = float((p**2).sum())
        y = p.sum() ** 2 / number  # the least there is, all executors having an equal part
        if queries is not None:
            y = max(y, _squares(q, queries[j], p))
        after = max(float(p @ (p + behind[j])), 0.5 * (y + single))
        total += float(q.rate) * (after - 0.5 * (1.0 + q.service_scv) * single)
        batches += float(q.rate) * (y + q.service_scv * single) / number
    return total + number * (1.0 - stream.rate * stream.mean) * (batches + moment) / (2.0 * spare)


def _behind(q: QueryClass, p: Floats) -> Floats:
    """(T,) Seconds of the longest chain behind each task."""
    behind = np.zeros(len(p))
    for v in reversed(q.tasks.dag.topological_order()):
        behind[v] = max((p[w] + behind[w] for w in q.tasks.dag.successors[v]), default=0.0)
    return behind


def _squares(q: QueryClass, placed: Placed, p: Floats) -> float:
    """E Σ y² of the mean work y of a job on each executor; parts of several sub-graphs are on several.

    Along the sub-graphs the work on the root's executor is known by its first two moments.
    """
    cuts = q.decomposition.cuts
    first = float(p[cuts[0]]) if cuts[0] != VIRTUAL else 0.0
    mean, square, total = first, first**2, 0.0
    for s, sink in zip(placed, cuts[1:], strict=True):
        ahead = float(p[sink]) if sink != VIRTUAL else 0.0
        mean_next = square_next = 0.0
        for c, share in zip(s.configurations, np.asarray(s.probabilities).tolist(), strict=True):
            labels = to_labels(c, s.subgraph.interior)
            work_at: dict[int, float] = {}
            for v, at in zip(s.subgraph.interior, labels, strict=False):
                work_at[at] = work_at.get(at, 0.0) + float(p[v])
            root, home = work_at.pop(0, 0.0), labels[-1]
            run = square + 2.0 * mean * root + root**2
            if home == 0:
                more = root + ahead
                mean_next += share * (mean + more)
                square_next += share * (square + 2.0 * mean * more + more**2)
            else:
                more = work_at.pop(home, 0.0) + ahead
                mean_next, square_next = mean_next + share * more, square_next + share * more**2
                total += share * run
            total += share * sum(w**2 for w in work_at.values())
        mean, square = mean_next, square_next
    return total + square


FINAL = 2048  # walked jobs of each class for the figures that are reported
_Shares = tuple[tuple[float, ...], ...] | None


def walked(system: System, queries: Queries, shares: NDArray[np.float64] | None, seed: int) -> Response:
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
    """The same with the formula's bounds, or the floor of conserved work where that is higher.

    A bound is never reported above the value that it bounds: a sampled mean has an error, and for some
    placements the formula's waits are too long.
    """
    floor_s, objective_s = conserved_floor_s(system), placement.objective_s
    certified = certificate_of(placement).lower_bound_s
    return replace(
        placement,
        lower_bound_s=_at_most(certified, floor_s, objective_s),
        global_bound_s=_at_most(placement.global_bound_s, floor_s, objective_s),
    )


def _at_most(bound: float, floor: float, value: float) -> float:
    """The larger of two bounds, not above the value; ``nan`` where the formula has none."""
    return bound if math.isnan(bound) else min(max(bound, floor), value)
