"""The second simulator where batches run on instances that stand, written from the description."""

import math
from dataclasses import dataclass, replace

from pools import Lease
from reference_parts import Message
from reference_platform import Batch, Queue, ReferencePlatform

from nona.serverless.policies.base import Fleet, WaitingQueue

READY, SCALE = 7, 8
A_MOMENT_S = 1e-9


@dataclass(eq=False)
class ReferenceInstance:
    number: int
    queue: Queue
    configuration: int
    invoker: int
    lease: Lease
    started_s: float
    ready_s: float
    cold: bool
    forced: bool
    batch: Batch | None = None
    told_to_stop: bool = False
    ended_s: float = math.nan


class StandingPlatform(ReferencePlatform):
    """One run; ``instances`` holds all that were started, ``served_by`` the one of each batch."""

    def __init__(self, system, policy, options, warmup, measured, replication=0):
        super().__init__(system, policy, options, warmup, measured, replication)
        self.scaler = self.planner.scaler
        self.instances, self.served_by, self.came = [], [], []
        self.push(self.scaler.every_s, SCALE, (0, 0, 1), 1)

    def handlers(self):
        return super().handlers() | {READY: self.becomes_free, SCALE: self.on_look}

    def join(self, call, stage):
        super().join(call, stage)
        place = self.at[call.application, stage].place
        self.came.append((self.now, place))
        self.due.add(place)

    def recent_rate(self, queue):
        """Jobs that came within the window, per second of it; it cannot reach back beyond the start."""
        window = self.scaler.window_s
        count = sum(1 for time_s, place in self.came if place == queue.place and time_s > self.now - window)
        return count / min(window, max(self.now, min(self.scaler.every_s, window)))

    def standing(self, queue):
        return [
            i for i in self.instances if i.queue is queue and math.isnan(i.ended_s) and not i.told_to_stop
        ]

    def free(self, instance):
        return instance.batch is None and instance.ready_s <= self.now

    def on_look(self, number):
        for k in range(len(self.queues)):
            self.adapt(self.queues[(number + k) % len(self.queues)])
        self.push((number + 1) * self.scaler.every_s, SCALE, (0, 0, number + 1), number + 1)

    def adapt(self, queue):
        there, where = self.standing(queue), (queue.application, queue.stage)
        fleet = Fleet(*where, self.recent_rate(queue), tuple(i.configuration for i in there))
        lacking = self.scaler.excess(fleet)
        grows = lacking > 0
        while lacking > 0 and (made := self.begin(queue, self.scaler.ranked(*where, lacking), False)):
            lacking -= self.scaler.service(*where, made.configuration).most
        for place in () if grows else self.scaler.stops(fleet):
            if len(self.standing(queue)) == 1 and queue.jobs:
                break  # somebody must serve them
            there[place].told_to_stop = True
            self.end_if_free(there[place])

    def end_if_free(self, instance):
        if instance.told_to_stop and self.free(instance):
            instance.ended_s = self.now
            self.pools[instance.invoker].release(instance.lease)
            self.containers.give_back(
                instance.invoker, instance.queue.function, self.now, instance.configuration
            )
            self.due |= {q.place for q in self.queues if q.rechecking}

    def becomes_free(self, instance):
        self.end_if_free(instance)
        self.due.add(instance.queue.place)

    def begin(self, queue, ranked, forced):
        found = self.room(queue, ranked)
        if found is None:
            return None
        configuration, invoker = found
        lease = self.pools[invoker].take(self.system.space[configuration])
        cold = self.containers.take(invoker, queue.function, self.now)
        cold_s = self.system.functions[queue.function].cold_start_s if cold else 0.0
        ready = self.now + lease.setup_s + cold_s
        instance = ReferenceInstance(
            len(self.instances), queue, configuration, invoker, lease, self.now, ready, cold, forced
        )
        self.instances.append(instance)
        self.due.add(queue.place)
        if ready > self.now:
            self.push(ready, READY, (queue.application, queue.stage, instance.number), instance)
        return instance

    def room(self, queue, ranked):
        """An instance belongs to no call: there is no invoker where its inputs are."""
        self.asking = queue.function
        if self.planner.place is not None:
            answer = self.planner.place(WaitingQueue(queue.application, queue.stage, 1, 0.0), ranked, self)
            return None if answer is None else (ranked[answer[0]], answer[1])
        found = ((n, self.first_that_fits(queue, n)) for n in ranked)
        return next((pair for pair in found if pair[1] is not None), None)

    def where_inputs_are(self, queue):
        return ()

    def examine_due(self):
        while self.due:
            place = min(self.due)
            self.due.remove(place)
            self.serve(self.queues[place])

    def serve(self, queue):
        queue.rechecking, queue.waiting = False, 0
        if self.rules.late == "drop" and queue.jobs:
            self.drop_hopeless(queue)
        if queue.jobs and not self.standing(queue):
            self.first_instance(queue)
        while queue.jobs:
            patience = {i: self.patience(i) for i in self.standing(queue) if self.free(i)}
            able = [i for i, left in patience.items() if self.full(i) or left <= A_MOMENT_S]
            if not able:
                if patience:
                    self.look_again(queue, min(patience.values()))
                return
            largest = max(self.system.space[i.configuration].batch for i in able)
            self.run_on(next(i for i in able if self.system.space[i.configuration].batch == largest))

    def first_instance(self, queue):
        forced = queue.failures >= self.rules.rechecks
        ranked = self.scaler.ranked(queue.application, queue.stage, self.recent_rate(queue))
        if self.begin(queue, (self.system.space.smallest,) if forced else ranked, forced):
            queue.failures = 0
        else:
            queue.failures += 1
            queue.rechecking = True

    def full(self, instance):
        return len(instance.queue.jobs) >= self.system.space[instance.configuration].batch

    def patience(self, instance):
        """Seconds for which the oldest job would still wait for a full batch."""
        queue = instance.queue
        service = self.scaler.service(queue.application, queue.stage, instance.configuration)
        return service.timeout_s - (self.now - queue.jobs[0][0])

    def look_again(self, queue, after_s):
        self.tokens += 1
        queue.waiting = self.tokens
        at_s = max(self.now + after_s, math.nextafter(self.now, math.inf))
        self.push(at_s, 4, (queue.application, queue.stage), queue, queue.waiting)

    def run_on(self, instance):
        queue, space = instance.queue, self.system.space
        own = space[instance.configuration]
        taken, queue.jobs = queue.jobs[: own.batch], queue.jobs[own.batch :]
        jobs = [call for _, _, call in taken]
        transfer_s, local_s, local, messages = self.transfer(queue, jobs, instance.invoker)
        values = self.values(taken, self.now, self.now + transfer_s, instance.lease)
        values |= {"setup_s": 0.0, "forced": instance.forced, "local": local, "transfer_s": transfer_s}
        where = instance.configuration, instance.invoker, instance.lease
        batch = Batch(len(self.batches), queue, jobs, *where, values)
        instance.batch = batch
        self.batches.append(batch)
        self.served_by.append(instance)
        for call in jobs:
            call.batch[queue.stage] = batch
        sizes = [c.batch for c in space.configurations if c.batch >= len(jobs)]
        batch.timed = space.number[replace(own, batch=min(sizes))]
        batch.missing, batch.local_s, batch.asked_s = len(messages), local_s, self.now
        for which, (source, size) in enumerate(messages):
            self.send(Message(batch, which, self.links.path(source, instance.invoker), size), self.now)
        if not messages:
            self.start(batch, self.now + transfer_s, float(jobs[0].noise[queue.stage]))

    def give_back(self, batch):
        """Nothing yet: its jobs go on first."""

    def on_batch_end(self, batch, token):
        before = batch.ended_s
        super().on_batch_end(batch, token)
        if math.isnan(before) and not math.isnan(batch.ended_s):
            instance = self.served_by[batch.number]
            instance.batch = None
            self.becomes_free(instance)
