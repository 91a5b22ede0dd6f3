"""Which queue is examined when, and its outcome, as :mod:`nona.serverless.engine.controller` has it."""

from __future__ import annotations

from collections.abc import Callable

from nona.serverless.engine.compiled.cluster import find_invoker
from nona.serverless.engine.compiled.execution import start
from nona.serverless.engine.compiled.heap import key_of, push
from nona.serverless.engine.compiled.layout import (
    DECISION,
    NOWHERE,
    SMALLEST_ROW,
    STOP,
    STOPPED,
    WAIT_OVER,
    WAITS,
    State,
)
from nona.serverless.engine.compiled.queues import rate, slack_s

Asked = Callable[..., int]


def make_pending(s: State, queue: int) -> None:
    """The queue is to be looked at."""
    q = s.queues[queue]
    s.clock[0].pending += 1 - q.pending
    q.pending = 1


def joined(s: State, queue: int) -> None:
    """A job has joined; one that a search is under way for will count it at the search's end."""
    q = s.queues[queue]
    if q.searching:
        return
    if q.wait == 0:
        make_pending(s, queue)
    elif 0 < q.wait_for <= q.length:
        q.wait = 0
        make_pending(s, queue)


def released(s: State) -> None:
    """Resources have become free."""
    for queue in range(s.clock[0].queues):
        if s.queues[queue].recheck:
            make_pending(s, queue)


def wait_over(s: State, queue: int, number: int) -> None:
    """A wait has run out; it may have ended before."""
    q = s.queues[queue]
    if q.wait == number:
        q.wait = 0
        make_pending(s, queue)


def serve_one(s: State, answer: Asked, search: Asked) -> int:
    """Look at one of the pending queues, in the order of ``dispatch``; 0, or why the loop has to stop."""
    c = s.clock[0]
    queue = least_slack(s) if c.by_slack else in_turn(s)
    q = s.queues[queue]
    q.pending = 0
    c.pending -= 1
    if q.length == 0 or q.searching:
        return 0
    c.served = queue
    return examine(s, queue, answer, search)


def in_turn(s: State) -> int:
    """The first pending queue after the one served last, else the first of all."""
    c = s.clock[0]
    for k in range(1, c.queues + 1):
        queue = (c.served + k) % c.queues
        if s.queues[queue].pending:
            break
    return int(queue)


def least_slack(s: State) -> int:
    """Of the pending queues with jobs that of the least slack, else the first pending one."""
    best = first = -1
    for queue in range(s.clock[0].queues):
        q = s.queues[queue]
        if q.pending:
            first = queue if first < 0 else first
            if q.length > 0 and (best < 0 or slack_s(s, queue) < slack_s(s, best)):
                best = queue
    return best if best >= 0 else first


def examine(s: State, queue: int, answer: Asked, search: Asked) -> int:
    """Decide for a queue with jobs."""
    c, q = s.clock[0], s.queues[queue]
    carried, forced = s.carried[q.head // c.width], q.failed >= c.limit
    row = decided_row(s, queue, carried, forced, answer)
    if row == STOP:
        return STOPPED
    q.recheck, q.wait = 0, 0
    if row == WAITS:
        stand(s, queue)
        return 0
    q.row, q.decided_s, q.forced, q.asked_carried = row, c.now_s, forced, carried >= 0
    if s.rows[row].search_s > 0:
        q.searching = 1
        c.searches += 1
        push(s, c.now_s + s.rows[row].search_s, key_of(DECISION, q.application, q.stage, 0))
        return 0
    return resolve(s, queue, search)


def decided_row(s: State, queue: int, carried: int, forced: bool, answer: Asked) -> int:
    """The planner's answer: remembered where it depends on the length and the carried plan alone."""
    c, q = s.clock[0], s.queues[queue]
    if forced and not c.places:
        return SMALLEST_ROW
    known, at = False, 0
    if c.memo_length > 0 and carried + 1 < c.memo_plans and not forced:
        length = min(q.length, c.memo_length)
        at = (queue * (c.memo_length + 1) + length) * c.memo_plans + carried + 1
        known = True
        if s.memo[at] >= 0:
            return int(s.memo[at])
    waited_s = c.now_s - s.joined_s[q.head]
    row = answer(queue, q.length, carried, int(forced), slack_s(s, queue), waited_s, rate(s, queue))
    if known:
        s.memo[at] = row
    return row


def stand(s: State, queue: int) -> None:
    """Wait as the plan says; without a time or a number of jobs, for the next job."""
    c, q = s.clock[0], s.queues[queue]
    if c.wait_s <= 0 and c.wait_for <= q.length:
        return
    q.waits += 1
    q.wait, q.wait_for = q.waits, c.wait_for
    if c.wait_s > 0:
        push(s, c.over_s, key_of(WAIT_OVER, q.application, q.stage, q.waits))


def resolve(s: State, queue: int, search: Asked) -> int:
    """What was decided is dispatched where there is room."""
    c, q = s.clock[0], s.queues[queue]
    row, inside = s.rows[q.row], c.start_s <= c.now_s <= c.end_s
    configuration, invoker = placed(s, queue, search)
    if configuration == STOP:
        return STOPPED
    if q.asked_carried and q.failed == 0:
        q.missed = configuration != s.ranked[row.first]
    if row.missed:
        q.missed = 1
    if configuration < 0:
        q.failed += 1
        q.recheck = 1
        c.rechecks += inside
        return 0
    code = start(s, queue, configuration, invoker)
    if inside:
        c.planned += q.asked_carried or q.missed
        c.misses += q.missed
    q.failed, q.missed = 0, 0
    if q.length > 0:
        make_pending(s, queue)
    return code


def placed(s: State, queue: int, search: Asked) -> tuple[int, int]:
    """(configuration, invoker): the first configuration of the plan that some invoker takes."""
    c, q = s.clock[0], s.queues[queue]
    row, predecessor = s.rows[q.row], predecessor_of(s, queue)
    if c.places or (c.stories_left > 0 and c.start_s <= c.now_s <= c.end_s):
        code = search(queue, q.row, predecessor)
        return (code, -1) if code < 0 else (code // c.invokers, code % c.invokers)
    for at in range(row.first, row.first + row.count):
        configuration = s.ranked[at]
        if c.partial or s.configurations[configuration].batch <= q.length:
            invoker = find_invoker(s, queue, configuration, predecessor)
            if invoker >= 0:
                return configuration, invoker
    return NOWHERE, -1


def predecessor_of(s: State, queue: int) -> int:
    """The invoker of the oldest job's predecessor whose batch ended last, −1 for an entry stage."""
    q = s.queues[queue]
    last, base = -1, q.head - q.stage
    for at in range(q.before, q.before + q.befores):
        number = s.served[base + s.before[at]]
        if last < 0 or s.batches[number].ended_s >= s.batches[last].ended_s:
            last = number
    return s.batches[last].invoker if last >= 0 else -1
