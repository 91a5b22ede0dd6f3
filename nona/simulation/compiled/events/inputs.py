"""The inputs of tasks: which are missing, and when the last one arrives."""

from __future__ import annotations

from nona.simulation.compiled.events.executors import join
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import clock_at, events_of, jobs_at, line_at, tasks_at
from nona.simulation.compiled.memory.heap import push
from nona.simulation.reference.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT


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
