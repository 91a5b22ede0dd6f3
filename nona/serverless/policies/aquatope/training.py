"""Aquatope's training: Bayesian optimisation of an application's plan under its SLO, offline.

Plans are tried one after the other in a small model of the platform; two Gaussian processes, of the
logarithms of cost and latency, say which to try next; the cheapest that was seen to keep the SLO wins.

Source: Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023, as read in its published resource manager; noisy
expected improvement: Letham, Karrer, Ottoni, Bakshy, Bayesian Analysis 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.application import Application
from nona.serverless.model.arrivals import LEAST_NOISE
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.aquatope.gaussian_process import Process
from nona.serverless.policies.choices import profiled, transfer_s, usable

Floats = NDArray[np.float64]
LEAST_USD = 1e-30  # a call that is free has a logarithm too
Choice = tuple[int, ...]
RELEARN = 4  # rounds between two fits of the kernels' constants
NEAR = 0.15  # standard deviation of candidates around the best plan, in parts of a side


class Observation(NamedTuple):
    """A plan that was tried: percentile of its latency (s), US dollars a call."""

    plan: Choice
    latency_s: float
    cost: float


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried: random plans, rounds, plans a round, posterior samples, calls per trial."""

    initial: int = 10
    rounds: int = 20
    candidates: int = 3
    samples: int = 32
    calls: int = 20
    percentile: float = 95.0
    raw: int = 128


class Platform:
    """The small model in which plans are tried: full batches, no queues, all input where it is expected.

    A stage takes transfer + time · factor, factor = max(0.1, 1 + noise · z), z standard normal; a call ends
    with its longest path; a job pays its share of the batch's resources for that long.
    """

    def __init__(self, system: ServerlessSystem, application: Application, effort: Effort) -> None:
        self._application, self._effort, self._noise = application, effort, system.noise
        self._time_s = profiled(system)[0][list(application.function)]
        self._transfer_s = np.array([transfer_s(system, application, s) for s in range(application.stages)])
        self._price = system.price_per_s / system.space.batch

    def observe(self, plan: Choice, generator: np.random.Generator) -> Observation:
        """Run some calls under a plan and measure."""
        stages, chosen = np.arange(len(plan)), list(plan)
        drawn = generator.standard_normal((self._effort.calls, len(plan)))
        factor = np.maximum(LEAST_NOISE, 1.0 + self._noise * drawn)
        took = self._transfer_s[stages, chosen] + factor * self._time_s[stages, chosen]
        end = np.zeros_like(took)
        for s, before in enumerate(self._application.dag.predecessors):
            ready = end[:, list(before)].max(axis=1) if before else 0.0
            end[:, s] = ready + took[:, s]
        latency_s = float(np.percentile(end.max(axis=1), self._effort.percentile))
        return Observation(plan, latency_s, float((took * self._price[chosen]).sum(axis=1).mean()))


class Cube:
    """Plans as points of [0, 1]^(3S): each side goes through the sizes of one dimension of one stage."""

    def __init__(self, system: ServerlessSystem, application: Application) -> None:
        space = system.space
        columns = np.stack([space.batch, space.vcpus, space.vgpus], axis=1)
        self._sizes = [np.unique(columns[:, d]) for d in range(3)]
        self._last = np.array([len(s) - 1 for s in self._sizes] * application.stages, dtype=np.float64)
        self._rank = np.stack([np.searchsorted(s, columns[:, d]) for d, s in enumerate(self._sizes)], axis=1)
        self._usable = [np.array(usable(system, f)) for f in application.function]
        self._known: list[dict[tuple[int, ...], int]] = [
            {tuple(self._rank[n].tolist()): int(n) for n in numbers} for numbers in self._usable
        ]
        self.dimensions = 3 * application.stages

    def plan(self, x: Floats) -> Choice:
        """Round a point to sizes; where a stage cannot use them, to the nearest that it can."""
        ranks = np.rint(x * self._last).astype(int).reshape(-1, 3).tolist()
        return tuple(self._nearest(s, tuple(row)) for s, row in enumerate(ranks))

    def _nearest(self, stage: int, row: tuple[int, ...]) -> int:
        found = self._known[stage].get(row)
        if found is None:
            numbers = self._usable[stage]
            found = int(numbers[np.abs(self._rank[numbers] - np.array(row)).sum(axis=1).argmin()])
            self._known[stage][row] = found
        return found

    def point(self, plan: Choice) -> Floats:
        """The point that rounds to a plan."""
        return np.asarray(self._rank[list(plan)].ravel() / np.maximum(self._last, 1.0), dtype=np.float64)


def best_seen(seen: Sequence[Observation], slo_s: float) -> Observation:
    """The cheapest observation that keeps the SLO; else the fastest."""
    kept = [o for o in seen if o.latency_s <= slo_s]
    if kept:
        return min(kept, key=lambda o: (o.cost, o.latency_s, o.plan))
    return min(seen, key=lambda o: (o.latency_s, o.cost, o.plan))


def improvement(cost: Floats, latency: Floats, slo: float, observed: int, count: int) -> list[int]:
    """Which candidates to try, by constrained noisy expected improvement, one after the other.

    Formula: mean over samples of max(0, best − cost(x)) where latency(x) ≤ SLO, best being the sample's
    least cost among points that keep the SLO in it: those observed, and the candidates chosen before.
    Where a sample has none, it is the sample's greatest cost.

    ``cost``, ``latency``: (m, n) samples at the observed points, then at the candidates; ``slo`` in the
    latency's unit. Returns at most ``count`` numbers of candidates, which differ.

    >>> cost = np.array([[3.0, 1.0, 2.0, 0.0]]); late = np.array([[0.0, 0.0, 0.0, 9.0]])
    >>> improvement(cost, late, slo=1.0, observed=1, count=2)
    [0, 1]
    """
    kept = latency <= slo
    worst = cost.max(axis=1)
    allowed = np.where(kept, cost, worst[:, None])
    best = allowed[:, :observed].min(axis=1)
    candidates = allowed[:, observed:]
    chosen: list[int] = []
    for _ in range(min(count, candidates.shape[1])):
        gain = np.maximum(0.0, best[:, None] - candidates).mean(axis=0)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        best = np.minimum(best, candidates[:, chosen[-1]])
    return chosen


class Training:
    """One application's training; ``seen`` are all observations, in order."""

    def __init__(
        self, system: ServerlessSystem, application: Application, effort: Effort, draws: np.random.Generator
    ) -> None:
        self._slo_s, self._effort, self._draws = application.slo_s, effort, draws
        self._platform = Platform(system, application, effort)
        self._cube = Cube(system, application)
        self._cost, self._latency = Process(), Process()
        self.seen: list[Observation] = []

    def run(self) -> Observation:
        """Try plans and return the best; ends early when there are no plans left to try."""
        for plan in self._fresh(self._uniform(self._effort.initial)):
            self._try(plan)
        for number in range(self._effort.rounds):
            plans = self._fresh(self._points())
            if not plans:
                break
            for plan in self._promising(plans, learn=number % RELEARN == 0):
                self._try(plan)
        return best_seen(self.seen, self._slo_s)

    def _try(self, plan: Choice) -> None:
        self.seen.append(self._platform.observe(plan, self._draws))

    def _uniform(self, count: int) -> Floats:
        return self._draws.random((count, self._cube.dimensions))

    def _points(self) -> Floats:
        """Points all over the cube, and around the best plan so far."""
        near = self._effort.raw // 2
        centre = self._cube.point(best_seen(self.seen, self._slo_s).plan)
        around = centre + NEAR * self._draws.standard_normal((near, self._cube.dimensions))
        return np.vstack([self._uniform(self._effort.raw - near), np.clip(around, 0.0, 1.0)])

    def _fresh(self, points: Floats) -> list[Choice]:
        """The plans that points round to, each once, without those tried before."""
        tried = {o.plan for o in self.seen}
        return [p for p in dict.fromkeys(self._cube.plan(x) for x in points) if p not in tried]

    def _promising(self, plans: Sequence[Choice], learn: bool) -> list[Choice]:
        x = np.array([self._cube.point(o.plan) for o in self.seen])
        self._cost.fit(x, np.log([max(o.cost, LEAST_USD) for o in self.seen]), learn)
        self._latency.fit(x, np.log([o.latency_s for o in self.seen]), learn)
        every = np.vstack([x, [self._cube.point(p) for p in plans]])
        cost, latency = (
            process.samples(every, self._effort.samples, self._draws)
            for process in (self._cost, self._latency)
        )
        chosen = improvement(
            np.exp(cost), latency, float(np.log(self._slo_s)), len(x), self._effort.candidates
        )
        return [plans[i] for i in chosen]
