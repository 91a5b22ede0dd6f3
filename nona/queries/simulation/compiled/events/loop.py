"""The event loop: the scheduler's view, its decisions, and on to the next event."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nona.core.compiled.memory import (
    ADMIT,
    BACKGROUND,
    BAD_BIND,
    BAD_PICK,
    COMPLETIONS,
    DECIDE,
    DONE,
    DRAIN,
    JOBS,
    NEXT_EVENT,
    PICK,
    PICK_ROWS,
    REPORT,
    ROOM,
    State,
    backlog_s_of,
    card_bytes_s_of,
    clock_at,
    drop_first,
    events_at,
    events_of,
    executor_class_of,
    executor_server_of,
    executors_at,
    feed_query_of,
    feed_s_of,
    feed_uniforms_of,
    jobs_at,
    line_at,
    links_at,
    out_of,
    pick_uniforms_of,
    places_of,
    queue_length_of,
    ready_base_of,
    ready_batch_first_of,
    ready_batch_size_of,
    ready_draw_of,
    ready_home_of,
    ready_job_of,
    ready_query_of,
    ready_running_of,
    ready_since_s_of,
    ready_task_of,
    shown_of,
    tables_f_of,
    tables_i_of,
    tasks_at,
    users_at_of,
    users_uniforms_of,
)
from nona.queries.schedulers.base import Ready, SystemView
from nona.queries.simulation.compiled.events.batches import decide, note_end, step_ended
from nona.queries.simulation.compiled.events.bind import bind_tasks, hand_on
from nona.queries.simulation.compiled.events.executors import join, proceed
from nona.queries.simulation.compiled.events.jobs import admit, complete, has_room, too_long
from nona.queries.simulation.compiled.events.links import (
    absorb,
    background_arrives,
    depart,
    hop,
    past_transfer_s,
    pending_s,
)
from nona.queries.simulation.compiled.events.loads import settle
from nona.queries.simulation.compiled.events.pick import (
    begin_picking,
    bind_pick,
    end_picking,
    is_allowed,
    offer_sources,
    offer_successors,
    take_over,
    woken,
)
from nona.queries.simulation.compiled.events.pools import end_background
from nona.queries.simulation.reference.kernel import (
    ARRIVAL,
    DELIVERY,
    HANDED,
    HOP,
    KIND_SHIFT,
    TASK_END,
    USER_SHIFT,
)
from nona.queries.simulation.reference.kernel import BACKGROUND as OWN_BACKGROUND
from nona.queries.simulation.workload import BLOCK


def look(s: State, now: float) -> None:
    """Bring the scheduler's view up to ``now``: the load board, and the network as far as declared."""
    c = clock_at(s, 0)
    if c.board:
        settle(s, now)
    if c.network_view < 2:
        return
    shown_of(s)[2] = past_transfer_s(s, now)
    if c.network_view >= 3:
        shown_of(s)[3] = max(0.0, c.reserved_s - now)
    if c.network_view >= 4:
        shown_of(s)[4] = _queue_bytes(s, now)


def _queue_bytes(s: State, now: float) -> float:
    """Bytes waiting or in service at the links, background included."""
    c = clock_at(s, 0)
    if c.shared:
        return float(pending_s(s, now) * c.capacity)
    total = 0.0
    for k in range(c.links):
        absorb(s, k, now)
        total += max(0.0, links_at(s, k).free_s - now) * links_at(s, k).capacity
    return float(total)


def view_of(s: State) -> SystemView:
    """Return the scheduler's view; fields above its level are ``nan``."""
    c = clock_at(s, 0)
    n = c.executors
    return SystemView(
        executor_server_of(s)[:n],
        executor_class_of(s)[:n],
        queue_length_of(s)[:n],
        backlog_s_of(s)[:n],
        shown_of(s)[0],
        shown_of(s)[1],
        shown_of(s)[2],
        shown_of(s)[3],
        shown_of(s)[4],
        card_bytes_s_of(s)[: 2 * c.servers],
    )


def ready_of(s: State, n: int, open_jobs: int) -> Ready:
    """Return the list of ready tasks, ``n`` of them."""
    return Ready(
        n,
        ready_job_of(s)[:n],
        ready_query_of(s)[:n],
        ready_task_of(s)[:n],
        ready_since_s_of(s)[:n],
        ready_running_of(s)[:n],
        ready_home_of(s)[:n],
        open_jobs,
        ready_batch_first_of(s)[:n],
        ready_batch_size_of(s)[:n],
        ready_draw_of(s)[:n],
        ready_base_of(s)[:n],
        places_of(s)[: clock_at(s, 0).room_tasks],
    )


Decide = Callable[..., Any]


def _arrive(s: State, bind: Decide, pick: Decide, q: int, user: int) -> int:
    """Let the next job of the feed arrive, or the next one of class ``q`` that a user sends (else −1)."""
    c = clock_at(s, 0)
    now = c.now_s
    row = c.feed_at if user < 0 else q * BLOCK + users_at_of(s)[q]
    slot = admit(s, q, now, user)
    if c.picks:
        offer_sources(s, slot)
        if begin_picking(s, c.open_jobs, now):
            code = _pick_all(s, pick)
            if code != NEXT_EVENT:
                return code
        return _reported(s)
    c.admitted = slot
    look(s, now)
    if not c.compiled:
        c.phase = ADMIT
        return DECIDE
    bind(
        now,
        jobs_at(s, slot).query,
        view_of(s),
        tables_i_of(s),
        tables_f_of(s),
        feed_uniforms_of(s)[row] if user < 0 else users_uniforms_of(s)[row],
        out_of(s)[: c.most_tasks],
    )
    return _admitted(s)


def _admitted(s: State) -> int:
    """Carry out the decision in ``out`` about the job that has arrived."""
    clock_at(s, 0).phase = NEXT_EVENT
    if not bind_tasks(s, clock_at(s, 0).admitted):
        return BAD_BIND
    return _reported(s)


def _reported(s: State) -> int:
    c = clock_at(s, 0)
    if c.next_number > c.next_report:
        c.next_report += c.report_every
        return REPORT
    return NEXT_EVENT


def _pick_all(s: State, pick: Decide) -> int:
    """Ask the policy while there are ready tasks and free executors."""
    c = clock_at(s, 0)
    now = c.now_s
    while c.ready > 0 and c.free > 0:
        if c.pick_at == c.pick_rows:
            c.phase = PICK
            c.answer = -1
            return PICK_ROWS
        look(s, now)
        if not c.compiled:
            c.phase = PICK
            return DECIDE
        if not pick(
            now,
            view_of(s),
            ready_of(s, c.ready, c.open_jobs),
            tables_i_of(s),
            tables_f_of(s),
            pick_uniforms_of(s)[c.pick_at],
            out_of(s)[: c.most_tasks],
        ):
            break
        if not is_allowed(s):
            return BAD_PICK
        bind_pick(s, now)
        c.pick_at += 1
    c.phase = NEXT_EVENT
    end_picking(s)
    return NEXT_EVENT


def picked(s: State, pick: Decide) -> int:
    """Go on picking: ``answer`` is 1 with a decision in ``out``, 0 for none, −1 to ask first."""
    c = clock_at(s, 0)
    if c.answer == 1:
        if not is_allowed(s):
            return BAD_PICK
        bind_pick(s, c.now_s)
        c.pick_at += 1
    elif c.answer == 0:
        c.phase = NEXT_EVENT
        end_picking(s)
        return NEXT_EVENT
    c.phase = NEXT_EVENT
    return _pick_all(s, pick)


def advance(s: State, bind: Decide, pick: Decide) -> int:
    """Process events until something is wanted; return its code. ``bind`` and ``pick`` decide."""
    c = clock_at(s, 0)
    if c.phase == ADMIT:
        code = _admitted(s)
        if code != NEXT_EVENT:
            return code
    elif c.phase == PICK:
        code = picked(s, pick)
        if code != NEXT_EVENT:
            return code
    while True:
        if c.feed_at == c.feed_jobs:
            return JOBS
        if c.completions >= COMPLETIONS or c.arrived >= COMPLETIONS:
            return DRAIN
        if c.pools and c.events + c.events_at_once > c.room_events:
            return ROOM
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
    decides = c.due_s < now
    if decides:
        now = c.due_s
    if now >= c.horizon_s:
        c.wanted_s = now
        return BACKGROUND
    c.now_s = now
    if decides:
        decide(s, now)
        return NEXT_EVENT
    if c.shared and (links_at(s, 0).next_s == now or c.link_end_s == now):
        if links_at(s, 0).next_s == now:
            if c.flows >= c.room_flows - c.room_messages:
                return ROOM
            background_arrives(s)
        else:
            depart(s, now)
        return NEXT_EVENT
    if in_line and listed_s == now:
        return _next_in_line(s, now)
    if listed_s == now and events_at(s, 0).key >> KIND_SHIFT != ARRIVAL:
        return _listed_event(s, pick, now)
    if c.wake_s == now:
        return _pick_all(s, pick) if woken(s, now) else NEXT_EVENT
    if too_long(s, now):
        return DONE
    if arrival_s > now:
        return _user_arrives(s, bind, pick, now)
    q = feed_query_of(s)[c.feed_at]
    if not has_room(s, q):
        return ROOM
    return _arrive(s, bind, pick, q, -1)


def _user_arrives(s: State, bind: Decide, pick: Decide, now: float) -> int:
    """Let a user of a closed loop send the next query."""
    c = clock_at(s, 0)
    item = events_at(s, 0).item
    q = item >> USER_SHIFT
    if users_at_of(s)[q] == BLOCK:
        return JOBS
    if not has_room(s, q):
        return ROOM
    drop_first(events_of(s), c.events)
    c.events -= 1
    return _arrive(s, bind, pick, q, item - (q << USER_SHIFT))


def _next_in_line(s: State, now: float) -> int:
    """Return the first of the deliveries that came in their order."""
    c = clock_at(s, 0)
    place = line_at(s, c.line_first).item
    c.line_first += 1
    if c.line_first == c.room_line:
        c.line_first = 0
    c.line -= 1
    join(s, place, now)
    return NEXT_EVENT


def _listed_event(s: State, pick: Decide, now: float) -> int:
    c = clock_at(s, 0)
    key = events_at(s, 0).key
    kind = key >> KIND_SHIFT
    item = events_at(s, 0).item
    drop_first(events_of(s), c.events)
    c.events -= 1
    if c.pools and kind in (TASK_END, OWN_BACKGROUND) and executors_at(s, item).shared:
        x = executors_at(s, item)
        if not x.active or x.end_s != now or x.key != key:
            return NEXT_EVENT  # another end was set since
        if kind == OWN_BACKGROUND:
            end_background(s, item, now)
            return NEXT_EVENT
    if kind == TASK_END:
        return _end_task(s, pick, item, now)
    if kind == DELIVERY:
        join(s, item, now)
    elif kind == HOP:
        hop(s, item, now)
    elif kind == HANDED:
        take_over(s, item, now)
    return NEXT_EVENT


def _end_task(s: State, pick: Decide, e: int, now: float) -> int:
    c = clock_at(s, 0)
    place = executors_at(s, e).task
    if c.batching:
        return _end_batch(s, pick, e, now)
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
        return _pick_all(s, pick)
    return NEXT_EVENT


def _end_batch(s: State, pick: Decide, e: int, now: float) -> int:
    c = clock_at(s, 0)
    first = int(executors_at(s, e).task)
    if executors_at(s, e).shared:
        place = first
        while place >= 0:
            note_end(s, e, place, now)
            place = int(tasks_at(s, place).queue_next)
    place = first
    while place >= 0:
        if c.picks:
            offer_successors(s, place, e, now)
        else:
            hand_on(s, place, e, now)
        place = int(tasks_at(s, place).queue_next)
    goes_on = True
    done = False
    place = first
    while place >= 0:
        slot = tasks_at(s, place).slot
        jobs_at(s, slot).left -= 1
        if jobs_at(s, slot).left == 0:
            goes_on = False
            if complete(s, slot, place, now):
                done = True
        place = int(tasks_at(s, place).queue_next)
    step_ended(s, e, goes_on, now)
    if done:
        return DONE
    if c.picks and begin_picking(s, c.open_jobs, now):
        return _pick_all(s, pick)
    return NEXT_EVENT
