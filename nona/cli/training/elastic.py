"""``nona training elastic``: a workload of elastic jobs under several policies."""

from __future__ import annotations

import sys
from pathlib import Path

from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.cli.settings import settings_by_name
from nona.cli.training.options import ElasticOptions
from nona.errors import ScenarioError
from nona.experiments.progress import Shares
from nona.foreign.files import read_file
from nona.foreign.limits import MOST_FILE_BYTES
from nona.hardware.network import Discipline, Network
from nona.options import Option
from nona.report.training.elastic.text import elastic_text
from nona.study.elastic.run import USUAL, ElasticRequest, simulate_elastic_jobs
from nona.training.elastic.applications.application import Application
from nona.training.elastic.applications.reading import Tables, read_applications
from nona.training.elastic.applications.shipped import SOURCE
from nona.training.elastic.engine.run import ElasticProgress
from nona.training.elastic.model.link import Link
from nona.training.elastic.model.workload import SHIPPED
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.replications import replications_of


def elastic(arguments: ElasticOptions) -> None:
    """Run the policies; print a table or JSON, failed checks on standard error."""
    shipped = arguments.workload in map(str, SHIPPED)
    names = tuple(dict.fromkeys(arguments.policy)) or USUAL
    request = ElasticRequest(
        workload=arguments.workload,
        jobs=None if shipped else _read(Path(arguments.workload), "Workload"),
        applications=_applications(arguments.profiles),
        profiles=SOURCE if arguments.profiles is None else str(arguments.profiles),
        policies=names,
        nodes=arguments.nodes,
        gpus=arguments.gpus,
        tick_s=arguments.tick,
        restart_s=arguments.restart,
        load=arguments.load,
        interference=arguments.interference,
        replications=arguments.replications,
        seed=arguments.seed,
        options=_options(arguments, names),
        link=_link(arguments),
    )
    counts = {n: replications_of(ELASTIC[n], arguments.replications) for n in names}
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


def _link(arguments: ElasticOptions) -> Link | None:
    if arguments.background is None:
        return None
    discipline: Discipline = "fifo" if arguments.discipline == "fifo" else "processor-sharing"
    return Link(Network(arguments.capacity, discipline=discipline), arguments.background)


def _options(arguments: ElasticOptions, names: tuple[str, ...]) -> dict[str, dict[str, Option]]:
    found = settings_by_name(arguments.settings, names)
    if arguments.share_nodes:
        found.setdefault("pollux", {})["avoid_interference"] = False
    return found


def _applications(folder: Path | None) -> dict[str, Application] | None:
    if folder is None:
        return None
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
