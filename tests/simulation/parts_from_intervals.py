"""The parts of completion times by a second route: from the recorded intervals alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from nona.simulation.records import Records
from nona.system import System


def recomputed(system: System, records: Records, picked: bool) -> np.ndarray:
    """(n, 5) Parts of the jobs of the timeline. For picked tasks every tensor must have one reader."""
    timeline = records.timeline
    assert timeline is not None
    messages: dict[int, dict[tuple[int, int], Any]] = {}
    for m in timeline.messages:
        messages.setdefault(m.job, {})[m.tensor, m.destination] = m
    rows = []
    for job, tasks in groupby(timeline.tasks, key=lambda t: t.job):
        arrival_s = records.arrival_s[job - timeline.tasks[0].job]
        rows.append(_one(system, {t.task: t for t in tasks}, messages.get(job, {}), arrival_s, picked))
    return np.array(rows)


def _one(
    system: System,
    tasks: dict[int, Any],
    messages: dict[tuple[int, int], Any],
    arrival_s: float,
    picked: bool,
) -> list[float]:
    graph = system.queries[tasks[0].query].tasks
    edges = sorted(
        zip(graph.edge_tensor.tolist(), graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True)
    )
    server = {t: int(system.executor_server[i.executor]) for t, i in tasks.items()}
    compute = transfer = link = wait = own = 0.0
    task = max(tasks, key=lambda t: (tasks[t].end_s, t))  # ends at one instant go by number
    while True:
        here, inputs = tasks[task], [(k, s) for k, s, t in edges if t == task]
        compute += here.end_s - here.start_s
        wait += here.start_s - here.ready_s
        others = [i for t, i in tasks.items() if t != task and i.executor == here.executor]
        own += _within(others, here.ready_s, here.start_s)
        remote = [(messages[k, server[task]], s) for k, s in inputs if server[s] != server[task]]
        last = [(m, s) for m, s in remote if m.delivered_s == here.ready_s]
        since = here.ready_s  # until when the last message was on its way, from which instant
        if picked:
            since = remote[0][0].request_s if remote else here.ready_s
            source = max((s for _, s in inputs), key=lambda s: (tasks[s].end_s, -s), default=None)
            before_s = arrival_s if source is None else tasks[source].end_s
            wait += since - before_s
            own += _within(others, before_s, since)
        else:
            ended = [s for _, s in inputs if server[s] == server[task] and tasks[s].end_s == here.ready_s]
            source = ended[0] if ended else last[-1][1] if inputs else None
            since = arrival_s if source is None else tasks[source].end_s
        if last and here.ready_s > since:
            message, producer = last[-1]
            alone = system.isolated_s(graph.tensor_bytes[message.tensor], server[producer], server[task])
            transfer += min(alone, here.ready_s - since)
            link += max(0.0, here.ready_s - since - alone)
        if source is None:
            return [compute, transfer, link, wait - own, own]
        task = source


def _within(intervals: Sequence[Any], begin_s: float, end_s: float) -> float:
    """Seconds between two instants in which one of the tasks runs; on one executor none overlap."""
    instants = sorted({begin_s, end_s, *(t for i in intervals for t in (i.start_s, i.end_s))})
    return sum(
        b - a
        for a, b in pairwise(instants)
        if begin_s <= a and b <= end_s and any(i.start_s <= a and b <= i.end_s for i in intervals)
    )
