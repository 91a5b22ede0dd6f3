"""Decisions of schedulers that pick a ready task for a free executor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.queries.schedulers.base import NetworkView, Ready, card_rate
from nona.queries.simulation.batching import batch_keys
from nona.queries.simulation.reference.bind import EngineParts, load_s
from nona.queries.simulation.reference.executors import ExecutorProcess
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import HANDED, WAKE, content_key


@dataclass(frozen=True, slots=True)
class _Entry:
    """A ready task: since when, where its last predecessor ran, and which tasks became ready with it."""

    job: QueryJob
    task: int
    since_s: float
    home: int
    first: int
    size: int


class ReadyList:
    """Ready tasks in the order in which they became ready.

    ``places`` says where the tasks of all jobs in the system are, see
    :class:`~nona.queries.schedulers.base.Ready`.
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self.places: Ints = np.full(64, -1)
        self._used, self._left = 0, dict[int, list[int]]()

    def __len__(self) -> int:
        return len(self._entries)

    def enter(self, job: QueryJob) -> None:
        """Give the job's tasks their part of ``places``: that of a job which has left, or a new one."""
        tasks, left = job.plan.tasks, self._left.setdefault(job.plan.tasks, [])
        if left:
            job.base = left.pop()
        else:
            job.base, self._used = self._used, self._used + tasks
            if self._used > len(self.places):
                self.places = np.concatenate([self.places, np.full(self._used, -1)])
        self.places[job.base : job.base + tasks] = -1

    def leave(self, job: QueryJob) -> None:
        """Free the entries of a job that has left."""
        self._left[job.plan.tasks].append(job.base)

    def append(self, job: QueryJob, tasks: list[int], now: float, home: int) -> None:
        """Append tasks that have become ready together; ``home`` is where their last predecessor ran."""
        self._entries += [_Entry(job, task, now, home, tasks[0], len(tasks)) for task in tasks]

    def remove(self, place: int, keys: list[list[int]], most: int) -> list[tuple[QueryJob, int]]:
        """Take out entry ``place`` and then, from the first on, equal tasks (by ``keys``) up to ``most``."""
        first = self._entries.pop(place)
        key = keys[first.job.query][first.task]
        equal = [e for e in self._entries if most > 1 and keys[e.job.query][e.task] == key][: most - 1]
        for entry in equal:
            self._entries.remove(entry)
        return [(e.job, e.task) for e in (first, *equal)]

    def query(self, place: int) -> int:
        """Return the query class of an entry."""
        return self._entries[place].job.query

    def table(self, open_jobs: int) -> Ready:
        """Return the ready list as schedulers see it."""
        of = self._entries

        def column(values: Iterator[float]) -> Any:
            return np.array(list(values))

        return Ready(
            n=len(of),
            job=column(e.job.number for e in of),
            query=column(e.job.query for e in of),
            task=column(e.task for e in of),
            since_s=column(e.since_s for e in of),
            job_running=column(e.job.running for e in of),
            home=column(e.home for e in of),
            open_jobs=open_jobs,
            batch_first=column(e.first for e in of),
            batch_size=column(e.size for e in of),
            job_draw=column(e.job.draw for e in of),
            base=column(e.job.base for e in of),
            places=self.places,
        )


_BLOCK = 512


def uniform_blocks(streams: RandomStreams, width: int) -> Iterator[Floats]:
    """Endless blocks of rows of uniforms: a row per pick, the same for every scheduler of equal width."""
    rng = streams.generator("picks")
    while True:
        yield rng.random((_BLOCK, max(width, 1)))


def bad_pick(scheduler: str, place: int, ready: int, executor: int) -> SimulationError:
    """Make the error for a pick outside the list, or for an executor that is not free."""
    return SimulationError(
        f"Scheduler {scheduler!r}: it picked ready task {place} of {ready} for executor {executor}; pick one "
        "in the list, for an executor whose queue_length is 0."
    )


class PickDispatcher:
    """Keeps ready tasks in one list and asks the policy while there are some and free executors.

    A task is picked when all its predecessors are complete; only then is it known where its
    inputs must go. The executor is promised to it while they travel: it takes no other task, but
    its background goes on. Where executors batch, one is given as many equal tasks as are ready, up to the
    largest batch, and starts when the inputs of all are there.
    """

    def __init__(self, parts: EngineParts, streams: RandomStreams) -> None:
        self._parts, self._board, self._ready = parts, parts.board, ReadyList()
        self._promises_cards = parts.scheduler.network_view >= NetworkView.N3
        self._has_background = parts.system.background_compute.rate > 0
        blocks = uniform_blocks(streams, parts.prepared.uniforms_per_job)
        self._rows = (row for rows in blocks for row in rows)
        self._row = next(self._rows)
        self._keys = batch_keys(parts.system)
        self._most = [len(q.step_s) for q in parts.system.queries]
        self._out = np.zeros(2, dtype=np.int64)
        self._wake_s, self._open_jobs = math.inf, 0

    def admit(self, job: QueryJob, uniforms: Any) -> None:
        """Append the first tasks of a job to the ready list."""
        job.executor = [self._parts.executors[0]] * job.plan.tasks  # the true one is set when picked
        job.draw = float(uniforms[0]) if len(uniforms) else 0.0
        self._ready.enter(job)
        self._ready.append(job, list(job.plan.sources), self._parts.env.now, -1)

    def task_ended(self, job: QueryJob, task: int, executor: ExecutorProcess) -> None:
        """Release the executor of a complete task, and make its successors ready."""
        self._board.release(executor.number, load_s(job, task, executor))
        if self._promises_cards:
            self._promise_cards(job, task, executor, -1.0)
        self._ready.places[job.base + task] = -2 - executor.number
        if job.left == 1:
            self._ready.leave(job)
        job.running -= 1
        for target in job.plan.successors[task]:
            job.unfinished[target] -= 1
        ready = [target for target in job.plan.successors[task] if job.unfinished[target] == 0]
        self._ready.append(job, ready, self._parts.env.now, executor.number)

    def settled(self, open_jobs: int) -> None:
        """Let the scheduler pick until it picks nothing."""
        self._open_jobs = open_jobs
        if not len(self._ready):
            return
        self._board.freed.clear()
        now = self._parts.env.now
        decide: Any = self._parts.scheduler.decide
        while len(self._ready) and self._board.free:
            table, view = self._ready.table(open_jobs), self._parts.look()
            if not decide(now, view, table, self._parts.prepared.tables, self._row, self._out):
                break
            self._bind(int(self._out[0]), int(self._out[1]))
            self._row = next(self._rows)
        if self._has_background and len(self._ready):
            self._plan_wake()

    def _bind(self, place: int, number: int) -> None:
        parts = self._parts
        if not (0 <= place < len(self._ready) and 0 <= number < len(parts.executors)) or (
            self._board.queue_length[number] != 0
        ):
            raise bad_pick(parts.scheduler.name, place, len(self._ready), number)
        members = self._ready.remove(place, self._keys, self._most[self._ready.query(place)])
        executor = parts.executors[number]
        executor.expected = len(members)
        for job, task in members:
            self._hand_over(job, task, executor)

    def _hand_over(self, job: QueryJob, task: int, executor: ExecutorProcess) -> None:
        parts, number = self._parts, executor.number
        job.executor[task] = executor
        self._ready.places[job.base + task] = number
        job.running += 1
        self._board.promise(number, load_s(job, task, executor))
        if self._promises_cards:
            self._promise_cards(job, task, executor, 1.0)
        late_s = parts.prepared.hand_over_s
        if late_s > 0:
            key = content_key(HANDED, job.number, task)
            parts.env.schedule_at(parts.env.now + late_s, key, lambda _: self._fetch(job, task))
        else:
            self._fetch(job, task)

    def _promise_cards(self, job: QueryJob, task: int, executor: ExecutorProcess, sign: float) -> None:
        """Add (1) or take off (−1) the rates of the task's inputs from other servers."""
        rates, there = self._board.card_bytes_s, executor.server
        seconds = job.plan.times[executor.kind][task]
        for output, _, source in job.plan.reads[task]:
            here = job.executor[source].server
            if here != there:
                rate = sign * card_rate(output.size_bytes, seconds)
                rates[there] += rate
                rates[len(rates) // 2 + here] += rate

    def _fetch(self, job: QueryJob, task: int) -> None:
        """Request the inputs of a task for its executor."""
        job.picked_s[task] = self._parts.env.now
        there, link = job.executor[task].server, self._parts.link
        for output, place, source in job.plan.reads[task]:
            here, copy = job.executor[source].server, (output.tensor, there)
            if here == there:
                job.arrive(output.numbers[place])
            elif copy in job.messages:
                link.also(job.messages[copy], place)
            else:
                job.messages[copy] = link.send(job, output, (place,), here, there)
        if not job.plan.inputs[task]:
            job.join(task)

    def _plan_wake(self) -> None:
        """Decide again when background that is there now sets an executor free."""
        freed_s = min(executor.cleared_s() for executor in self._parts.executors)
        if freed_s != self._wake_s and not math.isinf(freed_s):
            self._wake_s = freed_s  # plans before this one are ignored
            self._parts.env.schedule_at(freed_s, content_key(WAKE), self._woken)

    def _woken(self, _: simpy.Event) -> None:
        if self._parts.env.now != self._wake_s:
            return
        self._wake_s = math.inf
        if self._board.freed:
            self.settled(self._open_jobs)
        else:  # more background has come meanwhile
            self._plan_wake()
