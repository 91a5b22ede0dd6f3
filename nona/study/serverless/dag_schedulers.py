"""The DAG schedulers of the core on serverless workflows: every vGPU an executor, every function at batch 1.

Every GPU is cut into its smallest slices; a stage is a task that takes what its function takes at the
smallest configuration, with the squared coefficient of variation noise². The core's engine then simulates
the scenario's schedulers, after its contraction: a chain is one task, which stays on one executor. What it
does not know: batches and configurations, vCPUs, cold starts, and the rule of which invoker holds an input
(it sends messages over the cluster's network instead).

Arrivals are those of the rows. With ``interval`` the core cannot draw one stream for all rows; each then has
renewal arrivals of its own whose gaps have the mean and the variation of what it gets of that stream.
A call of row i comes after a geometric number of gaps with mean 1/p, so that with gaps of squared variation
c the row's are p·c + 1 − p. The rows are then independent of each other, so that all together vary more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nona.errors import ScenarioError
from nona.hardware.catalogue import find_device, user_devices
from nona.hardware.geometry import board
from nona.report.means import bounds, mean_of, rate_of
from nona.results.estimate import Estimate
from nona.results.serverless.outcome import (
    CallCounts,
    SchedulerApplication,
    SchedulerOutcome,
    Utilization,
)
from nona.results.serverless.report import SchedulersReport
from nona.results.serverless.values import Tail, TailLatency
from nona.scenario.schema import BackgroundSpec, Scenario, ServerGroupSpec
from nona.scenario.workload import ArrivalsSpec, WorkloadRow
from nona.serverless.model.system import ServerlessSystem
from nona.simulation.statistics.intervals import mean_interval
from nona.simulation.statistics.summary import JctSummary, ModelSummary
from nona.sources.lookup import Sources
from nona.study.preparation import prepare
from nona.study.serverless.preparation import prepare_serverless
from nona.study.simulating.run import SimulationProgress, SimulationResult, simulate

BATCH = 1
_NO_SOURCES = Sources()
LEFT_OUT = (
    "batches and configurations, vCPUs, cold starts, containers and home invokers are not simulated; "
    "messages share the cluster's network"
)


def dag_scenario(scenario: Scenario, system: ServerlessSystem) -> Scenario:
    """The scenario for the core: workflows with stated times, on the smallest slices, without background.

    Raises
    ------
    ScenarioError
        When it is not serverless.
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
) -> SchedulersReport:
    """Every scheduler's outcome.

    ``batch`` is 1, ``kind`` says ``dag-scheduler``. The cost of a call is that of the executor-seconds at
    the price of the smallest configuration.

    Raises
    ------
    NonaError
        As the preparation or the core do.
    """
    system = prepare_serverless(scenario, sources)
    core = dag_scenario(scenario, system)
    sizes = {"jobs": calls, "replications": replications}
    given = {k: v for k, v in sizes.items() if v is not None}
    core = core.model_copy(update={"simulation": core.simulation.model_copy(update=given)})
    result = simulate(prepare(core, sources), workers=workers, on_progress=on_progress)
    return SchedulersReport(schedulers={name: _outcome(name, result, system) for name in result.summaries})


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


def _outcome(name: str, result: SimulationResult, system: ServerlessSystem) -> SchedulerOutcome:
    summary = result.summaries[name]
    price = float(system.price_per_s[system.space.smallest])
    cost = mean_interval(
        [price * float(run.executor_busy_s.sum()) / run.jobs for run in result.records[name]]
    )
    hits = summary.hit_rate
    rate = math.nan if hits is None else hits.mean
    return SchedulerOutcome(
        kind="dag-scheduler",
        batch=BATCH,
        left_out=LEFT_OUT,
        state=summary.state,
        state_reason=summary.state_reason,
        replications=summary.replications,
        slo_hit_rate=rate_of(hits),
        cost_per_call_usd=mean_of(cost),
        cost_per_hit_usd=Estimate(mean=cost.mean / rate if rate > 0 else None, ci95=None),
        latency_s=_latency(summary.jct),
        applications={m.name: _application(m) for m in summary.models},
        configuration_miss_rate=None,
        cold_start_rate=None,
        locality=None,
        search_s=None,
        mean_batch=float(BATCH),
        utilization=Utilization(vcpu=None, vgpu=summary.utilization_compute),
        calls=CallCounts(arrived=summary.arrived, completed=summary.completed, in_flight=summary.in_flight),
    )


def _latency(jct: JctSummary) -> TailLatency:
    return TailLatency(
        mean=jct.mean.mean, p50=jct.p50.mean, p95=jct.p95.mean, p99=jct.p99.mean, ci95=bounds(jct.mean)
    )


def _application(m: ModelSummary) -> SchedulerApplication:
    return SchedulerApplication(
        slo_s=m.slo_s,
        slo_hit_rate=None if m.hit_rate is None else m.hit_rate.mean,
        latency_s=Tail(mean=m.jct.mean.mean, p50=m.jct.p50.mean, p95=m.jct.p95.mean, p99=m.jct.p99.mean),
    )
