"""The loop: batches start and end, queues are examined, instant by instant."""

from __future__ import annotations

import math
from collections.abc import Callable

from nona.serverless.engine.compiled.state import (
    APPLICATION_BIT,
    ARRIVAL,
    CONTAINERS,
    DECISION,
    DONE,
    END,
    KIND_BIT,
    MOST_APPLICATIONS,
    MOST_STAGES,
    NO_TIME,
    NOWHERE,
    PROGRESS,
    ROOM,
    SMALLEST_ROW,
    SNAPSHOTS,
    STAGE_BIT,
    STOP,
    STOPPED,
    WAIT_OVER,
    WAITS,
    State,
    account_held,
    account_queue,
    containers_due,
    drop_first,
    find_invoker,
    give_back_container,
    give_back_resources,
    join,
    key_of,
    leave,
    push,
    rate,
    slack_s,
    take_container,
    take_resources,
)


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
    _fetch(s, number)
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


def _fetch(s: State, number: int) -> None:
    """Seconds for the batch's inputs, and how many of its jobs find all of theirs on its invoker."""
    c, batch = s.clock[0], s.batches[number]
    q, jobs = s.queues[batch.queue], batch.jobs
    if q.befores == 0:
        batch.local = 0
        batch.transfer_s = _way_s(jobs * q.input_bytes, c.remote_latency_s, c.remote_bandwidth)
        return
    here, local, place = 0, 0, batch.place
    for _ in range(jobs):
        base, inputs_here = place - place % c.width, 0
        for at in range(q.before, q.before + q.befores):
            if s.batches[s.served[base + s.before[at]]].invoker == batch.invoker:
                inputs_here += 1
        here += inputs_here
        if inputs_here == q.befores:
            local += 1
        place = s.next[place]
    batch.local = local
    share = q.input_bytes / q.befores
    local_s = _way_s(here * share, c.local_latency_s, c.local_bandwidth)
    remote_s = _way_s((jobs * q.befores - here) * share, c.remote_latency_s, c.remote_bandwidth)
    batch.transfer_s = local_s if local_s > remote_s else remote_s


def _way_s(size: float, latency_s: float, bandwidth: float) -> float:
    """Seconds for so many bytes over a path."""
    return latency_s + size / bandwidth if size > 0 else 0.0


def end(s: State, number: int) -> None:
    """A batch ends and gives everything back."""
    batch = s.batches[number]
    batch.ended_s = s.clock[0].now_s
    give_back_resources(s, number)
    give_back_container(s, batch.invoker, batch.function)


Asked = Callable[..., int]


def _make_pending(s: State, queue: int) -> None:
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
        _make_pending(s, queue)
    elif 0 < q.wait_for <= q.length:
        q.wait = 0
        _make_pending(s, queue)


def released(s: State) -> None:
    """Resources have become free."""
    for queue in range(s.clock[0].queues):
        if s.queues[queue].recheck:
            _make_pending(s, queue)


def _wait_over(s: State, queue: int, number: int) -> None:
    """A wait has run out; it may have ended before."""
    q = s.queues[queue]
    if q.wait == number:
        q.wait = 0
        _make_pending(s, queue)


def _serve_one(s: State, answer: Asked, search: Asked) -> int:
    """Look at one of the pending queues, in the order of ``dispatch``; 0, or why the loop has to stop."""
    c = s.clock[0]
    queue = _least_slack(s) if c.by_slack else _in_turn(s)
    q = s.queues[queue]
    q.pending = 0
    c.pending -= 1
    if q.length == 0 or q.searching:
        return 0
    c.served = queue
    return _examine(s, queue, answer, search)


def _in_turn(s: State) -> int:
    """The first pending queue after the one served last, else the first of all."""
    c = s.clock[0]
    for k in range(1, c.queues + 1):
        queue = (c.served + k) % c.queues
        if s.queues[queue].pending:
            break
    return int(queue)


def _least_slack(s: State) -> int:
    """Return the queue of the least slack, of the pending ones with jobs; else the first pending one."""
    best = first = -1
    for queue in range(s.clock[0].queues):
        q = s.queues[queue]
        if q.pending:
            first = queue if first < 0 else first
            if q.length > 0 and (best < 0 or slack_s(s, queue) < slack_s(s, best)):
                best = queue
    return best if best >= 0 else first


def _examine(s: State, queue: int, answer: Asked, search: Asked) -> int:
    """Decide for a queue with jobs."""
    c, q = s.clock[0], s.queues[queue]
    carried, forced = s.carried[q.head // c.width], q.failed >= c.limit
    row = _decided_row(s, queue, carried, forced, answer)
    if row == STOP:
        return STOPPED
    q.recheck, q.wait = 0, 0
    if row == WAITS:
        _stand(s, queue)
        return 0
    q.row, q.decided_s, q.forced, q.asked_carried = row, c.now_s, forced, carried >= 0
    if s.rows[row].search_s > 0:
        q.searching = 1
        c.searches += 1
        push(s, c.now_s + s.rows[row].search_s, key_of(DECISION, q.application, q.stage, 0))
        return 0
    return resolve(s, queue, search)


def _decided_row(s: State, queue: int, carried: int, forced: bool, answer: Asked) -> int:
    """The planner's answer: remembered where it depends on the length and the carried plan alone."""
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
    row = answer(queue, q.length, carried, int(forced), slack_s(s, queue), waited_s, rate(s, queue))
    if in_memo:
        s.memo[at] = row
    return row


def _stand(s: State, queue: int) -> None:
    """Wait as the plan says; without a time or a number of jobs, for the next job."""
    c, q = s.clock[0], s.queues[queue]
    if c.wait_s <= 0 and c.wait_for <= q.length:
        return
    q.waits += 1
    q.wait, q.wait_for = q.waits, c.wait_for
    if c.wait_s > 0:
        push(s, c.over_s, key_of(WAIT_OVER, q.application, q.stage, q.waits))


def resolve(s: State, queue: int, search: Asked) -> int:
    """Dispatch the decision where there is room."""
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
        _make_pending(s, queue)
    return code


def placed(s: State, queue: int, search: Asked) -> tuple[int, int]:
    """(configuration, invoker): the first configuration of the plan that some invoker takes."""
    c, q = s.clock[0], s.queues[queue]
    row, predecessor = s.rows[q.row], _predecessor_of(s, queue)
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


def _predecessor_of(s: State, queue: int) -> int:
    """The invoker of the oldest job's predecessor whose batch ended last, −1 for an entry stage."""
    q = s.queues[queue]
    last, base = -1, q.head - q.stage
    for at in range(q.before, q.before + q.befores):
        number = s.served[base + s.before[at]]
        if last < 0 or s.batches[number].ended_s >= s.batches[last].ended_s:
            last = number
    return s.batches[last].invoker if last >= 0 else -1


def advance(s: State, margin: int, answer: Asked, search: Asked, tell: Asked) -> int:
    """Run until it is done, or needs room; ``margin``: the most events that one instant's queues add.

    ``answer(queue, length, carried, forced, slack, waited, rate)`` gives a row, ``search(queue, row,
    predecessor)`` configuration · invokers + invoker, ``tell`` hears of progress; any of them may stop it.
    """
    c = s.clock[0]
    while True:
        if c.grow or 3 * c.coming + margin > len(s.event_s):
            return ROOM
        if c.pending > 0 and not (c.blocking and c.searches > 0):
            code = _serve_one(s, answer, search)
            if code:
                return code
            continue
        if c.coming == 0 or c.open_measured == 0:
            break
        c.now_s = s.event_s[0]
        if c.now_s > c.stop_s:
            c.now_s = c.stop_s
            break
        if c.now_s > c.next_snapshot_s and tell(SNAPSHOTS) < 0:
            return STOPPED
        while c.coming > 0 and s.event_s[0] == c.now_s:
            code = _happen(s, search, tell)
            if code:
                return code
    for queue in range(c.queues):
        account_queue(s, queue)
    account_held(s)
    return DONE


def _happen(s: State, search: Asked, tell: Asked) -> int:
    """The first event happens; 0, or why the loop has to stop."""
    key = s.event_key[0]
    drop_first(s)
    kind, number = key >> KIND_BIT, key & ((1 << STAGE_BIT) - 1)
    application, stage = (key >> APPLICATION_BIT) % MOST_APPLICATIONS, (key >> STAGE_BIT) % MOST_STAGES
    if kind == END:
        end(s, number)
        _go_on(s, number)
    elif kind == ARRIVAL:
        return _arrive(s, number, tell)
    elif kind == CONTAINERS:
        containers_due(s, application, stage)
    elif kind == DECISION:
        queue = s.queue_at[application, stage]
        s.queues[queue].searching = 0
        s.clock[0].searches -= 1
        return resolve(s, queue, search)
    else:
        _wait_over(s, s.queue_at[application, stage], number)
    return 0


def _push_arrival(s: State, call: int) -> None:
    """A call is to arrive."""
    push(s, s.arrival_s[call], key_of(ARRIVAL, s.application[call], 0, call))


def _arrive(s: State, call: int, tell: Asked) -> int:
    """A call joins its entry queues, and the next one is to come."""
    c, application = s.clock[0], s.application[call]
    c.arrived = call + 1
    for at in range(s.entries[application], s.entries[application + 1]):
        join(s, s.entry[at], call)
        joined(s, s.entry[at])
    if call + 1 < c.calls:
        _push_arrival(s, call + 1)
    if c.report_every > 0 and (call + 1) % c.report_every == 0 and tell(PROGRESS) < 0:
        return STOPPED
    return 0


def _go_on(s: State, number: int) -> None:
    """A batch has ended: its jobs go on to their next stages; a call that has none left is complete."""
    c, batch = s.clock[0], s.batches[number]
    q, place = s.queues[batch.queue], batch.place
    for _ in range(batch.jobs):
        call = place // c.width
        s.left[call] -= 1
        if s.left[call] == 0:
            complete(s, call)
        for at in range(q.after, q.after + q.afters):
            queue = s.after[at]
            later = call * c.width + s.queues[queue].stage
            s.waiting[later] -= 1
            if s.waiting[later] == 0:
                join(s, queue, call)
                joined(s, queue)
        place = s.next[place]
    released(s)


def complete(s: State, call: int) -> None:
    """The last stage of a call has ended."""
    c = s.clock[0]
    s.completion_s[call] = c.now_s
    c.completed += 1
    q = s.queues[s.queue_at[s.application[call], 0]]
    if c.now_s - s.arrival_s[call] <= q.slo_s:
        c.hits += 1
    if c.first <= call < c.end:
        c.open_measured -= 1
