"""The longest path of a configuration, task by task: what its time depends on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.placement.spans.single_span import Plan

# value in seconds, visits, place of the step before in the list of steps (−1: none), interior task
_Step = tuple[float, int, int, int]
_START: _Step = (0.0, 0, -1, -1)


def longest_path(
    plan: Plan, seconds: Sequence[float], link_wait: float, server_wait_s: float
) -> tuple[float, tuple[int, ...], int]:
    """Span, the interior tasks on the longest path, and its visits, with ``seconds`` for the tasks.

    The recursion is that of :mod:`nona.placement.spans.longest_paths`; ``seconds`` (m,) takes the place of
    the plan's own, so that one plan serves all shares of the executor classes.
    """
    steps: list[_Step] = [_START]
    last: list[int | None] = [0 if plan.has_root else None, *([None] * (plan.servers - 1))]
    for task, (label, time_s) in enumerate(zip(plan.labels, seconds, strict=True)):
        before = last[label]
        best: _Step = (-math.inf, 0, -1, task)
        if before is not None:
            best = (steps[before][0], steps[before][1], before, task)
        for edge in plan.inputs[task]:
            value = steps[edge.source][0] + (edge.through_s + edge.slope * link_wait)
            visits = steps[edge.source][1]
            if edge.remote:
                value, visits = value + server_wait_s, visits + 1
            if value > best[0]:
                best = (value, visits, edge.source, task)
        if not plan.inputs[task] and server_wait_s > best[0]:
            best = (server_wait_s, 1, -1, task)
        last[label] = len(steps)
        steps.append((best[0] + time_s, best[1], best[2], task))
    return _end(plan, steps, link_wait, server_wait_s)


def _end(
    plan: Plan, steps: list[_Step], link_wait: float, server_wait_s: float
) -> tuple[float, tuple[int, ...], int]:
    value, at = 0.0, 0
    for edge in plan.inputs[-1]:
        arrival = steps[edge.source][0] + (edge.through_s + edge.slope * link_wait)
        if arrival > value:
            value, at = arrival, edge.source
    if not plan.has_sink:
        for place, step in enumerate(steps[1:], start=1):
            if step[0] > value:
                value, at = step[0], place
    visits, tasks = steps[at][1], []
    while at >= 0:
        if steps[at][3] >= 0:
            tasks.append(steps[at][3])
        at = steps[at][2]
    if plan.sink_visit:
        value, visits = value + server_wait_s, visits + 1
    return value, tuple(reversed(tasks)), visits
