"""Walked jobs and the paths they meet, made consistent with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.queueing import fifo_wait_s
from nona.placement.response.bank import Bank, make_path
from nona.placement.response.network import Network
from nona.placement.response.times import REPLICATES
from nona.placement.response.tracks import Visits
from nona.placement.response.traffic import Seen, Traffic
from nona.placement.response.walk import Route, Walk
from nona.random_streams import RandomStreams
from nona.system import System

Floats = NDArray[np.float64]
EVENTS = 1 << 15  # arrivals of one path
_WALKS = 3
_STEEPEST = (-4.0, 0.8)
_LEAST = 0.2  # of the mean work without returns


@dataclass(frozen=True, eq=False)
class Settled:
    """Completion times of the walked jobs of each class; utilisation and mean work of each resource."""

    times_s: list[Floats]
    utilization: Floats
    work_s: Floats


class Equilibrium:
    """N jobs of each class among the waits that all of them bring about."""

    def __init__(
        self, system: System, routes: Sequence[Route], shares: Floats, samples: int, seed: int
    ) -> None:
        self.system, self.routes, self.shares, self.samples, self.seed = system, routes, shares, samples, seed

    def _walk(self, bank: Bank, factor: Floats, jobs: int) -> tuple[list[Floats], list[Seen]]:
        times, seen = [], []
        for route in self.routes:
            visits = Visits()
            network = Network(self.system, bank, factor, self.shares, REPLICATES, visits)
            rng = RandomStreams(self.seed).generator("response", "walk", str(route.query))
            times.append(Walk(route, network, jobs, rng).complete())
            job, row, at, work, wait, again = visits.joined()
            seen.append(Seen(jobs, job, row % network.resources, at, work, wait, again))
        return times, seen

    def settle(self) -> Settled:
        """Completion times in the steady state; infinite for jobs that use an overloaded link.

        First the jobs walk alone, which tells what they bring to each resource; of that the paths are
        made. A resource's mean work E V then follows from what its visits meet (``Traffic.returned``),
        and what returning visits meet depends on E V: a secant for each resource finds it.
        """
        empty = make_path(np.zeros(0), np.zeros(0), 1.0)
        resources = Network.count(self.system)
        quiet = Bank([empty] * (resources * REPLICATES))
        few = max(self.samples // 2, 64)
        times, seen = self._walk(quiet, np.ones(resources * REPLICATES), few)
        traffic = Traffic(self.system, seen)
        bank = traffic.bank(REPLICATES, EVENTS, self.seed)
        along = bank.mean_s.reshape(REPLICATES, resources)
        base = self._base(traffic, along)
        mean, before = base, None
        for turn in range(_WALKS):
            factor = np.where(along > 0, mean / np.where(along > 0, along, 1.0), 1.0)
            times, seen = self._walk(bank, factor.ravel(), few if turn < _WALKS - 1 else self.samples)
            if turn < _WALKS - 1:
                spare = np.where(traffic.rho < 1, 1.0 - traffic.rho, 1.0)
                asked = np.maximum(base + traffic.returned(seen, mean) / spare, _LEAST * base)
                before, mean = (mean, asked), _next(mean, asked, before, base)
        for t, s in zip(times, seen, strict=True):
            t[s.job[traffic.rho[s.resource] >= 1]] = np.inf
        return Settled(times, traffic.rho, mean)

    def _base(self, traffic: Traffic, along: Floats) -> Floats:
        """E V without returns: Pollaczek–Khinchine, or what the paths show where arrivals are not Poisson."""
        if any(q.arrivals.process != "poisson" for q in self.system.queries):
            mean: Floats = along.mean(axis=0)
            return mean
        pairs = zip(traffic.rho.tolist(), traffic.moment.tolist(), strict=True)
        return np.array([fifo_wait_s(rho, moment) if rho < 1 else 0.0 for rho, moment in pairs])


def _next(mean: Floats, asked: Floats, before: tuple[Floats, Floats] | None, base: Floats) -> Floats:
    """The next guess at the fixed point of mean → asked: half the way first, then along the secant."""
    if before is None:
        half: Floats = 0.5 * (mean + asked)
        return half
    step = mean - before[0]
    slope = np.where(step != 0, (asked - before[1]) / np.where(step == 0, 1.0, step), 0.0)
    slope = np.clip(slope, *_STEEPEST)
    return np.maximum((asked - slope * mean) / (1.0 - slope), _LEAST * base)
