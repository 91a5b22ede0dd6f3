"""The controller: which queue is examined when, the decision, its outcome.

A queue is *pending* while it is to be looked at. It is on the *recheck list* when nothing that was decided
for it had room; then whatever frees resources makes it pending.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nona.serverless.engine.batches import start_batch
from nona.serverless.engine.gpus import find_invoker
from nona.serverless.engine.layout import (
    DECISION,
    NOWHERE,
    PLACE,
    SMALLEST_ROW,
    STOP,
    WAIT_OVER,
    WAITS,
    PlatformState,
    key_of,
)
from nona.serverless.engine.queues import drop_late, push, recent_rate, slack_s

PolicyCall = Callable[..., int]


def make_pending(s: PlatformState, queue: int) -> None:
    """Schedule a check of the queue."""
    q = s.queues[queue]
    s.clock[0].pending += 1 - q.pending
    q.pending = 1


def make_others_pending(s: PlatformState) -> None:
    """Resources have become free."""
    for queue in range(s.clock[0].queues):
        if s.queues[queue].recheck:
            make_pending(s, queue)


def has_joined(s: PlatformState, queue: int) -> None:
    """Update the queue after a job joined; a search under way counts the job at its end."""
    q = s.queues[queue]
    if q.searching:
        return
    if q.wait == 0 or s.clock[0].stands:
        make_pending(s, queue)
    elif 0 < q.wait_for <= q.length:
        q.wait = 0
        make_pending(s, queue)


def next_queue(s: PlatformState) -> int:
    """Take the pending queue that ``dispatch`` puts first; standing instances serve in the queues' order."""
    c = s.clock[0]
    if c.by_slack and not c.stands:
        queue = _least_slack(s)
    else:
        served = -1 if c.stands else c.served
        for k in range(1, c.queues + 1):
            queue = (served + k) % c.queues
            if s.queues[queue].pending:
                break
    s.queues[queue].pending = 0
    c.pending -= 1
    return int(queue)


def _least_slack(s: PlatformState) -> int:
    """Return the queue of the least slack, of the pending ones with jobs; else the first pending one."""
    best = first = -1
    for queue in range(s.clock[0].queues):
        q = s.queues[queue]
        if q.pending:
            first = queue if first < 0 else first
            if q.length > 0 and (best < 0 or slack_s(s, queue) < slack_s(s, best)):
                best = queue
    return best if best >= 0 else first


def examine(s: PlatformState, queue: int, answer: PolicyCall, ask: PolicyCall) -> None:
    """Decide for a queue."""
    c, q = s.clock[0], s.queues[queue]
    if q.length == 0 or q.searching:
        return
    c.served = queue
    if c.drops:
        drop_late(s, queue)
        if q.length == 0:
            return
    carried, forced = s.carried[q.head // c.width], q.failed >= c.limit
    row = _decided_row(s, queue, carried, forced, answer)
    if row == STOP:
        return
    q.recheck, q.wait = 0, 0
    if row == WAITS:
        _stand(s, queue)
        return
    q.row, q.decided_s, q.forced, q.asked_carried = row, c.now_s, forced, carried >= 0
    if s.rows[row].search_s > 0:
        q.searching = 1
        c.searches += 1
        push(s, c.now_s + s.rows[row].search_s, key_of(DECISION, q.application, q.stage, 0))
    else:
        resolve(s, queue, ask)


def _decided_row(s: PlatformState, queue: int, carried: int, forced: bool, answer: PolicyCall) -> int:
    """Return the planner's answer: remembered where it depends on the length and the carried plan alone."""
    c, q = s.clock[0], s.queues[queue]
    if forced and not c.places:
        return SMALLEST_ROW
    in_memo, at = False, 0
    if c.memo_length > 0 and carried + 1 < c.memo_plans and not forced:
        length = min(q.length, c.memo_length)
        at = (queue * (c.memo_length + 1) + length) * c.memo_plans + carried + 1
        in_memo = True
        if s.memo[at] >= 0:
            return int(s.memo[at])
    waited_s = c.now_s - s.joined_s[q.head]
    slack = slack_s(s, queue)
    row = answer(queue, q.length, carried, int(forced), slack, waited_s, recent_rate(s, queue))
    if in_memo:
        s.memo[at] = row
    return row


def _stand(s: PlatformState, queue: int) -> None:
    c, q = s.clock[0], s.queues[queue]
    if c.wait_s <= 0 and c.wait_for <= q.length:
        return
    q.waits += 1
    q.wait, q.wait_for = q.waits, c.wait_for
    if c.wait_s > 0:
        over_s = max(c.now_s + c.wait_s, np.nextafter(c.now_s, math.inf))  # time must pass
        push(s, over_s, key_of(WAIT_OVER, q.application, q.stage, q.waits))


def decided(s: PlatformState, queue: int, ask: PolicyCall) -> None:
    """Use the result of a search that has ended."""
    s.queues[queue].searching = 0
    s.clock[0].searches -= 1
    if s.queues[queue].length > 0:  # else all that waited for it were dropped
        resolve(s, queue, ask)


def resolve(s: PlatformState, queue: int, ask: PolicyCall) -> None:
    """Dispatch the decision where there is room."""
    c, q = s.clock[0], s.queues[queue]
    row, inside = s.rows[q.row], c.start_s <= c.now_s <= c.end_s
    configuration, invoker = find_place(s, queue, q.row, _predecessor_of(s, queue), ask)
    if configuration == STOP:
        return
    if q.asked_carried and q.failed == 0:
        q.missed = configuration != s.ranked[row.first]
    if row.missed:
        q.missed = 1
    if configuration < 0:
        q.failed += 1
        q.recheck = 1
        c.rechecks += inside
        return
    start_batch(s, queue, configuration, invoker, -1, ask)
    if inside:
        c.planned += q.asked_carried or q.missed
        c.misses += q.missed
    q.failed, q.missed = 0, 0
    if q.length > 0:
        make_pending(s, queue)


def find_place(
    s: PlatformState, queue: int, number: int, predecessor: int, ask: PolicyCall
) -> tuple[int, int]:
    """Return (configuration, invoker): the first configuration of a row that some invoker takes."""
    c, q, row = s.clock[0], s.queues[queue], s.rows[number]
    if c.places:
        code = ask(PLACE, queue, number, 0)
        return (code, -1) if code < 0 else (code // c.invokers, code % c.invokers)
    for at in range(row.first, row.first + row.count):
        configuration = s.ranked[at]
        if c.partial or c.stands or s.configurations[configuration].batch <= q.length:
            invoker = find_invoker(s, queue, configuration, predecessor)
            if invoker >= 0:
                return configuration, invoker
    return NOWHERE, -1


def _predecessor_of(s: PlatformState, queue: int) -> int:
    """Return the invoker of the oldest job's predecessor whose batch ended last, −1 for an entry stage."""
    q = s.queues[queue]
    last, base = -1, q.head - q.stage
    for at in range(q.before, q.before + q.befores):
        number = s.served[base + s.before[at]]
        if last < 0 or s.batches[number].ended_s >= s.batches[last].ended_s:
            last = number
    return s.batches[last].invoker if last >= 0 else -1
