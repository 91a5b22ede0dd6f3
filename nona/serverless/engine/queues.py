"""An AFW queue: the jobs of one function for one application, first come first served."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

RECENT = 64  # jobs over which the rate of a queue is taken


class AfwQueue:
    """Calls by (time of joining, number); knows the oldest *call* in it and its own ∫ jobs dt.

    Numbers of calls are in order of arrival, so the oldest call has the least number. ``_least`` holds
    the candidates for it: of the calls still here, those that no later one undercuts.
    """

    __slots__ = ("_last_s", "_least", "_recent", "_window", "area", "calls", "joined_s")

    def __init__(self, start_s: float, end_s: float) -> None:
        self.calls: deque[int] = deque()
        self.joined_s: deque[float] = deque()
        self._least: deque[int] = deque()
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._window = (start_s, end_s)
        self._last_s = 0.0
        self.area = 0.0

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def oldest(self) -> int:
        """The call in it that arrived first."""
        return self._least[0]

    def push(self, call: int, now_s: float) -> None:
        """A call joins; of those that join at one instant the one with the least number is first."""
        self.account(now_s)
        self._recent.append(now_s)
        self.joined_s.append(now_s)
        calls = self.calls
        if calls and calls[-1] > call and self.joined_s[-2] == now_s:
            self._squeeze_in(call, now_s)
            return
        calls.append(call)
        least = self._least
        while least and least[-1] > call:
            least.pop()
        least.append(call)

    def _squeeze_in(self, call: int, now_s: float) -> None:
        others = list(self.calls)
        place = len(others)
        while place and others[place - 1] > call and self.joined_s[place - 1] == now_s:
            place -= 1
        others.insert(place, call)
        self.calls = deque(others)
        self._rank()

    def take(self, count: int, now_s: float) -> tuple[list[int], float]:
        """The first ``count`` calls, which leave; and when the first of them had joined."""
        self.account(now_s)
        joined_s = self.joined_s[0]
        taken = []
        for _ in range(count):
            call = self.calls.popleft()
            self.joined_s.popleft()
            if self._least[0] == call:
                self._least.popleft()
            taken.append(call)
        return taken, joined_s

    def remove(self, gone: Collection[int], now_s: float) -> None:
        """The calls in ``gone`` leave; others may be named too."""
        self.account(now_s)
        kept = [(c, s) for c, s in zip(self.calls, self.joined_s, strict=True) if c not in gone]
        self.calls = deque(c for c, _ in kept)
        self.joined_s = deque(s for _, s in kept)
        self._rank()

    def _rank(self) -> None:
        """Find the candidates for the oldest call."""
        self._least.clear()
        for call in self.calls:
            while self._least and self._least[-1] > call:
                self._least.pop()
            self._least.append(call)

    def account(self, now_s: float) -> None:
        """Add what has passed since the last change to the area, as far as it lies in the window."""
        start, end = self._window
        begin = self._last_s if self._last_s > start else start
        until = now_s if now_s < end else end
        if until > begin:
            self.area += len(self.calls) * (until - begin)
        self._last_s = now_s

    def rate(self, now_s: float) -> float:
        """Jobs per second lately: those that followed the first of the last 64, per time since it."""
        recent = self._recent
        if len(recent) < 2 or now_s <= recent[0]:
            return 0.0
        return (len(recent) - 1) / (now_s - recent[0])
