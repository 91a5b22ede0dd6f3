"""The controller where batches run on instances that stand, as many as a policy's scaler says.

An instance takes its resources and its container when it is started, serves batches of at most its
configuration's size one after the other, and gives everything back when it is stopped: at once if it is
idle, else at the end of its batch, or when it is ready if it is not yet. It is *live* until it is stopped.
"""

from __future__ import annotations

import math
from heapq import heappush

from nona.errors import SimulationError
from nona.serverless.engine.choice import Choice, Found
from nona.serverless.engine.events import READY, SCALE, WAIT_OVER, Decision, Instance, Running
from nona.serverless.engine.execution import Execution
from nona.serverless.engine.parts import Parts
from nona.serverless.engine.standing.made import instance_records, padded
from nona.serverless.engine.standing.rates import Rates
from nona.serverless.policies.base import Ask, Fleet, Plan, Planner, Scaler
from nona.serverless.records.run import DispatchStory, Instances

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
        """Start instances for what is too much, or stop some; the last one stays while jobs wait."""
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
        found = self._find(queue, ranked, now_s)
        if found is None:
            return None
        tables, number = self._tables, len(self._every)
        configuration, (invoker, lease, _) = found
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
            found = self._choice.find(queue, configuration, -1, now_s, None)
            if found is not None:
                return configuration, found
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
        return instance_records(self._tables, self._every, self._of_batch)
