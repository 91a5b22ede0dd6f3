"""The mean JCT as a function of the class shares, at fixed configurations, with its gradient.

With P_jk the seconds on class k of the tasks on the longest paths of class j (cut tasks included),
A_j the visits on them, and the loads of :mod:`nona.placement.waits.executor_waits`::

    ∂F/∂s_ik = w_i·(P_ik + A_i·W_k) + (Σ_j w_j A_j s_jk)·∂W_k/∂s_ik
    ∂W_k/∂s_ik = (λ_i/n_k)·(M_ik/2 + W_k·w_ik)/(1 − ρ_k)

The link's wait is held at that of the configurations: what they send does not depend on the shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.placement.formula.model import Model
from nona.placement.formula.prediction import as_model
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.spans.single_span import Plan, longest_path, plan_of
from nona.placement.waits.executor_waits import cut_times
from nona.placement.waits.queueing import second_moment
from nona.system import System

Floats = NDArray[np.float64]
Rows = Sequence[Sequence[SubGraphPlacement]]
_LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class _Used:
    """A configuration of one query class in use: how often in a job, and its tasks' times (K, m)."""

    plan: Plan
    times: Floats
    often: float


@dataclass(frozen=True, eq=False)
class SharesObjective:
    """The objective over shares; ``model`` holds the configurations ``x`` and nothing else."""

    system: System
    model: Model
    x: list[list[Floats]]
    link_wait: float

    @classmethod
    def of(cls, system: System, rows: Rows, shares: Floats | None, link_wait: float) -> SharesObjective:
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
            found: dict[tuple[bytes, bytes], _Used] = {}
            for c, p in zip(row, points, strict=True):
                for at in np.flatnonzero(p).tolist():
                    key = (c.shape.signature, c.labels[at].tobytes())
                    often = float(p[at]) + (found[key].often if key in found else 0.0)
                    found[key] = _Used(plan_of(c, at), c.shape.class_s, often)
            result.append(tuple(found.values()))
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
            [[chain.squares(p) for chain, p in zip(row, self.x, strict=True)] for row in self.model.chains]
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
