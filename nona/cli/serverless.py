"""Command ``nona serverless``, also over one number of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from nona.cli.commands.planning import SweepOptions
from nona.cli.commands.scenarios import ServerlessOptions
from nona.cli.output import ProgressReport, emit
from nona.core.errors import NonaError
from nona.core.output_files import check_places, write_bytes, write_job_table, write_text
from nona.core.tables import csv_bytes
from nona.planning.servers import cost_note
from nona.queries.sweeps.numbers import LOAD
from nona.queries.sweeps.report import parse_values
from nona.queries.workflows.shipped import now_text
from nona.scenario.file import scenario_from_mapping, scenario_to_mapping
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.functions import beside_times, network_names
from nona.serverless.report.exports import call_table
from nona.serverless.report.findings import nodes_text
from nona.serverless.report.html import serverless_html
from nona.serverless.report.over import over_points, over_text
from nona.serverless.report.text import serverless_text, sharing_text
from nona.serverless.results import NodesRequest, OverRequest, SharingReport
from nona.serverless.workflows.comparisons import ComparisonOptions, compare_sharing, nodes_needed
from nona.serverless.workflows.knees import over_number, policies_over
from nona.serverless.workflows.run import (
    ServerlessResult,
    chosen_policies,
    report_of,
    serverless_outcome,
    simulate_serverless_scenario,
    with_sharing,
    write_serverless_trace,
)


def _serverless_over(arguments: ServerlessOptions, scenario: Scenario, sources: Sources, key: str) -> None:
    """``nona serverless SCENARIO --over KEY``."""
    others = {
        "--nodes-for": arguments.nodes_for,
        "--html": arguments.html,
        "--trace": arguments.trace,
        "--records": arguments.records,
    }
    for option, value in others.items():
        if value:
            raise NonaError(f"--over does not go with {option}; leave one of them out.")
    _run_over(arguments, scenario, sources, key, arguments.policy, arguments.calls)


def sweep_serverless(arguments: SweepOptions, scenario: Scenario, sources: Sources) -> None:
    """``nona sweep`` of a serverless scenario: its policies, by the same code."""
    if arguments.second is not None or arguments.second_values is not None:
        raise NonaError(
            "nona sweep: a serverless scenario is swept over one number; "
            "leave out --second and --second-values."
        )
    _run_over(arguments, scenario, sources, arguments.key, arguments.scheduler, arguments.jobs)


def _run_over(
    arguments: ServerlessOptions | SweepOptions,
    scenario: Scenario,
    sources: Sources,
    key: str,
    policies: Sequence[str],
    calls: int | None,
) -> None:
    check_places(arguments.csv)
    request = _request(arguments, scenario, key, policies, calls)
    line = ProgressReport(quiet=arguments.json)

    def show(fraction: float, text: str, report: object) -> None:
        line.report(text, fraction)

    report = policies_over(scenario, request, sources, workers=arguments.workers, on_progress=show)
    line.end()
    emit(arguments, report, over_text)
    if arguments.csv:
        write_bytes(arguments.csv, csv_bytes(over_points(report).numbers()))


def _request(
    arguments: ServerlessOptions | SweepOptions,
    scenario: Scenario,
    key: str,
    policies: Sequence[str],
    calls: int | None,
) -> OverRequest:
    number = over_number(scenario, key)
    if arguments.values is None and key != LOAD:
        raise NonaError(f"--over {key}: --values is missing; only load has values of its own.")
    asked = OverRequest(
        number=key,
        values=parse_values(arguments.values or number.usual, number.unit),
        schedulers=tuple(policy.name for policy, _ in chosen_policies(scenario, policies)),
        target=arguments.target,
        edges=not arguments.values_only,
        extend=arguments.values is None and not arguments.values_only,
    )
    first = arguments.replications
    runs = {} if first is None else {"replications": first, "most": 2 * first}
    return asked.model_copy(update=runs | ({} if calls is None else {"jobs": calls}))


def serverless(arguments: ServerlessOptions, scenario: Scenario, sources: Sources) -> None:
    """Simulate, compare ways of sharing, or find the fewest nodes; print a table or JSON."""
    scenario = with_times(scenario, arguments.times)
    modes = list(dict.fromkeys(arguments.sharing))
    check_places(arguments.records, arguments.html, arguments.trace, arguments.csv)
    _check(arguments, modes)
    if arguments.over is not None:
        chosen = with_sharing(scenario, modes[0]) if modes else scenario
        _serverless_over(arguments, chosen, sources, arguments.over)
    elif arguments.nodes_for is not None:
        if len(modes) > 1:
            raise NonaError("--nodes-for supports one way of sharing; give --sharing once.")
        chosen = with_sharing(scenario, modes[0]) if modes else scenario
        _nodes(arguments, chosen, sources, arguments.nodes_for)
    elif len(modes) > 1:
        _compare(arguments, scenario, sources, modes)
    else:
        chosen = with_sharing(scenario, modes[0]) if modes else scenario
        result = _run(arguments, chosen, sources)
        note = cost_note(chosen)  # before the files:
        emit(arguments, report_of(result), lambda report: f"{serverless_text(report)}\n{note}")
        _write(arguments, chosen, result)


def _check(arguments: ServerlessOptions, modes: Sequence[str]) -> None:
    """Refuse options that belong to another question."""
    files = {"--html": arguments.html, "--trace": arguments.trace, "--records": arguments.records}
    other = arguments.nodes_for is not None or len(modes) > 1
    for option, path in files.items():
        if path is not None and other:
            raise NonaError(f"{option} belongs to one run of the policies; leave the other question out.")
    of_over = {
        "--values": arguments.values,
        "--values-only": arguments.values_only,
        "--csv": arguments.csv,
    }
    for option, value in of_over.items():
        if value and arguments.over is None:
            raise NonaError(f"{option} belongs to --over; add --over load.")
    if arguments.over is not None and len(modes) > 1:
        raise NonaError("--over supports one way of sharing; give --sharing once.")


def _write(arguments: ServerlessOptions, scenario: Scenario, result: ServerlessResult) -> None:
    if arguments.records:
        write_job_table(arguments.records, call_table(result.records, result.system))
    if arguments.trace:
        write_serverless_trace(arguments.trace, result)
    if arguments.html:
        outcome = serverless_outcome(scenario, result, now_text())
        write_text(arguments.html, serverless_html(outcome))


def with_times(scenario: Scenario, times: Iterable[tuple[str, str]]) -> Scenario:
    """Return the scenario in which these functions have the times of a measured network, or of a file."""
    chosen: dict[str, dict[str, object]] = {}
    for function, source in times:
        given = (
            ("network", source) if source in network_names() else ("profile", str(Path(source).absolute()))
        )
        chosen[function] = {**beside_times(function), given[0]: given[1]}
    if not chosen:
        return scenario
    data = scenario_to_mapping(scenario)
    if not isinstance(part := data.get("serverless"), dict):
        raise NonaError("--times is for a scenario with the key serverless; add 'serverless: {}' to it.")
    functions = {**part.get("functions", {}), **chosen}
    return scenario_from_mapping({**data, "serverless": {**part, "functions": functions}})


def _how(arguments: ServerlessOptions) -> ComparisonOptions:
    return ComparisonOptions(
        policies=arguments.policy,
        calls=arguments.calls,
        replications=arguments.replications,
        workers=arguments.workers,
    )


def _run(arguments: ServerlessOptions, scenario: Scenario, sources: Sources) -> ServerlessResult:
    line = ProgressReport(quiet=arguments.json)

    def show(progress: ServerlessProgress) -> None:
        line.report(progress.policy, progress.fraction)

    listener = show if line.shown else None
    return simulate_serverless_scenario(scenario, sources, on_progress=listener, **_how(arguments))


def _compare(arguments: ServerlessOptions, scenario: Scenario, sources: Sources, modes: list[str]) -> None:
    line = ProgressReport(quiet=arguments.json)

    def show(mode: str, fraction: float, progress: ServerlessProgress) -> None:
        line.report(f"{mode}, {progress.policy}", fraction)

    listener = show if line.shown else None
    results = compare_sharing(scenario, sources, modes, on_progress=listener, **_how(arguments))
    reports = {mode: report_of(result) for mode, result in results.items()}
    emit(arguments, SharingReport(sharing=reports), sharing_text)


def _nodes(arguments: ServerlessOptions, scenario: Scenario, sources: Sources, target: float) -> None:
    names = tuple(policy.name for policy, _ in chosen_policies(scenario, arguments.policy))
    usual, runs = NodesRequest(target=target, policies=names, most=arguments.most), arguments.replications
    sizes = {} if runs is None else {"first": min(usual.first, runs), "replications": runs}
    asked = usual.model_copy(update=sizes | ({} if arguments.calls is None else {"calls": arguments.calls}))
    line = ProgressReport(quiet=arguments.json)

    def show(fraction: float, text: str, report: object) -> None:
        line.report(text)

    report = nodes_needed(scenario, asked, sources, workers=arguments.workers, on_progress=show)
    line.end()
    emit(arguments, report, nodes_text)
