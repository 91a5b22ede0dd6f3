"""The loop: what happens at an instant, then the queues that are to be looked at."""

from __future__ import annotations

from nona.serverless.engine.compiled.cluster import account_held
from nona.serverless.engine.compiled.containers import containers_due
from nona.serverless.engine.compiled.controller import (
    Asked,
    joined,
    released,
    resolve,
    serve_one,
    wait_over,
)
from nona.serverless.engine.compiled.execution import end
from nona.serverless.engine.compiled.heap import drop_first, key_of, push
from nona.serverless.engine.compiled.layout import (
    APPLICATION_BIT,
    ARRIVAL,
    CONTAINERS,
    DECISION,
    DONE,
    END,
    KIND_BIT,
    MOST_APPLICATIONS,
    MOST_STAGES,
    PROGRESS,
    ROOM,
    SNAPSHOTS,
    STAGE_BIT,
    STOPPED,
    State,
)
from nona.serverless.engine.compiled.queues import account_queue, join


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
            code = serve_one(s, answer, search)
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
            code = happen(s, search, tell)
            if code:
                return code
    for queue in range(c.queues):
        account_queue(s, queue)
    account_held(s)
    return DONE


def happen(s: State, search: Asked, tell: Asked) -> int:
    """The first event happens; 0, or why the loop has to stop."""
    key = s.event_key[0]
    drop_first(s)
    kind, number = key >> KIND_BIT, key & ((1 << STAGE_BIT) - 1)
    application, stage = (key >> APPLICATION_BIT) % MOST_APPLICATIONS, (key >> STAGE_BIT) % MOST_STAGES
    if kind == END:
        end(s, number)
        go_on(s, number)
    elif kind == ARRIVAL:
        return arrive(s, number, tell)
    elif kind == CONTAINERS:
        containers_due(s, application, stage)
    elif kind == DECISION:
        queue = s.queue_at[application, stage]
        s.queues[queue].searching = 0
        s.clock[0].searches -= 1
        return resolve(s, queue, search)
    else:
        wait_over(s, s.queue_at[application, stage], number)
    return 0


def push_arrival(s: State, call: int) -> None:
    """A call is to arrive."""
    push(s, s.arrival_s[call], key_of(ARRIVAL, s.application[call], 0, call))


def arrive(s: State, call: int, tell: Asked) -> int:
    """A call joins its entry queues, and the next one is to come."""
    c, application = s.clock[0], s.application[call]
    c.arrived = call + 1
    for at in range(s.entries[application], s.entries[application + 1]):
        join(s, s.entry[at], call)
        joined(s, s.entry[at])
    if call + 1 < c.calls:
        push_arrival(s, call + 1)
    if c.report_every > 0 and (call + 1) % c.report_every == 0 and tell(PROGRESS) < 0:
        return STOPPED
    return 0


def go_on(s: State, number: int) -> None:
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
