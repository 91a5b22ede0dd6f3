"""Blocks: short tasks that stay with the task they read from, and what that may cost.

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

from dataclasses import dataclass, field

from nona.placement.coarsening.block_traffic import Traffic
from nona.placement.coarsening.result import BLOCK, Glue
from nona.placement.coarsening.union_find import Groups
from nona.placement.configurations.shape import Shape
from nona.placement.spans.messages import Link

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Loss:
    """The most that gluing adds to the span, to the link seconds and to the squared batches."""

    span_s: float = 0.0
    load_s: float = 0.0
    square_s2: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.span_s + other.span_s, self.load_s + other.load_s, self.square_s2 + other.square_s2)

    def within(self, budget_s: float) -> bool:
        """Whether span and load fit the budget, and nothing at all is lost where that is 0."""
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
            own, cheapest = float(shape.mean_s[v - 1]), cheapest_s(shape, link, v)
            steps.append(Glue(source, v, BLOCK, own, cheapest, loss.span_s + loss.load_s))
    return steps, total


def cheapest_s(shape: Shape, link: Link, v: int) -> float:
    """Seconds that moving the cheapest tensor into or out of task v takes on an idle link."""
    if not link.crosses:
        return 0.0
    edges = [*shape.edges_into[v], *shape.edges_of[v]]
    return link.latency_s + float(shape.size[edges].min()) / link.speed


def _affordable(
    shape: Shape, link: Link, groups: Groups, anchor: int, budget_s: float
) -> tuple[_Block, Loss]:
    """The block behind ``anchor`` less its worst tasks, until what it loses is within the budget."""
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
    """All tasks of the run that may join the block."""
    block, done_s = _Block(anchor), 0.0
    for v in range(anchor + 1, shape.m + 1):
        own = float(shape.mean_s[v - 1])
        done_s += own
        inputs = shape.edges_into[v]
        sources = shape.source[list(inputs)].tolist()
        if not inputs or not all(u in block.source or groups.together(u, anchor) for u in sources):
            break
        behind = [e for e, u in zip(inputs, sources, strict=True) if u == anchor or u in block.source]
        if behind and v not in banned and groups.single(v) and own <= cheapest_s(shape, link, v):
            e = max(behind, key=lambda e: _reached(shape, link, block, e))
            u = int(shape.source[e])
            block.source[v], block.before_s[v] = u, done_s
            block.chain_s[v] = block.chain_s.get(u, 0.0) + own
            block.least_bytes[v] = min(block.least_bytes.get(u, float("inf")), float(shape.size[e]))
    return block


def _reached(shape: Shape, link: Link, block: _Block, edge: int) -> float:
    """Least time from the anchor's end until what comes over ``edge`` may have crossed the link."""
    u, size = int(shape.source[edge]), float(shape.size[edge])
    return block.chain_s.get(u, 0.0) + min(block.least_bytes.get(u, size), size) / link.speed


def _loss(
    shape: Shape, link: Link, groups: Groups, block: _Block
) -> tuple[Loss, tuple[dict[int, float], ...]]:
    """What the block loses; and by task its load, its work with its shift, and how late it may be."""
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
    """How much later readers of v may have it than they had in any configuration that parts v."""
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
    """What the block's messages leaving u's batch may cost others; ``inf`` before the anchor."""
    if link.discipline != "fifo" or not link.crosses:
        return 0.0
    moved = traffic.shift_bytes(u) / link.speed
    return float("inf") if moved > 0 and u < block.anchor else moved
