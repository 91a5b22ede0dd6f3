"""Ways of sharing and DAG schedulers side by side; the nodes that keep the SLOs.

Every GPU is cut into its smallest slices; a stage is a task that takes what its function takes at the
smallest configuration, with the squared coefficient of variation noise². The core's engine then simulates
the scenario's schedulers, after its contraction: a chain is one task, which stays on one executor. What it
does not know: batches and configurations, vCPUs, cold starts, and the rule of which invoker holds an input
(it sends messages over the cluster's network instead).

Arrivals are those of the rows. With ``interval`` the core cannot draw one stream for all rows; each then has
renewal arrivals of its own whose gaps have the mean and the variation of what it gets of that stream.
A call of row i comes after a geometric number of gaps with mean 1/p, so that with gaps of squared variation
c the row's are p·c + 1 − p. The rows are then independent of each other, so that all together vary more.

Whether a count *keeps* the target or *misses* it is said by the sequential test of
:mod:`nona.planning.verdict`; replications are added up to a bound, and what is then still open does not keep
it. More nodes need not help, as they spread warm containers and inputs; so the counts next to the one found
are looked at as well, see :func:`nona.planning.least.least`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from nona.errors import ScenarioError
from nona.gpu_sharing.registry import WAYS
from nona.hardware.device import find_device, user_devices
from nona.hardware.mig import board
from nona.planning.least import BESIDE, driven, least
from nona.planning.verdict import counted, settle, verdict
from nona.results import serverless
from nona.results.document import Estimate, Verdict
from nona.results.simulation import ModelResult
from nona.scenario.rows import ArrivalsSpec
from nona.scenario.schema import BackgroundSpec, Scenario, ServerGroupSpec, WorkloadRow
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.metrics import slo_ratios
from nona.serverless.system import ServerlessSystem
from nona.sources.lookup import Sources
from nona.statistics import mean_interval
from nona.study.preparation import prepare
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario, with_sharing
from nona.study.simulation import SimulationProgress, SimulationResult, simulate
from nona.study.sweep_numbers import with_value
from nona.study.sweeps import Hear, unheard
from nona.tables import percent_text

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


BATCH = 1
LEFT_OUT = (
    "batches and configurations, vCPUs, cold starts, containers and home invokers are not simulated; "
    "messages share the cluster's network"
)


def dag_scenario(scenario: Scenario, system: ServerlessSystem) -> Scenario:
    """The scenario for the core: workflows with stated times, on the smallest slices, without background.

    Raises ``ScenarioError`` when it is not serverless.
    """
    if scenario.serverless is None:
        raise ScenarioError(["serverless: is missing; add the key 'serverless: {}'."])
    smallest_s = system.time_s[:, system.space.smallest]
    models: dict[str, dict[str, Any]] = {}
    rows = []
    for row, app in zip(scenario.workload, system.applications, strict=True):
        stages = zip(app.stage_names, app.function, strict=True)
        models[app.name] = {
            "graph": {"name": app.name, "device": "any"},  # all slices are alike
            "nodes": [{"id": name, "compute_ms": 1e3 * float(smallest_s[f])} for name, f in stages],
            "edges": [
                {
                    "source": app.stage_names[u],
                    "target": app.stage_names[v],
                    "bytes": app.input_bytes[v] / len(app.dag.predecessors[v]),
                }
                for u, v in app.dag.edges()
            ],
        }
        rows.append(_row(row, app.name, app.slo_s, system))
    servers = tuple(_sliced(group, scenario) for group in scenario.cluster.servers)
    return scenario.model_copy(
        update={
            "cluster": scenario.cluster.model_copy(update={"servers": servers}),
            "workload": tuple(rows),
            "models": models,
            "background": BackgroundSpec(),
            "serverless": None,
        }
    )


def simulate_dag_schedulers(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    calls: int | None = None,
    replications: int | None = None,
    workers: int = 1,
    on_progress: Callable[[SimulationProgress], None] | None = None,
) -> serverless.SchedulersReport:
    """Every scheduler's outcome.

    ``batch`` is 1, ``kind`` says ``dag-scheduler``. The cost of a call is that of the executor-seconds at
    the price of the smallest configuration.

    Raises ``NonaError`` as the preparation or the core do.
    """
    system = prepare_serverless(scenario, sources)
    core = dag_scenario(scenario, system)
    sizes = {"jobs": calls, "replications": replications}
    given = {k: v for k, v in sizes.items() if v is not None}
    core = core.model_copy(update={"simulation": core.simulation.model_copy(update=given)})
    result = simulate(prepare(core, sources), workers=workers, on_progress=on_progress)
    return serverless.SchedulersReport(
        schedulers={name: _outcome(name, result, system) for name in result.summaries}
    )


def _row(row: WorkloadRow, name: str, slo_s: float, system: ServerlessSystem) -> WorkloadRow:
    update: dict[str, object] = {
        "model": name,
        "name": name,
        "slo": slo_s,
        "batch": BATCH,
        "symbols": {},
        "service_scv": system.noise**2,
    }
    if system.interval is not None:
        least, most = system.interval.least, system.interval.most
        share = row.rate / sum(app.rate for app in system.applications)
        mean_s = (least + most) / 2
        scv = (most - least) ** 2 / 12 / mean_s**2
        update["rate"] = share / mean_s
        cv = math.sqrt(share * scv + 1 - share)
        update["arrivals"] = ArrivalsSpec(process="gamma", cv=cv) if cv > 0 else _EVEN
    return row.model_copy(update=update)


_EVEN = ArrivalsSpec(process="deterministic")


def _sliced(group: ServerGroupSpec, scenario: Scenario) -> ServerGroupSpec:
    """The group with every GPU cut into its smallest slices; one without MIG stays whole."""
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    if device.mig is None:
        return group.model_copy(update={"mig": None, "mps": None})
    whole = board(device.mig)
    least = min((p for p in whole.profiles if p.standard), key=lambda p: p.compute_slices)
    layout = ", ".join([least.name] * whole.compute_slices)
    return group.model_copy(update={"mig": layout, "mps": None})


def _outcome(name: str, result: SimulationResult, system: ServerlessSystem) -> serverless.SchedulerOutcome:
    core = result.summaries[name].result
    price = float(system.price_per_s[system.space.smallest])
    cost = mean_interval(
        [price * float(run.executor_busy_s.sum()) / run.jobs for run in result.records[name]]
    )
    hits = core.slo_hit_rate
    return serverless.SchedulerOutcome.like(
        core,
        kind="dag-scheduler",
        batch=BATCH,
        left_out=LEFT_OUT,
        slo_hit_rate=hits,
        cost_per_call_usd=cost.estimate,
        cost_per_hit_usd=Estimate(mean=cost.mean / hits.mean if hits.mean else None, ci95=None),
        latency_s=serverless.TailLatency.like(core.jct_s),
        applications={name: _application(m) for name, m in core.models.items()},
        configuration_miss_rate=None,
        cold_start_rate=None,
        locality=None,
        search_s=None,
        mean_batch=float(BATCH),
        utilization=serverless.Utilization(vcpu=None, vgpu=core.utilization.compute),
        calls=serverless.CallCounts.like(core.jobs, dropped=core.jobs.dropped or 0),
    )


def _application(m: ModelResult) -> serverless.SchedulerApplication:
    return serverless.SchedulerApplication(
        slo_s=m.slo_s,
        slo_hit_rate=m.slo_hit_rate,
        latency_s=serverless.Tail(mean=m.jct_s, p50=m.jct_p50_s, p95=m.jct_p95_s, p99=m.jct_p99_s),
    )


ALPHA = 0.05  # of each verdict


def nodes_needed(
    scenario: Scenario,
    asked: serverless.NodesRequest,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    on_progress: Hear[serverless.NodesReport] = unheard,
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
            kept = percent_text(tried[nodes].slo_hit_rate.mean)
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

    def judge(result: ServerlessResult, look: int, looks: int) -> Verdict:
        if result.summaries[policy].state == "overloaded":
            return "misses"
        counts = counted([slo_ratios(system, r) for r in result.records[policy]], asked.target)
        return verdict([counts], [asked.target], ALPHA, look, looks)

    settled = settle(simulate, judge, asked.replications, asked.first)
    summary = settled.result.summaries[policy]
    return serverless.TriedNodes(
        nodes=nodes,
        slo_hit_rate=summary.slo_hit_rate,
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
