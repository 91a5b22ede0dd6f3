"""The event loop: it runs until it is done or wants something, and goes on where it was."""

from __future__ import annotations

import math

from nona.simulation.compiled.events.bind import hand_on
from nona.simulation.compiled.events.decisions import Decide, admitted, arrive, pick_all, picked
from nona.simulation.compiled.events.executors import join, proceed
from nona.simulation.compiled.events.jobs import complete, has_room, too_long
from nona.simulation.compiled.events.links import hop
from nona.simulation.compiled.events.pick import (
    begin_picking,
    offer_successors,
    take_over,
    woken,
)
from nona.simulation.compiled.events.shared_link import background_arrives, deliver, depart
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    events_at,
    events_of,
    executors_at,
    feed_s_of,
    jobs_at,
    line_at,
    links_at,
    tasks_at,
)
from nona.simulation.compiled.memory.heap import drop_first
from nona.simulation.compiled.memory.layout import (
    ADMIT,
    BACKGROUND,
    COMPLETIONS,
    DONE,
    DRAIN,
    JOBS,
    NEXT_EVENT,
    PICK,
    ROOM,
)
from nona.simulation.reference.kernel import DELIVERY, HANDED, HOP, KIND_SHIFT, TASK_END


def advance(s: State, bind: Decide, pick: Decide) -> int:
    """Process events until something is wanted; returns what. ``bind`` and ``pick`` decide."""
    c = clock_at(s, 0)
    if c.phase == ADMIT:
        code = admitted(s)
        if code != NEXT_EVENT:
            return code
    elif c.phase == PICK:
        code = picked(s, pick)
        if code != NEXT_EVENT:
            return code
    while True:
        if c.feed_at == c.feed_jobs:
            return JOBS
        if c.completions == COMPLETIONS:
            return DRAIN
        code = _next_event(s, bind, pick)
        if code != NEXT_EVENT:
            return code


def _next_event(s: State, bind: Decide, pick: Decide) -> int:
    """Process the event that comes first in (time, kind, content)."""
    c = clock_at(s, 0)
    arrival_s = feed_s_of(s)[c.feed_at]
    listed_s = events_at(s, 0).time_s if c.events else math.inf
    in_line = False
    if c.line:
        head = line_at(s, c.line_first)
        in_line = head.time_s < listed_s or (head.time_s == listed_s and head.key < events_at(s, 0).key)
        listed_s = min(listed_s, head.time_s)
    now = min(listed_s, arrival_s)
    if c.shared:
        now = min(now, links_at(s, 0).next_s, c.link_end_s)
    if c.wake_s < now:
        now = c.wake_s
    if now >= c.horizon_s:
        c.wanted_s = now
        return BACKGROUND
    c.now_s = now
    if c.shared and (links_at(s, 0).next_s == now or c.link_end_s == now):
        if links_at(s, 0).next_s == now:
            if c.flows >= c.room_flows - c.room_messages:
                return ROOM
            background_arrives(s)
        else:
            depart(s, now)
        return NEXT_EVENT
    if listed_s == now:
        return _next_in_line(s, now) if in_line else _listed_event(s, pick, now)
    if c.wake_s == now:
        return pick_all(s, pick) if woken(s, now) else NEXT_EVENT
    if too_long(s):
        return DONE
    if not has_room(s):
        return ROOM
    return arrive(s, bind, pick)


def _next_in_line(s: State, now: float) -> int:
    """The first of the deliveries that came in their order."""
    c = clock_at(s, 0)
    place = line_at(s, c.line_first).item
    c.line_first += 1
    if c.line_first == c.room_line:
        c.line_first = 0
    c.line -= 1
    join(s, place, now)
    return NEXT_EVENT


def _listed_event(s: State, pick: Decide, now: float) -> int:
    """The first event of the list."""
    c = clock_at(s, 0)
    kind = events_at(s, 0).key >> KIND_SHIFT
    item = events_at(s, 0).item
    drop_first(events_of(s), c.events)
    c.events -= 1
    if kind == TASK_END:
        return _end_task(s, pick, item, now)
    if kind == DELIVERY:
        if c.shared:
            deliver(s, item, now)
        else:
            join(s, item, now)
    elif kind == HOP:
        hop(s, item, now)
    elif kind == HANDED:
        take_over(s, item, now)
    return NEXT_EVENT


def _end_task(s: State, pick: Decide, e: int, now: float) -> int:
    """The task on executor ``e`` is complete."""
    c = clock_at(s, 0)
    place = executors_at(s, e).task
    slot = tasks_at(s, place).slot
    if c.picks:
        offer_successors(s, place, e, now)
    else:
        hand_on(s, place, e, now)
    proceed(s, e, slot, now)
    jobs_at(s, slot).left -= 1
    if jobs_at(s, slot).left == 0 and complete(s, slot, place, now):
        return DONE
    if c.picks and begin_picking(s, c.open_jobs, now):
        return pick_all(s, pick)
    return NEXT_EVENT
