"""Schedulers that bind all tasks of a job at its arrival."""

from __future__ import annotations

from nona.core.compiled.memory import (
    State,
    clock_at,
    executor_class_of,
    executor_server_of,
    jobs_at,
    joins_of,
    out_of,
    outputs_at,
    plan_at,
    queries_at,
    server_stamp_of,
    sources_of,
    tasks_at,
    ticks_of,
    uses_at,
)
from nona.queries.simulation.compiled.events.executors import here, join
from nona.queries.simulation.compiled.events.links import send_on_path, send_once, send_shared
from nona.queries.simulation.compiled.events.loads import load_of, promise, release_task
from nona.queries.simulation.compiled.events.messages import Transfer


def bind_tasks(s: State, slot: int) -> bool:
    """Bind the tasks of a new job as ``out`` says, and start its first ones; false if that cannot be."""
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    tasks = job.left
    for t in range(tasks):
        if out_of(s)[t] < 0 or out_of(s)[t] >= c.executors:
            return False
    for t in range(tasks):
        task = tasks_at(s, job.base + t)
        task.executor = joins_of(s)[task.plan, out_of(s)[t]] if c.pools else out_of(s)[t]
        task.placed = 1
        if c.board:
            ticks = ticks_of(s)[executor_class_of(s)[task.executor], task.plan]
            promise(s, load_of(s, task.executor), ticks)
    query = queries_at(s, job.query)
    now = job.arrival_s
    for i in range(query.first_source, query.first_source + query.sources):
        join(s, job.base + sources_of(s)[i], now)
    return True


def hand_on(s: State, place: int, e: int, now: float) -> None:
    """Send the tensors of the task at ``place``, complete on executor ``e``, to where they are read."""
    task = tasks_at(s, place)
    plan = plan_at(s, task.plan)
    release_task(s, place)
    base = jobs_at(s, task.slot).base
    server = executor_server_of(s)[e]
    for o in range(plan.output, plan.output_end):
        output = outputs_at(s, o)
        if output.use_end - output.use == 1:
            target = base + uses_at(s, output.use).target
            there = executor_server_of(s)[tasks_at(s, target).executor]
            if there == server:
                here(s, target, now)
            else:
                send(s, Transfer(task.slot, output.use, o, server, there, now))
        else:
            _fan_out(s, task.slot, o, server, now)


def _fan_out(s: State, slot: int, o: int, server: int, now: float) -> None:
    """Hand a tensor to its readers: at once on this server, by one message to each other server."""
    c = clock_at(s, 0)
    base = jobs_at(s, slot).base
    output = outputs_at(s, o)
    for u in range(output.use, output.use_end):
        target = base + uses_at(s, u).target
        if executor_server_of(s)[tasks_at(s, target).executor] == server:
            here(s, target, now)
    c.stamp += 1
    stamp = c.stamp
    for u in range(output.use, output.use_end):
        there = executor_server_of(s)[tasks_at(s, base + uses_at(s, u).target).executor]
        if there != server and server_stamp_of(s)[there] != stamp:
            server_stamp_of(s)[there] = stamp
            send(s, Transfer(slot, u, o, server, there, now))


def send(s: State, x: Transfer) -> None:
    """One message to one server, on whatever network there is."""
    c = clock_at(s, 0)
    if c.paths:
        send_on_path(s, x)
    elif c.shared:
        send_shared(s, x)
    else:
        send_once(s, x)
