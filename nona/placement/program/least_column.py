"""A column that no configuration undercuts, for interiors of which not all are listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nona.placement.configurations.shape import Shape
from nona.placement.spans.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Least:
    """What every configuration that is not local exceeds.

    The span is at least the larger of ``chain_s`` and ``message_s`` + ``slope``·w, w being the
    link's wait; the link carries at least ``load_s`` seconds a query and squared batches ``square_s2``.
    """

    chain_s: float
    message_s: float
    slope: float
    load_s: float
    square_s2: float


def priced(least: Least, price_s: float) -> Least:
    """The same with a charge of ``price_s`` besides the span."""
    return replace(least, chain_s=least.chain_s + price_s, message_s=least.message_s + price_s)


def least_column(c: Candidates, server_wait_s: float) -> Least:
    """The bound for the shape of ``c``.

    Every placement runs the longest chain of the interior. One that is not local also makes the
    sink queue again, and, where there is a root, cuts at least one edge, so that some path through
    that edge carries a message. (Behind a virtual root every task queues, and parts may need no
    message.)
    """
    shape, link = c.shape, c.link
    visits_s = server_wait_s * (float(shape.has_sink) + float(not shape.has_root))
    chain_s = shape.critical_s + visits_s
    if not (shape.has_root and link.crosses and len(shape.source)):
        return Least(chain_s, chain_s, 0.0, 0.0, 0.0)
    load_s = float(shape.size.min()) / link.capacity
    message_s = min(t + float(s) / link.speed for t, s in zip(_through(shape), shape.size, strict=True))
    slope = 1.0 if link.discipline == "fifo" else load_s
    return Least(chain_s, message_s + link.latency_s + visits_s, slope, load_s, load_s**2)


def _through(shape: Shape) -> list[float]:
    """Compute seconds of the longest path through each edge."""
    time = [0.0, *shape.mean_s.tolist(), 0.0]
    head, tail = list(time), list(time)
    for v in range(1, shape.m + 2):
        head[v] += max((head[int(shape.source[e])] for e in shape.edges_into[v]), default=0.0)
    for u in range(shape.m, -1, -1):
        tail[u] += max((tail[int(shape.target[e])] for e in shape.edges_of[u]), default=0.0)
    return [head[u] + tail[v] for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True)]
