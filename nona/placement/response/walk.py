"""One query class walked through its placement: plan, order of tasks, messages, ends.

A walk takes many jobs through a plan at once. Each job has its own order, but at a server one that
is right for a job without company is right for most: tasks in the order in which they are ready, which
neither their depth nor their number shows. Messages of several tasks are put in each job's own order
when they are sent, so as many tasks as possible end before any of them sends.

The rules are the simulator's: a task joins its executor's queue when its last input is there; one
that is ready when an earlier task of its job ends there runs on; a message is asked for when its
task ends, waits at the links of its path, and is one tensor to one server.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from nona.arrays import Bools, Floats, Ints
from nona.placement.messages import Candidates
from nona.placement.response.resources import Network, Tracks
from nona.placement.response.steps import FIRST, LAST

Inputs = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks that run, in order; then nodes that send what they made."""

    joins: tuple[int, ...]
    sends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """Data that decide the order; nodes 0 (root), 1…m (interior), m + 1 (sink).

    ``label`` and ``seconds`` of every node, ``feeds[u]`` the tasks that read from u on its own server,
    ``sent[u]`` its messages: seconds on the link, and the tasks that wait for each.
    """

    label: Sequence[int]
    seconds: Sequence[float]
    feeds: Inputs
    sent: Sequence[Sequence[tuple[float, Sequence[int]]]]
    latency_s: float
    has_root: bool


def _blocks_of(errand: Errand) -> tuple[Block, ...]:
    """Rounds: all tasks that have their inputs and are next at their server; then what these send.

    Tasks 1 and 2 of one server get their inputs over the link, task 2 the short one, and first; task 3
    reads from both:

    >>> sent = (((0.5, (2,)), (9.0, (1,))), (), (), (), ())
    >>> feeds = ((), (3,), (3,), (4,), ())
    >>> alone = Errand((0, 1, 1, 1, 1), (0.0, 1.0, 1.0, 1.0, 0.0), feeds, sent, 0.0, True)
    >>> [(b.joins, b.sends) for b in _blocks_of(alone)]
    [((), (0,)), ((2, 1), (2, 1)), ((3,), (3,))]
    """
    waiting = _Alone(errand).joins()
    needs: dict[int, set[int]] = {v: set() for v in (*waiting, len(errand.label) - 1)}
    for u, (readers, sent) in enumerate(zip(errand.feeds, errand.sent, strict=True)):
        for v in (*readers, *(v for _, waits in sent for v in waits)):
            needs[v].add(u)
    done = {0}
    blocks = [Block((), (0,))] if errand.has_root else []
    while waiting:
        joins: list[int] = []
        stopped: set[int] = set()
        for v in waiting:
            if errand.label[v] not in stopped and needs[v] <= done:
                joins.append(v)
            else:
                stopped.add(errand.label[v])
        done.update(joins)
        waiting = [v for v in waiting if v not in done]
        blocks.append(Block(tuple(joins), tuple(joins)))
    return tuple(blocks)


class _Alone:
    """One job by itself: first come first served at servers and at the link."""

    def __init__(self, errand: Errand) -> None:
        self.e = errand
        last = len(errand.label) - 1
        self.missing = [0] * (last + 1)
        for readers in (*errand.feeds, *(r for sent in errand.sent for _, r in sent)):
            for v in readers:
                self.missing[v] += 1
        self.free = [0.0] * (max(errand.label) + 1)
        self.link_free, self.pushed = 0.0, 0
        self.heap: list[tuple[float, int, Callable[[float, int], None], int]] = []
        self.joined: list[int] = []

    def joins(self) -> list[int]:
        last = len(self.e.label) - 1
        if self.e.has_root:
            self._push(0.0, self._end, 0)
        for v in range(1, last):
            if self.missing[v] == 0:
                self._push(0.0, self._join, v)
        while self.heap:
            now, _, act, node = heapq.heappop(self.heap)
            act(now, node)
        return self.joined

    def _push(self, time: float, act: Callable[[float, int], None], node: int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (time, self.pushed, act, node))

    def _join(self, now: float, v: int) -> None:
        if v == len(self.e.label) - 1:
            return
        self.joined.append(v)
        server = self.e.label[v]
        self.free[server] = max(self.free[server], now) + self.e.seconds[v]
        self._push(self.free[server], self._end, v)

    def _end(self, now: float, u: int) -> None:
        for v in self.e.feeds[u]:
            self._arrive(now, v)
        for work, readers in self.e.sent[u]:
            self.link_free = max(self.link_free, now) + work
            for v in readers:
                self._push(self.link_free + self.e.latency_s, self._arrive, v)

    def _arrive(self, now: float, v: int) -> None:
        self.missing[v] -= 1
        if self.missing[v] == 0:
            self._join(now, v)


@dataclass(frozen=True, slots=True)
class Message:
    """One tensor to one server, of ``size_bytes``, from the server with label ``source``.

    ``shared_bytes``: Σ min(own size, other size) over its task's messages, served by its end in equal shares.
    """

    size_bytes: float
    shared_bytes: float
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Nodes 0 (root), 1…m (interior), m + 1 (sink); servers by label, 0 the root's.

    ``label`` has the server of every node. ``blocks`` are the events of a job alone, in order. ``sent[u]``
    are the messages of node u in the order in which they are asked for. ``local[v]`` are the nodes
    whose tensors v finds on its server, ``remote[v]`` the messages (u, place in ``sent[u]``) it needs.
    ``ends`` are the nodes that the end waits for where the sink is virtual.
    """

    label: tuple[int, ...]
    servers: int
    blocks: tuple[Block, ...]
    sent: tuple[tuple[Message, ...], ...]
    local: tuple[tuple[int, ...], ...]
    remote: tuple[tuple[tuple[int, int], ...], ...]
    has_root: bool
    has_sink: bool


def _make_plan(c: Candidates, row: int) -> Plan:
    shape = c.shape
    label = (0, *c.labels[row].tolist())
    source, target, tensor = shape.source.tolist(), shape.target.tolist(), shape.tensor.tolist()
    nodes = shape.m + 2
    sent: list[list[Message]] = [[] for _ in range(nodes)]
    local: list[list[int]] = [[] for _ in range(nodes)]
    remote: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    message_of: dict[tuple[int, int, int], int] = {}
    for edge, (u, v) in enumerate(zip(source, target, strict=True)):
        if label[u] == label[v]:
            local[v].append(u)
            continue
        key = (u, tensor[edge], label[v])
        if key not in message_of:
            message_of[key] = len(sent[u])
            sent[u].append(Message(float(shape.size[edge]), 0.0, label[u], label[v]))
        remote[v].append((u, message_of[key]))
    return Plan(
        label=label,
        servers=max(label) + 1,
        blocks=_blocks(c, label, sent, remote),
        sent=tuple(tuple(_shared(messages)) for messages in sent),
        local=tuple(tuple(n) for n in local),
        remote=tuple(tuple(n) for n in remote),
        has_root=shape.has_root,
        has_sink=shape.has_sink,
    )


def _shared(sent: list[Message]) -> list[Message]:
    sizes = [m.size_bytes for m in sent]
    return [replace(m, shared_bytes=sum(min(m.size_bytes, other) for other in sizes)) for m in sent]


def _blocks(
    c: Candidates,
    label: Sequence[int],
    sent: Sequence[Sequence[Message]],
    remote: Sequence[Sequence[tuple[int, int]]],
) -> tuple[Block, ...]:
    """The order in which a job alone does it all, at mean times."""
    shape, link = c.shape, c.link
    feeds: list[list[int]] = [[] for _ in label]
    for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True):
        if label[u] == label[v]:
            feeds[u].append(v)
    waiting = [[(m.size_bytes / link.speed, list[int]()) for m in messages] for messages in sent]
    for v, needed in enumerate(remote):
        for u, place in needed:
            waiting[u][place][1].append(v)
    seconds = (0.0, *shape.mean_s.tolist(), 0.0)
    return _blocks_of(Errand(label, seconds, feeds, waiting, link.latency_s, shape.has_root))


_SLICES = 1 << 12


@lru_cache(maxsize=32)
def _quantiles(scv: float) -> Floats:
    """Gamma of mean 1 and squared coefficient of variation ``scv`` at the middle of ``_SLICES`` slices."""
    shape = 1.0 / scv
    level = (np.arange(_SLICES) + 0.5) / _SLICES
    drawn = np.asarray(scipy.special.gammaincinv(shape, level), dtype=np.float64) / shape
    quantiles: Floats = drawn / drawn.mean()
    return quantiles


def even_draws(scv: float, number: int, rng: np.random.Generator) -> Floats:
    """(number,) Draws of mean 1 and squared coefficient of variation ``scv``, in random order.

    They differ from independent ones only in that every slice of the distribution has its share.

    >>> bool(abs(even_draws(1.0, 500, np.random.default_rng(0)).mean() - 1) < 0.01)
    True
    """
    if scv == 0:
        return np.ones(number)
    rank = (rng.permutation(number) + rng.random(number)) / max(number, 1)
    return _quantiles(scv)[(rank * _SLICES).astype(np.int64)]


_WAY = (("out_link", 0), ("up_link", 0), ("core", 0), ("down_link", 1), ("in_link", 1))


class Post(NamedTuple):
    """A message of each job: bytes (below 0: it has none), bytes served by its end if all of its task's
    messages share the link equally, labels of the servers it goes from and to.

    With batches the messages of all members of a step that send are sent at once."""

    size: Floats
    shared: Floats
    source: Ints
    target: Ints


def carry(network: Network, tracks: Tracks, post: Post, t: Floats, rng: np.random.Generator) -> Floats:
    """Return the times (N,) at which messages asked for at ``t`` (N,) arrive."""
    system = network.system
    if system.servers < 2:
        return t
    if len(network.sides):
        return _over_links(network, tracks, post, t) + system.latency_s
    there, core = post.size >= 0, np.full(len(t), len(tracks.row) - 1)
    work = np.maximum(post.size, 0.0) / system.capacity
    sender = None if network.chains is None else post.source * network.width
    wait = tracks.send(core, t, work, there, sender)
    if system.discipline == "fifo":
        return t + wait + work + system.latency_s
    alone = np.maximum(post.shared, 0.0) / system.capacity
    if sender is not None:
        alone *= tracks.senders[sender, np.arange(len(t))]
    return t + shared_s(alone, network.waits.load, network.waits.message_s, rng) + system.latency_s


def shared_s(work_s: Floats, load: float, mean_s: float, rng: np.random.Generator) -> Floats:
    """Seconds of transfers of ``work_s`` under processor sharing.

    Formula: x·(1 + m + (n − m)·φ), n geometric with mean m = ρ/(1 − ρ), the transfers met at the start,
    φ = √(2(y − 1 + e^−y))/y, y = (1 − ρ)·x/s̄. Mean x/(1 − ρ) as in every M/G/1 queue, variance that of
    M/M/1 (E. G. Coffman, R. R. Muntz, H. Trotter, Journal of the ACM 17, 1970; recollected).

    >>> shared_s(np.array([2.0]), 0.0, 1.0, np.random.default_rng(0)).tolist()
    [2.0]
    """
    if not 0 < load < 1 or mean_s <= 0:
        return work_s
    mean = load / (1.0 - load)
    met = rng.geometric(1.0 - load, len(work_s)) - 1.0
    y = np.maximum((1.0 - load) * work_s / mean_s, 1e-9)
    fades = np.where(y > 1e-4, np.sqrt(np.maximum(2.0 * (y + np.expm1(-y)), 0.0)) / y, 1.0)
    result: Floats = work_s * (1.0 + mean + (met - mean) * fades)
    return np.maximum(result, work_s)


def _over_links(network: Network, tracks: Tracks, post: Post, t: Floats) -> Floats:
    """Link by link as in the simulator: the next is joined when a message has its turn at the one before.

    It is through when every link has had time for it.
    """
    there, size = post.size >= 0, np.maximum(post.size, 0.0)
    columns, through = np.arange(len(t)), t
    topology = network.system.topology
    rack = np.zeros(network.system.servers, dtype=np.int64) if topology is None else topology.rack
    slowest = min(network.roles[network.sides.get(n, 0)].capacity for n, _ in _WAY)
    apart = rack[tracks.place[post.source, columns]] != rack[tracks.place[post.target, columns]]
    for name, side in _WAY:
        if name != "core" and name not in network.sides:
            continue
        role = network.roles[network.sides.get(name, 0)]
        label = post.target if side else post.source
        which = label * network.width + network.offset.get(name, 0)
        if name == "core":
            which = np.full(len(t), len(tracks.row) - 1)
        where: Bools = there if name in ("out_link", "in_link") else there & apart
        work = size / role.capacity
        together = network.chains is not None and role.capacity == slowest
        sender = post.source * network.width if together else None
        begins = t + tracks.send(which, t, work, where, sender)
        through = np.where(where, np.maximum(through, begins + work), through)
        t = begins
    return through


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
        query = network.system.queries[route.query]
        self.cuts = query.decomposition.cuts
        self.interiors = [s.interior for s in query.decomposition.subgraphs]
        self.step_s = query.step_s
        self.plans: dict[tuple[int, int], Plan] = {}
        self.sending = {} if network.chains is None else self._sending()

    def complete(self) -> Floats:
        """(N,) Completion times."""
        route, network = self.route, self.network
        everyone = np.arange(network.jobs)
        home = network.start(self.rng)
        done = np.zeros(network.jobs)
        if route.first:
            since = None if network.chains is None else np.full(len(done), FIRST)
            done = self._run(home, 0, self.cuts[0], done, since, route.cut_s[:, 0])
        for k, (c, p) in enumerate(zip(route.candidates, route.probabilities, strict=True)):
            after = done.copy()
            for row, columns in _dealt(p, everyone, self.rng):
                plan = self._plan(c, row)
                sub = network.subgraph(home, plan.servers, columns, self.rng)
                after[columns] = self._cross(plan, k, sub, done[columns])
                network.hand_back(home, sub, plan.label[-1], columns)
            done = after
        home.close(list(range(len(home.row))))
        return done

    def _sending(self) -> dict[int, float]:
        """The probability of each task that a job sends something when it ends."""
        sending: dict[int, float] = {}
        for k, (c, p) in enumerate(zip(self.route.candidates, self.route.probabilities, strict=True)):
            tasks = (self.cuts[k], *self.interiors[k])
            for row in np.flatnonzero(p > 0).tolist():
                for task, sent in zip(tasks, self._plan(c, row).sent[:-1], strict=True):
                    sending[task] = sending.get(task, 0.0) + float(p[row] / p.sum()) * bool(sent)
        return sending

    def _plan(self, c: Candidates, row: int) -> Plan:
        key = (id(c), row)
        if key not in self.plans:
            self.plans[key] = _make_plan(c, row)
        return self.plans[key]

    def _run(
        self, tracks: Tracks, server: int, task: int, ready: Floats, since: Ints | None, by_class: Floats
    ) -> Floats:
        """The end of a task on each job's executor; without batches it takes ``by_class`` (K,).

        ``since`` (N,), with batches: the task with whose end it was ready, as in :meth:`Chains.extended`.
        """
        network, track = self.network, self.network.executor(server)
        executor_class = network.executor_class(tracks, server)
        if network.chains is None or network.waits.steps is None or since is None:
            return tracks.run(track, ready, self._drawn(by_class[executor_class]))
        steps, chains, row = network.waits.steps, network.chains, tracks.row[track]
        on = tracks.goes_on(track, ready)
        chain = np.where(on, tracks.mark[track], 0)
        wait, members = steps.first(self.route.query, task, row, network.within[tracks.jobs], self.rng)
        wait[on], members[on] = steps.following(
            self.route.query, task, row[on], chains.last(chain[on]), tracks.members[track, on], self.rng
        )
        begin = tracks.board(track, ready, (wait, members), chains.extended(chain, task, since))
        senders = 1 + self.rng.binomial(members - 1, self.sending.get(task, 0.0))
        tracks.senders[track] = senders
        tracks.ahead[track] = self.rng.random(len(ready)) * senders
        seconds = self.step_s[members - 1, executor_class, task]
        return tracks.leave(track, begin, self._drawn(seconds))

    def _drawn(self, mean: Floats) -> Floats:
        """Seconds of a task, each job's times a draw."""
        if self.route.scv == 0:
            return mean
        return mean * even_draws(self.route.scv, len(mean), self.rng)

    def _cross(self, plan: Plan, k: int, tracks: Tracks, start: Floats) -> Floats:
        """From the end of the root of sub-graph ``k`` to that of its sink."""
        c = self.route.candidates[k]
        tasks = [self.cuts[k], *self.interiors[k], self.cuts[k + 1]]
        done: dict[int, Floats] = {0: start}
        arrived: dict[tuple[int, int], Floats] = {}
        for block in plan.blocks:
            for v in block.joins:
                ready = _ready(plan, v, start, done, arrived)
                since = self._since(plan, v, ready, done, tasks)
                by_class = c.shape.class_s[:, v - 1]
                done[v] = self._run(tracks, plan.label[v], tasks[v], ready, since, by_class)
            self._deliver(plan, tracks, block.sends, done, arrived)
        if not plan.has_sink:
            end: Floats = np.max(np.stack(list(done.values())), axis=0)
            return end
        sink = len(plan.label) - 1
        ready = _ready(plan, sink, start, done, arrived)
        since, by_class = self._since(plan, sink, ready, done, tasks), self.route.cut_s[:, k + 1]
        return self._run(tracks, plan.label[sink], tasks[sink], ready, since, by_class)

    def _since(
        self, plan: Plan, v: int, ready: Floats, done: dict[int, Floats], tasks: Sequence[int]
    ) -> Ints | None:
        """With batches the task with whose end a node was ready; ``LAST``: when a message came."""
        if self.network.chains is None:
            return None
        since = np.full(len(ready), LAST if plan.remote[v] else FIRST)
        for u in plan.local[v]:
            since[done[u] >= ready] = tasks[u]
        return since

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
    """Return the times of a node's last input; without inputs the start."""
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
