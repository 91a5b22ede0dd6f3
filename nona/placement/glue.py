"""Tasks that stay on one server: uncut edges, blocks of short tasks, and the possible loss.

Let u be on server s, and let the *run* be the tasks numbered after u as long as all their inputs
come from u's group or from the block V, which is part of the run and reached from u through V.
Whatever the configuration c, let c' be the same with V on s. In both, the tasks of the run on s
follow u without a break, so that c' ends v ∈ V by f(u) + pre(v), pre(v) being the work of the run up
to v. If v is elsewhere in c, a message has crossed the link on its way from u, so c ends it no
earlier than f(u) + L + β(v)/C + chain(v) + W_n + W_c. A reader of v that needs a message only in c'
waits W_n + W_c for it, which is what v had waited. So in c' nothing else ends later by more than::

    max( Σ_V p + shift,  max over V of pre(v) − chain(v) + (R(v) − β(v))/C )

with β(v) the least tensor on a chain from u, R(v) the bytes that v may send (where none: −L in place of
R(v)/C), and ``shift`` what the order of messages in a batch can change. The waits cancel: this
holds for all W_n, W_c ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np

from nona.arrays import Ints
from nona.placement.configurations import Shape
from nona.placement.messages import Link

EDGE, BLOCK = "edge", "block"


@dataclass(frozen=True, slots=True)
class Glue:
    """One step: ``target`` stays on the server of ``source``; both are nodes of the shape.

    ``kind``: ``"edge"``: cutting the edge takes too long by itself. ``"block"``: ``target`` is too short to
        be worth a message.
    ``work_s``: compute on the longest way through the edge; of a short task, its own.
    ``transfer_s``: seconds of the message on an idle link, waits that are certain included; of a short task,
        of its cheapest tensor.
    ``against_s``: what these are compared with: for an edge the whole interior on one server; for a short
        task the most that is lost, by its whole block.
    """

    source: int
    target: int
    kind: str
    work_s: float
    transfer_s: float
    against_s: float


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Groups of the nodes 0 (root), 1…m, m+1 (sink) of a shape, each group on one server.

    The optimum over the configurations that respect the groups is at most that over all, plus
    :meth:`bound_s`, whatever the waits and the prices of the link are (at or above those that
    :func:`~nona.placement.coarsening` was given). Its value is exact, as groups are no
    tasks: every task keeps its time, its place in the order, and its messages.

    ``group`` (m+2,): group of every node: the number of its first node.
    ``steps``: how the groups came about.
    ``loss_s``, ``load_loss_s``, ``square_loss_s2``: the most by which the span, the link seconds of a query
        and its squared batches may grow.
    ``most_s``: bounds the loss whatever the prices: local time less what every configuration takes.
    """

    group: Ints
    steps: tuple[Glue, ...]
    loss_s: float
    load_loss_s: float
    square_loss_s2: float
    most_s: float

    @property
    def exact(self) -> bool:
        """True where nothing is lost, whatever the prices."""
        return self.most_s <= 0 or max(self.loss_s, self.load_loss_s, self.square_loss_s2) <= 0

    def bound_s(self, load_price: float = 0.0, square_price: float = 0.0) -> float:
        """The most that is lost of span + load_price·load + square_price·square, in seconds."""
        if self.exact:
            return 0.0
        priced = self.loss_s
        for price, loss in ((load_price, self.load_loss_s), (square_price, self.square_loss_s2)):
            priced += price * loss if loss > 0 else 0.0
        return min(priced, self.most_s) if math.isfinite(priced) else self.most_s

    @property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """The groups that can leave the root's server, as nodes; the sink's is one unless it is glued."""
        members: dict[int, list[int]] = {}
        for v, g in enumerate(self.group.tolist()):
            members.setdefault(g, []).append(v)
        return tuple(tuple(nodes) for g, nodes in members.items() if g != 0)

    @property
    def interior_units(self) -> int:
        """Groups of interior tasks that stay neither with the root nor with the sink for sure."""
        sink = len(self.group) - 1
        return sum(sink not in unit for unit in self.units)

    def respects(self, labels: Sequence[int]) -> bool:
        """Return whether a row of labels (interior tasks, then the sink) keeps every group together."""
        place = [0, *labels]
        return all(place[v] == place[g] for v, g in enumerate(self.group.tolist()))

    def labels(self, places: Sequence[int]) -> list[int]:
        """The row of labels with unit i of :attr:`units` on server ``places[i]``.

        >>> c = Coarsening(np.array([0, 0, 2, 2]), (), 0.0, 0.0, 0.0, 0.0)
        >>> c.units, c.labels([1])
        (((2, 3),), [0, 1, 1])
        """
        row = [0] * len(self.group)
        for unit, place in zip(self.units, places, strict=True):
            for v in unit:
                row[v] = place
        return row[1:]


class Groups:
    """Partition of the nodes 0…n−1, at first each by itself.

    >>> g = Groups(4)
    >>> g.join(3, 1), g.join(1, 3), g.find(3), g.single(2), g.array().tolist()
    (True, False, 1, True, [0, 1, 2, 1])
    """

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))
        self._size = [1] * n

    def find(self, v: int) -> int:
        """First node of v's group."""
        while self._parent[v] != v:
            self._parent[v] = self._parent[self._parent[v]]
            v = self._parent[v]
        return v

    def together(self, u: int, v: int) -> bool:
        """Return whether two nodes are in one group."""
        return self.find(u) == self.find(v)

    def single(self, v: int) -> bool:
        return self._size[self.find(v)] == 1

    def join(self, u: int, v: int) -> bool:
        """Make one group of two; False when they are one already."""
        a, b = sorted((self.find(u), self.find(v)))
        if a == b:
            return False
        self._parent[b] = a
        self._size[a] += self._size[b]
        return True

    def array(self) -> Ints:
        """(n,) The first node of every node's group."""
        return np.array([self.find(v) for v in range(len(self._parent))], dtype=np.int64)


_ROUNDING = 1e-12


def glue_edges(shape: Shape, link: Link, groups: Groups, upper_s: float) -> list[tuple[Glue, float]]:
    """Glue the ends of every edge whose cutting takes ``upper_s`` or longer, until there is none left.

    A configuration that cuts u → v takes at least::

        head(u) + latency + size/C + tail(v)

    head(u) is the work on the longest chain up to u's end and tail(v) that from v's start on. The
    tasks of a group share a server, where they run one after the other in their order; so a chain
    may also go from a task to the next one of its group, and groups make further edges costly.

    Returns the steps, each with the time above: those of a configuration that parts the two.
    """
    steps: list[tuple[Glue, float]] = []
    while costly := _costly(shape, link, groups, upper_s):
        for step, total_s in costly:
            if groups.join(step.source, step.target):
                steps.append((step, total_s))
    return steps


def _costly(shape: Shape, link: Link, groups: Groups, upper_s: float) -> list[tuple[Glue, float]]:
    head, tail = chains(shape, groups)
    steps = []
    for e, (u, v) in enumerate(zip(shape.source.tolist(), shape.target.tolist(), strict=True)):
        if not groups.together(u, v):
            work = head[u] + tail[v]
            transfer = message_s(shape, link, e)
            if work + transfer >= upper_s * (1 - _ROUNDING):
                steps.append((Glue(u, v, EDGE, work, transfer, shape.local_s), work + transfer))
    return steps


def message_s(shape: Shape, link: Link, edge: int) -> float:
    """Seconds of the message that an edge needs when it is cut, on an idle link."""
    return float(shape.size[edge]) / link.speed + link.latency_s if link.crosses else 0.0


def chains(shape: Shape, groups: Groups) -> tuple[list[float], list[float]]:
    """Longest work up to each node's end and from each node's start, groups in their order."""
    time = [0.0, *shape.mean_s.tolist(), 0.0]
    nodes = range(shape.m + 2)
    head, before = list(time), [0.0] * len(time)
    for v in nodes:
        behind = max((head[u] for u in map(int, shape.source[list(shape.edges_into[v])])), default=0.0)
        g = groups.find(v)
        head[v] = before[g] = max(behind, before[g]) + time[v]
    tail, after = list(time), [0.0] * len(time)
    for u in reversed(nodes):
        ahead = max((tail[v] for v in map(int, shape.target[list(shape.edges_of[u])])), default=0.0)
        g = groups.find(u)
        tail[u] = after[g] = max(ahead, after[g]) + time[u]
    return head, tail


class Traffic:
    """Tensors around the block ``inside`` that joins the group of ``anchor``.

    *Outside* is every node that is neither in the block nor in that group. A message of the block
    to itself, or from or to the group, vanishes when the block joins; one to the outside may appear.
    """

    def __init__(self, shape: Shape, groups: Groups, anchor: int, inside: Container[int]) -> None:
        self._shape, self._inside = shape, inside
        self._home = [groups.together(v, anchor) for v in range(shape.m + 2)]

    def outside(self, v: int) -> bool:
        """Return whether node v is neither in the block nor in the anchor's group."""
        return v not in self._inside and not self._home[v]

    def sent(self, v: int) -> list[float]:
        """Bytes of every edge from v to the outside: at most one message each."""
        shape = self._shape
        return [float(shape.size[e]) for e in shape.edges_of[v] if self.outside(int(shape.target[e]))]

    def given_bytes(self, v: int) -> float:
        """Bytes of v's distinct tensors that a task outside the anchor's group reads."""
        shape = self._shape
        read = {
            int(shape.tensor[e]): float(shape.size[e])
            for e in shape.edges_of[v]
            if not self._home[int(shape.target[e])]
        }
        return sum(read.values())

    def credit_bytes(self, v: int, *, home: bool = False) -> dict[int, float]:
        """For every producer that v reads from, the bytes that v's move saves for sure.

        A tensor that the outside reads too may have to be sent all the same: nothing is saved. One
        that several of the block read is shared out among them. ``home``: from the group only.
        """
        shape, saved = self._shape, dict[int, float]()
        for tensor, e in {int(shape.tensor[e]): e for e in shape.edges_into[v]}.items():
            u = int(shape.source[e])
            if home and not self._home[u]:
                continue
            readers = [int(shape.target[i]) for i in shape.edges_of[u] if shape.tensor[i] == tensor]
            if not any(map(self.outside, readers)):
                block = sum(r in self._inside for r in readers)
                saved[u] = saved.get(u, 0.0) + float(shape.size[e]) / block
        return saved

    def shift_bytes(self, u: int) -> float:
        """Bytes by which a message of u's batch may move back when the block's no longer go first.

        A tensor that the block and the outside read may have been sent with the block's edge; then
        it is sent with a later one, behind the messages between the two.
        """
        shape, most = self._shape, 0.0
        edges = shape.edges_of[u]
        targets = [int(shape.target[e]) for e in edges]
        for tensor in {int(shape.tensor[e]) for e in edges}:
            own = [i for i, e in enumerate(edges) if int(shape.tensor[e]) == tensor]
            first = min((i for i in own if targets[i] in self._inside), default=len(edges))
            last = max((i for i in own if self.outside(targets[i])), default=0)
            between = [edges[i] for i in range(first + 1, last) if self.outside(targets[i])]
            most = max(most, sum(float(shape.size[e]) for e in between))
        return most


@dataclass(frozen=True, slots=True)
class Loss:
    """The most that gluing adds to the span, to the link seconds and to the squared batches."""

    span_s: float = 0.0
    load_s: float = 0.0
    square_s2: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.span_s + other.span_s, self.load_s + other.load_s, self.square_s2 + other.square_s2)

    def within(self, budget_s: float) -> bool:
        """Return whether span and load fit the budget, and nothing at all is lost where that is 0."""
        return self.span_s + self.load_s <= budget_s and (budget_s > 0 or self.square_s2 <= 0)


@dataclass(slots=True)
class _Block:
    """A block behind ``anchor``: of each of its tasks the producer on its chain, chain(v), β(v), pre(v)."""

    anchor: int
    source: dict[int, int] = field(default_factory=dict)
    chain_s: dict[int, float] = field(default_factory=dict)
    least_bytes: dict[int, float] = field(default_factory=dict)
    before_s: dict[int, float] = field(default_factory=dict)


def glue_blocks(shape: Shape, link: Link, groups: Groups, budget_s: float) -> tuple[list[Glue], Loss]:
    """Glue a block behind every task in turn, as long as all lose no more than ``budget_s`` together."""
    steps: list[Glue] = []
    total = Loss()
    for anchor in range(0 if shape.has_root else 1, shape.m + 1):
        left = max(0.0, budget_s - total.span_s - total.load_s)
        block, loss = _affordable(shape, link, groups, anchor, left)
        total += loss
        for v, source in block.source.items():
            groups.join(anchor, v)
            own, cheapest = float(shape.mean_s[v - 1]), _cheapest_s(shape, link, v)
            steps.append(Glue(source, v, BLOCK, own, cheapest, loss.span_s + loss.load_s))
    return steps, total


def _cheapest_s(shape: Shape, link: Link, v: int) -> float:
    """Seconds that moving the cheapest tensor into or out of task v takes on an idle link."""
    if not link.crosses:
        return 0.0
    edges = [*shape.edges_into[v], *shape.edges_of[v]]
    return link.latency_s + float(shape.size[edges].min()) / link.speed


def _affordable(
    shape: Shape, link: Link, groups: Groups, anchor: int, budget_s: float
) -> tuple[_Block, Loss]:
    """Return the block behind ``anchor`` less its worst tasks, until its loss is within the budget."""
    banned: set[int] = set()
    while True:
        block = _grow(shape, link, groups, anchor, banned)
        if not block.source:
            return block, Loss()
        loss, parts = _loss(shape, link, groups, block)
        if loss.within(budget_s):
            return block, loss
        # Of what rules the loss, the worst tasks are left out, and all that exceed the budget alone.
        load, moved, late = parts
        span = late if max(late.values()) >= loss.span_s else moved
        ruling = load if loss.load_s >= loss.span_s else span
        banned |= {v for v, s in ruling.items() if s > 0 and s >= min(max(ruling.values()), budget_s)}


def _grow(shape: Shape, link: Link, groups: Groups, anchor: int, banned: set[int]) -> _Block:
    block, done_s = _Block(anchor), 0.0
    for v in range(anchor + 1, shape.m + 1):
        own = float(shape.mean_s[v - 1])
        done_s += own
        inputs = shape.edges_into[v]
        sources = shape.source[list(inputs)].tolist()
        if not inputs or not all(u in block.source or groups.together(u, anchor) for u in sources):
            break
        behind = [e for e, u in zip(inputs, sources, strict=True) if u == anchor or u in block.source]
        if behind and v not in banned and groups.single(v) and own <= _cheapest_s(shape, link, v):
            e = max(behind, key=lambda e: _reached(shape, link, block, e))
            u = int(shape.source[e])
            block.source[v], block.before_s[v] = u, done_s
            block.chain_s[v] = block.chain_s.get(u, 0.0) + own
            block.least_bytes[v] = min(block.least_bytes.get(u, float("inf")), float(shape.size[e]))
    return block


def _reached(shape: Shape, link: Link, block: _Block, edge: int) -> float:
    """Return the least seconds from the anchor's end until ``edge``'s data may have crossed the link."""
    u, size = int(shape.source[edge]), float(shape.size[edge])
    return block.chain_s.get(u, 0.0) + min(block.least_bytes.get(u, size), size) / link.speed


def _loss(
    shape: Shape, link: Link, groups: Groups, block: _Block
) -> tuple[Loss, tuple[dict[int, float], ...]]:
    """Return the block's loss; and by task its load, its work with its shift, and its possible delay."""
    traffic = Traffic(shape, groups, block.anchor, block.source)
    price = 1.0 / link.capacity if link.crosses else 0.0
    load, work, late, square = {}, {}, {}, 0.0
    shift = {u: _shift_s(link, block, traffic, u) for u in _feeding(shape, block)}
    for v in block.source:
        sent = traffic.sent(v)
        load[v] = price * max(0.0, traffic.given_bytes(v) - sum(traffic.credit_bytes(v).values()))
        saved = sum(b**2 for b in traffic.credit_bytes(v, home=True).values())
        square += price**2 * max(0.0, sum(sent) ** 2 - saved)
        work[v] = float(shape.mean_s[v - 1])
        late[v] = _later_s(link, block, v, sent)
    near = {v: [v, *shape.source[list(shape.edges_into[v])].tolist()] for v in work}
    moved = {v: own + max(shift[u] for u in near[v]) for v, own in work.items()}
    span = max(sum(work.values()) + max(shift.values()), *late.values())
    return Loss(span, sum(load.values()), square), (load, moved, late)


def _later_s(link: Link, block: _Block, v: int, sent: list[float]) -> float:
    """Bound the delay (s) of v for its readers, against any configuration that parts v."""
    base = block.before_s[v] - block.chain_s[v]
    if not link.crosses:
        return base
    least = block.least_bytes[v]
    if not sent:
        return base - least / link.speed - link.latency_s
    if link.discipline != "fifo" and sum(sent) > least:
        return float("inf")  # a stretched link delays what v sends by more, without limit
    return base + (sum(sent) - least) / link.speed


def _feeding(shape: Shape, block: _Block) -> set[int]:
    """The tasks whose batches the block leaves, and the block's own."""
    edges = [e for v in block.source for e in shape.edges_into[v]]
    return {int(u) for u in shape.source[edges]} | set(block.source)


def _shift_s(link: Link, block: _Block, traffic: Traffic, u: int) -> float:
    """Bound the cost (s) to others of the block's messages leaving u's batch; ``inf`` before the anchor."""
    if link.discipline != "fifo" or not link.crosses:
        return 0.0
    moved = traffic.shift_bytes(u) / link.speed
    return float("inf") if moved > 0 and u < block.anchor else moved
