"""The waits that ``nona-live`` expects: what stands in the queues, and who may come in between."""

from __future__ import annotations

from nona.schedulers.live.slots import Job, Slots
from nona.schedulers.live.state import Walk
from nona.schedulers.live.tables import Expected


def grown(work_s: float, wait_s: float) -> float:
    """The wait behind newcomers with so much work: all of it at first, ``wait_s`` at last."""
    if work_s <= 0.0 or wait_s <= 0.0:
        return 0.0
    return wait_s * work_s / (wait_s + work_s)


def link_wait_s(request_s: float, queue_s: float, x: Expected, live: int) -> float:
    """The wait at the link of a message requested then, if the link has ``queue_s`` seconds of work now.

    Where that is not read (``live`` is 0), the mean.
    """
    if live == 0:
        return x.link_wait_s
    return max(queue_s - (1.0 - x.link_load) * request_s, grown(x.link_load * request_s, x.link_wait_s))


def start_s(slot: int, ready_s: float, job: Job, w: Walk, s: Slots, x: Expected) -> float:
    """When a task that is ready then starts in a slot, by the work that is known.

    A queue is served in order of readiness, so what comes before ``ready_s`` goes first: where work
    waits now, ``busy_load`` seconds a second and the burst that the job may belong to. A task that is
    ready when the job's last one ends there starts at once.
    """
    free_s, busy_s = w.free_s[slot], s.backlog_s[slot]
    if free_s >= 0.0 and ready_s <= free_s:
        return float(free_s)
    if busy_s <= 0.0:
        return float(ready_s)
    came_s = x.busy_load * ready_s + min(ready_s, x.burst_s[job.query])
    if free_s < 0.0:
        return float(max(ready_s, busy_s + came_s))
    return float(ready_s + max(0.0, came_s - (ready_s - free_s)))


def risk_s(slot: int, ready_s: float, job: Job, w: Walk, s: Slots, x: Expected) -> float:
    """The wait to be expected on top: others may have come to the executor while the job was not there.

    Background comes blindly. Queries take the idle executors first: of those that come until
    ``ready_s`` only the share that finds none left counts.
    """
    gap_s = ready_s - max(w.free_s[slot], 0.0)
    if gap_s <= 0.0:
        return 0.0
    burst_s = x.burst_s[job.query]
    spilt = scarcity(job.query, ready_s, s, x)
    work_s = x.query_load * gap_s + min(gap_s, burst_s)
    return grown(x.load * gap_s, x.wait_s) + grown(x.crowding * spilt * work_s, x.query_wait_s + burst_s)


def scarcity(query: int, until_s: float, s: Slots, x: Expected) -> float:
    """The share of newcomers until then that find no idle executor: wanted / (wanted + idle)."""
    wanted = x.burst_wanted[query] + x.wanted_rate * until_s
    return float(wanted / (wanted + s.idle[0])) if wanted > 0.0 else 0.0
