"""Command ``nona training``: allocate, simulate, elastic, counted, generate, switches."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from nona.cli.commands.training import (
    AllocateOptions,
    CheckpointOptions,
    CountedOptions,
    ElasticOptions,
    GenerateOptions,
    SimulateTrainingOptions,
    SwitchesOptions,
)
from nona.cli.opened import opened
from nona.cli.output import ProgressLine, emit
from nona.cli.parameters import settings_by_name
from nona.errors import NonaError, ScenarioError, SimulationError
from nona.experiments.pool import Shares
from nona.foreign.files import MOST_FILE_BYTES, read_file
from nona.report.html.training import elastic_html, training_html
from nona.report.training.elastic import elastic_text
from nona.report.training.text import (
    allocation_text,
    checkpoint_text,
    counted_text,
    simulation_text,
    switches_text,
)
from nona.scenario.gate import MAX_BYTES
from nona.scenario.schema import Scenario
from nona.scenario.training_question import parse_question
from nona.sources.lookup import Sources
from nona.study.costs import cost_note
from nona.study.exports import check_places, write_text
from nona.study.outcome import about_scenario
from nona.study.shipped import now_text
from nona.study.training.allocation import CountedRequest, answer, simulate_counted_jobs
from nona.study.training.elastic import ElasticRequest, elastic_request, simulate_elastic_jobs
from nona.study.training.preparation import training_part
from nona.study.training.run import (
    checkpoint_report,
    chosen_policies,
    compare_switches,
    report_of,
    simulate_training_scenario,
)
from nona.training import generated_jobs as generator
from nona.training.counting.engine import SCHEDULES
from nona.training.counting.jobs import SHIPPED as JOB_SHIPPED
from nona.training.elastic.applications import Application
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.profiles import Tables, read_applications
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import replications_of
from nona.training.elastic.system import Link
from nona.training.elastic.workload import SHIPPED
from nona.training.job_files import MOST_SECONDS, write_trace
from nona.training.rounds import TrainingProgress
from nona.training.throughput_table import shipped_throughputs

_CHANGE_NOTHING = frozenset({"scenario", "workers", "html", "json", "no_ideal"})


def _notes_of(options: SimulateTrainingOptions | ElasticOptions) -> list[str]:
    """Return a note for the report if options override the scenario; else nothing."""
    values = (value for name, value in vars(options).items() if name not in _CHANGE_NOTHING)
    given = any(not (value is None or value is False or value == ()) for value in values)  # 0 is given
    return ["Options of the command came before what the scenario below says."] if given else []


def allocate(arguments: AllocateOptions) -> None:
    """Read the file, ask the policy, print shares; warnings go to standard error."""
    what = f"Question {str(arguments.file)!r}"
    try:
        data = read_file(arguments.file, what, MAX_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        raise ScenarioError([f"{what}: {error.strerror}; check the path."]) from None
    question = parse_question(data, str(arguments.file))
    options = {"space_sharing": True} if arguments.space_sharing else {}
    report = answer(question, arguments.policy, options)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    emit(arguments, report, allocation_text)


def simulate(arguments: SimulateTrainingOptions, scenario: Scenario, sources: Sources) -> None:
    """Run the policies in every replication; print a table or JSON, warnings on standard error."""
    check_places(arguments.html)
    training_part(scenario)
    count = arguments.replications or scenario.simulation.replications
    names = [policy.name for policy, _ in chosen_policies(scenario, arguments.policy)]
    shares = Shares(dict.fromkeys(((p, r) for p in range(len(names)) for r in range(count)), 1.0))
    line = ProgressLine(quiet=arguments.json)

    def told(progress: TrainingProgress) -> None:
        key = (names.index(progress.policy), progress.replication)
        text = f"{progress.policy}, replication {progress.replication + 1}"
        line.tell(text, shares.add(key, progress.fraction))

    result = simulate_training_scenario(
        scenario,
        sources,
        policies=arguments.policy,
        replications=count,
        workers=arguments.workers,
        ideal=not arguments.no_ideal,
        trace_rounds=0,
        on_progress=told if line.shown else None,
    )
    line.end()
    report = report_of(result)
    for name, policy in report.policies.items():
        for warning in policy.warnings:
            print(f"warning: {name}: {warning}", file=sys.stderr)
    for failed in report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)
    note = cost_note(scenario)
    emit(arguments, report, lambda report: f"{simulation_text(report)}\n{note}".strip())
    if arguments.html is not None:
        about = about_scenario(scenario, scenario, now_text())
        write_text(arguments.html, training_html(about, report, _notes_of(arguments)))


T = TypeVar("T")


def elastic(arguments: ElasticOptions) -> None:
    """Run the policies; print a table or JSON, failed checks on standard error."""
    check_places(arguments.html)
    begin, scenario = ElasticRequest(), None
    if arguments.scenario is not None:
        scenario, sources = opened(arguments.scenario)
        begin = elastic_request(scenario, sources)
    elif arguments.html is not None:
        raise NonaError("--html is a report on a scenario; name one, e.g. who_scales_who_waits.")
    request = _changed(begin, arguments)
    names = request.policies
    counts = {n: replications_of(ELASTIC[n], request.replications) for n in names}
    shares = Shares(dict.fromkeys(((p, r) for p, n in enumerate(names) for r in range(counts[n])), 1.0))
    line = ProgressLine(quiet=arguments.json)

    def told(progress: ElasticProgress) -> None:
        text = f"{progress.policy}, run {progress.replication + 1}"
        line.tell(text, shares.add((progress.piece, progress.replication), progress.fraction))

    result = simulate_elastic_jobs(
        request, workers=arguments.workers, on_progress=told if line.shown else None
    )
    line.end()
    for failed in result.report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)
    emit(arguments, result.report, elastic_text)
    if arguments.html is not None and scenario is not None:
        about = about_scenario(scenario, scenario, now_text())
        write_text(arguments.html, elastic_html(about, result.report, _notes_of(arguments)))


def _changed(old: ElasticRequest, given: ElasticOptions) -> ElasticRequest:
    """The request with what the options say."""
    jobs, applications, profiles = old.jobs, old.applications, old.profiles
    policies = tuple(dict.fromkeys(given.policy)) or old.policies
    options = {name: dict(old.options.get(name, {})) for name in policies}
    if given.workload is not None:
        shipped = given.workload in map(str, SHIPPED)
        jobs = None if shipped else _read(Path(given.workload), "Workload")
    if given.profiles is not None:
        applications, profiles = _applications(given.profiles), str(given.profiles)
    for name, own in settings_by_name(given.settings, policies).items():
        options[name] |= own
    if given.share_nodes:
        options.setdefault("pollux", {})["avoid_interference"] = False
    return ElasticRequest(
        workload=_first(given.workload, old.workload),
        jobs=jobs,
        applications=applications,
        profiles=profiles,
        policies=policies,
        nodes=_first(given.nodes, old.nodes),
        gpus=_first(given.gpus, old.gpus),
        tick_s=_first(given.tick, old.tick_s),
        restart_s=_first(given.restart, old.restart_s),
        load=_first(given.load, old.load),
        interference=_first(given.interference, old.interference),
        replications=_first(given.replications, old.replications),
        seed=_first(given.seed, old.seed),
        options={name: own for name, own in options.items() if own},
        link=_link(old.link, given),
    )


def _link(old: Link | None, given: ElasticOptions) -> Link | None:
    """The scenario's link with what the options say of it, or one of their own."""
    if old is None and given.background is None:
        if given.capacity is not None or given.discipline is not None:
            raise ScenarioError(
                ["--capacity and --discipline are those of a link, and there is none; add --background 0.5."]
            )
        return None
    begin = old or Link()
    network = begin.network
    if given.capacity is not None:
        network = replace(network, capacity=given.capacity)
    if given.discipline is not None:
        shared = given.discipline == "processor-sharing"
        network = replace(network, discipline="processor-sharing" if shared else "fifo")
    return replace(begin, network=network, background=_first(given.background, begin.background))


def _first(given: T | None, usual: T) -> T:
    return usual if given is None else given


def _applications(folder: Path) -> Mapping[str, Application]:
    tables = Tables(*(_read(folder / f"{name}.csv", "Profiles") for name in Tables._fields))
    return read_applications(tables, f"Profiles {str(folder)!r}")


def _read(path: Path, what: str) -> bytes:
    named = f"{what} {str(path)!r}"
    try:
        return read_file(path, named, MOST_FILE_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        numbers = ", ".join(map(str, SHIPPED))
        remedy = f"; check the path, or choose from {numbers}" if what == "Workload" else "; check the path"
        raise ScenarioError([f"{named}: {error.strerror}{remedy}."]) from None


def counted(arguments: CountedOptions) -> None:
    """Run the schedules; print a table or JSON, failed checks on standard error."""
    names = tuple(dict.fromkeys(arguments.schedule)) or tuple(SCHEDULES)
    shipped = arguments.workload == JOB_SHIPPED
    request = CountedRequest(
        workload=arguments.workload,
        jobs=None if shipped else _read_jobs(Path(arguments.workload)),
        schedules=names,
        gpus=arguments.gpus,
        options=settings_by_name(arguments.settings, names),
    )
    report = simulate_counted_jobs(request)
    for failed in report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)
    emit(arguments, report, counted_text)


def _read_jobs(path: Path) -> bytes:
    named = f"Workload {str(path)!r}"
    try:
        return read_file(path, named, MOST_FILE_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        remedy = f"check the path, or choose {JOB_SHIPPED}"
        raise ScenarioError([f"{named}: {error.strerror}; {remedy}."]) from None


def generate(arguments: GenerateOptions) -> None:
    """Draw jobs with Gavel's measured throughputs, and write them to standard output."""
    if not 0 <= arguments.mean_gap <= MOST_SECONDS / arguments.jobs:
        raise SimulationError(
            f"--mean-gap {arguments.mean_gap:g} must be from 0 to {MOST_SECONDS / arguments.jobs:g} s for "
            f"{arguments.jobs} jobs, so that a trace lasts at most {MOST_SECONDS:g} s; lower it."
        )
    what = generator.Generation(
        arguments.jobs, arguments.mean_gap, arguments.multi_gpu, arguments.weights, arguments.slos
    )
    print(write_trace(generator.generate(what, shipped_throughputs(), arguments.seed)), end="")


def switches(arguments: SwitchesOptions, scenario: Scenario, sources: Sources) -> None:
    """Runs with one switch at a time beside runs with none."""
    line = ProgressLine(quiet=arguments.json)
    report = compare_switches(
        scenario,
        sources,
        policies=arguments.policy,
        replications=arguments.replications,
        workers=arguments.workers,
        on_setting=line.tell if line.shown else None,
    )
    line.end()
    emit(arguments, report, switches_text)


def checkpoints(arguments: CheckpointOptions, scenario: Scenario, sources: Sources) -> None:
    """Intervals between checkpoints, compared."""
    emit(arguments, checkpoint_report(scenario, sources), checkpoint_text)
