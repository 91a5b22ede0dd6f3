"""One workload of elastic jobs under several policies: the report, and what happened."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nona.errors import ScenarioError, SimulationError
from nona.options import Options
from nona.report.training.elastic.report import elastic_report
from nona.results.training.elastic import ElasticLink, ElasticReport, ElasticSetting
from nona.training.elastic.applications.application import Application
from nona.training.elastic.applications.shipped import SOURCE, shipped_applications
from nona.training.elastic.engine.run import OnProgress
from nona.training.elastic.model.link import Link
from nona.training.elastic.model.system import Cluster, ElasticJob, ElasticSystem
from nona.training.elastic.model.workload import SHIPPED, at_load, read_workload
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.published import Case, published
from nona.training.elastic.replications import ElasticRun, Piece, run_pieces

USUAL = ("pollux", "optimus", "tiresias")


@dataclass(frozen=True)
class ElasticRequest:
    """What to run.

    ``workload``: the number of a shipped one; or a name, and its CSV in ``jobs``. ``applications``: by name,
    the shipped ones if ``None``, described by ``profiles``. ``load``: only with a shipped workload.
    ``options`` by policy. ``link``: what all-reduce between nodes crosses; as measured if ``None``.
    """

    workload: str = "1"
    jobs: bytes | None = None
    applications: Mapping[str, Application] | None = None
    profiles: str = SOURCE
    policies: tuple[str, ...] = USUAL
    nodes: int = 16
    gpus: int = 4
    tick_s: int = 60
    restart_s: int = 30
    load: float = 1.0
    interference: float = 0.0
    replications: int = 1
    seed: int = 0
    options: Mapping[str, Options] = field(default_factory=dict)
    link: Link | None = None


@dataclass(frozen=True, eq=False)
class ElasticResult:
    """The report, the system that was run, and the runs of each policy."""

    report: ElasticReport
    system: ElasticSystem
    runs: Mapping[str, tuple[ElasticRun, ...]]


def elastic_system(request: ElasticRequest) -> ElasticSystem:
    """The cluster with its jobs.

    Raises
    ------
    ScenarioError, SimulationError
        For a workload that does not ship or cannot be read, and jobs that cannot run.
    """
    return ElasticSystem(
        cluster=Cluster(request.nodes, request.gpus),
        jobs=_jobs(request),
        tick_s=request.tick_s,
        restart_s=request.restart_s,
        interference=request.interference,
        seed=request.seed,
        source=request.profiles,
        link=request.link,
    )


def _jobs(request: ElasticRequest) -> tuple[ElasticJob, ...]:
    if request.jobs is not None:
        if request.load != 1:
            raise SimulationError(
                f"Load {request.load:g} needs a shipped workload, whose hours are known; change the arrivals "
                f"in {request.workload!r}."
            )
        known = request.applications or shipped_applications()
        return read_workload(request.jobs, f"Workload {request.workload!r}", known)
    if request.applications is not None:
        raise SimulationError(
            "Elastic training: your own profiles need a workload of your own; give it as CSV, with the "
            "applications by their names in the profiles."
        )
    if request.workload not in map(str, SHIPPED):
        known_numbers = ", ".join(map(str, SHIPPED))
        raise ScenarioError(
            [f"Workload {request.workload!r} does not ship; choose from {known_numbers}, or give a CSV file."]
        )
    return at_load(int(request.workload), request.load)


def simulate_elastic_jobs(
    request: ElasticRequest, *, workers: int = 1, on_progress: OnProgress | None = None
) -> ElasticResult:
    """Run every policy; those that draw random numbers in several replications.

    Parameters
    ----------
    workers
        Processes; results do not depend on it.
    on_progress
        Hears each run; ``piece`` is the policy's place; may raise to stop all.
    """
    begin = time.perf_counter()
    names = _distinct(request.policies)
    system = elastic_system(request)
    pieces = [Piece(system, name, request.options.get(name, {})) for name in names]
    found = run_pieces(pieces, request.replications, workers=workers, on_progress=on_progress)
    runs = dict(zip(names, found, strict=True))
    setting = _setting(request, len(system.jobs), names)
    known = {name: published_mean(request, name) for name in names}
    return ElasticResult(
        elastic_report(system, runs, known, setting, time.perf_counter() - begin), system, runs
    )


def _distinct(policies: Sequence[str]) -> list[str]:
    if not policies:
        raise SimulationError("Elastic training: there is no policy; name one.")
    return [ELASTIC.find(name).name for name in dict.fromkeys(policies)]


def published_mean(request: ElasticRequest, policy: str) -> float | None:
    """Mean JCT of the authors' simulator for the same run; ``None`` where they ran no such one."""
    options = dict(request.options.get(policy, {}))
    avoid = bool(options.pop("avoid_interference", True))
    usual = ElasticRequest()
    shape = (request.nodes, request.gpus, request.tick_s, request.restart_s)
    same = shape == (usual.nodes, usual.gpus, usual.tick_s, usual.restart_s) and request.applications is None
    if options or not same or request.jobs is not None or request.link is not None:
        return None
    # With avoidance no job is ever slowed: the authors' runs without interference stand for all.
    slowed = 0.0 if policy == "pollux" and avoid else request.interference
    return published().get(Case(policy, request.load, slowed, avoid, int(request.workload)))


def link_setting(link: Link) -> ElasticLink:
    """A link as results state it."""
    network = link.network
    return ElasticLink(
        capacity=network.capacity,
        latency_s=network.latency_s,
        discipline=network.discipline,
        background=link.background,
        mean_bytes=link.mean_bytes,
        scv=link.scv,
    )


def _setting(request: ElasticRequest, jobs: int, names: Sequence[str]) -> ElasticSetting:
    return ElasticSetting(
        workload=request.workload,
        jobs=jobs,
        nodes=request.nodes,
        gpus=request.gpus,
        tick_s=request.tick_s,
        restart_s=request.restart_s,
        load=request.load,
        interference=request.interference,
        replications=request.replications,
        seed=request.seed,
        profiles=request.profiles,
        link=None if request.link is None else link_setting(request.link),
        options={n: {**ELASTIC[n].defaults, **request.options.get(n, {})} for n in names},
    )
