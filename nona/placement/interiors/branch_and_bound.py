"""Depth-first branch and bound over the servers of the tasks, one after the other.

A node of the tree assigns the first tasks in topological order. Servers are numbered by first use, so
that no two nodes differ in names alone. What the assigned tasks cost never shrinks later: their ends,
the link's load, squared batches, and the squares of the blocks of work so far; to the ends the least
time from there to the sink is added (``tail_s``), to the blocks the squares of the single tasks left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nona.compiled import compiled


@compiled
def _through(f: Any, e: int, server: Any, known: int) -> Any:
    """(seconds at the link until edge ``e``'s tensor is through, whether no edge before sent it)."""
    u, place = f.source[e], server[f.target[e]]
    home = server[u]
    sent = 0.0
    for at in range(f.out_at[u], f.out_at[u + 1]):
        other = f.out[at]
        end = f.target[other]
        if end > known or server[end] == home:
            continue
        first = True
        for before in range(f.out_at[u], at):
            twin = f.out[before]
            goal = f.target[twin]
            if f.tensor[twin] == f.tensor[other] and goal <= known and server[goal] == server[end]:
                first = False
        same = f.tensor[other] == f.tensor[e] and server[end] == place
        if f.fifo:
            if first:
                sent += f.link_s[other]
            if same:
                return sent
        elif first:
            sent += min(f.link_s[other], f.link_s[e])
    return sent


@compiled
def _is_new(f: Any, e: int, server: Any) -> bool:
    """Whether the message of edge ``e`` is sent by no edge to an earlier task, or before it in the list."""
    u, v = f.source[e], f.target[e]
    for at in range(f.out_at[u], f.out_at[u + 1]):
        other = f.out[at]
        end = f.target[other]
        same = f.tensor[other] == f.tensor[e] and server[end] == server[v]
        if same and (end < v or (end == v and other < e)):
            return False
    return True


@compiled
def _arrival(f: Any, v: int, server: Any, end_s: Any, known: int) -> Any:
    """(when the last input of ``v`` is there and it may start, its own executor aside; another's input?)."""
    ready, cut = 0.0, False
    if v <= f.m and f.into_at[v] == f.into_at[v + 1]:
        ready = f.visit_s
    for at in range(f.into_at[v], f.into_at[v + 1]):
        e = f.into[at]
        u = f.source[e]
        arrives = end_s[u]
        if server[u] != server[v]:
            moved = f.queued * (_through(f, e, server, known) - f.link_s[e]) + f.own * f.link_s[e]
            arrives += f.latency_s + (moved + f.wait if f.fifo else moved * (1.0 + f.wait))
            if v <= f.m:
                arrives += f.visit_s
            if u > 0:
                cut = True
        ready = max(ready, arrives)
    return ready, cut


@compiled
def span_of(f: Any, server: Any) -> float:
    """The span of a whole configuration, ``server`` (m+2,) with the root's 0 and the sink's."""
    end_s, free = np.zeros(f.m + 2), np.full(f.slots + 2, -1e300)
    if f.has_root:
        free[0] = 0.0
    away, latest = False, 0.0
    for v in range(1, f.m + 1):
        ready, _ = _arrival(f, v, server, end_s, f.m + 1)
        end_s[v] = max(ready, free[server[v]]) + f.time_s[v]
        free[server[v]] = end_s[v]
        away = away or server[v] != 0
        latest = max(latest, end_s[v])
    if f.has_sink:
        latest, _ = _arrival(f, f.m + 1, server, end_s, f.m + 1)
        if away or server[f.m + 1] != 0:
            latest += f.visit_s
    return latest


@compiled
def _carry(v: int, used: int, free: Any, batch: Any, block: Any, on_root: Any) -> None:
    """The state after the tasks before ``v`` as that of ``v``, to be added to."""
    for s in range(used + 1):
        free[v, s] = free[v - 1, s]
        on_root[v, s] = on_root[v - 1, s]
        for k in range(block.shape[1]):
            block[v, k, s] = block[v - 1, k, s]
    free[v, used + 1], on_root[v, used + 1] = -1e300, False  # a server not yet in use
    for k in range(block.shape[1]):
        block[v, k, used + 1] = 0.0
    for u in range(v + 1):
        batch[v, u] = batch[v - 1, u]


@compiled
def _squares_left(f: Any) -> Any:
    """(m+3,) Charge of the blocks that the tasks from each on have at least: those of single tasks."""
    left = np.zeros(f.m + 3)
    for v in range(f.m, 0, -1):
        left[v] = left[v + 1]
        for k in range(len(f.factor)):
            left[v] += f.factor[k] * f.class_s[k, v] ** 2
    return left


@compiled
def _root_charge(f: Any) -> float:
    """Charge of the root's own work, which every configuration has."""
    charge = 0.0
    for k in range(len(f.factor)):
        charge += f.factor[k] * (f.run_s[k] * f.root_s[k] + f.root_s[k] ** 2)
    return charge


@compiled
def search(f: Any, tail_s: Any, best: float, found: Any, most: int) -> Any:
    """The best configuration that is not local and below ``best``, written into ``found`` (m+2,).

    Returns its cost (``best`` if none is better), a bound on all of them, and the nodes looked at;
    after ``most`` nodes the rest of the tree is left to the bound.
    """
    m, classes = f.m, len(f.factor)
    server, used = np.zeros(m + 2, dtype=np.int64), np.zeros(m + 2, dtype=np.int64)
    following = np.zeros(m + 3, dtype=np.int64)
    end_s, free = np.zeros(m + 2), np.full((m + 2, f.slots + 2), -1e300)
    batch, block = np.zeros((m + 2, m + 2)), np.zeros((m + 2, classes, f.slots + 2))
    on_root = np.zeros((m + 2, f.slots + 2), dtype=np.bool_)
    latest, charge, bound = np.zeros(m + 2), np.zeros(m + 2), np.zeros(m + 2)
    left, on_root[0, 0] = _squares_left(f), True
    charge[0] = _root_charge(f)
    if f.has_root:
        free[0, 0] = 0.0
    last_visit = f.visit_s if f.has_sink else 0.0
    bound[0] = tail_s[0] + last_visit + charge[0] + left[1]
    open_bound, nodes, v = np.inf, 0, 1
    while v >= 1:
        if nodes >= most:
            for d in range(1, v + 1):
                open_bound = min(open_bound, bound[d - 1])
            break
        place = following[v]
        limit = min(used[v - 1] + 1, f.slots - 1) if v <= m else (used[m] if f.has_sink else 0)
        if place > limit or bound[v - 1] >= best:
            following[v] = 0
            v -= 1
            continue
        following[v] = place + 1
        nodes += 1
        server[v] = place
        if v == m + 1:
            if used[m] > 0:
                total = _whole(f, server, charge[m])
                if total < best:
                    best = total
                    found[:] = server
            continue
        ready, cut = _arrival(f, v, server, end_s, v)
        _carry(v, used[v - 1], free, batch, block, on_root)
        charge[v] = charge[v - 1] + _sent(f, v, server, batch[v])
        charge[v] += _worked(f, v, place, cut, block[v], on_root[v])
        end_s[v] = max(ready, free[v, place]) + f.time_s[v]
        free[v, place] = end_s[v]
        latest[v] = max(latest[v - 1], end_s[v] + tail_s[v])
        used[v] = max(used[v - 1], place)
        bound[v] = max(bound[v - 1], max(latest[v], tail_s[0]) + last_visit + charge[v] + left[v + 1])
        if bound[v] < best:
            v += 1
            following[v] = 0
    return best, min(best, open_bound), nodes


@compiled
def _sent(f: Any, v: int, server: Any, batch: Any) -> float:
    """Charge of the messages that the place of ``v`` adds; ``batch`` (m+2,) is brought up to date."""
    added = 0.0
    for at in range(f.into_at[v], f.into_at[v + 1]):
        e = f.into[at]
        u = f.source[e]
        if server[u] != server[v] and _is_new(f, e, server):
            grown = batch[u] + f.link_s[e]
            added += f.load * f.link_s[e] + f.square * (grown**2 - batch[u] ** 2)
            batch[u] = grown
    return added


@compiled
def _worked(f: Any, v: int, place: int, cut: bool, block: Any, on_root: Any) -> float:
    """Charge of the work that ``v`` adds to the open block of its server."""
    added = 0.0
    if cut:
        on_root[place] = False
    for k in range(len(f.factor)):
        if cut:
            block[k, place] = 0.0
        before, time = block[k, place], f.class_s[k, v]
        squares = time * (2.0 * before + time)
        if on_root[place]:
            squares += time * (f.run_s[k] + 2.0 * f.root_s[k])
        added += f.factor[k] * squares
        block[k, place] = before + time
    return added


@compiled
def _whole(f: Any, server: Any, charge: float) -> float:
    """Cost of a whole configuration; ``charge`` is that of its interior."""
    batch = np.zeros(f.m + 2)
    for u in range(f.m + 2):
        for at in range(f.out_at[u], f.out_at[u + 1]):
            e = f.out[at]
            if f.target[e] <= f.m and server[u] != server[f.target[e]] and _is_new(f, e, server):
                batch[u] += f.link_s[e]
    return span_of(f, server) + charge + _sent(f, f.m + 1, server, batch)
