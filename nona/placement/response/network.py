"""The resources of a system as the walk of :mod:`.walk` meets them: executors by class, links by role.

Rows of the bank are numbered replicate · resources + resource; resources are the K executor classes,
then the roles of links. A job keeps its home executor and, where there are several links, that
server's cards and uplinks; every other server of a sub-graph is drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.bank import Bank
from nona.placement.response.plan import Message
from nona.placement.response.tracks import Tracks, Visits
from nona.system import System
from nona.topology import NONE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OUT, UP, DOWN, IN = range(4)
_SIDES = ("out_link", "up_link", "down_link", "in_link")


@dataclass(frozen=True)
class Role:
    """Links of one kind: how many, and bytes per second of one."""

    name: str
    links: int
    capacity: float


def roles_of(system: System) -> tuple[Role, ...]:
    """The core first; then the kinds of links that the topology has."""
    core = Role("core", 1, system.capacity)
    topology = system.topology
    if topology is None:
        return (core,)
    found = [core]
    for name in _SIDES:
        used = np.unique(getattr(topology, name))
        used = used[used != NONE]
        if len(used):
            found.append(Role(name, len(used), float(topology.link_capacity[used].mean())))
    return tuple(found)


class Network:
    """Makes tracks, and carries messages over them."""

    def __init__(
        self, system: System, bank: Bank, factor: Floats, shares: Floats, replicates: int, visits: Visits
    ) -> None:
        self.system, self.bank, self.factor, self.shares = system, bank, factor, shares
        self.replicates, self.visits = replicates, visits
        self.classes = len(system.class_names)
        self.roles = roles_of(system)
        self.resources = self.classes + len(self.roles)
        self.crosses = system.servers > 1
        names = [r.name for r in self.roles]
        self.sides = [names.index(n) if n in names else -1 for n in _SIDES]
        self.width = 1 + sum(s >= 0 for s in self.sides)  # tracks of one server
        self.offset = [1 + sum(s >= 0 for s in self.sides[:i]) for i in range(4)]
        self.place: Ints | None = None  # (servers, N) of the sub-graph under way, for the racks

    @staticmethod
    def count(system: System) -> int:
        """How many resources a system has."""
        return len(system.class_names) + len(roles_of(system))

    def start(self, query: int, jobs: int, rng: np.random.Generator) -> Tracks:
        """A job's own tracks: its home server's (the executor first), then the core."""
        self.jobs = jobs
        replicate = np.arange(jobs) * self.replicates // jobs
        rows = np.concatenate([self._server_rows(query, replicate, rng), [self._core_rows(replicate)]])
        self.home_place = rng.integers(self.system.servers, size=jobs)
        return self._tracks(query, np.arange(jobs), rows, rng)

    def server_tracks(
        self, query: int, home: Tracks, servers: int, columns: Ints, rng: np.random.Generator
    ) -> Tracks:
        """Tracks of a sub-graph for some jobs: home's server, new ones, and the core at the end."""
        replicate = columns * self.replicates // self.jobs
        rows = [home.row[: self.width, columns]]
        rows += [self._server_rows(query, replicate, rng) for _ in range(servers - 1)]
        tracks = self._tracks(query, columns, np.concatenate([*rows, [self._core_rows(replicate)]]), rng)
        own = home.take(np.arange(self.width + 1), columns)
        for i in range(self.width):
            tracks.copy(i, own, i)
        tracks.copy(servers * self.width, own, self.width)
        most = self.system.servers
        away = rng.integers(1, max(most, 2), size=(servers - 1, len(columns)))
        first = self.home_place[columns]
        self.place = np.concatenate([[first], (first + away) % most])
        return tracks

    def hand_back(self, home: Tracks, tracks: Tracks, sink: int, servers: int, columns: Ints) -> None:
        """The sink's server is the home of what follows; the job is done with the others."""
        place = self.place
        for i in range(self.width):
            home.put(i, columns, tracks, sink * self.width + i)
        home.put(self.width, columns, tracks, servers * self.width)
        if place is not None:
            self.home_place[columns] = place[sink]
        others = [s * self.width + i for s in range(servers) if s != sink for i in range(self.width)]
        tracks.close(others)

    def executor(self, label: int) -> int:
        """The track of a server's executor."""
        return label * self.width

    def send_one(self, tracks: Tracks, servers: int, message: Message, t: Floats) -> Floats:
        """One message of every job, between the same servers: when it is there."""
        n = len(t)
        full = np.full(n, message.size_bytes), np.full(n, message.source), np.full(n, message.target)
        return self.send(tracks, servers, *full, t)

    def send(
        self, tracks: Tracks, servers: int, size: Floats, source: Ints, target: Ints, t: Floats
    ) -> Floats:
        """A message of each job (size below 0: none), joining its links one after the other.

        Links are crossed as the simulator does: the next is joined when the message has its turn at
        the one before, and it is through when all links have had time for it.
        """
        if not self.crosses:
            return t
        there, size = size >= 0, np.maximum(size, 0.0)
        through, place = t, self.place
        if self.width == 1 or place is None:
            work = size / self.roles[0].capacity
            wait = tracks.send(np.full(len(t), servers * self.width), t, work, there)
            return t + wait + work + self.system.latency_s
        columns = np.arange(len(t))
        rack = self.system.topology.rack if self.system.topology is not None else np.zeros(0, dtype=np.int64)
        apart = rack[place[source, columns]] != rack[place[target, columns]]
        for side, end, where in (
            (OUT, source, there), (UP, source, there & apart), (-1, source, there & apart),
            (DOWN, target, there & apart), (IN, target, there),
        ):  # fmt: skip
            number = 0 if side < 0 else self.sides[side]
            if number < 0:
                continue
            which = (
                np.full(len(t), servers * self.width) if side < 0 else end * self.width + self.offset[side]
            )
            work = size / self.roles[number].capacity
            begins = t + np.where(where, tracks.send(which, t, work, where), 0.0)
            through = np.where(where, np.maximum(through, begins + work), through)
            t = begins
        return through + self.system.latency_s

    def _core_rows(self, replicate: Ints) -> Ints:
        return replicate * self.resources + self.classes

    def _server_rows(self, query: int, replicate: Ints, rng: np.random.Generator) -> Ints:
        bounds = np.cumsum(self.shares[query])[:-1]
        drawn = np.searchsorted(bounds, rng.random(len(replicate)), side="right")
        first = replicate * self.resources
        return np.stack([first + drawn, *(first + self.classes + s for s in self.sides if s >= 0)])

    def _tracks(self, query: int, numbers: Ints, rows: Ints, rng: np.random.Generator) -> Tracks:
        # Places in order, shifted by a draw for each track: even over the paths, and quick to look up.
        within = (numbers * self.replicates / self.jobs) % 1.0
        base = (within + rng.random((len(rows), 1))) % 1.0
        if self.system.queries[query].arrivals.process != "poisson":
            for row in np.unique(rows).tolist():
                points = self.bank.paths[row].points_s.get(query)
                if points is not None and len(points):
                    here = rows == row
                    place = points[(base[here] * len(points)).astype(int)]
                    base[here] = place / self.bank.paths[row].length_s
        return Tracks(self.bank, self.factor, self.visits, numbers, rows, base)
