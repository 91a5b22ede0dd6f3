"""What a job's completion time consists of: compute, transfer, waits for links, for servers, for own tasks.

Walked back from the task that completes the job along the chain of last causes.
"""

from __future__ import annotations

from nona.simulation.compiled.events.links import path_link
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    completions_at,
    executor_server_of,
    jobs_at,
    links_at,
    outputs_at,
    plan_at,
    queries_at,
    reads_at,
    tasks_at,
    uses_at,
)


def isolated_s(s: State, output: int, source: int, destination: int) -> float:
    """Seconds of a message when nothing else is on its way."""
    c = clock_at(s, 0)
    if not c.paths:
        return float(outputs_at(s, output).work_s + c.latency_s)
    slowest = 0.0
    for stage in range(5):
        k = path_link(s, stage, source, destination)
        if k >= 0 and (slowest == 0.0 or links_at(s, k).capacity < slowest):
            slowest = links_at(s, k).capacity
    return float(outputs_at(s, output).size_bytes / slowest + c.latency_s)


def local_cause(s: State, place: int) -> int:
    """The task whose end on the same server let the one at ``place`` join; −1: it was a message."""
    task = tasks_at(s, place)
    base = jobs_at(s, task.slot).base
    server = executor_server_of(s)[task.executor]
    plan = plan_at(s, task.plan)
    for r in range(plan.read, plan.read_end):
        source = base + reads_at(s, r).source
        if (
            executor_server_of(s)[tasks_at(s, source).executor] == server
            and tasks_at(s, source).end_s == task.latest_s
        ):
            return int(source)
    return -1


def latest_read(s: State, place: int) -> int:
    """The input of the task at ``place`` that a message brought last."""
    task = tasks_at(s, place)
    plan = plan_at(s, task.plan)
    for r in range(plan.read, plan.read_end):
        if uses_at(s, reads_at(s, r).use).number == task.latest_number:
            return r
    return int(plan.read)


def last_predecessor(s: State, place: int) -> int:
    """The predecessor that ended last, of equal ones the least; −1: there is none."""
    task = tasks_at(s, place)
    base = jobs_at(s, task.slot).base
    plan = plan_at(s, task.plan)
    found = -1
    for r in range(plan.read, plan.read_end):
        source = base + reads_at(s, r).source
        if (
            found < 0
            or tasks_at(s, source).end_s > tasks_at(s, found).end_s
            or (tasks_at(s, source).end_s == tasks_at(s, found).end_s and source < found)
        ):
            found = source
    return found


def add_message(s: State, row: int, place: int, gap: float) -> None:
    """Divide ``gap`` seconds before the task joined into transfer and wait for links."""
    read = reads_at(s, latest_read(s, place))
    task = tasks_at(s, place)
    source = tasks_at(s, jobs_at(s, task.slot).base + read.source)
    alone = isolated_s(
        s, read.output, executor_server_of(s)[source.executor], executor_server_of(s)[task.executor]
    )
    transfer = min(gap, alone)
    out = completions_at(s, row)
    out.transfer_s += transfer
    out.link_wait_s += gap - transfer


def add_wait(s: State, row: int, place: int, begin_s: float, end_s: float) -> None:
    """Divide a wait of the task at ``place``: while its executor runs others of its job, and the rest."""
    own = 0.0
    if end_s > begin_s:
        task = tasks_at(s, place)
        job = jobs_at(s, task.slot)
        for other in range(job.base, job.base + queries_at(s, job.query).tasks):
            if other != place and tasks_at(s, other).executor == task.executor:
                shared = min(end_s, tasks_at(s, other).end_s) - max(begin_s, tasks_at(s, other).start_s)
                if shared > 0:
                    own += shared
    own = min(own, end_s - begin_s)
    out = completions_at(s, row)
    out.own_wait_s += own
    out.server_wait_s += end_s - begin_s - own


def no_parts(s: State, row: int) -> None:
    """Set the parts in a row to nothing."""
    out = completions_at(s, row)
    out.compute_s = 0.0
    out.transfer_s = 0.0
    out.link_wait_s = 0.0
    out.server_wait_s = 0.0
    out.own_wait_s = 0.0


def add_parts(s: State, row: int, place: int) -> None:
    """Write the parts of the job that the task at ``place`` completes into its row."""
    no_parts(s, row)
    out = completions_at(s, row)
    picks = clock_at(s, 0).picks
    while place >= 0:
        task = tasks_at(s, place)
        out.compute_s += task.end_s - task.start_s
        add_wait(s, row, place, task.latest_s, task.start_s)
        if picks:
            place = _before_pick(s, row, place)
        elif plan_at(s, task.plan).inputs == 0:
            place = -1
        else:
            source = local_cause(s, place)
            if source < 0:
                source = jobs_at(s, task.slot).base + reads_at(s, latest_read(s, place)).source
                add_message(s, row, place, task.latest_s - tasks_at(s, source).end_s)
            place = source


def _before_pick(s: State, row: int, place: int) -> int:
    """Parts of a picked task up to its joining; returns the predecessor to go on with."""
    task = tasks_at(s, place)
    gap = task.latest_s - task.picked_s
    if gap > 0:
        add_message(s, row, place, gap)
    before = last_predecessor(s, place)
    since = jobs_at(s, task.slot).arrival_s if before < 0 else tasks_at(s, before).end_s
    add_wait(s, row, place, since, task.picked_s)
    return before
