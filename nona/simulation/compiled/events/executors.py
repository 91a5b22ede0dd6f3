"""Executors that take one task at a time; the inputs of tasks."""

from __future__ import annotations

from nona.simulation.compiled.events.batches import append, note_run, occupy, stand_in_queue, take_out
from nona.simulation.compiled.events.loads import absorb, hold, run_background
from nona.simulation.compiled.memory import (
    State,
    clock_at,
    events_of,
    executors_at,
    jobs_at,
    line_at,
    push,
    tasks_at,
    times_of,
)
from nona.simulation.reference.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT


def join(s: State, place: int, now: float) -> None:
    """The task at ``place`` has all its inputs: it stands in the queue, or starts."""
    task = tasks_at(s, place)
    task.latest_s = now
    if clock_at(s, 0).batching:
        stand_in_queue(s, place, now)
        return
    e = task.executor
    x = executors_at(s, e)
    if x.next_s <= now:
        absorb(s, e, now)
    if not x.active:
        start(s, place, now if now > x.free_s else x.free_s)
        return
    task.before = x.absorbed
    append(s, x, place)


def proceed(s: State, e: int, slot: int, now: float) -> None:
    """A task of the job in ``slot`` has ended here: start the next, of the same job if one is ready."""
    x = executors_at(s, e)
    if clock_at(s, 0).run_on:
        place = jobs_at(s, slot).wait_head
        while place >= 0:
            if tasks_at(s, place).executor == e:
                take_out(s, x, place)
                start(s, place, now)
                return
            place = tasks_at(s, place).wait_next
    if x.next_s <= now:
        absorb(s, e, now)
    head = x.head
    before = x.absorbed if head < 0 else tasks_at(s, head).before
    while x.served < before:
        run_background(s, e, x.free_s)
    if head >= 0:
        take_out(s, x, head)
        start(s, head, x.free_s)
    else:
        x.active = 0


def start(s: State, place: int, begin: float) -> None:
    """The task at ``place`` runs from ``begin``."""
    task = tasks_at(s, place)
    service = times_of(s)[executors_at(s, task.executor).kind, task.plan] * task.draw
    task.fill_s = 0.0
    occupy(s, place, hold(s, task.executor, begin, service))
    note_run(s, place, begin, 0, 1)


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
