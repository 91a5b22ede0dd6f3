"""From a scenario with elastic jobs to what is to be run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nona.errors import ScenarioError
from nona.hardware.network import Network
from nona.scenario.schema import Scenario
from nona.scenario.training_elastic import ElasticSpec, ProfilesSpec
from nona.sources.lookup import Sources
from nona.study.elastic.run import ElasticRequest
from nona.training.elastic.applications.application import Application
from nona.training.elastic.applications.reading import Tables, read_applications
from nona.training.elastic.applications.shipped import SOURCE
from nona.training.elastic.model.link import Link
from nona.training.elastic.policies.registry import ELASTIC

MOST_NODES = 1024
MOST_GPUS = 9
"""Of a node: a placement has one digit for each."""

_NO_SOURCES = Sources()


def elastic_part(scenario: Scenario) -> ElasticSpec:
    """The elastic jobs of a scenario.

    Raises
    ------
    ScenarioError
        When it has none.
    """
    if scenario.training is None or scenario.training.elastic is None:
        raise ScenarioError(
            ["training.elastic: is missing; add for example the key 'training: {elastic: {workload: 1}}'."]
        )
    return scenario.training.elastic


def elastic_request(scenario: Scenario, sources: Sources = _NO_SOURCES) -> ElasticRequest:
    """What ``training.elastic`` asks for, on the scenario's servers, with its seed and replications.

    Raises
    ------
    NonaError
        When there are no elastic jobs, servers differ or their GPUs are divided, a policy is not known, or
        a file is missing or cannot be read.

    Examples
    --------
    >>> from nona.scenario.file import parse_scenario
    >>> servers = "cluster: {servers: [{count: 16, gpu: t4, gpus: 4}]}"
    >>> request = elastic_request(parse_scenario(f"{{{servers}, training: {{elastic: {{workload: 3}}}}}}"))
    >>> request.workload, request.nodes, request.gpus, request.policies
    ('3', 16, 4, ('pollux', 'optimus', 'tiresias'))
    """
    spec = elastic_part(scenario)
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


def _link(scenario: Scenario) -> Link:
    """The core of the cluster's network with the scenario's background on it."""
    network, others = scenario.cluster.network, scenario.background.network
    core = Network(network.capacity, network.latency, network.discipline)
    return Link(core, others.utilization, others.mean_size, others.scv)


def _problems(scenario: Scenario) -> Iterator[str]:
    """Why elastic jobs cannot run on the servers."""
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


def _applications(profiles: ProfilesSpec, sources: Sources) -> Mapping[str, Application]:
    tables = Tables(*(sources.read(name) for _, name in profiles))
    return read_applications(tables, f"Profiles {profiles.applications!r}")
