"""Report on a simulation: what ``nona simulate --json`` prints, and one row per measured job."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from nona.simulation.records import Records
from nona.simulation.statistics import Interval, JctSummary, SchedulerSummary


def simulation_report(summaries: Mapping[str, SchedulerSummary], seconds: float) -> dict[str, Any]:
    """All schedulers of one simulation. Intervals are ``[low, high]`` at 95 %, ``None`` if unknown.

    ``checks`` says for each property whether it held in every run of every scheduler.
    """
    engines = sorted({s.engine for s in summaries.values()})
    checks: dict[str, bool] = {}
    failures = []
    for summary in summaries.values():
        for check in summary.checks:
            checks[check.name] = checks.get(check.name, True) and check.ok
            if not check.ok:
                failures.append(f"{summary.scheduler}: {check.name}: {check.detail}")
    return {
        "engine": ", ".join(engines),
        "seconds": seconds,
        "schedulers": {name: _scheduler(s) for name, s in summaries.items()},
        "checks": checks,
        "failed_checks": failures,
    }


def job_table(records: Iterable[Records], names: Sequence[str]) -> pd.DataFrame:
    """One row per measured job: scheduler, replication, model, arrival, completion, JCT (seconds)."""
    frames = [
        pd.DataFrame(
            {
                "scheduler": r.scheduler,
                "replication": r.replication,
                "model": [names[q] for q in r.query.tolist()],
                "arrival_s": r.arrival_s,
                "completion_s": r.completion_s,
                "jct_s": r.completion_s - r.arrival_s,
            }
        )
        for r in records
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def interval_bounds(interval: Interval) -> list[float] | None:
    """``[low, high]``, or ``None`` where no interval can be given."""
    if not math.isfinite(interval.half_width):
        return None
    return [interval.mean - interval.half_width, interval.mean + interval.half_width]


def _scheduler(summary: SchedulerSummary) -> dict[str, Any]:
    rate = summary.hit_rate
    return {
        "jct_s": _jct(summary.jct),
        "models": {
            m.name: {
                "jct_s": _number(m.jct.mean.mean),
                "jct_ci95": interval_bounds(m.jct.mean),
                **{f"jct_p{p.percent:g}_s": _number(p.interval.mean) for p in m.jct.percentiles},
                "percentiles": _percentiles(m.jct),
                "slo_s": m.slo_s,
                "slo_hit_rate": _number(m.hit_rate.mean) if m.hit_rate else None,
            }
            for m in summary.models
        },
        "slo_hit_rate": {
            "mean": _number(rate.mean) if rate else None,
            "ci95": interval_bounds(rate) if rate else None,
        },
        "jobs": {
            "arrived": summary.arrived,
            "completed": summary.completed,
            "in_flight": summary.in_flight,
        },
        "utilization": {
            "compute": _number(summary.utilization_compute),
            "network": _number(summary.utilization_network),
        },
        "state": summary.state,
        "state_reason": summary.state_reason,
        "replications": summary.replications,
    }


def _jct(jct: JctSummary) -> dict[str, Any]:
    return {
        "mean": _number(jct.mean.mean),
        "ci95": interval_bounds(jct.mean),
        **{f"p{p.percent:g}": _number(p.interval.mean) for p in jct.percentiles},
        "percentiles": _percentiles(jct),
        "p99_reliable": not jct.p99.withheld,
        "jobs": jct.jobs,
    }


def _percentiles(jct: JctSummary) -> dict[str, Any]:
    """Each with its interval; where a value or an interval is withheld, the reason."""
    return {
        f"p{p.percent:g}": {
            "value_s": _number(p.interval.mean),
            "ci95": interval_bounds(p.interval),
            "withheld": p.withheld or None,
            "interval_withheld": p.interval_withheld or None,
        }
        for p in jct.percentiles
    }


def _number(value: float) -> float | None:
    """``None`` in place of what is not a number, as JSON has no word for it."""
    return float(value) if math.isfinite(value) else None
