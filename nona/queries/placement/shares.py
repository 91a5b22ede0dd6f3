"""Shares of the executor classes: given, uniform, or the best that a search finds.

With P_jk the seconds on class k of the tasks on the longest paths of class j (cut tasks included),
A_j the visits on them, and the loads of :mod:`nona.queries.placement.queueing`::

    ∂F/∂s_ik = w_i·(P_ik + A_i·W_k) + (Σ_j w_j A_j s_jk)·∂W_k/∂s_ik
    ∂W_k/∂s_ik = (λ_i/n_k)·(M_ik/2 + W_k·w_ik)/(1 − ρ_k)

The link's wait is held at that of the configurations: what they send does not depend on the shares.

At fixed shares the placement's own solver finds configurations, with a certificate; at fixed
configurations the shares follow from a smooth program. The two alternate until neither gains. Several
starts make it unlikely, not impossible, that another valley is deeper: what is certain is the bound
of :mod:`nona.queries.placement.shares_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, TypeVar

import numpy as np
import scipy

from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import PlacementError
from nona.queries.placement.capacity import (
    ExecutorLoads,
    allowed_classes,
    default_shares,
    loads_of,
    replicas,
    without_negligible,
)
from nona.queries.placement.model import PlacementModel, Probabilities
from nona.queries.placement.prediction import as_model
from nona.queries.placement.queueing import cut_times, second_moment
from nona.queries.placement.result import SubGraphPlacement
from nona.queries.placement.spans import SpanPlan, longest_path, plan_of
from nona.queries.system import System

Rows = Sequence[Sequence[SubGraphPlacement]]
_LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class _Used:
    """A configuration of one query class in use: how often in a job, and its tasks' times (K, m)."""

    plan: SpanPlan
    times: Floats
    often: float


@dataclass(frozen=True, eq=False)
class SharesObjective:
    """The objective over shares; ``model`` holds the configurations ``x`` and nothing else."""

    system: System
    model: PlacementModel
    x: list[list[Floats]]
    link_wait: float

    @classmethod
    def linearised(
        cls, system: System, rows: Rows, shares: Floats | None, link_wait: float
    ) -> SharesObjective:
        """At the configurations ``rows``, solved for ``shares``, and the link's wait that they cause."""
        model, x = as_model(system, rows, shares)
        return cls(system, model, x, link_wait)

    @cached_property
    def weights(self) -> Floats:
        """(J,) Weights of the classes; those without arrivals count so little that they too are placed."""
        return np.maximum(self.model.weights, _LEAST_WEIGHT)

    @cached_property
    def used(self) -> tuple[tuple[_Used, ...], ...]:
        """For each query class the configurations in use; equal ones of equal sub-graphs together."""
        result = []
        for row, points in zip(self.model.candidates, self.x, strict=True):
            in_use: dict[tuple[bytes, bytes], _Used] = {}
            for c, p in zip(row, points, strict=True):
                for at in np.flatnonzero(p).tolist():
                    key = (c.shape.signature, c.labels[at].tobytes())
                    often = float(p[at]) + (in_use[key].often if key in in_use else 0.0)
                    in_use[key] = _Used(plan_of(c, at), c.shape.class_s, often)
            result.append(tuple(in_use.values()))
        return tuple(result)

    @cached_property
    def cuts(self) -> Floats:
        """(J, K) Seconds of the cut tasks."""
        queries = self.system.queries
        return np.array(
            [[cut_times(self.system, j, t).sum() for t in q.tasks.compute_s] for j, q in enumerate(queries)]
        )

    @cached_property
    def squares(self) -> Floats:
        """(J, K) Mean sum of the squared visits of a job, wherever it may run."""
        return np.array(
            [
                [chain.squares(p) for chain, p in zip(row, self.x, strict=True)]
                for row in self.model.servers.chains
            ]
        ).T

    @cached_property
    def rates(self) -> Floats:
        """(J, K) λ_j/n_k; 0 where there are no executors."""
        counts = self.system.class_counts
        each = np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
        return np.outer([q.rate for q in self.system.queries], each)

    def value_and_gradient(self, shares: Floats) -> tuple[float, Floats]:
        """F in seconds and ∂F/∂s (J, K) almost everywhere; ``inf`` where a class is overloaded."""
        stream, work = self.system.background_compute, self.model.servers.work_s
        spare = 1.0 - stream.rate * stream.mean - (self.rates * shares * work).sum(axis=0)
        if (spare <= 0).any():
            return math.inf, np.zeros(shares.shape)
        moments = stream.rate * second_moment(stream) + (self.rates * shares * self.squares).sum(axis=0)
        waits = moments / (2.0 * spare)
        total, slope = 0.0, np.zeros(shares.shape)
        visits = np.zeros(len(shares))
        for j, weight in enumerate(self.weights.tolist()):
            jct_s, seconds, visits[j] = self._class(j, shares[j], float(shares[j] @ waits))
            total += weight * jct_s
            slope[j] = weight * (seconds + visits[j] * waits)
        users = (self.weights * visits) @ shares
        slope += users * self.rates * (self.squares / 2.0 + waits * work) / spare
        return total, slope

    def _class(self, j: int, row: Floats, wait_s: float) -> tuple[float, Floats, float]:
        """Mean JCT of a query class, seconds on its longest paths on each executor class, and visits."""
        visits = float(self.model.first_visits[j])
        seconds = self.cuts[j].copy()
        total = float(row @ seconds) + visits * wait_s
        for used in self.used[j]:
            path = longest_path(used.plan, (row @ used.times).tolist(), self.link_wait, wait_s)
            total += used.often * path.value_s
            visits += used.often * path.visits
            seconds += used.often * used.times[:, path.tasks].sum(axis=1)
        return total, seconds, visits


_GUARD = 0.02
_ROUNDS = 100
_MOVED = 1e-4


def descend_shares(objective: SharesObjective, loads: ExecutorLoads, start: Floats) -> tuple[float, Floats]:
    """Return a local minimum of the objective over the allowed shares, and its value in seconds.

    SLSQP (Kraft, DFVLR-FB 88-28, 1988) with the analytic gradient; no class is loaded nearer to 1
    than a fiftieth of the room that balanced shares leave. The answer is never worse than ``start``.
    """
    allowed = loads.allowed
    rows, columns = np.nonzero(allowed)
    value = objective.value_and_gradient(start)[0]
    if not math.isfinite(value):
        return value, start

    def shares_of(z: Floats) -> Floats:
        shares = np.zeros(allowed.shape)
        shares[rows, columns] = np.clip(z, 0.0, 1.0)
        return shares

    def scaled(z: Floats) -> tuple[float, Floats]:
        new_value, slope = objective.value_and_gradient(shares_of(z))
        if not math.isfinite(new_value):
            return 1e6, np.zeros(len(z))
        return new_value / value, slope[rows, columns] / value

    result = scipy.optimize.minimize(
        scaled,
        start[rows, columns],
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(rows),
        constraints=_constraints(loads, rows, columns),
        options={"maxiter": _ROUNDS, "ftol": 1e-12},
    )
    shares = _sparse(objective, without_negligible(shares_of(result.x), allowed), allowed)
    end_value = objective.value_and_gradient(shares)[0]
    return (end_value, shares) if end_value < value else (value, start)


def _sparse(objective: SharesObjective, shares: Floats, allowed: Bools) -> Floats:
    """Without shares below a ten-thousandth, if that costs nothing to speak of."""
    least = without_negligible(np.where(shares < _MOVED, 0.0, shares), allowed)
    here, there = objective.value_and_gradient(shares)[0], objective.value_and_gradient(least)[0]
    return least if there <= here * (1 + 1e-6) else shares


def _constraints(loads: ExecutorLoads, rows: Ints, columns: Ints) -> list[scipy.optimize.LinearConstraint]:
    """Shares of a query class add up to 1; every executor class stays below the guard."""
    once = np.zeros((loads.allowed.shape[0], len(rows)))
    once[rows, np.arange(len(rows))] = 1.0
    busy = np.zeros((loads.allowed.shape[1], len(rows)))
    busy[columns, np.arange(len(rows))] = loads.load[rows, columns]
    guard = 1.0 - _GUARD * (1.0 - loads.least_peak()[0])
    kept = busy.any(axis=1)
    return [
        scipy.optimize.LinearConstraint(once, 1.0, 1.0),
        scipy.optimize.LinearConstraint(busy[kept], -np.inf, guard - loads.background),
    ]


_BETWEEN = (0.25, 0.5, 0.75)
_FULL = 0.98


def starting_shares(system: System, loads: ExecutorLoads) -> list[Floats]:
    """Distinct stable shares, the one to solve at first in front.

    Uniform over the executors that are allowed; proportional to what a class can do, n_k/(seconds of
    a job); the ones that balance the load best; the fastest class alone; and the least work with no
    class busier than a quarter, half, three quarters of the way from the balanced load to 1.
    """
    counts = np.where(loads.allowed, system.class_counts, 0).astype(float)
    work = np.array([q.load_s.sum(axis=1) for q in system.queries])
    speed = np.where(loads.allowed, 1.0 / np.maximum(work, 1e-300), 0.0)
    peak, balanced = loads.least_peak()
    tried = [
        _normalised(counts),
        _normalised(counts * speed),
        balanced,
        _normalised(speed == speed.max(axis=1, keepdims=True)),
    ]
    for part in _BETWEEN:
        cheapest = loads.cheapest(_priced(system, work), peak + part * (1.0 - peak))
        if cheapest is not None:
            tried.append(cheapest)
    stable = [s for s in tried if loads.utilization(s).max() < 1.0 - (1.0 - _FULL) * (1.0 - peak)]
    distinct: list[Floats] = []
    for s in stable:
        tidied = without_negligible(s, loads.allowed)
        if not any(np.abs(tidied - other).max() < 1e-6 for other in distinct):
            distinct.append(tidied)
    return distinct


def _normalised(values: Floats) -> Floats:
    result: Floats = values / values.sum(axis=1, keepdims=True)
    return result


def _priced(system: System, work: Floats) -> Floats:
    """Seconds of a job on each class, weighted by how many there are; rare ones count a little too."""
    rates = np.array([q.rate for q in system.queries])
    weights = rates / rates.sum() if rates.sum() > 0 else np.ones(len(rates))
    result: Floats = np.maximum(weights, 1e-6)[:, None] * work
    return result


SolverState = TypeVar("SolverState")
_SEARCH_ROUNDS = 4
_SOLVED = 2
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class SolvedShares(Generic[SolverState]):
    """Configurations at some shares: mean JCT in seconds, rows, link wait, and what the solver keeps."""

    shares: Floats
    value_s: float
    rows: tuple[tuple[SubGraphPlacement, ...], ...]
    link_wait: float
    kept: SolverState


def search_shares(
    system: System, loads: ExecutorLoads, solve_at: Callable[[Floats], SolvedShares[SolverState]]
) -> SolvedShares[SolverState]:
    """Shares and configurations of the least mean JCT that the search finds.

    The first round solves at the first start, optimises the shares from all starts for these
    configurations, and solves again at the best two ends; later rounds go on from the best alone, until
    a round gains less than a ten-thousandth, four rounds at most. At most six placements are solved.
    """
    starts = starting_shares(system, loads)
    best = solve_at(starts[0])
    for number in range(_SEARCH_ROUNDS):
        objective = SharesObjective.linearised(system, best.rows, best.shares, best.link_wait)
        begins = [best.shares, *starts[1:]] if number == 0 else [best.shares]
        ends = sorted((descend_shares(objective, loads, s) for s in begins), key=lambda e: e[0])
        before = best.value_s
        for shares in _distinct([s for _, s in ends], best.shares)[: _SOLVED if number == 0 else 1]:
            solved = solve_at(shares)
            if solved.value_s < best.value_s:
                best = solved
        if best.value_s > before * (1 - _TOLERANCE):
            break
    return best


def _distinct(ends: list[Floats], present: Floats) -> list[Floats]:
    distinct: list[Floats] = [present]
    for s in ends:
        if not any(np.abs(s - other).max() < 1e-3 for other in distinct):
            distinct.append(s)
    return distinct[1:]


Wanted = Literal["optimal", "uniform"] | Floats


def choose_shares(
    system: System, wanted: Wanted, solve_at: Callable[[Floats | None], SolvedShares[SolverState]]
) -> SolvedShares[SolverState]:
    """Return the solution at the shares that are ``wanted``; ``solve_at(None)`` solves at a uniform draw.

    Where every query class has but one executor class to run on there is nothing to search.
    """
    if isinstance(wanted, np.ndarray):
        return solve_at(_checked(system, wanted))
    if wanted not in ("optimal", "uniform"):
        raise PlacementError(f"Class shares {wanted!r}: they must be 'optimal', 'uniform' or numbers.")
    if not system.queries:
        return solve_at(None)
    shares, allowed = default_shares(system), allowed_classes(system)
    if wanted == "uniform" or not is_choice(system, allowed):
        return solve_at(shares)
    loads = loads_of(system, allowed)
    peak, balanced = loads.least_peak()
    if peak >= 1:
        return solve_at(balanced)  # says what is overloaded, and what would do
    return search_shares(system, loads, solve_at)


def is_choice(system: System, allowed: Bools) -> bool:
    """Return whether some query class may run on executors of more than one class."""
    return bool((allowed & (system.class_counts > 0)).sum(axis=1).max() > 1)


def _checked(system: System, shares: Floats) -> Floats:
    shape = (len(system.queries), len(system.class_names))
    if shares.shape != shape or not (shares >= 0).all() or np.abs(shares.sum(axis=1) - 1).max() > 1e-6:
        raise PlacementError(
            f"Class shares {shares.tolist()}: they must be {shape[0]} rows of {shape[1]} probabilities that "
            "add up to 1; give a row for each query class."
        )
    for j, k in zip(*np.nonzero((shares > 0) & ~allowed_classes(system)), strict=True):
        raise PlacementError(
            f"Class shares of {system.queries[j].name!r}: {shares[j, k]:.3g} on {system.class_names[k]!r}, "
            "which has no executors or cannot hold its weights; set it to 0."
        )
    return shares


def share_notes(model: PlacementModel, x: Probabilities) -> tuple[str, ...]:
    """Models kept off a class for their weights, and classes with fewer servers than parts may meet on.

    Nothing where executors are drawn alike.
    """
    if model.class_shares is None:
        return ()
    system, shares, notes = model.system, model.shares, []
    allowed = allowed_classes(system)
    for r in replicas(system):
        off = [n for k, n in enumerate(system.class_names) if not allowed[r.queries[0], k]]
        if off:
            notes.append(
                f"Memory: the weights of {r.name} are not kept on {', '.join(off)}, so it never runs there."
            )
    for k, name in enumerate(system.class_names):
        servers = len(np.unique(system.executor_server[system.executor_class == k]))
        parts = max((_parts(model, x, j) for j in range(len(shares)) if shares[j, k] > 0), default=1)
        if servers < parts:
            notes.append(
                f"Class {name} is on {servers} server{'s' * (servers > 1)} only, and may get up to {parts} "
                "parts of a query. The prediction neglects that parts on one server run in sequence, and "
                "that messages between them cross no link."
            )
    return tuple(notes)


def _parts(model: PlacementModel, x: Probabilities, j: int) -> int:
    """Return the most servers that a sub-graph of query class ``j`` uses in one configuration."""
    used = [c.labels[p > 0] for c, p in zip(model.candidates[j], x[j], strict=True)]
    return 1 + max((int(labels.max(initial=0)) for labels in used), default=0)
