"""The report on a serverless simulation, for JSON and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nona.report.means import bounds, mean_of, rate_of
from nona.results.serverless import (
    ApplicationOutcome,
    CallCounts,
    ContainerOutcome,
    Latency,
    MemoryOutcome,
    Oracle,
    PolicyOutcome,
    ServerlessReport,
    Setting,
    StandingOutcome,
    TransferOutcome,
    Utilization,
)
from nona.results.serverless import Spread as SpreadRow
from nona.serverless.held import StandingSummary
from nona.serverless.metrics import (
    ApplicationSummary,
    ContainerSummary,
    MemorySummary,
    ServerlessSummary,
    Spread,
)
from nona.serverless.records import TransferSummary

Check = tuple[str, bool, str]
"""Name of a check, whether it held, in detail."""


def serverless_report(
    summaries: Mapping[str, ServerlessSummary],
    setting: Setting,
    oracle: Oracle | None = None,
    checks: Mapping[str, Sequence[Check]] | None = None,
    seconds: float = 0.0,
) -> ServerlessReport:
    """All policies of one simulation; ``checks`` are those of each policy, by its name."""
    passed: dict[str, bool] = {}
    failed = []
    for policy, rows in (checks or {}).items():
        for name, ok, detail in rows:
            passed[name] = passed.get(name, True) and ok
            if not ok:
                failed.append(f"{policy}: {name}: {detail}")
    return ServerlessReport(
        policies={name: policy_outcome(s) for name, s in summaries.items()},
        oracle=oracle,
        checks=passed,
        failed_checks=tuple(failed),
        seconds=seconds,
        setting=setting,
    )


def policy_outcome(s: ServerlessSummary) -> PolicyOutcome:
    """The figures of one policy."""
    missed = s.configuration_miss_rate
    return PolicyOutcome(
        state=s.state,
        state_reason=s.reason,
        replications=s.replications,
        slo_hit_rate=rate_of(s.slo_hit_rate),
        cost_per_call_usd=mean_of(s.cost_per_call_usd),
        cost_per_hit_usd=mean_of(s.cost_per_hit_usd),
        latency_s=_latency(s.latency_s),
        applications={a.name: _application(a) for a in s.applications},
        configuration_miss_rate=None if missed is None else rate_of(missed),
        cold_start_rate=s.cold_start_rate.mean,
        locality=s.locality.mean,
        search_s=_spread(s.search_s),
        steps_mean=s.steps_mean.mean,
        utilization=Utilization(vcpu=s.vcpu_utilization.mean, vgpu=s.vgpu_utilization.mean),
        stranded_vgpus=s.stranded_vgpus.mean,
        mean_batch=s.mean_batch.mean,
        forced=s.forced.mean,
        rechecks=s.rechecks.mean,
        prewarms=s.prewarms.mean,
        calls=CallCounts(arrived=s.arrived, completed=s.completed, in_flight=s.in_flight, dropped=s.dropped),
        transfers=None if s.transfers is None else _transfers(s.transfers),
        containers=None if s.containers is None else _containers(s.containers),
        memory=None if s.memory is None else _memory(s.memory),
        standing=None if s.standing is None else _standing(s.standing),
    )


def _standing(s: StandingSummary) -> StandingOutcome:
    return StandingOutcome(
        instances=s.instances.mean,
        starts=s.starts.mean,
        busy_share=s.busy.mean,
        idle_share=1 - s.busy.mean,
    )


def _memory(m: MemorySummary) -> MemoryOutcome:
    return MemoryOutcome(mean=m.mean.mean, most=m.most, evictions=mean_of(m.evictions))


def _containers(c: ContainerSummary) -> ContainerOutcome:
    return ContainerOutcome(
        executing_per_call_usd=mean_of(c.executing_per_call_usd),
        idle_per_call_usd=mean_of(c.idle_per_call_usd),
        busy=c.busy.mean,
        idle=c.idle.mean,
        starting=c.starting.mean,
    )


def _transfers(t: TransferSummary) -> TransferOutcome:
    busiest = max(range(len(t.links)), key=lambda k: (t.utilization[k], -k))
    return TransferOutcome(
        mean_s=mean_of(t.mean_s),
        wait_s=mean_of(t.wait_s),
        core_utilization=t.utilization[0],
        busiest_link=t.links[busiest],
        busiest_utilization=t.utilization[busiest],
    )


def _application(a: ApplicationSummary) -> ApplicationOutcome:
    return ApplicationOutcome(
        slo_s=a.slo_s,
        calls=a.calls,
        slo_hit_rate=a.slo_hit_rate.mean,
        slo_hit_ci95=bounds(a.slo_hit_rate),
        latency_s=_spread(a.latency_s),
        cost_per_call_usd=a.cost_per_call_usd.mean,
    )


def _latency(spread: Spread) -> Latency:
    p5, p25, p50, p75, p95, p99 = _percentiles(spread)
    ends = bounds(spread.mean)
    return Latency(mean=spread.mean.mean, ci95=ends, p5=p5, p25=p25, p50=p50, p75=p75, p95=p95, p99=p99)


def _spread(spread: Spread) -> SpreadRow:
    p5, p25, p50, p75, p95, p99 = _percentiles(spread)
    return SpreadRow(mean=spread.mean.mean, p5=p5, p25=p25, p50=p50, p75=p75, p95=p95, p99=p99)


def _percentiles(spread: Spread) -> Iterable[float]:
    return (spread.percentiles[p] for p in (5, 25, 50, 75, 95, 99))
