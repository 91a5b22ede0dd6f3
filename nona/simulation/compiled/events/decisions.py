"""Arrivals and picks: where a scheduler decides, in the loop or, if it is plain Python, outside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nona.simulation.compiled.events.bind import bind_tasks
from nona.simulation.compiled.events.jobs import admit
from nona.simulation.compiled.events.pick import (
    begin_picking,
    bind_pick,
    end_picking,
    is_allowed,
    offer_sources,
)
from nona.simulation.compiled.events.view import look, ready_of, view_of
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    feed_uniforms_of,
    jobs_at,
    out_of,
    pick_uniforms_of,
    tables_f_of,
    tables_i_of,
)
from nona.simulation.compiled.memory.layout import (
    ADMIT,
    BAD_BIND,
    BAD_PICK,
    DECIDE,
    NEXT_EVENT,
    PICK,
    PICK_ROWS,
    REPORT,
)

Decide = Callable[..., Any]


def arrive(s: State, bind: Decide, pick: Decide) -> int:
    """The next job of the feed arrives."""
    c = clock_at(s, 0)
    now = c.now_s
    row = c.feed_at
    slot = admit(s)
    if c.picks:
        offer_sources(s, slot)
        if begin_picking(s, c.open_jobs, now):
            code = pick_all(s, pick)
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
        feed_uniforms_of(s)[row],
        out_of(s)[: c.most_tasks],
    )
    return admitted(s)


def admitted(s: State) -> int:
    """The decision about the job that has arrived stands in ``out``."""
    clock_at(s, 0).phase = NEXT_EVENT
    if not bind_tasks(s, clock_at(s, 0).admitted):
        return BAD_BIND
    return _reported(s)


def _reported(s: State) -> int:
    """A report is due with some arrivals."""
    c = clock_at(s, 0)
    if c.next_number > c.next_report:
        c.next_report += c.report_every
        return REPORT
    return NEXT_EVENT


def pick_all(s: State, pick: Decide) -> int:
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
    return pick_all(s, pick)
