"""Instances that stand for queues over time, started and stopped by load.

An instance takes its resources and its container when it is started, serves batches of at most its
configuration's size one after the other, and gives everything back when it is stopped: at once if it is
idle, else at the end of its batch, or when it is ready if it is not yet. It is *live* until it is stopped.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from heapq import heappush

import numpy as np

from nona.errors import SimulationError
from nona.serverless.engine.controller import Controller
from nona.serverless.engine.events import READY, SCALE, WAIT_OVER, Decision, Instance, Running
from nona.serverless.engine.execution import Execution, Parts
from nona.serverless.engine.invokers import Choice, Found, Tables
from nona.serverless.policies.base import Ask, Fleet, Plan, Planner, Scaler, Scales
from nona.serverless.records import DispatchStory, Instances
from nona.serverless.system import ServerlessSystem


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


def padded(system: ServerlessSystem) -> list[list[tuple[int, ...]]]:
    """``padded(system)[f][c][n − 1]``: the configuration whose time n jobs take on an instance of c.

    That with the least batch that holds them, on the same vCPUs and vGPUs, among those that the function
    has a time for; c itself at most.
    """
    space, timed = system.space, np.isfinite(system.time_s)
    size: dict[tuple[int, int], list[int]] = {}
    for number, c in enumerate(space.configurations):  # in increasing order of batches
        size.setdefault((c.vcpus, c.vgpus), []).append(number)
    every = []
    for row in timed:
        of_function = []
        for number, c in enumerate(space.configurations):
            same = [n for n in size[c.vcpus, c.vgpus] if row[n] or n == number]
            of_function.append(
                tuple(next(n for n in same if space[n].batch >= jobs) for jobs in range(1, c.batch + 1))
            )
        every.append(of_function)
    return every


def _instance_records(tables: Tables, every: Sequence[Instance], of_batch: Sequence[int]) -> Instances:
    """The instances in arrays; ``of_batch``: the instance of each batch."""
    return Instances(
        application=np.array([tables.application[i.queue] for i in every], dtype=np.int64),
        stage=np.array([tables.stage[i.queue] for i in every], dtype=np.int64),
        invoker=np.array([i.invoker for i in every], dtype=np.int64),
        gpu=np.array([i.lease.gpu for i in every], dtype=np.int64),
        configuration=np.array([i.configuration for i in every], dtype=np.int64),
        slots=np.array([i.lease.slots for i in every], dtype=np.int64),
        started_s=np.array([i.started_s for i in every], dtype=np.float64),
        ready_s=np.array([i.ready_s for i in every], dtype=np.float64),
        ended_s=np.array([i.ended_s for i in every], dtype=np.float64),
        cold=np.array([i.cold for i in every], dtype=np.bool_),
        container=np.array([i.container for i in every], dtype=np.int64),
        forced=np.array([i.forced for i in every], dtype=np.bool_),
        of_batch=np.array(of_batch, dtype=np.int64),
    )


SOONEST_S = 1e-9  # a shorter wait has run out


class Standing:
    """Serves the AFW queues by instances.

    A queue is looked at when a job joins, when an instance of it is ready or idle, when a wait is over,
    and when it lacks an instance and resources become free. ``_fleet``: the live instances of each
    queue and those that are being stopped, in the order of starting. ``_failed``: attempts in a row that
    found no room for a first instance.
    """

    def __init__(
        self, planner: Planner, scaler: Scaler, parts: Parts, choice: Choice, execution: Execution
    ) -> None:
        self._planner, self._scaler, self._choice, self._execution = planner, scaler, choice, execution
        self._parts, self._tables, self._queues = parts, parts.tables, parts.queues
        n = parts.tables.queues
        self._fleet: list[list[Instance]] = [[] for _ in range(n)]
        self._every: list[Instance] = []
        self._of_batch: list[int] = []
        self._rates = Rates(n, scaler.window_s, scaler.every_s)
        self._pending = self._recheck = 0
        self._wait, self._waits, self._failed = [0] * n, [0] * n, [0] * n
        self._limit = parts.tables.system.dispatch.rechecks
        self._padded = padded(parts.tables.system)
        self._look(1)

    def _look(self, number: int) -> None:
        heappush(self._parts.heap, (number * self._scaler.every_s, SCALE, 0, 0, number, 0))

    def joined(self, queue: int) -> None:
        """A job has joined a queue."""
        self._rates.joined(queue, self._queues[queue].joined_s[-1])
        self._pending |= 1 << queue

    def released(self) -> None:
        """Resources have become free."""
        self._pending |= self._recheck

    def ended(self, batch: Running, now_s: float) -> None:
        """A batch has ended: its instance is idle, or stops."""
        if batch.instance is not None:
            self._idle(batch.instance, now_s)

    def happen(self, kind: int, queue: int, number: int, now_s: float) -> None:
        """An instance is ready, a wait is over, or the scaler looks at all queues."""
        if kind == SCALE:
            n = self._tables.queues
            for k in range(n):  # another queue is first each time, as there may not be room for all
                self._scale((number + k) % n, now_s)
            self._look(number + 1)
        elif kind == READY:
            self._idle(self._every[number], now_s)
        elif self._wait[queue] == number:
            self._pending |= 1 << queue

    def _idle(self, instance: Instance, now_s: float) -> None:
        instance.busy = False
        if instance.stopping:
            self._stop(instance, now_s)
        self._pending |= 1 << instance.queue

    def _stop(self, instance: Instance, now_s: float) -> None:
        instance.stopping = True
        if not instance.busy:
            self._fleet[instance.queue].remove(instance)
            self._execution.stop(instance, now_s)
            self.released()

    def _live(self, queue: int) -> list[Instance]:
        return [i for i in self._fleet[queue] if not i.stopping]

    def _scale(self, queue: int, now_s: float) -> None:
        """Start instances for excess load, or stop some; the last one stays while jobs wait."""
        live, scaler = self._live(queue), self._scaler
        place = self._tables.application[queue], self._tables.stage[queue]
        fleet = Fleet(*place, self._rates.rate(queue, now_s), tuple(i.configuration for i in live))
        excess = scaler.excess(fleet)
        if excess <= 0:
            stopped = [live[k] for k in scaler.stops(fleet)]
            kept = 1 if len(stopped) == len(live) and len(self._queues[queue]) else 0
            for instance in stopped[: len(stopped) - kept]:
                self._stop(instance, now_s)
            return
        while excess > 0:
            started = self._start(queue, scaler.ranked(*place, excess), False, now_s)
            if started is None:
                return
            excess -= scaler.service(*place, started.configuration).most

    def _start(self, queue: int, ranked: tuple[int, ...], forced: bool, now_s: float) -> Instance | None:
        """An instance of the first configuration that has room, where it has."""
        chosen = self._find(queue, ranked, now_s)
        if chosen is None:
            return None
        tables, number = self._tables, len(self._every)
        configuration, (invoker, lease, _) = chosen
        function, place = tables.function[queue], (tables.application[queue], tables.stage[queue])
        instance = Instance(number, queue, function, configuration, invoker, lease)
        instance.started_s, instance.forced = now_s, forced
        instance.timeout_s = self._scaler.service(*place, configuration).timeout_s
        instance.by_jobs = self._padded[function][configuration]
        self._execution.begin(instance)
        self._every.append(instance)
        self._fleet[queue].append(instance)
        if instance.ready_s > now_s:
            instance.busy = True
            heappush(self._parts.heap, (instance.ready_s, READY, *place, number, 0))
        self._pending |= 1 << queue
        return instance

    def _find(self, queue: int, ranked: tuple[int, ...], now_s: float) -> tuple[int, Found] | None:
        tables, place = self._tables, self._planner.place
        if place is not None:
            slo_s = tables.slo_s[tables.application[queue]]
            ask = Ask(tables.application[queue], tables.stage[queue], 1, slo_s)
            return self._choice.placed(queue, place, ask, ranked, now_s)
        for configuration in ranked:
            given = self._choice.find(queue, configuration, -1, now_s, None)
            if given is not None:
                return configuration, given
        return None

    def serve(self, now_s: float) -> None:
        """Look at all pending queues, in their order."""
        while self._pending:
            queue = (self._pending & -self._pending).bit_length() - 1
            self._pending &= ~(1 << queue)
            self._examine(queue, now_s)

    def _examine(self, queue: int, now_s: float) -> None:
        self._wait[queue] = 0
        self._recheck &= ~(1 << queue)
        waiting = self._queues[queue]
        if self._tables.drops and waiting.calls:
            for other in self._parts.drop_late(queue, now_s):
                self._failed[other] = self._wait[other] = 0
        if waiting.calls and not self._live(queue):
            self._first(queue, now_s)
        while waiting.calls:
            instance, left_s = self._next(queue, now_s)
            if instance is None:
                self._stand(queue, left_s, now_s)
                return
            self._dispatch(instance, now_s)

    def _first(self, queue: int, now_s: float) -> None:
        """A queue with jobs and without an instance gets one; after many failures the smallest one."""
        place = self._tables.application[queue], self._tables.stage[queue]
        forced = self._failed[queue] >= self._limit
        ranked = (
            (self._tables.system.space.smallest,)
            if forced
            else self._scaler.ranked(*place, self._rates.rate(queue, now_s))
        )
        if self._start(queue, ranked, forced, now_s) is not None:
            self._failed[queue] = 0
            return
        self._failed[queue] += 1
        self._recheck |= 1 << queue
        collector = self._parts.collector
        collector.rechecks += collector.inside(now_s)

    def _next(self, queue: int, now_s: float) -> tuple[Instance | None, float]:
        """The idle instance that serves now: the largest whose batch is full or has waited long enough.

        If there is none: after how many seconds one will; infinite where all are busy.
        """
        waiting, batch = self._queues[queue], self._tables.batch
        waited_s, soonest_s = now_s - waiting.joined_s[0], math.inf
        idle = [i for i in self._live(queue) if not i.busy]
        for instance in sorted(idle, key=lambda i: (-batch[i.configuration], i.number)):
            left_s = instance.timeout_s - waited_s
            if len(waiting) >= batch[instance.configuration] or left_s <= SOONEST_S:
                return instance, 0.0
            soonest_s = min(soonest_s, left_s)
        return None, soonest_s

    def _stand(self, queue: int, left_s: float, now_s: float) -> None:
        if left_s < math.inf:
            self._waits[queue] += 1
            self._wait[queue] = self._waits[queue]
            place = self._tables.application[queue], self._tables.stage[queue]
            over_s = max(now_s + left_s, math.nextafter(now_s, math.inf))  # time must pass
            heappush(self._parts.heap, (over_s, WAIT_OVER, *place, self._waits[queue], 0))

    def _dispatch(self, instance: Instance, now_s: float) -> None:
        configuration, collector = instance.configuration, self._parts.collector
        decision = Decision(Plan((configuration,)), now_s, instance.forced)
        instance.busy = True
        number = self._execution.start(
            instance.queue, decision, configuration, instance.invoker, instance.lease, now_s, instance
        )
        if number != len(self._of_batch):
            raise SimulationError(f"Batch {number}: it has no instance of its own; report this.")
        self._of_batch.append(instance.number)
        if collector.wants_story(now_s):
            collector.tell(DispatchStory(number, (configuration,), (), "instance"))

    def records(self) -> Instances:
        """All instances there were."""
        return _instance_records(self._tables, self._every, self._of_batch)


def scaler_of(planner: Planner) -> Scaler | None:
    """The planner's scaler; ``None`` for one whose batches have leases of their own."""
    return planner.scaler if isinstance(planner, Scales) else None


def controller_of(
    planner: Planner, parts: Parts, choice: Choice, execution: Execution
) -> Controller | Standing:
    """One that runs instances where the planner has a scaler for them, else one that takes leases."""
    scaler = scaler_of(planner)
    if scaler is None:
        return Controller(planner, parts, choice, execution)
    return Standing(planner, scaler, parts, choice, execution)
