"""Jobs in regions: each runs in one at a time, and moves when the planner says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from nona.allocation.policies.problem import Floats
from nona.results.training.extensions import MoveAdvice
from nona.training.model.rates import Rates
from nona.training.model.system import TrainingSystem
from nona.training.moves.sizes import checkpoint_bytes
from nona.training.regions.planner import Advice, Network, advice
from nona.training.regions.system import region_of

MOST_ADVICE = 200  # rows that a run keeps


class Regional:
    """Where each job is; ``rates`` are limited to the types of its region.

    The planner assumes that the jobs of a region share it equally: rate in z = Σ_{j∈z} T_ij N_j /
    max(n_z sf_i, N_z) for n_z jobs there, and that a job stays where it is until it ends.
    """

    def __init__(
        self,
        system: TrainingSystem,
        rates: Rates,
        move_s: Callable[[int], float],
        delay: Callable[[int, float], None],
    ) -> None:
        spec = system.regions
        if spec is None:
            raise ValueError("regions")
        self._system, self._spec, self._rates = system, spec, rates
        self._move_s, self._delay = move_s, delay
        self._network = Network(spec.bandwidth, spec.rtt)
        self._whole: Floats = rates.alone.copy()
        kinds = [region_of(t) for t in system.cluster.types]
        self._gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        self._mask: dict[str, NDArray[np.bool_]] = {z: np.array([k == z for k in kinds]) for z in spec.groups}
        self._where: dict[int, str] = {}
        self.moves = 0
        self.advice: list[MoveAdvice] = []

    def arrived(self, job: int) -> None:
        """A job starts where its data are; without a region of its own, where an equal share is fastest."""
        own = self._system.jobs[job].region
        here = Counter(self._where.values())
        fastest = max(self._mask, key=lambda z: (self._share(job, z, here[z] + 1), z))
        self._place(job, own or fastest)

    def completed(self, job: int) -> None:
        """A job leaves its region."""
        del self._where[job]

    def plan(self, jobs: Sequence[int], now_s: float, remaining: Floats) -> None:
        """Look at every job; with ``move`` send those for which it pays, the largest gain in time first."""
        rows = [(job, a) for job, rem in zip(jobs, remaining, strict=True) if (a := self._advice(job, rem))]
        rows = [(job, a) for job, a in rows if a.move]
        rows.sort(key=lambda row: (-row[1].gain_steps / row[1].other_rate, row[0]))
        left = dict(zip(jobs, remaining, strict=True))
        for job, found in rows:
            now = self._advice(job, float(left[job])) if self._spec.move else found
            if now is None or not now.move:
                continue  # others went there in the meantime
            if self._spec.move:
                self._place(job, now.there)
                self._delay(job, now.move_s - self._move_s(job))
                self.moves += 1
            self.advice.append(_row(now, now_s, moved=self._spec.move))
        del self.advice[:-MOST_ADVICE]

    def limited(self, jobs: Sequence[int]) -> Floats:
        """(m, J) the rates in the jobs' regions, 0 elsewhere."""
        mask = np.array([self._mask[self._where[job]] for job in jobs])
        return np.where(mask, self._whole[np.asarray(jobs)], 0.0)

    def _advice(self, job: int, remaining: float) -> Advice | None:
        here, counts = self._where[job], Counter(self._where.values())
        rates = {z: self._share(job, z, counts[z] + (z != here)) for z in self._mask}
        size = checkpoint_bytes(self._system.jobs[job])
        move_s = self._network.move_s(size, self._move_s(job))
        return advice(self._system.jobs[job].name, here, rates, move_s, float(remaining), inf)

    def _share(self, job: int, region: str, jobs: int) -> float:
        mask, workers = self._mask[region], self._system.jobs[job].workers
        part = self._gpus[mask] / max(jobs * workers, float(self._gpus[mask].sum()))
        return float(self._whole[job, mask] @ part)

    def _place(self, job: int, region: str) -> None:
        self._where[job] = region
        self._rates.restrict(job, self._mask[region])


def _row(found: Advice, now_s: float, *, moved: bool) -> MoveAdvice:
    return MoveAdvice(
        time_s=now_s,
        job=found.job,
        here=found.here,
        there=found.there,
        rate=found.rate,
        other_rate=found.other_rate,
        move_s=found.move_s,
        horizon_s=found.horizon_s,
        gain_steps=found.gain_steps,
        least_stay_s=found.least_stay_s,
        moved=moved,
    )
