"""A queue that is fair to its owners: which work starts next, and when.

Owners take turns (round robin), the work of one owner starts in the order in which it came. An owner who
runs nothing goes before one who runs something, so no owner gets a second place while another waits for a
first. When work ends, its owner's turn comes after all others'. Hence each other owner starts at most
one piece of work while an owner without any waits. No place stays free while work waits that may take it.
The rule is that of fair queueing with one queue per source (Nagle, "On packet switches with infinite
storage", RFC 970, 1985), with several servers and without preemption.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class FairQueue(Generic[T]):
    """Work that waits and work that runs, by owner. Not locked: its user does that.

    ``places``: pieces of work that may run at once. ``each``: pieces of one owner's work that may run at once
    even if no other owner waits; 0: as many as there are places.

    >>> line = FairQueue[str](places=1)
    >>> for owner, work in (("ann", "a1"), ("ann", "a2"), ("bob", "b1"), ("ann", "a3")):
    ...     line.put(owner, work)
    >>> line.start(), line.start(), line.order()
    ('a1', None, ('b1', 'a2', 'a3'))
    >>> line.remove("a1")
    >>> line.start()
    'b1'
    """

    def __init__(self, places: int, each: int = 0) -> None:
        self.places, self.each = places, each or places
        self._waiting: dict[str, deque[T]] = {}  # all owners that wait or run, in the order of their turns
        self._running: dict[T, str] = {}  # in the order of their starts
        self._order: tuple[T, ...] | None = None

    @property
    def free(self) -> int:
        """The number of pieces of work that may start now."""
        return max(0, self.places - len(self._running))

    @property
    def running(self) -> tuple[T, ...]:
        """The running work, in the order of the starts."""
        return tuple(self._running)

    def waits(self, owner: str | None = None) -> int:
        """Count the waiting pieces of work, all or those of one owner."""
        if owner is not None:
            return len(self._waiting.get(owner, ()))
        return sum(map(len, self._waiting.values()))

    def put(self, owner: str, work: T) -> None:
        """Let work wait, behind all other work of that owner."""
        self._order = None
        self._waiting.setdefault(owner, deque()).append(work)

    def start(self) -> T | None:
        """Return the work that starts now; ``None`` if none waits, or none may start."""
        if not self.free:
            return None
        running = dict.fromkeys(self._waiting, 0)
        for owner in self._running.values():
            running[owner] += 1
        able = [o for o, work in self._waiting.items() if work and running[o] < self.each]
        if not able:
            return None
        self._order = None
        owner = min(able, key=running.__getitem__)  # of equal ones the first in turn
        work = self._waiting[owner].popleft()
        self._running[work] = owner
        return work

    def remove(self, work: T) -> None:
        """Forget work that has ended or is wanted no more."""
        self._order = None
        owner = self._running.pop(work, None)
        if owner is not None:
            self._waiting[owner] = self._waiting.pop(owner)  # its next turn comes after all others'
        else:
            owner = next((o for o, waiting in self._waiting.items() if work in waiting), None)
            if owner is not None:
                self._waiting[owner].remove(work)
        if owner is not None and not self._waiting[owner] and owner not in self._running.values():
            del self._waiting[owner]

    def order(self) -> tuple[T, ...]:
        """Return the waiting work in its order of start, if running work ends in the order of its starts."""
        if self._order is None:
            ahead = self._copy()
            order: list[T] = []
            while ahead.waits() and self.places:
                work = ahead.start()
                if work is None:
                    ahead.remove(ahead.running[0])
                else:
                    order.append(work)
            self._order = tuple(order)
        return self._order

    def _copy(self) -> FairQueue[T]:
        copy = FairQueue[T](self.places, self.each)
        copy._waiting = {owner: deque(waiting) for owner, waiting in self._waiting.items()}
        copy._running = dict(self._running)
        return copy


def wait_s(running: Iterable[float | None], ahead: Iterable[float | None], places: int) -> float | None:
    """Seconds until work starts: ``running`` ends first, then ``ahead`` runs on ``places``, in that order.

    ``running`` are the seconds that the work on the places still takes, ``ahead`` those of the work that
    starts before. Of work whose time is not known (``None``) nothing is expected; the answer is ``None`` if
    all places are taken by such work.

    >>> wait_s([30, 10], [], 2), wait_s([30, 10], [5], 2), wait_s([30, 10], [5, 40], 2)
    (10.0, 15.0, 30.0)
    >>> wait_s([None, 10], [], 2), wait_s([None, 10], [None], 2) is None
    (10.0, True)
    """
    ends = [math.inf if seconds is None else float(seconds) for seconds in running]
    ends += [0.0] * (places - len(ends))
    heapq.heapify(ends)
    for seconds in ahead:
        heapq.heapreplace(ends, math.inf if seconds is None else ends[0] + seconds)
    return ends[0] if ends and math.isfinite(ends[0]) else None
