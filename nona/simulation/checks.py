"""What every run tests on itself."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records import Check, MessageInterval, RawRun, TaskInterval
from nona.system import System

Seconds = NDArray[np.float64]
TOLERANCE = 1e-9  # relative; sums of up to millions of terms
# Nanoseconds: below any modelled time, far above rounding at a run's clock times.
CLOCK_S = 1e-9


def run_checks(system: System, raw: RawRun, jobs: int) -> tuple[Check, ...]:
    """All checks of one run."""
    return (
        _conservation(raw),
        _busy_time("executors", raw.executor_busy_s, raw.executor_work_s, raw),
        _busy_time("link", raw.link_busy_s, raw.link_work_s, raw),
        _little(raw, jobs),
        _causality(system, raw),
    )


def _conservation(raw: RawRun) -> Check:
    """Completions counted one by one against the jobs that have a completion time."""
    arrived, done = len(raw.arrival_s), int(np.count_nonzero(~np.isnan(raw.completion_s)))
    left = arrived - raw.completed
    ok = done == raw.completed and left >= 0 and not (raw.completion_s < raw.arrival_s).any()
    return Check("conservation", ok, f"{arrived} arrived = {raw.completed} completed + {left} in flight")


def _busy_time(name: str, busy_s: Seconds, work_s: Seconds, raw: RawRun) -> Check:
    """Of every single resource."""
    worst_s = float(np.max(np.abs(busy_s - work_s)))
    ok = worst_s <= TOLERANCE * max(raw.end_s, 1e-300) + CLOCK_S
    return Check(f"work of {name}", ok, f"busy {busy_s.sum():.6g} s, services done {work_s.sum():.6g} s")


def _little(raw: RawRun, jobs: int) -> Check:
    """∫N dt over the window, counted at every event, against the time each job spent in it.

    The second side is λ·W with its edges cut exactly: Σ |[arrival, completion] ∩ window|.
    """
    start = raw.arrival_s[raw.first_measured]
    stop = raw.arrival_s[raw.first_measured + jobs - 1]
    leaves = np.where(np.isnan(raw.completion_s), np.inf, raw.completion_s)
    inside = np.minimum(leaves, stop) - np.maximum(raw.arrival_s, start)
    total = float(np.sum(np.maximum(inside, 0.0)))
    scale = max(total, raw.jobs_area_s, float(raw.end_s))
    ok = abs(total - raw.jobs_area_s) <= TOLERANCE * scale * 10
    length = stop - start
    if length <= 0:
        return Check("Little's law", ok, "the window has no length")
    return Check(
        "Little's law",
        ok,
        f"mean number of jobs {raw.jobs_area_s / length:.6g}, rate × mean time {total / length:.6g}",
    )


def _causality(system: System, raw: RawRun) -> Check:
    """In a sample of jobs: nothing starts before its inputs are there, or ends before it starts."""
    wrong = seen = 0
    messages = {j: list(m) for j, m in groupby(raw.traced_messages, key=lambda m: m.job)}
    for job, tasks in groupby(raw.traced_tasks, key=lambda t: t.job):
        intervals = {t.task: t for t in tasks}
        seen += 1
        wrong += not _is_causal(system, raw, intervals, messages.get(job, []))
    return Check("causality", wrong == 0, f"{seen} sampled jobs, {wrong} with an effect before its cause")


def _is_causal(
    system: System, raw: RawRun, tasks: dict[int, TaskInterval], messages: list[MessageInterval]
) -> bool:
    slack = TOLERANCE * raw.end_s
    for t in tasks.values():
        if not raw.arrival_s[t.job] <= t.ready_s <= t.start_s <= t.end_s:
            return False
    for m in messages:
        if not m.request_s <= m.start_s <= m.end_s <= m.delivered_s:
            return False
    delivered = {(m.tensor, m.destination): m.delivered_s for m in messages}
    query = next(iter(tasks.values())).query
    graph, server = system.queries[query].tasks, system.executor_server
    for source, target, tensor in zip(
        graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_tensor.tolist(), strict=True
    ):
        if target not in tasks:
            continue
        if source not in tasks:
            return False
        before, after = tasks[source], tasks[target]
        there = int(server[after.executor])
        arrives = before.end_s
        if server[before.executor] != there:
            arrives = delivered.get((tensor, there), np.inf)
            alone = system.isolated_s(graph.tensor_bytes[tensor], int(server[before.executor]), there)
            if arrives < before.end_s + alone - slack:
                return False
        if after.ready_s < arrives:
            return False
    return True
