"""The decision of ``nona-live``: sub-graph by sub-graph the cheapest way on, compared with staying together."""

from __future__ import annotations

import math
from typing import Any

from nona.schedulers.base import View
from nona.schedulers.live_slots import Slots, find_slots, make_slots
from nona.schedulers.live_tables import LiveTables
from nona.schedulers.live_walk import EARLIEST, LOCAL, Walk, begin_walk, make_walk, run_task, walk_graph


def decide(now: float, query: int, view: View, t: LiveTables, u: Any, out: Any) -> None:
    """Write the executor of each task of a job into ``out``.

    The whole query goes to the executor that is done with it first, unless a split one costs less: ends
    earlier, the price of its bytes counted.
    """
    s, w = make_slots(t.most_slots), make_walk(t)
    far, count = find_slots(query, view, t, s, u[0])
    whole_s = s.backlog_s[0] + t.work_s[query * t.classes + s.kind[0]]
    apart = count > 1 and split_cost_s(query, far, count, view, w, s, t) < whole_s * (1.0 - t.margin)
    for i in range(t.tasks[query + 1] - t.tasks[query]):
        slot = w.slot[i] if apart else 0
        out[i] = s.executor[slot]


def split_cost_s(query: int, far: int, count: int, view: View, w: Walk, s: Slots, t: LiveTables) -> float:
    """Place a job sub-graph by sub-graph; its cost in seconds, ``inf`` where all stays together."""
    queue_s = view.link_queue_bytes / t.core_bytes_s if t.live != 0 else 0.0
    root, end_s, price_s, alone = 0, 0.0, 0.0, True
    if t.first[query] >= 0:
        run_task(query, t.first[query], 0, queue_s, w, s, t)
    for g in range(t.graphs[query], t.graphs[query + 1]):
        for i in range(count):
            w.kept_s[i] = w.free_s[i]
        w.sent[4], w.sent[5] = w.sent[0], w.sent[1]
        way = LOCAL
        if t.configurations[g + 1] > t.configurations[g]:
            way = best_way(query, g, root, far, count, queue_s, w, s, t)
        alone = alone and way == LOCAL
        begin_walk(w)
        end_s = walk_graph(query, g, way, root, far, count, queue_s, w, s, t)
        bytes_s = t.price_s * w.sent[2]
        end_s, price_s = end_s - bytes_s, price_s + bytes_s
        if t.order[g + 1] > t.order[g]:
            root = w.slot[t.task[t.order[g + 1] - 1]]
    return math.inf if alone else end_s + price_s


def best_way(
    query: int, g: int, root: int, far: int, count: int, queue_s: float, w: Walk, s: Slots, t: LiveTables
) -> int:
    """The way of least cost through a sub-graph; the first of equals, staying together before all."""
    begin_walk(w)
    best, least = LOCAL, walk_graph(query, g, LOCAL, root, far, count, queue_s, w, s, t)
    first = 2 * t.configurations[g]
    last = 2 * t.configurations[g + 1]
    for number in range(first, last + 2):
        way = number
        if number >= last:
            way = EARLIEST - (number - last)
        elif number % 2 == 1 and count == far:  # nothing is near
            continue
        begin_walk(w)
        cost_s = walk_graph(query, g, way, root, far, count, queue_s, w, s, t)
        if cost_s < least:
            best, least = way, cost_s
    return best
