"""What a policy is asked about flows: by the round's numbers, or as a problem of a training cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Carried, Problem
from nona.schedulers.base import Round
from nona.schedulers.flows.cluster import Floats, FlowCluster, Ints, Known

IDLE = 1e-3  # queries in a round: a flow that expects fewer has no work


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """One round's question.

    Attributes
    ----------
    of, known, seen
        The cluster, what is known of the flows, and what was seen in the last round.
    owned
        (Q,) executors that each flow had for itself in the last round; before the first, all.
    """

    of: FlowCluster
    known: Known
    seen: Round
    owned: Ints

    @property
    def remaining(self) -> Floats:
        """(Q,) Queries in the system and expected: the work of the next round."""
        return self.seen.open + self.known.expected

    @property
    def needs(self) -> Floats:
        """(Q,) Queries/s that would do this work within the round."""
        return self.remaining / self.seen.length_s

    @property
    def active(self) -> Ints:
        """Numbers of the flows that have work; the others claim nothing."""
        return np.flatnonzero(self.remaining >= IDLE)

    def problem(
        self,
        pairs: Ints | None = None,
        pair_rates: Floats | None = None,
        carried: Carried | None = None,
    ) -> tuple[Problem, Ints]:
        """The problem of the active flows, and the class numbers of its types.

        A flow is a job on all N executors at once, so that x_ij·N is the number of executors of type j that
        it gets, its throughput is the sum of their rates, and Σ_j x_ij ≤ 1 says nothing. Its steps left are
        the work of the next round. It has been there as long as its present queries have been on average,
        open / offered rate (Little), and did nothing yet.
        """
        order = np.array([k for _, k in sorted((name, k) for k, name in enumerate(self.of.classes))])
        order, active = order[self.of.counts[order] > 0], self.active
        total, none = float(self.of.counts.sum()), np.zeros(len(active))
        rate = self.known.expected[active] / self.seen.length_s
        since_s = np.divide(self.seen.open[active], rate, out=none.copy(), where=rate > 0)
        problem = Problem(
            types=tuple(f"{self.of.classes[k]}#{k}" for k in order),
            gpus=self.of.counts[order].astype(float),
            names=tuple(f"{self.of.flows[i]}#{i}" for i in active),
            workers=np.full(len(active), total),
            weights=np.ones(len(active)),
            rates=total * self.known.rates[np.ix_(active, order)],
            remaining=self.remaining[active],
            elapsed_s=np.minimum(since_s, self.seen.now_s),
            isolated_s=none,
            slo_s=np.full(len(active), np.nan),
            prices=np.ones(len(order)),
            pairs=np.empty((0, 2), np.int64) if pairs is None else pairs,
            pair_rates=np.empty((0, len(order), 2)) if pair_rates is None else pair_rates,
            carried=carried,
        )
        return problem, order
