"""One query class walked through its placement, N jobs at once: when each is complete.

The rules are the simulator's: a task joins its executor's queue when its last input is there; one
that is ready when an earlier task of its job ends there runs on; a message is asked for when its
task ends, waits at the links of its path, and is one tensor to one server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.evaluate import Candidates
from nona.placement.response.network import Network
from nona.placement.response.plan import Message, Plan, make_plan
from nona.placement.response.tracks import Tracks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Route:
    """A query class on its way: cut tasks' seconds (K, cuts), and for each sub-graph its placement.

    ``first`` says whether the first cut task is a real one.
    """

    query: int
    cut_s: Floats
    candidates: tuple[Candidates, ...]
    probabilities: tuple[Floats, ...]
    first: bool
    scv: float


class Walk:
    """The jobs of one class; ``network`` makes their tracks and carries their messages."""

    def __init__(self, route: Route, network: Network, jobs: int, rng: np.random.Generator) -> None:
        self.route, self.network, self.rng, self.jobs = route, network, rng, jobs
        self.plans: dict[tuple[int, int], Plan] = {}

    def complete(self) -> Floats:
        """(N,) Completion times."""
        route = self.route
        everyone = np.arange(self.jobs)
        home = self.network.start(route.query, self.jobs, self.rng)
        done = np.zeros(self.jobs)
        if route.first:
            done = home.run(0, done, self._seconds(home, 0, route.cut_s[:, 0]))
        for k, (c, p) in enumerate(zip(route.candidates, route.probabilities, strict=True)):
            after = done.copy()
            for row, columns in _dealt(p, everyone, self.rng):
                key = (id(c), row)
                if key not in self.plans:
                    self.plans[key] = make_plan(c, row)
                plan = self.plans[key]
                sub = self.network.server_tracks(route.query, home, plan.servers, columns, self.rng)
                cut = route.cut_s[:, k + 1]
                after[columns] = self._cross(plan, c, sub, done[columns], cut)
                self.network.hand_back(home, sub, plan.label[-1], plan.servers, columns)
            done = after
        home.close(list(range(len(home.row))))
        return done

    def _seconds(self, tracks: Tracks, server: int, by_class: Floats) -> Floats:
        """Seconds of a task on each job's executor: its class's, times a draw."""
        mean: Floats = by_class[tracks.row[self.network.executor(server)] % self.network.resources]
        scv = self.route.scv
        if scv == 0:
            return mean
        drawn: Floats = mean * self.rng.gamma(1.0 / scv, scv, len(mean))
        return drawn

    def _cross(self, plan: Plan, c: Candidates, tracks: Tracks, start: Floats, cut: Floats) -> Floats:
        """From the end of the root to that of the sink."""
        done: dict[int, Floats] = {0: start}
        arrived: dict[tuple[int, int], Floats] = {}
        self._deliver(plan, tracks, [0], done, arrived)
        for level in plan.levels:
            for v in level:
                ready = _ready(plan, v, start, done, arrived)
                by_class = c.shape.class_s[:, v - 1]
                label = plan.label[v]
                done[v] = tracks.run(
                    self.network.executor(label), ready, self._seconds(tracks, label, by_class)
                )
            self._deliver(plan, tracks, list(level), done, arrived)
        if not plan.has_sink:
            end: Floats = np.max(np.stack(list(done.values())), axis=0)
            return end
        sink = len(plan.label) - 1
        ready = _ready(plan, sink, start, done, arrived)
        label = plan.label[sink]
        return tracks.run(self.network.executor(label), ready, self._seconds(tracks, label, cut))

    def _deliver(
        self,
        plan: Plan,
        tracks: Tracks,
        nodes: Sequence[int],
        done: dict[int, Floats],
        arrived: dict[tuple[int, int], Floats],
    ) -> None:
        """Send the messages of some nodes, each job's in the order in which the nodes end."""
        senders = [u for u in nodes if plan.sent[u]]
        if not senders:
            return
        if len(senders) == 1:
            u = senders[0]
            for i, message in enumerate(plan.sent[u]):
                arrived[u, i] = self.network.send_one(tracks, plan.servers, message, done[u])
            return
        ends = np.stack([done[u] for u in senders])
        order = np.argsort(ends, axis=0, kind="stable")
        columns = np.arange(ends.shape[1])
        most = max(len(plan.sent[u]) for u in senders)
        table = _table([plan.sent[u] for u in senders], most)
        got = np.zeros((len(senders), most, ends.shape[1]))
        for turn in order:
            for i in range(most):
                size, source, target = (column[turn, i] for column in table)
                got[turn, i, columns] = self.network.send(
                    tracks, plan.servers, size, source, target, ends[turn, columns]
                )
        for n, u in enumerate(senders):
            for i in range(len(plan.sent[u])):
                arrived[u, i] = got[n, i]


def _table(sent: Sequence[Sequence[Message]], most: int) -> tuple[Floats, Ints, Ints]:
    """Size, source and target of every sender's messages; size −1 where it has fewer than others."""
    size = np.full((len(sent), most), -1.0)
    source, target = np.zeros((2, len(sent), most), dtype=np.int64)
    for n, messages in enumerate(sent):
        for i, m in enumerate(messages):
            size[n, i], source[n, i], target[n, i] = m.size_bytes, m.source, m.target
    return size, source, target


def _ready(
    plan: Plan, v: int, start: Floats, done: dict[int, Floats], arrived: dict[tuple[int, int], Floats]
) -> Floats:
    """When the last input of a node is there; without inputs it is ready from the start."""
    times = [done[u] for u in plan.local[v]] + [arrived[key] for key in plan.remote[v]]
    if not times:
        return start
    ready = times[0]
    for other in times[1:]:
        ready = np.maximum(ready, other)
    return ready


def _dealt(p: Floats, everyone: Ints, rng: np.random.Generator) -> list[tuple[int, Ints]]:
    """Deal the jobs out to the configurations: as many to each as its probability says, up to one."""
    used = np.flatnonzero(p > 0)
    if len(used) == 1:
        return [(int(used[0]), everyone)]
    n = len(everyone)
    bounds = np.floor(np.cumsum(p[used]) / p[used].sum() * n + rng.random()).astype(int)
    bounds[-1] = n
    shuffled = rng.permutation(everyone)
    starts = np.concatenate([[0], bounds[:-1]])
    return [
        (int(row), np.sort(shuffled[a:b])) for row, a, b in zip(used, starts, bounds, strict=True) if b > a
    ]
