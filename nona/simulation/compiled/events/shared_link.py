"""The bottleneck link shared equally by all messages in service, in virtual time.

As in :mod:`nona.simulation.reference.shared_link`; ``flows`` is a heap of (tag, content key, message), the
message of background being −1. The next departure is a number, not an event on the list.
"""

from __future__ import annotations

import math

from nona.simulation.compiled.events.inputs import here
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    events_of,
    executor_server_of,
    flows_at,
    flows_of,
    jobs_at,
    link_background_s_of,
    link_background_work_s_of,
    links_at,
    messages_at,
    outputs_at,
    partials_of,
    tasks_at,
    uses_at,
)
from nona.simulation.compiled.memory.heap import drop_first, push
from nona.simulation.compiled.memory.messages import (
    Transfer,
    free_message,
    new_message,
    number_of,
    trace_message,
    transfer_of,
)
from nona.simulation.reference.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT, LINK_BACKGROUND


def send_shared(s: State, x: Transfer) -> int:
    """Take the message that carries ``x.output``; returns its place."""
    c = clock_at(s, 0)
    now = x.request_s
    job = jobs_at(s, x.slot)
    work = outputs_at(s, x.output).work_s
    c.reserved_s = max(c.reserved_s, now) + work
    job.sent_bytes += outputs_at(s, x.output).size_bytes
    message = new_message(s, x)
    key = (DELIVERY << KIND_SHIFT) + (job.number << JOB_SHIFT) + number_of(s, message)
    add_flow(s, now, work, key, message)
    return message


def background_arrives(s: State) -> None:
    """The next message of background joins."""
    c = clock_at(s, 0)
    link = links_at(s, 0)
    now = link.next_s
    c.background += 1
    key = (LINK_BACKGROUND << KIND_SHIFT) + (c.background << JOB_SHIFT)
    work = link.next_work_s
    link.at += 1
    link.next_s = link_background_s_of(s)[0, link.at]
    link.next_work_s = link_background_work_s_of(s)[0, link.at]
    add_flow(s, now, work, key, -1)


def add_flow(s: State, now: float, work: float, key: int, message: int) -> None:
    """One more message in service."""
    c = clock_at(s, 0)
    if c.flows:
        c.virtual_s += (now - c.link_last_s) / c.flows
    else:
        c.virtual_s = 0.0
        links_at(s, 0).since_s = now
    c.link_last_s = now
    c.requested_s += work
    push(flows_of(s), c.flows, c.virtual_s + work, key, message)
    c.flows += 1
    plan_end(s, now)


def plan_end(s: State, now: float) -> None:
    """When the next message will leave, as things stand."""
    c = clock_at(s, 0)
    if c.flows:
        c.link_end_s = max(now, now + (flows_at(s, 0).time_s - c.virtual_s) * c.flows)
    else:
        c.link_end_s = math.inf


def depart(s: State, now: float) -> None:
    """The message with the least tag has been served."""
    c = clock_at(s, 0)
    c.virtual_s = flows_at(s, 0).time_s
    key = flows_at(s, 0).key
    message = flows_at(s, 0).item
    drop_first(flows_of(s), c.flows)
    c.flows -= 1
    c.link_last_s = now
    if c.flows == 0:
        links_at(s, 0).closed_s += now - links_at(s, 0).since_s
    plan_end(s, now)
    if message < 0:
        return
    m = messages_at(s, message)
    m.delivered_s = now + c.latency_s
    push(events_of(s), c.events, m.delivered_s, key, message)
    c.events += 1
    if jobs_at(s, m.slot).traced:
        trace_message(s, transfer_of(s, message), m.request_s, now, m.delivered_s)


def deliver(s: State, message: int, now: float) -> None:
    """The message has arrived: its readers have it."""
    c = clock_at(s, 0)
    m = messages_at(s, message)
    m.delivered = 1
    c.delivered += 1
    c.transfer_s += now - m.request_s
    base = jobs_at(s, m.slot).base
    output = outputs_at(s, m.output)
    destination = m.destination
    for u in range(m.use if not c.picks else output.use, output.use_end):
        place = base + uses_at(s, u).target
        task = tasks_at(s, place)
        if task.placed and executor_server_of(s)[task.executor] == destination:
            task.latest_number = uses_at(s, u).number
            here(s, place, now)
    if not c.picks:
        free_message(s, message)


def pending_s(s: State, now: float) -> float:
    """Work waiting or in service, background included, in seconds of the link alone: an exact sum.

    The sum keeps its rounding errors as further terms, so that the order of the messages is no matter.
    Source: Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997, as in ``math.fsum``.
    """
    c = clock_at(s, 0)
    if c.flows == 0:
        return 0.0
    virtual = c.virtual_s + (now - c.link_last_s) / c.flows
    terms = 0
    for i in range(c.flows):
        x = max(0.0, flows_at(s, i).time_s - virtual)
        kept = 0
        for k in range(terms):
            y = partials_of(s)[k]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials_of(s)[kept] = low
                kept += 1
            x = high
        partials_of(s)[kept] = x
        terms = kept + 1
    return _rounded(s, terms)


def _rounded(s: State, terms: int) -> float:
    """The sum of so many partials that do not overlap, the least first, rounded half to even."""
    n = terms - 1
    high = float(partials_of(s)[n])
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = float(partials_of(s)[n])
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and partials_of(s)[n - 1] < 0.0) or (low > 0.0 and partials_of(s)[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high
