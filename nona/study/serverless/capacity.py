"""The nodes that keep the SLOs under a policy, by simulation with the same random numbers for all counts.

Whether a count *keeps* the target or *misses* it is said by the sequential test of
:mod:`nona.planning.verdict`; replications are added up to a bound, and what is then still open does not keep
it. More nodes need not help, as they spread warm containers and inputs; so the counts next to the one found
are looked at as well, see :func:`nona.planning.least.least`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.planning.counted import counted
from nona.planning.least import BESIDE, driven, least
from nona.planning.settle import settle
from nona.planning.verdict import verdict
from nona.report.means import rate_of
from nona.results.serverless.nodes import NodesFor, TriedNodes
from nona.results.verdict import Verdict
from nona.scenario.schema import Scenario
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.measured import slo_ratios
from nona.serverless.records.metrics import ServerlessSummary
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario
from nona.study.sweeps.numbers import with_value

MOST = 256
FIRST_REPLICATIONS, MOST_REPLICATIONS = 4, 16
ALPHA = 0.05  # of each verdict
_NO_SOURCES = Sources()


@dataclass(frozen=True, slots=True)
class CapacitySize:
    """How much is simulated: ``calls`` per run; replications at first and at most; counts at most."""

    calls: int = 2000
    first: int = FIRST_REPLICATIONS
    replications: int = MOST_REPLICATIONS
    most: int = MOST


def nodes_for(
    scenario: Scenario,
    policy: str,
    target: float,
    sources: Sources = _NO_SOURCES,
    *,
    size: CapacitySize | None = None,
    group: int = 0,
    workers: int = 1,
    on_tried: Callable[[TriedNodes], None] = lambda tried: None,
) -> NodesFor:
    """The fewest nodes of ``cluster.servers[group]`` with which ``policy`` keeps ``target`` of the SLOs.

    Parameters
    ----------
    on_tried
        Called with every count as it is judged; what it raises (``Cancelled``) comes out.

    Raises
    ------
    ScenarioError
        When there is no such group, or the target is not between 0 and 1.
    """
    chosen = size or CapacitySize()
    if not 0 < target < 1:
        raise ScenarioError([f"Nodes: target {target:g} must lie between 0 and 1; give 0.99 for 99 %."])
    if not 0 <= group < len(scenario.cluster.servers):
        raise ScenarioError([f"Nodes: there is no cluster.servers[{group}]; choose an existing group."])
    tried: dict[int, TriedNodes] = {}

    def keeps(nodes: int) -> bool:
        if nodes not in tried:
            changed = with_value(scenario, f"cluster.servers[{group}].count", nodes)
            tried[nodes] = _judged(changed, policy, target, sources, chosen, nodes, workers)
            on_tried(tried[nodes])
        return tried[nodes].verdict == "keeps"

    search = least(chosen.most, scenario.cluster.servers[group].count, beside=BESIDE)
    count = driven(search, keeps)
    found = None if count is None else tried[count]
    return NodesFor(found=found, tried=tuple(tried[n] for n in sorted(tried)))


def _judged(
    scenario: Scenario,
    policy: str,
    target: float,
    sources: Sources,
    size: CapacitySize,
    nodes: int,
    workers: int,
) -> TriedNodes:
    """Simulate one count with more and more replications until a verdict on the target stands."""
    system = prepare_serverless(scenario, sources)

    def simulate(replications: int) -> ServerlessResult:
        return simulate_serverless_scenario(
            scenario,
            sources,
            system=system,
            policies=(policy,),
            calls=size.calls,
            replications=replications,
            workers=workers,
            oracle=False,
        )

    def judge(result: ServerlessResult, look: int, looks: int) -> Verdict:
        if result.summaries[policy].state == "overloaded":
            return "misses"
        counts = counted([slo_ratios(system, r) for r in result.records[policy]], target)
        return verdict([counts], [target], ALPHA, look, looks)

    found = settle(simulate, judge, size.replications, size.first)
    summary = found.result.summaries[policy]
    return TriedNodes(
        nodes=nodes,
        slo_hit_rate=rate_of(summary.slo_hit_rate),
        replications=summary.slo_hit_rate.n,
        verdict=found.verdict,
        usd_hour=cluster_usd_hour(system),
        held_usd_hour=held_usd_hour(summary, system),
    )


def cluster_usd_hour(system: ServerlessSystem) -> float:
    """US dollars an hour of all vCPUs and vGPUs of the cluster, used or not.

    Formula: Σ over nodes of vCPUs · price + GPUs · vGPUs · price.
    """
    return sum(
        node.vcpus * system.prices.vcpu_hour + node.gpus * node.vgpus * system.prices.vgpu_hour
        for node in system.invokers
    )


def held_usd_hour(summary: ServerlessSummary, system: ServerlessSystem) -> float:
    """US dollars an hour of the vCPUs and vGPUs that batches held on average."""
    vcpus = sum(node.vcpus for node in system.invokers) * summary.vcpu_utilization.mean
    vgpus = sum(node.gpus * node.vgpus for node in system.invokers) * summary.vgpu_utilization.mean
    return float(vcpus * system.prices.vcpu_hour + vgpus * system.prices.vgpu_hour)
