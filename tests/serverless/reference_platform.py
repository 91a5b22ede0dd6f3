"""A second simulator of the serverless platform, written for clarity from its description.

It shares with the engine the draws, the pools of GPUs and the hash of the home invoker; queues, rules of
dispatch, containers, transfers and the order of events are its own. Everything is looked for from scratch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np
from pools import Lease, make_pool
from reference_parts import Message, ReferenceContainers, ReferenceLinks

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.random_streams import RandomStreams
from nona.scenario.arrivals import arrival_chunks
from nona.serverless.dispatch import home_invoker
from nona.serverless.policies.base import BatchPlan, WaitingQueue
from nona.serverless.sharing import gpu_seconds, larger_slice_s, least_times

BATCH_END, ARRIVAL, CONTAINER, DECISION, WAIT, GPU_PHASE, JOINS_LINK = 0, 1, 2, 3, 4, 5, 6


@dataclass(eq=False)
class Call:
    number: int
    application: int
    arrival_s: float
    noise: np.ndarray
    batch: dict[int, Batch] = field(default_factory=dict)
    carry: tuple[int, ...] | None = None
    completion_s: float = math.nan
    dropped_s: float = math.nan

    @property
    def over(self):
        return not (math.isnan(self.completion_s) and math.isnan(self.dropped_s))


@dataclass(eq=False)
class Batch:
    number: int
    queue: Queue
    jobs: list[Call]
    configuration: int
    invoker: int
    lease: Lease
    values: dict[str, Any]
    ended_s: float = math.nan
    gpu_left: float = 0.0
    timed: int | None = None  # the configuration whose time it takes, if not its own
    asked_s: float = 0.0  # of its inputs: when they were asked for,
    local_s: float = 0.0  # how long those take that are on the invoker already,
    missing: int = 0  # how many messages are under way,
    arrived_s: float = 0.0  # and when the last of the others was there


@dataclass(eq=False)
class Queue:
    application: int
    stage: int
    function: int
    place: int
    jobs: list[tuple[float, int, Call]] = field(default_factory=list)
    joined: list[float] = field(default_factory=list)
    planning: bool = False
    rechecking: bool = False
    failures: int = 0
    missed: bool = False
    waiting: int = 0
    wait_for: int = 0


def reference_arrivals(system, replication):
    streams = RandomStreams(system.seed, replication)
    if system.interval is not None:
        gaps = streams.generator("serverless", "gaps")
        which = streams.generator("serverless", "applications")
        rates = np.array([app.rate for app in system.applications])
        now = 0.0
        while True:
            now += float(gaps.uniform(system.interval.least, system.interval.most))
            yield now, int(which.choice(len(rates), p=rates / rates.sum()))
    sources = []
    for app in system.applications:
        rng = streams.generator("serverless", "arrivals", app.name)
        chunks = arrival_chunks(app.arrivals, app.rate, rng, replication)
        sources.append(t for chunk in chunks for t in chunk.tolist())
    heads = [next(s) for s in sources]
    while True:
        first = min(range(len(heads)), key=lambda a: (heads[a], a))
        yield heads[first], first
        heads[first] = next(sources[first])


class ReferencePlatform:
    """One run of a policy; afterwards ``calls`` and ``batches`` hold what happened."""

    def __init__(self, system, policy, options, warmup, measured, replication=0):
        self.system, self.rules = system, system.dispatch
        self.planner = policy.prepare(system, options)
        self.fastest = least_times(system)[0].min(axis=1).tolist()
        self.pools = [make_pool(node, system.sharing) for node in system.invokers]
        self.containers = ReferenceContainers(system, self.push)
        self.events, self.now = [], 0.0
        self.queues = [
            Queue(a, s, system.applications[a].function[s], p) for p, (a, s) in enumerate(system.queues)
        ]
        self.at = {(q.application, q.stage): q for q in self.queues}
        self.due = set()
        self.last_served = len(self.queues) - 1
        self.controller_free = True
        self.calls, self.batches, self.on_gpu = [], [], {}
        self.source = reference_arrivals(system, replication)
        streams = RandomStreams(system.seed, replication)
        self.draws = [streams.generator("serverless", "noise", a.name) for a in system.applications]
        self.links = None
        if system.network is not None:
            self.links = ReferenceLinks(system.network, system.seed, replication, self.send)
        self.window = (warmup, warmup + measured)
        self.most = warmup + measured + 1000 + measured // 5
        self.tokens = 0
        self.asking = -1  # the function that an invoker is looked for

    # Time

    def push(self, time_s, kind, what, *more):
        self.tokens += 1
        heappush(self.events, (time_s, kind, *what, *([-1] * (3 - len(what))), self.tokens, more))

    def run(self):
        self.containers.begin()
        self.next_arrival()
        limit = math.inf
        while self.events and not self.done():
            if len(self.calls) >= self.window[1]:
                limit = self.calls[self.window[1] - 1].arrival_s + 20 * max(
                    a.slo_s for a in self.system.applications
                )
            if self.events[0][0] > limit:
                break
            self.now = self.events[0][0]
            while self.events and self.events[0][0] == self.now:
                _, kind, *_, more = heappop(self.events)
                self.handlers()[kind](*more)
            self.examine_due()
        return self

    def done(self):
        first, last = self.window
        return len(self.calls) >= last and all(c.over for c in self.calls[first:last])

    def waiting_usd(self):
        """What containers cost that waited between the first and the last measured arrival."""
        start_s, end_s = (self.calls[n].arrival_s for n in (self.window[0], self.window[1] - 1))
        return sum(
            max(0.0, min(until_s, end_s) - max(from_s, start_s))
            * float(self.system.price_per_s[configuration])
            * self.system.idle_cost
            for from_s, until_s, configuration in self.containers.all_waits()
        )

    def handlers(self):
        return {
            BATCH_END: self.on_batch_end,
            ARRIVAL: self.on_arrival,
            CONTAINER: self.on_container,
            DECISION: self.on_decision,
            WAIT: self.on_wait_end,
            GPU_PHASE: self.on_gpu_phase,
            JOINS_LINK: self.on_link,
        }

    def on_container(self, what, place, which):
        short = not self.containers.room_for_all(place[0])
        self.containers.on_event(self.now, what, place, which)
        if what == "ready" and short:
            self.due |= {q.place for q in self.queues if q.rechecking}

    def on_wait_end(self, queue, token):
        if queue.waiting == token:
            self.due.add(queue.place)

    # Calls and queues

    def next_arrival(self):
        if len(self.calls) < self.most:
            time_s, app = next(self.source)
            self.push(time_s, ARRIVAL, (app,), app)

    def on_arrival(self, app):
        application = self.system.applications[app]
        z = self.draws[app].standard_normal(application.stages)
        call = Call(len(self.calls), app, self.now, np.maximum(0.1, 1 + self.system.noise * z))
        self.calls.append(call)
        for stage in application.entries:
            self.join(call, stage)
        self.next_arrival()

    def join(self, call, stage):
        queue = self.at[call.application, stage]
        queue.jobs.append((self.now, call.number, call))
        queue.joined = [*queue.joined, self.now][-64:]
        queue.jobs.sort(key=lambda job: job[:2])
        if queue.planning:
            return  # it will be counted when the plan is carried out
        if not queue.waiting or 0 < queue.wait_for <= len(queue.jobs):
            self.due.add(queue.place)

    def slack(self, queue):
        oldest = min(call.arrival_s for _, _, call in queue.jobs)
        return self.system.applications[queue.application].slo_s - (self.now - oldest)

    def rate(self, queue):
        """Jobs that followed the first of the last 64, per second since that one came."""
        since = self.now - queue.joined[0]
        return (len(queue.joined) - 1) / since if since > 0 else 0.0

    def examine_due(self):
        """Examine what is due, in the order of the rules, until the controller is busy or nothing is left."""
        while True:
            ready = [q for q in self.queues if q.place in self.due and q.jobs and not q.planning]
            self.due &= {q.place for q in ready}
            if not ready or not self.controller_free:
                return
            if self.rules.order == "least-slack":
                queue = min(ready, key=lambda q: (self.slack(q), q.place))
            else:
                n = len(self.queues)
                queue = min(ready, key=lambda q: (q.place - self.last_served - 1) % n)
            self.due.discard(queue.place)
            self.last_served = queue.place
            self.serve(queue)

    def drop_hopeless(self, queue):
        """Calls that the fastest configurations could not save leave every queue."""
        app = self.system.applications[queue.application]
        for _, _, call in list(queue.jobs):
            if app.slo_s - (self.now - call.arrival_s) < self.least_left(app, queue.stage):
                call.dropped_s = self.now
        for other in self.queues:
            left = [job for job in other.jobs if math.isnan(job[2].dropped_s)]
            if other.jobs and not left:
                other.failures, other.missed, other.waiting = 0, False, 0
            other.jobs = left

    def least_left(self, app, stage):
        rest = [self.least_left(app, v) for v in app.dag.successors[stage]]
        return self.fastest[app.function[stage]] + max(rest, default=0.0)

    def serve(self, queue):
        if self.rules.late == "drop":
            self.drop_hopeless(queue)
            if not queue.jobs:
                return
        joined, _, oldest = queue.jobs[0]
        queue.rechecking, queue.waiting = False, 0
        ask = WaitingQueue(
            queue.application,
            queue.stage,
            len(queue.jobs),
            self.slack(queue),
            self.now - joined,
            oldest.carry,
            self.rate(queue),
        )
        forced = queue.failures >= self.rules.rechecks
        plan = BatchPlan((self.system.space.smallest,)) if forced else self.planner.plan(ask)
        if not plan.ranked:
            self.wait(queue, plan)
            return
        if plan.search_s == 0:
            self.on_decision(queue, ask, plan, self.now, forced)
            return
        queue.planning = True
        if self.rules.blocking:
            self.controller_free = False
        what = (queue.application, queue.stage)
        self.push(self.now + plan.search_s, DECISION, what, queue, ask, plan, self.now, forced)

    def wait(self, queue, plan):
        """The queue rests until time has passed or jobs are there; without either, until the next job."""
        if plan.wait_s > 0 or plan.wait_for > len(queue.jobs):
            self.tokens += 1
            queue.waiting, queue.wait_for = self.tokens, plan.wait_for
        if plan.wait_s > 0:
            what = (queue.application, queue.stage)
            over = max(self.now + plan.wait_s, math.nextafter(self.now, math.inf))  # or time stands still
            self.push(over, WAIT, what, queue, queue.waiting)

    # Decisions

    def on_decision(self, queue, ask, plan, began_s, forced):
        queue.planning, self.controller_free = False, True
        if not queue.jobs:
            return  # dropped meanwhile
        found = self.find(queue, ask, plan.ranked)
        if ask.carried is not None and queue.failures == 0:
            queue.missed = found is None or found[0] != 0
        queue.missed |= plan.missed
        if found is None:
            queue.failures += 1
            queue.rechecking = True
            return
        self.dispatch(queue, plan.ranked[found[0]], found[1], plan, began_s, forced)

    def find(self, queue, ask, ranked):
        legal = [
            (place, n)
            for place, n in enumerate(ranked)
            if self.rules.partial or self.system.space[n].batch <= len(queue.jobs)
        ]
        self.asking = queue.function
        if self.planner.place is not None:
            answer = self.planner.place(ask, [n for _, n in legal], self) if legal else None
            return None if answer is None else (legal[answer[0]][0], answer[1])
        for place, n in legal:
            invoker = self.first_that_fits(queue, n)
            if invoker is not None:
                return place, invoker
        return None

    def first_that_fits(self, queue, n):
        asked = [i for i in self.candidates(queue) if self.fits(i, n)]
        if self.rules.ready_first and SHARING_MODES[self.system.sharing.mode].sets_up:
            asked.sort(key=lambda i: not self.pools[i].ready(self.system.space[n]))
        return asked[0] if asked else None

    def candidates(self, queue):
        entry = not self.predecessors(queue)
        n = len(self.pools)
        name = self.system.functions[queue.function].name
        home = home_invoker(name, n)
        for rule in self.rules.first if entry else self.rules.later:
            if rule == "home":
                yield home[0]
            elif rule == "predecessor" and not entry:
                yield from self.where_inputs_are(queue)
            elif rule == "warm":
                yield from (i for i in range(n) if self.containers.idle_count(i, queue.function))
            elif rule == "walk":
                yield from ((home[0] + k * home[1]) % n for k in range(n))
            elif rule == "most-free":
                yield from sorted(
                    range(n), key=lambda i: (-self.pools[i].free_vgpus, -self.pools[i].free_vcpus, i)
                )

    def where_inputs_are(self, queue):
        oldest = queue.jobs[0][2]
        last = max(self.predecessors(queue), key=lambda p: (oldest.batch[p].ended_s, p))
        return (oldest.batch[last].invoker,)

    def predecessors(self, queue):
        return tuple(self.system.applications[queue.application].dag.predecessors[queue.stage])

    @property
    def free_vcpus(self):
        return [pool.free_vcpus for pool in self.pools]

    @property
    def free_vgpus(self):
        return [pool.free_vgpus for pool in self.pools]

    def fits(self, invoker, configuration):
        room = self.system.memory is None or self.containers.has_room(invoker, self.asking)
        return room and self.pools[invoker].fits(self.system.space[configuration])

    def ready(self, invoker, configuration):
        return self.fits(invoker, configuration) and self.pools[invoker].ready(
            self.system.space[configuration]
        )

    # Batches

    def dispatch(self, queue, number, invoker, plan, began_s, forced):
        configuration = self.system.space[number]
        taken, queue.jobs = queue.jobs[: configuration.batch], queue.jobs[configuration.batch :]
        jobs = [call for _, _, call in taken]
        lease = self.pools[invoker].take(configuration)
        cold = self.containers.take(invoker, queue.function, self.now)
        transfer_s, local_s, local, messages = self.transfer(queue, jobs, invoker)
        cold_s = self.system.functions[queue.function].cold_start_s if cold else 0.0
        started = self.now + lease.setup_s + transfer_s + cold_s
        batch = Batch(len(self.batches), queue, jobs, number, invoker, lease, {})
        batch.values = self.values(taken, began_s, started, lease) | {
            "cold": cold,
            "missed": queue.missed,
            "forced": forced,
            "local": local,
            "search_s": plan.search_s,
            "steps": plan.steps,
            "transfer_s": transfer_s,
        }
        self.batches.append(batch)
        queue.failures, queue.missed = 0, False
        for call in jobs:
            call.batch[queue.stage] = batch
            if plan.memory is not None:
                call.carry = plan.memory
        batch.missing, batch.local_s = len(messages), local_s
        batch.asked_s = self.now + lease.setup_s + cold_s
        for which, (source, size) in enumerate(messages):
            self.send(Message(batch, which, self.links.path(source, invoker), size), batch.asked_s)
        if not messages:
            self.start(batch, started, float(jobs[0].noise[queue.stage]))
        self.due.add(queue.place)

    def values(self, taken, decided_s, started_s, lease):
        """What the records say of a batch that needed no search, was planned by nobody and is not cold."""
        times = {"queued_s": taken[0][0], "decided_s": decided_s, "dispatched_s": self.now}
        none = {"cold": False, "missed": False, "forced": False, "search_s": 0.0, "steps": 0}
        held = {"setup_s": lease.setup_s, "slots": lease.slots, "gpu": lease.gpu}
        return times | none | held | {"started_s": started_s}

    def start(self, batch, started, noise):
        timed = batch.configuration if batch.timed is None else batch.timed
        function, pool = batch.queue.function, self.pools[batch.invoker]
        cpu_s = float(self.system.cpu_s[function, timed])
        gpu_s = float(gpu_seconds(self.system, pool.gpu)[function, timed])
        if (held := batch.lease.vgpus) > self.system.space[timed].vgpus:  # a fixed slice
            gpu_s = larger_slice_s(self.system, function, timed, held)
        if pool.gpu.couples:
            batch.gpu_left = gpu_s * noise
            self.push(started + cpu_s * noise, GPU_PHASE, self.content(batch), batch)
        else:
            self.push(started + (cpu_s + gpu_s) * noise, BATCH_END, self.content(batch), batch, None)

    @staticmethod
    def content(batch):
        return batch.queue.application, batch.queue.stage, batch.number

    def send(self, message, time_s):
        self.push(time_s, JOINS_LINK, (*self.content(message.batch), message.which), message)

    def on_link(self, message):
        """The batch starts when its last message is delivered, and what was on its invoker is there."""
        batch, delivered_s = message.batch, self.links.step(message, self.now)
        if delivered_s is None:
            return
        batch.missing -= 1
        batch.arrived_s = max(batch.arrived_s, delivered_s)
        if not batch.missing:
            started = max(batch.arrived_s, batch.asked_s + batch.local_s)
            batch.values |= {"started_s": started, "transfer_s": started - batch.asked_s}
            self.start(batch, started, float(batch.jobs[0].noise[batch.queue.stage]))

    def transfer(self, queue, jobs, invoker):
        """Seconds if alone, and on the invoker; jobs of which all is here; (source, bytes) of messages."""
        size = self.system.applications[queue.application].input_bytes[queue.stage]
        before = self.predecessors(queue)
        near = far = 0.0
        local = 0
        sources = [call.batch[p].invoker for call in jobs for p in before] or [-1] * len(jobs)
        for call in jobs:
            here = sum(call.batch[p].invoker == invoker for p in before)
            if before:
                near += size * here / len(before)
                far += size * (len(before) - here) / len(before)
                local += here == len(before)
            else:
                far += size
        t = self.system.transfer
        local_s = t.local_latency + near / t.local_bandwidth if near > 0 else 0.0
        seconds = [local_s]
        if far > 0 and self.links is None:
            seconds.append(t.remote_latency + far / t.remote_bandwidth)
        messages = []
        if far > 0 and self.links is not None:
            each = size / max(1, len(before))
            messages = [(s, sources.count(s) * each) for s in sorted({*sources} - {invoker})]
            seconds += [self.links.alone_s(size, s, invoker) for s, size in messages]
        return max(seconds), local_s, local, messages

    def on_gpu_phase(self, batch):
        key = (batch.invoker, batch.lease.gpu)
        self.progress(key)
        self.on_gpu.setdefault(key, []).append(batch)
        self.predict(key)

    def progress(self, key):
        active = self.on_gpu.get(key, [])
        for batch in active:
            batch.gpu_left -= (self.now - batch.values["since"]) * batch.values["speed"]

    def predict(self, key):
        """New speeds and ends for all that compute on a GPU; ends predicted before no longer count."""
        active = self.on_gpu[key]
        vgpus = sum(b.lease.vgpus for b in active)
        for batch in active:
            self.tokens += 1
            speed = self.pools[batch.invoker].gpu.speed(batch.lease.vgpus, vgpus)
            batch.values |= {"since": self.now, "speed": speed, "token": self.tokens}
            end = self.now + max(batch.gpu_left, 0.0) / speed
            self.push(end, BATCH_END, self.content(batch), batch, self.tokens)

    def on_batch_end(self, batch, token):
        if token is not None:
            if batch.values["token"] != token:
                return
            key = (batch.invoker, batch.lease.gpu)
            self.progress(key)
            self.on_gpu[key].remove(batch)
            self.predict(key)
        batch.ended_s = self.now
        self.give_back(batch)
        app = self.system.applications[batch.queue.application]
        for call in batch.jobs:
            ended = {s for s, b in call.batch.items() if not math.isnan(b.ended_s)}
            if len(ended) == app.stages:
                call.completion_s = self.now
            for stage in app.dag.successors[batch.queue.stage] if math.isnan(call.dropped_s) else ():
                if set(app.dag.predecessors[stage]) <= ended:
                    self.join(call, stage)

    def give_back(self, batch):
        self.pools[batch.invoker].release(batch.lease)
        self.containers.give_back(batch.invoker, batch.queue.function, self.now, batch.configuration)
        self.due |= {q.place for q in self.queues if q.rechecking}
