"""Elastic jobs of a scenario under several policies, and how long that takes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nona.cluster.hardware.cluster import Network
from nona.core.checks import passed_and_failed
from nona.core.errors import ScenarioError, SimulationError
from nona.core.options import Options
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.training import ElasticSpec, ProfilesSpec
from nona.training.elastic.applications import TrainingApplication
from nona.training.elastic.engine import OnProgress
from nona.training.elastic.profiles import SOURCE, ProfileFiles, read_applications, shipped_applications
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun, PolicyRun, run_pieces
from nona.training.elastic.results import ElasticLink, ElasticOutcome, ElasticReport, ElasticSetting
from nona.training.elastic.system import CoreLink, ElasticCluster, ElasticJob, ElasticSystem
from nona.training.elastic.workload import SHIPPED, PublishedRun, at_load, published, read_workload
from nona.training.metrics import level_with_shortest, pooled

SEARCHED_S, LINKED_S, OTHER_S = 35.0, 2.0, 0.7
"""Seconds of 160 jobs on one idle core, at usual ticks: Pollux's whole search, on a link, without both."""
USUAL_TICK_S = 60.0
WHOLE = 100  # solutions, and generations
FEW_S, MINUTE_S = 10.0, 90.0


def expected_s(spec: ElasticSpec, replications: int) -> float:
    """Estimate the seconds on one idle core, from runs of the shipped workloads; files count as 160 jobs.

    >>> round(expected_s(ElasticSpec(policies=["pollux", "tiresias"], load=0.5), 2), 2)
    35.35
    >>> expected_text(expected_s(ElasticSpec(policies=["pollux"], tick="1 s"), 1))
    'about 35 minutes'
    """
    each = (_policy_s(entry.name, entry.options, spec.link, replications) for entry in spec.policies)
    return spec.load * sum(each) * USUAL_TICK_S / spec.tick


def _policy_s(owner: str, options: Options, linked: bool, replications: int) -> float:
    policy = ELASTIC.get(owner)
    if policy is None or not policy.drawn:
        return LINKED_S if linked else OTHER_S
    chosen = {**policy.defaults, **options}
    effort = 1.0
    for name in ("population", "generations"):
        value = chosen.get(name)
        effort *= value / WHOLE if isinstance(value, int) else 1.0
    return SEARCHED_S * effort * replications


def expected_text(seconds: float) -> str:
    """Return a time in words, not more exact than it is known.

    >>> expected_text(3.0), expected_text(31.4), expected_text(200.0)
    ('a few seconds', 'about 40 s', 'about 4 minutes')
    """
    if seconds < FEW_S:
        return "a few seconds"
    if seconds < MINUTE_S:
        return f"about {10 * math.ceil(seconds / 10)} s"
    return f"about {math.ceil(seconds / 60)} minutes"


USUAL = ("pollux", "optimus", "tiresias")


@dataclass(frozen=True)
class ElasticRequest:
    """Request of runs of elastic jobs.

    ``workload``: the number of a shipped one; or a name, and its CSV in ``jobs``.
    ``applications``: by name, the shipped ones if ``None``, described by ``profiles``.
    ``load``: only with a shipped workload. ``options`` by policy.
    ``link``: what all-reduce between nodes crosses; as measured if ``None``.
    """

    workload: str = "1"
    jobs: bytes | None = None
    applications: Mapping[str, TrainingApplication] | None = None
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
    link: CoreLink | None = None


@dataclass(frozen=True, eq=False)
class ElasticResult:
    """The report, the system that was run, and the runs of each policy."""

    report: ElasticReport
    system: ElasticSystem
    runs: Mapping[str, tuple[ElasticRun, ...]]


def elastic_system(request: ElasticRequest) -> ElasticSystem:
    """Return the cluster with its jobs."""
    return ElasticSystem(
        cluster=ElasticCluster(request.nodes, request.gpus),
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
        applications = request.applications or shipped_applications()
        return read_workload(request.jobs, f"Workload {request.workload!r}", applications)
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
    request : ElasticRequest
        Workload, policies, cluster and settings.
    workers : int, default 1
        Processes; results do not depend on their number.
    on_progress : callable, optional
        Gets each :class:`ElasticProgress`, whose ``piece`` is the policy's index. An exception that it raises
        ends the work.

    Returns
    -------
    ElasticResult
        The report, the system, and the runs of each policy.

    Raises
    ------
    NonaError
        If a workload, policy or option is not known.
    """
    begin = time.perf_counter()
    names = _distinct(request.policies)
    system = elastic_system(request)
    pieces = [PolicyRun(system, name, request.options.get(name, {})) for name in names]
    results = run_pieces(pieces, request.replications, workers=workers, on_progress=on_progress)
    runs = dict(zip(names, results, strict=True))
    passed, failed = passed_and_failed({n: [c for run in own for c in run.checks] for n, own in runs.items()})
    report = ElasticReport(
        policies={name: _pooled(own, published_mean(request, name)) for name, own in runs.items()},
        checks=passed,
        failed_checks=failed,
        seconds=time.perf_counter() - begin,
        setting=_setting(request, len(system.jobs), names),
        level=level_with_shortest(runs),
    )
    return ElasticResult(report, system, runs)


MEANS = ("makespan_s", "utilization", "restarts", "paused_share", "link_share")


def _pooled(runs: Sequence[ElasticRun], published_s: float | None) -> ElasticOutcome:
    outcomes = [run.outcome for run in runs]
    jcts = [outcome.jct_s for outcome in outcomes]
    return pooled(outcomes, jcts, MEANS, published_s=published_s, replications=len(runs))


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
    return published().get(PublishedRun(policy, request.load, slowed, avoid, int(request.workload)))


def _setting(request: ElasticRequest, jobs: int, names: Sequence[str]) -> ElasticSetting:
    link = request.link
    stated = {key: value for key, value in vars(request).items() if key in ElasticSetting.model_fields}
    stated |= {
        "jobs": jobs,
        "options": {n: {**ELASTIC[n].defaults, **request.options.get(n, {})} for n in names},
        "link": link
        and ElasticLink.from_fields(
            link.network, background=link.background, mean_bytes=link.mean_bytes, scv=link.scv
        ),
    }
    return ElasticSetting.model_validate(stated)


MOST_NODES = 1024
MOST_GPUS = 9
"""GPUs of a node: a placement has one digit for each."""

_NO_SOURCES = Sources()


def _elastic_part(scenario: Scenario) -> ElasticSpec:
    if scenario.training is None or scenario.training.elastic is None:
        raise ScenarioError(
            ["training.elastic: is missing; add for example the key 'training: {elastic: {workload: 1}}'."]
        )
    return scenario.training.elastic


def elastic_request(scenario: Scenario, sources: Sources = _NO_SOURCES) -> ElasticRequest:
    """Read ``training.elastic`` as a request, on the scenario's servers, with its seed and replications.

    Raises ``NonaError`` when there are no elastic jobs, servers differ or their GPUs are divided, a policy is
    not known, or a file is missing or cannot be read.

    >>> from nona.scenario.file import parse_scenario
    >>> servers = "cluster: {servers: [{count: 16, gpu: t4, gpus: 4}]}"
    >>> request = elastic_request(parse_scenario(f"{{{servers}, training: {{elastic: {{workload: 3}}}}}}"))
    >>> request.workload, request.nodes, request.gpus, request.policies
    ('3', 16, 4, ('pollux', 'optimus', 'tiresias'))
    """
    spec = _elastic_part(scenario)
    if problems := list(_problems(scenario)):
        raise ScenarioError(problems)
    sources.check(scenario)
    group = scenario.cluster.servers[0]
    return ElasticRequest(
        workload=spec.workload,
        jobs=None if spec.shipped else sources.read(spec.workload),
        applications=None if spec.profiles is None else _applications(spec.profiles, sources),
        profiles=SOURCE if spec.profiles is None else spec.profiles.applications,
        policies=tuple(ELASTIC.find(entry.name).name for entry in spec.policies),
        nodes=group.count,
        gpus=group.gpus,
        tick_s=int(spec.tick),
        restart_s=int(spec.restart),
        load=spec.load,
        interference=spec.interference,
        replications=scenario.simulation.replications,
        seed=scenario.seed,
        options={entry.name: entry.options for entry in spec.policies if entry.options},
        link=_link(scenario) if spec.link else None,
    )


def _link(scenario: Scenario) -> CoreLink:
    network, others = scenario.cluster.network, scenario.background.network
    core = Network(network.capacity, network.latency, network.discipline)
    return CoreLink(core, others.utilization, others.mean_size, others.scv)


def _problems(scenario: Scenario) -> Iterator[str]:
    groups = scenario.cluster.servers
    if len(groups) > 1:
        yield (
            f"cluster.servers: there are {len(groups)} groups, but elastic jobs were measured on nodes that "
            "are all alike; keep one group."
        )
    group = groups[0]
    for key in ("mig", "mps"):
        if (value := getattr(group, key)) is not None:
            yield (
                f"cluster.servers[0].{key}: {value!r} divides a GPU, but elastic jobs take whole ones; "
                "remove it."
            )
    for key, value, most in (("count", group.count, MOST_NODES), ("gpus", group.gpus, MOST_GPUS)):
        if value > most:
            yield (
                f"cluster.servers[0].{key}: {value} is more than the {most} that elastic jobs can use; "
                "lower it."
            )


def _applications(profiles: ProfilesSpec, sources: Sources) -> Mapping[str, TrainingApplication]:
    tables = ProfileFiles(*(sources.read(name) for _, name in profiles))
    return read_applications(tables, f"Profiles {profiles.applications!r}")
