"""Arrivals and ends of jobs: the counts, and the parts of their times.

A job's time is walked back from the task that completes it, along the chain of last causes.
"""

from __future__ import annotations

from nona.core.compiled.memory import (
    Floats,
    State,
    arrived_query_of,
    arrived_s_of,
    busy_s_of,
    class_bytes_of,
    class_completed_of,
    class_work_s_of,
    clock_at,
    completions_at,
    events_of,
    executor_class_of,
    executor_server_of,
    executors_at,
    feed_draw_of,
    feed_draws_of,
    feed_uniforms_of,
    flow_completed_of,
    flow_offered_of,
    flow_response_s_of,
    flow_service_s_of,
    free_slots_of,
    jobs_at,
    link_busy_s_of,
    links_at,
    loads_of,
    marks_of,
    open_at_of,
    outputs_at,
    places_of,
    plan_at,
    push,
    queries_at,
    reads_at,
    tasks_at,
    traced_of,
    users_at_of,
    users_draw_of,
    users_uniforms_of,
    uses_at,
)
from nona.queries.simulation.compiled.events.links import absorb, past_transfer_s, path_link
from nona.queries.simulation.compiled.events.loads import bring_up, busy_until, served_until, work_until
from nona.queries.simulation.compiled.events.messages import free_messages
from nona.queries.simulation.reference.kernel import USER_SHIFT, user_key
from nona.queries.simulation.workload import BLOCK


def _note_busy(s: State, edge: int, now: float) -> None:
    """Record the busy seconds of every executor and link as the window opens (0) or closes (1)."""
    c = clock_at(s, 0)
    for e in range(c.executors):
        busy_s_of(s)[edge, e] = busy_until(s, e, now)
    for k in range(c.links):
        link_busy_s_of(s)[edge, k] = _link_busy_until(s, k, now)


def _link_busy_until(s: State, k: int, now: float) -> float:
    """Length of the busy periods of link ``k`` from 0 to ``now``."""
    c = clock_at(s, 0)
    link = links_at(s, k)
    if c.shared:
        return float(link.closed_s + (now - link.since_s if c.flows else 0.0))
    absorb(s, k, now)
    return float(link.closed_s + min(link.free_s, now) - link.since_s)


def absorb_all(s: State, now: float) -> None:
    """Let all background up to ``now`` join, so that parts no longer needed can be dropped."""
    c = clock_at(s, 0)
    for e in range(c.executors):
        bring_up(s, e, now)
    if not c.shared:
        for k in range(c.links):
            absorb(s, k, now)


def busy_and_work(s: State, now: float, executors: Floats, links: Floats) -> None:
    """Service given (row 0) and done (row 1) by every executor and link by ``now``.

    The links' rows are left alone where the link is shared.
    """
    c = clock_at(s, 0)
    for e in range(c.executors):
        executors[0, e] = served_until(s, e, now)
        executors[1, e] = work_until(s, e, now)
    if not c.shared:
        for k in range(c.links):
            links[0, k] = _link_busy_until(s, k, now)
            links[1, k] = links_at(s, k).work_s - max(0.0, links_at(s, k).free_s - now)


def _isolated_s(s: State, output: int, source: int, destination: int) -> float:
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


def _local_cause(s: State, place: int) -> int:
    """Return the task on the same server whose end let the one at ``place`` join; −1: a message did."""
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


def _latest_read(s: State, place: int) -> int:
    """Return the input of the task at ``place`` that a message brought last."""
    task = tasks_at(s, place)
    plan = plan_at(s, task.plan)
    for r in range(plan.read, plan.read_end):
        if uses_at(s, reads_at(s, r).use).number == task.latest_number:
            return r
    return int(plan.read)


def _last_predecessor(s: State, place: int) -> int:
    """Return the predecessor that ended last, of equal ones the least; −1: there is none."""
    task = tasks_at(s, place)
    base = jobs_at(s, task.slot).base
    plan = plan_at(s, task.plan)
    last = -1
    for r in range(plan.read, plan.read_end):
        source = base + reads_at(s, r).source
        if (
            last < 0
            or tasks_at(s, source).end_s > tasks_at(s, last).end_s
            or (tasks_at(s, source).end_s == tasks_at(s, last).end_s and source < last)
        ):
            last = source
    return last


def _add_message(s: State, row: int, place: int, gap: float) -> None:
    """Divide ``gap`` seconds before the task joined into transfer and wait for links."""
    read = reads_at(s, _latest_read(s, place))
    task = tasks_at(s, place)
    source = tasks_at(s, jobs_at(s, task.slot).base + read.source)
    alone = _isolated_s(
        s, read.output, executor_server_of(s)[source.executor], executor_server_of(s)[task.executor]
    )
    transfer = min(gap, alone)
    out = completions_at(s, row)
    out.transfer_s += transfer
    out.link_wait_s += gap - transfer


def _add_wait(s: State, row: int, place: int, begin_s: float, end_s: float, idle_s: float) -> None:
    """Divide a task's wait by cause: its job's tasks, an idle executor (``idle_s``), else other jobs."""
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
    fill = min(idle_s, end_s - begin_s - own)
    out.own_wait_s += own
    out.fill_wait_s += fill
    out.server_wait_s += end_s - begin_s - own - fill


def _set_parts(s: State, row: int, part_s: float) -> None:
    out = completions_at(s, row)
    out.compute_s = part_s
    out.transfer_s = part_s
    out.link_wait_s = part_s
    out.server_wait_s = part_s
    out.own_wait_s = part_s
    out.fill_wait_s = part_s


def _add_parts(s: State, row: int, place: int) -> None:
    out = completions_at(s, row)
    picks = clock_at(s, 0).picks
    while place >= 0:
        task = tasks_at(s, place)
        out.compute_s += task.end_s - task.start_s
        _add_wait(s, row, place, task.latest_s, task.start_s, task.fill_s)
        if picks:
            place = _before_pick(s, row, place)
        elif plan_at(s, task.plan).inputs == 0:
            place = -1
        else:
            source = _local_cause(s, place)
            if source < 0:
                source = jobs_at(s, task.slot).base + reads_at(s, _latest_read(s, place)).source
                _add_message(s, row, place, task.latest_s - tasks_at(s, source).end_s)
            place = source


def _before_pick(s: State, row: int, place: int) -> int:
    """Add up the parts of a picked task up to its joining; return the predecessor to go on with."""
    task = tasks_at(s, place)
    gap = task.latest_s - task.picked_s
    if gap > 0:
        _add_message(s, row, place, gap)
    before = _last_predecessor(s, place)
    since = jobs_at(s, task.slot).arrival_s if before < 0 else tasks_at(s, before).end_s
    _add_wait(s, row, place, since, task.picked_s, 0.0)
    return before


def count(s: State, now: float, change: int) -> None:
    """Add to ∫N dt, and change the number of jobs in the system."""
    c = clock_at(s, 0)
    c.area_s += c.open_jobs * (now - c.area_since_s)
    c.area_since_s = now
    c.open_jobs += change


def has_room(s: State, q: int) -> bool:
    """Return whether a job of class ``q``, with all that it may bring, fits into the arrays."""
    c = clock_at(s, 0)
    if c.watched:
        past_transfer_s(s, c.now_s)  # so that only what is on its way stays in the list
    query = queries_at(s, q)
    return bool(
        (free_slots_of(s)[q] >= 0 or c.jobs_used < c.room_jobs)
        and c.arena + query.tasks <= c.room_tasks
        and c.promised_messages + query.inputs <= c.room_messages
        and c.task_traces_promised + query.tasks <= c.room_task_traces
        and c.message_traces_promised + query.inputs <= c.room_message_traces
    )


def admit(s: State, q: int, now: float, user: int) -> int:
    """Give the next job of the feed, or of a user (else −1), a place and count it; return its slot."""
    c = clock_at(s, 0)
    number = c.next_number
    arrived_query_of(s)[c.arrived] = q
    arrived_s_of(s)[c.arrived] = now
    c.arrived += 1
    while marks_of(s)[c.next_mark] == number:
        open_at_of(s)[c.next_mark] = c.open_jobs
        c.next_mark += 1
    count(s, now, 1)
    if number == c.first:
        c.area_before_s = c.area_s
        _note_busy(s, 0, now)
    if number == c.last:
        c.window_area_s = c.area_s - c.area_before_s
        _note_busy(s, 1, now)
        c.last_arrival_s = now
    if c.rounds:
        flow_offered_of(s)[q] += 1
    slot = _take_slot(s, q)
    job = jobs_at(s, slot)
    job.number = number
    job.arrival_s = now
    job.left = queries_at(s, q).tasks
    job.running = 0
    job.traced = traced_of(s)[c.next_traced] == number
    job.wait_head = -1
    job.wait_tail = -1
    job.message = -1
    job.draw = 0.0
    if c.picks and c.uniforms:
        if user < 0:
            job.draw = feed_uniforms_of(s)[c.feed_at, 0]
        else:
            job.draw = users_uniforms_of(s)[q * BLOCK + users_at_of(s)[q], 0]
    job.user = user
    job.sent_bytes = 0.0
    c.promised_messages += queries_at(s, q).inputs
    if job.traced:
        c.next_traced += 1
        c.task_traces_promised += queries_at(s, q).tasks
        c.message_traces_promised += queries_at(s, q).inputs
    _fill_tasks(s, slot)
    c.next_number += 1
    if user < 0:
        c.feed_at += 1
    else:
        users_at_of(s)[q] += 1
    return slot


def _take_slot(s: State, q: int) -> int:
    """Return a place for a job of class ``q``: one that was left, or a new one."""
    c = clock_at(s, 0)
    slot = free_slots_of(s)[q]
    if slot >= 0:
        free_slots_of(s)[q] = jobs_at(s, slot).next
    else:
        slot = c.jobs_used
        c.jobs_used += 1
        jobs_at(s, slot).base = c.arena
        jobs_at(s, slot).query = q
        c.arena += queries_at(s, q).tasks
    return int(slot)


def _fill_tasks(s: State, slot: int) -> None:
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    first = queries_at(s, job.query).base
    draws = feed_draws_of(s)[c.feed_at] if job.user < 0 else -1
    for t in range(job.left):
        task = tasks_at(s, job.base + t)
        task.slot = slot
        task.plan = first + t
        task.missing = plan_at(s, first + t).inputs
        task.unfinished = plan_at(s, first + t).predecessors
        task.latest_s = -1.0
        task.latest_number = 0
        task.placed = 0
        if c.picks:
            places_of(s)[job.base + t] = -1
        task.draw = feed_draw_of(s)[draws + t] if draws >= 0 else 1.0
        if job.user >= 0:
            task.draw = users_draw_of(s)[job.query * BLOCK + users_at_of(s)[job.query], t]


def complete(s: State, slot: int, place: int, now: float) -> bool:
    """Complete the job whose last task was at ``place``; return whether that ends the run."""
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    _set_parts(s, c.completions, 0.0)
    if c.first <= job.number <= c.last:
        _add_parts(s, c.completions, place)
    if c.rounds:
        _note_flow(s, slot, place, now)
    class_completed_of(s)[job.query] += 1
    class_work_s_of(s)[job.query] += _load_s(s, slot)
    class_bytes_of(s)[job.query] += job.sent_bytes
    count(s, now, -1)
    out = completions_at(s, c.completions)
    c.completions += 1
    out.number = job.number
    out.completion_s = now
    c.promised_messages -= queries_at(s, job.query).inputs
    free_messages(s, slot)
    job.next = free_slots_of(s)[job.query]
    free_slots_of(s)[job.query] = slot
    if job.user >= 0:
        key = user_key(job.query, job.user)
        item = (job.query << USER_SHIFT) + job.user
        push(events_of(s), c.events, now + queries_at(s, job.query).think_s, key, item)
        c.events += 1
    if c.first <= job.number <= c.last:
        c.unmeasured -= 1
        return bool(c.unmeasured == 0)
    return False


def _load_s(s: State, slot: int) -> float:
    """Modelled seconds that the tasks of a job took of their executors: without draws."""
    job = jobs_at(s, slot)
    total = 0.0
    for place in range(job.base, job.base + queries_at(s, job.query).tasks):
        task = tasks_at(s, place)
        total += loads_of(s)[executors_at(s, task.executor).kind, task.plan]
    return total


def _note_flow(s: State, slot: int, place: int, now: float) -> None:
    """Count a complete job for the next round; its tasks ran where the one at ``place`` did."""
    job = jobs_at(s, slot)
    k = executor_class_of(s)[tasks_at(s, place).executor]
    service_s = 0.0
    for t in range(queries_at(s, job.query).tasks):
        task = tasks_at(s, job.base + t)
        service_s += (task.end_s - task.start_s) / task.members
    flow_completed_of(s)[job.query, k] += 1
    flow_service_s_of(s)[job.query, k] += service_s
    flow_response_s_of(s)[job.query] += now - job.arrival_s


def too_long(s: State, now: float) -> bool:
    """Return whether to stop before the job that arrives now, because the cohort takes too long."""
    c = clock_at(s, 0)
    if c.next_number <= c.last:
        return False
    late = c.next_number - c.first - c.jobs
    since_s = now - c.last_arrival_s
    return bool(late >= c.tail_jobs and (since_s > c.tail_s or late >= c.tail_most))
