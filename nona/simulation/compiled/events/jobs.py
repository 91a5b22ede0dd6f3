"""Jobs come and go: their places, what is counted, what the window's edges note."""

from __future__ import annotations

from nona.simulation.compiled.events.links import past_transfer_s
from nona.simulation.compiled.events.parts import add_parts, no_parts
from nona.simulation.compiled.events.totals import note_busy
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    class_bytes_of,
    class_completed_of,
    class_work_s_of,
    clock_at,
    completions_at,
    executor_class_of,
    feed_draw_of,
    feed_draws_of,
    feed_query_of,
    feed_s_of,
    feed_uniforms_of,
    flow_completed_of,
    flow_offered_of,
    flow_response_s_of,
    flow_service_s_of,
    free_slots_of,
    jobs_at,
    marks_of,
    open_at_of,
    places_of,
    plan_at,
    queries_at,
    tasks_at,
    traced_of,
)
from nona.simulation.compiled.memory.messages import free_messages


def count(s: State, now: float, change: int) -> None:
    """Add to ∫N dt, and change the number of jobs in the system."""
    c = clock_at(s, 0)
    c.area_s += c.open_jobs * (now - c.area_since_s)
    c.area_since_s = now
    c.open_jobs += change


def has_room(s: State) -> bool:
    """Whether the next job, with all that it may bring, fits into the arrays."""
    c = clock_at(s, 0)
    if c.watched:
        past_transfer_s(s, c.now_s)  # so that only what is on its way stays in the list
    query = queries_at(s, feed_query_of(s)[c.feed_at])
    return bool(
        (free_slots_of(s)[feed_query_of(s)[c.feed_at]] >= 0 or c.jobs_used < c.room_jobs)
        and c.arena + query.tasks <= c.room_tasks
        and c.promised_messages + query.inputs <= c.room_messages
        and c.task_traces_promised + query.tasks <= c.room_task_traces
        and c.message_traces_promised + query.inputs <= c.room_message_traces
    )


def admit(s: State) -> int:
    """The next job of the feed has arrived: give it a place and count it; returns its slot."""
    c = clock_at(s, 0)
    number = c.next_number
    now = feed_s_of(s)[c.feed_at]
    q = feed_query_of(s)[c.feed_at]
    while marks_of(s)[c.next_mark] == number:
        open_at_of(s)[c.next_mark] = c.open_jobs
        c.next_mark += 1
    count(s, now, 1)
    if number == c.first:
        c.area_before_s = c.area_s
        note_busy(s, 0, now)
    if number == c.last:
        c.window_area_s = c.area_s - c.area_before_s
        note_busy(s, 1, now)
        c.last_arrival_s = now
    if c.rounds:
        flow_offered_of(s)[q] += 1
    slot = take_slot(s, q)
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
        job.draw = feed_uniforms_of(s)[c.feed_at, 0]
    job.work_s = 0.0
    job.sent_bytes = 0.0
    c.promised_messages += queries_at(s, q).inputs
    if job.traced:
        c.next_traced += 1
        c.task_traces_promised += queries_at(s, q).tasks
        c.message_traces_promised += queries_at(s, q).inputs
    fill_tasks(s, slot)
    c.next_number += 1
    c.feed_at += 1
    return slot


def take_slot(s: State, q: int) -> int:
    """A place for a job of class ``q``: one that was left, or a new one."""
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


def fill_tasks(s: State, slot: int) -> None:
    """Set up the tasks of a new job."""
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    first = queries_at(s, job.query).base
    draws = feed_draws_of(s)[c.feed_at]
    for t in range(job.left):
        task = tasks_at(s, job.base + t)
        task.slot = slot
        task.plan = first + t
        task.missing = plan_at(s, first + t).inputs
        task.unfinished = plan_at(s, first + t).predecessors
        task.latest_s = 0.0
        task.latest_number = 0
        task.placed = 0
        if c.picks:
            places_of(s)[job.base + t] = -1
        task.draw = feed_draw_of(s)[draws + t] if draws >= 0 else 1.0


def complete(s: State, slot: int, place: int, now: float) -> bool:
    """The task at ``place`` was the last of its job; whether that ends the run."""
    c = clock_at(s, 0)
    count(s, now, -1)
    job = jobs_at(s, slot)
    row = c.completions
    c.completions += 1
    out = completions_at(s, row)
    out.number = job.number
    out.completion_s = now
    measured = c.first <= job.number <= c.last
    if measured:
        add_parts(s, row, place)
    else:
        no_parts(s, row)
    if c.rounds:
        note_flow(s, slot, place, now)
    class_completed_of(s)[job.query] += 1
    class_work_s_of(s)[job.query] += job.work_s
    class_bytes_of(s)[job.query] += job.sent_bytes
    c.promised_messages -= queries_at(s, job.query).inputs
    free_messages(s, slot)
    job.next = free_slots_of(s)[job.query]
    free_slots_of(s)[job.query] = slot
    if measured:
        c.unmeasured -= 1
        return bool(c.unmeasured == 0)
    return False


def note_flow(s: State, slot: int, place: int, now: float) -> None:
    """Count a complete job for the next round; its tasks ran where the one at ``place`` did."""
    job = jobs_at(s, slot)
    k = executor_class_of(s)[tasks_at(s, place).executor]
    service_s = 0.0
    for t in range(queries_at(s, job.query).tasks):
        task = tasks_at(s, job.base + t)
        service_s += task.end_s - task.start_s
    flow_completed_of(s)[job.query, k] += 1
    flow_service_s_of(s)[job.query, k] += service_s
    flow_response_s_of(s)[job.query] += now - job.arrival_s


def too_long(s: State) -> bool:
    """Whether to stop before the next job, because the cohort takes too long."""
    c = clock_at(s, 0)
    if c.next_number <= c.last:
        return False
    late = c.next_number - c.first - c.jobs
    since_s = feed_s_of(s)[c.feed_at] - c.last_arrival_s
    return bool(late >= c.tail_jobs and (since_s > c.tail_s or late >= c.tail_most))
