"""The decision of ``nona-live``: sub-graph by sub-graph the cheapest way on, compared with staying together."""

from __future__ import annotations

import math
from typing import Any

from nona.schedulers.base import View
from nona.schedulers.live_slots import find_slots, make_slots
from nona.schedulers.live_tables import LiveTables
from nona.schedulers.live_walk import EARLIEST, LOCAL, begin_walk, make_walk, run_task, walk_graph


def decide(now: float, query: int, view: View, t: LiveTables, u: Any, out: Any) -> None:
    """Write the executor of each task of a job into ``out``."""
    s, w = make_slots(t.most_slots), make_walk(t)
    far, count = find_slots(query, view, t, s, u[0])
    base, tasks = t.tasks[query], t.tasks[query + 1] - t.tasks[query]
    whole_s = s.backlog_s[0] + t.work_s[query * t.classes + s.kind[0]]
    split_s = math.inf
    if count > 1:
        split_s = split(query, far, count, view, w, s, t)
    for i in range(tasks):
        out[i] = s.executor[w.slot[i]] if split_s < whole_s * (1.0 - t.margin) else s.executor[0]


def split(query: int, far: int, count: int, view: View, w: Any, s: Any, t: LiveTables) -> float:
    """Place sub-graph by sub-graph; the job's cost in seconds, ``inf`` where all stays together."""
    queue_s = view.link_queue_bytes / t.core_bytes_s if t.live != 0 else 0.0
    base, root, cost, held_s, last_s, alone = t.tasks[query], 0, 0.0, 0.0, 0.0, True
    bytes_s = 0.0
    if t.first[query] >= 0:
        run_task(base + t.first[query], t.first[query], 0, queue_s, w, s, t)
    for g in range(t.graphs[query], t.graphs[query + 1]):
        for i in range(count):
            w.kept_s[i] = w.free_s[i]
        choice, near, back = LOCAL, False, 0.0
        if t.configurations[g + 1] > t.configurations[g]:
            begin_walk(w, held_s, last_s)
            least = walk_graph(query, g, LOCAL, False, 0.0, root, far, count, queue_s, w, s, t)
            for way in range(2 if count > far else 1):
                for c in range(t.configurations[g], t.configurations[g + 1]):
                    begin_walk(w, held_s, last_s)
                    done = walk_graph(
                        query, g, t.labels[c], way == 1, 0.0, root, far, count, queue_s, w, s, t
                    )
                    if done < least:
                        least, choice, near = done, t.labels[c], way == 1
            for way in range(2):
                begin_walk(w, held_s, last_s)
                done = walk_graph(
                    query, g, EARLIEST, False, float(way), root, far, count, queue_s, w, s, t
                )
                if done < least:
                    least, choice, near, back = done, EARLIEST, False, float(way)
        begin_walk(w, held_s, last_s)
        cost = walk_graph(query, g, choice, near, back, root, far, count, queue_s, w, s, t)
        held_s, last_s = w.sent[0], w.sent[1]
        bytes_s += t.price_s * w.sent[2]
        cost = cost - t.price_s * w.sent[2]
        alone = alone and choice == LOCAL
        root = w.slot[t.task[t.order[g + 1] - 1]] if t.order[g + 1] > t.order[g] else root
    return math.inf if alone else cost + bytes_s
