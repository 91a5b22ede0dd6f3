"""The waits that ``nona-live`` expects: what stands in the queues, and who may come in between."""

from __future__ import annotations

from nona.schedulers.live.slots import Slots
from nona.schedulers.live.state import Walk
from nona.schedulers.live.tables import LiveTables


def grown(work_s: float, wait_s: float) -> float:
    """The wait behind newcomers with so much work: all of it at first, ``wait_s`` at last."""
    if work_s <= 0.0 or wait_s <= 0.0:
        return 0.0
    return wait_s * work_s / (wait_s + work_s)


def link_wait_s(request_s: float, queue_s: float, t: LiveTables) -> float:
    """The wait at the link of a message requested then, if the link has ``queue_s`` seconds of work now."""
    if t.live == 0:
        return t.link_wait_s
    return max(queue_s - (1.0 - t.link_load) * request_s, grown(t.link_load * request_s, t.link_wait_s))


def start_s(query: int, slot: int, ready_s: float, w: Walk, s: Slots, t: LiveTables) -> float:
    """When a task that is ready then starts in a slot, by the work that is known.

    A queue is served in order of readiness, so what comes before ``ready_s`` goes first: where work
    waits now, ``t.busy_load`` seconds a second and the burst that the job may belong to. A task that is
    ready when the job's last one ends there starts at once.
    """
    free_s, busy_s = w.free_s[slot], s.backlog_s[slot]
    if free_s >= 0.0 and ready_s <= free_s:
        return float(free_s)
    if busy_s <= 0.0:
        return float(ready_s)
    came_s = t.busy_load * ready_s + min(ready_s, t.burst_s[query])
    if free_s < 0.0:
        return float(max(ready_s, busy_s + came_s))
    return float(ready_s + max(0.0, came_s - (ready_s - free_s)))


def risk_s(query: int, slot: int, ready_s: float, w: Walk, s: Slots, t: LiveTables) -> float:
    """The wait to be expected on top: others may have come to the executor while the job was not there.

    Background comes blindly. Queries take the idle executors first: of those that come until
    ``ready_s`` only the share that finds none left counts.
    """
    gap_s = ready_s - max(w.free_s[slot], 0.0)
    if gap_s <= 0.0:
        return 0.0
    spilt = scarcity(query, ready_s, s, t)
    work_s = t.query_load * gap_s + min(gap_s, t.burst_s[query])
    return grown(t.load * gap_s, t.wait_s) + grown(
        t.crowding * spilt * work_s, t.query_wait_s + t.burst_s[query]
    )


def scarcity(query: int, until_s: float, s: Slots, t: LiveTables) -> float:
    """The share of newcomers until then that find no idle executor: wanted / (wanted + idle)."""
    wanted = t.burst_wanted[query] + t.wanted_rate * until_s
    return float(wanted / (wanted + s.idle[0])) if wanted > 0.0 else 0.0


def foreign_s(query: int, gap_s: float, ready_s: float, s: Slots, t: LiveTables) -> float:
    """The wait to be expected at an executor that was left alone for ``gap_s``: others came in between.

    Background comes blindly. Queries take the idle executors first: of those that come until
    ``ready_s`` only the share that finds none left counts.
    """
    spilt = scarcity(query, ready_s, s, t)
    work_s = t.query_load * gap_s + min(gap_s, t.burst_s[query])
    return grown(t.load * gap_s, t.wait_s) + grown(
        t.crowding * spilt * work_s, t.query_wait_s + t.burst_s[query]
    )
