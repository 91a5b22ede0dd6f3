"""Links: one or a path of several, first come first served, or one that is shared.

The rule is :func:`join_link`. It is written again, and not shared, in
:class:`nona.queries.simulation.reference.links.FifoLink`: the two engines check each other, to the last bit.

As in :mod:`nona.queries.simulation.reference.links`; ``flows`` is a heap of (tag, content key, message), the
message of background being −1. The next departure is a number, not an event on the list.
"""

from __future__ import annotations

import math

from nona.core.compiled.memory import (
    State,
    clock_at,
    crossed_bytes_of,
    down_link_of,
    drop_first,
    due_at,
    due_of,
    due_slots_of,
    due_transfer_s_of,
    events_of,
    executor_server_of,
    flows_at,
    flows_of,
    in_link_of,
    jobs_at,
    link_background_s_of,
    link_background_work_s_of,
    links_at,
    messages_at,
    out_link_of,
    outputs_at,
    partials_of,
    push,
    rack_of,
    requested_bytes_of,
    tasks_at,
    up_link_of,
    uses_at,
)
from nona.queries.simulation.compiled.events.messages import (
    Transfer,
    free_message,
    later,
    new_message,
    number_of,
    trace_message,
    transfer_of,
)
from nona.queries.simulation.reference.kernel import DELIVERY, HOP, JOB_SHIFT, KIND_SHIFT, LINK_BACKGROUND


def absorb(s: State, k: int, now: float) -> None:
    """Let the background messages that arrived at link ``k`` up to ``now`` join."""
    link = links_at(s, k)
    while link.next_s <= now:
        join_link(s, k, link.next_s, link.next_work_s)
        link.at += 1
        link.next_s = link_background_s_of(s)[k, link.at]
        link.next_work_s = link_background_work_s_of(s)[k, link.at]


def _serve(s: State, k: int, now: float, work: float) -> float:
    """Let a message join link ``k``; return the start of its service, which ends at ``free_s``."""
    if links_at(s, k).next_s <= now:
        absorb(s, k, now)
    return join_link(s, k, now, work)


def join_link(s: State, k: int, at: float, work: float) -> float:
    """Queue ``work`` at link ``k`` at ``at``, behind all before it; return the time at which it begins."""
    link = links_at(s, k)
    begin = link.free_s
    if begin < at:
        link.closed_s += begin - link.since_s
        link.since_s = at
        begin = at
    link.free_s = begin + work
    link.work_s += work
    return float(begin)


def reserve(s: State, k: int, now: float, work: float) -> None:
    """Count a requested message of a query that will cross link ``k``."""
    link = links_at(s, k)
    link.reserved_s = max(link.reserved_s, now) + work
    if link.reserved_s > clock_at(s, 0).reserved_s:
        clock_at(s, 0).reserved_s = link.reserved_s


def send_once(s: State, x: Transfer) -> float:
    """Send over the one link; hand the delivery on to the readers on ``x.destination``; return it.

    Readers are those of the uses from ``x.use`` on that are bound to that server, or that use alone
    where tasks are picked one by one.
    """
    c = clock_at(s, 0)
    now = x.request_s
    job = jobs_at(s, x.slot)
    o = outputs_at(s, x.output)
    begin = _serve(s, 0, now, o.work_s)
    end = links_at(s, 0).free_s
    job.sent_bytes += o.size_bytes
    delivered = end + c.latency_s
    last = x.use + 1 if c.picks else o.use_end
    for u in range(x.use, last):
        place = job.base + uses_at(s, u).target
        if executor_server_of(s)[tasks_at(s, place).executor] == x.destination:
            later(s, place, delivered, uses_at(s, u).number)
    if c.watched:
        reserve(s, 0, now, o.work_s)
        _note_transfer(s, delivered, delivered - now)
    if job.traced:
        trace_message(s, x, begin, end, delivered)
    return float(delivered)


def _note_transfer(s: State, delivered_s: float, transfer_s: float) -> None:
    """Record a delivery, which schedulers may ask about once it has happened."""
    c = clock_at(s, 0)
    c.serial += 1
    slot = due_slots_of(s)[c.due]
    due_transfer_s_of(s)[slot] = transfer_s
    push(due_of(s), c.due, delivered_s, c.serial, slot)
    c.due += 1


def past_transfer_s(s: State, now: float) -> float:
    """Mean seconds from request to delivery of the messages delivered so far; 0 before any."""
    c = clock_at(s, 0)
    while c.due > 0 and due_at(s, 0).time_s <= now:
        slot = due_at(s, 0).item
        c.transfer_s += due_transfer_s_of(s)[slot]
        drop_first(due_of(s), c.due)
        c.due -= 1
        due_slots_of(s)[c.due] = slot
        c.delivered += 1
    return c.transfer_s / c.delivered if c.delivered else 0.0


def path_link(s: State, stage: int, source: int, destination: int) -> int:
    """Return the link at ``stage`` 0…4 of the path between two servers; −1 where it has none."""
    if stage == 0:
        return int(out_link_of(s)[source])
    if stage == 4:
        return int(in_link_of(s)[destination])
    if rack_of(s)[source] == rack_of(s)[destination]:
        return -1
    if stage == 1:
        return int(up_link_of(s)[source])
    if stage == 2:
        return int(clock_at(s, 0).core)
    return int(down_link_of(s)[destination])


def _next_stage(s: State, stage: int, source: int, destination: int) -> int:
    """Return the first stage from ``stage`` on that has a link; 5 where there is none."""
    while stage < 5 and path_link(s, stage, source, destination) < 0:
        stage += 1
    return stage


def send_on_path(s: State, x: Transfer) -> int:
    """Send over several links; return the message, which joins them one after the other."""
    c = clock_at(s, 0)
    now = x.request_s
    job = jobs_at(s, x.slot)
    size = outputs_at(s, x.output).size_bytes
    message = new_message(s, x)
    job.sent_bytes += size
    requested_bytes_of(s)[job.query] += size
    for stage in range(5):
        k = path_link(s, stage, x.source, x.destination)
        if k >= 0:
            crossed_bytes_of(s)[job.query, k] += size
            if c.watched:
                reserve(s, k, now, size / links_at(s, k).capacity)
    messages_at(s, message).stage = _next_stage(s, 0, x.source, x.destination)
    hop(s, message, now)
    return message


def hop(s: State, message: int, now: float) -> None:
    """Let a message join the link of its stage; with the last link, its delivery is known."""
    c = clock_at(s, 0)
    m = messages_at(s, message)
    size = outputs_at(s, m.output).size_bytes
    first = _next_stage(s, 0, m.source, m.destination) == m.stage
    k = path_link(s, m.stage, m.source, m.destination)
    begin = _serve(s, k, now, size / links_at(s, k).capacity)
    if first:
        m.start_s = begin
        m.end_s = begin
    m.end_s = max(m.end_s, links_at(s, k).free_s)
    m.stage = _next_stage(s, m.stage + 1, m.source, m.destination)
    if m.stage < 5:
        key = (HOP << KIND_SHIFT) + (jobs_at(s, m.slot).number << JOB_SHIFT) + number_of(s, message)
        push(events_of(s), c.events, begin, key, message)
        c.events += 1
    else:
        _delivery_known(s, message)


def _delivery_known(s: State, message: int) -> None:
    """Schedule the delivery to each reader once the end of the last link is known."""
    c = clock_at(s, 0)
    m = messages_at(s, message)
    job = jobs_at(s, m.slot)
    delivered = m.end_s + c.latency_s
    m.delivered_s = delivered
    for u in range(outputs_at(s, m.output).use, outputs_at(s, m.output).use_end):
        place = job.base + uses_at(s, u).target
        task = tasks_at(s, place)
        if task.placed and executor_server_of(s)[task.executor] == m.destination:
            later(s, place, delivered, uses_at(s, u).number)
    if c.watched:
        _note_transfer(s, delivered, delivered - m.request_s)
    if job.traced:
        trace_message(s, transfer_of(s, message), m.start_s, m.end_s, delivered)
    if not c.picks:
        free_message(s, message)


def send_shared(s: State, x: Transfer) -> int:
    """Take the message that carries ``x.output``; return its place."""
    c = clock_at(s, 0)
    now = x.request_s
    job = jobs_at(s, x.slot)
    work = outputs_at(s, x.output).work_s
    c.reserved_s = max(c.reserved_s, now) + work
    job.sent_bytes += outputs_at(s, x.output).size_bytes
    message = new_message(s, x)
    key = (DELIVERY << KIND_SHIFT) + (job.number << JOB_SHIFT) + number_of(s, message)
    _add_flow(s, now, work, key, message)
    return message


def background_arrives(s: State) -> None:
    """Let the next message of background join."""
    c = clock_at(s, 0)
    link = links_at(s, 0)
    now = link.next_s
    c.background += 1
    key = (LINK_BACKGROUND << KIND_SHIFT) + (c.background << JOB_SHIFT)
    work = link.next_work_s
    link.at += 1
    link.next_s = link_background_s_of(s)[0, link.at]
    link.next_work_s = link_background_work_s_of(s)[0, link.at]
    _add_flow(s, now, work, key, -1)


def _add_flow(s: State, now: float, work: float, key: int, message: int) -> None:
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
    _plan_end(s, now)


def _plan_end(s: State, now: float) -> None:
    """Set the time at which the next message leaves, as things stand."""
    c = clock_at(s, 0)
    if c.flows:
        c.link_end_s = max(now, now + (flows_at(s, 0).time_s - c.virtual_s) * c.flows)
    else:
        c.link_end_s = math.inf


def depart(s: State, now: float) -> None:
    """End the transfer of the message with the least tag."""
    c = clock_at(s, 0)
    c.virtual_s = flows_at(s, 0).time_s
    message = flows_at(s, 0).item
    drop_first(flows_of(s), c.flows)
    c.flows -= 1
    c.link_last_s = now
    if c.flows == 0:
        links_at(s, 0).closed_s += now - links_at(s, 0).since_s
    _plan_end(s, now)
    if message < 0:
        return
    messages_at(s, message).end_s = now
    _delivery_known(s, message)


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
    """Return the sum of so many partials that do not overlap, the least first, rounded half to even."""
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
