"""The report on a serverless simulation, for ``nona serverless --json`` and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.plain import interval_bounds, number
from nona.serverless.records.metrics import ApplicationSummary, ServerlessSummary, Spread
from nona.simulation.statistics.intervals import Interval


def serverless_report(
    summaries: Mapping[str, ServerlessSummary],
    oracle: Mapping[str, Any] | None = None,
    checks: Mapping[str, Sequence[tuple[str, bool, str]]] | None = None,
    seconds: float = 0.0,
    setting: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All policies of one simulation. Intervals are ``[low, high]`` at 95 %, ``None`` if unknown.

    Parameters
    ----------
    oracle
        ``cost_per_call_usd`` and ``how`` it was found; ``None`` where it was not asked for.
    checks
        Policy → (name of a check, whether it held, in detail); ``checks`` of the report says for each
        whether it held in every run of every policy.
    setting
        What was run, as plain data.
    """
    held: dict[str, bool] = {}
    failed = []
    for policy, rows in (checks or {}).items():
        for name, ok, detail in rows:
            held[name] = held.get(name, True) and ok
            if not ok:
                failed.append(f"{policy}: {name}: {detail}")
    return {
        "policies": {name: _policy(s) for name, s in summaries.items()},
        "oracle": dict(oracle or {"cost_per_call_usd": None, "how": "not computed"}),
        "checks": held,
        "failed_checks": failed,
        "seconds": seconds,
        "setting": dict(setting or {}),
    }


def _policy(s: ServerlessSummary) -> dict[str, Any]:
    missed = s.configuration_miss_rate
    return {
        "state": s.state,
        "state_reason": s.reason,
        "replications": s.replications,
        "slo_hit_rate": _mean(s.slo_hit_rate),
        "cost_per_call_usd": _mean(s.cost_per_call_usd),
        "cost_per_hit_usd": _mean(s.cost_per_hit_usd),
        "latency_s": {**_mean(s.latency_s.mean), **_percentiles(s.latency_s)},
        "applications": {a.name: _application(a) for a in s.applications},
        "configuration_miss_rate": None if missed is None else _mean(missed),
        "cold_start_rate": number(s.cold_start_rate.mean),
        "locality": number(s.locality.mean),
        "search_s": {"mean": number(s.search_s.mean.mean), **_percentiles(s.search_s)},
        "steps_mean": number(s.steps_mean.mean),
        "utilization": {"vcpu": number(s.vcpu_utilization.mean), "vgpu": number(s.vgpu_utilization.mean)},
        "stranded_vgpus": number(s.stranded_vgpus.mean),
        "mean_batch": number(s.mean_batch.mean),
        "forced": number(s.forced.mean),
        "rechecks": number(s.rechecks.mean),
        "prewarms": number(s.prewarms.mean),
        "calls": {"arrived": s.arrived, "completed": s.completed, "in_flight": s.in_flight},
    }


def _application(a: ApplicationSummary) -> dict[str, Any]:
    return {
        "slo_s": a.slo_s,
        "calls": a.calls,
        "slo_hit_rate": number(a.slo_hit_rate.mean),
        "slo_hit_ci95": interval_bounds(a.slo_hit_rate),
        "latency_s": {"mean": number(a.latency_s.mean.mean), **_percentiles(a.latency_s)},
        "cost_per_call_usd": number(a.cost_per_call_usd.mean),
    }


def _mean(interval: Interval) -> dict[str, Any]:
    return {"mean": number(interval.mean), "ci95": interval_bounds(interval)}


def _percentiles(spread: Spread) -> dict[str, float | None]:
    return {f"p{percent}": number(value) for percent, value in spread.percentiles.items()}
