"""Edges that no good configuration cuts: the message alone makes it take longer than staying."""

from __future__ import annotations

from dataclasses import dataclass

from nona.placement.coarsening.result import EDGE, Glue
from nona.placement.coarsening.union_find import Groups
from nona.placement.configurations.shape import Shape
from nona.placement.spans.messages import Link

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits below which none falls: of a message (a stretch under processor sharing), of a visit."""

    link: float = 0.0
    server_s: float = 0.0


def glue_edges(
    shape: Shape, link: Link, groups: Groups, waits: Waits, upper_s: float
) -> list[tuple[Glue, float]]:
    """Glue the ends of every edge whose cutting takes ``upper_s`` or longer, until there is none left.

    A configuration that cuts u → v takes at least::

        head(u) + latency + size/C + W_n + W_c·([v is no sink] + [there is a sink]) + tail(v)

    head(u) is the work on the longest chain up to u's end and tail(v) that from v's start on. The
    tasks of a group share a server, where they run one after the other in their order; so a chain
    may also go from a task to the next one of its group, and groups make further edges costly.

    Returns
    -------
    The steps, each with the time above: those of a configuration that parts the two.
    """
    steps: list[tuple[Glue, float]] = []
    while found := _costly(shape, link, groups, waits, upper_s):
        for step, total_s in found:
            if groups.join(step.source, step.target):
                steps.append((step, total_s))
    return steps


def _costly(
    shape: Shape, link: Link, groups: Groups, waits: Waits, upper_s: float
) -> list[tuple[Glue, float]]:
    head, tail = chains(shape, groups)
    found = []
    for e, (u, v) in enumerate(zip(shape.source.tolist(), shape.target.tolist(), strict=True)):
        if not groups.together(u, v):
            work = head[u] + tail[v]
            transfer = message_s(shape, link, waits, e) + visits_s(shape, waits, v)
            if work + transfer >= upper_s * (1 - _ROUNDING):
                found.append((Glue(u, v, EDGE, work, transfer, shape.local_s), work + transfer))
    return found


def message_s(shape: Shape, link: Link, waits: Waits, edge: int) -> float:
    """Least seconds of the message that an edge needs when it is cut."""
    if not link.crosses:
        return 0.0
    transfer = float(shape.size[edge]) / link.speed
    wait = waits.link if link.discipline == "fifo" else transfer * waits.link
    return transfer + wait + link.latency_s


def visits_s(shape: Shape, waits: Waits, target: int) -> float:
    """Least wait at servers that cutting an edge to ``target`` brings about."""
    return waits.server_s * (float(target <= shape.m) + float(shape.has_sink))


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
