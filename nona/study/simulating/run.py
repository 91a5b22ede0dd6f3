"""Run a prepared study: solve its placement, compare it, simulate its schedulers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from nona.errors import PlacementError
from nona.experiments.workers import ProcessPool
from nona.placement.fixed.local_and_spread import local_placement, spread_placement
from nona.placement.result.placement import Placement
from nona.placement.sampled.choose import Improved
from nona.placement.sampled.reported import by_response
from nona.scenario.schema import SimulationSpec
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.experiments.dask_pool import DaskPool, simulation_report
from nona.simulation.experiments.precision import Precision
from nona.simulation.experiments.replications import ReplicationProgress, RunPool
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions
from nona.simulation.sizes import auto_warmup
from nona.simulation.statistics.summary import SchedulerSummary, summarize
from nona.simulation.statistics.warmup import Warmup
from nona.study.cache import StudyCache
from nona.study.placing.place import place_system
from nona.study.placing.progress import PlacingTold, untold
from nona.study.placing.rehearsal import rehearsed
from nona.study.preparation import Study
from nona.study.simulating.bounded import (
    SHORT_JOBS,
    certain_overload,
    short_runs,
    with_stopped_precision,
    with_stopped_warmup,
)
from nona.study.simulating.replicated import Found, Runner, find_warmup, replicate

SimulationProgress = ReplicationProgress


@dataclass(frozen=True, eq=False)
class Comparison:
    """The solved placement, and local and spread, which need no solver."""

    nona: Placement
    local: Placement | None
    spread: Placement | None


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Summaries and records of each scheduler; ``placement`` is ``None`` if none was needed.

    ``warmup`` says how many jobs were left out and why, ``precision`` how far the means came
    (``None`` if the number of replications was given).
    """

    summaries: Mapping[str, SchedulerSummary]
    records: Mapping[str, tuple[Records, ...]]
    placement: Placement | None
    warmup: Warmup
    precision: Precision | None
    seconds: float


def place(
    study: Study,
    solver: str = "parametric",
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
    on_better: Improved = lambda placement: None,
    quick: bool = False,
    on_progress: PlacingTold = untold,
) -> Placement:
    """Choose the placement for the scenario's objective, see :func:`nona.study.placing.place.place_system`.

    With a ``cache`` that the study was prepared with, one that was solved before is taken from there, in
    place of a ``quick`` one too.
    """

    def solved() -> Placement:
        objective = study.scenario.objective
        return place_system(study.system, objective, solver, check, on_better, quick, on_progress)

    if cache is None or not study.key:
        return solved()
    whole = _whole(study, solver)
    return cache.placements.get(
        f"quick {whole}" if quick and whole not in cache.placements else whole, solved
    )


def is_solved(study: Study, solver: str, cache: StudyCache) -> bool:
    """Whether the placement is known from an earlier solve."""
    return bool(study.key) and _whole(study, solver) in cache.placements


def _whole(study: Study, solver: str) -> str:
    return f"{solver} {study.key}"


def compare(study: Study, placement: Placement) -> Comparison:
    """Local and spread for comparison with a placement, all by the response or all by the formula."""
    local, spread = steady_local(study), steady_spread(study)
    if placement.formula is None:
        return Comparison(placement, local, spread)
    return Comparison(
        placement,
        *(
            None if p is None else replace(by_response(study.system, p), origin=p.solver)
            for p in (local, spread)
        ),
    )


def steady_local(study: Study) -> Placement | None:
    """All tasks local; ``None`` if a uniform draw of executors overloads some of them."""
    try:
        return local_placement(study.system)
    except PlacementError:
        return None


def steady_spread(study: Study) -> Placement | None:
    """All tasks spread; ``None`` if that overloads link or executors: no steady state."""
    try:
        spread = spread_placement(study.system)
    except PlacementError:
        return None
    return spread if math.isfinite(spread.objective_s) else None


def predictions(study: Study, placement: Placement | None) -> dict[str, float | None]:
    """Scheduler of the scenario → predicted mean JCT (s), for those with a prediction.

    ``None`` where there is no steady state; ``placement`` is what ``nona`` samples from.
    """
    found: dict[str, float | None] = {}
    names = {s.name for s in study.scenario.schedulers}
    if placement is not None and "nona" in names:
        found["nona"] = placement.prediction.jct_s
    for name, fixed in (("local", local_placement), ("spread", spread_placement)):
        if name in names:
            try:
                jct_s = fixed(study.system).prediction.jct_s
            except PlacementError:  # the executors themselves are overloaded
                jct_s = math.inf
            found[name] = jct_s if math.isfinite(jct_s) else None
    return found


def needs_placement(study: Study) -> bool:
    """Whether a scheduler of the scenario samples from the solved placement."""
    return any(get_scheduler(s.name).needs_placement for s in study.scenario.schedulers)


def simulate(
    study: Study,
    *,
    engine: str = "auto",
    workers: int = 1,
    dask: str | None = None,
    timeline_jobs: int = 0,
    placement: Placement | None = None,
    on_progress: Callable[[SimulationProgress], None] | None = None,
) -> SimulationResult:
    """Run every scheduler of the scenario in every replication, or until its precision is reached.

    A scheduler that is known to be overloaded, and that short runs find so, is not run any longer
    (:mod:`nona.study.simulating.bounded`).

    Parameters
    ----------
    workers
        Processes; results do not depend on it.
    dask
        Address of the scheduler of a Dask cluster that runs them instead, as ``tcp://host:8786``.
    timeline_jobs
        Measured jobs whose task and message intervals are kept.
    placement
        A placement solved before; it is solved here if a scheduler needs one and none is given.
    on_progress
        Called with each :class:`SimulationProgress`; it may raise ``Cancelled``.
    """
    begin = time.perf_counter()
    spec = study.scenario.simulation
    if placement is None and needs_placement(study):
        placement = place(study)
    options = RunOptions(jobs=spec.jobs, engine=engine, timeline_jobs=timeline_jobs)
    with _opened(workers, dask) as pool:  # one for all rounds, so that processes start once
        runner = Runner(study.system, chosen_schedulers(study, placement), workers, pool, on_progress)
        names = [s.name for s, _ in runner.chosen]
        stopped = short_runs(runner, _overloaded(study, placement), options, spec.replications)
        runner = replace(runner, chosen=[(s, p) for s, p in runner.chosen if s.name not in stopped])
        warmup, found, precision = _long_runs(runner, spec, options, stopped)
    records = {name: (found | stopped)[name] for name in names}
    slo_s = [q.slo_s for q in study.system.queries]
    summaries = {name: summarize(runs, slo_s, study.scenario.labels) for name, runs in records.items()}
    return SimulationResult(summaries, records, placement, warmup, precision, time.perf_counter() - begin)


def _long_runs(
    runner: Runner, spec: SimulationSpec, options: RunOptions, stopped: Found
) -> tuple[Warmup, Found, Precision | None]:
    """Warm-up, runs and precision of the schedulers that were not stopped."""
    if not runner.chosen:
        return Warmup("auto", auto_warmup(spec.jobs), {}, ()), {}, None
    warmup = with_stopped_warmup(find_warmup(runner, spec, options), spec.jobs, stopped)
    found, precision = replicate(runner, spec, replace(options, warmup=warmup.jobs))
    return warmup, found, with_stopped_precision(precision, stopped)


def _overloaded(study: Study, placement: Placement | None) -> tuple[str, ...]:
    """The schedulers known to be overloaded, where knowing saves anything."""
    if study.scenario.simulation.jobs <= SHORT_JOBS:
        return ()
    names = [s.name for s in study.scenario.schedulers]
    return certain_overload(study.system, names, predictions(study, placement))


@contextmanager
def _opened(workers: int, dask: str | None) -> Iterator[RunPool | None]:
    """Where the runs run; ``None`` leaves it to the number of workers."""
    if dask:
        yield DaskPool(dask, simulation_report)
    elif workers > 1:
        with ProcessPool(workers) as processes:
            yield processes
    else:
        yield None


def chosen_schedulers(study: Study, placement: Placement | None) -> list[tuple[Scheduler, Prepared]]:
    """The scheduler of every entry of the scenario, with its tables; ``placement`` for those that need it."""
    return [
        rehearsed(study.system, get_scheduler(entry.name), placement, entry.options)
        for entry in study.scenario.schedulers
    ]
