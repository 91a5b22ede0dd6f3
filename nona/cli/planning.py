"""Commands ``nona capacity``, ``nona plan`` and ``nona sweep``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from click.exceptions import Exit

from nona.cli.commands.planning import CapacityOptions, PlanOptions, SweepOptions
from nona.cli.known import check_scheduler
from nona.cli.language import planned_language
from nona.cli.output import ProgressLine, emit, warn_of_interrupt, warn_of_models
from nona.cli.saved import save_item
from nona.cli.serverless import sweep_serverless
from nona.errors import NonaError, SimulationError
from nona.foreign import MOST_BUNDLE_BYTES, read_file
from nona.report.capacity import capacity_report, capacity_text, others_stay
from nona.report.holds import holds_text
from nona.report.html.plan import plan_html
from nona.report.plan import day_of
from nona.report.plan_options import options, plan_text
from nona.report.sweep_findings import sweep_text
from nona.report.sweep_grids import GridCurves, grid_points, grid_report, grid_text
from nona.report.sweeps import Curves, parse_values, sweep_points, sweep_report
from nona.results.planning import DeviceCapacity, PlanReport
from nona.results.sweeps import GridRequest, SweepRequest
from nona.scenario.schema import Scenario
from nona.serving.ending import INTERRUPTED
from nona.simulation.dask_pool import DaskPool
from nona.sources.lookup import Sources
from nona.sources.opening import Opened
from nona.study.cache import StudyCache
from nona.study.capacity import cheapest, fewest_servers, unfinished, with_gpu
from nona.study.exports import check_places, write_bytes, write_text
from nona.study.planning.holds import holds
from nona.study.planning.plan import PlanProgress, plan_outcome
from nona.study.planning.plan import plan as plan_scenario
from nona.study.planning.planner import RunPool
from nona.study.planning.trials import Ended
from nona.study.preparation import Study, check_counted, prepare
from nona.study.shipped import now_text
from nona.study.sweep_numbers import number_named, with_values
from nona.study.sweeps import curves, grid
from nona.tables import Filled, csv_bytes, parquet_bytes


def capacity(arguments: CapacityOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the fewest servers for each device and scheduler, and print them or JSON.

    Whoever interrupts gets what is known so far.
    """
    if not 0 <= arguments.group < len(scenario.cluster.servers):
        raise NonaError(
            f"--group {arguments.group}: there is no cluster.servers[{arguments.group}]; choose another."
        )
    own = scenario.cluster.servers[arguments.group].gpu
    prepared = prepare(scenario, sources)
    check_counted(prepared)
    beside = warn_of_models(prepared)
    asked = [
        (gpu, scheduler)
        for gpu in dict.fromkeys(arguments.gpu or [own])
        for scheduler in dict.fromkeys(arguments.scheduler or ["nona"])
    ]
    capacities = _Known()
    try:
        _search(arguments, scenario, sources, asked, capacities)
    except KeyboardInterrupt:
        if not capacities.so_far:
            raise
        warn_of_interrupt()
        rows = [*capacities.so_far, *(unfinished(*rest) for rest in asked[len(capacities.so_far) :])]
        _show(arguments, rows, beside, scenario)
        raise Exit(INTERRUPTED) from None
    _show(arguments, capacities.ended, beside, scenario)


@dataclass(frozen=True, slots=True)
class _Known:
    """The searches that have ended, and at most one that goes on."""

    ended: list[DeviceCapacity] = field(default_factory=list)
    going_on: list[DeviceCapacity] = field(default_factory=list)

    @property
    def so_far(self) -> list[DeviceCapacity]:
        """Both."""
        return [*self.ended, *self.going_on]


def _search(
    arguments: CapacityOptions,
    scenario: Scenario,
    sources: Sources,
    asked: Sequence[tuple[str, str]],
    progress: _Known,
) -> None:
    """Search for each device and scheduler, and put what is found into ``progress``."""
    line, cache, prices = ProgressLine(quiet=arguments.json), StudyCache(), dict(arguments.price)
    own = scenario.cluster.servers[arguments.group].gpu

    def seen(now: DeviceCapacity) -> None:
        progress.going_on[:] = [now]

    for gpu, scheduler in asked:
        answer = fewest_servers(
            scenario if gpu == own else with_gpu(scenario, arguments.group, gpu),
            sources,
            1 - arguments.hit,
            group=arguments.group,
            most=arguments.most,
            scheduler=scheduler,
            prices=prices or None,
            simulated=arguments.simulate,
            cache=cache,
            tell=lambda text, gpu=gpu: line.tell(f"{gpu}: {text}"),  # type: ignore[misc]
            seen=seen,
        )
        progress.going_on.clear()
        progress.ended.append(answer)
    line.end()


def _show(
    arguments: CapacityOptions,
    devices: Sequence[DeviceCapacity],
    beside: Mapping[str, object],
    scenario: Scenario,
) -> None:
    report = capacity_report(devices, cheapest(devices), arguments.hit, arguments.group, arguments.most)
    stay = others_stay(scenario.cluster.servers, arguments.group)
    emit(arguments, report, lambda result: "\n".join(filter(None, [capacity_text(result), stay])), beside)


def plan(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the cheapest option that keeps the targets, and print it or JSON.

    Whoever interrupts gets what is known so far.
    """
    check_places(arguments.html, arguments.csv, arguments.parquet)
    if scenario.plan is None:
        scenario = with_values(scenario, {"plan": {}})
    if scenario.language and not scenario.workload:
        planned_language(arguments, scenario, sources)
        return
    if arguments.profile is not None:
        name = arguments.profile.name
        sources = replace(sources, held={**(sources.held or {}), name: _profile(arguments.profile)})
        scenario = with_values(scenario, {"plan.profile": name})
    prepared = prepare(scenario, sources)
    check_counted(prepared)
    beside = warn_of_models(prepared)
    if arguments.present:
        _present(arguments, scenario, sources, beside)
        return
    line = ProgressLine(quiet=arguments.json)
    last: list[PlanReport] = []

    def on_table(report: PlanReport, progress: PlanProgress) -> None:
        last[:] = [report]
        line.tell(progress.text)

    try:
        pool = _pool(arguments)
        report = plan_scenario(scenario, sources, workers=arguments.workers, pool=pool, on_table=on_table)
    except KeyboardInterrupt:
        if not last:
            raise
        warn_of_interrupt()
        _write(arguments, last[0], Opened(scenario, sources), prepared, beside)
        raise Exit(INTERRUPTED) from None
    except SimulationError as error:  # as when a cluster is lost
        line.end()
        if last and any(option.replications for option in last[0].options):
            _write(arguments, last[0], Opened(scenario, sources), prepared, beside)
            print("warning: not finished; the output is what was known by then", file=sys.stderr)
        raise error
    line.end()
    _write(arguments, report, Opened(scenario, sources), prepared, beside)


def _pool(arguments: PlanOptions) -> RunPool | None:
    return DaskPool(arguments.dask, lambda share, outcome: Ended(share)) if arguments.dask else None


def _present(
    arguments: PlanOptions, scenario: Scenario, sources: Sources, beside: Mapping[str, object]
) -> None:
    """Judge the cluster as it stands under the scheduler that is named, by default the scenario's first."""
    if len(arguments.scheduler) > 1:
        names = ", ".join(arguments.scheduler)
        raise NonaError(f"--present: {names} are several schedulers, and it judges one; name one of them.")
    if arguments.html or arguments.csv or arguments.parquet or arguments.save:
        raise NonaError("--present: it writes no file and saves no plan; leave out the other option.")
    line = ProgressLine(quiet=arguments.json)
    report = holds(
        scenario,
        sources,
        next(iter(arguments.scheduler), ""),
        workers=arguments.workers,
        pool=_pool(arguments),
        on_report=lambda report, share, text: line.tell(text),
    )
    line.end()
    emit(arguments, report, lambda result: holds_text(result, day_of(now_text())), beside)


def _write(
    arguments: PlanOptions,
    report: PlanReport,
    opened: Opened,
    prepared: Study,
    beside: Mapping[str, object],
) -> None:
    """Print the plan, then write the files and save it: whatever happens to these, it is there."""
    made_at = now_text()
    emit(arguments, report, lambda result: plan_text(result, day_of(made_at)), beside)
    if arguments.csv or arguments.parquet:
        frame = options(report).numbers()
        if arguments.csv:
            write_bytes(arguments.csv, csv_bytes(frame))
        if arguments.parquet:
            write_bytes(arguments.parquet, parquet_bytes(frame))
    if not (arguments.html or arguments.save):
        return
    outcome = plan_outcome(prepared, report, made_at)
    if arguments.html:
        write_text(arguments.html, plan_html(outcome))
    if arguments.save:
        save_item(arguments.store, arguments.save, outcome, opened.sources)


def _profile(path: Path) -> bytes:
    what = f"Profile {str(path)!r}"
    try:
        return read_file(path, what, MOST_BUNDLE_BYTES, NonaError)
    except FileNotFoundError as error:
        raise NonaError(f"{what}: {error.strerror}; check the path.") from None


_Told = TypeVar("_Told", Curves, GridCurves)


def sweep(arguments: SweepOptions, scenario: Scenario, sources: Sources) -> None:
    """Sweep, and print a table for each value, or JSON; for two numbers the best in each cell."""
    if scenario.serverless is not None and (scenario.workload or scenario.training is None):
        sweep_serverless(arguments, scenario, sources)
        return
    for name in arguments.scheduler:
        check_scheduler(name)
    check_places(arguments.csv)
    settings = _settings(arguments, scenario)
    beside = warn_of_models(prepare(scenario, sources))
    if arguments.second is None and arguments.second_values is None:
        last_curves = _last(
            curves(scenario, settings, sources, engine=arguments.engine, workers=arguments.workers)
        )
        if last_curves is not None:
            report = sweep_report(last_curves)
            emit(
                arguments, report, sweep_text, beside
            )  # before the file: whatever happens to it, it is there
            _points(arguments, sweep_points(report))
        return
    whole = _last(
        grid(
            scenario,
            _grid_settings(arguments, scenario, settings),
            sources,
            engine=arguments.engine,
            workers=arguments.workers,
        )
    )
    if whole is not None:
        cells = grid_report(whole)
        emit(arguments, cells, grid_text, beside)
        _points(arguments, grid_points(cells))


def _last(steps: Iterator[_Told]) -> _Told | None:
    """The last of the reports; a terminal shows how far the work is."""
    latest = None
    for latest in steps:
        if sys.stderr.isatty():
            print(f"\r{latest.fraction:6.1%}  {latest.stage:<14}", end="", file=sys.stderr, flush=True)
    if latest is not None and sys.stderr.isatty():
        print(file=sys.stderr)
    return latest


def _settings(arguments: SweepOptions, scenario: Scenario) -> SweepRequest:
    number = number_named(scenario, arguments.key)
    spec = scenario.simulation
    own = tuple(dict.fromkeys(s.name for s in scenario.schedulers))
    return SweepRequest(
        number=number.key,
        values=parse_values(arguments.values, number.unit),
        schedulers=tuple(arguments.scheduler) if arguments.scheduler else own,
        jobs=spec.jobs if arguments.jobs is None else arguments.jobs,
        replications=spec.replications if arguments.replications is None else arguments.replications,
        edges=not arguments.values_only,
        target=arguments.target,
    )


def _grid_settings(arguments: SweepOptions, scenario: Scenario, settings: SweepRequest) -> GridRequest:
    if arguments.second is None or arguments.second_values is None:
        raise NonaError("--second and --second-values belong together; give both.")
    second = number_named(scenario, arguments.second)
    values = parse_values(arguments.second_values, second.unit, "--second-values")
    return GridRequest(sweep=settings, second=second.key, values=values)


def _points(arguments: SweepOptions, points: Filled) -> None:
    if arguments.csv:
        write_bytes(arguments.csv, csv_bytes(points.numbers()))
