"""Policies over one number of a scenario: findings, rows, text."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from nona.core.document import Figure
from nona.core.tables import (
    COUNT,
    KEPT,
    SHARE,
    WHOLE_SHARE,
    Column,
    FilledTable,
    NumberKind,
    Table,
    share_text,
    time_text,
)
from nona.core.text import join_words
from nona.core.units import format_number
from nona.queries.sweeps.findings import LOAD
from nona.queries.sweeps.report import value_text
from nona.serverless.report.findings import PER, USD
from nona.serverless.results import Knee, OverPoint, OverReport, PolicyOver

FEW = 3  # values that a sentence lists
_VERDICTS = {"keeps": "kept", "misses": "missed", "open": "open"}


def over_value(report: OverReport, value: Figure) -> str:
    """Return a value as people write it: a factor with its sign before it, as in × 2.4."""
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
        return f"at no value from {tried}" + (f" (undecided at {join_words(still)})" if still else "")
    if knee.missed is None:
        if knee.kept == max(values) or all(p.verdict == "keeps" for p in policy.points):
            return f"up to {over_value(report, max(values))}, the last value tried"
        return f"up to {kept} (undecided beyond)"
    word = "up to" if knee.missed > knee.kept else "from"
    ending = "" if word == "up to" else " on"
    return f"{word} {kept}{ending} (missed at {missed})"


def limit_of(policy: PolicyOver) -> Figure:
    """Return the largest value at which the policy was found to keep the target before it ceases to."""
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


class _Knee(NamedTuple):
    report: OverReport
    policy: PolicyOver

    @property
    def knees(self) -> str:
        return "; ".join(knee_text(self.report, self.policy, k) for k in self.policy.knees)

    @property
    def last(self) -> OverPoint | None:
        limit = limit_of(self.policy)
        return next((p for p in self.policy.points if p.value == limit), None)


def knees(report: OverReport) -> FilledTable:
    """Each policy's knees, and its figures at the last value that it keeps."""
    columns: tuple[Column[_Knee], ...] = (
        Column(f"keeps {share_text(report.target, 1)}", lambda r: r.knees),
        Column("vGPUs held there", lambda r: r.last.utilization.vgpu if r.last else None, WHOLE_SHARE),
        Column("vCPUs held there", lambda r: r.last.utilization.vcpu if r.last else None, WHOLE_SHARE),
        Column("calls in time per s", lambda r: r.last.goodput_per_s.mean if r.last else None),
        Column(
            f"$ per {PER:,}", lambda r: r.last.cost_per_call_usd if r.last else None, USD, "cost_per_call"
        ),
    )
    return Table("policy", columns).fill({name: _Knee(report, p) for name, p in report.policies.items()})


class _Point(NamedTuple):
    policy: str
    point: OverPoint


def over_points(report: OverReport) -> FilledTable:
    """Every simulated point, for pages and files."""
    columns: tuple[Column[_Point], ...] = (
        Column("policy", lambda r: r.policy),
        Column(
            report.label.lower(), lambda r: r.point.value, NumberKind(partial(over_value, report)), report.key
        ),
        Column("SLOs kept", lambda r: r.point.slo_hit_rate, KEPT, "slo_hit_rate", interval=True),
        Column("calls in time per s", lambda r: r.point.goodput_per_s, key="goodput_per_s", interval=True),
        Column(f"$ per {PER:,}", lambda r: r.point.cost_per_call_usd, USD, "cost_per_call", interval=True),
        Column(f"$ per {PER:,} hits", lambda r: r.point.cost_per_hit_usd, USD, "cost_per_hit", interval=True),
        Column("vCPUs", lambda r: r.point.utilization.vcpu, WHOLE_SHARE, "vcpu_utilization"),
        Column("vGPUs", lambda r: r.point.utilization.vgpu, WHOLE_SHARE, "vgpu_utilization"),
        Column("cold starts", lambda r: r.point.cold_start_rate, SHARE, "cold_start_rate"),
        Column("runs", lambda r: r.point.replications, COUNT, "replications"),
        Column("target", lambda r: _VERDICTS[r.point.verdict], key="verdict"),
        Column("state", lambda r: r.point.state),
    )
    return Table("", columns).fill(_Point(name, p) for name, of in report.policies.items() for p in of.points)


def over_setting(report: OverReport) -> str:
    """State the size of the simulation."""
    s = report.setting
    warmups = [p.warmup for policy in report.policies.values() for p in policy.points]
    span = " to ".join(f"{n:,}" for n in sorted({min(warmups), max(warmups)})) if warmups else ""
    first = f", {span} calls before them" if span else ""
    return (
        f"Runs of {s.calls:,} calls{first}; 2 to {s.replications} runs of a point, seed {s.seed}, "
        f"{time_text(report.seconds)}; intervals at 95 %. A knee lies between the last value that keeps the "
        "target and the nearest that misses it. The sequential test decides each at 95 %."
    )


def over_text(report: OverReport) -> str:
    """Format the output of ``nona serverless --over`` and of ``nona sweep`` of a serverless scenario."""
    texts = (knees(report).text(), over_points(report).text(), over_setting(report))
    return "\n\n".join([f"{over_finding(report)}.", *texts])
