"""A simulation with its files, quick answers, and sweeps, reported point after point."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nona.app.tasks.context import JobContext, PlacingReporter, prepared_of, processes, request_of, sources_of
from nona.core.compiled.build import is_ready
from nona.core.compiled.families import compiling
from nona.core.document import Document
from nona.core.errors import JobError
from nona.core.units import duration
from nona.queries.chart_data import LiveRun
from nona.queries.placement.result import Placement
from nona.queries.report.live import LiveSeries
from nona.queries.report.report import SimulatedRun, simulation_report
from nona.queries.results import QuickAnswer
from nona.queries.simulation.run import AUTO, engine_named
from nona.queries.simulation.steady_state import PILOT_FIRST, SHORT_FIRST, run_name
from nona.queries.sweeps.results import GridOutcome, GridRequest, SweepOutcome, SweepRequest
from nona.queries.sweeps.run import sweep, sweep_grid
from nona.queries.sweeps.sweep_points import SweepRunOptions
from nona.queries.workflows import placements, simulation
from nona.queries.workflows.exports import write_simulation
from nona.queries.workflows.facts import provenance_of
from nona.queries.workflows.outcome import TIMELINE_JOBS, simulated_run, simulation_outcome
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.shipped import now_text

REPORT_EVERY_S = 0.12
FIRST_AFTER_S, PART = 2.0, 20  # results so far are written then, and a 20th of the time that follows
# Below so many jobs in all, a process of its own takes longer to start than it saves.
FEW_JOBS = {"compiled": 1_000_000, "simpy": 60_000}


def slow_text() -> str:
    """Say why runs are slow, after what runs; empty once the fast engine takes over with the next one."""
    if is_ready():
        return ""
    family, seconds = compiling() or ("", 0.0)
    so_far = f", begun {duration(max(1.0, seconds))} ago" if family == "queries" else ""
    return f"; slow, while the fast engine is compiled for this machine, once{so_far}"


class _ProgressReporter:
    """Reports progress now and then; ``live`` is that of a :class:`~nona.queries.chart_data.LiveRun`."""

    def __init__(self, prepared: PreparedSystem, context: JobContext) -> None:
        scenario, self._context, self._last = prepared.scenario, context, 0.0
        spec = scenario.simulation
        names = [s.name for s in prepared.schedulers]
        pairs = zip(scenario.labels, prepared.system.queries, strict=True)
        self._start = LiveRun(
            slo=tuple((label, q.slo_s) for label, q in pairs if q.slo_s is not None),
            schedulers=tuple(names),
            of=spec.jobs * spec.replications * len(names) if spec.precision is None else None,
        )
        self._links = prepared.system.link_names
        self._series = LiveSeries([q.slo_s for q in prepared.system.queries])

    def on_progress(self, progress: simulation.SimulationProgress) -> None:
        self._context.check()
        if not PILOT_FIRST <= progress.replication < SHORT_FIRST:
            self._series.add(progress.scheduler, progress.replication, progress.run)
        if time.monotonic() - self._last >= REPORT_EVERY_S:
            self._last = time.monotonic()
            now = f"{progress.scheduler}, {run_name(progress.replication)}"
            text = f"{now}{slow_text()}"
            self._context.emit(
                {"fraction": progress.fraction, "text": text, "live": self.live_run(now).to_json()}
            )

    def live_run(self, now: str) -> LiveRun:
        loads = self._series.loads(self._links)
        news = {"series": self._series.snapshot(), "jobs": self._series.jobs, "now": now, "loads": loads}
        return self._start.model_copy(update=news)


def simulate_scenario(spec: Mapping[str, Any], context: JobContext) -> SimulatedRun:
    """Run the schedulers, solve the placement when the first one needs it, leave the files of the run.

    The result is that of a :class:`~nona.queries.report.report.SimulatedRun`; what has ended by then is
    reported now and then, for a run that is cancelled.
    """
    prepared, folder = prepared_of(spec, context), Path(spec["folder"])
    watch = _ProgressReporter(prepared, context)

    def placed() -> Placement:
        step = PlacingReporter(context, 0.0, 1.0, "The placement: ")
        placement = placements.place(
            prepared, cache=context.cache, check=context.check, on_progress=step.on_progress
        )
        context.emit({"phase": "", "fraction": 0.0, "text": "Preparing the schedulers", "open": False})
        return placement

    def written(result: simulation.SimulationResult) -> SimulatedRun:
        outcome = simulation_outcome(prepared, result, now_text())
        folder.mkdir(parents=True, exist_ok=True)  # a cleaner of temporary folders may have been here
        write_simulation(folder, prepared, result, outcome)
        return simulated_run(prepared, result, outcome, watch.live_run(""))

    result = simulation.simulate(
        prepared,
        workers=_processes(prepared),
        timeline_jobs=TIMELINE_JOBS,
        placement=placed,
        on_progress=watch.on_progress,
        on_ended=_PartialReporter(written, context).on_ended,
        cache=context.cache,
    )
    context.emit({"fraction": 1.0, "text": "Writing the results", "live": watch.live_run("").to_json()})
    return written(result)


class _PartialReporter:
    """Reports what a run that is cancelled leaves, while that takes a small part of the time."""

    def __init__(
        self, written: Callable[[simulation.SimulationResult], SimulatedRun], context: JobContext
    ) -> None:
        self._written, self._context = written, context
        self._next = time.monotonic() + FIRST_AFTER_S

    def on_ended(self, so_far: Callable[[], simulation.SimulationResult]) -> None:
        begin = time.monotonic()
        if begin < self._next:
            return
        self._context.emit({"best": self._written(so_far()).to_json()})
        end = time.monotonic()
        self._next = end + (end - begin) * PART


def _processes(prepared: PreparedSystem) -> int:
    """Return processes for a simulation: one, this one, where others would only cost their start."""
    spec = prepared.scenario.simulation
    jobs = spec.jobs * spec.replications * len(prepared.schedulers)
    return processes(jobs, FEW_JOBS.get(engine_named(AUTO), 0))


JOBS = {"compiled": 3000}
SLOW_JOBS = 400  # of an engine that answers while the compiled one is being prepared
REPLICATIONS = 8


def answer(spec: Mapping[str, Any], context: JobContext) -> QuickAnswer:
    """Report all schedulers' figures after every replication; the last ones are the result.

    The job's ``live``, as its result, is that of a :class:`~nona.queries.results.QuickAnswer`.
    """
    prepared, engine = prepared_of(spec, context), engine_named(AUTO)
    settings = prepared.scenario.simulation
    jobs = min(settings.jobs, JOBS.get(engine, SLOW_JOBS))
    count = max(settings.replications, REPLICATIONS)
    latest: QuickAnswer | None = None
    predicted: Mapping[str, float | None] | None = None
    for so_far in simulation.answers(
        prepared, engine=engine, jobs=jobs, replications=count, cache=context.cache, check=context.check
    ):
        if predicted is None:
            predicted = placements.predictions(prepared, so_far.placement)
        latest = QuickAnswer(
            predicted=predicted,
            report=simulation_report(so_far.summaries, so_far.seconds),
            replications=so_far.replications,
            jobs=jobs,
            engine=engine,
            failed=so_far.failed,
        )
        text = f"{so_far.replications} of {count} replications"
        context.emit({"fraction": so_far.replications / count, "text": text, "live": latest.to_json()})
    if latest is None:
        raise JobError("Quick answer: no replication was run; ask for at least one.")
    return latest


Q = TypeVar("Q", SweepRequest, GridRequest)
R = TypeVar("R", bound=Document)
S = TypeVar("S", SweepOutcome, GridOutcome)
_TELL_EVERY_S = 0.8


def sweep_scenario(spec: Mapping[str, Any], context: JobContext) -> SweepOutcome:
    """Sweep one number; raises :class:`NonaError` for values that the scenario does not allow."""
    return _swept(spec, context, SweepRequest, sweep, SweepOutcome)


def sweep_numbers(spec: Mapping[str, Any], context: JobContext) -> GridOutcome:
    """Sweep two numbers; raises :class:`NonaError` for values that the scenario does not allow."""
    return _swept(spec, context, GridRequest, sweep_grid, GridOutcome)


def _swept(
    spec: Mapping[str, Any], context: JobContext, of: type[Q], run: Callable[..., R], outcome: type[S]
) -> S:
    request, prepared = request_of(spec, of), prepared_of(spec, context)
    more = {"settings": request, "about": provenance_of(prepared, now_text())}

    def on_share(fraction: float, text: str, report: Callable[[], R]) -> None:
        def so_far() -> S:
            return outcome.from_fields(report(), **more)

        context.report_progress(fraction, text, so_far, every_s=_TELL_EVERY_S, keeps=True)

    how = SweepRunOptions(engine=AUTO, cache=context.cache, check=context.check)
    return outcome.from_fields(run(prepared.scenario, request, sources_of(spec), on_share, **how), **more)
