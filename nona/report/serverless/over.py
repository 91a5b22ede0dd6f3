"""Policies over one number of a scenario: findings, rows, text."""

from __future__ import annotations

from nona.report.serverless.findings import PER, cost_text, rate_text
from nona.report.sweeps import value_text
from nona.report.text import listed
from nona.results.document import Figure
from nona.results.serverless_study import Knee, OverPoint, OverReport, PolicyOver
from nona.tables.formats import or_dash, share_text, time_text
from nona.tables.table import text_table
from nona.units import format_number

LOAD = "load"
FEW = 3  # values that a sentence lists
_VERDICTS = {"keeps": "kept", "misses": "missed", "open": "open"}
Row = dict[str, str | float | None]


def over_value(report: OverReport, value: Figure) -> str:
    """A value as people write it: a factor with its sign before it, as in × 2.4."""
    if value is None:
        return "–"
    return f"× {format_number(value)}" if report.unit == "factor" else value_text(value, report.unit)


def knee_text(report: OverReport, policy: PolicyOver, knee: Knee) -> str:
    """State the bracket around a policy's knee, the last value at which it keeps the target.

    As in "up to × 2.4 (missed at × 2.45)".
    """
    kept, missed = over_value(report, knee.kept), over_value(report, knee.missed)
    values = [p.value for p in policy.points]
    if knee.kept is None:
        tried = f"{over_value(report, min(values))} to {over_value(report, max(values))}"
        still = [over_value(report, p.value) for p in policy.points if p.verdict == "open"]
        if len(still) == len(values):
            return f"undecided from {tried}"
        if len(still) > FEW:
            return f"undecided at {len(still)} of {len(values)} values from {tried}, missed at the others"
        return f"at no value from {tried}" + (f" (undecided at {listed(still)})" if still else "")
    if knee.missed is None:
        if knee.kept == max(values) or all(p.verdict == "keeps" for p in policy.points):
            return f"up to {over_value(report, max(values))}, the last value tried"
        return f"up to {kept} (undecided beyond)"
    word = "up to" if knee.missed > knee.kept else "from"
    ending = "" if word == "up to" else " on"
    return f"{word} {kept}{ending} (missed at {missed})"


def limit_of(policy: PolicyOver) -> Figure:
    """The largest value at which the policy was found to keep the target before it ceases to."""
    kept = [k.kept for k in policy.knees if k.kept is not None]
    return max(kept, default=None)


def over_finding(report: OverReport) -> str:
    """In one sentence: up to where each policy keeps the target, the one that holds longest first."""
    if not report.policies:
        return "No policy was run"
    order = sorted(report.policies.items(), key=lambda row: -(limit_of(row[1]) or 0.0))
    clauses = [
        f"{name} {' and '.join(knee_text(report, p, k) for k in p.knees) or 'not known yet'}"
        for name, p in order
    ]
    over = "" if report.key == LOAD else f" over {report.label}"
    return f"{share_text(report.target, 1)} of the SLOs are kept{over}: {'; '.join(clauses)}"


def knee_rows(report: OverReport) -> list[dict[str, str]]:
    """Tabulate each policy's knees, and its figures at the last value that it keeps."""
    rows = []
    for name, policy in report.policies.items():
        limit = limit_of(policy)
        point = next((p for p in policy.points if p.value == limit), None)
        rows.append(
            {
                "policy": name,
                f"keeps {share_text(report.target, 1)}": "; ".join(
                    knee_text(report, policy, k) for k in policy.knees
                ),
                "vGPUs held there": "–" if point is None else or_dash(point.utilization.vgpu, share_text),
                "vCPUs held there": "–" if point is None else or_dash(point.utilization.vcpu, share_text),
                "calls in time per s": "–" if point is None else _per_s(point),
                f"$ per {PER:,}": "–" if point is None else cost_text(point.cost_per_call_usd),
            }
        )
    return rows


def over_rows(report: OverReport) -> list[dict[str, str]]:
    """One row for every simulated point, as text."""
    return [
        {
            "policy": name if place == 0 else "",
            report.label.lower(): over_value(report, p.value),
            "SLOs kept": rate_text(p.slo_hit_rate),
            "calls in time per s": _per_s(p),
            f"$ per {PER:,}": cost_text(p.cost_per_call_usd),
            "vCPUs": or_dash(p.utilization.vcpu, share_text),
            "vGPUs": or_dash(p.utilization.vgpu, share_text),
            "runs": str(p.replications),
            "target": _VERDICTS[p.verdict],
            "state": p.state,
        }
        for name, policy in report.policies.items()
        for place, p in enumerate(policy.points)
    ]


def _per_s(point: OverPoint) -> str:
    return or_dash(point.goodput_per_s.mean, format_number)


def over_numbers(report: OverReport) -> list[Row]:
    """One flat row for every simulated point, plain numbers in SI units: for CSV and Parquet files."""
    rows: list[Row] = []
    for name, policy in report.policies.items():
        for p in policy.points:
            row: Row = {"policy": name, report.key: p.value}
            for key in ("slo_hit_rate", "goodput_per_s", "cost_per_call_usd", "cost_per_hit_usd"):
                estimate = getattr(p, key)
                low, high = estimate.ci95 or (None, None)
                row |= {key: estimate.mean, f"{key}_low": low, f"{key}_high": high}
            row |= {"vcpu_utilization": p.utilization.vcpu, "vgpu_utilization": p.utilization.vgpu}
            row |= {"cold_start_rate": p.cold_start_rate, "replications": p.replications}
            rows.append(row | {"verdict": p.verdict, "state": p.state})
    return rows


def over_setting(report: OverReport) -> str:
    """State the size of the simulation."""
    s = report.setting
    warmups = [p.warmup for policy in report.policies.values() for p in policy.points]
    span = " to ".join(f"{n:,}" for n in sorted({min(warmups), max(warmups)})) if warmups else ""
    first = f", {span} calls before them" if span else ""
    return (
        f"Runs of {s.calls:,} calls{first}; 2 to {s.replications} runs of a point, seed {s.seed}, "
        f"{time_text(report.seconds)}; intervals at 95 %. A knee lies between the last value found to keep "
        "the target and the nearest found to miss it, each by the sequential test at 95 %."
    )


def over_text(report: OverReport) -> str:
    """Format the output of ``nona serverless --over`` and of ``nona sweep`` of a serverless scenario."""
    knees, rows = knee_rows(report), over_rows(report)
    return "\n".join(
        [
            f"{over_finding(report)}.",
            "",
            text_table(knees, list(knees[0])),
            "",
            text_table(rows, list(rows[0])),
            "",
            over_setting(report),
        ]
    )
