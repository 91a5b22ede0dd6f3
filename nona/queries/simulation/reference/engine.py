"""The reference engine: jobs arrive, a scheduler decides, executors and links do the work.

This is SimPy as its manual teaches it: arrivals, executors and background are processes. A page each:
:mod:`~.executors`, :mod:`~.links`, :mod:`~.jobs`, :mod:`~.bind` and :mod:`~.pick` for the two kinds of
decisions, :mod:`~.kernel` for the order of simultaneous events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from nona.core.arrays import Floats
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.simulation.batching import no_batch_sizes
from nona.queries.simulation.collected import PARTS, JobCollector, RunProgress, busy_shares
from nona.queries.simulation.records import RawRun
from nona.queries.simulation.reference.bind import BindDispatcher, Dispatcher, EngineParts, RoundDispatcher
from nona.queries.simulation.reference.executors import (
    ExecutorProcess,
    LoadBoard,
    Surroundings,
    busy_s,
    served_and_work,
)
from nona.queries.simulation.reference.jobs import (
    NO_PARTS,
    JobIntervals,
    QueryJob,
    parts_of_bound,
    parts_of_picked,
)
from nona.queries.simulation.reference.kernel import ARRIVAL, Environment, Process, content_key, user_key
from nona.queries.simulation.reference.links import SimulatedLink, make_link
from nona.queries.simulation.reference.pick import PickDispatcher
from nona.queries.simulation.reference.pools import make_executors
from nona.queries.simulation.sizes import RunSize
from nona.queries.simulation.workload import QueryPlan, Workload, make_plan
from nona.queries.system import System

Report = Callable[[RunProgress], None]
Rows = Iterator[tuple[list[float] | None, Any]]
HAND_OVER = 4096  # arrivals between two hand-overs to the collector


class SimPyRun:
    """One run. Counts are here; executors, link and dispatcher have their own state.

    ``new_*`` and ``done_*`` are the arrivals and completions since the last hand-over to the
    collector. ``open_at`` has a number for each mark passed; ``busy_at`` has the busy seconds of executors
    and links at the first and the last measured arrival.
    """

    def __init__(
        self,
        system: System,
        scheduler: Scheduler,
        prepared: SchedulerTables,
        size: RunSize,
        report: Report | None,
    ) -> None:
        self.system, self.size, self.report = system, size, report
        self.env = Environment()
        self.picks = scheduler.picks
        self._make_parts(scheduler, prepared, Workload(system, size.replication, prepared.uniforms_per_job))
        self.collector = JobCollector(system, size, report is not None)
        self.handed = self.numbered = 0  # arrivals handed over, and all
        self.new_query, self.new_s = list[int](), list[float]()
        self.done_number, self.done_s, self.done_parts_s = list[int](), list[float](), list[float]()
        self.marks, self.traced = [*size.marks().tolist(), -1], set(size.traced().tolist())
        self.open_at, self.traces = list[int](), list[JobIntervals]()
        self.open_jobs, self.unmeasured = 0, size.jobs  # measured jobs that are not complete
        self.area_s = self.area_since_s = self.area_before_s = self.window_area_s = self.last_s = 0.0
        self.busy_at: list[tuple[Floats, Floats]] = []
        classes = len(system.queries)
        self.class_completed = np.zeros(classes, dtype=np.int64)
        self.class_work_s, self.class_bytes = np.zeros(classes), np.zeros(classes)
        self.batch_sizes = no_batch_sizes(system)
        self.finished = False

    def _make_parts(self, scheduler: Scheduler, prepared: SchedulerTables, workload: Workload) -> None:
        env, system, streams = self.env, self.system, workload.streams
        board = LoadBoard(system.executors, system.servers, scheduler.sees_loads)
        around = Surroundings(env, system, self.size.run_on, board, self._task_ended)
        self.executors, queues = make_executors(around, streams, self._step_started)
        self.link = make_link(env, system, streams)
        look = _viewer(system, scheduler, board, self.link)
        parts = EngineParts(env, system, scheduler, prepared, self.executors, queues, self.link, board, look)
        self.binds = BindDispatcher(parts)
        self.dispatcher: Dispatcher = PickDispatcher(parts, streams) if self.picks else self.binds
        self.rounds = RoundDispatcher(parts, self.binds) if scheduler.kind == "allocate" else None
        self.parts_of = parts_of_picked if self.picks else parts_of_bound
        plans = [make_plan(q, system.capacity) for q in system.queries]
        env.process(self._arrivals(workload, plans, scheduler.takes_lists))
        self._users = _users_of(workload, plans, scheduler.takes_lists)
        for q, query in enumerate(system.queries):
            for user in range(query.users):
                self._send(q, user, 0.0)

    def run(self) -> RawRun:
        """Simulate until the cohort is complete or the run is too long."""
        failure: BaseException | None = None
        while not self.finished and failure is None:
            try:
                self.env.step()
            except Exception as copy:  # SimPy raises one of what a process raised
                failure = copy.__cause__ or copy
        if failure is not None:
            raise failure
        return self._raw()

    def _arrivals(self, workload: Workload, plans: list[QueryPlan], lists: bool) -> Process:
        tasks = [plan.tasks for plan in plans]
        rows = (row for chunk in workload.chunks() for row in chunk.rows(tasks, lists))
        for number, (arrival_s, query, draws, uniforms) in enumerate(rows):
            if math.isinf(arrival_s):
                return
            yield self.env.schedule_at(arrival_s, content_key(ARRIVAL, number))
            self._next_job(query, plans[query], draws, uniforms, -1)

    def _send(self, query: int, user: int, time_s: float) -> None:
        """Let a user of a closed loop send a query at this instant."""

        def arrive(_: simpy.Event) -> None:
            plan, rows = self._users[query]
            self._next_job(query, plan, *next(rows), user)

        self.env.schedule_at(time_s, user_key(query, user), arrive)

    def _next_job(
        self, query: int, plan: QueryPlan, draws: list[float] | None, uniforms: Any, user: int
    ) -> None:
        number, now = self.numbered, self.env.now
        if number > self.size.last and self.size.too_long(number, now - self.last_s):
            self.finished = True
        else:
            self.numbered += 1
            self._arrive(QueryJob(self.env, number, query, plan, now, draws, user), uniforms)

    def _arrive(self, job: QueryJob, uniforms: Any) -> None:
        now, number = self.env.now, job.number
        self._count(1)
        if number == self.marks[len(self.open_at)]:
            self._mark(number)
        self.new_query.append(job.query)
        self.new_s.append(now)
        if self.rounds is not None:
            self.rounds.arrived(job.query)
        if number in self.traced:
            job.trace = JobIntervals()
            self.traces.append(job.trace)
        self.dispatcher.admit(job, uniforms)
        self.dispatcher.settled(self.open_jobs)
        if number % HAND_OVER == 0:
            self._hand_over()
        if self.report is not None and number % self.size.report_every == 0:
            self._tell(self.report)

    def _count(self, change: int) -> None:
        """Add to ∫N dt, and change the number of jobs in the system."""
        self.area_s += self.open_jobs * (self.env.now - self.area_since_s)
        self.area_since_s = self.env.now
        self.open_jobs += change

    def _mark(self, number: int) -> None:
        """Record the state at an arrival that is a mark: the first opens the window, the last closes it."""
        while number == self.marks[len(self.open_at)]:  # in a short run one job is several of them
            self.open_at.append(self.open_jobs - 1)
        if number == self.size.first:
            self.area_before_s = self.area_s
            self.busy_at.append(self._busy())
        if number == self.size.last:
            self.last_s, self.window_area_s = self.env.now, self.area_s - self.area_before_s
            self.busy_at.append(self._busy())

    def _busy(self) -> tuple[Floats, Floats]:
        now = self.env.now
        return busy_s(self.executors, now), self.link.busy_and_work(now)[0]

    def _step_started(self, first: QueryJob, members: int) -> None:
        if self.batch_sizes is not None and self.size.first <= first.number <= self.size.last:
            self.batch_sizes[first.query, members] += 1

    def _task_ended(self, jobs: list[QueryJob], task: int, executor: ExecutorProcess) -> None:
        for job in jobs:
            self.dispatcher.task_ended(job, task, executor)
        for job in jobs:
            job.left -= 1
            if not job.left:
                if self.rounds is not None:
                    self.rounds.completed(job, executor)
                self._complete(job, task)
        if not self.finished:
            self.dispatcher.settled(self.open_jobs)

    def _complete(self, job: QueryJob, task: int) -> None:
        self.class_completed[job.query] += 1
        self.class_work_s[job.query] += job.load_s()
        self.class_bytes[job.query] += job.sent_bytes
        measured = self.size.first <= job.number <= self.size.last
        parts_s = self.parts_of(job, task, self.link.isolated_s) if measured else NO_PARTS
        self._count(-1)
        self.done_number.append(job.number)
        self.done_s.append(self.env.now)
        self.done_parts_s += parts_s
        self.unmeasured -= measured
        self.finished = not self.unmeasured
        if job.user >= 0:
            self._send(job.query, job.user, self.env.now + self.system.queries[job.query].think_s)

    def _tell(self, report: Report) -> None:
        self._hand_over()
        report(self.collector.progress(busy_shares(*self._busy(), self.env.now)))

    def _hand_over(self) -> None:
        """Give the collector the events since the last time."""
        query, number = np.array(self.new_query, dtype=np.int64), np.array(self.done_number, dtype=np.int64)
        self.collector.arrivals(self.handed, query, np.array(self.new_s))
        parts_s = np.array(self.done_parts_s).reshape(-1, len(PARTS))
        self.collector.completions(number, np.array(self.done_s), parts_s)
        self.handed += len(query)
        self.new_query, self.new_s = [], []
        self.done_number, self.done_s, self.done_parts_s = [], [], []

    def _raw(self) -> RawRun:
        end = self.env.now
        self._hand_over()
        if self.report is not None:
            self._tell(self.report)
        (executors_first, links_first), (executors_last, links_last) = self.busy_at
        executor_busy_s, executor_work_s = served_and_work(self.executors, end)
        link_busy_s, link_work_s = self.link.busy_and_work(end)
        tasks = [i for t in self.traces for i in t.tasks if i.end_s <= end]
        messages = [m for t in self.traces for m in t.messages if m.delivered_s <= end]
        return RawRun(
            collected=self.collector.finish(),
            open_at=np.array(self.open_at, dtype=np.int64),
            end_s=end,
            executor_busy_window_s=executors_last - executors_first,
            link_busy_window_s=links_last - links_first,
            executor_busy_s=executor_busy_s,
            executor_work_s=executor_work_s,
            link_busy_s=link_busy_s,
            link_work_s=link_work_s,
            jobs_area_s=self.window_area_s,
            class_completed=self.class_completed,
            class_work_s=self.class_work_s,
            class_bytes=self.class_bytes,
            traced_tasks=tuple(sorted(tasks, key=lambda i: (i.job, i.start_s, i.task))),
            traced_messages=tuple(
                sorted(messages, key=lambda m: (m.job, m.start_s, m.tensor, m.destination))
            ),
            crossed_bytes=self.link.crossed_bytes(),
            batch_sizes=self.batch_sizes,
        )


def _users_of(workload: Workload, plans: list[QueryPlan], lists: bool) -> list[tuple[QueryPlan, Rows]]:
    """By query class its plan, and what each query of users draws: multipliers, uniforms."""

    def rows(query: int) -> Rows:
        scv = workload.system.queries[query].service_scv
        for services, uniforms in workload.of_users(query):
            drawn = services.tolist() if scv else [None] * len(services)
            yield from zip(drawn, uniforms.tolist() if lists else uniforms, strict=True)

    return [(plan, rows(query)) for query, plan in enumerate(plans)]


def _viewer(
    system: System, scheduler: Scheduler, board: LoadBoard, link: SimulatedLink
) -> Callable[[], SystemView]:
    """Return a function that gives the view now; what the scheduler may not read is ``nan`` (queues: −1)."""
    level, hidden = scheduler.network_view, math.nan
    reads = scheduler.sees_loads
    cards = scheduler.picks and level >= NetworkView.N3
    view = SystemView(
        executor_server=_frozen(system.executor_server),
        executor_class=_frozen(system.executor_class),
        queue_length=board.queue_length if reads else _frozen(np.full(system.executors, -1)),
        backlog_s=board.backlog_s if reads else _frozen(np.full(system.executors, hidden)),
        capacity=system.capacity if level >= NetworkView.N1 else hidden,
        latency_s=system.latency_s if level >= NetworkView.N1 else hidden,
        past_transfer_s=hidden,
        link_promised_s=hidden,
        link_queue_bytes=hidden,
        card_bytes_s=board.card_bytes_s if cards else _frozen(np.full(2 * system.servers, hidden)),
    )

    def look() -> SystemView:
        if level < NetworkView.N2:
            return view  # its arrays are the board's own
        return view._replace(
            past_transfer_s=link.past_transfer_s(),
            link_promised_s=link.promised_s() if level >= NetworkView.N3 else hidden,
            link_queue_bytes=link.queue_bytes() if level >= NetworkView.N4 else hidden,
        )

    return look


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy
