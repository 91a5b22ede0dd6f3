"""Executors: one task at a time; the load that schedulers see; the inputs of tasks.

Background is not in the queue of tasks: it stands in its own arrays in order of arrival, and each
waiting task knows how many background items stand before it.
"""

from __future__ import annotations

import math

from nona.simulation.compiled.memory import (
    STARTED,
    State,
    background_end_s_of,
    background_s_of,
    background_work_s_of,
    backlog_s_of,
    clock_at,
    events_of,
    executors_at,
    jobs_at,
    line_at,
    next_change_s_of,
    push,
    queue_length_of,
    task_traces_at,
    tasks_at,
    ticks_ahead_of,
    times_of,
)
from nona.simulation.reference.executors import TICK_S
from nona.simulation.reference.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT, TASK_END


def promise(s: State, e: int, ticks: int) -> None:
    """A task of so many picoseconds is bound to executor ``e``, or background has joined its queue."""
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free -= 1
    queue_length_of(s)[e] += 1
    ticks_ahead_of(s)[e] += ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def release(s: State, e: int, ticks: int) -> None:
    """Take a completed promise of ``ticks`` off executor ``e``."""
    queue_length_of(s)[e] -= 1
    if queue_length_of(s)[e] == 0:
        clock_at(s, 0).free += 1
    ticks_ahead_of(s)[e] -= ticks
    backlog_s_of(s)[e] = ticks_ahead_of(s)[e] * TICK_S


def _note_arrival(s: State, e: int) -> None:
    """The executor's next background task, or the end of one, is the next to change the board."""
    x = executors_at(s, e)
    change = x.next_s
    if x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] < change:
        change = background_end_s_of(s)[e, x.ended - x.dropped]
    next_change_s_of(s)[e] = change


def _end_background(s: State, e: int, now: float) -> None:
    """Take off the background tasks of ``e`` that have ended by ``now``."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.ended < x.served and background_end_s_of(s)[e, x.ended - x.dropped] <= now:
        x.ended += 1
        release(s, e, c.mean_ticks)
        if queue_length_of(s)[e] == 0:
            c.background_freed = 1
    _note_arrival(s, e)


def next_freed_s(s: State) -> float:
    """Return the time at which the next executor busy with background alone becomes free; ``inf`` if none."""
    least = math.inf
    for e in range(clock_at(s, 0).executors):
        x = executors_at(s, e)
        running = x.served - x.ended
        if running > 0 and running == queue_length_of(s)[e]:
            least = min(least, background_end_s_of(s)[e, x.served - x.dropped - 1])
    return least


def join(s: State, place: int, now: float) -> None:
    """The task at ``place`` has all its inputs: it stands in the queue, or starts."""
    task = tasks_at(s, place)
    task.latest_s = now
    e = task.executor
    x = executors_at(s, e)
    if x.next_s <= now:
        absorb(s, e, now)
    if not x.active:
        start(s, place, now if now > x.free_s else x.free_s)
        return
    task.before = x.absorbed
    task.queue_next = -1
    task.queue_previous = x.tail
    if x.tail >= 0:
        tasks_at(s, x.tail).queue_next = place
    else:
        x.head = place
    x.tail = place
    job = jobs_at(s, task.slot)
    task.wait_next = -1
    task.wait_previous = job.wait_tail
    if job.wait_tail >= 0:
        tasks_at(s, job.wait_tail).wait_next = place
    else:
        job.wait_head = place
    job.wait_tail = place


def _leave_queue(s: State, place: int) -> None:
    """Take a waiting task out of its executor's queue and its job's list."""
    task = tasks_at(s, place)
    x = executors_at(s, task.executor)
    if task.queue_previous >= 0:
        tasks_at(s, task.queue_previous).queue_next = task.queue_next
    else:
        x.head = task.queue_next
    if task.queue_next >= 0:
        tasks_at(s, task.queue_next).queue_previous = task.queue_previous
    else:
        x.tail = task.queue_previous
    job = jobs_at(s, task.slot)
    if task.wait_previous >= 0:
        tasks_at(s, task.wait_previous).wait_next = task.wait_next
    else:
        job.wait_head = task.wait_next
    if task.wait_next >= 0:
        tasks_at(s, task.wait_next).wait_previous = task.wait_previous
    else:
        job.wait_tail = task.wait_previous


def proceed(s: State, e: int, slot: int, now: float) -> None:
    """A task of the job in ``slot`` has ended here: start the next, of the same job if one is ready."""
    x = executors_at(s, e)
    if clock_at(s, 0).run_on:
        place = jobs_at(s, slot).wait_head
        while place >= 0:
            if tasks_at(s, place).executor == e:
                _leave_queue(s, place)
                start(s, place, now)
                return
            place = tasks_at(s, place).wait_next
    if x.next_s <= now:
        absorb(s, e, now)
    head = x.head
    before = x.absorbed if head < 0 else tasks_at(s, head).before
    while x.served < before:
        _run_background(s, e, x.free_s)
    if head >= 0:
        _leave_queue(s, head)
        start(s, head, x.free_s)
    else:
        x.active = 0


def start(s: State, place: int, begin: float) -> None:
    """The task at ``place`` runs from ``begin``."""
    task = tasks_at(s, place)
    job = jobs_at(s, task.slot)
    x = executors_at(s, task.executor)
    service = times_of(s)[x.kind, task.plan]
    job.work_s += service
    service *= task.draw
    if begin > x.free_s:
        x.closed_s += x.free_s - x.since_s
        x.since_s = begin
    end = begin + service
    x.free_s = end
    x.work_s += service
    x.active = 1
    x.task = place
    task.missing = STARTED
    task.start_s = begin
    task.end_s = end
    c = clock_at(s, 0)
    local = place - job.base
    push(
        events_of(s),
        c.events,
        end,
        (TASK_END << KIND_SHIFT) + (job.number << JOB_SHIFT) + local,
        task.executor,
    )
    c.events += 1
    if job.traced:
        row = task_traces_at(s, c.task_traces)
        c.task_traces += 1
        row.job = job.number
        row.query = job.query
        row.task = local
        row.executor = task.executor
        row.ready_s = task.latest_s
        row.start_s = begin
        row.end_s = end


def absorb(s: State, e: int, now: float) -> None:
    """Let the background that arrived up to ``now`` join the queue."""
    c = clock_at(s, 0)
    x = executors_at(s, e)
    while x.next_s <= now:
        if c.board:
            promise(s, e, c.mean_ticks)
        arrival = x.next_s
        x.absorbed += 1
        if not x.active:
            _run_background(s, e, arrival if arrival > x.free_s else x.free_s)
        x.next_s = background_s_of(s)[e, x.absorbed - x.dropped]
    if c.board:
        _note_arrival(s, e)


def _run_background(s: State, e: int, begin: float) -> None:
    """The background item that comes next runs from ``begin``."""
    x = executors_at(s, e)
    service = background_work_s_of(s)[e, x.served - x.dropped]
    if begin > x.free_s:
        x.closed_s += x.free_s - x.since_s
        x.since_s = begin
    end = begin + service
    x.free_s = end
    x.work_s += service
    if clock_at(s, 0).board:
        background_end_s_of(s)[e, x.served - x.dropped] = end
        if end < next_change_s_of(s)[e]:
            next_change_s_of(s)[e] = end
    x.served += 1


def settle(s: State, now: float) -> None:
    """Bring the load board up to ``now``."""
    if not clock_at(s, 0).has_background:
        return
    for e in range(clock_at(s, 0).executors):
        if next_change_s_of(s)[e] <= now:
            if executors_at(s, e).next_s <= now:
                absorb(s, e, now)
            _end_background(s, e, now)


def busy_until(s: State, e: int, now: float) -> float:
    """Busy seconds of ``e`` from 0 to ``now``: the length of its busy periods."""
    x = executors_at(s, e)
    if x.next_s <= now:
        absorb(s, e, now)
    return float(x.closed_s + min(x.free_s, now) - x.since_s)


def work_until(s: State, e: int, now: float) -> float:
    """Seconds of service done by ``e`` by ``now``: started services less what is left of them."""
    x = executors_at(s, e)
    if x.next_s <= now:
        absorb(s, e, now)
    return float(x.work_s - max(0.0, x.free_s - now))


def here(s: State, place: int, now: float) -> None:
    """One input of the task at ``place`` is on its server ``now``."""
    task = tasks_at(s, place)
    if task.missing > 1:
        task.missing -= 1
    elif task.latest_s > now:
        wait(s, place)
    else:
        task.missing = 0
        join(s, place, now)


def later(s: State, place: int, delivered_s: float, number: int) -> None:
    """Input ``number`` of the job, which the task at ``place`` reads, will be there at ``delivered_s``."""
    task = tasks_at(s, place)
    if delivered_s > task.latest_s:
        task.latest_s = delivered_s
        task.latest_number = number
    elif delivered_s == task.latest_s:
        task.latest_number = max(task.latest_number, number)
    if task.missing > 1:
        task.missing -= 1
    else:
        wait(s, place)


def wait(s: State, place: int) -> None:
    """All inputs of the task are there or on their way: let it join with the last.

    One link delivers in order, so most of these events come in theirs: they stand in a line, and
    only the others in the heap.
    """
    task = tasks_at(s, place)
    task.missing = 0
    c = clock_at(s, 0)
    number = jobs_at(s, task.slot).number
    key = (DELIVERY << KIND_SHIFT) + (number << JOB_SHIFT) + task.latest_number
    end = c.line_first + c.line
    if c.line > 0:
        last = line_at(s, end - 1 if end <= c.room_line else end - 1 - c.room_line)
        if task.latest_s < last.time_s or (task.latest_s == last.time_s and key < last.key):
            push(events_of(s), c.events, task.latest_s, key, place)
            c.events += 1
            return
    new = line_at(s, end if end < c.room_line else end - c.room_line)
    new.time_s = task.latest_s
    new.key = key
    new.item = place
    c.line += 1
