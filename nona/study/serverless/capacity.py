"""The nodes that keep the SLOs under a policy, by simulation with the same random numbers for all counts.

A count *keeps* the target when the whole interval of its hit rate lies above it, *misses* it when the
whole interval lies below; while the target is inside, replications are added up to a bound, and what is
then still open does not keep it. From the scenario's own the count is doubled or halved, then halved
towards the least. More nodes need not help, as they spread warm containers and inputs; so the counts next
to the one found are looked at as well, see :func:`fewest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.report.means import rate_of
from nona.results.serverless.nodes import NodesFor, TriedNodes, Verdict
from nona.scenario.schema import Scenario
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.metrics import ServerlessSummary
from nona.simulation.statistics.intervals import Interval
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import simulate_serverless_scenario
from nona.study.sweeps.numbers import with_value

MOST = 256
BESIDE = 2
ALPHA = 0.025
FIRST_REPLICATIONS, MOST_REPLICATIONS = 4, 16
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

    least = fewest(keeps, chosen.most, scenario.cluster.servers[group].count)
    found = None if least is None else tried[least]
    return NodesFor(found=found, tried=tuple(tried[n] for n in sorted(tried)))


def fewest(keeps: Callable[[int], bool], most: int, start: int = 1, beside: int = BESIDE) -> int | None:
    """The fewest nodes that keep a target; the hit rate need not be monotone in their number.

    A count is *settled* when it keeps the target and the ``beside`` counts above it do so too (as far as
    they are in 1…``most``). The answer is settled and none of the ``beside`` counts below it is; nothing is
    said of counts further below that were not looked at. The search begins at ``start``.

    >>> fewest(lambda n: n >= 10, 100), fewest(lambda n: n in (6, 8) or n >= 10, 100)
    (10, 10)
    >>> fewest(lambda n: n != 20, 100), fewest(lambda n: False, 100)
    (1, None)
    """

    def settled(nodes: int) -> bool:
        return all(keeps(n) for n in range(nodes, min(nodes + beside, most) + 1))

    found = _halved(keeps, most, min(start, most))
    while found is not None and not settled(found):
        found = found + 1 if found < most else None
    while found is not None:
        below = next((n for n in range(max(1, found - beside), found) if settled(n)), None)
        if below is None:
            break
        found = below
    return found


def _halved(keeps: Callable[[int], bool], most: int, start: int = 1) -> int | None:
    """A count that keeps while the one before it does not, by doubling or halving from ``start``.

    >>> [_halved(lambda n: n >= 10, 100, start) for start in (1, 12, 100)], _halved(lambda n: n >= 10, 9)
    ([10, 10, 10], None)
    """
    low, high = 0, start
    if keeps(high):
        while low < high // 2 and keeps(high // 2):
            high //= 2
        low = high // 2
    while not keeps(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _judged(
    scenario: Scenario,
    policy: str,
    target: float,
    sources: Sources,
    size: CapacitySize,
    nodes: int,
    workers: int,
) -> TriedNodes:
    """Simulate one count with more and more replications until its interval leaves the target."""
    replications = size.first
    system = prepare_serverless(scenario, sources)
    while True:
        result = simulate_serverless_scenario(
            scenario,
            sources,
            system=system,
            policies=(policy,),
            calls=size.calls,
            replications=replications,
            workers=workers,
            oracle=False,
        )
        summary = result.summaries[policy]
        verdict = judged(summary.slo_hit_rate, target, summary.arrived, summary.state)
        if verdict != "open" or replications >= size.replications:
            return TriedNodes(
                nodes=nodes,
                slo_hit_rate=rate_of(summary.slo_hit_rate),
                replications=summary.slo_hit_rate.n,
                verdict=verdict,
                usd_hour=cluster_usd_hour(system),
                held_usd_hour=held_usd_hour(summary, system),
            )
        replications = min(2 * replications, size.replications)


def judged(hits: Interval, target: float, calls: int, state: str = "stable") -> Verdict:
    """The verdict on a target by the interval of a hit rate; a growing backlog never keeps a target.

    Replications that all keep every SLO leave an interval of no width, but ``calls`` hits in a row only say
    that the rate is at least α^(1/calls), α = 0.025 (Clopper and Pearson, Biometrika 26, 1934): the lower
    end is never taken above that.

    >>> judged(Interval(0.99, 0.005, 4), 0.98, 4000), judged(Interval(0.99, 0.02, 4), 0.98, 4000)
    ('keeps', 'open')
    >>> judged(Interval(1.0, 0.0, 4), 0.999, 400), judged(Interval(1.0, 0.0, 4), 0.999, 4000)
    ('open', 'keeps')
    """
    if state == "overloaded" or hits.high < target:
        return "misses"
    return "keeps" if min(hits.low, ALPHA ** (1 / calls)) > target else "open"


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
