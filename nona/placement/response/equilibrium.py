"""Walked jobs and the paths they meet, made consistent with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.resource_loads import Loads, Seen
from nona.placement.response.resource_paths import Paths
from nona.placement.response.resources import Network, Waits, resource_count
from nona.placement.response.sample_paths import Bank, make_path
from nona.placement.response.times import REPLICATES
from nona.placement.response.walk import Route, Walk
from nona.random_streams import RandomStreams
from nona.system import System

Floats = NDArray[np.float64]
_STEEPEST = (-4.0, 0.8)  # slopes that a secant may have
_LEAST = 0.2  # of the mean work without returns
_FEWEST = 64  # jobs of a walk
_WINDOW = 4.0  # mean completion times on idle resources that a burst is counted over
_ROUNDS = 5  # of paths made again, where bursts are smoothed by the waits that they cause


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
        self.system, self.routes, self.shares, self.seed = system, routes, shares, seed
        self.samples, self.few = samples, max(samples // 2, _FEWEST)

    def _walk(self, waits: Waits, jobs: int) -> tuple[list[Floats], list[Seen]]:
        times, seen = [], []
        for route in self.routes:
            network = Network(self.system, waits, self.shares[route.query], route.query, jobs)
            rng = RandomStreams(self.seed).generator("response", "walk", str(route.query))
            times.append(Walk(route, network, rng).complete())
            job, stay, row, at, work, wait, again = network.visits.joined()
            seen.append(Seen(jobs, job, stay, row % network.resources, at, work, wait, again))
        return times, seen

    def settle(self) -> Settled:
        """Completion times in the steady state; infinite for jobs that use an overloaded link.

        First the jobs walk alone, which tells what they bring to each resource; paths are made of that.
        """
        resources = resource_count(self.system)
        quiet = Bank([make_path(np.zeros(0), np.zeros(0), 1.0)] * (resources * REPLICATES))
        alone = Waits(quiet, np.ones(resources * REPLICATES), REPLICATES)
        times, seen = self._walk(alone, self.few)
        window_s = _WINDOW * float(np.mean(np.concatenate(times)))
        loads = Loads(self.system, tuple(seen))
        if all(q.arrivals.process == "poisson" for q in self.system.queries):
            bank = Paths(loads, window_s, self.seed).bank()
            mean = self._steady(loads, bank)
        else:
            loads, bank, mean = self._smoothed(loads, window_s)
        times, seen = self._walk(_waits(bank, mean, loads), self.samples)
        for t, s in zip(times, seen, strict=True):
            t[s.job[loads.rho[s.resource] >= 1]] = np.inf
        return Settled(times, loads.rho, mean)

    def _steady(self, loads: Loads, bank: Bank) -> Floats:
        """E V of each resource with Poisson arrivals.

        It follows from what its visits meet (``Loads.returned_s``), and what returning visits meet
        depends on E V: half a step, then the secant of each resource by itself.
        """
        base = loads.independent_s

        def asked(mean: Floats) -> Floats:
            seen = self._walk(_waits(bank, mean, loads), self.few)[1]
            return np.maximum(base + loads.returned_s(seen, mean), _LEAST * base)

        first = asked(base)
        mean = 0.5 * (base + first)
        step, second = mean - base, asked(mean)
        slope = np.where(step != 0, (second - first) / np.where(step == 0, 1.0, step), 0.0)
        slope = np.clip(slope, *_STEEPEST)
        return np.maximum((second - slope * mean) / (1.0 - slope), _LEAST * base)

    def _smoothed(self, loads: Loads, window_s: float) -> tuple[Loads, Bank, Floats]:
        """Paths where some arrivals are not Poisson, made again from the jobs that walked among the last.

        A burst that waits at one resource reaches the next one spread out: each round knows the waits
        of the round before. E V is what the paths show, and what returning visits add.
        """
        paths = Paths(loads, window_s, self.seed)
        bank = paths.bank()
        mean = _along(bank)
        for _ in range(_ROUNDS):
            seen = self._walk(_waits(bank, mean, loads), self.samples)[1]
            extra = loads.returned_s(seen, mean)
            loads = Loads(self.system, tuple(seen))
            paths = Paths(loads, window_s, self.seed, paths.ranks)
            bank = paths.bank()
            mean = np.maximum(_along(bank) + extra, _LEAST * _along(bank))
        return loads, bank, mean


def _along(bank: Bank) -> Floats:
    """Mean work of each resource over the replicates of its path."""
    mean: Floats = bank.mean_s.reshape(REPLICATES, -1).mean(axis=0)
    return mean


def _waits(bank: Bank, mean: Floats, loads: Loads) -> Waits:
    """The paths, their work multiplied so that its mean is that of each resource."""
    along = bank.mean_s
    factor = np.where(along > 0, np.tile(mean, REPLICATES) / np.where(along > 0, along, 1.0), 1.0)
    return Waits(bank, factor, REPLICATES, float(loads.rho[loads.core]), float(loads.visit_s[loads.core]))
