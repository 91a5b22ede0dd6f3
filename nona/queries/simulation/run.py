"""Run a simulation: its options, its engine, one run, its records.

All give the same records, bit for bit. ``compiled`` is the quick one; ``simpy`` is the one to read.
``auto`` is the compiled engine when its machine code lies ready on disk; until then SimPy answers,
and a process in the background compiles.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.compiled.build import is_ready
from nona.core.compiled.families import prepare_in_background
from nona.core.errors import SimulationError
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.simulation.collected import OnProgress
from nona.queries.simulation.records import RawRun, Records, State, Timeline, run_checks
from nona.queries.simulation.sizes import MOST_CYCLE_JOBS, TAIL_WORK, RunSize, auto_warmup, largest_job_s
from nona.queries.simulation.steady_state import jobs_of_cycle, judge, of_queries, offered_load
from nona.queries.simulation.workload import Workload
from nona.queries.system import System

AUTO = "auto"
Engine = Callable[[System, Scheduler, SchedulerTables, RunSize, OnProgress | None, Workload | None], RawRun]


def _simpy(
    system: System,
    scheduler: Scheduler,
    prepared: SchedulerTables,
    size: RunSize,
    on_progress: OnProgress | None,
    _: Workload | None,
) -> RawRun:
    from nona.queries.simulation.reference.engine import SimPyRun

    return SimPyRun(system, scheduler, prepared, size, on_progress).run()


def _compiled(
    system: System,
    scheduler: Scheduler,
    prepared: SchedulerTables,
    size: RunSize,
    on_progress: OnProgress | None,
    workload: Workload | None,
) -> RawRun:
    from nona.queries.simulation.compiled.engine import CompiledRun  # Numba takes most of a second to import

    return CompiledRun(system, scheduler, prepared, size, on_progress, workload).run()


ENGINES: Mapping[str, Engine] = {"compiled": _compiled, "simpy": _simpy}


def engine_named(name: str) -> str:
    """Return the engine that runs when ``name`` is asked for: itself, or for ``auto`` what is ready.

    Raises ``SimulationError`` for an unknown name.
    """
    if name in ENGINES:
        return name
    if name != AUTO:
        raise SimulationError(
            f"Engine {name!r} is not known; choose one of {', '.join((AUTO, *sorted(ENGINES)))}."
        )
    if is_ready():
        return "compiled"
    prepare_in_background("queries")
    return "simpy"


class Cancelled(Exception):  # noqa: N818  (not an error of the input: the run was ended)
    """Raised from a progress callback to stop the run; it comes out of :func:`simulate_run`."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Size and manner of one run.

    ``jobs``: measured jobs, all query classes together.
    ``record_jobs``: at most so many of them are recorded one by one, evenly spread; sums cover all.
    ``warmup``: jobs before them; ``None``: a fifth of ``jobs``, at least min(1000, ``jobs``).
    ``replication``: number of the replication; it selects the random streams.
    ``engine``: a name in :data:`~nona.queries.simulation.run.ENGINES`, or ``auto``: what is ready.
    ``timeline_jobs``: measured jobs whose intervals are kept.
    ``tail_jobs``: jobs that arrive after the measured ones until the run is cut off; ``None``: as many as can
        tell an overloaded system from one that is slow, which costs a multiple of the run.
    ``run_on``: whether a ready task of the same job runs before the queue of its executor.
    """

    jobs: int = 20_000
    warmup: int | None = None
    replication: int = 0
    engine: str = AUTO
    timeline_jobs: int = 0
    run_on: bool = True
    record_jobs: int = 1_000_000
    tail_jobs: int | None = None

    def __post_init__(self) -> None:
        lowest = {
            "jobs": 1,
            "warmup": 0,
            "replication": 0,
            "timeline_jobs": 0,
            "record_jobs": 1,
            "tail_jobs": 0,
        }
        for name, least in lowest.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SimulationError(f"Run: {name}={value} must be at least {least}; give a larger number.")


def simulate_run(
    system: System,
    scheduler: Scheduler,
    prepared: SchedulerTables,
    options: RunOptions = RunOptions(),
    on_progress: OnProgress | None = None,
) -> Records:
    """Simulate one scheduler in one replication.

    ``prepared``: ``scheduler.prepare(system, placement, options)``. ``on_progress``: called about every 200th
    of the run; :class:`Cancelled` raised there stops it.

    Raises ``SimulationError`` for an unknown engine, a workload that cannot run, or a decision that is not
    allowed.
    """
    engine = engine_named(options.engine)
    if scheduler.kind not in ("bind", "pick", "allocate"):
        raise SimulationError(
            f"Scheduler {scheduler.name!r}: kind {scheduler.kind!r} cannot run here; "
            "choose a scheduler that binds, picks or allocates."
        )
    if system.pools and scheduler.picks:
        raise SimulationError(
            f"Scheduler {scheduler.name!r}: it picks tasks for free executors, but instances take tasks from "
            "queues; choose a scheduler that binds, or remove instances, stages and queue."
        )
    size = _size(system, options)
    begin = time.perf_counter()
    raw = ENGINES[engine](system, scheduler, prepared, size, on_progress, None)
    return _records(system, scheduler.name, replace(options, engine=engine), raw, time.perf_counter() - begin)


class RunTimes(NamedTuple):
    """Class (N,) and completion time (N,) in seconds of each measured job, in order of arrival.

    The time of a job that was not completed is ``nan``. ``state`` is that of the run.
    """

    query: Ints
    times_s: Floats
    state: State

    @property
    def steady(self) -> bool:
        """Whether the run had a steady state, and completed all jobs."""
        return self.state != "overloaded" and not bool(np.isnan(self.times_s).any())


def job_times(
    system: System,
    scheduler: Scheduler,
    prepared: SchedulerTables,
    options: RunOptions,
    workload: Workload | None = None,
) -> RunTimes:
    """Simulate, and return only the times of the measured jobs.

    The run does not check itself, which for short runs takes longer than the run. ``workload``: what the
    replication draws, where several runs share it; the other parameters are those of :func:`simulate_run`.
    """
    size = replace(_size(system, options), sampled_jobs=0)
    raw = ENGINES[engine_named(options.engine)](system, scheduler, prepared, size, None, workload)
    of = raw.collected
    return RunTimes(of.query, of.completion_s - of.arrival_s, judge(system, raw)[0])


def _size(system: System, options: RunOptions) -> RunSize:
    first = auto_warmup(options.jobs) if options.warmup is None else options.warmup
    # what a burst leaves behind is worked off in the rest of its cycle
    tail_jobs = first + options.jobs + 1000 + min(jobs_of_cycle(of_queries(system)), MOST_CYCLE_JOBS)
    return RunSize(
        first=first,
        jobs=options.jobs,
        replication=options.replication,
        run_on=options.run_on,
        timeline_jobs=options.timeline_jobs,
        tail_jobs=tail_jobs if options.tail_jobs is None else options.tail_jobs,
        tail_s=TAIL_WORK * largest_job_s(system) if options.tail_jobs is None else 0.0,
        record_jobs=options.record_jobs,
    )


def _records(system: System, name: str, options: RunOptions, raw: RawRun, seconds: float) -> Records:
    of = raw.collected
    length = of.window_s[1] - of.window_s[0]
    state, reason = judge(system, raw)
    executors, links = offered_load(system, raw)
    return Records(
        scheduler=name,
        replication=options.replication,
        engine=options.engine,
        decisions=raw.decisions,
        jobs=of.jobs,
        every=of.every,
        query=of.query,
        arrival_s=of.arrival_s,
        completion_s=of.completion_s,
        parts_s=of.parts_s,
        tally=of.tally,
        arrived=of.arrived,
        completed=int(raw.class_completed.sum()),
        in_flight=of.arrived - of.left,
        window_s=of.window_s,
        executor_busy_s=raw.executor_busy_window_s,
        link_busy_s=raw.link_busy_window_s,
        link_names=system.link_names,
        utilization_compute=float(raw.executor_busy_window_s.mean()) / length if length > 0 else math.nan,
        utilization_network=float(raw.link_busy_window_s.max()) / length if length > 0 else math.nan,
        state=state,
        state_reason=reason,
        checks=run_checks(system, raw),
        timeline=_timeline(raw, options) if options.timeline_jobs else None,
        seconds=seconds,
        offered=(executors, float(links.max())),
        mean_open=raw.jobs_area_s / length if length > 0 else math.nan,
        batch_sizes=raw.batch_sizes,
        loops=_loops(system),
    )


def _loops(system: System) -> tuple[tuple[int, float, float], ...]:
    if not system.closed:
        return ()
    return tuple((q.users, q.think_s, q.alone_s) if q.users else (0, 0.0, 0.0) for q in system.queries)


def _timeline(raw: RawRun, options: RunOptions) -> Timeline:
    end = raw.collected.first + options.timeline_jobs
    return Timeline(
        tuple(t for t in raw.traced_tasks if t.job < end),
        tuple(m for m in raw.traced_messages if m.job < end),
    )
