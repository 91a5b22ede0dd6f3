"""Good configurations of large interiors: list scheduling, and a local search that moves tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.labels import Labels, canonical
from nona.placement.configurations.shape import Shape
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.longest_paths import spans
from nona.placement.spans.messages import Link

_WORK = 4_000_000  # task evaluations of one search, and of one of its rounds, which bounds its time


def list_schedule(shape: Shape, link: Link, servers: int, message_s: float) -> tuple[int, ...]:
    """Labels of a greedy schedule: each task, in order, where it ends first.

    A message takes ``message_s`` plus its own transfer; ties go to the server with the lowest
    label (after H. Topcuoglu et al., Performance-Effective Task Scheduling, 2002: the earliest
    finish time without insertion, tasks in topological order).
    """
    free = [0.0] * servers
    end, place = [0.0] * (shape.m + 2), [0] * (shape.m + 2)
    for v in range(1, shape.m + 2):
        time = float(shape.mean_s[v - 1]) if v <= shape.m else 0.0
        finish = []
        for server in range(servers):
            ready = 0.0
            for e in shape.edges_into[v]:
                u = int(shape.source[e])
                moved = message_s + link.latency_s + float(shape.size[e]) / link.speed
                ready = max(ready, end[u] + (moved if place[u] != server and link.crosses else 0.0))
            finish.append(max(ready, free[server]) + time)
        place[v] = min(range(servers), key=lambda s: (finish[s], s))
        end[v] = free[place[v]] = finish[place[v]]
    return canonical(place[1:] if shape.has_sink else [*place[1:-1], 0])


def improve(candidates: Candidates, slots: int) -> Labels:
    """Add to the candidates what moving single tasks makes of the best of them.

    For several waits of the link and prices of its load, the best candidate is taken and the best
    move of one task (or the sink) to another server in use, the root's or a new one, is made while
    that lowers span + price·load. The number of evaluations is bounded; interiors so large that one
    round would exceed it are left as they are.
    """
    shape = candidates.shape
    found = {tuple(row) for row in candidates.labels.tolist()}
    scale = shape.local_s
    prices = [(0.0, 0.0), (0.02 * scale, 0.0), (0.1 * scale, 0.0), (0.0, 1.0), (0.02 * scale, 4.0)]
    for wait, price in prices:
        budget = _WORK // len(prices)
        score = _score(candidates, wait, price)
        row, best = candidates.labels[int(np.argmin(score))], float(score.min())
        while budget > 0 and (int(row.max()) + 1) * shape.m**2 <= _WORK:
            moves = _moves(row, shape.has_sink, slots)
            budget -= len(moves) * shape.m
            tried = Candidates(shape, moves, candidates.link)
            score = _score(tried, wait, price)
            if not len(moves) or score.min() >= best * (1 - 1e-9):
                break
            row, best = moves[int(np.argmin(score))], float(score.min())
        found.add(canonical(row.tolist()))
    local = (0,) * (shape.m + 1)
    return np.array([local, *sorted(found - {local})], dtype=np.int64)


def _score(c: Candidates, wait: float, price: float) -> NDArray[np.float64]:
    stretched = wait if c.link.discipline == "fifo" else (0.1 if wait > 0 else 0.0)
    score: NDArray[np.float64] = spans(c, stretched, 0.0)[0] + price * c.messages.load_s
    return score


def _moves(row: NDArray[np.int64], has_sink: bool, slots: int) -> Labels:
    """All rows that differ from ``row`` in one entry."""
    labels = range(min(int(row.max()) + 2, slots))
    moves = []
    for i in range(len(row) if has_sink else len(row) - 1):
        for label in labels:
            if label != row[i]:
                moved = row.copy()
                moved[i] = label
                moves.append(moved)
    return np.array(moves, dtype=np.int64).reshape(-1, len(row))
