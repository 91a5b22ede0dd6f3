"""What reaches each resource: the visits that walked jobs make, and the paths made of them.

Each executor of class k sees visits of class j at rate λ_j·(visits per job at k)/E_k, each link of a
role likewise; works and instants are those of the walked jobs, so runs, batches, draws and
configurations are in them. Poisson classes and background come as Poisson streams. Others come as
their own process, thinned to the resource: at the core whole jobs, elsewhere single visits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.queueing import second_moment
from nona.placement.response.arrivals import thinned
from nona.placement.response.bank import Bank, Path, make_path
from nona.placement.response.network import roles_of
from nona.random_streams import RandomStreams
from nona.system import Stream, System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_GHOSTS = 0.05  # share of a stream's jobs at the core that bring nothing: a walked job starts there


@dataclass(frozen=True, eq=False)
class Seen:
    """Visits of one query class's N walked jobs: resource, when, work, wait, whether returning."""

    jobs: int
    job: Ints
    resource: Ints
    at_s: Floats
    work_s: Floats
    wait_s: Floats
    again: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Resource:
    """One kind of resource: how many there are, its background (services in seconds)."""

    units: int
    background: Stream
    core: bool = False


def resources_of(system: System) -> tuple[Resource, ...]:
    """The executor classes, then the roles of links."""
    counts = np.bincount(system.executor_class, minlength=len(system.class_names))
    found = [Resource(int(n), system.background_compute) for n in counts]
    stream = system.background_network
    for i, role in enumerate(roles_of(system)):
        rate = stream.rate * role.capacity / system.capacity
        found.append(Resource(role.links, Stream(rate, stream.mean / role.capacity, stream.scv), core=i == 0))
    return tuple(found)


class Traffic:
    """The load of every resource, from the visits of all classes."""

    def __init__(self, system: System, seen: Sequence[Seen]) -> None:
        self.system, self.seen = system, seen
        self.resources = resources_of(system)
        count = len(self.resources)
        self.rho = np.array([r.background.rate * r.background.mean for r in self.resources])
        self.moment = np.array([r.background.rate * second_moment(r.background) for r in self.resources])
        self.units = np.array([max(r.units, 1) for r in self.resources], dtype=float)
        for j, s in enumerate(seen):
            each = system.queries[j].rate / s.jobs / self.units
            self.rho += each * np.bincount(s.resource, s.work_s, count)
            self.moment += each * np.bincount(s.resource, s.work_s**2, count)

    def returned(self, seen: Sequence[Seen], mean_s: Floats) -> Floats:
        """Σ λ E[S·(W − E V)] over visits that come back to a resource, for each resource.

        What the law of conserved work (S. L. Brumelle, Operations Research 19, 1971: E V = Σ λ E[S·W]
        + λE[S²]/2) asks beyond Poisson visits, which see the time average.
        """
        total = np.zeros(len(self.resources))
        for j, s in enumerate(seen):
            back = s.again.copy()
            if self.system.queries[j].arrivals.process != "poisson":
                core = [r for r, resource in enumerate(self.resources) if resource.core]
                back &= ~np.isin(s.resource, core)
            extra = s.work_s * (s.wait_s - mean_s[s.resource])
            each = self.system.queries[j].rate / s.jobs / self.units
            total += each * np.bincount(s.resource[back], extra[back], len(total))
        return total

    def bank(self, replicates: int, events: int, seed: int) -> Bank:
        """Paths of every resource in every replicate, of about ``events`` arrivals each."""
        streams = [RandomStreams(seed, replicate) for replicate in range(replicates)]
        rows = range(len(self.resources))
        return Bank(
            [self._path(r, events, s.generator("response", "path", str(r))) for s in streams for r in rows]
        )

    def _path(self, r: int, events: int, rng: np.random.Generator) -> Path:
        resource, rho = self.resources[r], float(self.rho[r])
        here = [s.resource == r for s in self.seen]
        rates = [
            q.rate * int(h.sum()) / s.jobs / max(resource.units, 1)
            for q, h, s in zip(self.system.queries, here, self.seen, strict=True)
        ]
        total = resource.background.rate + sum(rates)
        if total <= 0 or not 0 < rho < 1:
            return make_path(np.zeros(0), np.zeros(0), 1.0)
        length = events / total
        stream = resource.background
        number = _count(stream.rate * length, rng)
        times, works = [rng.random(number) * length], [_background(stream, number, rng)]
        points: dict[int, Floats] = {}
        for j, (query, seen, h) in enumerate(zip(self.system.queries, self.seen, here, strict=True)):
            if query.arrivals.process == "poisson":
                number = _count(rates[j] * length, rng)
                times.append(rng.random(number) * length)
                works.append(rng.choice(seen.work_s[h], number) if number else np.zeros(0))
                continue
            time, work, points[j] = self._bursts(j, h, resource, length, rng)
            times.append(time)
            works.append(work)
        time, work = np.concatenate(times), np.concatenate(works)
        stretch = float(work.sum()) / rho / length if work.sum() > 0 else 1.0
        points = {j: p * stretch for j, p in points.items()}
        return make_path(time * stretch, work, length * stretch, points)

    def _bursts(
        self, j: int, here: NDArray[np.bool_], resource: Resource, length: float, rng: np.random.Generator
    ) -> tuple[Floats, Floats, Floats]:
        """Visits of a class that is not Poisson, and instants of its jobs that go elsewhere."""
        query, seen = self.system.queries[j], self.seen[j]
        places = np.flatnonzero(here)
        if resource.core:
            instants = thinned(query.arrivals, query.rate, 1.0, length, rng)
            real = rng.random(len(instants)) >= _GHOSTS
            order = places[np.argsort(seen.job[places], kind="stable")]
            first = np.searchsorted(seen.job[order], np.arange(seen.jobs + 1))
            who = rng.integers(seen.jobs, size=int(real.sum()))
            count = np.diff(first)[who]
            at = order[_ranges(first[who], count)] if len(order) else order
        else:
            mean = len(places) / seen.jobs / max(resource.units, 1)
            some = -np.expm1(-mean)
            q = min(1.0, 2 * some)
            instants = thinned(query.arrivals, query.rate, q, length, rng)
            real = rng.random(len(instants)) < (some / q if q > 0 else 0.0)
            count = _at_least_one(mean, int(real.sum()), rng)
            at = rng.choice(places, int(count.sum())) if len(places) else places
        begin = np.repeat(instants[real], count)
        ghosts = instants[~real] if (~real).any() else instants
        return (begin + seen.at_s[at]) % length, seen.work_s[at], ghosts


def _count(mean: float, rng: np.random.Generator) -> int:
    return int(mean + rng.random())


def _background(stream: Stream, number: int, rng: np.random.Generator) -> Floats:
    if stream.scv == 0:
        return np.full(number, stream.mean)
    drawn: Floats = stream.mean * rng.gamma(1.0 / stream.scv, stream.scv, number)
    return drawn


def _at_least_one(mean: float, number: int, rng: np.random.Generator) -> Ints:
    """Poisson numbers given that they are not 0, by inversion of the uniform law of the first point."""
    if mean <= 0:
        return np.zeros(number, dtype=np.int64)
    first = -np.log1p(rng.random(number) * np.expm1(-mean))
    result: Ints = 1 + rng.poisson(np.maximum(mean - first, 0.0))
    return result


def _ranges(first: Ints, count: Ints) -> Ints:
    """first[i], first[i] + 1, … count[i] of them, one after the other."""
    total = np.cumsum(count)
    within = np.arange(int(total[-1]) if len(total) else 0) - np.repeat(total - count, count)
    result: Ints = np.repeat(first, count) + within
    return result
