"""Load and waits of the executors, class by class: what the shares of the query classes bring about.

Every server drawn for a job of query class j, its home and that of each part, is of executor class k
with probability s_jk, uniform within the class. With n_k executors, λ_j the rate, w_jk the seconds of
all tasks and M_jk the sum of the squared visits of one job on class k
(:mod:`nona.placement.waits.run_length`)::

    ρ_k = ρ_background + Σ_j λ_j s_jk w_jk / n_k
    W_k = ((λE[S²])_background + Σ_j λ_j s_jk M_jk / n_k) / (2(1 − ρ_k))
    W^j = Σ_k s_jk W_k                  mean wait of a visit of class j

A uniform draw over all executors is s_jk = n_k/n. Then ρ_k is the same whatever the placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.placement.waits.run_length import Blocks, Chain
from nona.system import System

Floats = NDArray[np.float64]
Probabilities = Sequence[Sequence[Floats]]


@dataclass(frozen=True, eq=False)
class Servers:
    """The executors under given shares.

    Attributes
    ----------
    shares : (J, K)
        Probability that a server drawn for query class j is of executor class k.
    blocks
        ``blocks[j][k]``: blocks of the candidates of sub-graph k of query class j.
    """

    system: System
    shares: Floats
    blocks: tuple[tuple[Blocks, ...], ...]

    @cached_property
    def arrivals(self) -> Floats:
        """(J, K) Jobs of each query class per second and executor, as if they stayed where they began."""
        rates = np.array([q.rate for q in self.system.queries])
        counts = self.system.class_counts
        per_executor = np.divide(self.shares, counts, out=np.zeros(self.shares.shape), where=counts > 0)
        result: Floats = rates[:, None] * per_executor
        return result

    @cached_property
    def utilization(self) -> Floats:
        """(K,) ρ of an executor of each class, background included."""
        stream = self.system.background_compute
        result: Floats = stream.rate * stream.mean + (self.arrivals * self.work_s).sum(axis=0)
        return result

    @cached_property
    def work_s(self) -> Floats:
        """(J, K) Seconds of all tasks of a query class on each executor class."""
        if not self.system.queries:
            return np.zeros((0, len(self.system.class_names)))
        return np.array([q.tasks.compute_s.sum(axis=1) for q in self.system.queries])

    @cached_property
    def chains(self) -> tuple[tuple[Chain, ...], ...]:
        """``chains[k][j]``: the run-length recursion of query class j on executor class k."""
        return tuple(
            tuple(
                Chain(cut_times(self.system, j, q.tasks.compute_s[k]), self.blocks[j], k, q.service_scv)
                for j, q in enumerate(self.system.queries)
            )
            for k in range(len(self.system.class_names))
        )

    def waits_s(self, squares: Floats) -> Floats:
        """(K,) W_k for the mean squared visits ``squares`` (J, K) of one job, s²."""
        stream = self.system.background_compute
        moments = stream.rate * second_moment(stream) + (self.arrivals * squares).sum(axis=0)
        return np.array(
            [fifo_wait_s(rho, m) for rho, m in zip(self.utilization.tolist(), moments.tolist(), strict=True)]
        )

    def squares(self, x: Probabilities, only: Sequence[Sequence[int]]) -> Floats:
        """(J, K) M_jk: mean sum of the squared visits of one job, s²; 0 where it never runs."""
        result = np.zeros(self.shares.shape)
        for k, row in enumerate(self.chains):
            for j, chain in enumerate(row):
                if self.arrivals[j, k] > 0:
                    result[j, k] = chain.squares(x[j], only[j])
        return result

    def seen_s(self, waits: Floats) -> Floats:
        """(J,) Σ_k s_jk W_k: what a visit of each query class waits, given the waits (K,)."""
        result: Floats = np.where(self.shares > 0, self.shares * np.where(self.shares > 0, waits, 0.0), 0.0)
        return np.asarray(result.sum(axis=1), dtype=float)

    @cached_property
    def least_squares(self) -> Floats:
        """(J, K) (1 + scv)·Σ p² over the tasks of a job: M_jk is no less, however visits are cut."""
        rows = [(1 + q.service_scv) * (q.tasks.compute_s**2).sum(axis=1) for q in self.system.queries]
        return np.array(rows).reshape(self.shares.shape)

    def gradient(self, x: Probabilities, visits: Floats) -> list[list[tuple[Floats, float]]]:
        """Σ_j ``visits``_j·dW^j/dx for every sub-graph, and a lower bound for all that are not local.

        dW_k/dM_jk = λ_j s_jk/(n_k·2(1 − ρ_k)), and Σ_j visits_j s_jk is what a second of W_k costs.
        """
        price = (visits @ self.shares) / (2.0 * (1.0 - self.utilization))
        factors = self.arrivals * price
        result = [[(np.zeros(len(p)), 0.0) for p in row] for row in x]
        for k, row in enumerate(self.chains):
            for j, chain in enumerate(row):
                factor = float(factors[j, k])
                if factor > 0:
                    slopes = chain.gradient(x[j])
                    result[j] = [
                        (total + factor * part, least + factor * bound)
                        for (total, least), (part, bound) in zip(result[j], slopes, strict=True)
                    ]
        return result


def cut_times(system: System, j: int, times: Floats) -> Floats:
    """Seconds of the cut tasks of query class ``j`` out of ``times`` (T,); 0 where virtual."""
    return np.array([times[t] if t != VIRTUAL else 0.0 for t in system.queries[j].decomposition.cuts])
