"""Busy seconds and work of executors and links, up to an instant."""

from __future__ import annotations

from nona.simulation.compiled.events.executors import absorb as absorb_background
from nona.simulation.compiled.events.executors import busy_until, work_until
from nona.simulation.compiled.events.links import absorb
from nona.simulation.compiled.memory.arrays import Floats, State
from nona.simulation.compiled.memory.fields import busy_s_of, clock_at, executors_at, link_busy_s_of, links_at


def note_busy(s: State, edge: int, now: float) -> None:
    """The busy seconds of every executor and link as the window opens (0) or closes (1)."""
    c = clock_at(s, 0)
    for e in range(c.executors):
        busy_s_of(s)[edge, e] = busy_until(s, e, now)
    for k in range(c.links):
        link_busy_s_of(s)[edge, k] = link_busy_until(s, k, now)


def link_busy_until(s: State, k: int, now: float) -> float:
    """Length of the busy periods of link ``k`` from 0 to ``now``."""
    c = clock_at(s, 0)
    link = links_at(s, k)
    if c.shared:
        return float(link.closed_s + (now - link.since_s if c.flows else 0.0))
    absorb(s, k, now)
    return float(link.closed_s + min(link.free_s, now) - link.since_s)


def absorb_all(s: State, now: float) -> None:
    """Let all background up to ``now`` join, so that what is not needed any more can be dropped."""
    c = clock_at(s, 0)
    for e in range(c.executors):
        if executors_at(s, e).next_s <= now:
            absorb_background(s, e, now)
    if not c.shared:
        for k in range(c.links):
            absorb(s, k, now)


def busy_and_work(s: State, now: float, executors: Floats, links: Floats) -> None:
    """Busy seconds (row 0) and service done (row 1) of every executor and link by ``now``.

    The links' rows are left alone where the link is shared.
    """
    c = clock_at(s, 0)
    for e in range(c.executors):
        executors[0, e] = busy_until(s, e, now)
        executors[1, e] = work_until(s, e, now)
    if not c.shared:
        for k in range(c.links):
            links[0, k] = link_busy_until(s, k, now)
            links[1, k] = links_at(s, k).work_s - max(0.0, links_at(s, k).free_s - now)
