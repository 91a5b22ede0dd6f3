"""Command ``nona training``: allocate, simulate, elastic, generate, switches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from nona.cli.commands.training import (
    AllocateOptions,
    CheckpointOptions,
    ElasticOptions,
    GenerateOptions,
    SimulateTrainingOptions,
    SwitchesOptions,
)
from nona.cli.declared import opened
from nona.cli.output import ProgressReport, emit
from nona.cli.parameters import settings_by_name
from nona.core.errors import NonaError, ScenarioError, SimulationError
from nona.core.experiments import Key, Shares
from nona.core.foreign import MOST_FILE_BYTES, read_file
from nona.core.output_files import check_places, write_text
from nona.planning.servers import cost_note
from nona.queries.sweeps.numbers import with_values
from nona.queries.workflows.shipped import now_text
from nona.scenario.gate import MAX_BYTES
from nona.scenario.lookup import Sources
from nona.scenario.provenance import about_scenario
from nona.scenario.schema import Scenario
from nona.scenario.training import GenerateSpec, ProfilesSpec
from nona.scenario.training_question import parse_question
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import replications_of
from nona.training.elastic.results import ElasticReport
from nona.training.elastic.workload import SHIPPED
from nona.training.generated_jobs import generate as generate_jobs
from nona.training.job_files import MOST_SECONDS, write_trace
from nona.training.report.html import training_html
from nona.training.report.text import (
    CheckedReport,
    allocation_text,
    checkpoint_text,
    simulation_text,
    switches_text,
)
from nona.training.results import TrainingReport
from nona.training.rounds import TrainingProgress
from nona.training.throughput_table import shipped_throughputs
from nona.training.workflows.allocation import answer
from nona.training.workflows.elastic import elastic_part, measured_scenario, simulate_elastic_jobs
from nona.training.workflows.preparation import training_part
from nona.training.workflows.run import (
    checkpoint_report,
    chosen_policies,
    compare_switches,
    simulate_training_scenario,
)

Progress = TrainingProgress | ElasticProgress
_CHANGE_NOTHING = frozenset({"scenario", "workers", "html", "json", "no_ideal"})


def allocate(arguments: AllocateOptions) -> None:
    """Run ``nona training allocate``."""
    question = parse_question(_read(arguments.file, "Question", most=MAX_BYTES), str(arguments.file))
    options = {"space_sharing": True} if arguments.space_sharing else {}
    report = answer(question, arguments.policy, options)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    emit(arguments, report, allocation_text)


def simulate(arguments: SimulateTrainingOptions, scenario: Scenario, sources: Sources) -> None:
    """Run ``nona training simulate``."""
    check_places(arguments.html)
    training_part(scenario)
    count = arguments.replications or scenario.simulation.replications
    policies = range(len(chosen_policies(scenario, arguments.policy)))
    line, on_progress = _watched(arguments.json, {(p, r) for p in policies for r in range(count)})
    result = simulate_training_scenario(
        scenario,
        sources,
        policies=arguments.policy,
        replications=count,
        workers=arguments.workers,
        ideal=not arguments.no_ideal,
        trace_rounds=0,
        on_progress=on_progress,
    )
    line.end()
    for name, policy in result.report.policies.items():
        for warning in policy.warnings:
            print(f"warning: {name}: {warning}", file=sys.stderr)
    _warn_of_checks(result.report)
    note = cost_note(scenario)
    emit(arguments, result.report, lambda report: f"{simulation_text(report)}\n{note}".strip())
    _write_html(arguments, scenario, result.report)


def _watched(quiet: bool, runs: Iterable[Key]) -> tuple[ProgressReport, Callable[[Progress], None] | None]:
    line, shares = ProgressReport(quiet=quiet), Shares(dict.fromkeys(runs, 1.0))

    def on_progress(progress: Progress) -> None:
        text = f"{progress.policy}, replication {progress.replication + 1}"
        line.report(text, shares.add((progress.piece, progress.replication), progress.fraction))

    return line, on_progress if line.shown else None


def _warn_of_checks(report: CheckedReport) -> None:
    for failed in report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)


def _write_html(
    options: SimulateTrainingOptions | ElasticOptions,
    scenario: Scenario | None,
    report: TrainingReport | ElasticReport,
) -> None:
    """Write the report as HTML if asked for; it notes which options override the scenario."""
    if options.html is None or scenario is None:
        return
    values = (value for name, value in vars(options).items() if name not in _CHANGE_NOTHING)
    given = any(not (value is None or value is False or value == ()) for value in values)  # 0 is given
    notes = ["Options of the command came before what the scenario below says."] if given else []
    about = about_scenario(scenario, scenario, now_text())
    write_text(options.html, training_html(about, report, notes))


def elastic(arguments: ElasticOptions) -> None:
    """Run ``nona training elastic``."""
    check_places(arguments.html)
    scenario, sources = measured_scenario(), Sources()
    if arguments.scenario is not None:
        scenario, sources = opened(arguments.scenario)
    elif arguments.html is not None:
        raise NonaError("--html is a report on a scenario; name one, e.g. who_scales_who_waits.")
    sources = replace(sources, in_memory={**(sources.in_memory or {}), **_given_files(arguments)})
    changed = _changed(scenario, arguments)
    runs = [
        (place, r)
        for place, entry in enumerate(elastic_part(changed).policies)
        for r in range(replications_of(ELASTIC.find(entry.name), changed.simulation.replications))
    ]
    line, on_progress = _watched(arguments.json, runs)
    result = simulate_elastic_jobs(changed, sources, workers=arguments.workers, on_progress=on_progress)
    line.end()
    _warn_of_checks(result.report)
    emit(arguments, result.report, simulation_text)
    _write_html(arguments, scenario, result.report)


def _changed(scenario: Scenario, given: ElasticOptions) -> Scenario:
    """Return the scenario with what the options say."""
    spec = elastic_part(scenario)
    if given.background is None and not spec.link and (given.capacity, given.discipline) != (None, None):
        raise ScenarioError(
            ["--capacity and --discipline are those of a link, and there is none; add --background 0.5."]
        )
    own = {entry.name: dict(entry.options) for entry in spec.policies}
    options = {name: own.get(name, {}) for name in given.policy or own}
    for name, more in settings_by_name(given.settings, tuple(options)).items():
        options[name] |= more
    if given.share_nodes and "pollux" in options:
        options["pollux"]["avoid_interference"] = False
    values: dict[str, object] = {
        "cluster.servers.0.count": given.nodes,
        "cluster.servers.0.gpus": given.gpus,
        "cluster.network.capacity": given.capacity,
        "cluster.network.discipline": given.discipline,
        "background.network.utilization": given.background,
        "simulation.replications": given.replications,
        "seed": given.seed,
    }
    for key in ("workload", "tick", "restart", "load", "interference"):
        values[f"training.elastic.{key}"] = getattr(given, key)
    if given.background is not None:
        values["training.elastic.link"] = True
    if given.profiles is not None:
        values["training.elastic.profiles"] = _profiles(given.profiles)
    chosen = [{"name": name, "options": of} for name, of in options.items()]
    values = {place: value for place, value in values.items() if value is not None}
    return with_values(scenario, values | {"training.elastic.policies": chosen})


def _profiles(folder: Path) -> dict[str, str]:
    return {name: str(folder / f"{name}.csv") for name in ProfilesSpec.model_fields}


def _given_files(given: ElasticOptions) -> dict[str, bytes]:
    """Return the files that the options name."""
    found = {}
    if given.workload is not None and given.workload not in map(str, SHIPPED):
        remedy = f"check the path, or choose from {', '.join(map(str, SHIPPED))}"
        found[given.workload] = _read(Path(given.workload), "Workload", remedy)
    for path in _profiles(given.profiles).values() if given.profiles is not None else ():
        found[path] = _read(Path(path), "Profiles")
    return found


def _read(path: Path, what: str, remedy: str = "check the path", most: int = MOST_FILE_BYTES) -> bytes:
    named = f"{what} {str(path)!r}"
    try:
        return read_file(path, named, most, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        raise ScenarioError([f"{named}: {error.strerror}; {remedy}."]) from None


def generate(arguments: GenerateOptions) -> None:
    """Run ``nona training generate``."""
    if not 0 <= arguments.mean_gap <= MOST_SECONDS / arguments.jobs:
        raise SimulationError(
            f"--mean-gap {arguments.mean_gap:g} must be from 0 to {MOST_SECONDS / arguments.jobs:g} s for "
            f"{arguments.jobs} jobs, so that a trace lasts at most {MOST_SECONDS:g} s; lower it."
        )
    asked = {name: getattr(arguments, name) for name in ("jobs", "mean_gap", "multi_gpu", "weights", "slos")}
    what = GenerateSpec(**asked)
    print(write_trace(generate_jobs(what, shipped_throughputs(), arguments.seed)), end="")


def switches(arguments: SwitchesOptions, scenario: Scenario, sources: Sources) -> None:
    """Run ``nona training switches``."""
    line = ProgressReport(quiet=arguments.json)
    report = compare_switches(
        scenario,
        sources,
        policies=arguments.policy,
        replications=arguments.replications,
        workers=arguments.workers,
        on_setting=line.report if line.shown else None,
    )
    line.end()
    emit(arguments, report, switches_text)


def checkpoints(arguments: CheckpointOptions, scenario: Scenario, sources: Sources) -> None:
    """Run ``nona training checkpoints``."""
    emit(arguments, checkpoint_report(scenario, sources), checkpoint_text)
