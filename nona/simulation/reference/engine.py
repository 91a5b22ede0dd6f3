"""The engine: arrivals, the scheduler's view, the parts of a job's time.

From the task that completes the job back to its arrival, along the last cause of each: what a task
waited for last decides when it ran, so these stretches follow on one another without a gap, and the
parts add up to the completion time. Of the seconds for which a message was on its way, those that it
would have taken on idle links are transfer, the others waiting. Of the seconds that a task waits for its
executor, those in which that runs another task of the same job are waits for own tasks: more servers do not
shorten them. A task that waits for its pick waits for the executor that it then gets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from heapq import heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpy.core import StopSimulation

from nona.random_streams import RandomStreams
from nona.schedulers.base import NetworkView, Prepared, Scheduler, View
from nona.simulation.collected import PARTS, Collector, Progress, busy_shares
from nona.simulation.records import RawRun
from nona.simulation.reference.bind import BindDispatcher, Dispatcher, Parts, RoundEvents
from nona.simulation.reference.executors import Executor, Executors, Inputs, LoadBoard
from nona.simulation.reference.jobs import Job, Trace
from nona.simulation.reference.kernel import ARRIVAL, LeanEnvironment, LeanEvent, content_key
from nona.simulation.reference.links import Link, make_link
from nona.simulation.reference.pick import PickDispatcher
from nona.simulation.sizes import RunSize
from nona.simulation.workload import Workload, make_plan
from nona.system import System


def _make_viewer(
    system: System,
    scheduler: Scheduler,
    executors: Executors,
    board: LoadBoard | None,
    link: Link,
) -> Callable[[float], View]:
    """A function from the time to the view, with network fields above the declared level ``nan``.

    A scheduler that does not read queues finds −1 as every queue length and ``nan`` as backlog.
    """
    level = scheduler.network_view
    hidden = math.nan
    cards = board is not None and scheduler.picks and level >= NetworkView.N3
    view = View(
        executor_server=_frozen(system.executor_server),
        executor_class=_frozen(system.executor_class),
        queue_length=board.queue_length if board else _frozen(np.full(system.executors, -1)),
        backlog_s=board.backlog_s if board else _frozen(np.full(system.executors, hidden)),
        capacity=system.capacity if level >= NetworkView.N1 else hidden,
        latency_s=system.latency_s if level >= NetworkView.N1 else hidden,
        past_transfer_s=hidden,
        link_promised_s=hidden,
        link_queue_bytes=hidden,
        card_bytes_s=board.card_bytes_s if board and cards else _frozen(np.full(2 * system.servers, hidden)),
    )
    if level < NetworkView.N2 and board is None:
        return lambda now: view

    def look(now: float) -> View:
        executors.settle(now)
        if level < NetworkView.N2:
            return view  # its arrays are the board's own
        return view._replace(
            past_transfer_s=link.past_transfer_s(now),
            link_promised_s=link.promised_s(now) if level >= NetworkView.N3 else hidden,
            link_queue_bytes=link.queue_bytes(now) if level >= NetworkView.N4 else hidden,
        )

    return look


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


JctParts = tuple[float, float, float, float, float]  # in the order of nona.simulation.collected.PARTS
NO_PARTS: JctParts = (0.0, 0.0, 0.0, 0.0, 0.0)


def _parts_of_bound(job: Job, task: int, link: Link) -> JctParts:
    """Parts of a job whose tasks were bound at its arrival; ``task`` is the one that completed it.

    The last cause of a task is the end of the task that made its last input: on the same server the
    first of its inputs whose source ended just when it joined its executor's queue, else the
    input delivered last.
    """
    start_s, end_s, joined_s, places = job.start_s, job.end_s, job.latest_s, job.executor
    makers, numbered, number = job.plan.makers, job.plan.numbered, job.latest_number
    compute = transfer = link_wait = server_wait = own_wait = 0.0
    while True:
        start, joined = start_s[task], joined_s[task]
        compute += end_s[task] - start
        own = _own_s(job, task, joined, start)
        own_wait += own
        server_wait += start - joined - own
        sources = makers[task]
        if not sources:
            return compute, transfer, link_wait, server_wait, own_wait
        here = places[task].server
        for source in sources:
            if end_s[source] == joined and places[source].server == here:
                break
        else:
            output, source = numbered[number[task]]
            gap = joined - end_s[source]
            alone = link.isolated_s(output, places[source].server, here)
            if gap < alone:
                alone = gap
            transfer += alone
            link_wait += gap - alone
        task = source


def _parts_of_picked(job: Job, task: int, link: Link) -> JctParts:
    """Parts of a job whose tasks were picked once their predecessors were complete.

    The last cause of a task is the predecessor that ended last (the least number among equals); it
    waits for its pick, as for an executor, and then for the input delivered last.
    """
    places, plan = job.executor, job.plan
    compute = transfer = link_wait = server_wait = own_wait = 0.0
    while True:
        start, joined, picked = job.start_s[task], job.latest_s[task], job.picked_s[task]
        compute += job.end_s[task] - start
        own = _own_s(job, task, joined, start)
        own_wait += own
        server_wait += start - joined - own
        gap = joined - picked
        if gap > 0:
            output, source = plan.numbered[job.latest_number[task]]
            alone = min(gap, link.isolated_s(output, places[source].server, places[task].server))
            transfer += alone
            link_wait += gap - alone
        before = -1
        if plan.makers[task]:
            before = -max((job.end_s[source], -source) for source in plan.makers[task])[1]
        since = job.arrival_s if before < 0 else job.end_s[before]
        own = _own_s(job, task, since, picked)
        own_wait += own
        server_wait += picked - since - own
        if before < 0:
            return compute, transfer, link_wait, server_wait, own_wait
        task = before


def _own_s(job: Job, task: int, begin_s: float, end_s: float) -> float:
    """Seconds within which the executor of a task runs others of its job."""
    own = 0.0
    if end_s > begin_s:
        here = job.executor[task]
        for other, place in enumerate(job.executor):
            if place is here and other != task:
                shared = min(end_s, job.end_s[other]) - max(begin_s, job.start_s[other])
                if shared > 0:
                    own += shared
    return min(own, end_s - begin_s)


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
        look = _make_viewer(system, scheduler, self.executors, board, self.link)
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
        self.parts_of = _parts_of_picked if self.picks else _parts_of_bound

    def _begin_counts(self) -> None:
        """Set up the counts and records, before the first job."""
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
        """Give the collector the events since the last time."""
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
