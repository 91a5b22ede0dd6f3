"""The reference engine: the semantics of the simulator on SimPy's event list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpy.core import StopSimulation

from nona.random_streams import RandomStreams
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.simulation.records.collected import Progress, busy_shares
from nona.simulation.records.collector import Collector
from nona.simulation.records.run import RawRun
from nona.simulation.records.tally import PARTS
from nona.simulation.reference.bind import BindDispatcher, Dispatcher, Parts, RoundEvents
from nona.simulation.reference.executors import Executor, Executors
from nona.simulation.reference.inputs import Inputs
from nona.simulation.reference.jobs import Job, Trace
from nona.simulation.reference.kernel import ARRIVAL, LeanEnvironment, LeanEvent, content_key
from nona.simulation.reference.links import make_link
from nona.simulation.reference.load import LoadBoard
from nona.simulation.reference.parts import NO_PARTS, parts_of_bound, parts_of_picked
from nona.simulation.reference.pick import PickDispatcher
from nona.simulation.reference.view import make_viewer
from nona.simulation.sizes import RunSize
from nona.simulation.workload.jobs import Workload
from nona.simulation.workload.plans import make_plan
from nona.system import System

Report = Callable[[Progress], None]
HAND_OVER = 4096  # arrivals between two hand-overs to the collector


class SimPyRun:
    """One run. State is here; executors, link and dispatcher have their own.

    ``new_*`` and ``done_*`` are the arrivals and completions since the last hand-over to the
    collector, ``done_parts_s`` four numbers for each. ``open_at`` has a number for each mark passed.
    """

    def __init__(
        self, system: System, scheduler: Scheduler, prepared: Prepared, size: RunSize, report: Report | None
    ) -> None:
        self.system, self.size, self.report = system, size, report
        self.environment = LeanEnvironment()
        workload = Workload(system, size.replication, prepared.uniforms_per_job)
        self._make_parts(scheduler, prepared, workload.streams)
        self.plans = [make_plan(q.tasks, system.capacity) for q in system.queries]
        self._tasks, self._lists = [plan.tasks for plan in self.plans], scheduler.takes_lists
        self._jobs = self._job_stream(workload)
        self._next: tuple[float, Job, Any] = next(self._jobs)
        self._arrival = LeanEvent(self._arrives)
        self._begin_counts()

    def _make_parts(self, scheduler: Scheduler, prepared: Prepared, streams: RandomStreams) -> None:
        """Executors, links, and who decides."""
        system = self.system
        self.picks = scheduler.picks
        reads = scheduler.reads_queues or self.picks
        board = LoadBoard(system.executors, system.background_compute.mean, system.servers) if reads else None
        heap = self.environment.heap
        self.executors = Executors(system, streams, heap, self._task_ended, self.size.run_on, board)
        inputs = Inputs(self.environment)
        self._joins = inputs.callbacks
        self.link = make_link(system, streams, inputs, scheduler.network_view >= NetworkView.N2)
        look = make_viewer(system, scheduler, self.executors, board, self.link)
        parts = Parts(system, scheduler, prepared, self.executors, self.link, inputs, board, look)
        self.dispatcher: Dispatcher = (
            PickDispatcher(parts, board, streams, self.environment)
            if board is not None and self.picks
            else BindDispatcher(parts)
        )
        self.rounds: RoundEvents | None = None
        if isinstance(self.dispatcher, BindDispatcher) and scheduler.kind == "allocate":
            self.rounds = RoundEvents(parts, self.dispatcher, self.environment)
        self.hand_on = self.dispatcher.task_ended
        self.parts_of = parts_of_picked if self.picks else parts_of_bound

    def _begin_counts(self) -> None:
        """What is counted and recorded, before the first job."""
        size, classes = self.size, len(self.system.queries)
        self.collector = Collector(self.system, size, self.report is not None)
        self.handed = 0  # arrivals handed over
        self.new_query: list[int] = []
        self.new_s: list[float] = []
        self.done_number: list[int] = []
        self.done_s: list[float] = []
        self.done_parts_s: list[float] = []
        self._marks = iter([*size.marks().tolist(), -1])
        self._next_mark = next(self._marks)
        self._traced = iter([*size.traced().tolist(), -1])
        self._next_traced = next(self._traced)
        self.open_at: list[int] = []
        self.traces: list[Trace] = []
        self.open_jobs = 0
        self.unmeasured = size.jobs  # measured jobs that are not complete
        self.area_s = self.area_since_s = self.window_area_s = 0.0
        self._last, self._last_s = size.last, 0.0
        self._busy_at: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self.class_completed = [0] * classes
        self.class_work_s, self.class_bytes = [0.0] * classes, [0.0] * classes

    def _job_stream(self, workload: Workload) -> Iterator[tuple[float, Job, Any]]:
        number, joins = 0, self._joins
        for chunk in workload.chunks():
            for arrival, query, draws, uniforms in chunk.rows(self._tasks, self._lists):
                yield arrival, Job(number, query, self.plans[query], arrival, draws, joins), uniforms
                number += 1

    def run(self) -> RawRun:
        """Simulate until the cohort is complete or the run is too long."""
        self._schedule_arrival()
        self.environment.run_lean()
        return self._raw()

    def _schedule_arrival(self) -> None:
        arrival, job, _ = self._next
        entry = (arrival, content_key(ARRIVAL, job.number), 0, self._arrival)
        heappush(self.environment.heap, entry)

    def _arrives(self, _: LeanEvent) -> None:
        now, job, uniforms = self._next
        number = job.number
        if number > self._last and self.size.too_long(number, now - self._last_s):
            raise StopSimulation
        self._count(now, 1)
        if number == self._next_mark:
            self._mark(number, now)
        self.new_query.append(job.query)
        self.new_s.append(now)
        if self.rounds is not None:
            self.rounds.arrived(job.query)
        if number == self._next_traced:
            self._next_traced = next(self._traced)
            job.trace = Trace()
            self.traces.append(job.trace)
        self.dispatcher.admit(job, uniforms, now)
        if self.picks:
            self.dispatcher.settled(now, self.open_jobs)
        self._next = next(self._jobs)
        self._schedule_arrival()
        if number % HAND_OVER == 0:
            self._hand_over()
        if self.report is not None and number % self.size.report_every == 0:
            self._report(self.report, now)

    def _report(self, report: Report, now: float) -> None:
        self._hand_over()
        busy = busy_shares(self.executors.busy_until(now), self.link.busy_per_link(now), now)
        report(self.collector.progress(busy))

    def _count(self, now: float, change: int) -> None:
        """Add to ∫N dt, and change the number of jobs in the system."""
        self.area_s += self.open_jobs * (now - self.area_since_s)
        self.area_since_s = now
        self.open_jobs += change

    def _mark(self, number: int, now: float) -> None:
        """This job's arrival is one of the marks; the window opens with the first, closes with the last."""
        while number == self._next_mark:  # in a short run one job is several of them
            self.open_at.append(self.open_jobs - 1)
            self._next_mark = next(self._marks)
        if number == self.size.first:
            self._area_before_s = self.area_s
            self._busy_at[0] = (self.executors.busy_until(now), self.link.busy_per_link(now))
        if number == self._last:
            self._last_s = now
            self.window_area_s = self.area_s - self._area_before_s
            self._busy_at[1] = (self.executors.busy_until(now), self.link.busy_per_link(now))

    def _task_ended(self, executor: Executor) -> None:
        now = self.environment._now
        job, task = executor.job, executor.task
        self.hand_on(job, task, executor, now)
        executor.proceed(now, job)
        job.left -= 1
        if not job.left:
            if self.rounds is not None:
                self.rounds.completed(job, executor, now)
            self._complete(job, task, now)
        if self.picks:
            self.dispatcher.settled(now, self.open_jobs)

    def _complete(self, job: Job, task: int, now: float) -> None:
        """``task`` was the job's last."""
        self._count(now, -1)
        number, query = job.number, job.query
        self.class_completed[query] += 1
        self.class_work_s[query] += job.work_s
        self.class_bytes[query] += job.sent_bytes
        self.done_number.append(number)
        self.done_s.append(now)
        if self.size.first <= number <= self._last:
            self.done_parts_s += self.parts_of(job, task, self.link)
            self.unmeasured -= 1
            if not self.unmeasured:
                raise StopSimulation
        else:
            self.done_parts_s += NO_PARTS

    def _hand_over(self) -> None:
        """Give the collector what has happened since the last time."""
        query, number = np.array(self.new_query, dtype=np.int64), np.array(self.done_number, dtype=np.int64)
        parts_s = np.array(self.done_parts_s).reshape(-1, len(PARTS))
        self.collector.arrivals(self.handed, query, np.array(self.new_s))
        self.collector.completions(number, np.array(self.done_s), parts_s)
        self.handed += len(query)
        self.new_query, self.new_s = [], []
        self.done_number, self.done_s, self.done_parts_s = [], [], []

    def _raw(self) -> RawRun:
        end = self.environment._now
        self._hand_over()
        if self.report is not None:
            self._report(self.report, end)
        (busy_first, link_first), (busy_last, link_last) = self._busy_at[0], self._busy_at[1]
        tasks = [i for t in self.traces for i in t.tasks if i.end_s <= end]
        messages = [m for t in self.traces for m in t.messages if m.delivered_s <= end]
        return RawRun(
            collected=self.collector.finish(),
            open_at=np.array(self.open_at, dtype=np.int64),
            end_s=end,
            executor_busy_window_s=busy_last - busy_first,
            link_busy_window_s=link_last - link_first,
            executor_busy_s=self.executors.busy_until(end),
            executor_work_s=self.executors.work_until(end),
            link_busy_s=self.link.busy_per_link(end),
            link_work_s=self.link.work_per_link(end),
            jobs_area_s=self.window_area_s,
            class_completed=np.array(self.class_completed, dtype=np.int64),
            class_work_s=np.array(self.class_work_s),
            class_bytes=np.array(self.class_bytes),
            traced_tasks=tuple(sorted(tasks, key=lambda i: (i.job, i.start_s, i.task))),
            traced_messages=tuple(
                sorted(messages, key=lambda m: (m.job, m.start_s, m.tensor, m.destination))
            ),
            crossed_bytes=self.link.crossed_bytes(),
        )
