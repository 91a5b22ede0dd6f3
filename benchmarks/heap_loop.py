"""A plain loop over ``heapq``, without SimPy: what pure Python can do with the same algorithm.

The same system as ``event_loop.c``: executors of one server each, a FIFO link without latency,
placement without a look at the system's state, no background, no run-on.
"""

from __future__ import annotations

import math
from collections import deque
from heapq import heappop, heappush
from typing import Any

from benchmarks.decisions import Decisions
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.simulation.workload import Workload, make_plan
from nona.queries.system import System

DELIVERY, TASK_END, ARRIVAL = range(3)


class _Job:
    __slots__ = ("draws", "latest_number", "latest_s", "left", "missing", "number", "places", "plan")

    def __init__(self, number: int, plan: Any, draws: list[float], places: list[int]) -> None:
        self.number, self.plan, self.draws, self.places = number, plan, draws, places
        self.missing = plan.inputs.copy()
        self.latest_s = [0.0] * plan.tasks
        self.latest_number = [0] * plan.tasks
        self.left = plan.tasks


class HeapLoop:
    """State of one run; ``heap`` holds (time, kind, job, item, the job, task)."""

    def __init__(self, system: System, scheduler: Scheduler, prepared: SchedulerTables) -> None:
        self.decisions = Decisions(system, scheduler, prepared)
        self.plans = [make_plan(q, system.capacity) for q in system.queries]
        self.workload = Workload(system, 0, prepared.uniforms_per_job)
        self.heap: list[tuple[float, int, int, int, _Job, int]] = []
        self.active = [False] * system.executors
        self.queues: list[deque[tuple[_Job, int]]] = [deque() for _ in range(system.executors)]
        self.link_free_s = 0.0

    def run(self, jobs: int) -> list[float]:
        """Completion instants of the first ``jobs`` jobs, seconds."""
        completion_s: list[float] = []
        heap, left = self.heap, jobs
        for chunk in self.workload.chunks():
            rows = chunk.rows(self.decisions.tasks, lists=self.decisions.lists)
            for arrival, query, draws, uniforms in rows:
                while heap and heap[0][0] <= arrival:
                    now, kind, number, _, job, task = heappop(heap)
                    if kind == DELIVERY:
                        self.join(now, job, task)
                        continue
                    self.finish(now, job, task)
                    job.left -= 1
                    if not job.left:
                        completion_s[number] = now
                        left -= number < jobs
                        if not left:
                            return completion_s[:jobs]
                places = self.decisions.places(arrival, query, uniforms)
                job = _Job(len(completion_s), self.plans[query], draws or [1.0] * len(places), places)
                completion_s.append(math.nan)
                for task in job.plan.sources:
                    self.join(arrival, job, task)
        raise RuntimeError("arrivals ended")

    def start(self, now: float, job: _Job, task: int) -> None:
        """The task runs; its end is known."""
        end = now + job.plan.times[0][task] * job.draws[task]
        heappush(self.heap, (end, TASK_END, job.number, task, job, task))

    def join(self, now: float, job: _Job, task: int) -> None:
        """The last input of the task is there."""
        place = job.places[task]
        if self.active[place]:
            self.queues[place].append((job, task))
        else:
            self.active[place] = True
            self.start(now, job, task)

    def finish(self, now: float, job: _Job, task: int) -> None:
        """Hand on the results; let the executor go on."""
        places, missing, latest_s = job.places, job.missing, job.latest_s
        here = places[task]
        for output in job.plan.outputs[task]:
            for target, number in zip(output.targets, output.numbers, strict=True):
                if places[target] != here:
                    start = self.link_free_s if self.link_free_s > now else now
                    self.link_free_s = delivered = start + output.work_s
                    if delivered > latest_s[target]:
                        latest_s[target], job.latest_number[target] = delivered, number
                    elif delivered == latest_s[target]:
                        job.latest_number[target] = max(job.latest_number[target], number)
                missing[target] -= 1
                if missing[target]:
                    continue
                if latest_s[target] > now:
                    entry = (latest_s[target], DELIVERY, job.number, job.latest_number[target], job, target)
                    heappush(self.heap, entry)
                else:
                    self.join(now, job, target)
        if self.queues[here]:
            self.start(now, *self.queues[here].popleft())
        else:
            self.active[here] = False
