"""The state of every call, and the queue of each function of an application."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from nona.serverless.engine.invokers import Tables
from nona.serverless.engine.options import RunOptions
from nona.serverless.records import Calls
from nona.serverless.system import calls, noise_factors


class CallBook:
    """Calls by number, in order of arrival; what each stage of a call has is at ``call · width + stage``.

    Attributes
    ----------
    waiting
        Predecessors of a stage that have not ended.
    left
        Stages of a call that have not ended.
    carried
        The plan that a call carries, or ``None``.
    dropped_s
        When calls were dropped.
    batch
        The batch that serves a stage, −1 for none.
    arrived, completed, hits, open_measured
        Counts, kept up to date.
    """

    def __init__(self, tables: Tables, options: RunOptions) -> None:
        system = tables.system
        arrival_s, application = calls(system, options.most, options.replication)
        self.width = width = tables.widest
        self.arrival_s: list[float] = arrival_s.tolist()
        self.application: list[int] = application.tolist()
        self.noise: list[float] = noise_factors(system, application, options.replication).ravel().tolist()
        before = np.zeros((len(system.applications), width), dtype=np.int64)
        for queue, stages in enumerate(tables.before):
            before[tables.application[queue], tables.stage[queue]] = len(stages)
        self.waiting: list[int] = before[application].ravel().tolist()
        stages_of = np.array([app.stages for app in system.applications])
        self.left: list[int] = stages_of[application].tolist()
        n = len(self.arrival_s)
        self.carried: list[tuple[int, ...] | None] = [None] * n
        self.batch = [-1] * (n * width)
        self.completion_s = [math.nan] * n
        self.dropped_s: dict[int, float] = {}
        self.slo_s = [tables.slo_s[a] for a in self.application]
        self.first, self.end = options.first, options.first + options.calls
        self.start_s, self.end_s = self.arrival_s[self.first], self.arrival_s[self.end - 1]
        self.arrived = self.completed = self.hits = 0
        self.open_measured = options.calls

    def complete(self, call: int, now_s: float) -> None:
        """The last stage of a call has ended."""
        self.completion_s[call] = now_s
        self.completed += 1
        if now_s - self.arrival_s[call] <= self.slo_s[call]:
            self.hits += 1
        if self.first <= call < self.end:
            self.open_measured -= 1

    def drop(self, call: int, now_s: float) -> None:
        """A call leaves unserved."""
        self.dropped_s[call] = now_s
        if self.first <= call < self.end:
            self.open_measured -= 1

    def records(self) -> Calls:
        """The calls that have arrived."""
        n = self.arrived
        dropped_s = np.full(n, np.nan)
        dropped_s[list(self.dropped_s)] = list(self.dropped_s.values())
        measured = np.zeros(n, dtype=bool)
        measured[self.first : self.end] = True
        batch: NDArray[np.int64] = np.array(self.batch, dtype=np.int64).reshape(-1, self.width)[:n]
        return Calls(
            application=np.array(self.application[:n], dtype=np.int64),
            arrival_s=np.array(self.arrival_s[:n]),
            completion_s=np.array(self.completion_s[:n]),
            measured=measured,
            batch=batch,
            dropped_s=dropped_s,
        )


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
        """Take the first ``count`` calls; return them, and the time at which the first had joined."""
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
        """Add the time since the last change to the area, as far as it lies in the window."""
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
