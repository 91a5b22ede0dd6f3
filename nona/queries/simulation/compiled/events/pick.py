"""Schedulers that pick a ready task for a free executor."""

from __future__ import annotations

import math

from nona.core.compiled.memory import (
    State,
    card_bytes_s_of,
    clock_at,
    events_of,
    executor_class_of,
    executor_server_of,
    jobs_at,
    messages_at,
    out_of,
    outputs_at,
    places_of,
    plan_at,
    push,
    queries_at,
    queue_length_of,
    reads_at,
    ready_base_of,
    ready_batch_first_of,
    ready_batch_size_of,
    ready_draw_of,
    ready_home_of,
    ready_job_of,
    ready_query_of,
    ready_running_of,
    ready_since_s_of,
    ready_slot_of,
    ready_task_of,
    sources_of,
    successors_of,
    tasks_at,
    ticks_of,
    times_of,
    uses_at,
)
from nona.queries.schedulers.base import card_rate
from nona.queries.simulation.compiled.events.batches import expect
from nona.queries.simulation.compiled.events.bind import send
from nona.queries.simulation.compiled.events.executors import here, join
from nona.queries.simulation.compiled.events.links import send_once
from nona.queries.simulation.compiled.events.loads import next_freed_s, promise, release, settle
from nona.queries.simulation.compiled.events.messages import Transfer, find_message, later, new_message, wait
from nona.queries.simulation.reference.kernel import HANDED, JOB_SHIFT, KIND_SHIFT


def append(s: State, slot: int, task: int, home: int, now: float) -> None:
    """Task ``task`` of the job in ``slot`` has become ready; its last predecessor ran on ``home``."""
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    n = c.ready
    ready_job_of(s)[n] = job.number
    ready_query_of(s)[n] = job.query
    ready_task_of(s)[n] = task
    ready_running_of(s)[n] = job.running
    ready_home_of(s)[n] = home
    ready_since_s_of(s)[n] = now
    ready_slot_of(s)[n] = slot
    ready_batch_first_of(s)[n] = task
    ready_batch_size_of(s)[n] = 1
    ready_draw_of(s)[n] = job.draw
    ready_base_of(s)[n] = job.base
    c.ready = n + 1


def _close_batch(s: State, size: int) -> None:
    """Close the batch of the last ``size`` entries, which have become ready together."""
    n = clock_at(s, 0).ready
    for i in range(n - size, n):
        ready_batch_first_of(s)[i] = ready_task_of(s)[n - size]
        ready_batch_size_of(s)[i] = size


def remove(s: State, place: int) -> None:
    """Take an entry out of the list."""
    c = clock_at(s, 0)
    c.ready -= 1
    for i in range(place, c.ready):
        ready_job_of(s)[i] = ready_job_of(s)[i + 1]
        ready_query_of(s)[i] = ready_query_of(s)[i + 1]
        ready_task_of(s)[i] = ready_task_of(s)[i + 1]
        ready_running_of(s)[i] = ready_running_of(s)[i + 1]
        ready_home_of(s)[i] = ready_home_of(s)[i + 1]
        ready_since_s_of(s)[i] = ready_since_s_of(s)[i + 1]
        ready_slot_of(s)[i] = ready_slot_of(s)[i + 1]
        ready_batch_first_of(s)[i] = ready_batch_first_of(s)[i + 1]
        ready_batch_size_of(s)[i] = ready_batch_size_of(s)[i + 1]
        ready_draw_of(s)[i] = ready_draw_of(s)[i + 1]
        ready_base_of(s)[i] = ready_base_of(s)[i + 1]


def _running_changed(s: State, slot: int, change: int) -> None:
    """Update the entries of the job in ``slot``, which holds more or fewer executors than before."""
    job = jobs_at(s, slot)
    job.running += change
    for i in range(clock_at(s, 0).ready):
        if ready_slot_of(s)[i] == slot:
            ready_running_of(s)[i] = job.running


def offer_sources(s: State, slot: int) -> None:
    """Make the first tasks of a job ready at its arrival."""
    job = jobs_at(s, slot)
    query = queries_at(s, job.query)
    for i in range(query.first_source, query.first_source + query.sources):
        append(s, slot, sources_of(s)[i], -1, job.arrival_s)
    _close_batch(s, query.sources)


def offer_successors(s: State, place: int, e: int, now: float) -> None:
    """Make those tasks ready that waited for the task at ``place``, complete on executor ``e``."""
    task = tasks_at(s, place)
    slot = task.slot
    release(s, e, ticks_of(s)[executor_class_of(s)[e], task.plan])
    base = jobs_at(s, slot).base
    if clock_at(s, 0).cards:
        _promise_cards(s, place, -1.0)
    places_of(s)[place] = -2 - e
    _running_changed(s, slot, -1)
    plan = plan_at(s, task.plan)
    before = clock_at(s, 0).ready
    for i in range(plan.successor, plan.successor_end):
        target = successors_of(s)[i]
        tasks_at(s, base + target).unfinished -= 1
        if tasks_at(s, base + target).unfinished == 0:
            append(s, slot, target, e, now)
    _close_batch(s, clock_at(s, 0).ready - before)


def begin_picking(s: State, open_jobs: int, now: float) -> bool:
    """Return whether there is something to decide after an event."""
    c = clock_at(s, 0)
    c.saved_open_jobs = open_jobs
    if c.ready == 0:
        return False
    if c.has_background:
        settle(s, now)
    c.background_freed = 0
    return True


def end_picking(s: State) -> None:
    """Decide again when background that is there now sets an executor free."""
    c = clock_at(s, 0)
    if c.has_background and c.ready > 0:
        freed = next_freed_s(s)
        if not math.isinf(freed):
            c.wake_s = freed


def woken(s: State, now: float) -> bool:
    """Return whether there is something to decide, as background may have set an executor free."""
    c = clock_at(s, 0)
    c.wake_s = math.inf
    settle(s, now)
    if c.background_freed:
        return begin_picking(s, c.saved_open_jobs, now)
    freed = next_freed_s(s)
    if not math.isinf(freed):
        c.wake_s = freed
    return False


def is_allowed(s: State) -> bool:
    """Return whether ``out`` names an entry of the list and an executor with nothing."""
    c = clock_at(s, 0)
    place = out_of(s)[0]
    e = out_of(s)[1]
    return bool(0 <= place < c.ready and 0 <= e < c.executors and queue_length_of(s)[e] == 0)


def bind_pick(s: State, now: float) -> None:
    """Give the picked task its executor; one that batches gets those equal to it which are ready, too."""
    c = clock_at(s, 0)
    n = out_of(s)[0]
    e = out_of(s)[1]
    query = queries_at(s, ready_query_of(s)[n])
    key = plan_at(s, query.base + ready_task_of(s)[n]).key
    most = plan_at(s, query.base + ready_task_of(s)[n]).most
    place = _give(s, n, e, now)
    if most == 1:
        if c.batching:
            expect(s, place, 1)
        return
    members = 1
    i = 0
    while i < c.ready and members < most:
        if plan_at(s, queries_at(s, ready_query_of(s)[i]).base + ready_task_of(s)[i]).key == key:
            members += 1
            expect(s, place, members)
            _give(s, i, e, now)
        else:
            i += 1
    expect(s, place, members)


def _give(s: State, n: int, e: int, now: float) -> int:
    """Entry ``n`` of the list goes to executor ``e``, at once or after the hand-over; return its place."""
    c = clock_at(s, 0)
    slot = ready_slot_of(s)[n]
    local = ready_task_of(s)[n]
    remove(s, n)
    job = jobs_at(s, slot)
    place = int(job.base + local)
    task = tasks_at(s, place)
    task.executor = e
    places_of(s)[place] = e
    _running_changed(s, slot, 1)
    promise(s, e, ticks_of(s)[executor_class_of(s)[e], task.plan])
    if c.cards:
        _promise_cards(s, place, 1.0)
    if c.hand_over_s > 0:
        key = (HANDED << KIND_SHIFT) + (job.number << JOB_SHIFT) + local
        push(events_of(s), c.events, now + c.hand_over_s, key, place)
        c.events += 1
    else:
        take_over(s, place, now)
    return place


def _promise_cards(s: State, place: int, sign: float) -> None:
    """Add (1) or take off (−1) the rates of the task's inputs from other servers; it is at ``place``."""
    task = tasks_at(s, place)
    base = jobs_at(s, task.slot).base
    there = executor_server_of(s)[task.executor]
    seconds = times_of(s)[executor_class_of(s)[task.executor], task.plan]
    plan = plan_at(s, task.plan)
    for r in range(plan.read, plan.read_end):
        read = reads_at(s, r)
        source = executor_server_of(s)[tasks_at(s, base + read.source).executor]
        if source != there:
            rate = sign * card_rate(outputs_at(s, read.output).size_bytes, seconds)
            card_bytes_s_of(s)[there] += rate
            card_bytes_s_of(s)[clock_at(s, 0).servers + source] += rate


def take_over(s: State, place: int, now: float) -> None:
    """Request the inputs of the task at ``place`` for its executor."""
    task = tasks_at(s, place)
    slot = task.slot
    job = jobs_at(s, slot)
    task.placed = 1
    task.picked_s = now
    there = executor_server_of(s)[task.executor]
    plan = plan_at(s, task.plan)
    task.missing += 1  # the request itself: until all inputs have been asked for
    for r in range(plan.read, plan.read_end):
        read = reads_at(s, r)
        source = executor_server_of(s)[tasks_at(s, job.base + read.source).executor]
        if source == there:
            here(s, place, now)
        else:
            _fetch(s, place, Transfer(slot, read.use, read.output, source, there, now))
    if task.missing > 1:
        task.missing -= 1
    elif task.latest_s >= now:  # the last message is on its way, if only for this instant
        wait(s, place)
    else:
        task.missing = 0
        join(s, place, now)


def _fetch(s: State, place: int, x: Transfer) -> None:
    """Fetch a tensor of another server for the task at ``place``, unless a message is on its way."""
    c = clock_at(s, 0)
    now = x.request_s
    message = find_message(s, x.slot, x.output, x.destination)
    if message < 0:
        if c.paths or c.shared:
            send(s, x)
        else:
            delivered = send_once(s, x)
            message = new_message(s, x)
            messages_at(s, message).delivered_s = delivered
        return
    m = messages_at(s, message)
    if m.delivered_s > now:
        later(s, place, m.delivered_s, uses_at(s, x.use).number)
    elif not math.isnan(m.delivered_s):
        here(s, place, now)
