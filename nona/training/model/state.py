"""The jobs of a run as it goes on, as arrays over all jobs."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.training.model.system import TrainingSystem


class State:
    """What is left of each job, when it came, what it received. ``now`` is the clock, in seconds."""

    def __init__(self, system: TrainingSystem) -> None:
        count, types = len(system.jobs), len(system.cluster.types)
        self.now = 0.0
        self.arrival_s: Floats = np.array([j.arrival_s for j in system.jobs], float)
        self.asked: Floats = np.array([j.steps for j in system.jobs], float)
        self.remaining: Floats = self.asked.copy()
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
        self._counted: Floats = self.asked.copy()  # remaining when C_i was last brought up to date
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
