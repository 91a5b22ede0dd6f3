"""The load that schedulers see, and background at executors.

Background is not in the queue of tasks: it stands in its own arrays in order of arrival, and each
waiting task knows how many background items stand before it.
"""

from __future__ import annotations

import math

from nona.core.compiled.memory import (
    State,
    background_end_s_of,
    background_s_of,
    background_work_s_of,
    backlog_s_of,
    clock_at,
    executor_class_of,
    executors_at,
    next_change_s_of,
    queue_length_of,
    tasks_at,
    ticks_ahead_of,
    ticks_of,
)
from nona.queries.simulation.reference.executors import TICK_S


def load_of(s: State, e: int) -> int:
    """Return the executor whose load a task in the queue of ``e`` counts for."""
    return int(executors_at(s, e).board) if clock_at(s, 0).pools else e


def promise(s: State, e: int, ticks: int) -> None:
    """Bind a task of so many picoseconds, or background, to executor ``e``."""
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free -= 1
    queue_length_of(s)[e] += 1
    ticks_ahead_of(s)[e] += ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def release(s: State, e: int, ticks: int) -> None:
    """Take a completed promise of ``ticks`` off executor ``e``."""
    queue_length_of(s)[e] -= 1
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free += 1
    ticks_ahead_of(s)[e] -= ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def release_task(s: State, place: int) -> None:
    """Release the task at ``place`` from its executor."""
    c = clock_at(s, 0)
    task = tasks_at(s, place)
    if c.board:
        release(s, load_of(s, task.executor), ticks_of(s)[executor_class_of(s)[task.executor], task.plan])


def _note_arrival(s: State, e: int) -> None:
    """Schedule the next change of the executor's load by background: an arrival or an end."""
    x = executors_at(s, e)
    change = x.next_s
    if x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] < change:
        change = background_end_s_of(s)[e, x.ended - x.dropped]
    next_change_s_of(s)[e] = change


def _end_background(s: State, e: int, now: float) -> None:
    """Take off the background tasks of ``e`` that have ended by ``now``."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] <= now:
        x.ended += 1
        release(s, e, c.mean_ticks)
        if queue_length_of(s)[e] == 0:
            c.background_freed = 1
    _note_arrival(s, e)


def next_freed_s(s: State) -> float:
    """Return the time at which the next executor busy with background alone becomes free; ``inf`` if none."""
    least = math.inf
    for e in range(clock_at(s, 0).executors):
        x = executors_at(s, e)
        running = x.served - x.ended
        if running > 0 and running == queue_length_of(s)[e]:
            least = min(least, background_end_s_of(s)[e, x.served - x.dropped - 1])
    return least


def absorb(s: State, e: int, now: float) -> None:
    """Let the background that arrived up to ``now`` join the queue."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.next_s <= now:
        if c.board:
            promise(s, e, c.mean_ticks)
        arrival = x.next_s
        x.absorbed += 1
        if not x.active and x.head < 0:
            run_background(s, e, arrival if arrival > x.free_s else x.free_s)
        x.next_s = background_s_of(s)[e, x.absorbed - x.dropped]
    if x.head >= 0 and not x.active:  # tasks wait for their batch
        catch_up(s, e, now)
    if c.board:
        _note_arrival(s, e)


def absorb_shared(s: State, e: int, now: float) -> None:
    """Let the background that arrived up to ``now`` join the queue of a pool, which decides about it."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.next_s <= now:
        if c.board:
            promise(s, e, c.mean_ticks)
        x.absorbed += 1
        x.next_s = background_s_of(s)[e, x.absorbed - x.dropped]


def hold(s: State, e: int, begin: float, service: float) -> float:
    """Executor ``e`` works from ``begin`` on for ``service`` seconds; return the end."""
    x = executors_at(s, e)
    if begin > x.free_s:
        x.idle_s += begin - x.free_s
        x.closed_s += x.free_s - x.since_s
        x.since_s = begin
    x.free_s = begin + service
    x.work_s += service
    return float(x.free_s)


def run_background(s: State, e: int, begin: float) -> None:
    """Start the next background item at ``begin``."""
    x = executors_at(s, e)
    service = background_work_s_of(s)[e, x.served - x.dropped]
    end = hold(s, e, begin, service)
    x.last = -1
    if clock_at(s, 0).board:
        background_end_s_of(s)[e, x.served - x.dropped] = end
        if end < next_change_s_of(s)[e]:
            next_change_s_of(s)[e] = end
    x.served += 1


def catch_up(s: State, e: int, until: float) -> None:
    """Run the background that waits and begins before ``until``."""
    x = executors_at(s, e)
    while x.served < x.absorbed:
        arrival = background_s_of(s)[e, x.served - x.dropped]
        begin = arrival if arrival > x.free_s else x.free_s
        if begin >= until:
            return
        run_background(s, e, begin)


def bring_up(s: State, e: int, now: float) -> None:
    """Bring the executor's background up to ``now``."""
    x = executors_at(s, e)
    if x.shared:
        absorb_shared(s, e, now)
        return
    if x.next_s <= now or (x.head >= 0 and x.served < x.absorbed):
        absorb(s, e, now)


def settle(s: State, now: float) -> None:
    """Bring the load board up to ``now``."""
    if not clock_at(s, 0).has_background:
        return
    for e in range(clock_at(s, 0).executors):
        if next_change_s_of(s)[e] <= now:
            bring_up(s, e, now)
            _end_background(s, e, now)


def busy_until(s: State, e: int, now: float) -> float:
    """Busy seconds of ``e`` from 0 to ``now``: the length of its busy periods."""
    x = executors_at(s, e)
    if x.shared:
        return float(x.closed_s + (now if x.running else min(x.free_s, now)) - x.since_s)
    bring_up(s, e, now)
    return float(x.closed_s + min(x.free_s, now) - x.since_s)


def served_until(s: State, e: int, now: float) -> float:
    """Seconds of service that the GPU of ``e`` has given by ``now``."""
    x = executors_at(s, e)
    if x.shared and executors_at(s, x.gpu_first).gpu_next >= 0:
        return float(x.given_s + x.running * x.speed * (now - x.given_at_s))
    return busy_until(s, e, now)


def work_until(s: State, e: int, now: float) -> float:
    """Seconds of service done by ``e`` by ``now``: started services less what is left of them."""
    x = executors_at(s, e)
    if x.shared:
        left_s = 0.0
        i = x.gpu_first
        while i >= 0:
            y = executors_at(s, i)
            if y.active:
                left_s += (y.end_s - now) * x.speed
            i = y.gpu_next
        return float(x.work_s - left_s)
    bring_up(s, e, now)
    return float(x.work_s - max(0.0, x.free_s - now))
