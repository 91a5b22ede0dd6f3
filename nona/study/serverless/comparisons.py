"""Ways of sharing side by side; the nodes that keep the SLOs.

Whether a count *keeps* the target or *misses* it is said by the sequential test of
:mod:`nona.planning.verdict`; replications are added up to a bound, and what is then still open does not keep
it. More nodes need not help, as they spread warm containers and inputs; so the counts next to the one found
are looked at as well, see :func:`nona.planning.least.least`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from nona.errors import ScenarioError
from nona.experiments import do_nothing
from nona.gpu_sharing.registry import WAYS
from nona.planning.least import BESIDE, driven, least
from nona.planning.verdict import Counts, counted, estimate_of, settle, verdict
from nona.results import serverless
from nona.results.document import Verdict
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.metrics import slo_ratios
from nona.serverless.system import ServerlessSystem
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario, with_sharing
from nona.study.sweep_numbers import with_value
from nona.study.sweeps import Hear
from nona.tables import kept_text

_NO_SOURCES = Sources()


class How(TypedDict, total=False):
    """Options of :func:`~nona.study.serverless.run.simulate_serverless_scenario` for each way's runs."""

    policies: Sequence[str]
    calls: int | None
    replications: int | None
    workers: int
    oracle: bool


def ways_for(scenario: Scenario | None = None) -> tuple[str, ...]:
    """The ways of sharing that can be compared; with fixed slices only where every server states its own.

    >>> ways_for()
    ('mig-counter', 'mig-geometry', 'mps', 'time-slicing')
    """
    free = [way.name for way in WAYS.values() if not way.fixed_layout]
    if scenario is None or not all(group.mig for group in scenario.cluster.servers):
        return tuple(free)
    return (*free, *(way.name for way in WAYS.values() if way.fixed_layout))


def compare_sharing(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    modes: Sequence[str] = (),
    *,
    on_progress: Callable[[str, float, ServerlessProgress], None] | None = None,
    **how: Unpack[How],
) -> Mapping[str, ServerlessResult]:
    """Way of sharing → result.

    ``modes``: names of ways; without any, :func:`ways_for` every cluster.
    ``on_progress``: called with the mode, the share of all modes' work that is done, and what one run told.
    ``how``: as :func:`~nona.study.serverless.run.simulate_serverless_scenario` takes it.
    """
    results: dict[str, ServerlessResult] = {}
    base = prepare_serverless(scenario, sources)
    chosen = tuple(modes) or ways_for()
    for done, mode in enumerate(chosen):

        def report(progress: ServerlessProgress, done: int = done, mode: str = mode) -> None:
            if on_progress is not None:
                on_progress(mode, (done + progress.fraction) / len(chosen), progress)

        changed = with_sharing(scenario, mode)
        sharing = base.sharing if changed.serverless is None else changed.serverless.sharing
        results[mode] = simulate_serverless_scenario(
            changed,
            sources,
            system=replace(base, sharing=sharing),
            on_progress=report if on_progress else None,
            **how,
        )
    return results


ALPHA = 0.05  # of each verdict


def nodes_needed(
    scenario: Scenario,
    asked: serverless.NodesRequest,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    on_progress: Hear[serverless.NodesReport] = do_nothing,
) -> serverless.NodesReport:
    """The fewest nodes of the cluster's first group with which each policy keeps the target of the SLOs.

    ``on_progress`` hears of every count as it is judged; what it raises (``Cancelled``) comes out.

    Raises ``ScenarioError`` when the target is not between 0 and 1.
    """
    if not 0 < asked.target < 1:
        raise ScenarioError([f"Nodes: target {asked.target:g} must lie between 0 and 1; give 0.99 for 99 %."])
    answers: dict[str, serverless.NodesFor] = {}
    setting = serverless.NodesSetting(calls=asked.calls, seed=scenario.seed, name=scenario.name)

    def report() -> serverless.NodesReport:
        return serverless.NodesReport.like(asked, policies=dict(answers), setting=setting)

    for policy in asked.policies:

        def tell(text: str, share: float, policy: str = policy) -> None:
            on_progress((len(answers) + share) / len(asked.policies), f"{policy}: {text}", report)

        tell("looking for the fewest nodes", 0.0)
        answers[policy] = _nodes_for(scenario, policy, asked, sources, workers, tell)
    return report()


def _nodes_for(
    scenario: Scenario,
    policy: str,
    asked: serverless.NodesRequest,
    sources: Sources,
    workers: int,
    tell: Callable[[str, float], None],
) -> serverless.NodesFor:
    tried: dict[int, serverless.TriedNodes] = {}

    def keeps(nodes: int) -> bool:
        if nodes not in tried:
            changed = with_value(scenario, "cluster.servers[0].count", nodes)
            tried[nodes] = _judged(changed, policy, asked, sources, nodes, workers)
            kept = kept_text(tried[nodes].slo_hit_rate.mean)
            tell(f"{nodes} nodes keep {kept}", 1 - 0.85 ** len(tried))
        return tried[nodes].verdict == "keeps"

    count = driven(least(asked.most, scenario.cluster.servers[0].count, beside=BESIDE), keeps)
    fewest = None if count is None else tried[count]
    return serverless.NodesFor(found=fewest, tried=tuple(tried[n] for n in sorted(tried)))


def _judged(
    scenario: Scenario,
    policy: str,
    asked: serverless.NodesRequest,
    sources: Sources,
    nodes: int,
    workers: int,
) -> serverless.TriedNodes:
    """Simulate one count with more and more replications until a verdict on the target stands."""
    system = prepare_serverless(scenario, sources)

    def simulate(replications: int) -> ServerlessResult:
        return simulate_serverless_scenario(
            scenario,
            sources,
            system=system,
            policies=(policy,),
            calls=asked.calls,
            replications=replications,
            workers=workers,
            oracle=False,
        )

    def counts_of(result: ServerlessResult) -> Counts:
        return counted([slo_ratios(system, r) for r in result.records[policy]], asked.target)

    def judge(result: ServerlessResult, look: int, looks: int) -> Verdict:
        if result.summaries[policy].state == "overloaded":
            return "misses"
        return verdict([counts_of(result)], [asked.target], ALPHA, look, looks)

    settled = settle(simulate, judge, asked.replications, asked.first)
    summary = settled.result.summaries[policy]
    return serverless.TriedNodes(
        nodes=nodes,
        slo_hit_rate=estimate_of(counts_of(settled.result)),
        replications=summary.replications,
        verdict=settled.verdict,
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


def held_usd_hour(summary: serverless.PolicyOutcome, system: ServerlessSystem) -> float:
    """US dollars an hour of the vCPUs and vGPUs that batches held on average."""
    vcpus = sum(node.vcpus for node in system.invokers) * (summary.utilization.vcpu or 0.0)
    vgpus = sum(node.gpus * node.vgpus for node in system.invokers) * (summary.utilization.vgpu or 0.0)
    return float(vcpus * system.prices.vcpu_hour + vgpus * system.prices.vgpu_hour)
