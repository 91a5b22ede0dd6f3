"""Starts batches on their invokers and ends them, as :mod:`nona.serverless.engine.execution` does."""

from __future__ import annotations

import math

from nona.serverless.engine.compiled.cluster import give_back_resources, take_resources
from nona.serverless.engine.compiled.containers import give_back_container, take_container
from nona.serverless.engine.compiled.heap import key_of, push
from nona.serverless.engine.compiled.layout import END, NO_TIME, State
from nona.serverless.engine.compiled.queues import leave


def start(s: State, queue: int, configuration: int, invoker: int) -> int:
    """Send the oldest jobs of a queue to an invoker that has room; ``NO_TIME`` where they cannot run."""
    c, q = s.clock[0], s.queues[queue]
    number = c.batches
    batch, row = s.batches[number], s.rows[q.row]
    batch.gpu, batch.slots = take_resources(s, invoker, configuration)
    batch.jobs = min(s.configurations[configuration].batch, q.length)
    batch.place, batch.queued_s = q.head, s.joined_s[q.head]
    leave(s, queue, batch.jobs)
    batch.cold = take_container(s, invoker, q.function)
    batch.application, batch.stage, batch.queue, batch.function = q.application, q.stage, queue, q.function
    batch.invoker, batch.configuration = invoker, configuration
    batch.decided_s, batch.dispatched_s = q.decided_s, c.now_s
    fetch(s, number)
    batch.started_s = c.now_s + batch.transfer_s
    if batch.cold:
        batch.started_s += s.cold_start_s[q.function]
    batch.missed, batch.forced = q.missed, q.forced
    batch.search_s, batch.steps = row.search_s, row.steps
    batch.ended_s, batch.setup_s = math.nan, 0.0
    place = batch.place
    for _ in range(batch.jobs):
        s.served[place] = number
        if row.carry >= 0:
            s.carried[place // c.width] = row.carry
        place = s.next[place]
    c.batches = number + 1
    return compute(s, number)


def compute(s: State, number: int) -> int:
    """The batch ends when its time, by the noise of its oldest job, is over."""
    c, batch = s.clock[0], s.batches[number]
    kind = s.invokers[batch.invoker].kind
    own_s = s.cpu_s[batch.function, batch.configuration]
    own_s += s.gpu_s[kind, batch.function, batch.configuration]
    if not own_s < math.inf:
        c.bad_configuration, c.bad_function = batch.configuration, batch.function
        return NO_TIME
    ends_s = batch.started_s + own_s * s.noise[batch.place]
    push(s, ends_s, key_of(END, batch.application, batch.stage, number))
    return 0


def fetch(s: State, number: int) -> None:
    """Seconds for the batch's inputs, and how many of its jobs find all of theirs on its invoker."""
    c, batch = s.clock[0], s.batches[number]
    q, jobs = s.queues[batch.queue], batch.jobs
    if q.befores == 0:
        batch.local = 0
        batch.transfer_s = way_s(jobs * q.input_bytes, c.remote_latency_s, c.remote_bandwidth)
        return
    here, local, place = 0, 0, batch.place
    for _ in range(jobs):
        base, found = place - place % c.width, 0
        for at in range(q.before, q.before + q.befores):
            if s.batches[s.served[base + s.before[at]]].invoker == batch.invoker:
                found += 1
        here += found
        if found == q.befores:
            local += 1
        place = s.next[place]
    batch.local = local
    share = q.input_bytes / q.befores
    local_s = way_s(here * share, c.local_latency_s, c.local_bandwidth)
    remote_s = way_s((jobs * q.befores - here) * share, c.remote_latency_s, c.remote_bandwidth)
    batch.transfer_s = local_s if local_s > remote_s else remote_s


def way_s(size: float, latency_s: float, bandwidth: float) -> float:
    """Seconds for so many bytes over a path."""
    return latency_s + size / bandwidth if size > 0 else 0.0


def end(s: State, number: int) -> None:
    """A batch ends and gives everything back."""
    batch = s.batches[number]
    batch.ended_s = s.clock[0].now_s
    give_back_resources(s, number)
    give_back_container(s, batch.invoker, batch.function)
