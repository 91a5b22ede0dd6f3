"""Sample paths of every resource, made of the visits that walked jobs make.

Each executor of class k sees visits of class j at rate λ_j·(visits per job at k)/E_k, each link of a
role likewise; works and instants are those of the walked jobs, so runs, batches, draws and
configurations are in them. Poisson classes and background come as Poisson streams. Others come as
their own process, thinned to the resource, with all visits of a job's stay there (at the core: of all
the job). A job
in a burst has the visits of a walked job of about the same rank within its burst.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.arrivals import burst_rank, instants, near
from nona.placement.response.resource_loads import Loads, Resource, Seen
from nona.placement.response.sample_paths import Bank, Path, make_path
from nona.placement.response.times import REPLICATES
from nona.random_streams import RandomStreams
from nona.system import Stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_GHOSTS = 0.05  # least share of a stream's jobs that bring nothing: at these the walked jobs start
EVENTS = 1 << 15  # arrivals of one path
_JOBS = 1 << 17  # of a bursty class, on a path that few of them come to


class Paths:
    """Makes the paths; bursts are counted over ``window_s``.

    ``ranks`` are those within their bursts of all arrivals that were drawn, by their instants; those
    ``known`` from other paths with the same window are taken from there.
    """

    def __init__(
        self, loads: Loads, window_s: float, seed: int, known: Mapping[bytes, Floats] | None = None
    ) -> None:
        self.loads, self.system, self.seen = loads, loads.system, loads.seen
        self.window_s, self.seed = window_s, seed
        self.known, self.ranks = known or {}, dict[bytes, Floats]()

    def bank(self) -> Bank:
        """Paths of every resource in every replicate."""
        streams = [RandomStreams(self.seed, replicate) for replicate in range(REPLICATES)]
        rows = range(len(self.loads.resources))
        return Bank([self._path(r, s.generator("response", "path", str(r))) for s in streams for r in rows])

    def _path(self, r: int, rng: np.random.Generator) -> Path:
        resource, rho = self.loads.resources[r], float(self.loads.rho[r])
        here = [s.resource == r for s in self.seen]
        rates = [float(self.loads.per_unit(j)[r]) * int(h.sum()) for j, h in enumerate(here)]
        stream = resource.background
        total = stream.rate + sum(rates)
        if total <= 0 or not 0 < rho < 1:
            return make_path(np.zeros(0), np.zeros(0), 1.0)
        bursty = [q.rate for q in self.system.queries if q.arrivals.process != "poisson" and q.rate > 0]
        length = min(EVENTS / total, _JOBS / max(bursty, default=1e-300))
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
        first, end, order = _groups(seen, np.flatnonzero(here), resource.core)
        times = instants(query.arrivals, query.rate, length, rng)
        rank = self._ranked(times)
        mean = len(first) / seen.jobs / max(resource.units, 1)
        stays = np.full(len(times), int(mean)) + (rng.random(len(times)) < mean % 1.0)
        if resource.core:
            stays = np.ones(len(times), dtype=np.int64)
        if resource.core or mean > 1 - _GHOSTS:
            stays[rng.random(len(times)) < _GHOSTS] = 0
        real = stays > 0
        which = near(np.repeat(rank[real], stays[real]), len(first), rng)
        size = (end - first)[which]
        at, count = order[_ranges(first[which], size)], size
        begin = np.repeat(np.repeat(times[real], stays[real]), count)
        ghosts = np.flatnonzero(~real) if (~real).any() else np.arange(len(times))
        ghosts = ghosts[np.argsort(rank[ghosts])]  # ranks differ
        return (begin + seen.at_s[at]) % length, seen.work_s[at], times[ghosts]

    def _ranked(self, times: Floats) -> Floats:
        """Mostly the same arrivals in every round."""
        key = blake2b(times.tobytes()).digest()
        if key not in self.ranks:
            found = self.known.get(key)
            self.ranks[key] = burst_rank(times, self.window_s) if found is None else found
        return self.ranks[key]


def _within(seen: Seen) -> Floats:
    """Rank of each walked job within its burst: they stand in that order in every replicate."""
    result: Floats = (np.arange(seen.jobs) * REPLICATES / seen.jobs) % 1.0
    return result


def _groups(seen: Seen, places: Ints, core: bool) -> tuple[Ints, Ints, Ints]:
    """Visits that come together, in order of the jobs' ranks: order[first[g]:end[g]] of each group.

    At the core all visits of a job, jobs that bring none with an empty group; elsewhere those of a stay.
    """
    rank = _within(seen)[seen.job[places]]
    if core:
        by_rank = np.argsort(_within(seen), kind="stable")
        number = np.empty(seen.jobs, dtype=np.int64)
        number[by_rank] = np.arange(seen.jobs)
        key = number[seen.job[places]]
        order = places[np.argsort(key, kind="stable")]
        bounds = np.searchsorted(np.sort(key), np.arange(seen.jobs + 1))
        return bounds[:-1], bounds[1:], order
    order = places[np.lexsort((seen.stay[places], rank))]
    starts = np.flatnonzero(np.diff(seen.stay[order], prepend=-1) != 0)
    return starts, np.append(starts[1:], len(order)) if len(starts) else starts, order


def _count(mean: float, rng: np.random.Generator) -> int:
    return int(mean + rng.random())


def _background(stream: Stream, number: int, rng: np.random.Generator) -> Floats:
    if stream.scv == 0:
        return np.full(number, stream.mean)
    drawn: Floats = stream.mean * rng.gamma(1.0 / stream.scv, stream.scv, number)
    return drawn


def _ranges(first: Ints, count: Ints) -> Ints:
    """first[i], first[i] + 1, … count[i] of them, one after the other."""
    total = np.cumsum(count)
    within = np.arange(int(total[-1]) if len(total) else 0) - np.repeat(total - count, count)
    result: Ints = np.repeat(first, count) + within
    return result
