"""One link that serves first come, first served, with its background merged in.

It has no events of its own: when a message joins, all that stands before it is known, so its end is
too. Background messages are merged in when the link is looked at. The compiled engine has the same rule
once more, in its own code (:func:`nona.simulation.compiled.events.links.join_link`), so that the two
engines can check each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator


class Lane:
    """State of one link. Work is in seconds of it alone: bytes / capacity.

    ``free_s``: when all that has joined will have been served; ``since_s``: start of the busy
    period; ``closed_s``: length of the busy periods before it; ``work_s``: sum of the services
    begun or promised; ``reserved_s``: when the messages of queries alone would have been served.
    """

    def __init__(self, background: Iterator[tuple[float, float]]) -> None:
        self._items = background
        self.free_s = self.since_s = self.closed_s = self.work_s = self.reserved_s = 0.0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))

    def serve(self, now: float, work: float) -> float:
        """Let a message join; return the start of its service. Its end is :attr:`free_s`."""
        if self._next_s <= now:
            self._absorb(now)
        return self._join(now, work)

    def _join(self, at: float, work: float) -> float:
        """Queue ``work`` at ``at``, behind all before it; return the time at which it begins."""
        start = self.free_s
        if start < at:
            self.closed_s += start - self.since_s
            self.since_s = start = at
        self.free_s = start + work
        self.work_s += work
        return start

    def reserve(self, now: float, work: float) -> float:
        """Enter a requested message of a query that will cross this link; return :attr:`reserved_s`."""
        self.reserved_s = reserved = max(self.reserved_s, now) + work
        return reserved

    def _absorb(self, now: float) -> None:
        while self._next_s <= now:
            self._join(self._next_s, self._next_work_s)
            self._next_s, self._next_work_s = next(self._items)

    def pending_s(self, now: float) -> float:
        """Work waiting or in service, background included."""
        self._absorb(now)
        return max(0.0, self.free_s - now)

    def busy_until(self, now: float) -> float:
        """Length of the busy periods from 0 to ``now``."""
        self._absorb(now)
        return self.closed_s + min(self.free_s, now) - self.since_s

    def work_until(self, now: float) -> float:
        """Work done by ``now``."""
        self._absorb(now)
        return self.work_s - max(0.0, self.free_s - now)
