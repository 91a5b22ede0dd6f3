"""What a choice brought: the time of jobs in the system after it, against runs of the same arrivals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nona.learning.rollouts import Rollout

Floats = NDArray[np.float64]


def job_seconds(rollout: Rollout, until_s: Floats) -> Floats:
    """∫ N(t) dt from 0 to each instant, N(t) being the jobs in the system: Σ (t − a)⁺ − Σ (t − c)⁺."""
    return _past(rollout.arrival_s, until_s) - _past(rollout.completion_s, until_s)


def _past(events_s: Floats, until_s: Floats) -> Floats:
    """Σ (t − event)⁺ for each t; ``events_s`` ascend."""
    before = np.searchsorted(events_s, until_s, side="right")
    sums = np.concatenate([[0.0], np.cumsum(events_s)])
    past: Floats = before * until_s - sums[before]
    return past


def advantages(rollouts: Sequence[Rollout], window_s: float) -> list[Floats]:
    """For each choice minus the job-seconds of the next ``window_s``, less the mean of those that the other
    rollouts have from the same instant on, in units of their standard deviation over all choices.

    All runs have the same arrivals, so the mean is a baseline that does not depend on the choice. Of a
    differential reward (job-seconds less the long-run average) nothing else remains: the average over a
    window of fixed length is the same constant in the run and in its baseline.
    """
    found = []
    for number, rollout in enumerate(rollouts):
        t = rollout.choices.time_s
        cost = np.stack([job_seconds(r, t + window_s) - job_seconds(r, t) for r in rollouts])
        others = (cost.sum(axis=0) - cost[number]) / (len(rollouts) - 1)
        found.append(others - cost[number])
    together = np.concatenate(found)
    spread = float(together.std()) if len(together) else 0.0
    return [a / spread if spread > 0 else a for a in found]
