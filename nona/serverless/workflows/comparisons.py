"""Ways of sharing side by side; the nodes that keep the SLOs.

Whether a count *keeps* the target or *misses* it is said by the sequential test of
:mod:`nona.core.verdict`; replications are added up to a bound, and what is then still open does not keep
it. More nodes need not help, as they spread warm containers and inputs; so the counts next to the one found
are looked at as well, see :func:`nona.core.count_search.smallest_count`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.count_search import BESIDE, nested_search, smallest_count
from nona.core.errors import ScenarioError
from nona.core.experiments import do_nothing, kept_pool
from nona.queries.sweeps.numbers import number_named
from nona.queries.sweeps.run import OnSweepProgress
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.serverless import results as serverless
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.system import ServerlessSystem
from nona.serverless.workflows.knees import (
    STEP_PART,
    KneePoints,
    PolicySearch,
    Probe,
    Replications,
    Search,
    UnknownCountProgress,
)
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import ServerlessResult, simulate_serverless_scenario, with_sharing

_NO_SOURCES = Sources()


class ComparisonOptions(TypedDict, total=False):
    """Options of :func:`~nona.serverless.workflows.run.simulate_serverless_scenario` for each way's runs."""

    policies: Sequence[str]
    calls: int | None
    replications: int | None
    workers: int
    oracle: bool


def ways_for(scenario: Scenario | None = None) -> tuple[str, ...]:
    """Return the ways of sharing that can be compared.

    With fixed slices only where every server states its own.

    >>> ways_for()
    ('mig-counter', 'mig-geometry', 'mps', 'time-slicing')
    """
    free = [way.name for way in SHARING_MODES.values() if not way.fixed_layout]
    if scenario is None or not all(group.mig for group in scenario.cluster.servers):
        return tuple(free)
    return (*free, *(way.name for way in SHARING_MODES.values() if way.fixed_layout))


def compare_sharing(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    modes: Sequence[str] = (),
    *,
    on_progress: Callable[[str, float, ServerlessProgress], None] | None = None,
    **how: Unpack[ComparisonOptions],
) -> Mapping[str, ServerlessResult]:
    """Way of sharing → result.

    ``modes``: names of ways; without any, :func:`ways_for` every cluster.
    ``on_progress``: called with the mode, the share of all modes' work that is done, and what one run told.
    ``how``: as :func:`~nona.serverless.workflows.run.simulate_serverless_scenario` takes it.
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


NODES = "cluster.servers[0].count"


def nodes_needed(
    scenario: Scenario,
    asked: serverless.NodesRequest,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    on_progress: OnSweepProgress[serverless.NodesReport] = do_nothing,
) -> serverless.NodesReport:
    """Find the fewest nodes of the cluster's first group with which each policy keeps the target of the SLOs.

    ``on_progress`` gets the progress of every run; an exception that it raises (``Cancelled``) ends the work.

    Raises ``ScenarioError`` when the target is not between 0 and 1.
    """
    if not 0 < asked.target < 1:
        raise ScenarioError([f"Nodes: target {asked.target:g} must lie between 0 and 1; give 0.99 for 99 %."])
    number = number_named(scenario, NODES)
    now = int(number.value_in(scenario))
    looks = serverless.OverRequest(
        number=NODES,
        values=(now,),
        schedulers=asked.policies,
        target=asked.target,
        jobs=asked.calls,
        replications=asked.first,
        most=asked.replications,
    )
    answers: dict[str, serverless.NodesFor] = {}
    setting = serverless.NodesSetting(calls=asked.calls, seed=scenario.seed, name=scenario.name)

    def report() -> serverless.NodesReport:
        return serverless.NodesReport.from_fields(asked, policies=dict(answers), setting=setting)

    def tried(point: serverless.OverPoint) -> serverless.TriedNodes:
        system = prepare_serverless(number.with_value(scenario, point.value), sources)
        return serverless.TriedNodes.from_fields(
            point,
            nodes=int(point.value),
            usd_hour=cluster_usd_hour(system),
            held_usd_hour=held_usd_hour(point.utilization, system),
        )

    def fewest(search: PolicySearch) -> Search:
        def keeps(nodes: int) -> Generator[Probe, Replications, bool]:
            yield from search.point(nodes)
            return search.points[nodes].verdict == "keeps"

        count = yield from nested_search(smallest_count(asked.most, now, beside=BESIDE), keeps)
        every = {n: tried(search.points[n]) for n in sorted(search.points)}
        answers[search.policy] = serverless.NodesFor(
            found=None if count is None else every[count], tried=tuple(every.values())
        )

    with kept_pool(workers) as pool:
        knee_points = KneePoints(scenario, number, looks, sources, pool)
        for done, policy in enumerate(asked.policies):
            part = UnknownCountProgress(STEP_PART)

            def on_share(
                share: float, done: int = done, policy: str = policy, part: UnknownCountProgress = part
            ) -> None:
                text = f"{policy}: looking for the fewest nodes"
                on_progress((done + part.share_of_whole(share)) / len(asked.policies), text, report)

            on_share(0.0)
            knee_points.run([fewest(PolicySearch(looks, number, policy))], on_share)
    return report()


def cluster_usd_hour(system: ServerlessSystem) -> float:
    """US dollars an hour of all vCPUs and vGPUs of the cluster, used or not.

    Formula: Σ over nodes of vCPUs · price + GPUs · vGPUs · price.
    """
    return sum(
        node.vcpus * system.prices.vcpu_hour + node.gpus * node.vgpus * system.prices.vgpu_hour
        for node in system.invokers
    )


def held_usd_hour(utilization: serverless.Utilization, system: ServerlessSystem) -> float:
    """US dollars an hour of the vCPUs and vGPUs that batches held on average."""
    vcpus = sum(node.vcpus for node in system.invokers) * (utilization.vcpu or 0.0)
    vgpus = sum(node.gpus * node.vgpus for node in system.invokers) * (utilization.vgpu or 0.0)
    return float(vcpus * system.prices.vcpu_hour + vgpus * system.prices.vgpu_hour)
