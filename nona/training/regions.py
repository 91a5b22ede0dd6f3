"""Regions: a cluster in several, and when it pays to move a job to another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from nona.core.arrays import Bools, Floats
from nona.core.errors import SimulationError
from nona.training.moves import checkpoint_bytes
from nona.training.results import MoveAdvice
from nona.training.state import Rates
from nona.training.system import NodeGroup, Throughputs, TrainingCluster, TrainingSystem

AT = "@"


def _regional_type(gpu: str, region: str) -> str:
    """Return the name of a type of GPU in a region.

    >>> _regional_type("v100", "east")
    'v100@east'
    """
    return f"{gpu}{AT}{region}"


def _region_of(kind: str) -> str:
    """Return the region of a type: ``region_of("v100@east")`` is ``"east"``; "" without regions."""
    return kind.partition(AT)[2]


def with_regions(system: TrainingSystem) -> TrainingSystem:
    """Return the system with GPUs named by type and region, their rates and prices those of the type.

    Without ``regions`` it is returned as it is.
    """
    spec = system.regions
    if spec is None:
        return system
    region = {number: name for name, numbers in spec.groups.items() for number in numbers}
    groups = system.cluster.groups
    for number in range(len(groups)):
        if number not in region:
            raise SimulationError(f"Regions: server group {number} is in no region; list it in one.")
    if extra := sorted(set(region) - set(range(len(groups)))):
        raise SimulationError(
            f"Regions: there is no server group {extra[0]}; use numbers from 0 to {len(groups) - 1}."
        )
    for job in system.jobs:
        if job.region and job.region not in spec.groups:
            names = ", ".join(map(repr, spec.groups))
            raise SimulationError(f"Job {job.name!r}: region {job.region!r} is not known; use {names}.")
    placed = tuple(
        NodeGroup(_regional_type(g.gpu, region[n]), g.count, g.gpus, region[n]) for n, g in enumerate(groups)
    )
    kinds = {(g.gpu, region[n]) for n, g in enumerate(groups)}
    prices = {
        _regional_type(gpu, z): system.cluster.prices[gpu]
        for gpu, z in sorted(kinds)
        if gpu in system.cluster.prices
    }
    table = _regional_table(system.throughputs, sorted(kinds))
    return replace(system, cluster=TrainingCluster(placed, prices), throughputs=table)


def _regional_table(table: Throughputs, kinds: list[tuple[str, str]]) -> Throughputs:
    regions: dict[str, list[str]] = {}
    for gpu, z in kinds:
        regions.setdefault(gpu, []).append(_regional_type(gpu, z))
    return replace(
        table,
        alone={k._replace(gpu=t): v for k, v in table.alone.items() for t in regions.get(k.gpu, ())},
        pairs={k._replace(gpu=t): v for k, v in table.pairs.items() for t in regions.get(k.gpu, ())},
        spread={k._replace(gpu=t): v for k, v in table.spread.items() for t in regions.get(k.gpu, ())},
        provenance={t: p for gpu, p in table.provenance.items() for t in regions.get(gpu, ())},
    )


def pays(rate: float, other: float, move_s: float, horizon_s: float) -> bool:
    """Return whether rate' · (H − g) > rate · H: a move that loses g does more steps within H.

    >>> pays(1.0, 2.0, 30, 61), pays(1.0, 2.0, 30, 60)
    (True, False)
    """
    return other * (horizon_s - move_s) > rate * horizon_s


def least_stay_s(rate: float, other: float, move_s: float) -> float:
    """H* = g · rate' / (rate' − rate): a stay longer than this pays; infinite where the rate does not rise.

    >>> least_stay_s(1.0, 2.0, 30), least_stay_s(2.0, 1.0, 30)
    (60.0, inf)
    """
    return move_s * other / (other - rate) if other > rate else math.inf


def advice(
    job: str, here: str, rates: Mapping[str, float], move_s: float, remaining: float, until_s: float
) -> MoveAdvice | None:
    """Return the best move of a job to another region, worth it or not; ``None`` where there is no other.

    ``rates``: steps/s that it would have in each region. The horizon H is the time until its next move may
    be (``until_s``), at most what its remaining steps take after the move, where it is faster: g + rem/rate'.

    >>> found = advice("a", "east", {"east": 1.0, "west": 2.0}, 30.0, remaining=1000, until_s=1e6)
    >>> found.there, found.horizon_s, found.gain_steps, found.least_stay_s
    ('west', 530.0, 470.0, 60.0)
    """
    others = [r for r in rates if r != here]
    if not others:
        return None
    rate, there = rates[here], max(others, key=lambda r: (rates[r], r))
    other = rates[there]
    horizon = min(until_s, move_s + remaining / other) if other > 0 else until_s
    gain = other * max(0.0, horizon - move_s) - rate * horizon
    stay = least_stay_s(rate, other, move_s)
    return MoveAdvice(
        time_s=0.0,
        job=job,
        here=here,
        there=there,
        rate=rate,
        other_rate=other,
        move_s=move_s,
        horizon_s=horizon,
        gain_steps=gain,
        least_stay_s=stay,
        moved=False,
    )


def worth_moving(choice: MoveAdvice) -> bool:
    """Return whether a job does more steps within the horizon if it moves."""
    return pays(choice.rate, choice.other_rate, choice.move_s, choice.horizon_s)


MOST_ADVICE = 200  # rows that a run keeps


class Regional:
    """The region of each job; ``rates`` are limited to the types of its region.

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
        self._whole: Floats = rates.isolated_rates.copy()
        kinds = [_region_of(t) for t in system.cluster.types]
        self._gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        self._mask: dict[str, Bools] = {z: np.array([k == z for k in kinds]) for z in spec.groups}
        self._where: dict[int, str] = {}
        self.moves = 0
        self.advice: list[MoveAdvice] = []

    def arrived(self, job: int) -> None:
        """Choose a new job's region: that of its data; without one, where an equal share is fastest."""
        own = self._system.jobs[job].region
        here = Counter(self._where.values())
        fastest = max(self._mask, key=lambda z: (self._share(job, z, here[z] + 1), z))
        self._place(job, own or fastest)

    def completed(self, job: int) -> None:
        """Forget the region of a completed job."""
        del self._where[job]

    def plan(self, jobs: Sequence[int], now_s: float, remaining: Floats) -> None:
        """Look at every job; with ``move`` send those for which it pays, the largest gain in time first."""
        left = dict(zip(jobs, map(float, remaining), strict=True))
        rows = [(job, a) for job in jobs if (a := self._advice(job, left[job])) and worth_moving(a)]
        rows.sort(key=lambda row: (-row[1].gain_steps / row[1].other_rate, row[0]))
        for job, proposed in rows:
            now = self._advice(job, left[job]) if self._spec.move else proposed
            if now is None or not worth_moving(now):
                continue  # others went there in the meantime
            if self._spec.move:
                self._place(job, now.there)
                self._delay(job, now.move_s - self._move_s(job))
                self.moves += 1
            self.advice.append(now.model_copy(update={"time_s": now_s, "moved": self._spec.move}))
        del self.advice[:-MOST_ADVICE]

    def limited(self, jobs: Sequence[int]) -> Floats:
        """(m, J) the rates in the jobs' regions, 0 elsewhere."""
        mask = np.array([self._mask[self._where[job]] for job in jobs])
        return np.where(mask, self._whole[np.asarray(jobs)], 0.0)

    def _advice(self, job: int, remaining: float) -> MoveAdvice | None:
        here, counts = self._where[job], Counter(self._where.values())
        rates = {z: self._share(job, z, counts[z] + (z != here)) for z in self._mask}
        # g = V/B + RTT + c: a checkpoint of V bytes is sent, and the job starts again in c seconds
        sent_s = checkpoint_bytes(self._system.jobs[job]) / self._spec.bandwidth + self._spec.rtt
        move_s = sent_s + self._move_s(job)
        return advice(self._system.jobs[job].name, here, rates, move_s, remaining, inf)

    def _share(self, job: int, region: str, jobs: int) -> float:
        mask, workers = self._mask[region], self._system.jobs[job].workers
        part = self._gpus[mask] / max(jobs * workers, float(self._gpus[mask].sum()))
        return float(self._whole[job, mask] @ part)

    def _place(self, job: int, region: str) -> None:
        self._where[job] = region
        self._rates.restrict(job, self._mask[region])
