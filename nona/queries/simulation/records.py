"""Records of a run: times, loads, intervals of a few jobs, checks on itself."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.checks import Check
from nona.queries.simulation.collected import Collected, JobSums
from nona.queries.system import System

State = Literal["stable", "backlogged", "overloaded"]
Decisions = Literal["machine code", "python"]  # what the decision function ran as


@dataclass(frozen=True, slots=True)
class TaskInterval:
    """One run of a task. ``ready_s``: last input arrived, the task joined the executor's queue.

    Where executors batch, it ran in step number ``step`` of its executor, one of ``members``.
    """

    job: int
    query: int
    task: int
    executor: int
    ready_s: float
    start_s: float
    end_s: float
    step: int = 0
    members: int = 1


@dataclass(frozen=True, slots=True)
class MessageInterval:
    """One message: a tensor to a server. Requested, in service from start to end, then latency."""

    job: int
    query: int
    tensor: int
    source: int
    destination: int
    request_s: float
    start_s: float
    end_s: float
    delivered_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Task and message intervals of the first measured jobs, in order of (job, start)."""

    tasks: tuple[TaskInterval, ...]
    messages: tuple[MessageInterval, ...]


@dataclass(frozen=True, eq=False)
class Records:
    """One run of one scheduler in one replication.

    ``scheduler``, ``replication``, ``engine``: which run this is.
    ``jobs``, ``every``: measured jobs; every how manyth is recorded one by one (1: all of them).
    ``query``, ``arrival_s``, ``completion_s`` (M,): of the recorded jobs in order of arrival;
        ``completion_s`` is ``nan`` where unfinished.
    ``parts_s`` (M, 6): what their completion times consist of, in the order of
        :data:`~nona.queries.simulation.collected.PARTS`; ``nan`` where unfinished.
    ``tally``: sums over all measured jobs, recorded or not.
    ``arrived``, ``completed``, ``in_flight``: query jobs of the whole run, warm-up and tail
        included.
    ``window_s``: arrival of the first and of the last measured job.
    ``executor_busy_s`` (E,), link_busy_s : (L,): Busy seconds within the window, background included.
    ``link_names`` (L): ``("link",)`` where there is one link.
    ``utilization_compute``, ``utilization_network``: the same per second: per executor, and of the busiest
        link; ``nan`` for a window of no length.
    ``state``, ``state_reason``: ``overloaded`` when no steady state exists, ``backlogged`` when the window
        ended in a backlog, and why; the reason is empty when stable.
    ``checks``: what the run tested on itself.
    ``timeline``: intervals of the first measured jobs, when asked for.
    ``seconds``: wall-clock time of the run; it, ``engine`` and ``decisions`` may differ between two equal
        runs.
    ``offered``: load offered to the executors and to the most loaded link, over what they can serve.
    ``mean_open``: mean number of jobs in the system over the window: ∫N dt / its length.
    ``batch_sizes`` (Q, B+1): steps of executors by the query class of the first member, a measured job, and
        by the number of members; ``None`` where executors take one task at a time.
    ``loops``: of each query class the users of its closed loop, their pause and the time of a query alone on
        idle executors (seconds); without users (0, 0, 0). Empty where no loop is closed.
    """

    scheduler: str
    replication: int
    engine: str
    decisions: Decisions
    jobs: int
    every: int
    query: Ints
    arrival_s: Floats
    completion_s: Floats
    parts_s: Floats
    tally: JobSums
    arrived: int
    completed: int
    in_flight: int
    window_s: tuple[float, float]
    executor_busy_s: Floats
    link_busy_s: Floats
    link_names: tuple[str, ...]
    utilization_compute: float
    utilization_network: float
    state: State
    state_reason: str
    checks: tuple[Check, ...]
    timeline: Timeline | None
    seconds: float
    offered: tuple[float, float] = (math.nan, math.nan)
    mean_open: float = math.nan
    batch_sizes: Ints | None = None
    loops: tuple[tuple[int, float, float], ...] = ()

    @property
    def completion_time_s(self) -> Floats:
        """(M,) Job completion times: completion − arrival, ``nan`` where unfinished."""
        return self.completion_s - self.arrival_s

    def digest(self) -> str:
        """SHA-256 in hexadecimal of all but who ran it and how long it took, numbers by their bytes."""
        hashed = hashlib.sha256()
        for f in fields(self):
            if f.name not in ("engine", "decisions", "seconds"):
                for piece in pieces(getattr(self, f.name)):
                    hashed.update(len(piece).to_bytes(8, "little") + piece)
        return hashed.hexdigest()


def pieces(value: Any) -> Iterator[bytes]:
    """Yield the content of a record or of one of its fields, as bytes: equal if and only if it is equal."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, tuple):
        yield str(len(value)).encode()
        for item in value:
            yield from pieces(item)
    elif is_dataclass(value):
        for f in fields(value):
            yield from pieces(getattr(value, f.name))
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        yield (plain.hex() if isinstance(plain, float) else repr(plain)).encode()


@dataclass(frozen=True, eq=False)
class RawRun:
    """Result of an engine; everything in :class:`Records` is computed from it.

    ``collected`` holds the jobs. ``open_at`` (21,) counts the jobs in the system just before the
    arrivals of :meth:`~nona.queries.simulation.sizes.RunSize.marks`. ``*_busy_s`` is the length of the busy
    periods, ``*_work_s`` the sum of the services done, both up to ``end_s``: two independent sums.
    ``jobs_area_s`` is ∫N dt over the window, N the jobs in the system. ``class_*`` are sums
    over the completed jobs of each query class: their number, modelled compute seconds on the executors they
    used, and message bytes. ``link_*`` are (L,). ``crossed_bytes`` (classes, L + 1): message bytes requested
    by all jobs of a class that cross each link, and in the last column all of them; ``None`` where all cross
    the one link. ``batch_sizes``: as in :class:`Records`.
    """

    collected: Collected
    open_at: Ints
    end_s: float
    executor_busy_window_s: Floats
    link_busy_window_s: Floats
    executor_busy_s: Floats
    executor_work_s: Floats
    link_busy_s: Floats
    link_work_s: Floats
    jobs_area_s: float
    class_completed: Ints
    class_work_s: Floats
    class_bytes: Floats
    traced_tasks: tuple[TaskInterval, ...]
    traced_messages: tuple[MessageInterval, ...]
    crossed_bytes: Floats | None = None
    decisions: Decisions = "python"
    batch_sizes: Ints | None = None


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
    """Those that left counted by class, one by one, and as the jobs that have an instant of leaving."""
    of, completed = raw.collected, int(raw.class_completed.sum())
    in_flight = of.arrived - of.left
    ok = of.filled == of.left == completed and in_flight >= 0 and not of.early
    detail = f"{of.arrived} arrived = {completed} completed + {in_flight} in flight"
    return Check("conservation", ok, detail)


def _busy_time(name: str, busy_s: Floats, work_s: Floats, raw: RawRun) -> Check:
    """Check the busy time of every single resource."""
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
    graph, server = system.queries[query].tasks, system.instance_server
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
