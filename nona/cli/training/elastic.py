"""``nona training elastic``: a workload of elastic jobs under several policies."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from nona.cli.opened import opened
from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.cli.settings import settings_by_name
from nona.cli.training.options import ElasticOptions, notes_of
from nona.errors import NonaError, ScenarioError
from nona.experiments.progress import Shares
from nona.foreign.files import read_file
from nona.foreign.limits import MOST_FILE_BYTES
from nona.report.html.training import elastic_html
from nona.report.training.elastic.text import elastic_text
from nona.study.elastic.run import ElasticRequest, simulate_elastic_jobs
from nona.study.elastic.scenario import elastic_request
from nona.study.exports import check_places, write_text
from nona.study.outcome import about_scenario
from nona.study.provenance import now_text
from nona.training.elastic.applications.application import Application
from nona.training.elastic.applications.reading import Tables, read_applications
from nona.training.elastic.engine.run import ElasticProgress
from nona.training.elastic.model.link import Link
from nona.training.elastic.model.workload import SHIPPED
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.replications import replications_of

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
        write_text(arguments.html, elastic_html(about, result.report, notes_of(arguments)))


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
    """What was given, or the usual."""
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
