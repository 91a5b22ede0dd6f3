"""How many jobs a second have come to each AFW queue over the last seconds."""

from __future__ import annotations

from collections import deque


class Rates:
    """Rates over a window that reaches back ``window_s`` seconds, or to the start.

    Formula: R = jobs that joined in (now − w, now] / w with w = min(window, max(now, least)).

    Examples
    --------
    >>> rates = Rates(1, window_s=10.0, least_s=1.0)
    >>> for time_s in (0.2, 0.4, 11.0):
    ...     rates.joined(0, time_s)
    >>> rates.rate(0, 11.0), Rates(1, 10.0, 1.0).rate(0, 0.5)
    (0.1, 0.0)
    """

    def __init__(self, queues: int, window_s: float, least_s: float) -> None:
        self._window_s, self._least_s = window_s, min(least_s, window_s)
        self._recent: list[deque[float]] = [deque() for _ in range(queues)]

    def joined(self, queue: int, now_s: float) -> None:
        """A job has joined."""
        self._recent[queue].append(now_s)

    def rate(self, queue: int, now_s: float) -> float:
        """Jobs per second."""
        recent = self._recent[queue]
        while recent and recent[0] <= now_s - self._window_s:
            recent.popleft()
        return len(recent) / min(self._window_s, max(now_s, self._least_s))
