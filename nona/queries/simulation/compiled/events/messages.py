"""Messages: tensors on their way, where the engine has to remember them."""

from __future__ import annotations

import math
from typing import NamedTuple

from nona.core.compiled.memory import (
    State,
    clock_at,
    events_of,
    jobs_at,
    line_at,
    message_traces_at,
    messages_at,
    outputs_at,
    push,
    tasks_at,
    uses_at,
)
from nona.queries.simulation.reference.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT


class Transfer(NamedTuple):
    """Message with ``output`` of the job in ``slot``, for its readers from ``use`` on.

    It goes from server ``source`` to ``destination``, and was asked for at ``request_s``.
    """

    slot: int
    use: int
    output: int
    source: int
    destination: int
    request_s: float


def new_message(s: State, x: Transfer) -> int:
    """Return a place in ``messages``; where tasks are picked, chained to its job."""
    c = clock_at(s, 0)
    place = c.free_message
    if place >= 0:
        c.free_message = messages_at(s, place).next
    else:
        place = c.messages_used
        c.messages_used += 1
    m = messages_at(s, place)
    m.slot = x.slot
    m.output = x.output
    m.use = x.use
    m.source = x.source
    m.destination = x.destination
    m.stage = 0
    m.request_s = x.request_s
    m.start_s = x.request_s
    m.delivered_s = math.nan
    m.next = -1
    if c.picks:
        m.next = jobs_at(s, x.slot).message
        jobs_at(s, x.slot).message = place
    return int(place)


def free_message(s: State, place: int) -> None:
    """Free the message's place."""
    c = clock_at(s, 0)
    messages_at(s, place).next = c.free_message
    c.free_message = place


def free_messages(s: State, slot: int) -> None:
    """Nor are those of a job."""
    place = jobs_at(s, slot).message
    while place >= 0:
        following = messages_at(s, place).next
        free_message(s, place)
        place = following
    jobs_at(s, slot).message = -1


def find_message(s: State, slot: int, output: int, destination: int) -> int:
    """Return the message of a job that carries ``output`` to server ``destination``.

    −1: there is none yet.
    """
    place = jobs_at(s, slot).message
    while place >= 0:
        m = messages_at(s, place)
        if m.output == output and m.destination == destination:
            return int(place)
        place = m.next
    return -1


def number_of(s: State, place: int) -> int:
    """Return the number of the message in its job: that of its first reader's input."""
    return int(uses_at(s, messages_at(s, place).use).number)


def transfer_of(s: State, place: int) -> Transfer:
    """Return the contents of the message."""
    m = messages_at(s, place)
    return Transfer(m.slot, m.use, m.output, m.source, m.destination, m.request_s)


def trace_message(s: State, x: Transfer, start_s: float, end_s: float, delivered_s: float) -> None:
    """Record the interval of a message of a job that is traced."""
    c = clock_at(s, 0)
    job = jobs_at(s, x.slot)
    row = message_traces_at(s, c.message_traces)
    c.message_traces += 1
    row.job = job.number
    row.query = job.query
    row.tensor = outputs_at(s, x.output).tensor
    row.source = x.source
    row.destination = x.destination
    row.request_s = x.request_s
    row.start_s = start_s
    row.end_s = end_s
    row.delivered_s = delivered_s


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
