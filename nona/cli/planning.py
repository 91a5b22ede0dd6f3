"""Commands ``nona capacity``, ``nona plan`` and ``nona sweep``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from click.exceptions import Exit

from nona.app.server.ending import INTERRUPTED
from nona.cli.commands.planning import CapacityOptions, PlanOptions, SweepOptions
from nona.cli.known import check_scheduler
from nona.cli.language import planned_beside, planned_language
from nona.cli.output import ProgressReport, emit, warn_of_interrupt, warn_of_models
from nona.cli.saved import save_item
from nona.cli.serverless import sweep_serverless
from nona.core.errors import NonaError, SimulationError
from nona.core.foreign import MOST_BUNDLE_BYTES, read_file
from nona.core.output_files import check_places, write_bytes, write_text
from nona.core.tables import FilledTable, csv_bytes, parquet_bytes
from nona.planning.candidates import CandidateProgress
from nona.planning.holds import holds
from nona.planning.html import plan_html
from nona.planning.plan import PlanProgress, plan_outcome
from nona.planning.plan import plan as plan_scenario
from nona.planning.planner import RunPool
from nona.planning.question import entry_named
from nona.planning.report_holds import holds_text
from nona.planning.report_plan import day_of, tightest
from nona.planning.report_plan_options import options, plan_text
from nona.planning.results import CapacityReport, DeviceCapacity, PlanOption, PlanReport, ServerCount
from nona.queries.simulation.dask_pool import DaskPool
from nona.queries.sweeps.findings import sweep_text
from nona.queries.sweeps.grids import grid_points, grid_text
from nona.queries.sweeps.numbers import number_named, with_values
from nona.queries.sweeps.report import parse_values, sweep_points
from nona.queries.sweeps.results import GridRequest, SweepRequest
from nona.queries.sweeps.run import sweep as sweep_number
from nona.queries.sweeps.run import sweep_grid
from nona.queries.sweeps.sweep_points import SweepRunOptions
from nona.queries.workflows.preparation import PreparedSystem, check_counted, prepare
from nona.queries.workflows.shipped import now_text
from nona.scenario.lookup import Sources
from nona.scenario.opening import OpenedScenario
from nona.scenario.plan import OfferSpec, PlanSpec
from nona.scenario.schema import Scenario


def capacity(arguments: CapacityOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the fewest servers for each device and scheduler: the plan in which one group grows."""
    scenario = _with_one_group(arguments, scenario)
    prepared = prepare(scenario, sources)
    check_counted(prepared)
    beside = warn_of_models(prepared)

    def write(report: PlanReport) -> None:
        emit(arguments, _counts(arguments, scenario, report), lambda _: plan_text(report), beside)

    _searched(arguments, scenario, sources, None, write, further=False)


COUNT_RUNS = 64  # of one number of servers, at most


def _with_one_group(arguments: CapacityOptions, scenario: Scenario) -> Scenario:
    """Return the scenario with a plan of these options alone, but for its prices."""
    prices = (scenario.plan or PlanSpec()).prices
    own = scenario.cluster.servers[arguments.group : arguments.group + 1]
    asked = PlanSpec(
        hit=arguments.hit,
        group=arguments.group,
        offers=tuple(
            OfferSpec(
                gpu=gpu,
                mig=group.mig if gpu == group.gpu else None,  # a layout is for one device only
                gpus=group.gpus,
                vcpus=group.vcpus,
                mps=group.mps,
            )
            for group in own
            for gpu in dict.fromkeys(arguments.gpu)
        ),
        schedulers=tuple(entry_named(scenario.schedulers, name) for name in _schedulers(arguments)),
        most=arguments.most,
        replications=COUNT_RUNS,
        prices=prices.model_copy(update={"gpus": {**prices.gpus, **dict(arguments.price)}}),
    )
    return scenario.model_copy(update={"plan": asked})


def _schedulers(arguments: CapacityOptions) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arguments.scheduler or ("nona",)))


def _counts(arguments: CapacityOptions, scenario: Scenario, report: PlanReport) -> CapacityReport:
    """Return what ``nona capacity --json`` says of a plan."""
    gpus = dict.fromkeys(arguments.gpu or (scenario.cluster.servers[arguments.group].gpu,))
    best = report.best
    return CapacityReport(
        target_hit_rate=arguments.hit,
        group=arguments.group,
        most=arguments.most,
        best=best.grown.gpu if best and best.grown else None,
        best_scheduler=best.scheduler if best else None,
        devices=tuple(_device(report, gpu, name) for gpu in gpus for name in _schedulers(arguments)),
    )


def _device(report: PlanReport, gpu: str, scheduler: str) -> DeviceCapacity:
    series = next((c for c in report.evidence if (c.gpu, c.scheduler) == (gpu, scheduler)), None)
    options = {
        o.grown.count: o for o in report.options if o.grown and (o.grown.gpu, o.scheduler) == (gpu, scheduler)
    }
    tried = {count: _count(report, count, options[count]) for count in sorted(options)}
    servers = series.kept if series else None
    return DeviceCapacity(
        gpu=gpu,
        scheduler=scheduler,
        method="simulation",
        servers=servers,
        predicted=tried.get(servers) if servers else None,
        one_fewer=tried.get(servers - 1) if servers else None,
        cost=(options[servers].cost_per_hour or None) if servers else None,
        tried=tuple(tried.values()),
        if_times_off=series.if_times_off if series else None,
        finished=series is not None,
    )


def _count(report: PlanReport, servers: int, option: PlanOption) -> ServerCount:
    budget = tightest(report.targets, option.shares)
    share = budget.share if budget else None
    low, high = (share.ci95 if share else None) or (0.0, 0.0)
    return ServerCount(
        servers=servers,
        verdict=option.verdict,
        reason=option.reason,
        miss=1 - share.mean if share and share.mean is not None else None,
        error=(high - low) / 4,
        simulated_hit_rate=share,
        worst=budget.target.model if budget and len(report.targets) > 1 else "",
    )


def plan(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the cheapest option that keeps the targets, and print it or JSON."""
    check_places(arguments.html, arguments.csv, arguments.parquet)
    if scenario.plan is None:
        scenario = with_values(scenario, {"plan": {}})
    beside: Mapping[str, object] = {}
    if scenario.language and not scenario.workload:
        planned_language(arguments, scenario, sources)
        return
    if scenario.language:
        beside = planned_beside(arguments, scenario, sources)
    if arguments.profile is not None:
        name = arguments.profile.name
        sources = replace(sources, in_memory={**(sources.in_memory or {}), name: _profile(arguments.profile)})
        scenario = with_values(scenario, {"plan.profile": name})
    prepared = prepare(scenario, sources)
    check_counted(prepared)
    beside = {**beside, **warn_of_models(prepared)}
    if arguments.present:
        _present(arguments, scenario, sources, beside)
        return

    def write(report: PlanReport) -> None:
        _write(arguments, report, OpenedScenario(scenario, sources), prepared, beside)

    _searched(arguments, scenario, sources, _pool(arguments), write)


def _searched(
    arguments: PlanOptions | CapacityOptions,
    scenario: Scenario,
    sources: Sources,
    pool: RunPool | None,
    write: Callable[[PlanReport], None],
    further: bool = True,
) -> None:
    """Search and write the report. After an interrupt, write the report so far."""
    line = ProgressReport(quiet=arguments.json)
    last: list[PlanReport] = []

    def on_table(report: PlanReport, progress: PlanProgress) -> None:
        last[:] = [report]
        line.report(progress.text)

    try:
        report = plan_scenario(
            scenario, sources, workers=arguments.workers, pool=pool, on_table=on_table, further=further
        )
    except KeyboardInterrupt:
        if not last:
            raise
        warn_of_interrupt()
        write(last[0])
        raise Exit(INTERRUPTED) from None
    except SimulationError as error:  # as when a cluster is lost
        line.end()
        if last and any(option.replications for option in last[0].options):
            write(last[0])
            print("warning: not finished; the output is what was known by then", file=sys.stderr)
        raise error
    line.end()
    write(report)


def _pool(arguments: PlanOptions) -> RunPool | None:
    return (
        DaskPool(arguments.dask, lambda share, outcome: CandidateProgress(share)) if arguments.dask else None
    )


def _present(
    arguments: PlanOptions, scenario: Scenario, sources: Sources, beside: Mapping[str, object]
) -> None:
    """Judge the cluster as it stands under the scheduler that is named, by default the scenario's first."""
    if len(arguments.scheduler) > 1:
        names = ", ".join(arguments.scheduler)
        raise NonaError(f"--present: {names} are several schedulers, and it judges one; name one of them.")
    if arguments.html or arguments.csv or arguments.parquet or arguments.save:
        raise NonaError("--present: it writes no file and saves no plan; leave out the other option.")
    line = ProgressReport(quiet=arguments.json)
    report = holds(
        scenario,
        sources,
        next(iter(arguments.scheduler), ""),
        workers=arguments.workers,
        pool=_pool(arguments),
        on_report=lambda report, share, text: line.report(text),
    )
    line.end()
    emit(arguments, report, lambda result: holds_text(result, day_of(now_text())), beside)


def _write(
    arguments: PlanOptions,
    report: PlanReport,
    opened: OpenedScenario,
    prepared: PreparedSystem,
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
    line, how = (
        ProgressReport(quiet=arguments.json),
        SweepRunOptions(engine=arguments.engine, workers=arguments.workers),
    )

    def show(fraction: float, text: str, report: object) -> None:
        line.report(text, fraction)

    # Printed before the file is written: whatever happens to it, the result is there.
    if arguments.second is None and arguments.second_values is None:
        report = sweep_number(scenario, settings, sources, show, **how)
        line.end()
        emit(arguments, report, sweep_text, beside)
        _points(arguments, sweep_points(report))
    else:
        both = _grid_settings(arguments, scenario, settings)
        cells = sweep_grid(scenario, both, sources, show, **how)
        line.end()
        emit(arguments, cells, grid_text, beside)
        _points(arguments, grid_points(cells))


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


def _points(arguments: SweepOptions, points: FilledTable) -> None:
    if arguments.csv:
        write_bytes(arguments.csv, csv_bytes(points.numbers()))
