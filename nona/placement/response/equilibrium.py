"""Walked jobs and the paths that they meet, made consistent: the response itself.

Each executor of class k sees visits of class j at rate λ_j·(visits per job at k)/E_k, each link of a
role likewise; works and instants are those of the walked jobs, so runs, batches, draws and
configurations are in them. Poisson classes and background come as Poisson streams. Others come as
their own process, thinned to the resource, with all visits of a job's stay there (at the core: of all
the job). A job
in a burst has the visits of a walked job of about the same rank within its burst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from nona.arrays import Bools, Floats, Ints
from nona.decomposition import VIRTUAL
from nona.errors import PlacementError
from nona.placement.batch_waits import Met, met_at
from nona.placement.capacity import check_feasible, executor_utilization
from nona.placement.model import Known, Model
from nona.placement.prediction import as_model
from nona.placement.queueing import fifo_wait_s, second_moment
from nona.placement.response.resources import Network, Waits, resource_count, roles_of
from nona.placement.response.sample_paths import Bank, Path, burst_rank, instants, make_path, near, ranges
from nona.placement.response.steps import Chains, Coming, Key, Steps, Visitors, visitors_of
from nona.placement.response.walk import Route, Walk
from nona.placement.result import REPLICATES, Response, SubGraphPlacement, mixed
from nona.random_streams import RandomStreams
from nona.system import Stream, System


@dataclass(frozen=True, eq=False)
class Seen:
    """Visits of one query class's N walked jobs: stay, resource, time, work, wait, whether returning, mark.

    ``chains`` tells with batches what runs in them; see :class:`~nona.placement.response.resources.Visits`.
    """

    jobs: int
    job: Ints
    stay: Ints
    resource: Ints
    at_s: Floats
    work_s: Floats
    wait_s: Floats
    again: Bools
    mark: Ints
    chains: Chains | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of resource: how many there are, the background of each (services in seconds)."""

    units: int
    background: Stream
    core: bool = False


def _resources_of(system: System) -> tuple[Resource, ...]:
    """The executor classes, then the roles of links."""
    counts = np.bincount(system.executor_class, minlength=len(system.class_names))
    resources = [Resource(int(n), system.background_compute) for n in counts]
    roles = enumerate(roles_of(system))
    return (*resources, *(Resource(role.links, role.background, core=i == 0) for i, role in roles))


@dataclass(frozen=True, eq=False)
class Loads:
    """The load of every resource, from the visits of all classes.

    ``executors`` (K,) is that of the executors where they batch: it does not follow from how long they work.
    """

    system: System
    seen: tuple[Seen, ...]
    executors: Floats | None = None

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """All resources, in the order of the bank's rows."""
        return _resources_of(self.system)

    @cached_property
    def core(self) -> int:
        """The number of the core among them."""
        return len(self.system.class_names)

    @cached_property
    def background(self) -> tuple[Floats, Floats, Floats]:
        """Rate (1/s), ρ and λE[S²] (s) of each resource's background."""
        streams = [r.background for r in self.resources]
        rate = np.array([s.rate for s in streams])
        rho = np.array([s.rate * s.mean for s in streams])
        return rate, rho, np.array([s.rate * second_moment(s) for s in streams])

    def per_unit(self, j: int) -> Floats:
        """Return λ_j/(N·units): the weight of one visit of a walked job, in visits/s at each unit."""
        units = np.array([max(r.units, 1) for r in self.resources], dtype=float)
        each: Floats = self.system.queries[j].rate / self.seen[j].jobs / units
        return each

    def _sum(self, power: int) -> Floats:
        count = len(self.resources)
        total = self.background[power].copy()
        for j, s in enumerate(self.seen):
            total += self.per_unit(j) * np.bincount(s.resource, s.work_s**power, count)
        return total

    @cached_property
    def rho(self) -> Floats:
        rho = self._sum(1)
        if self.executors is not None:
            rho[: len(self.executors)] = self.executors
        return rho

    @cached_property
    def visit_s(self) -> Floats:
        """Mean work of a visit to each resource, background included."""
        rate = self._sum(0)
        result: Floats = self.rho / np.where(rate > 0, rate, 1.0)
        return result

    @cached_property
    def spare(self) -> Floats:
        """1 − ρ, and 1 where a resource is overloaded."""
        return np.where(self.rho < 1, 1.0 - self.rho, 1.0)

    @cached_property
    def independent_s(self) -> Floats:
        """E V if all visits were Poisson (Pollaczek–Khinchine); 0 where overloaded."""
        pairs = zip(self.rho.tolist(), self._sum(2).tolist(), strict=True)
        return np.array([fifo_wait_s(rho, moment) if rho < 1 else 0.0 for rho, moment in pairs])

    def returned_s(self, seen: Sequence[Seen], mean_s: Floats) -> Floats:
        """Σ λ E[S·(W − E V)]/(1 − ρ) over visits that come back to a resource, for each resource.

        The law of conserved work, E V = Σ λ E[S·W] + λE[S²]/2 over all kinds of visits (S. L. Brumelle,
        Operations Research 19, 1971), gives E V = Pollaczek–Khinchine plus this: Poisson visits have
        W = E V on average, those that come back do not. The paths hold whole stays of other processes, so
        these do not count.
        """
        total = np.zeros(len(self.resources))
        for j, s in enumerate(seen):
            if self.system.queries[j].arrivals.process != "poisson":
                continue
            back = s.again
            extra = (s.work_s * (s.wait_s - mean_s[s.resource]))[back]
            total += (
                self.per_unit(j)
                * (self.seen[j].jobs / s.jobs)
                * np.bincount(s.resource[back], extra, len(total))
            )
        result: Floats = total / self.spare
        return result


_GHOSTS = 0.05  # least share of a stream's jobs that bring nothing: at these the walked jobs start
EVENTS = 1 << 15  # arrivals of one path
_VISITS = 1 << 14  # and of the simulation of an executor that batches
_JOBS = 1 << 17  # of a bursty class, on a path that few of them come to


class Paths:
    """Makes the paths; bursts are counted over ``window_s``.

    ``ranks`` are those within their bursts of all arrivals that were drawn, by their instants; those
    ``known`` from other paths with the same window are taken from there.
    """

    def __init__(
        self, loads: Loads, window_s: float, seed: int, evaluated: Mapping[bytes, Floats] | None = None
    ) -> None:
        self.loads, self.system, self.seen = loads, loads.system, loads.seen
        self.window_s, self.seed = window_s, seed
        self.known, self.ranks = evaluated or {}, dict[bytes, Floats]()

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
        if total <= 0 or not 0 < rho < 1 or (r < self.loads.core and self.loads.executors is not None):
            return make_path(np.zeros(0), np.zeros(0), 1.0)
        bursty = [q.rate for q in self.system.queries if q.arrivals.process != "poisson" and q.rate > 0]
        length = min(EVENTS / total, _JOBS / max(bursty, default=1e-300))
        number = _count(stream.rate * length, rng)
        times, works = [rng.random(number) * length], [_background(stream, number, rng)]
        points: dict[int, Floats] = {}
        for j, (query, seen, h) in enumerate(zip(self.system.queries, self.seen, here, strict=True)):
            if query.arrivals.process == "poisson":
                number = _count(rates[j] * length, rng)
                if query.batching is not None and number:
                    time, places = _together(seen, np.flatnonzero(h), number, length, rng)
                    times.append(time)
                    works.append(seen.work_s[places])
                    continue
                times.append(rng.random(number) * length)
                works.append(rng.choice(seen.work_s[h], number) if number else np.zeros(0))
                continue
            time, places, _, points[j] = self._bursts(j, h, resource, length, rng)
            times.append(time)
            works.append(seen.work_s[places])
        time, work = np.concatenate(times), np.concatenate(works)
        stretch = float(work.sum()) / rho / length if work.sum() > 0 else 1.0
        points = {j: p * stretch for j, p in points.items()}
        return make_path(time * stretch, work, length * stretch, points)

    def _bursts(
        self, j: int, here: Bools, resource: Resource, length: float, rng: np.random.Generator
    ) -> tuple[Floats, Ints, Floats, Floats]:
        """Visits of a bursty class: instants, which, ranks; and instants of its jobs that go elsewhere."""
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
        at, count = order[ranges(first[which], size)], size
        begin = np.repeat(np.repeat(times[real], stays[real]), count)
        ghosts = np.flatnonzero(~real) if (~real).any() else np.arange(len(times))
        ghosts = ghosts[np.argsort(rank[ghosts])]  # ranks differ
        ranks = np.repeat(np.repeat(rank[real], stays[real]), count)
        return (begin + seen.at_s[at]) % length, at, ranks, times[ghosts]

    def steps(self, met: Met) -> Steps:
        """The steps that visits meet at executors that batch, in every replicate."""
        visitors: dict[Key, Visitors] = {}
        for replicate in range(REPLICATES):
            rng = RandomStreams(self.seed, replicate).generator("response", "steps")
            for k in range(self.loads.core):
                row = replicate * len(self.loads.resources) + k
                visitors.update(self._visitors(row, k, rng))
        return Steps(met, len(self.loads.resources), visitors)

    def _visitors(self, row: int, k: int, rng: np.random.Generator) -> dict[Key, Visitors]:
        resource = self.loads.resources[k]
        here = [s.resource == k for s in self.seen]
        rates = [float(self.loads.per_unit(j)[k]) * int(h.sum()) for j, h in enumerate(here)]
        total = resource.background.rate + sum(rates)
        if total <= 0 or not self.loads.rho[k] < 1:
            return {}
        length, coming = _VISITS / total, []
        for j, (query, seen, h) in enumerate(zip(self.system.queries, self.seen, here, strict=True)):
            if seen.chains is None or not h.any():
                continue
            rank = None
            if query.arrivals.process == "poisson":
                places = rng.choice(np.flatnonzero(h), _count(rates[j] * length, rng))
                time = rng.random(len(places)) * length
            else:
                time, places, rank, _ = self._bursts(j, h, resource, length, rng)
            coming.append(Coming(j, time, seen.mark[places], seen.chains, rank))
        return visitors_of(self.system, row, k, coming, length, rng)

    def _ranked(self, times: Floats) -> Floats:
        """Mostly the same arrivals in every round."""
        key = blake2b(times.tobytes()).digest()
        if key not in self.ranks:
            rank = self.known.get(key)
            self.ranks[key] = burst_rank(times, self.window_s) if rank is None else rank
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


def _together(
    seen: Seen, places: Ints, number: int, length: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Instants and visits of about ``number`` jobs at a link that come as those of a whole step at once."""
    members = np.maximum(seen.mark[places], 1)
    steps = rng.choice(len(places), _count(number * float((1 / members).mean()), rng), p=_shares(1 / members))
    return np.repeat(rng.random(len(steps)) * length, members[steps]), np.repeat(
        places[steps], members[steps]
    )


def _shares(weights: Floats) -> Floats:
    result: Floats = weights / weights.sum()
    return result


def _count(mean: float, rng: np.random.Generator) -> int:
    return int(mean + rng.random())


def _background(stream: Stream, number: int, rng: np.random.Generator) -> Floats:
    if stream.scv == 0:
        return np.full(number, stream.mean)
    drawn: Floats = stream.mean * rng.gamma(1.0 / stream.scv, stream.scv, number)
    return drawn


_STEEPEST = (-4.0, 0.8)  # slopes that a secant may have
_LEAST = 0.2  # of the mean work without returns
_FEWEST = 64  # jobs of a walk
_WINDOW = 4.0  # mean completion times on idle resources that a burst is counted over
_ROUNDS = 5  # of paths made again, where bursts are smoothed by the waits that they cause
_BATCHED = 2  # and where Poisson arrivals are taken in batches


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
        self.met: Met | None = None
        self.executors: Floats | None = None
        if system.batches:
            background, used = executor_utilization(system, shares)
            self.met, self.executors = met_at(system, shares), background + np.array(used)

    def _walk(self, waits: Waits, jobs: int) -> tuple[list[Floats], list[Seen]]:
        times, seen = [], []
        for route in self.routes:
            network = Network(self.system, waits, self.shares[route.query], route.query, jobs)
            rng = RandomStreams(self.seed).generator("response", "walk", str(route.query))
            times.append(Walk(route, network, rng).complete())
            job, stay, row, at, work, wait, again, mark = network.visits.joined()
            resource = row % network.resources
            seen.append(Seen(jobs, job, stay, resource, at, work, wait, again, mark, network.chains))
        return times, seen

    def settle(self) -> Settled:
        """Completion times in the steady state; infinite for jobs that use an overloaded link.

        First the jobs walk alone, which tells what they bring to each resource; paths are made of that.
        """
        resources = resource_count(self.system)
        quiet = Bank([make_path(np.zeros(0), np.zeros(0), 1.0)] * (resources * REPLICATES))
        steps = None if self.met is None else Steps(self.met, resources)
        alone = Waits(quiet, np.ones(resources * REPLICATES), REPLICATES, steps=steps)
        times, seen = self._walk(alone, self.few)
        window_s = _WINDOW * float(np.mean(np.concatenate(times)))
        loads = Loads(self.system, tuple(seen), self.executors)
        poisson = all(q.arrivals.process == "poisson" for q in self.system.queries)
        if poisson and self.met is None:
            bank = Paths(loads, window_s, self.seed).bank()
            mean = self._steady(loads, bank)
            waits = _waits(bank, mean, loads)
        else:
            loads, waits, mean = self._smoothed(loads, window_s, _BATCHED if poisson else _ROUNDS)
        times, seen = self._walk(waits, self.samples)
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

    def _smoothed(self, loads: Loads, window_s: float, rounds: int) -> tuple[Loads, Waits, Floats]:
        """Paths where arrivals are not Poisson or executors batch, made again from jobs that met the last.

        A burst that waits at one resource reaches the next one spread out: each round knows the waits
        of the round before. E V is what the paths show, and what returning visits add.
        """
        paths = Paths(loads, window_s, self.seed)
        bank = paths.bank()
        mean = _along(bank)
        for _ in range(rounds):
            seen = self._walk(_waits(bank, mean, loads, self._steps(paths)), self.samples)[1]
            extra = loads.returned_s(seen, mean)
            loads = Loads(self.system, tuple(seen), self.executors)
            paths = Paths(loads, window_s, self.seed, paths.ranks)
            bank = paths.bank()
            mean = np.maximum(_along(bank) + extra, _LEAST * _along(bank))
        return loads, _waits(bank, mean, loads, self._steps(paths)), mean

    def _steps(self, paths: Paths) -> Steps | None:
        return None if self.met is None else paths.steps(self.met)


def _along(bank: Bank) -> Floats:
    """Mean work of each resource over the replicates of its path."""
    mean: Floats = bank.mean_s.reshape(REPLICATES, -1).mean(axis=0)
    return mean


def _waits(bank: Bank, mean: Floats, loads: Loads, steps: Steps | None = None) -> Waits:
    """The paths, their work multiplied so that its mean is that of each resource."""
    along = bank.mean_s
    factor = np.where(along > 0, np.tile(mean, REPLICATES) / np.where(along > 0, along, 1.0), 1.0)
    load, message_s = float(loads.rho[loads.core]), float(loads.visit_s[loads.core])
    return Waits(bank, factor, REPLICATES, load, message_s, steps)


SAMPLES = 1024


def predict_response(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    *,
    shares: Floats | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    evaluated: Known | None = None,
) -> Response:
    """Predict how long the jobs of a placement take: not only the mean, but the distribution.

    ``samples`` jobs of each class are walked through their sub-graphs by the simulator's rules. Each
    resource that a job touches is a random place in a sample path of the work waiting there
    (Lindley's recursion), independent of the other resources; what the job itself brought is
    accounted for exactly. So the maximum of random waits is that of random waits, and a job that comes
    back to a server meets what came while it was there.

    ``queries``: ``queries[j][k]``: the configurations of sub-graph k of query class j with probabilities.
    ``shares``: (J, K) Probability that a server drawn for class j has an executor of class k; by default the
        share of these executors.
    ``samples``: walked jobs of each class, at least 64; the error falls with the square root.
    ``seed``: of the named random streams; the same seed gives the same numbers.
    ``known``: configurations of this system and these shares that were evaluated before.

    Raises ``PlacementError`` when the executors or the link's background are overloaded, or for too few
    samples.

    Notes
    -----
    Limits: resources are independent of each other; under processor sharing a transfer is stretched
    by a random number of others at its start. ``docs/prediction.md`` derives it and says how far it
    is off.
    """
    if samples < 64:
        raise PlacementError(f"Response: samples={samples} must be at least 64; give 1024.")
    check_feasible(system, shares)
    model, x = as_model(system, queries, shares, evaluated)
    settled = Equilibrium(system, _routes(model, x), model.shares, samples, seed).settle()
    links = settled.utilization[len(system.class_names) :]
    return Response(
        tuple(mixed([t], [1.0]) for t in settled.times_s),
        mixed(settled.times_s, model.weights.tolist()),
        settled.utilization[: len(system.class_names)],
        float(links.max()),
    )


def _routes(model: Model, x: Sequence[Sequence[Floats]]) -> list[Route]:
    routes = []
    for j, q in enumerate(model.system.queries):
        cuts = q.decomposition.cuts
        idle = np.zeros(len(model.system.class_names))
        times = [q.tasks.compute_s[:, t] if t != VIRTUAL else idle for t in cuts]
        first = cuts[0] != VIRTUAL
        routes.append(
            Route(j, np.stack(times, axis=1), model.candidates[j], tuple(x[j]), first, q.service_scv)
        )
    return routes
