"""Feeders: tasks that wait for nothing on the longest chain, together on one other server or a few.

The chain of most work stays on one server, in one run. What none of its tasks leads to (the text's keys
and values of a U-Net, the other experts of a mixture) can be done meanwhile elsewhere, in one visit,
and has arrived before the chain needs it unless that one visit waits long. So the completion time is a
maximum of few random waits, where a configuration that parts the chain adds them, and one that sends the
feeders to many servers takes the maximum of many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.placement.configurations.labels import Labels, canonical
from nona.placement.configurations.shape import Shape
from nona.placement.spans.messages import Link

_SHARES = (1.0, 0.5, 0.25, 0.1)  # of the link's free time


def feeder_configurations(shape: Shape, link: Link, slots: int, free_s: float) -> Labels:
    """(n, m+1) Configurations with the feeders away: all of them, or what fits into shares of ``free_s``.

    Parameters
    ----------
    slots
        Servers there are.
    free_s
        Seconds of the link that every query may have: (1 − ρ of the background)/λ.

    Examples
    --------
    A chain 1 → 3 → 4 beside task 2, which leads to 4:

    >>> ints = lambda *v: np.array(v, dtype=np.int64)
    >>> time = np.array([5.0, 1.0, 5.0, 1.0])
    >>> shape = Shape(False, False, time[None], time, ints(1, 2, 3), ints(3, 4, 4), ints(0, 1, 2), np.ones(3))
    >>> feeder_configurations(shape, Link(1.0, 0.0), 2, 10.0).tolist()
    [[0, 1, 0, 0, 0]]
    """
    feeders = _feeders(shape)
    if slots < 2 or not feeders:
        return np.zeros((0, shape.m + 1), dtype=np.int64)
    rows: dict[tuple[int, ...], None] = {}
    for share in _SHARES:
        away = _within(shape, feeders, share * free_s * link.capacity)
        parts = _connected(shape, away)
        for servers in range(1, min(len(parts), slots - 1) + 1):
            rows[_label(shape, _dealt(shape, parts, servers))] = None
    rows.pop((0,) * (shape.m + 1), None)
    return np.array(list(rows), dtype=np.int64).reshape(-1, shape.m + 1)


def _feeders(shape: Shape) -> list[int]:
    """Interior tasks beside the longest chain that no task of it leads to, 1…m."""
    after = np.zeros(shape.m + 2, dtype=bool)
    after[[v + 1 for v in shape.interior_dag.critical_path(shape.mean_s.tolist())[1]]] = True
    for v in range(1, shape.m + 1):
        after[v] |= any(after[shape.source[e]] for e in shape.edges_into[v])
    return [v for v in range(1, shape.m + 1) if not after[v]]


def _within(shape: Shape, feeders: Sequence[int], most_bytes: float) -> list[int]:
    """The feeders without those that send most for their work, so that ``most_bytes`` suffice."""
    away = set(feeders)
    moved = _crossing(shape, away)
    while away and moved > most_bytes:
        best: tuple[float, float, int] | None = None
        for v in sorted(away):
            if any(int(shape.target[e]) in away for e in shape.edges_of[v]):
                continue
            left = _near(shape, away, v) - _near(shape, away - {v}, v)
            rank = left / max(float(shape.mean_s[v - 1]), 1e-12), left, v
            best = rank if best is None or rank > best else best
        if best is None:
            break
        away.discard(best[2])
        moved -= best[1]
    return sorted(away)


def _near(shape: Shape, away: set[int], v: int) -> float:
    """Bytes that cross of the tensors that ``v`` reads and makes."""
    named = {int(shape.tensor[e]) for e in (*shape.edges_into[v], *shape.edges_of[v])}
    nodes = {v, *(int(shape.source[e]) for e in shape.edges_into[v])}
    return _sent(shape, away, nodes, named)


def _crossing(shape: Shape, away: set[int]) -> float:
    """Bytes between ``away``, taken as one server, and the rest."""
    return _sent(shape, away, set(range(shape.m + 1)), set(shape.tensor.tolist()))


def _sent(shape: Shape, away: set[int], nodes: set[int], named: set[int]) -> float:
    sent: dict[int, float] = {}
    for u in nodes:
        for e in shape.edges_of[u]:
            if int(shape.tensor[e]) in named and (u in away) != (int(shape.target[e]) in away):
                sent[int(shape.tensor[e])] = float(shape.size[e])
    return sum(sent.values())


def _connected(shape: Shape, tasks: Sequence[int]) -> list[list[int]]:
    """Groups of ``tasks`` that edges among them join, most work first."""
    chosen, home = set(tasks), {v: v for v in tasks}

    def find(v: int) -> int:
        while home[v] != v:
            v = home[v]
        return v

    for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True):
        if u in chosen and v in chosen:
            home[find(v)] = find(u)
    groups: dict[int, list[int]] = {}
    for v in tasks:
        groups.setdefault(find(v), []).append(v)
    return sorted(groups.values(), key=lambda g: (-_work(shape, g), g))


def _work(shape: Shape, group: Sequence[int]) -> float:
    return float(sum(shape.mean_s[v - 1] for v in group))


def _dealt(shape: Shape, parts: Sequence[Sequence[int]], servers: int) -> list[list[int]]:
    """``parts`` on so many servers, each to the one with least work."""
    held: list[list[int]] = [[] for _ in range(servers)]
    for part in parts:
        min(held, key=lambda h: _work(shape, h)).extend(part)
    return held


def _label(shape: Shape, held: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """A row of labels: the chain, what follows it and the sink on one server, ``held`` on others."""
    server = [0] * (shape.m + 1)
    for number, tasks in enumerate(held, start=1):
        for v in tasks:
            server[v - 1] = number
    if not shape.has_root and server[0]:  # behind a virtual root the first task's server is number 0
        first = server[0]
        swap = {first: 0, 0: first}
        server = [swap.get(s, s) for s in server]
        if not shape.has_sink:
            server[-1] = 0
    return canonical(server)
