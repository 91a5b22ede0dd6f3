"""Batches sent off, fed, computed and ended.

One share of a job's bytes comes from each predecessor's invoker, all shares equal; those of the same
invoker come over the local path, the others over the remote one, both at once::

    time = max(path), path = latency + bytes / bandwidth where there are bytes

On a shared network a batch asks for its inputs when its set-up and its cold start are over: one message from
each other invoker that has some, or from outside the cluster. Messages cross their links as in
:mod:`nona.queries.simulation.reference.links`: first come, first served, pipelined, each joining an event.

A batch starts to compute when its resources are set up, its container runs and its inputs are there; it then
takes (CPU + GPU seconds) · noise of its oldest job, the GPU part longer where batches slow each other down.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nona.serverless.engine.containers import give_back_container, take_container
from nona.serverless.engine.gpus import give_back_resources, leave_gpu, take_resources
from nona.serverless.engine.layout import BACKGROUND, END, GPU_PHASE, HOP, NO_TIME, PlatformState, key_of
from nona.serverless.engine.queues import leave, push

PolicyCall = Callable[..., int]


def start_batch(
    s: PlatformState, queue: int, configuration: int, invoker: int, instance: int, ask: PolicyCall
) -> None:
    """Send the oldest jobs of a queue to an invoker that has room, or to an instance there.

    On an instance there is neither a cold start nor a set-up.
    """
    c, q = s.clock[0], s.queues[queue]
    number = c.batches
    batch, row = s.batches[number], s.rows[q.row]
    if instance < 0:
        batch.gpu, batch.slots, batch.vgpus, batch.key, batch.setup_s = take_resources(
            s, invoker, configuration, ask
        )
    batch.jobs = min(s.configurations[configuration].batch, q.length)
    batch.place, batch.queued_s = q.head, s.joined_s[q.head]
    leave(s, queue, batch.jobs)
    batch.timed = configuration
    if instance < 0:
        batch.cold, batch.container = take_container(s, invoker, q.function, configuration)
    else:
        own = s.instances[instance]
        batch.gpu, batch.slots, batch.vgpus, batch.container = own.gpu, own.slots, own.vgpus, own.container
        batch.cold, batch.setup_s = 0, 0.0
        batch.timed = s.by_jobs[q.function, configuration, batch.jobs - 1]
    batch.application, batch.stage, batch.queue, batch.function = q.application, q.stage, queue, q.function
    batch.invoker, batch.configuration, batch.instance = invoker, configuration, instance
    batch.decided_s, batch.dispatched_s = q.decided_s, c.now_s
    batch.missed, batch.forced = q.missed, q.forced
    batch.search_s, batch.steps = row.search_s, row.steps
    batch.ended_s, batch.ends_s, batch.speed, batch.moved = math.nan, math.nan, 0.0, 0
    c.batches = number + 1
    cold_s = s.cold_start_s[q.function] if batch.cold else 0.0
    batch.asked_s = c.now_s + batch.setup_s + cold_s
    _fetch(s, number)
    batch.started_s = c.now_s + batch.setup_s + batch.transfer_s + cold_s
    place = batch.place
    for _ in range(batch.jobs):
        s.served[place] = number
        if row.carry >= 0:
            s.carried[place // c.width] = row.carry
        place = s.next[place]
    if batch.messages == 0:
        _compute(s, number)


def _compute(s: PlatformState, number: int) -> None:
    """Schedule a batch whose inputs are there at ``started_s``: its end, or its turn on a shared GPU."""
    c, batch = s.clock[0], s.batches[number]
    kind, noise = s.invokers[batch.invoker].kind, s.noise[batch.place]
    cpu_s = s.cpu_s[batch.function, batch.timed]
    gpu_s = s.gpu_s[kind, batch.function, batch.timed, batch.vgpus]
    if not cpu_s + gpu_s < math.inf:
        c.bad_configuration, c.bad_function, c.halted = batch.timed, batch.function, NO_TIME
        return
    if c.crowd > 0:
        batch.left_s = gpu_s * noise
        at_s, kind = batch.started_s + cpu_s * noise, GPU_PHASE
    else:
        at_s, kind = batch.started_s + (cpu_s + gpu_s) * noise, END
        batch.ends_s = at_s
    push(s, at_s, key_of(kind, batch.application, batch.stage, number))


def end_batch(s: PlatformState, number: int, ask: PolicyCall) -> bool:
    """End a batch and free its resources; return whether it ends now: its end may have moved since."""
    c, batch = s.clock[0], s.batches[number]
    if not math.isnan(batch.ended_s) or batch.ends_s != c.now_s:
        return False
    batch.ended_s = c.now_s
    if c.crowd > 0:
        leave_gpu(s, number)
    if batch.instance < 0:
        give_back_resources(
            s, batch.invoker, batch.gpu, batch.slots, batch.vgpus, batch.key, batch.configuration, ask
        )
        give_back_container(s, batch.container)
    return True


def _fetch(s: PlatformState, number: int) -> None:
    """Seconds for the batch's inputs, and how many of its jobs find all of theirs on its invoker."""
    c, batch = s.clock[0], s.batches[number]
    q, jobs, place = s.queues[batch.queue], batch.jobs, batch.place
    share = q.input_bytes / max(q.befores, 1)
    batch.local, batch.messages, batch.alone_s = 0, 0, math.nan
    for source in range(c.invokers + 1):
        s.shares[source] = 0
    if q.befores == 0:
        s.shares[0] = jobs
    for _ in range(jobs if q.befores > 0 else 0):
        base, inputs_here = place - place % c.width, 0
        for at in range(q.before, q.before + q.befores):
            source = s.batches[s.served[base + s.before[at]]].invoker
            s.shares[source + 1] += 1
            if source == batch.invoker:
                inputs_here += 1
        if inputs_here == q.befores:
            batch.local += 1
        place = s.next[place]
    here = s.shares[batch.invoker + 1]
    local_s = _way_s(here * share, c.local_latency_s, c.local_bandwidth)
    if c.links == 0:
        remote = jobs * max(q.befores, 1) - here
        remote_s = _way_s(remote * share, c.remote_latency_s, c.remote_bandwidth)
        batch.transfer_s = local_s if local_s > remote_s else remote_s
        return
    batch.transfer_s, batch.ready_s = local_s, batch.asked_s + local_s
    s.shares[batch.invoker + 1] = 0
    for source in range(c.invokers + 1):
        if s.shares[source] > 0 and share > 0:
            _send(s, number, source, s.shares[source] * share)


def _way_s(size: float, latency_s: float, bandwidth: float) -> float:
    """Seconds for so many bytes over a path."""
    return latency_s + size / bandwidth if size > 0 else 0.0


def _send(s: PlatformState, number: int, source: int, size: float) -> None:
    """Send a message with inputs; alone it would take size / slowest link + latency."""
    c, batch = s.clock[0], s.batches[number]
    path = source * c.invokers + batch.invoker
    batch.transfer_s = max(batch.transfer_s, size / s.slowest[path] + c.latency_s)
    batch.alone_s = batch.transfer_s
    message = s.messages[c.messages]
    message.batch, message.path, message.steps, message.size, message.end_s = number, path, 0, size, 0.0
    push(s, batch.asked_s, key_of(HOP, batch.application, batch.stage, c.messages))
    batch.messages += 1
    c.messages += 1
    if c.messages + c.headroom > len(s.messages):
        c.grow = 1


def hop(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """Move a message to its next link; the last message of a batch sets the batch's start."""
    c, message = s.clock[0], s.messages[number]
    batch, link = s.batches[message.batch], s.paths[message.path, message.steps]
    absorb(s, link, ask)
    begin_s = _join_link(s, link, c.now_s, message.size / s.links[link].capacity)
    message.end_s = max(message.end_s, s.links[link].free_s)
    message.steps += 1
    if message.steps < c.hops and s.paths[message.path, message.steps] >= 0:
        push(s, begin_s, key_of(HOP, batch.application, batch.stage, number))
        return
    batch.ready_s = max(batch.ready_s, message.end_s + c.latency_s)
    batch.messages -= 1
    if batch.messages == 0:
        batch.started_s, batch.transfer_s = batch.ready_s, batch.ready_s - batch.asked_s
        _compute(s, message.batch)


def _join_link(s: PlatformState, number: int, at_s: float, work_s: float) -> float:
    """Queue work at a link, behind all before it; return the time at which it begins."""
    link = s.links[number]
    begin_s = link.free_s
    if begin_s < at_s:
        link.closed_s += begin_s - link.since_s
        link.since_s = at_s
        begin_s = at_s
    link.free_s = begin_s + work_s
    link.work_s += work_s
    return float(begin_s)


def absorb(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """Let the background messages that arrived at a link up to now join."""
    c, link = s.clock[0], s.links[number]
    while link.next_s <= c.now_s:
        _join_link(s, number, link.next_s, link.next_work_s)
        link.at += 1
        if link.at == s.background_s.shape[1] and ask(BACKGROUND, number, 0, 0) < 0:
            return
        link.next_s, link.next_work_s = s.background_s[number, link.at], s.background_work_s[number, link.at]
