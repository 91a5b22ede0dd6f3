"""The resources of a system as walked jobs meet them: executors by class, links by role.

Rows of the bank are numbered replicate · resources + resource; resources are the K executor classes,
then the roles of links. A job keeps its home executor and, where there are several links, that
server's cards and uplinks; every other server of a sub-graph is drawn again. So tracks come server by
server, ``width`` of them each (the executor first), and the core's is the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.arrivals import near
from nona.placement.response.sample_paths import Bank
from nona.placement.response.tracks import Tracks, Visits
from nona.system import System
from nona.topology import NONE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIDES = ("out_link", "up_link", "down_link", "in_link")


@dataclass(frozen=True, slots=True)
class Role:
    """Links of one kind: how many, and bytes per second of one (their mean)."""

    name: str
    links: int
    capacity: float


def roles_of(system: System) -> tuple[Role, ...]:
    """The core first; then the kinds of links that the topology has."""
    found = [Role("core", 1, system.capacity)]
    topology = system.topology
    for name in SIDES if topology is not None else ():
        used = np.unique(getattr(topology, name))
        used = used[used != NONE]
        if topology is not None and len(used):
            found.append(Role(name, len(used), float(topology.link_capacity[used].mean())))
    return tuple(found)


def resource_count(system: System) -> int:
    """How many kinds of resources a system has."""
    return len(system.class_names) + len(roles_of(system))


@dataclass(frozen=True, eq=False)
class Waits:
    """The paths of all resources, what their work is multiplied by, and the core's load.

    ``factor`` has an entry for each row. ``load`` and ``message_s``, the core's utilisation and mean work
    of a visit to it, are what processor sharing goes by.
    """

    bank: Bank
    factor: Floats
    replicates: int
    load: float = 0.0
    message_s: float = 0.0


class Network:
    """Makes the tracks of one walk of N jobs of one query class.

    ``shares`` (K,) is the probability that a server has an executor of each class.
    """

    def __init__(self, system: System, waits: Waits, shares: Floats, query: int, jobs: int) -> None:
        self.system, self.waits, self.query, self.jobs = system, waits, query, jobs
        self.visits, self._stays = Visits(), 0
        self.classes = len(system.class_names)
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
        """The sink's server is the home of what follows; the job is done with the others."""
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
