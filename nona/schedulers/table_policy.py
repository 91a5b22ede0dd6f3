"""The decision function of every scheduler that samples configurations from tables."""

from __future__ import annotations

from typing import Any

from nona.schedulers.base import View
from nona.schedulers.tables import Ints, Tables


def free_place(rank: int, t: Tables, out: Ints, root: int, begin: int, end: int, whole_servers: bool) -> int:
    """The place in ``t.executor`` of the ``rank``-th executor that the sub-graph does not use yet.

    In use are ``root`` and the executors of the parts ``begin``…``end`` (read from ``out``), each
    with its whole server if ``whole_servers``. The answer is the least x with
    x = rank + number of used places in the runs that start at or before x, found by iteration.
    """
    x = rank
    while True:
        y = rank
        for p in range(begin, end + 1):
            e = root if p == end else out[t.task[t.tasks[p]]]
            if p < end and e == root:
                continue
            at = t.server_place[e] if whole_servers else t.place[e]
            if at <= x:
                y += t.server_size[e] if whole_servers else 1
        if y == x:
            return x
        x = y


def remote_executor(
    u: Any, at: int, view: View, t: Tables, out: Ints, root: int, begin: int, end: int
) -> int:
    """An executor for the next part: on an unused server; else an unused executor; else any.

    Uniform over the executors that qualify. With two choices the one with the shorter queue.
    """
    total = len(t.executor)
    servers_left = total - t.server_size[root]
    executors_left = total - 1
    for p in range(begin, end):
        e = out[t.task[t.tasks[p]]]
        if e != root:
            servers_left -= t.server_size[e]
            executors_left -= 1
    whole = servers_left > 0
    left = servers_left if whole else executors_left
    skip = left > 0
    if not skip:
        left = total
    rank = int(u[at] * left)
    chosen = t.executor[free_place(rank, t, out, root, begin, end, whole) if skip else rank]
    if t.choices == 2 and left > 1:
        other_rank = int(u[at + 1] * (left - 1))
        if other_rank >= rank:
            other_rank += 1
        other = t.executor[free_place(other_rank, t, out, root, begin, end, whole) if skip else other_rank]
        if view.queue_length[other] < view.queue_length[chosen]:
            chosen = other
    return int(chosen)


def place_by_table(now: float, query: int, view: View, t: Tables, u: Any, out: Ints) -> None:
    """Sample a configuration for each sub-graph and write the executor of each task into ``out``.

    The root of the first sub-graph goes to a uniform executor. In each sub-graph the part
    ``root_part`` stays there, the other parts go to servers of their own, and the sink joins the
    part ``sink_part``: that executor is the root of the next sub-graph.
    """
    total = len(t.executor)
    root = int(u[0] * total)
    if t.choices == 2 and total > 1:
        other = int(u[1] * (total - 1))
        if other >= root:
            other += 1
        if view.queue_length[other] < view.queue_length[root]:
            root = other
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
        for p in range(begin, t.parts[c + 1]):
            e = root
            if p != t.root_part[c]:
                e = remote_executor(u, at, view, t, out, root, begin, p)
                at += t.choices
            if p == t.sink_part[c]:
                sink = e
            for i in range(t.tasks[p], t.tasks[p + 1]):
                out[t.task[i]] = e
        root = sink
        if t.sink[g] >= 0:
            out[t.sink[g]] = root
