"""Instances of pools and the GPUs that they share, as in the readable engine's ``pools``.

An end that changes is pushed again; the event of the end before does not count when its time comes.
"""

from __future__ import annotations

import math

from nona.core.compiled.memory import (
    State,
    clock_at,
    due_executors_of,
    due_s_of,
    events_of,
    executors_at,
    push,
    speeds_of,
)
from nona.queries.simulation.compiled.events.loads import release


def decide_at(s: State, e: int, time_s: float) -> None:
    """Executor ``e`` decides at this instant, or before."""
    if time_s < due_s_of(s)[e]:
        c = clock_at(s, 0)
        if due_s_of(s)[e] == math.inf:
            due_executors_of(s)[c.due_executors] = e
            c.due_executors += 1
        due_s_of(s)[e] = time_s
        if time_s < c.due_s or (time_s == c.due_s and e < c.decider):
            c.due_s = time_s
            c.decider = e


def next_instance(s: State, e: int) -> int:
    """Return the idle instance of pool ``e`` whose GPU runs least; of equal ones the first."""
    best = -1
    least = 0
    i = e
    while i >= 0:
        y = executors_at(s, i)
        running = executors_at(s, y.gpu).running
        if not y.active and (best < 0 or running < least):
            best = i
            least = running
        i = y.pool_next
    return int(best)


def begin(s: State, i: int, service: float, now: float) -> None:
    """Instance ``i`` begins a step of ``service`` seconds at full speed."""
    y = executors_at(s, i)
    x = executors_at(s, y.pool)
    g = executors_at(s, y.gpu)
    x.idle -= 1
    if x.idle == 0 and now > x.idle_since_s:
        x.idle_s += now - x.idle_since_s
    if g.running == 0 and now > g.free_s:
        g.closed_s += g.free_s - g.since_s
        g.since_s = now
    g.work_s += service
    _count_given(s, y.gpu, now)
    g.running += 1
    _change_speed(s, y.gpu, now)
    y.active = 1
    _end_at(s, i, now + service / g.speed)


def end_shared(s: State, i: int, now: float) -> None:
    """End the step of instance ``i``; the others on its GPU go on faster."""
    y = executors_at(s, i)
    x = executors_at(s, y.pool)
    g = executors_at(s, y.gpu)
    y.active = 0
    _count_given(s, y.gpu, now)
    g.running -= 1
    if g.running:
        _change_speed(s, y.gpu, now)
    else:
        g.free_s = now
    if x.idle == 0:
        x.idle_since_s = now
    x.idle += 1
    if x.head >= 0 or x.served < x.absorbed:
        decide_at(s, y.pool, now)


def end_background(s: State, i: int, now: float) -> None:
    """End the background that ran on instance ``i``."""
    c = clock_at(s, 0)
    if c.board:
        release(s, executors_at(s, i).board, c.mean_ticks)
    end_shared(s, i, now)


def _count_given(s: State, gpu: int, now: float) -> None:
    g = executors_at(s, gpu)
    g.given_s += g.running * g.speed * (now - g.given_at_s)
    g.given_at_s = now


def _change_speed(s: State, gpu: int, now: float) -> None:
    """Set the speed on a GPU by its busy instances, and the ends of those that were busy before."""
    g = executors_at(s, gpu)
    before = g.speed
    g.speed = speeds_of(s)[gpu, g.running - 1]
    if g.speed == before:
        return
    i = g.gpu_first
    while i >= 0:
        y = executors_at(s, i)
        if y.active:
            _end_at(s, i, now + (y.end_s - now) * before / g.speed)
        i = y.gpu_next


def _end_at(s: State, i: int, end: float) -> None:
    c = clock_at(s, 0)
    y = executors_at(s, i)
    y.end_s = end
    push(events_of(s), c.events, end, y.key, i)
    c.events += 1
