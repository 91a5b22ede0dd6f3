"""Elastic jobs of a scenario under several policies, and how long that takes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nona.cluster.hardware.cluster import Network
from nona.core.checks import passed_and_failed
from nona.core.errors import ScenarioError
from nona.core.options import Options
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.training import ElasticSpec
from nona.training.elastic.engine import OnProgress
from nona.training.elastic.profiles import SOURCE, ProfileFiles, read_applications, shipped_applications
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun, PolicyRun, run_pieces
from nona.training.elastic.results import ElasticLink, ElasticOutcome, ElasticReport, ElasticSetting
from nona.training.elastic.system import CoreLink, ElasticCluster, ElasticJob, ElasticSystem
from nona.training.elastic.workload import PublishedRun, at_load, published, read_workload
from nona.training.metrics import level_with_shortest, pooled

SEARCHED_S, LINKED_S, OTHER_S = 35.0, 2.0, 0.7
"""Seconds of 160 jobs on one idle core, at usual ticks: Pollux's whole search, on a link, without both."""
USUAL_TICK_S = 60.0
WHOLE = 100  # solutions, and generations
FEW_S, MINUTE_S = 10.0, 90.0
_NO_SOURCES = Sources()


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


def measured_scenario(**elastic: object) -> Scenario:
    """Return the scenario of the published runs: 16 nodes with 4 GPUs each, one run; with these elastic jobs.

    >>> measured_scenario(workload=3).training.elastic.workload
    '3'
    """
    servers = [{"count": 16, "gpu": "t4", "gpus": 4}]
    data = {"cluster": {"servers": servers}, "training": {"elastic": elastic}}
    return scenario_from_mapping({**data, "simulation": {"replications": 1}, "seed": 0})


@dataclass(frozen=True, eq=False)
class ElasticResult:
    """The report, the system that was run, and the runs of each policy."""

    report: ElasticReport
    system: ElasticSystem
    runs: Mapping[str, tuple[ElasticRun, ...]]


def elastic_system(scenario: Scenario, sources: Sources = _NO_SOURCES) -> ElasticSystem:
    """Return the scenario's servers as nodes, with its elastic jobs.

    Raises ``NonaError`` when there are no elastic jobs, servers differ or their GPUs are divided, or a file
    is missing or cannot be read.
    """
    spec = elastic_part(scenario)
    if problems := list(_problems(scenario)):
        raise ScenarioError(problems)
    sources.check(scenario)
    group = scenario.cluster.servers[0]
    return ElasticSystem(
        cluster=ElasticCluster(group.count, group.gpus),
        jobs=_jobs(spec, sources),
        tick_s=int(spec.tick),
        restart_s=int(spec.restart),
        interference=spec.interference,
        seed=scenario.seed,
        source=SOURCE if spec.profiles is None else spec.profiles.applications,
        link=_link(scenario) if spec.link else None,
    )


def _jobs(spec: ElasticSpec, sources: Sources) -> tuple[ElasticJob, ...]:
    if spec.shipped:
        return at_load(int(spec.workload), spec.load)
    applications = shipped_applications()
    if spec.profiles is not None:
        tables = ProfileFiles(*(sources.read(name) for _, name in spec.profiles))
        applications = read_applications(tables, f"Profiles {spec.profiles.applications!r}")
    return read_workload(sources.read(spec.workload), f"Workload {spec.workload!r}", applications)


def simulate_elastic_jobs(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> ElasticResult:
    """Run every policy; those that draw random numbers in several replications.

    Parameters
    ----------
    scenario : Scenario
        A scenario with the part ``training.elastic``; its servers are the nodes.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
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
        If there are no elastic jobs, a policy or option is not known, or a file cannot be read.
    """
    begin = time.perf_counter()
    system, chosen = elastic_system(scenario, sources), elastic_part(scenario).policies
    pieces = [PolicyRun(system, ELASTIC.find(entry.name).name, entry.options) for entry in chosen]
    results = run_pieces(pieces, scenario.simulation.replications, workers=workers, on_progress=on_progress)
    runs = {piece.policy: own for piece, own in zip(pieces, results, strict=True)}
    passed, failed = passed_and_failed({n: [c for run in own for c in run.checks] for n, own in runs.items()})
    report = ElasticReport(
        policies={name: _pooled(own, published_mean(scenario, name)) for name, own in runs.items()},
        checks=passed,
        failed_checks=failed,
        seconds=time.perf_counter() - begin,
        setting=_setting(scenario, system),
        level=level_with_shortest(runs),
    )
    return ElasticResult(report, system, runs)


MEANS = ("makespan_s", "utilization", "restarts", "paused_share", "link_share")


def _pooled(runs: Sequence[ElasticRun], published_s: float | None) -> ElasticOutcome:
    outcomes = [run.outcome for run in runs]
    jcts = [outcome.jct_s for outcome in outcomes]
    return pooled(outcomes, jcts, MEANS, published_s=published_s, replications=len(runs))


def published_mean(scenario: Scenario, policy: str) -> float | None:
    """Mean JCT of the authors' simulator for the same run; ``None`` where they ran no such one."""
    spec, usual = elastic_part(scenario), measured_scenario()
    options = next((dict(entry.options) for entry in spec.policies if entry.name == policy), {})
    avoid = bool(options.pop("avoid_interference", True))
    shape, its = ((*_shape(of), elastic_part(of).tick, elastic_part(of).restart) for of in (scenario, usual))
    if options or shape != its or not spec.shipped or spec.link:
        return None
    # With avoidance no job is ever slowed: the authors' runs without interference stand for all.
    slowed = 0.0 if policy == "pollux" and avoid else spec.interference
    return published().get(PublishedRun(policy, spec.load, slowed, avoid, int(spec.workload)))


def _shape(scenario: Scenario) -> tuple[int, int]:
    return scenario.cluster.servers[0].count, scenario.cluster.servers[0].gpus


def _setting(scenario: Scenario, system: ElasticSystem) -> ElasticSetting:
    spec, link = elastic_part(scenario), system.link
    return ElasticSetting.from_fields(
        system,
        workload=spec.workload,
        jobs=len(system.jobs),
        nodes=system.cluster.nodes,
        gpus=system.cluster.gpus,
        load=spec.load,
        replications=scenario.simulation.replications,
        profiles=system.source,
        link=link
        and ElasticLink.from_fields(
            link.network, background=link.background, mean_bytes=link.mean_bytes, scv=link.scv
        ),
        options={entry.name: {**ELASTIC[entry.name].defaults, **entry.options} for entry in spec.policies},
    )


MOST_NODES = 1024
MOST_GPUS = 9
"""GPUs of a node: a placement has one digit for each."""


def elastic_part(scenario: Scenario) -> ElasticSpec:
    """Return the part ``training.elastic``; raises ``ScenarioError`` where it is missing."""
    if scenario.training is None or scenario.training.elastic is None:
        raise ScenarioError(
            ["training.elastic: is missing; add for example the key 'training: {elastic: {workload: 1}}'."]
        )
    return scenario.training.elastic


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
