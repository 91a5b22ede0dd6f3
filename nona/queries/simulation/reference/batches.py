"""Executors that take several equal tasks in one step.

Such an executor decides at the end of an instant, once all that happens then has happened. Of the keys (equal
tasks) whose batch may start, and of background, it takes what stands first in its queue. A batch whose
members all have the same task ready here next runs on with it; otherwise run-on is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import simpy

from nona.core.random_streams import RandomStreams
from nona.queries.simulation.batching import StepRule, batch_keys, members_taken, step_rule
from nona.queries.simulation.records import TaskInterval
from nona.queries.simulation.reference.executors import ExecutorProcess, Item, Surroundings
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import STEP, TASK_END, Process, content_key
from nona.queries.simulation.workload import background_items
from nona.queries.system import System

OnStep = Callable[[QueryJob, int], None]  # first member, members


@dataclass(frozen=True, slots=True)
class _Formed:
    """A batch that formed while the executor was busy; until it starts it grows, if it is not full."""

    members: int
    full: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """Of all query classes (by number): rules, keys of their tasks, times (B, classes, T) as lists."""

    rules: list[StepRule]
    keys: list[list[int]]
    times: list[list[list[list[float]]]]


def _steps_of(system: System) -> Steps:
    queries = system.queries
    times = [q.step_s.tolist() for q in queries]
    return Steps([step_rule(q) for q in queries], batch_keys(system), times)


class BatchingExecutor(ExecutorProcess):
    """An executor whose steps have up to ``max_batch`` members; ``on_step`` hears of every one that starts.

    Of picked tasks a batch starts when all that are ``expected`` are here.
    """

    def __init__(
        self,
        number: int,
        background: Iterator[tuple[float, float]],
        of: Surroundings,
        steps: Steps,
        on_step: OnStep,
    ) -> None:
        self.steps, self.on_step = steps, on_step
        self.started = 0
        self._formed: dict[int, list[_Formed]] = {}  # by key
        super().__init__(number, background, of)

    def join(self, job: QueryJob | None, task: int = 0, service_s: float = 0.0) -> None:
        """Queue the task, and record when its batch began to fill."""
        if job is not None:
            job.fill_s[task] = self._idle_s()
        super().join(job, task, service_s)
        if job is not None:
            self._form(job, task)

    def _serve(self) -> Process:
        last: list[QueryJob] = []
        while True:
            items = self._run_on_step(last) or self._next_step()
            if not items:
                last = [] if self._queue else last
                self._joined = self.env.event()
                due_s = self._due_s()
                waits = self._joined if math.isinf(due_s) else self._joined | self.env.at(due_s, self._key)
                yield waits
                last = last if self.env.now == self.free_s else []
            elif items[0][0] is None:
                self._take(items)
                yield from self._run_background(items[0][2])
                last = []
            else:
                self._take(items)
                last = yield from self._run_step(items)
            yield self.env.at(self.env.now, self._key)

    @property
    def _key(self) -> int:
        return content_key(STEP, self.number)

    def _take(self, items: list[Item]) -> None:
        self._in_service = items[0]
        for item in items:
            self._queue.remove(item)
        job, task, _ = items[0]
        formed = self._formed.get(self._key_of(job, task)) if job else None
        if formed:  # the first of them starts, or members of some run on
            del formed[: 1 if formed[0].members == len(items) else None]

    def _run_on_step(self, last: list[QueryJob]) -> list[Item]:
        """Return the next task of all jobs whose batch has just ended, if it is ready here for all of them.

        Of picked tasks those alone, if no others are expected with them.
        """
        if not last or not self.run_on:
            return []
        first = next((item for item in self._queue if item[0] is last[0]), None)
        if first is None:
            return []
        key = self._key_of(last[0], first[1])
        own: list[Item] = [
            (job, t, 0.0)
            for job in last
            for j, t, _ in self._queue
            if j is job and self._key_of(job, t) == key
        ]
        return own if len(own) == len(last) and self.expected in (0, len(own)) else []

    def _next_step(self) -> list[Item]:
        """Return the first in the queue of all that may start."""
        heads = {self._key_of(job, task): (job, task) for job, task, _ in reversed(self._queue) if job}
        for head in heads.values():
            self._form(*head)
        for job, task, service_s in self._queue:
            if job is None:
                return [(None, task, service_s)]
            key = self._key_of(job, task)
            if heads[key] == (job, task) and self._size(job, task):
                self._merge(job, task)
                return self._waiting(key)[: self._size(job, task)]
        return []

    def _size(self, job: QueryJob, task: int) -> int:
        """Members of the batch that may start with the first waiting task equal to this one; 0: none may."""
        key, rule = self._key_of(job, task), self.steps.rules[job.query]
        waiting = self._waiting(key)
        if self.expected:
            return self.expected * (len(waiting) == self.expected)
        if not rule.ahead:
            return self._taken(rule, waiting, 0)[0]
        formed = self._formed[key]
        return formed[0].members if formed else 0

    def _merge(self, job: QueryJob, task: int) -> None:
        """Join both batches that formed ahead, if the second is late and they are not too large."""
        key, rule = self._key_of(job, task), self.steps.rules[job.query]
        formed = self._formed.get(key, [])
        if len(formed) == 2 and not formed[0].full:
            together = formed[0].members + formed[1].members
            if together <= rule.most and self._is_late(rule, self._waiting(key)[formed[0].members]):
                formed[:] = [_Formed(together, True)]

    def _form(self, job: QueryJob, task: int) -> None:
        """Let batches form ahead, or grow."""
        rule, key = self.steps.rules[job.query], self._key_of(job, task)
        if not rule.ahead:
            return
        formed = self._formed.setdefault(key, [])
        left = self._waiting(key)[sum(f.members for f in formed) :]
        while left:
            grows = bool(formed) and not formed[-1].full
            if not grows and len(formed) >= rule.ahead:
                return
            before = formed[-1].members if grows else 0
            taken, full = self._taken(rule, left, before)
            if not taken:
                return
            formed[len(formed) - grows :] = [_Formed(before + taken, full)]
            left = left[taken:]

    def _taken(self, rule: StepRule, waiting: list[Item], formed: int) -> tuple[int, bool]:
        """How many of these equal tasks an open batch of ``formed`` takes, and whether it is full then."""
        most = rule.most
        reach = min(formed + len(waiting), most)
        preferred = rule.preferred[reach] if rule.largest else most * (reach == most)
        late, largest = self._is_late(rule, waiting[0]), rule.largest or most
        return members_taken(len(waiting), formed, most, late, rule.delay_s == 0, preferred, largest)

    def _is_late(self, rule: StepRule, item: Item) -> bool:
        job, task, _ = item
        return job is not None and rule.delay_s > 0 and self.env.now >= job.joined_s[task] + rule.delay_s

    def _due_s(self) -> float:
        """When the next batch may start for its age."""
        due_s, seen = math.inf, set[int]()
        for job, task, _ in self._queue:
            if job is not None and not self.expected and (key := self._key_of(job, task)) not in seen:
                seen.add(key)
                due_s = min(due_s, job.joined_s[task] + self.steps.rules[job.query].delay_s)
        return due_s

    def _waiting(self, key: int) -> list[Item]:
        return [item for item in self._queue if item[0] and self._key_of(item[0], item[1]) == key]

    def _key_of(self, job: QueryJob, task: int) -> int:
        return self.steps.keys[job.query][task]

    def _run_step(self, items: list[Item]) -> Generator[simpy.Event, Any, list[QueryJob]]:
        jobs, task, now = [job for job, _, _ in items if job], items[0][1], self.env.now
        first, members = jobs[0], len(jobs)
        self.on_step(first, members)
        service_s = self.steps.times[first.query][members - 1][self.kind][task]
        if first.draws is not None:
            service_s *= first.draws[task]
        idle_s, end_s = self._idle_s(), self._hold(service_s)
        self.started += 1
        for job in jobs:
            job.start_s[task], job.end_s[task], job.members[task] = now, end_s, members
            job.fill_s[task] = max(0.0, idle_s - job.fill_s[task])
            if job.trace is not None:
                times = job.joined_s[task], now, end_s
                step = self.started, members
                job.trace.tasks.append(TaskInterval(job.number, job.query, task, self.number, *times, *step))
        yield self.env.at(end_s, content_key(TASK_END, first.number, task))
        self._in_service = None
        self.on_end(jobs, task, self)
        return jobs

    def _idle_s(self) -> float:
        """Seconds up to now in which nothing ran here."""
        return self.idle_s + max(0.0, self.env.now - self.free_s)


def make_executors(of: Surroundings, streams: RandomStreams, on_step: OnStep) -> list[ExecutorProcess]:
    """Return the executors by number, each with its background; they batch where some query class does."""
    system = of.system
    background = [
        background_items(system.background_compute, streams, "executor", str(e))
        for e in range(system.executors)
    ]
    if not system.batches:
        return [ExecutorProcess(e, items, of) for e, items in enumerate(background)]
    steps = _steps_of(system)
    return [BatchingExecutor(e, items, of, steps, on_step) for e, items in enumerate(background)]
