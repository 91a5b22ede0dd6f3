"""The decision function of every scheduler that samples configurations from tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from nona.schedulers.base import View
from nona.schedulers.sampling.tables import Ints, Tables


class Used(NamedTuple):
    """What a sub-graph uses already: the executor ``root``, and those of the parts ``begin``…``end``.

    ``clash``: some of the parts share a server, so that it must not be counted twice.
    """

    root: int
    begin: int
    end: int
    clash: bool


def entry_of(value: float, query: int, t: Tables) -> int:
    """The entry in ``t.pool`` that a uniform draw stands for: the class is drawn by its share."""
    entry = t.entries[query]
    last = t.entries[query + 1] - 1
    while entry < last and value >= t.pool_share[entry]:
        entry += 1
    return int(entry)


def rank_of(value: float, query: int, entry: int, left: int, t: Tables) -> int:
    """⌊v·left⌋, v being what is left of the draw once the class is drawn: uniform on [0, 1) again."""
    if t.entries[query + 1] - t.entries[query] > 1:
        low = t.pool_share[entry - 1] if entry > t.entries[query] else 0.0
        value = (value - low) / (t.pool_share[entry] - low)
    return min(int(value * left), left - 1)


def is_new(part: int, view: View, t: Tables, out: Ints, used: Used, whole: bool) -> bool:
    """Whether neither the root nor an earlier part stands on the executor (``whole``: server) of ``part``."""
    root = used.root
    e = out[t.task[t.tasks[part]]]
    server = view.executor_server[e]
    if e == root or (whole and server == view.executor_server[root]):
        return False
    for p in range(used.begin, part):
        other = out[t.task[t.tasks[p]]]
        if other == e or (whole and view.executor_server[other] == server):
            return False
    return True


def free_in(base: int, size: int, view: View, t: Tables, out: Ints, used: Used, whole: bool) -> int:
    """How many of the pool's ``size`` executors are unused, or stand on servers that are (``whole``)."""
    root, clash = used.root, used.clash
    left = size
    if whole:
        left -= t.server_size[base + root]
    elif t.place[base + root] >= 0:
        left -= 1
    for p in range(used.begin, used.end):
        e = out[t.task[t.tasks[p]]]
        if e != root and (not clash or is_new(p, view, t, out, used, whole=whole)):
            if whole:
                left -= t.server_size[base + e]
            elif t.place[base + e] >= 0:
                left -= 1
    return int(left)


def free_place(rank: int, base: int, view: View, t: Tables, out: Ints, used: Used, whole: bool) -> int:
    """The place in a pool of the ``rank``-th executor that the sub-graph does not use yet.

    In use are the executors of ``used``, each with its server's executors of the pool if ``whole``. The
    answer is the least x with x = rank + number of used places in the runs that start at or before x, found
    by iteration.
    """
    root, end, clash = used.root, used.end, used.clash
    x = rank
    while True:
        y = rank
        for p in range(used.begin, end + 1):
            e = root if p == end else out[t.task[t.tasks[p]]]
            if p < end and (e == root or (clash and not is_new(p, view, t, out, used, whole=whole))):
                continue
            if whole:
                if t.server_place[base + e] <= x:
                    y += t.server_size[base + e]
            elif 0 <= t.place[base + e] <= x:
                y += 1
        if y == x:
            return x
        x = y


def executor_at(rank: int, pool: int, level: int, view: View, t: Tables, out: Ints, used: Used) -> int:
    """The ``rank``-th executor of a pool on unused servers (level 2), unused (1), or any (0)."""
    if level > 0:
        base = pool * len(view.executor_server)
        rank = free_place(rank, base, view, t, out, used, whole=level == 2)
    return int(t.executor[t.pool_start[pool] + rank])


def remote_executor(u: Any, at: int, query: int, view: View, t: Tables, out: Ints, used: Used) -> int:
    """An executor for the next part: on an unused server; else an unused executor; else any.

    Its class is drawn by the shares of the query class, and kept; within it the draw is uniform over
    the executors that qualify. With two choices the one with the shorter queue.
    """
    chosen, first_pool, first_rank = -1, -1, -1
    for choice in range(t.choices):
        value = u[at + choice]
        entry = entry_of(value, query, t)
        pool = int(t.pool[entry])
        base = pool * len(view.executor_server)
        size = t.pool_start[pool + 1] - t.pool_start[pool]
        level = 2
        left = free_in(base, size, view, t, out, used, whole=True)
        if left <= 0:
            level = 1
            left = free_in(base, size, view, t, out, used, whole=False)
        if left <= 0:
            level = 0
            left = size
        if pool == first_pool:
            left -= 1
            if left < 1:
                return chosen
        rank = rank_of(value, query, entry, left, t)
        if pool == first_pool and rank >= first_rank:
            rank += 1
        e = executor_at(rank, pool, level, view, t, out, used)
        if chosen < 0:
            chosen, first_pool, first_rank = e, pool, rank
        elif view.queue_length[e] < view.queue_length[chosen]:
            chosen = e
    return chosen


def first_executor(u: Any, query: int, view: View, t: Tables) -> int:
    """The executor of a job's first task: its class by the shares, uniform within; of two, the emptier."""
    chosen, first_pool, first_rank = -1, -1, -1
    for choice in range(t.choices):
        entry = entry_of(u[choice], query, t)
        pool = int(t.pool[entry])
        left = t.pool_start[pool + 1] - t.pool_start[pool]
        if pool == first_pool:
            left -= 1
            if left < 1:
                return chosen
        rank = rank_of(u[choice], query, entry, left, t)
        if pool == first_pool and rank >= first_rank:
            rank += 1
        e = int(t.executor[t.pool_start[pool] + rank])
        if chosen < 0:
            chosen, first_pool, first_rank = e, pool, rank
        elif view.queue_length[e] < view.queue_length[chosen]:
            chosen = e
    return chosen


def place_by_table(now: float, query: int, view: View, t: Tables, u: Any, out: Ints) -> None:
    """Sample a configuration for each sub-graph and write the executor of each task into ``out``.

    The root of the first sub-graph goes to an executor drawn by the query class's shares. In each
    sub-graph the part ``root_part`` stays there, the other parts go to servers of their own, and the
    sink joins the part ``sink_part``: that executor is the root of the next sub-graph.
    """
    root = first_executor(u, query, view, t)
    several = t.entries[query + 1] - t.entries[query] > 1
    if t.first[query] >= 0:
        out[t.first[query]] = root
    for g in range(t.graphs[query], t.graphs[query + 1]):
        at = t.draw[g]
        c = t.configurations[g]
        last = t.configurations[g + 1] - 1
        if c < last:
            while c < last and u[at] >= t.cumulative[c]:
                c += 1
            at += 1
        begin = t.parts[c]
        sink = root
        clash = False  # whether two parts share a server, so that it must not be counted twice
        for p in range(begin, t.parts[c + 1]):
            e = root
            used = Used(root, begin, p, clash)
            if p != t.root_part[c]:
                e = remote_executor(u, at, query, view, t, out, used)
                at += t.choices
            if p == t.sink_part[c]:
                sink = e
            for i in range(t.tasks[p], t.tasks[p + 1]):
                out[t.task[i]] = e
            if several and not clash and e != root:
                clash = not is_new(p, view, t, out, used, whole=True)
        root = sink
        if t.sink[g] >= 0:
            out[t.sink[g]] = root
