"""Report on a simulation for ``nona simulate --json``, and one row per measured job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from nona.report.plain import interval_bounds, number
from nona.simulation.experiments.precision import Precision
from nona.simulation.records.run import Records
from nona.simulation.records.tally import PARTS
from nona.simulation.statistics.summary import JctSummary, SchedulerSummary
from nona.simulation.statistics.warmup import Warmup

MOST_LINKS = 8


def simulation_report(
    summaries: Mapping[str, SchedulerSummary],
    seconds: float,
    warmup: Warmup | None = None,
    precision: Precision | None = None,
) -> dict[str, Any]:
    """All schedulers of one simulation. Intervals are ``[low, high]`` at 95 %, ``None`` if unknown.

    Of the links, where there are several, the busiest are reported. ``checks`` says for each property
    whether it held in every run of every scheduler; ``warmup`` and ``precision`` how long the runs were
    and why, where that is known.
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
        "warmup": _warmup(warmup) if warmup else None,
        "precision": _precision(precision) if precision else None,
    }


def python_decisions(report: Mapping[str, Any]) -> list[str]:
    """Schedulers that slow the compiled engine down: their decisions could not be compiled.

    >>> schedulers = {"nona": {"decisions": "machine code"}, "mine": {"decisions": "python"}}
    >>> [python_decisions({"engine": e, "schedulers": schedulers}) for e in ("compiled", "simpy")]
    [['mine'], []]
    """
    if report["engine"] != "compiled":
        return []
    return [name for name, s in report["schedulers"].items() if s["decisions"] == "python"]


def job_table(records: Iterable[Records], names: Sequence[str]) -> pd.DataFrame:
    """One row per recorded job: scheduler, replication, model, arrival, completion, JCT (seconds)."""
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


def _scheduler(summary: SchedulerSummary) -> dict[str, Any]:
    rate = summary.hit_rate
    return {
        "jct_s": _jct(summary.jct),
        "parts_s": _parts(summary.jct),
        "models": {
            m.name: {
                "jct_s": number(m.jct.mean.mean),
                "jct_ci95": interval_bounds(m.jct.mean),
                "parts_s": _parts(m.jct),
                **{f"jct_p{p.percent:g}_s": number(p.interval.mean) for p in m.jct.percentiles},
                "percentiles": _percentiles(m.jct),
                "slo_s": m.slo_s,
                "slo_hit_rate": number(m.hit_rate.mean) if m.hit_rate else None,
            }
            for m in summary.models
        },
        "slo_hit_rate": {
            "mean": number(rate.mean) if rate else None,
            "ci95": interval_bounds(rate) if rate else None,
        },
        "jobs": {
            "arrived": summary.arrived,
            "completed": summary.completed,
            "in_flight": summary.in_flight,
        },
        "utilization": {
            "compute": number(summary.utilization_compute),
            "network": number(summary.utilization_network),
        },
        "offered": {"compute": number(summary.offered[0]), "network": number(summary.offered[1])},
        "little_s": number(summary.little_s),
        "links": {name: number(share) for name, share in summary.links[:MOST_LINKS]},
        "state": summary.state,
        "state_reason": summary.state_reason,
        "replications": summary.replications,
        "decisions": summary.decisions,
    }


def _jct(jct: JctSummary) -> dict[str, Any]:
    return {
        "mean": number(jct.mean.mean),
        "ci95": interval_bounds(jct.mean),
        **{f"p{p.percent:g}": number(p.interval.mean) for p in jct.percentiles},
        "percentiles": _percentiles(jct),
        "p99_reliable": not jct.p99.withheld,
        "jobs": jct.jobs,
    }


def _parts(jct: JctSummary) -> dict[str, float | None]:
    """Mean parts of the JCT; they add up to its mean."""
    return {name: number(value) for name, value in zip(PARTS, jct.parts_s, strict=True)}


def _percentiles(jct: JctSummary) -> dict[str, Any]:
    """Each percentile with its interval; if a value or an interval is withheld, the reason."""
    return {
        f"p{p.percent:g}": {
            "value_s": number(p.interval.mean),
            "ci95": interval_bounds(p.interval),
            "withheld": p.withheld or None,
            "interval_withheld": p.interval_withheld or None,
        }
        for p in jct.percentiles
    }


def _warmup(warmup: Warmup) -> dict[str, Any]:
    return {
        "rule": warmup.rule,
        "jobs": warmup.jobs,
        "schedulers": {n: {"jobs": c.jobs, "too_short": c.too_short} for n, c in warmup.cuts.items()},
        "too_short": list(warmup.too_short),
    }


def _precision(precision: Precision) -> dict[str, Any]:
    return {
        "target": precision.target,
        "bound": precision.bound,
        "replications": precision.replications,
        "reached": not precision.not_reached,
        "relative_half_width": {n: number(r) for n, r in precision.relative.items()},
        "not_reached": list(precision.not_reached),
        "overloaded": list(precision.overloaded),
    }
