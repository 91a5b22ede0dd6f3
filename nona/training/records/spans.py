"""Who was on which GPUs from when to when, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.training.records.run import TrainingRecords


@dataclass(frozen=True, eq=False, slots=True)
class Spans:
    """n stays of jobs on GPUs: one per row and round, and one per type of each job that holds its GPUs.

    ``first``, ``second``: numbers of the jobs (−1: alone); ``kind``: place of the type; ``gpus``: the numbers
    within the type of all GPUs, those of span s from ``at[s]`` to ``at[s + 1]``; ``placed``: whether it is
    of a round.
    """

    first: Ints
    second: Ints
    kind: Ints
    start_s: Floats
    end_s: Floats
    at: Ints
    gpus: Ints
    placed: int

    @property
    def gpu_s(self) -> Floats:
        """(n,) GPU-seconds of each span; a pair counts once."""
        found: Floats = np.diff(self.at) * (self.end_s - self.start_s)
        return found

    def of_jobs(self, values: Floats, jobs: int, *, split: bool) -> Floats:
        """(jobs,) Σ of ``values`` over each job's spans; with ``split`` two that share have half each."""
        part = np.where(self.second >= 0, 0.5, 1.0) if split else np.ones(len(values))
        found: Floats = np.bincount(self.first, part * values, jobs).astype(float)
        both = self.second >= 0
        return found + np.bincount(self.second[both], (part * values)[both], jobs)


def spans_of(records: TrainingRecords) -> Spans:
    """The spans of a run: those of rounds in order, then those of jobs that hold their GPUs."""
    placed, held = records.placed, records.held
    rounds = np.array([p.round for p in placed], np.int64)
    places = [p.gpus for p in placed] + [h.gpus for h in held]
    counts = list(map(len, places))
    total = sum(counts)
    return Spans(
        first=np.array([p.jobs[0] for p in placed] + [h.job for h in held], np.int64),
        second=np.array([p.jobs[-1] if len(p.jobs) > 1 else -1 for p in placed] + [-1] * len(held), np.int64),
        kind=np.array([p.kind for p in placed] + [h.kind for h in held], np.int64),
        start_s=np.concatenate([records.round_start_s[rounds], np.array([h.start_s for h in held], float)]),
        end_s=np.array([p.end_s for p in placed] + [h.end_s for h in held], float),
        at=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        gpus=np.fromiter((g for gpus in places for g in gpus), np.int64, total),
        placed=len(placed),
    )
