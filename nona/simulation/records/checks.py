"""What every run tests on itself."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.run import Check, MessageInterval, RawRun, TaskInterval
from nona.system import System

Seconds = NDArray[np.float64]
TOLERANCE = 1e-9  # relative; sums of up to millions of terms
# Nanoseconds: below any modelled time, far above rounding at a run's clock times.
CLOCK_S = 1e-9


def run_checks(system: System, raw: RawRun) -> tuple[Check, ...]:
    """All checks of one run."""
    return (
        _conservation(raw),
        _busy_time("executors", raw.executor_busy_s, raw.executor_work_s, raw),
        _busy_time("link", raw.link_busy_s, raw.link_work_s, raw),
        _little(raw),
        _causality(system, raw),
    )


def _conservation(raw: RawRun) -> Check:
    """Completions counted by class, one by one, and as the jobs that have a completion instant."""
    of = raw.collected
    left = of.arrived - of.completed
    counted = of.filled == of.completed == int(raw.class_completed.sum())
    ok = counted and left >= 0 and not of.early
    return Check("conservation", ok, f"{of.arrived} arrived = {of.completed} completed + {left} in flight")


def _busy_time(name: str, busy_s: Seconds, work_s: Seconds, raw: RawRun) -> Check:
    """Of every single resource."""
    worst_s = float(np.max(np.abs(busy_s - work_s)))
    ok = worst_s <= TOLERANCE * max(raw.end_s, 1e-300) + CLOCK_S
    return Check(f"work of {name}", ok, f"busy {busy_s.sum():.6g} s, services done {work_s.sum():.6g} s")


def _little(raw: RawRun) -> Check:
    """∫N dt over the window, counted at every event, against the time each job spent in it.

    The second side is λ·W with its edges cut exactly: Σ |[arrival, completion] ∩ window|.
    """
    total = raw.collected.inside_s
    scale = max(total, raw.jobs_area_s, float(raw.end_s))
    ok = abs(total - raw.jobs_area_s) <= TOLERANCE * scale * 10
    length = raw.collected.window_s[1] - raw.collected.window_s[0]
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
    arrived_s = dict(zip(raw.collected.traced.tolist(), raw.collected.traced_arrival_s.tolist(), strict=True))
    messages = {j: list(m) for j, m in groupby(raw.traced_messages, key=lambda m: m.job)}
    for job, tasks in groupby(raw.traced_tasks, key=lambda t: t.job):
        intervals = {t.task: t for t in tasks}
        seen += 1
        wrong += not _is_causal(system, intervals, messages.get(job, []), arrived_s[job], raw.end_s)
    return Check("causality", wrong == 0, f"{seen} sampled jobs, {wrong} with an effect before its cause")


def _is_causal(
    system: System,
    tasks: dict[int, TaskInterval],
    messages: list[MessageInterval],
    arrival_s: float,
    run_s: float,
) -> bool:
    slack = TOLERANCE * run_s
    for t in tasks.values():
        if not arrival_s <= t.ready_s <= t.start_s <= t.end_s:
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
