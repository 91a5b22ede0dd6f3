"""The decision of ``nona-live``: the cheapest way through each sub-graph, compared with staying together."""

from __future__ import annotations

import math
from typing import Any

from nona.schedulers.base import View
from nona.schedulers.live.slots import Job, Slots, find_slots, make_slots
from nona.schedulers.live.state import Walk, begin_walk, make_walk
from nona.schedulers.live.tables import LiveTables
from nona.schedulers.live.waits import scarcity
from nona.schedulers.live.walk import LOCAL, run_task, walk_graph


def decide(now: float, query: int, view: View, t: LiveTables, u: Any, out: Any) -> None:
    """Write the executor of each task of a job into ``out``.

    The whole query goes to the executor that is done with it first, unless a split one costs less: ends
    earlier, the price of its bytes counted, by ``margin`` of its time where executors are scarce. A job
    whose second draw is above the quota is not split.
    """
    s, w, x = make_slots(t.most_slots), make_walk(t), t.expected
    job = find_slots(query, view, t, s, u[0])
    apart = False
    if job.size > 1 and u[1] < t.quota[query]:
        work_s = t.work_s[query * t.classes + s.kind[0]]
        whole_s = s.backlog_s[0] + work_s - x.margin * scarcity(query, work_s, s, x) * work_s
        apart = split_cost_s(job, w, s, t) < whole_s
    for i in range(t.tasks[query + 1] - t.tasks[query]):
        slot = w.slot[i] if apart else 0
        out[i] = s.executor[slot]


def split_cost_s(job: Job, w: Walk, s: Slots, t: LiveTables) -> float:
    """Place a job sub-graph by sub-graph; its cost in seconds, ``inf`` where all stays together."""
    query, x = job.query, t.expected
    w.price_s[0] = max(t.price_s, x.senders * job.queue_s / (1.0 - x.link_load) / t.core_bytes_s)
    root, end_s, paid_s, alone = 0, 0.0, 0.0, True
    if t.first[query] >= 0:
        run_task(t.first[query], 0, job, w, s, t)
    for g in range(t.graphs[query], t.graphs[query + 1]):
        for i in range(job.size):
            w.kept_s[i] = w.free_s[i]
        w.sent[4], w.sent[5] = w.sent[0], w.sent[1]
        way = take_best_way(g, root, job, w, s, t)
        alone = alone and way == LOCAL
        end_s = w.price_s[2]
        paid_s += w.price_s[0] * w.sent[2] + w.price_s[1]
        w.sent[6] += w.sent[2]
        if t.order[g + 1] > t.order[g]:
            root = w.slot[t.task[t.order[g + 1] - 1]]
    return math.inf if alone else end_s + paid_s


def take_best_way(g: int, root: int, job: Job, w: Walk, s: Slots, t: LiveTables) -> int:
    """Walk a sub-graph the way that costs least; the first of equals, staying together before all."""
    best, least = LOCAL, math.inf
    first, last = 2 * t.configurations[g], 2 * t.configurations[g + 1]
    ways = last - first + 3 if first < last else 1  # local, twice the earliest, configurations twice
    for i in range(ways + 1 if ways > 1 else 1):
        number = LOCAL - i if i < 3 else first + i - 3
        if i > 0 and i == ways:
            number = best
        elif i >= 3 and number % 2 == 1 and job.size == job.far:  # nothing is near
            continue
        begin_walk(w)
        end_s = walk_graph(g, number, root, job, w, s, t)
        w.price_s[2] = end_s
        cost_s = end_s + w.price_s[0] * w.sent[2] + w.price_s[1]
        if cost_s < least:
            best, least = number, cost_s
    return best
