"""Executors that take one task at a time; the inputs of tasks."""

from __future__ import annotations

from nona.core.compiled.memory import State, clock_at, executors_at, jobs_at, tasks_at, times_of
from nona.queries.simulation.compiled.events.batches import append, note_run, occupy, stand_in_queue, take_out
from nona.queries.simulation.compiled.events.loads import absorb, hold, run_background
from nona.queries.simulation.compiled.events.messages import wait


def join(s: State, place: int, now: float) -> None:
    """Queue the task at ``place``, which has all its inputs, or start it."""
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
    """Start the next task after one of the job in ``slot``: of the same job if one is ready."""
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
    """Start the task at ``place`` at ``begin``."""
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
