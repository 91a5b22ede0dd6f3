"""Messages on links that serve first come, first served: one link, or a path of several.

The rule is :func:`join_link`. It is written again, and not shared, in
:class:`nona.simulation.reference.lane.Lane`: the two engines check each other, to the last bit.
"""

from __future__ import annotations

from nona.simulation.compiled.events.inputs import later
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    crossed_bytes_of,
    down_link_of,
    due_at,
    due_of,
    due_slots_of,
    due_transfer_s_of,
    events_of,
    executor_server_of,
    in_link_of,
    jobs_at,
    link_background_s_of,
    link_background_work_s_of,
    links_at,
    messages_at,
    out_link_of,
    outputs_at,
    rack_of,
    requested_bytes_of,
    tasks_at,
    up_link_of,
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
from nona.simulation.reference.kernel import HOP, JOB_SHIFT, KIND_SHIFT


def absorb(s: State, k: int, now: float) -> None:
    """Let the background messages that arrived at link ``k`` up to ``now`` join."""
    link = links_at(s, k)
    while link.next_s <= now:
        join_link(s, k, link.next_s, link.next_work_s)
        link.at += 1
        link.next_s = link_background_s_of(s)[k, link.at]
        link.next_work_s = link_background_work_s_of(s)[k, link.at]


def serve(s: State, k: int, now: float, work: float) -> float:
    """A message joins link ``k``; returns the start of its service, which ends at ``free_s``."""
    if links_at(s, k).next_s <= now:
        absorb(s, k, now)
    return join_link(s, k, now, work)


def join_link(s: State, k: int, at: float, work: float) -> float:
    """What comes to link ``k`` at ``at`` waits until all before it has been served; when it begins."""
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
    """A message of a query was requested that will cross link ``k``."""
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
    begin = serve(s, 0, now, o.work_s)
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
        note_transfer(s, delivered, delivered - now)
    if job.traced:
        trace_message(s, x, begin, end, delivered)
    return float(delivered)


def note_transfer(s: State, delivered_s: float, transfer_s: float) -> None:
    """A delivery that schedulers may ask about once it has happened."""
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
    """The link at ``stage`` 0…4 of the path between two servers; −1 where it has none."""
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


def next_stage(s: State, stage: int, source: int, destination: int) -> int:
    """The first stage from ``stage`` on that has a link; 5 where there is none."""
    while stage < 5 and path_link(s, stage, source, destination) < 0:
        stage += 1
    return stage


def send_on_path(s: State, x: Transfer) -> int:
    """Send over several links; returns the message, which joins them one after the other."""
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
    messages_at(s, message).stage = next_stage(s, 0, x.source, x.destination)
    hop(s, message, now)
    return message


def hop(s: State, message: int, now: float) -> None:
    """A message joins the link of its stage; with the last, its delivery is known."""
    c = clock_at(s, 0)
    m = messages_at(s, message)
    size = outputs_at(s, m.output).size_bytes
    first = next_stage(s, 0, m.source, m.destination) == m.stage
    k = path_link(s, m.stage, m.source, m.destination)
    begin = serve(s, k, now, size / links_at(s, k).capacity)
    if first:
        m.start_s = begin
        m.end_s = begin
    m.end_s = max(m.end_s, links_at(s, k).free_s)
    m.stage = next_stage(s, m.stage + 1, m.source, m.destination)
    if m.stage < 5:
        key = (HOP << KIND_SHIFT) + (jobs_at(s, m.slot).number << JOB_SHIFT) + number_of(s, message)
        push(events_of(s), c.events, begin, key, message)
        c.events += 1
    else:
        _delivery_known(s, message)


def _delivery_known(s: State, message: int) -> None:
    """The last link is joined: hand on when each reader has the message."""
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
        note_transfer(s, delivered, delivered - m.request_s)
    if job.traced:
        trace_message(s, transfer_of(s, message), m.start_s, m.end_s, delivered)
    if not c.picks:
        free_message(s, message)
