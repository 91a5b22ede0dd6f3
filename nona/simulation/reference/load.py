"""The load board: what schedulers that read queues see of every executor."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

TICK_S = 1e-12


class LoadBoard:
    """Queue lengths and backlogs, kept up to date only for schedulers that read them.

    ``queue_length`` (E,) counts the tasks bound to an executor that are not complete, and the
    background that waits or runs there. ``backlog_s`` (E,) adds up their modelled times (of
    background: the mean). They are added and taken off in whole picoseconds, so that equal loads
    are equal, whatever came before. ``free`` counts the executors with nothing;
    ``background_freed`` says whether the end of background has freed one since it was last set to false.
    ``card_bytes_s``: what is promised at the cards of the servers, see :class:`~nona.schedulers.base.View`.
    """

    def __init__(self, executors: int, background_mean_s: float, servers: int = 0) -> None:
        self.queue_length = np.zeros(executors, dtype=np.int64)
        self.backlog_s = np.zeros(executors)
        self.card_bytes_s = np.zeros(2 * servers)
        self.next_change_s = np.full(executors, math.inf)
        self.free = executors
        self.background_freed = False
        self._ends: list[deque[float]] = [deque() for _ in range(executors)]
        self._mean_s = background_mean_s
        self._ticks = [0] * executors

    def promise(self, e: int, modelled_s: float) -> None:
        """A task is bound to executor ``e``."""
        if self.queue_length[e] == 0:
            self.free -= 1
        self.queue_length[e] += 1
        self._ticks[e] += round(modelled_s / TICK_S)
        self.backlog_s[e] = self._ticks[e] * TICK_S

    def release(self, e: int, modelled_s: float) -> None:
        """A task on executor ``e`` is complete."""
        self.queue_length[e] -= 1
        if self.queue_length[e] == 0:
            self.free += 1
        self._ticks[e] -= round(modelled_s / TICK_S)
        self.backlog_s[e] = self._ticks[e] * TICK_S

    def add_background(self, e: int) -> None:
        """A background task has joined the queue of ``e``."""
        self.promise(e, self._mean_s)

    def note_arrival(self, e: int, next_arrival_s: float) -> None:
        """The next background task of ``e`` arrives then."""
        ends = self._ends[e]
        self.next_change_s[e] = min(next_arrival_s, ends[0]) if ends else next_arrival_s

    def note_end(self, e: int, end_s: float) -> None:
        """A background task on ``e`` has its end fixed."""
        self._ends[e].append(end_s)
        self.next_change_s[e] = min(self.next_change_s[e], end_s)

    def end_background(self, e: int, now: float, next_arrival_s: float) -> None:
        """Take off the background tasks of ``e`` that have ended by ``now``."""
        ends = self._ends[e]
        while ends and ends[0] <= now:
            ends.popleft()
            self.release(e, self._mean_s)
            self.background_freed |= bool(self.queue_length[e] == 0)
        self.note_arrival(e, next_arrival_s)

    def next_freed_s(self) -> float:
        """When the next executor that only background holds will be free, as things stand."""
        waiting = (ends for e, ends in enumerate(self._ends) if len(ends) == self.queue_length[e])
        return min((ends[-1] for ends in waiting if ends), default=math.inf)
