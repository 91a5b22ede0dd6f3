"""The central list of ready tasks, for schedulers that pick."""

from __future__ import annotations

from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    clock_at,
    jobs_at,
    ready_base_of,
    ready_batch_first_of,
    ready_batch_size_of,
    ready_draw_of,
    ready_home_of,
    ready_job_of,
    ready_query_of,
    ready_running_of,
    ready_since_s_of,
    ready_slot_of,
    ready_task_of,
)


def append(s: State, slot: int, task: int, home: int, now: float) -> None:
    """Task ``task`` of the job in ``slot`` has become ready; its last predecessor ran on ``home``."""
    c = clock_at(s, 0)
    job = jobs_at(s, slot)
    n = c.ready
    ready_job_of(s)[n] = job.number
    ready_query_of(s)[n] = job.query
    ready_task_of(s)[n] = task
    ready_running_of(s)[n] = job.running
    ready_home_of(s)[n] = home
    ready_since_s_of(s)[n] = now
    ready_slot_of(s)[n] = slot
    ready_batch_first_of(s)[n] = task
    ready_batch_size_of(s)[n] = 1
    ready_draw_of(s)[n] = job.draw
    ready_base_of(s)[n] = job.base
    c.ready = n + 1


def close_batch(s: State, size: int) -> None:
    """The last ``size`` entries have become ready together."""
    n = clock_at(s, 0).ready
    for i in range(n - size, n):
        ready_batch_first_of(s)[i] = ready_task_of(s)[n - size]
        ready_batch_size_of(s)[i] = size


def remove(s: State, place: int) -> None:
    """Take an entry out of the list."""
    c = clock_at(s, 0)
    c.ready -= 1
    for i in range(place, c.ready):
        ready_job_of(s)[i] = ready_job_of(s)[i + 1]
        ready_query_of(s)[i] = ready_query_of(s)[i + 1]
        ready_task_of(s)[i] = ready_task_of(s)[i + 1]
        ready_running_of(s)[i] = ready_running_of(s)[i + 1]
        ready_home_of(s)[i] = ready_home_of(s)[i + 1]
        ready_since_s_of(s)[i] = ready_since_s_of(s)[i + 1]
        ready_slot_of(s)[i] = ready_slot_of(s)[i + 1]
        ready_batch_first_of(s)[i] = ready_batch_first_of(s)[i + 1]
        ready_batch_size_of(s)[i] = ready_batch_size_of(s)[i + 1]
        ready_draw_of(s)[i] = ready_draw_of(s)[i + 1]
        ready_base_of(s)[i] = ready_base_of(s)[i + 1]


def running_changed(s: State, slot: int, change: int) -> None:
    """The job in ``slot`` holds more or fewer executors than before."""
    job = jobs_at(s, slot)
    job.running += change
    for i in range(clock_at(s, 0).ready):
        if ready_slot_of(s)[i] == slot:
            ready_running_of(s)[i] = job.running
