"""Resources as walked jobs meet them: executors by class, links by role; N jobs at once.

A *track* is one resource as one job meets it: a server's executor, or a link. It stands at a random
place of that resource's path. A job that comes at time t waits for the path's work there, times the
resource's factor, and for what is left of the work that it brought itself.

Rows of the bank are numbered replicate · resources + resource; resources are the K executor classes,
then the roles of links. A job keeps its home executor and, where there are several links, that
server's cards and uplinks; every other server of a sub-graph is drawn again. So tracks come server by
server, ``width`` of them each (the executor first), and the core's is the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from nona.arrays import Bools, Floats, Ints
from nona.placement.response.sample_paths import Bank, near
from nona.placement.response.steps import Chains, Steps
from nona.system import Stream, System
from nona.topology import NONE

_FIELDS = (
    *("stay", "row", "base", "own", "idle", "end", "seen", "at", "work", "wait", "again"),
    *("mark", "members", "senders", "ahead"),
)


Columns = tuple[Ints, Ints, Ints, Floats, Floats, Floats, Bools, Ints]


class Visits:
    """Visits of jobs to resources, as they are added; :meth:`joined` has them in columns.

    Columns: job, stay (one job at one resource), the path's row, when, how much work, its wait,
    whether the job was there before, and with batches a mark: at an executor the number of the visit's chain
    of tasks, at a link how many jobs send at once.
    """

    def __init__(self) -> None:
        self._added: list[Columns] = []

    def add(self, visits: Columns, where: Bools) -> None:
        """Keep the visits ``where`` there is one."""
        if where.any():
            job, stay, row, at, work, wait, again, mark = visits
            first = job[where], stay[where], row[where]
            self._added.append((*first, at[where], work[where], wait[where], again[where], mark[where]))

    def joined(self) -> Columns:
        """One array for each column."""
        none = np.zeros(0)
        if not self._added:
            whole = none.astype(np.int64)
            return whole, whole, whole, none, none, none, none.astype(np.bool_), whole
        job, stay, row, at, work, wait, again, mark = (
            np.concatenate(c) for c in zip(*self._added, strict=True)
        )
        return job, stay, row, at, work, wait, again, mark


class Tracks:
    """M tracks of N jobs; arrays are (M, N).

    ``stay`` numbers them. ``own`` is what is left of the job's own work when the path had been idle for
    ``idle`` seconds, ``end`` when its last task there ended; ``at``, ``work``, ``wait`` and ``again`` are
    the visit that is going on. ``place`` (servers, N) are the servers, which tell racks apart. With batches
    ``mark`` is that of the visit (:class:`Visits`), ``members`` how many are in the job's step,
    ``senders`` how many of them send when it ends, and ``ahead`` how many of these stand before it.
    """

    def __init__(
        self,
        *,
        bank: Bank,
        factor: Floats,
        visits: Visits,
        jobs: Ints,
        stay: Ints,
        row: Ints,
        base: Floats,
        place: Ints,
        anchored: bool,
    ) -> None:
        self.jobs, self.place, self.anchored = jobs, place, anchored
        self.bank, self.factor, self.visits = bank, factor, visits
        self.stay, self.row, self.base = stay, row, base
        self.own, self.idle = np.zeros(row.shape), np.zeros(row.shape)
        self.end, self.at = np.full(row.shape, -np.inf), np.full(row.shape, -np.inf)
        self.work, self.wait = np.zeros(row.shape), np.zeros(row.shape)
        self.seen, self.again = np.zeros(row.shape, dtype=bool), np.zeros(row.shape, dtype=bool)
        self.mark, self.ahead = np.zeros(row.shape, dtype=np.int64), np.zeros(row.shape, dtype=np.int64)
        self.members, self.senders = np.ones((2, *row.shape), dtype=np.int64)
        self.columns = np.arange(row.shape[1])

    def take(self, tracks: Ints, columns: Ints) -> Tracks:
        """A copy of some tracks of some jobs."""
        chosen = np.ix_(tracks, columns)
        new = Tracks(
            bank=self.bank,
            factor=self.factor,
            visits=self.visits,
            jobs=self.jobs[columns],
            stay=self.stay[chosen],
            row=self.row[chosen],
            base=self.base[chosen],
            place=self.place[:, columns],
            anchored=self.anchored,
        )
        for name in _FIELDS[3:]:
            getattr(new, name)[:] = getattr(self, name)[chosen]
        return new

    def put(self, track: int, columns: Ints, other: Tracks, source: int) -> None:
        """Let ``track`` of some jobs be as ``source`` of ``other`` is."""
        for name in _FIELDS:
            getattr(self, name)[track, columns] = getattr(other, name)[source]

    def copy(self, track: int, other: Tracks, source: int) -> None:
        """Let ``track`` be as ``source`` of ``other`` is, for all jobs."""
        self.put(track, self.columns, other, source)

    def run(self, track: int, ready_s: Floats, seconds: Floats) -> Floats:
        """A task on an executor: when it ends. It runs on if it is ready by the end of an own task."""
        on = ready_s <= self.end[track]
        t = np.maximum(ready_s, self.end[track])
        wait = np.where(on, 0.0, self._look(track, t))
        self._visit(track, ~on, t, wait)
        self.work[track] += seconds
        self.own[track] += seconds
        end: Floats = t + wait + seconds
        self.end[track] = end
        return end

    def goes_on(self, track: int, ready_s: Floats) -> Bools:
        """Return which jobs are ready for another task by the end of their last one on an executor."""
        result: Bools = ready_s <= self.end[track]
        return result

    def board(self, track: int, ready_s: Floats, met: tuple[Floats, Ints], chain: Ints) -> Floats:
        """A task on an executor that batches: when its step begins.

        ``met`` are the wait and the members of the step, ``chain`` is what the visit runs by now.
        """
        on = self.goes_on(track, ready_s)
        t = np.maximum(ready_s, self.end[track])
        wait, self.members[track] = met
        self._visit(track, ~on, t, wait)
        self.mark[track] = chain
        begin: Floats = np.maximum(ready_s, t + wait)
        return begin

    def leave(self, track: int, begin_s: Floats, seconds: Floats) -> Floats:
        """The end of a step that took ``seconds``."""
        self.work[track] += seconds
        end: Floats = begin_s + seconds
        self.end[track] = np.maximum(self.end[track], end)
        return end

    def send(self, which: Ints, t: Floats, work: Floats, where: Bools, sender: Ints | None = None) -> Floats:
        """The wait of a message of each job ``where`` there is one; those of one instant are one visit.

        ``sender``: the executor's track, where its whole step sends at once.
        """
        columns = np.flatnonzero(where)
        wait = np.zeros(len(t))
        if len(columns):
            step = None if sender is None else (sender[columns], columns)
            wait[columns] = self._send((which[columns], columns), t[columns], work[columns], step)
        return wait

    def _send(self, at: tuple[Ints, Ints], t: Floats, work: Floats, step: tuple[Ints, Ints] | None) -> Floats:
        before = 0.0 if step is None else self.ahead[step] * work
        wait = self._look_at(at, t) + before
        fresh = (t != self.at[at]) & (work > 0)
        self._tell(at, fresh & (self.work[at] > 0))
        self.again[at] = np.where(fresh, self.seen[at], self.again[at])
        if step is not None:
            self.mark[at] = np.where(fresh, self.senders[step], self.mark[at])
        self.at[at] = np.where(fresh, t, self.at[at])
        self.wait[at] = np.where(fresh, wait, self.wait[at])
        self.work[at] = np.where(fresh, work, self.work[at] + work)
        self.seen[at] |= work > 0
        self.own[at] += work + before
        return wait

    def _look(self, track: int, t: Floats) -> Floats:
        self._anchor(track, t)
        row = self.row[track]
        work, idle = self.bank.look(row, self.base[track], t)
        own = np.maximum(self.own[track] - np.maximum(idle - self.idle[track], 0.0), 0.0)
        self.own[track] = own
        self.idle[track] = np.where(self.seen[track], np.maximum(idle, self.idle[track]), idle)
        wait: Floats = self.factor[row] * work + own
        return wait

    def _anchor(self, at: tuple[Ints, Ints] | int, t: Floats) -> None:
        """Unless bases are arrivals of the job, a base is the place of the first visit: move it there."""
        if not self.anchored:
            shift = t / self.bank.length_s[self.row[at]]
            self.base[at] -= np.where(self.seen[at], 0.0, shift)

    def _look_at(self, at: tuple[Ints, Ints], t: Floats) -> Floats:
        self._anchor(at, t)
        row, before, seen = self.row[at], self.idle[at], self.seen[at]
        work, idle = self.bank.look(row, self.base[at], t)
        late = ~seen | (t >= self.at[at])  # a message from before the last one has nothing of it ahead
        own = np.where(late, np.maximum(self.own[at] - np.maximum(idle - before, 0.0), 0.0), self.own[at])
        self.own[at] = own
        self.idle[at] = np.where(late, idle, before)
        wait: Floats = self.factor[row] * work + np.where(late, own, 0.0)
        return wait

    def _tell(self, at: tuple[Ints, Ints] | int, where: Bools) -> None:
        jobs = self.jobs if isinstance(at, int) else self.jobs[at[1]]
        visit = (jobs, self.stay[at], self.row[at], self.at[at], self.work[at], self.wait[at])
        self.visits.add((*visit, self.again[at], self.mark[at]), where)

    def _visit(self, track: int, fresh: Bools, t: Floats, wait: Floats) -> None:
        self._tell(track, fresh & (self.work[track] > 0))
        self.again[track] = np.where(fresh, self.seen[track], self.again[track])
        self.at[track] = np.where(fresh, t, self.at[track])
        self.wait[track] = np.where(fresh, wait, self.wait[track])
        self.work[track] = np.where(fresh, 0.0, self.work[track])
        self.seen[track] = True

    def close(self, tracks: list[int]) -> None:
        """The job is done with these."""
        for m in tracks:
            self._tell(m, self.work[m] > 0)


SIDES = ("out_link", "up_link", "down_link", "in_link")


@dataclass(frozen=True, slots=True)
class Role:
    """Links of one kind: how many, bytes per second and background (in seconds) of one, both their mean."""

    name: str
    links: int
    capacity: float
    background: Stream


def roles_of(system: System) -> tuple[Role, ...]:
    """The core first; then the kinds of links that the topology has."""
    topology = system.topology
    if topology is None:
        return (_role(system, "core", np.array([0])),)
    roles = [_role(system, "core", np.array([topology.core]))]
    for name in SIDES:
        used = np.unique(getattr(topology, name))
        used = used[used != NONE]
        if len(used):
            roles.append(_role(system, name, used))
    return tuple(roles)


def _role(system: System, name: str, links: Ints) -> Role:
    capacity, streams = float(system.link_capacity[links].mean()), system.link_streams
    sent = reduce(Stream.beside, (streams[k][1] for k in links.tolist()))
    background = Stream(sent.rate / len(links), sent.mean / capacity, sent.scv)
    return Role(name, len(links), capacity, background)


def resource_count(system: System) -> int:
    """Return the number of kinds of resources in a system."""
    return len(system.class_names) + len(roles_of(system))


@dataclass(frozen=True, eq=False)
class Waits:
    """The paths of all resources, the factors of their work, and the core's load.

    ``factor`` has an entry for each row. ``load`` and ``message_s``, the core's utilisation and mean work
    of a visit to it, are what processor sharing goes by. ``steps`` is what executors do where they batch.
    """

    bank: Bank
    factor: Floats
    replicates: int
    load: float = 0.0
    message_s: float = 0.0
    steps: Steps | None = None


class Network:
    """Makes the tracks of one walk of N jobs of one query class.

    ``shares`` (K,) is the probability that a server has an executor of each class.
    """

    def __init__(self, system: System, waits: Waits, shares: Floats, query: int, jobs: int) -> None:
        self.system, self.waits, self.query, self.jobs = system, waits, query, jobs
        self.visits, self._stays = Visits(), 0
        self.classes = len(system.class_names)
        self.chains = Chains() if waits.steps is not None else None
        self.roles = roles_of(system)
        self.resources = self.classes + len(self.roles)
        names = [r.name for r in self.roles]
        self.sides = {side: names.index(side) for side in SIDES if side in names}
        self.offset = {side: 1 + i for i, side in enumerate(self.sides)}
        self.width = 1 + len(self.sides)
        self._bounds = np.cumsum(shares)[:-1]
        self._burst = system.queries[query].arrivals.process != "poisson"
        self.replicate = np.arange(jobs) * waits.replicates // jobs
        self.within = (np.arange(jobs) * waits.replicates / jobs) % 1.0

    def start(self, rng: np.random.Generator) -> Tracks:
        """The jobs' own tracks: their home server's, then the core."""
        everyone = np.arange(self.jobs)
        home = rng.integers(self.system.servers, size=(1, self.jobs))
        return self._tracks(everyone, [self._server(everyone, rng), self._core(everyone)], home, rng)

    def subgraph(self, home: Tracks, servers: int, columns: Ints, rng: np.random.Generator) -> Tracks:
        """Tracks of a sub-graph for the jobs ``columns``: home's server, new ones, and the core."""
        new = [self._server(columns, rng) for _ in range(servers - 1)]
        away = rng.integers(1, max(self.system.servers, 2), size=(servers - 1, len(columns)))
        first = home.place[:, columns]
        place = np.concatenate([first, (first + away) % self.system.servers])
        rows = [home.row[: self.width, columns], *new, self._core(columns)]
        tracks = self._tracks(columns, rows, place, rng)
        own = home.take(np.arange(self.width + 1), columns)
        for i in range(self.width):
            tracks.copy(i, own, i)
        tracks.copy(servers * self.width, own, self.width)
        return tracks

    def hand_back(self, home: Tracks, tracks: Tracks, sink: int, columns: Ints) -> None:
        """Make the sink's server the home of the rest of the job, which is done with the others."""
        for i in range(self.width):
            home.put(i, columns, tracks, sink * self.width + i)
        home.put(self.width, columns, tracks, len(tracks.row) - 1)
        home.place[0, columns] = tracks.place[sink]
        kept = range(sink * self.width, (sink + 1) * self.width)
        tracks.close([m for m in range(len(tracks.row) - 1) if m not in kept])

    def executor(self, label: int) -> int:
        """The track of a server's executor."""
        return label * self.width

    def executor_class(self, tracks: Tracks, label: int) -> Ints:
        """(N,) Executor class of a server."""
        result: Ints = tracks.row[self.executor(label)] % self.resources
        return result

    def _core(self, columns: Ints) -> Ints:
        return (self.replicate[columns] * self.resources + self.classes)[None]

    def _server(self, columns: Ints, rng: np.random.Generator) -> Ints:
        drawn = np.searchsorted(self._bounds, rng.random(len(columns)), side="right")
        first = self.replicate[columns] * self.resources
        return np.stack([first + drawn, *(first + self.classes + role for role in self.sides.values())])

    def _tracks(self, columns: Ints, rows: Iterable[Ints], place: Ints, rng: np.random.Generator) -> Tracks:
        row = np.concatenate(list(rows))
        base = self._at_arrivals(columns, row, rng) if self._burst else self._anywhere(row, rng)
        stay = np.arange(row.size).reshape(row.shape) + self._stays
        self._stays += row.size
        return Tracks(
            bank=self.waits.bank,
            factor=self.waits.factor,
            visits=self.visits,
            jobs=columns,
            stay=stay,
            row=row,
            base=base,
            place=place,
            anchored=self._burst,
        )

    def _anywhere(self, row: Ints, rng: np.random.Generator) -> Floats:
        """Places for the first visit of each track, each track's evenly drawn from the work there."""
        base = np.zeros(row.shape)
        for track, rows in zip(base, row, strict=True):
            for number in np.unique(rows).tolist():
                here = np.flatnonzero(rows == number)
                track[here] = self.waits.bank.places(number, len(here), rng)
        return base

    def _at_arrivals(self, columns: Ints, row: Ints, rng: np.random.Generator) -> Floats:
        """Places at arrivals of the class, job for job at about the same rank within a burst."""
        base = rng.random(row.shape)
        rank = np.broadcast_to(self.within[columns], row.shape)
        for number in np.unique(row).tolist():
            path, here = self.waits.bank.paths[number], row == number
            points = path.points_s.get(self.query, np.zeros(0))
            if len(points):
                base[here] = points[near(rank[here], len(points), rng)] / path.length_s
        return base
