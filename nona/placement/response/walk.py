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

from nona.placement.response.plan import Message, Plan, make_plan
from nona.placement.response.resources import Network
from nona.placement.response.service_draws import even_draws
from nona.placement.response.tracks import Tracks
from nona.placement.response.transfers import Post, carry
from nona.placement.spans.candidates import Candidates

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
    """The jobs of one class; ``network`` makes their tracks."""

    def __init__(self, route: Route, network: Network, rng: np.random.Generator) -> None:
        self.route, self.network, self.rng = route, network, rng
        self.plans: dict[tuple[int, int], Plan] = {}

    def complete(self) -> Floats:
        """(N,) Completion times."""
        route, network = self.route, self.network
        everyone = np.arange(network.jobs)
        home = network.start(self.rng)
        done = np.zeros(network.jobs)
        if route.first:
            done = home.run(0, done, self._seconds(home, 0, route.cut_s[:, 0]))
        for k, (c, p) in enumerate(zip(route.candidates, route.probabilities, strict=True)):
            after = done.copy()
            for row, columns in _dealt(p, everyone, self.rng):
                plan = self._plan(c, row)
                sub = network.subgraph(home, plan.servers, columns, self.rng)
                after[columns] = self._cross(plan, c, sub, done[columns], route.cut_s[:, k + 1])
                network.hand_back(home, sub, plan.label[-1], columns)
            done = after
        home.close(list(range(len(home.row))))
        return done

    def _plan(self, c: Candidates, row: int) -> Plan:
        key = (id(c), row)
        if key not in self.plans:
            self.plans[key] = make_plan(c, row)
        return self.plans[key]

    def _seconds(self, tracks: Tracks, server: int, by_class: Floats) -> Floats:
        """Seconds of a task on each job's executor: its class's, times a draw."""
        mean: Floats = by_class[self.network.executor_class(tracks, server)]
        if self.route.scv == 0:
            return mean
        return mean * even_draws(self.route.scv, len(mean), self.rng)

    def _cross(self, plan: Plan, c: Candidates, tracks: Tracks, start: Floats, cut: Floats) -> Floats:
        """From the end of the root to that of the sink."""
        done: dict[int, Floats] = {0: start}
        arrived: dict[tuple[int, int], Floats] = {}
        for block in plan.blocks:
            for v in block.joins:
                ready = _ready(plan, v, start, done, arrived)
                by_class = c.shape.class_s[:, v - 1]
                label = plan.label[v]
                done[v] = tracks.run(
                    self.network.executor(label), ready, self._seconds(tracks, label, by_class)
                )
            self._deliver(plan, tracks, block.sends, done, arrived)
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
        ends = np.stack([done[u] for u in senders])
        order = np.argsort(ends, axis=0, kind="stable")
        columns = np.arange(ends.shape[1])
        table = _table([plan.sent[u] for u in senders])
        got = np.zeros((len(senders), table.size.shape[1], ends.shape[1]))
        for turn in order:
            for i in range(got.shape[1]):
                post = Post(*(column[turn, i] for column in table))
                got[turn, i, columns] = carry(self.network, tracks, post, ends[turn, columns], self.rng)
        for n, u in enumerate(senders):
            for i in range(len(plan.sent[u])):
                arrived[u, i] = got[n, i]


def _table(sent: Sequence[Sequence[Message]]) -> Post:
    """Every sender's messages, (senders, most messages); size −1 where one has fewer than others."""
    most = max(len(messages) for messages in sent)
    size, shared = np.full((2, len(sent), most), -1.0)
    source, target = np.zeros((2, len(sent), most), dtype=np.int64)
    for n, messages in enumerate(sent):
        for i, m in enumerate(messages):
            size[n, i], shared[n, i], source[n, i], target[n, i] = (
                m.size_bytes,
                m.shared_bytes,
                m.source,
                m.target,
            )
    return Post(size, shared, source, target)


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
