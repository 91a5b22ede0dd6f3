"""The load board: what schedulers that read queues see of every executor."""

from __future__ import annotations

import math

from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    background_end_s_of,
    backlog_s_of,
    clock_at,
    executors_at,
    next_change_s_of,
    queue_length_of,
    ticks_ahead_of,
)
from nona.simulation.reference.load import TICK_S


def promise(s: State, e: int, ticks: int) -> None:
    """A task of so many picoseconds is bound to executor ``e``, or background has joined its queue."""
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free -= 1
    queue_length_of(s)[e] += 1
    ticks_ahead_of(s)[e] += ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def release(s: State, e: int, ticks: int) -> None:
    """What was promised is complete."""
    queue_length_of(s)[e] -= 1
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free += 1
    ticks_ahead_of(s)[e] -= ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def note_arrival(s: State, e: int) -> None:
    """The executor's next background task, or the end of one, is the next to change the board."""
    x = executors_at(s, e)
    change = x.next_s
    if x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] < change:
        change = background_end_s_of(s)[e, x.ended - x.dropped]
    next_change_s_of(s)[e] = change


def end_background(s: State, e: int, now: float) -> None:
    """Take off the background tasks of ``e`` that have ended by ``now``."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] <= now:
        x.ended += 1
        release(s, e, c.mean_ticks)
        if queue_length_of(s)[e] == 0:
            c.background_freed = 1
    note_arrival(s, e)


def next_freed_s(s: State) -> float:
    """When the next executor that only background holds will be free, as things stand."""
    least = math.inf
    for e in range(clock_at(s, 0).executors):
        x = executors_at(s, e)
        running = x.served - x.ended
        if running > 0 and running == queue_length_of(s)[e]:
            least = min(least, background_end_s_of(s)[e, x.served - x.dropped - 1])
    return least
