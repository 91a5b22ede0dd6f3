"""Containers of functions on invokers: cold and warm starts, keep-alive, pre-warming.

The data structure has no clock of its own. Its methods return the times at which its user shall call
:meth:`Containers.due` for that invoker and function; calls too many do no harm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from nona.scenario.serverless import ContainersSpec

Times = tuple[float, ...]


class _Kept:
    """The containers of one function on one invoker.

    ``idle``: since when each is idle, so the last one was used last; ``starting``: heap of when each is
    ready; ``check_s``: when an expiry is looked for, −1 for never.
    """

    __slots__ = ("busy", "check_s", "gap_s", "idle", "last_s", "starting")

    def __init__(self, warm: int) -> None:
        self.idle: deque[float] = deque([0.0] * warm)
        self.starting: list[float] = []
        self.busy = 0
        self.check_s = self.last_s = self.gap_s = -1.0


class Containers:
    """All containers. At the start ``warm`` are idle for each function on each invoker.

    A batch takes the idle container that was used last, or starts one (a cold start); at its end the
    container is idle, and goes away when it has been so for ``keep_alive``. Pre-warming:

    * ``spare``: whenever a batch leaves fewer than ``spare`` idle or starting, one more starts;
    * ``ewma``: when the last container goes away, one is started so as to be ready at

          last + m,   m ← weight · gap + (1 − weight) · m,

      where ``last`` is when the last batch came and the gaps are those between batches; as soon as it
      can be if that is too early, and not at all if that time has passed, for then the prediction failed.

    Source of the second: recollected from ESG (HPDC 2024), where the pre-warming is by an exponentially
    weighted mean of gaps.

    Examples
    --------
    >>> kept = Containers(ContainersSpec(warm=0, prewarm="none", keep_alive=10.0), [3.0], invokers=2)
    >>> kept.take(1, 0, 5.0), kept.give_back(1, 0, 9.0), list(kept.warm(0))
    ((True, ()), (19.0,), [1])
    >>> kept.due(1, 0, 19.0), list(kept.warm(0))
    ((), [])
    """

    def __init__(self, spec: ContainersSpec, cold_start_s: Sequence[float], invokers: int) -> None:
        self._keep_s, self._weight = spec.keep_alive, spec.ewma_weight
        self._spare = spec.spare if spec.prewarm == "spare" else 0
        self._predicts = spec.prewarm == "ewma"
        self._cold_s = tuple(cold_start_s)
        self._kept = [[_Kept(spec.warm) for _ in range(invokers)] for _ in self._cold_s]

    def begin(self) -> tuple[tuple[float, int, int], ...]:
        """(time, invoker, function) of the first calls of :meth:`due`."""
        return tuple(
            (time_s, i, f)
            for f, row in enumerate(self._kept)
            for i, kept in enumerate(row)
            for time_s in self._check(kept)
        )

    def idle(self, invoker: int, function: int) -> int:
        """How many containers wait for a batch."""
        return len(self._kept[function][invoker].idle)

    def warm(self, function: int) -> Iterator[int]:
        """Invokers with an idle container of the function, in order, looked for one by one."""
        return (i for i, kept in enumerate(self._kept[function]) if kept.idle)

    def take(self, invoker: int, function: int, now_s: float) -> tuple[bool, Times]:
        """A batch takes a container: whether it starts cold, and when a pre-warmed one will be ready."""
        kept = self._kept[function][invoker]
        cold = not kept.idle
        if not cold:
            kept.idle.pop()
        kept.busy += 1
        if self._predicts:
            self._learn(kept, now_s)
        if len(kept.idle) + len(kept.starting) < self._spare and self._room(invoker, function):
            return cold, self._start(kept, now_s + self._cold_s[function])
        return cold, ()

    def give_back(self, invoker: int, function: int, now_s: float) -> Times:
        """A batch ends; its container is idle."""
        kept = self._kept[function][invoker]
        kept.busy -= 1
        kept.idle.append(now_s)
        return self._check(kept)

    def due(self, invoker: int, function: int, now_s: float) -> Times:
        """Containers whose start has ended are idle, those idle for too long are removed."""
        kept = self._kept[function][invoker]
        while kept.starting and kept.starting[0] <= now_s:
            heappop(kept.starting)
            kept.idle.append(now_s)
        gone = False
        while kept.idle and kept.idle[0] + self._keep_s <= now_s:
            kept.idle.popleft()
            gone = True
        if kept.check_s <= now_s:
            kept.check_s = -1.0
        times = self._check(kept)
        lonely = gone and self._predicts and not (kept.idle or kept.starting or kept.busy)
        if lonely and self._room(invoker, function):
            times += self._predicted(kept, now_s, self._cold_s[function])
        return times

    def _room(self, invoker: int, function: int) -> bool:
        """Whether there is room for one that starts ahead."""
        return True

    def _check(self, kept: _Kept) -> Times:
        if kept.check_s >= 0 or not kept.idle:
            return ()
        kept.check_s = kept.idle[0] + self._keep_s
        return (kept.check_s,)

    def _start(self, kept: _Kept, ready_s: float) -> Times:
        heappush(kept.starting, ready_s)
        return (ready_s,)

    def _learn(self, kept: _Kept, now_s: float) -> None:
        if kept.last_s >= 0:
            gap_s = now_s - kept.last_s
            w = self._weight
            kept.gap_s = gap_s if kept.gap_s < 0 else w * gap_s + (1 - w) * kept.gap_s
        kept.last_s = now_s

    def _predicted(self, kept: _Kept, now_s: float, cold_s: float) -> Times:
        next_s = kept.last_s + kept.gap_s
        if kept.gap_s < 0 or next_s <= now_s:
            return ()
        return self._start(kept, max(next_s, now_s + cold_s))
