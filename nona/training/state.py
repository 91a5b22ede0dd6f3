"""The jobs of a run as it goes on, as arrays, and their true rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.training.system import TrainingSystem


class Rates:
    """``isolated_rates``: (M, J) steps/s of each job by itself; pairs of jobs by what they train.

    Only training jobs share GPUs, and only with jobs of equal worker count.
    """

    def __init__(self, system: TrainingSystem) -> None:
        self._types, self._table = system.cluster.types, system.throughputs
        kinds: dict[tuple[str, int], int] = {}
        self._kind = np.array([kinds.setdefault((j.model, j.workers), len(kinds)) for j in system.jobs])
        self._kinds = list(kinds)
        by_kind = np.array(
            [[self._table.rate(t, model, sf) for t in self._types] for model, sf in self._kinds]
        )
        self.isolated_rates: Floats = by_kind[self._kind]
        self._whole, self._allowed = by_kind, np.ones(self.isolated_rates.shape, np.bool_)
        self._together: Floats | None = None

    def pairs(self, jobs: Sequence[int]) -> tuple[Ints, Floats]:
        """(p, 2) places in ``jobs`` of those that can share GPUs on some type, and (p, J, 2) their rates."""
        if self._together is None:
            self._together = self._dense()
        kind = self._kind[np.asarray(jobs, np.int64)]
        a, b = np.triu_indices(len(jobs), 1)
        rates: Floats = self._together[kind[a], kind[b]]
        if not self._allowed.all():
            rows = np.asarray(jobs, np.int64)
            rates = rates * (self._allowed[rows[a]] & self._allowed[rows[b]])[:, :, None]
        kept = (rates.min(axis=2) > 0).any(axis=1)
        return np.column_stack([a[kept], b[kept]]), rates[kept]

    def pair(self, a: int, b: int) -> Floats:
        """(J, 2) the rates of two jobs on the same GPUs."""
        if self._together is None:
            self._together = self._dense()
        rates: Floats = self._together[self._kind[a], self._kind[b]]
        return np.where((self._allowed[a] & self._allowed[b])[:, None], rates, 0.0)

    def restrict(self, job: int, kinds: Bools) -> None:
        """From now on a job can run on these types only."""
        self._allowed[job] = kinds
        self.isolated_rates[job] = np.where(kinds, self._whole[self._kind[job]], 0.0)

    def _dense(self) -> Floats:
        count = len(self._kinds)
        rates = np.zeros((count, count, len(self._types), 2))
        for i, (own, workers) in enumerate(self._kinds):
            for k, (other, others) in enumerate(self._kinds):
                if workers == others:
                    for j, gpu in enumerate(self._types):
                        rates[i, k, j] = self._table.pair(gpu, own, other, workers)
        return rates


class JobArrays:
    """Arrays by job: steps left, arrivals, time received. ``now`` is the clock, in seconds."""

    def __init__(self, system: TrainingSystem) -> None:
        count, types = len(system.jobs), len(system.cluster.types)
        self.now = 0.0
        self.arrival_s: Floats = np.array([j.arrival_s for j in system.jobs], float)
        self.total_steps: Floats = np.array([j.steps for j in system.jobs], float)
        self.remaining: Floats = self.total_steps.copy()
        self.admitted_s: Floats = np.full(count, np.nan)
        self.completion_s: Floats = np.full(count, np.nan)
        self.isolated_s: Floats = np.zeros(count)  # C_i
        self.lost: Floats = np.zeros(count)
        self.busy_s: Floats = np.zeros((count, types))
        self.booked_s: Floats = np.zeros(types)
        self.planned_s: Floats = np.zeros((count, types))
        self.received_s: Floats = np.zeros((count, types))
        self.present_s: Floats = np.zeros(count)
        self.preemptions = np.zeros(count, np.int64)
        self.moves = np.zeros(count, np.int64)
        self._counted: Floats = self.total_steps.copy()  # remaining when C_i was last brought up to date
        self._isolated_rate: Floats = np.full(count, np.nan)

    def isolate(self, jobs: Ints, rates: Floats) -> None:
        """C_i += steps since the last time / the rate of an equal share then; then the new such rates."""
        self.settle(jobs)
        self._isolated_rate[jobs] = rates

    def settle(self, jobs: Ints) -> None:
        """Bring C_i of some jobs up to date."""
        rate = self._isolated_rate[jobs]
        steps = self._counted[jobs] - self.remaining[jobs]
        usable = np.isfinite(rate) & (rate > 0)
        self.isolated_s[jobs] += np.divide(steps, rate, out=np.zeros_like(steps), where=usable)
        self._counted[jobs] = self.remaining[jobs]

    def book(self, job: int, kind: int, seconds: float, *, known: bool) -> None:
        """Time of a job on GPUs of a type; ``known``: since its first allocation."""
        self.busy_s[job, kind] += seconds
        if known:
            self.received_s[job, kind] += seconds
