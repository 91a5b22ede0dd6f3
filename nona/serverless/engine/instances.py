"""Instances that stand for queues over time, started and stopped by load.

An instance takes its resources and its container when it is started, serves batches of at most its
configuration's size one after the other, and gives everything back when it is stopped: at once if it is
idle, else at the end of its batch, or when it is ready if it is not yet. It is *live* until it is stopped.

A queue is looked at when a job joins, when an instance of it is ready or idle, when a wait is over, and when
it lacks an instance and resources become free.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nona.serverless.engine.batches import start_batch
from nona.serverless.engine.containers import give_back_container, take_container
from nona.serverless.engine.control import find_place, make_others_pending, make_pending
from nona.serverless.engine.gpus import give_back_resources, take_resources
from nona.serverless.engine.layout import (
    MORE,
    RANKED,
    READY,
    SCALE,
    SCALES,
    SERVICE,
    SMALLEST_ROW,
    STOP,
    WAIT_OVER,
    PlatformState,
    key_of,
)
from nona.serverless.engine.queues import drop_late, push, window_rate

PolicyCall = Callable[..., int]
SOONEST_S = 1e-9  # a shorter wait has run out


def scale_all(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """Visit the queues for the ``number``-th time, another one first each time, as room may be short."""
    c = s.clock[0]
    for k in range(c.queues):
        _scale(s, (number + k) % c.queues, ask)
    push(s, (number + 1) * c.every_s, key_of(SCALE, 0, 0, number + 1))


def _scale(s: PlatformState, queue: int, ask: PolicyCall) -> None:
    """Start instances for excess load, or stop some; the last one stays while jobs wait."""
    c = s.clock[0]
    c.rate = window_rate(s, queue)
    stopped = ask(SCALES, queue, 0, 0)
    for k in range(stopped):
        _stop(s, s.stops[k], ask)
    while stopped == MORE and c.wanted > 0:
        row = ask(RANKED, queue, 0, 0)
        instance = _start(s, queue, row, False, ask) if row >= 0 else -1
        if instance < 0:
            return
        c.wanted -= s.service_most[queue, s.instances[instance].configuration]


def _start(s: PlatformState, queue: int, row: int, forced: bool, ask: PolicyCall) -> int:
    """Return an instance of the first configuration that has room, where it has; else −1."""
    c, q = s.clock[0], s.queues[queue]
    configuration, invoker = find_place(s, queue, row, -1, ask)
    if configuration < 0:
        return -1
    number = c.instances
    own = s.instances[number]
    c.instances = number + 1
    if c.instances + c.headroom > len(s.instances):
        c.grow = 1
    if math.isnan(s.service_most[queue, configuration]):
        ask(SERVICE, queue, configuration, 0)
    own.queue, own.configuration, own.invoker, own.forced = queue, configuration, invoker, forced
    own.gpu, own.slots, own.vgpus, own.key, setup_s = take_resources(s, invoker, configuration, ask)
    own.cold, own.container = take_container(s, invoker, q.function, configuration)
    own.timeout_s = s.service_timeout_s[queue, configuration]
    own.started_s, own.ended_s = c.now_s, math.nan
    own.ready_s = c.now_s + setup_s
    if own.cold:
        own.ready_s += s.cold_start_s[q.function]
    own.busy, own.stopping, own.next = own.ready_s > c.now_s, 0, -1
    if q.last_instance < 0:
        q.first_instance = number
    else:
        s.instances[q.last_instance].next = number
    q.last_instance = number
    if own.busy:
        push(s, own.ready_s, key_of(READY, q.application, q.stage, number))
    make_pending(s, queue)
    return int(number)


def becomes_idle(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """Set an instance idle after its start or its batch, or stop it."""
    own = s.instances[number]
    own.busy = 0
    if own.stopping:
        _stop(s, number, ask)
    make_pending(s, own.queue)


def _stop(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """Retire an instance; it frees its resources as soon as it is idle."""
    own = s.instances[number]
    own.stopping = 1
    if own.busy:
        return
    q, before, at = s.queues[own.queue], -1, s.queues[own.queue].first_instance
    while at != number:
        before, at = at, s.instances[at].next
    if before < 0:
        q.first_instance = own.next
    else:
        s.instances[before].next = own.next
    if q.last_instance == number:
        q.last_instance = before
    own.ended_s = s.clock[0].now_s
    give_back_resources(s, own.invoker, own.gpu, own.slots, own.vgpus, own.key, own.configuration, ask)
    give_back_container(s, own.container)
    make_others_pending(s)


def examine_standing(s: PlatformState, queue: int, ask: PolicyCall) -> None:
    """Serve a queue by its instances; one with jobs and without an instance gets one."""
    c, q = s.clock[0], s.queues[queue]
    q.wait, q.recheck = 0, 0
    if c.drops and q.length > 0:
        drop_late(s, queue)
    if q.length > 0 and not _has_live(s, queue):
        _start_first(s, queue, ask)
    while q.length > 0 and c.halted == 0:
        instance, left_s = _next_instance(s, queue)
        if instance < 0:
            _stand(s, queue, left_s)
            return
        _dispatch(s, instance, ask)


def _has_live(s: PlatformState, queue: int) -> bool:
    at = s.queues[queue].first_instance
    while at >= 0 and s.instances[at].stopping:
        at = s.instances[at].next
    return bool(at >= 0)


def _start_first(s: PlatformState, queue: int, ask: PolicyCall) -> None:
    """After many failures the smallest configuration is forced."""
    c, q = s.clock[0], s.queues[queue]
    forced, row = q.failed >= c.limit, SMALLEST_ROW
    if not forced:
        c.wanted = window_rate(s, queue)
        row = ask(RANKED, queue, 0, 0)
        if row == STOP:
            return
    if _start(s, queue, row, forced, ask) >= 0:
        q.failed = 0
        return
    q.failed += 1
    q.recheck = 1
    c.rechecks += c.start_s <= c.now_s <= c.end_s


def _next_instance(s: PlatformState, queue: int) -> tuple[int, float]:
    """Return the idle instance that serves now: the largest whose batch is full or has waited long enough.

    If there is none: after how many seconds one will; infinite where all are busy.
    """
    c, q = s.clock[0], s.queues[queue]
    waited_s, soonest_s = c.now_s - s.joined_s[q.head], math.inf
    best, largest, at = -1, 0, q.first_instance
    while at >= 0:
        own = s.instances[at]
        if not own.busy and not own.stopping:
            batch, left_s = s.configurations[own.configuration].batch, own.timeout_s - waited_s
            if q.length >= batch or left_s <= SOONEST_S:
                if batch > largest:
                    best, largest = at, batch
            else:
                soonest_s = min(soonest_s, left_s)
        at = own.next
    return best, soonest_s


def _stand(s: PlatformState, queue: int, left_s: float) -> None:
    """Wait until a batch has waited long enough."""
    c, q = s.clock[0], s.queues[queue]
    if left_s < math.inf:
        q.waits += 1
        q.wait = q.waits
        over_s = max(c.now_s + left_s, np.nextafter(c.now_s, math.inf))  # time must pass
        push(s, over_s, key_of(WAIT_OVER, q.application, q.stage, q.waits))


def _dispatch(s: PlatformState, number: int, ask: PolicyCall) -> None:
    c, own = s.clock[0], s.instances[number]
    q = s.queues[own.queue]
    own.busy = 1
    q.row, q.decided_s, q.forced, q.missed = SMALLEST_ROW, c.now_s, own.forced, 0
    start_batch(s, own.queue, own.configuration, own.invoker, number, ask)
