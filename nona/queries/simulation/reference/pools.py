"""Pools of instances, which take several equal tasks in one step and share GPUs.

A pool decides at the end of an instant, once all that happens then has happened. Of the keys (equal tasks)
whose batch may start, and of background, an idle instance takes what stands first in the queue. A batch whose
members all have the same task ready here next runs on with it; otherwise run-on is off.

With j instances busy on a GPU each runs at ``speed[j − 1]``: what is left of a step is done at the new speed
from the instant at which another starts or ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import simpy

from nona.core.random_streams import RandomStreams
from nona.queries.simulation.batching import StepRule, batch_keys, members_taken, step_rule
from nona.queries.simulation.records import TaskInterval
from nona.queries.simulation.reference.executors import ExecutorProcess, Item, Surroundings
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import (
    BACKGROUND,
    STEP,
    TASK_END,
    Environment,
    Process,
    content_key,
)
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
    """Of all tasks (query class, task): rules, keys, times (B, classes, T) as lists."""

    rules: list[list[StepRule]]
    keys: list[list[int]]
    times: list[list[list[list[float]]]]


def _steps_of(system: System) -> Steps:
    queries = system.queries
    rules = [[step_rule(q, task) for task in range(len(q.tasks))] for q in queries]
    return Steps(rules, batch_keys(system), [q.step_s.tolist() for q in queries])


class SharedGpu:
    """A GPU with its busy instances, or a process of the host.

    ``free_s``: when the last busy period ended; ``since_s``: of the present one; ``closed_s``: length
        of those before; ``work_s``: sum of the services started; ``served_s``: what the GPU has given,
        ∫j·speed dt, up to ``served_at_s``; ``started``: steps.
    """

    def __init__(self, env: Environment, number: int, speed: list[float]) -> None:
        self.env, self.number, self._speeds = env, number, speed
        self.busy: list[Instance] = []
        self.speed = speed[0]
        self.free_s = self.since_s = self.closed_s = self.work_s = self.served_s = self.served_at_s = 0.0
        self.started = 0

    def start(self, instance: Instance, service_s: float) -> None:
        """Let an instance run a step of ``service_s`` at full speed; set its end."""
        now = self.env.now
        if not self.busy and now > self.free_s:
            self.closed_s += self.free_s - self.since_s
            self.since_s = now
        self.work_s += service_s
        self._count_served()
        self.busy.append(instance)
        self._change_speed(instance)
        instance.end_at(now + service_s / self.speed)

    def end(self, instance: Instance) -> None:
        """Let the others run faster once ``instance`` is done."""
        self._count_served()
        self.busy.remove(instance)
        if self.busy:
            self._change_speed(None)
        else:
            self.free_s = self.env.now

    def _count_served(self) -> None:
        self.served_s += len(self.busy) * self.speed * (self.env.now - self.served_at_s)
        self.served_at_s = self.env.now

    def _change_speed(self, starting: Instance | None) -> None:
        before, self.speed = self.speed, self._speeds[len(self.busy) - 1]
        if self.speed != before:
            for instance in self.busy:
                if instance is not starting:
                    left_s = (instance.end_s - self.env.now) * before
                    instance.end_at(self.env.now + left_s / self.speed)

    def busy_until(self, now: float) -> float:
        """Seconds from 0 to ``now`` in which an instance was busy."""
        return self.closed_s + (now if self.busy else min(self.free_s, now)) - self.since_s

    def served_until(self, now: float) -> float:
        """Seconds of service given by ``now``, by the number of busy instances and their speed."""
        if len(self._speeds) == 1:
            return self.busy_until(now)
        return self.served_s + len(self.busy) * self.speed * (now - self.served_at_s)

    def work_until(self, now: float) -> float:
        """Seconds of service done by ``now``: started services less what is left of them."""
        left_s = 0.0
        for instance in self.busy:
            left_s += (instance.end_s - now) * self.speed
        return self.work_s - left_s


class Instance:
    """It runs a step at a time. ``last``: jobs of the step that ended last, if they may run on."""

    def __init__(self, pool: Pool, number: int, kind: int, gpu: SharedGpu) -> None:
        self.pool, self.number, self.kind, self.gpu = pool, number, kind, gpu
        self.items: list[Item] = []
        self.last: list[QueryJob] = []
        self.end_s = 0.0
        self._key = 0
        self._end: simpy.Event | None = None

    def start(self, items: list[Item], service_s: float, key: int) -> None:
        """Run these tasks, or background, as one step."""
        self.items, self._key = items, key
        self.gpu.start(self, service_s)

    def end_at(self, end_s: float) -> None:
        """Set the end of the step; an end that was set before does not count."""
        self.end_s = end_s
        self._end = self.pool.env.schedule_at(end_s, self._key, self._ended)

    def _ended(self, event: simpy.Event) -> None:
        if event is self._end:
            self.gpu.end(self)
            items, self.items = self.items, []
            self.pool.ended(self, items)


class Pool(ExecutorProcess):
    """Instances with one queue; ``on_step`` hears of every step that starts.

    ``board_number`` is the executor whose load its tasks count for. Of picked tasks a batch starts when all
    that are ``expected`` are here.
    """

    def __init__(
        self,
        number: int,
        board_number: int,
        background: Iterator[tuple[float, float]],
        of: Surroundings,
        steps: Steps,
        on_step: OnStep,
    ) -> None:
        self.steps, self.on_step = steps, on_step
        self.instances: list[Instance] = []
        self._idle_since_s = 0.0
        self._formed: dict[int, list[_Formed]] = {}  # by key
        super().__init__(number, background, of)
        self.board_number = board_number
        pools = of.system.all_pools
        self.server, self.kind = int(pools.server[number]), int(pools.kind[number])

    def join(self, job: QueryJob | None, task: int = 0, service_s: float = 0.0) -> None:
        """Queue the task, and record when its batch began to fill."""
        if job is not None:
            job.fill_s[task] = self._idle_s()
        super().join(job, task, service_s)
        if job is not None:
            self._form(job, task)

    def _serve(self) -> Process:
        while True:
            self._joined = self.env.event()
            due_s = self._due_s() if self._idle() else math.inf
            yield self._joined if math.isinf(due_s) else self._joined | self.env.schedule_at(due_s, self._key)
            yield self.env.schedule_at(
                self.env.now, self._key
            )  # once all that happens at this instant has happened
            self._decide()

    @property
    def _key(self) -> int:
        return content_key(STEP, self.number)

    def _idle(self) -> list[Instance]:
        return [instance for instance in self.instances if not instance.items]

    def _decide(self) -> None:
        """Start all that may start."""
        if not self._queue:
            return
        for instance in self._idle():
            last, instance.last = instance.last, []
            if last and instance.end_s == self.env.now and (items := self._run_on_step(last)):
                self._start(instance, items)
        while (idle := self._idle()) and (items := self._next_step()):
            self._start(min(idle, key=lambda i: (len(i.gpu.busy), i.number)), items)

    def _start(self, instance: Instance, items: list[Item]) -> None:
        for item in items:
            self._queue.remove(item)
        first, task, service_s = items[0]
        idle_s = self._idle_s()
        if len(self._idle()) == 1 and self.env.now > self._idle_since_s:
            self.idle_s += self.env.now - self._idle_since_s
        if first is None:
            instance.start(items, service_s, content_key(BACKGROUND, instance.number, 1))
            return
        formed = self._formed.get(self._key_of(first, task))
        if formed:  # the first of them starts, or members of some run on
            del formed[: 1 if formed[0].members == len(items) else None]
        jobs, members = [job for job, _, _ in items if job], len(items)
        self.on_step(first, members)
        service_s = self.steps.times[first.query][members - 1][instance.kind][task]
        if first.draws is not None:
            service_s *= first.draws[task]
        instance.gpu.started += 1
        for job in jobs:
            job.start_s[task], job.members[task] = self.env.now, members
            job.fill_s[task] = max(0.0, idle_s - job.fill_s[task])
            job.step[task] = instance.gpu.started
        instance.start(items, service_s, content_key(TASK_END, first.number, task))

    def ended(self, instance: Instance, items: list[Item]) -> None:
        """Record that the step of an instance has ended."""
        now = self.env.now
        if len(self._idle()) == 1:
            self._idle_since_s = now
        self.free_s = now
        if not self._joined.triggered:
            self._joined.succeed()
        jobs, task = [job for job, _, _ in items if job], items[0][1]
        if not jobs:
            self._background_ended()
            return
        for job in jobs:
            job.end_s[task] = now
            if job.trace is not None:
                times = job.joined_s[task], job.start_s[task], now
                step = job.step[task], len(jobs)
                at = instance.number
                job.trace.tasks.append(TaskInterval(job.number, job.query, task, at, *times, *step))
        self.on_end(jobs, task, self)
        instance.last = jobs

    def _run_on_step(self, last: list[QueryJob]) -> list[Item]:
        """Return the next task of all jobs whose batch has just ended, if it is ready here for all of them.

        Of picked tasks those alone, if no others are expected with them.
        """
        if not self.run_on:
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
        key, rule = self._key_of(job, task), self._rule_of(job, task)
        waiting = self._waiting(key)
        if self.expected:
            return self.expected * (len(waiting) == self.expected)
        if not rule.ahead:
            return self._taken(rule, waiting, 0)[0]
        formed = self._formed[key]
        return formed[0].members if formed else 0

    def _merge(self, job: QueryJob, task: int) -> None:
        """Join both batches that formed ahead, if the second is late and they are not too large."""
        key, rule = self._key_of(job, task), self._rule_of(job, task)
        formed = self._formed.get(key, [])
        if len(formed) == 2 and not formed[0].full:
            together = formed[0].members + formed[1].members
            if together <= rule.most and self._is_late(rule, self._waiting(key)[formed[0].members]):
                formed[:] = [_Formed(together, True)]

    def _form(self, job: QueryJob, task: int) -> None:
        """Let batches form ahead, or grow."""
        rule, key = self._rule_of(job, task), self._key_of(job, task)
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
                due_s = min(due_s, job.joined_s[task] + self._rule_of(job, task).delay_s)
        return due_s

    def _waiting(self, key: int) -> list[Item]:
        return [item for item in self._queue if item[0] and self._key_of(item[0], item[1]) == key]

    def _key_of(self, job: QueryJob, task: int) -> int:
        return self.steps.keys[job.query][task]

    def _rule_of(self, job: QueryJob, task: int) -> StepRule:
        return self.steps.rules[job.query][task]

    def _idle_s(self) -> float:
        """Seconds up to now in which an instance stood idle."""
        return self.idle_s + (max(0.0, self.env.now - self._idle_since_s) if self._idle() else 0.0)

    def cleared_s(self) -> float:
        """When the background here will have ended; ``inf`` where there is none, or a task is bound here."""
        (instance,) = self.instances
        items = [*instance.items, *self._queue]
        if not items or len(items) != self.board.queue_length[self.number] or any(job for job, _, _ in items):
            return math.inf
        cleared = instance.end_s if instance.items else self.free_s
        for _, _, service_s in self._queue:
            cleared += service_s
        return cleared

    def busy_until(self, now: float) -> float:
        """Seconds from 0 to ``now`` in which the GPU of this executor was busy."""
        return self.instances[0].gpu.busy_until(now)

    def served_until(self, now: float) -> float:
        """Seconds of service that the GPU of this executor has given by ``now``."""
        return self.instances[0].gpu.served_until(now)

    def work_until(self, now: float) -> float:
        """Seconds of service done by the GPU of this executor by ``now``."""
        return self.instances[0].gpu.work_until(now)


def make_executors(
    of: Surroundings, streams: RandomStreams, on_step: OnStep
) -> tuple[list[ExecutorProcess], list[ExecutorProcess]]:
    """Return the executors by number, each with its background, and all queues by the number of the pool.

    Executors that batch, or have pools, are pools.
    """
    system = of.system
    background = [
        background_items(system.background_compute, streams, "executor", str(e))
        for e in range(system.executors)
    ]
    if not system.decides_in_turn:
        executors = [ExecutorProcess(e, items, of) for e, items in enumerate(background)]
        return executors, executors
    steps, pools = _steps_of(system), system.all_pools
    board = pools.board.tolist()
    queues: dict[int, Pool] = {}
    gpus: dict[int, SharedGpu] = {}
    on_gpu = [pools.gpu.tolist().count(i) for i in range(len(pools.gpu))]
    for i, (pool, gpu) in enumerate(zip(pools.pool.tolist(), pools.gpu.tolist(), strict=True)):
        if pool not in queues:
            items = background[i] if i < system.executors else iter(())
            queues[pool] = Pool(i, board[i], items, of, steps, on_step)
        if gpu not in gpus:
            gpus[gpu] = SharedGpu(of.env, gpu, pools.speed[gpu][: on_gpu[gpu]].tolist())
        queues[pool].instances.append(Instance(queues[pool], i, int(pools.kind[i]), gpus[gpu]))
    numbered = [queues.get(i) or queues[int(pools.pool[i])] for i in range(len(pools.pool))]
    return [*numbered[: system.executors]], [*numbered]
