"""Simulations of a prepared system: replications, comparison, early results that improve.

The queues of a scheduler that is overloaded grow without end, so that a run costs the more the longer it is,
and no mean comes out of it: every scheduler has a short run first, and one that is overloaded in all of its
short runs gets no longer one.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from nona.core.errors import PlacementError
from nona.core.experiments import ProcessPool, do_nothing
from nona.queries.placement.capacity import default_shares, executor_utilization, least_utilization
from nona.queries.placement.result import Placement
from nona.queries.results import PrecisionReport
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.dask_pool import DaskPool, simulation_report
from nona.queries.simulation.records import Records, State
from nona.queries.simulation.replications import (
    OnReplicationProgress,
    OnRunEnd,
    ReplicationProgress,
    RunPool,
    run_replications,
)
from nona.queries.simulation.run import AUTO, RunOptions
from nona.queries.simulation.sizes import auto_warmup
from nona.queries.simulation.steady_state import PILOT_FIRST, PILOT_RUNS, SHORT_FIRST, Warmup, common_warmup
from nona.queries.simulation.summary import SchedulerSummary, run_to_precision, summarize
from nona.queries.system import System
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placements import place, predictions
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.rehearsal import QUICK_ROUNDS, ROUNDS, Chosen, rehearsed
from nona.scenario.schema import SimulationSpec
from nona.scenario.values import NamedSpec

RecordsByScheduler = dict[str, tuple[Records, ...]]


@dataclass(frozen=True, eq=False)
class Runner:
    """Runs replications of the ``chosen`` schedulers, with common workers and progress callback."""

    system: System
    chosen: Sequence[tuple[Scheduler, SchedulerTables]]
    workers: int
    pool: RunPool | None
    on_progress: OnReplicationProgress | None
    on_end: OnRunEnd = do_nothing

    def run(
        self, options: RunOptions, count: int, begin: float = 0.0, end: float = 1.0
    ) -> RecordsByScheduler:
        """``count`` replications; the reported progress is between ``begin`` and ``end``."""
        listener = _scaled_progress(self.on_progress, begin, end)
        return run_replications(
            self.system, self.chosen, options, count, self.workers, listener, self.pool, self.on_end
        )


def _scaled_progress(
    report: OnReplicationProgress | None, begin: float, end: float, first: int = 0
) -> OnReplicationProgress | None:
    """Return a function that reports work from ``begin`` to ``end``; replications count from ``first``."""
    if report is None:
        return None
    share = end - begin
    return lambda p: report(
        replace(p, fraction=begin + share * p.fraction, replication=first + p.replication)
    )


def _find_warmup(runner: Runner, spec: SimulationSpec, options: RunOptions) -> Warmup:
    """Return the warm-up of the scenario: a number, the automatic one, or MSER-5 on whole pilot runs."""
    otherwise = auto_warmup(spec.jobs)
    if spec.warmup != "mser" or not runner.chosen:
        fixed = isinstance(spec.warmup, int)
        return Warmup("fixed" if fixed else "auto", int(spec.warmup) if fixed else otherwise, {}, ())
    pilot = replace(options, jobs=spec.jobs + otherwise, warmup=0, replication=PILOT_FIRST, timeline_jobs=0)
    return common_warmup(runner.run(pilot, PILOT_RUNS, end=_pilot_share(spec)), otherwise)


def _pilot_share(spec: SimulationSpec) -> float:
    """Return the pilot's share of all runs: 0 without one."""
    return PILOT_RUNS / (PILOT_RUNS + spec.replications) if spec.warmup == "mser" else 0.0


def _replicate(
    runner: Runner, spec: SimulationSpec, options: RunOptions
) -> tuple[RecordsByScheduler, PrecisionReport | None]:
    """Return the replications: as many as the scenario says, or until its precision is reached."""
    begin = _pilot_share(spec)
    if spec.precision is None:
        return runner.run(options, spec.replications, begin), None
    most = max(spec.max_replications, spec.replications)

    def more(first: int, count: int) -> RecordsByScheduler:
        part = [begin + (1 - begin) * n / most for n in (first, first + count)]
        return runner.run(replace(options, replication=first), count, *part)

    return run_to_precision(more, spec.precision, spec.replications, most)


SHORT_JOBS = 4000
HOPELESS = 1.05  # load offered over what can be served, from which on no longer run is tried


_BY_LOAD = (
    "The load offered to a class of executors is at least its capacity, so there is no steady state. "
    "This run is too short to show it."
)


def beyond_capacity(system: System, name: str, placement: Placement | None) -> bool:
    """Return whether the shares by which a scheduler draws its executors load a class of them fully.

    That is known of ``local``, ``spread`` and ``nona``, and of every scheduler where no shares would do.
    Users of closed loops wait for their queries, so that they overload nothing: they count as no load.
    """
    loading = system
    if system.closed:
        queries = (replace(q, rate=0.0) if q.users else q for q in system.queries)
        loading = replace(system, queries=tuple(queries))
    if least_utilization(loading) >= 1:
        return True
    if name == "nona" and placement is not None:
        shares = placement.class_shares
    elif name in ("local", "spread"):
        shares = default_shares(system)
    else:
        return False
    background, by_class = executor_utilization(loading, shares)
    return background + max(by_class) >= 1


def judged(runs: tuple[Records, ...], beyond: bool) -> tuple[Records, ...]:
    """Return the runs of a scheduler; none has a steady state where load shows it."""
    if not beyond:
        return runs
    overloaded: State = "overloaded"
    return tuple(
        r if r.state == overloaded else replace(r, state=overloaded, state_reason=_BY_LOAD) for r in runs
    )


def _short_runs(
    runner: Runner, certain: Sequence[str], options: RunOptions, count: int, share: float
) -> RecordsByScheduler:
    """Short runs of schedulers that are overloaded in all of them, as many as asked for.

    Those that are not ``certain`` to be overloaded have one, and no more unless it offers clearly more than
    can be served: queues that grow by chance do not stop them. Each says why it was not run longer. They
    are the ``share`` of all work.
    """
    if options.jobs <= SHORT_JOBS:
        return {}
    short = replace(options, jobs=SHORT_JOBS, warmup=None)
    runner = replace(runner, on_progress=_scaled_progress(runner.on_progress, 0.0, 1.0, SHORT_FIRST))
    short_runs = runner.run(short, 1, 0.0, share)
    left = {name for name, runs in short_runs.items() if _is_hopeless(runs[0], name in certain)}
    if left and count > 1:
        again = replace(runner, chosen=[(s, p) for s, p in runner.chosen if s.name in left])
        more = again.run(replace(short, replication=1), count - 1, share, share)
        short_runs |= {name: (*short_runs[name], *runs) for name, runs in more.items()}
    why = (
        f"Stopped after {SHORT_JOBS:,} of {options.jobs:,} jobs: there is no steady state, and more jobs "
        "would only lengthen the queues."
    )
    return {
        name: tuple(replace(r, state_reason=f"{r.state_reason} {why}") for r in runs)
        for name, runs in short_runs.items()
        if name in left and all(_is_hopeless(r, name in certain) for r in runs)
    }


def _is_hopeless(run: Records, certain: bool) -> bool:
    return run.state == "overloaded" and (certain or max(run.offered) >= HOPELESS)


def _with_stopped_warmup(warmup: Warmup, jobs: int, stopped: RecordsByScheduler) -> Warmup:
    """Return the warm-up that pilot runs of the ``stopped`` schedulers, which have no cut, would give."""
    if not stopped or warmup.rule != "mser":
        return warmup
    return replace(warmup, jobs=max(warmup.jobs, auto_warmup(jobs)))


def _with_stopped_precision(
    precision: PrecisionReport | None, stopped: RecordsByScheduler
) -> PrecisionReport | None:
    """Return the precision with the ``stopped`` schedulers among the overloaded ones, which have none."""
    if precision is None or not stopped:
        return precision
    relative = {**precision.relative_half_width, **dict.fromkeys(stopped)}
    return PrecisionReport.from_fields(
        precision, relative_half_width=relative, overloaded=(*precision.overloaded, *stopped)
    )


SimulationProgress = ReplicationProgress


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
    precision: PrecisionReport | None
    seconds: float


def simulate(
    prepared: PreparedSystem,
    *,
    engine: str = AUTO,
    workers: int = 1,
    dask: str | None = None,
    timeline_jobs: int = 0,
    placement: Placement | Callable[[], Placement] | None = None,
    on_progress: Callable[[SimulationProgress], None] | None = None,
    on_ended: Callable[[Callable[[], SimulationResult]], None] = do_nothing,
    cache: PreparationCache | None = None,
) -> SimulationResult:
    """Run every scheduler of the scenario in every replication, or until its precision is reached.

    A scheduler that short runs find to be overloaded is not run any longer
    (:mod:`nona.queries.workflows.simulation`).

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    engine : str, default ``auto``
        ``compiled``, ``simpy``, or ``auto``, which chooses.
    workers : int, default 1
        Processes; results do not depend on their number.
    dask : str, optional
        Address of the scheduler of a Dask cluster that runs the replications, as ``tcp://host:8786``.
    timeline_jobs : int, default 0
        Measured jobs whose task and message intervals are kept.
    placement : Placement or callable, optional
        A placement, or a function that solves it if a scheduler needs one; by default :func:`place`.
    on_progress : callable, optional
        Gets each :class:`SimulationProgress`; it may raise ``Cancelled``.
    on_ended : callable, optional
        Called after each run with a function that returns the result so far.
    cache : PreparationCache, optional
        The cache with which ``prepared`` was made.

    Returns
    -------
    SimulationResult
        Summary and records of each scheduler, in seconds and bytes.

    Raises
    ------
    PlacementError
        If a scheduler needs a placement and there is none.
    """
    begin = time.perf_counter()
    spec, solved = prepared.scenario.simulation, placement if isinstance(placement, Placement) else None
    if engine == AUTO and "numba" not in sys.modules and _few_jobs(prepared):
        engine = "simpy"
    options = RunOptions(jobs=spec.jobs, engine=engine, timeline_jobs=timeline_jobs)
    names = [s.name for s in prepared.schedulers]
    if solved is None and any(get_scheduler(name).needs_placement for name in names):
        solved = placement() if callable(placement) else place(prepared)
    predicted = predictions(prepared, solved)
    overloaded = {n for n in names if beyond_capacity(prepared.system, n, solved)}
    certain = [n for n in names if n in overloaded or not _is_steady(predicted.get(n, 0.0))]

    def result(
        runs: RecordsByScheduler, warmup: Warmup, precision: PrecisionReport | None = None
    ) -> SimulationResult:
        ordered = {
            s.name: judged(runs[s.name], s.name in overloaded) for s in prepared.schedulers if s.name in runs
        }
        slo_s = [q.slo_s for q in prepared.system.queries]
        summaries = {name: summarize(r, slo_s, prepared.scenario.labels) for name, r in ordered.items()}
        return SimulationResult(summaries, ordered, solved, warmup, precision, time.perf_counter() - begin)

    def report_ended(records: RecordsByScheduler, warmup: Warmup) -> None:
        on_ended(lambda: result(records, warmup))

    with _opened(workers, dask) as pool:  # one for all rounds, so that processes start once
        chosen = chosen_schedulers(prepared, solved, cache=cache)
        runner = Runner(prepared.system, chosen, workers, pool, on_progress)
        warmup, records, precision = _runs(runner, spec, options, certain, report_ended)
    return result(records, warmup, precision)


def _is_steady(predicted_s: float | None) -> bool:
    return predicted_s is not None and math.isfinite(predicted_s)


_FEW_TASKS = 30_000


def _few_jobs(prepared: PreparedSystem) -> bool:
    """Return whether SimPy ends before the compiled engine's machine code is loaded (half a second)."""
    spec = prepared.scenario.simulation
    runs = max(spec.replications, spec.max_replications if spec.precision else 0)
    runs += PILOT_RUNS if spec.warmup == "mser" else 0
    warmup = spec.warmup if isinstance(spec.warmup, int) else auto_warmup(spec.jobs)
    tasks = max(q.tasks.compute_s.shape[1] for q in prepared.system.queries)
    return len(prepared.schedulers) * runs * (spec.jobs + warmup) * int(tasks) <= _FEW_TASKS


def _runs(
    runner: Runner,
    spec: SimulationSpec,
    options: RunOptions,
    certain: Sequence[str],
    take: Callable[[RecordsByScheduler, Warmup], None],
) -> tuple[Warmup, RecordsByScheduler, PrecisionReport | None]:
    """Warm-up, runs and precision: short runs first, then whole ones of the schedulers that stand them."""
    share = SHORT_JOBS / (SHORT_JOBS + spec.jobs * spec.replications) if spec.jobs > SHORT_JOBS else 0.0
    stopped = _short_runs(runner, certain, options, spec.replications, share)
    chosen = [(s, p) for s, p in runner.chosen if s.name not in stopped]
    runner = replace(runner, chosen=chosen, on_progress=_scaled_progress(runner.on_progress, share, 1.0))
    warmup = _with_stopped_warmup(_find_warmup(runner, spec, options), spec.jobs, stopped)
    if stopped:
        take(stopped, warmup)
    if not runner.chosen:
        return warmup, stopped, None
    ended: dict[str, dict[int, Records]] = {s.name: {} for s, _ in runner.chosen}

    def end(scheduler: str, run: Records) -> None:
        ended[scheduler][run.replication] = run
        first_ones = {name: _without_gap(runs) for name, runs in ended.items()}
        take(stopped | {name: runs for name, runs in first_ones.items() if runs}, warmup)

    runner = replace(runner, on_end=end)
    whole_runs, precision = _replicate(runner, spec, replace(options, warmup=warmup.jobs))
    return warmup, stopped | whole_runs, _with_stopped_precision(precision, stopped)


def _without_gap(runs: Mapping[int, Records]) -> tuple[Records, ...]:
    """Return the runs from replication 0 up to the first that has not ended."""
    return tuple(runs[n] for n in itertools.takewhile(runs.__contains__, range(len(runs))))


@contextmanager
def _opened(workers: int, dask: str | None) -> Iterator[RunPool | None]:
    if dask:
        yield DaskPool(dask, simulation_report)
    elif workers > 1:
        with ProcessPool(workers) as processes:
            yield processes
    else:
        yield None


def chosen_schedulers(
    prepared: PreparedSystem,
    placement: Placement | None,
    names: Collection[str] | None = None,
    cache: PreparationCache | None = None,
    check: Callable[[], None] = do_nothing,
    rounds: int = ROUNDS,
) -> list[Chosen]:
    """Return the schedulers of the scenario with their tables; some choose their tables by rehearsal.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    placement : Placement or None
        For schedulers that sample from a placement.
    names : collection of str, optional
        The schedulers to return; by default all of the scenario.
    cache : PreparationCache, optional
        The cache with which ``prepared`` was made; it keeps the results of rehearsals.
    check : callable, optional
        Called now and then; an exception that it raises (``Cancelled``) ends the work.
    rounds : int, optional
        The number of rounds of a rehearsal.

    Returns
    -------
    list of Chosen
        In the scenario's order.
    """

    def chosen(entry: NamedSpec) -> Chosen:
        scheduler = get_scheduler(entry.name)

        def rehearse() -> Chosen:
            return rehearsed(prepared.system, scheduler, placement, entry.options, check, rounds)

        if cache is None or not prepared.key or not scheduler.rehearsals:
            return rehearse()
        options = json.dumps(dict(entry.options), sort_keys=True)
        key = f"{prepared.key} {prepared.scenario.seed} {entry.name} {options} {rounds}"
        return cache.rehearsed(key, placement, rehearse)

    return [chosen(entry) for entry in prepared.schedulers if names is None or entry.name in names]


@dataclass(frozen=True, eq=False)
class EarlyAnswer:
    """The results after ``replications`` replications of every scheduler.

    ``failed`` names the schedulers that cannot run, and why: they sample from a placement, and there
    is none. ``placement`` is ``None`` then, and where no scheduler needs one. ``records`` are the runs.
    """

    summaries: Mapping[str, SchedulerSummary]
    replications: int
    placement: Placement | None
    failed: Mapping[str, str]
    seconds: float
    records: Mapping[str, tuple[Records, ...]] = field(default_factory=dict)


def answers(
    prepared: PreparedSystem,
    *,
    engine: str = "auto",
    jobs: int | None = None,
    replications: int | None = None,
    cache: PreparationCache | None = None,
    check: Callable[[], None] = do_nothing,
) -> Iterator[EarlyAnswer]:
    """Simulate all schedulers of the scenario, one replication after the other, in this process.

    The replications are those of :func:`nona.queries.workflows.simulation.simulate` with as many ``jobs``; a
    scheduler that is rehearsed before a simulation is rehearsed with fewer runs. Schedulers that
    need no placement go first, so that they have their turn before it is solved.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    engine : str, default ``auto``
        ``compiled``, ``simpy``, or ``auto``, which chooses.
    jobs : int, optional
        Measured jobs per replication; by default the scenario's. With fewer jobs the warm-up is automatic, as
        in a scenario whose warm-up comes from pilot runs: an early answer does not wait for these.
    replications : int, optional
        By default the scenario's number.
    cache : PreparationCache, optional
        The cache with which ``prepared`` was made.
    check : callable, optional
        Called now and then; an exception that it raises (``Cancelled``) ends the work.

    Yields
    ------
    EarlyAnswer
        The results after each replication.
    """
    begin = time.perf_counter()
    options, count = (
        _options(prepared, engine, jobs),
        replications or prepared.scenario.simulation.replications,
    )
    names = [entry.name for entry in prepared.schedulers]
    late = [name for name in names if get_scheduler(name).needs_placement]
    early = [name for name in names if name not in late]
    chosen = chosen_schedulers(prepared, None, early, cache, check, QUICK_ROUNDS)
    runs = _run(prepared, chosen, options, check)
    placement, failed = None, {}
    if late:
        check()
        try:
            placement = place(prepared, cache=cache, quick=True)
        except PlacementError as error:
            failed = dict.fromkeys(late, str(error))
        else:
            more = chosen_schedulers(prepared, placement, late, cache, check, QUICK_ROUNDS)
            runs |= _run(prepared, more, options, check)
            chosen += more
    for done in range(1, count + 1):
        if done > 1:
            again = _run(prepared, chosen, replace(options, replication=done - 1), check)
            runs = {name: (*records, *again[name]) for name, records in runs.items()}
        summaries = _summaries(prepared, names, runs)
        yield EarlyAnswer(summaries, done, placement, failed, time.perf_counter() - begin, runs)


def _options(prepared: PreparedSystem, engine: str, jobs: int | None) -> RunOptions:
    spec = prepared.scenario.simulation
    whole = jobs is None or jobs >= spec.jobs
    warmup = spec.warmup if isinstance(spec.warmup, int) and whole else None
    return RunOptions(jobs=spec.jobs if jobs is None else jobs, warmup=warmup, engine=engine)


def _run(
    prepared: PreparedSystem, chosen: Sequence[Chosen], options: RunOptions, check: Callable[[], None]
) -> dict[str, tuple[Records, ...]]:
    def on_progress(progress: ReplicationProgress) -> None:
        check()

    if not chosen:
        return {}
    return run_replications(prepared.system, chosen, options, 1, 1, on_progress)


def _summaries(
    prepared: PreparedSystem, names: Sequence[str], runs: Mapping[str, Sequence[Records]]
) -> dict[str, SchedulerSummary]:
    slo_s = [q.slo_s for q in prepared.system.queries]
    return {n: summarize(runs[n], slo_s, prepared.scenario.labels) for n in names if n in runs}
