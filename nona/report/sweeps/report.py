"""Report on a sweep: every scheduler at every value, its edges of stability, its ratio to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nona.report.means import mean_of, rate_of
from nona.results.document import number
from nona.results.estimate import UNKNOWN, Estimate
from nona.results.sweep import (
    TARGET,
    FormulaPoint,
    ServersNeeded,
    SweepReport,
    SweptCurve,
    SweptEdge,
    SweptPoint,
    SweptUtilization,
    Unit,
)
from nona.simulation.records.run import State
from nona.simulation.statistics.ratio import paired_ratio
from nona.simulation.statistics.summary import SchedulerSummary

Formula = Mapping[float, float | None]
REFERENCE = "nona"


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """One scheduler at one value: its state and why, the mean JCT (s) of each replication in order.

    ``summary`` is ``None`` where the scheduler cannot run: it samples from a placement, and there is none.
    """

    state: State
    reason: str
    means_s: tuple[float, ...]
    summary: SchedulerSummary | None


@dataclass(frozen=True, eq=False)
class Curves:
    """The results of a sweep so far.

    Attributes
    ----------
    key, label, unit
        The swept number: where it stands in the scenario, what people call it, its unit
        (:data:`~nona.results.sweep.Unit`).
    values
        Those at which every scheduler is simulated; ``points`` may hold more, near edges and bends.
    points
        Scheduler → value → point.
    formula
        Scheduler → value → predicted mean JCT (s), ``None`` where the formula has no steady state.
    slo_s
        The SLO that all classes share, if they do.
    target, needed
        The share of SLOs to keep; in a sweep of the load, the servers needed for it.
    """

    key: str
    label: str
    unit: Unit
    values: tuple[float, ...]
    points: Mapping[str, Mapping[float, CurvePoint]]
    formula: Mapping[str, Formula]
    jobs: int
    replications: int
    slo_s: float | None
    stage: str
    fraction: float
    seconds: float
    target: float = TARGET
    needed: tuple[ServersNeeded, ...] = ()


def sweep_report(curves: Curves) -> SweepReport:
    """What ``nona sweep --json`` prints; above a ratio of 1 the reference is faster."""
    reference = reference_of(list(curves.points))
    beside = curves.points[reference]
    engines = sorted({p.summary.engine for c in curves.points.values() for p in c.values() if p.summary})
    return SweepReport(
        key=curves.key,
        label=curves.label,
        unit=curves.unit,
        values=curves.values,
        jobs=curves.jobs,
        replications=curves.replications,
        slo_s=curves.slo_s,
        reference=reference,
        engine=", ".join(engines),
        stage=curves.stage,
        complete=curves.fraction >= 1,
        seconds=curves.seconds,
        schedulers={
            name: _scheduler(points, curves.formula.get(name), beside)
            for name, points in curves.points.items()
        },
        target=curves.target,
        needed=curves.needed,
    )


def reference_of(schedulers: Sequence[str]) -> str:
    """The scheduler that the others are compared with: nona, or else the first.

    >>> reference_of(["local", "nona"]), reference_of(["spread", "local"])
    ('nona', 'spread')
    """
    return REFERENCE if REFERENCE in schedulers else schedulers[0]


def turns(flags: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """Neighbouring values between which the flag changes.

    >>> turns([(0.0, True), (0.5, True), (0.7, False), (0.9, False)])
    [(0.5, 0.7)]
    """
    return [(a, b) for (a, x), (b, y) in pairwise(flags) if x != y]


def stable_flags(points: Mapping[float, CurvePoint]) -> list[tuple[float, bool]]:
    """Value and whether it has a steady state, ascending; a backlog at the end does not make it unstable."""
    return [(value, points[value].state != "overloaded") for value in sorted(points)]


def formula_flags(formula: Formula) -> list[tuple[float, bool]]:
    """Value and whether the formula has a steady state there, ascending."""
    return [(value, formula[value] is not None) for value in sorted(formula)]


def curve_rows(report: SweepReport) -> list[dict[str, float | str | None]]:
    """One flat row for every simulated point, SI units: for CSV and Parquet files."""
    return [
        _row(report.key, name, report.reference, point)
        for name, curve in report.schedulers.items()
        for point in curve.points
    ]


def _row(key: str, scheduler: str, reference: str, p: SweptPoint) -> dict[str, float | str | None]:
    low, high = p.jct_s.ci95 or (None, None)
    ratio_low, ratio_high = p.ratio.ci95 or (None, None)
    return {
        "key": key,
        "value": p.value,
        "scheduler": scheduler,
        "state": p.state,
        "replications": p.replications,
        "mean_jct_s": p.jct_s.mean,
        "mean_jct_low_s": low,
        "mean_jct_high_s": high,
        "predicted_jct_s": p.predicted_s,
        f"ratio_to_{reference}": p.ratio.mean,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "slo_hit_rate": p.slo_hit_rate.mean,
        "utilization_compute": p.utilization.compute,
        "utilization_network": p.utilization.network,
    }


def _scheduler(
    points: Mapping[float, CurvePoint], formula: Formula | None, beside: Mapping[float, CurvePoint]
) -> SweptCurve:
    predicted = formula or {}
    told = tuple(FormulaPoint(value=v, jct_s=predicted[v]) for v in sorted(predicted))
    return SweptCurve(
        points=tuple(_point(v, points[v], predicted, beside.get(v)) for v in sorted(points)),
        edges=_edges(stable_flags(points)),
        formula=told or None,
        formula_edges=_edges(formula_flags(predicted)),
    )


def _edges(flags: Sequence[tuple[float, bool]]) -> tuple[SweptEdge, ...]:
    stable = dict(flags)
    return tuple(
        SweptEdge(stable=a, overloaded=b) if stable[a] else SweptEdge(stable=b, overloaded=a)
        for a, b in turns(flags)
    )


def _point(value: float, point: CurvePoint, formula: Formula, beside: CurvePoint | None) -> SweptPoint:
    s, predicted_s = point.summary, formula.get(value)
    mean = s.jct.mean if s is not None and point.state != "overloaded" else None
    error = None
    if mean is not None and predicted_s is not None and mean.mean > 0:
        error = predicted_s / mean.mean - 1
    return SweptPoint(
        value=value,
        state=point.state,
        state_reason=point.reason,
        replications=len(point.means_s),
        jct_s=mean_of(mean),
        means_s=point.means_s,
        slo_hit_rate=rate_of(s.hit_rate if s is not None else None),
        utilization=SweptUtilization(
            compute=s.utilization_compute if s else None, network=s.utilization_network if s else None
        ),
        predicted_s=predicted_s,
        error=error,
        ratio=_ratio(point, beside),
        has_formula=value in formula,
    )


def _ratio(point: CurvePoint, beside: CurvePoint | None) -> Estimate:
    """Paired over the replications that both have; none if one of the two has no steady state."""
    if beside is None or "overloaded" in (point.state, beside.state):
        return UNKNOWN
    both = min(len(point.means_s), len(beside.means_s))
    found = paired_ratio(point.means_s[:both], beside.means_s[:both])
    low, high = number(found.low), number(found.high)
    return Estimate(mean=found.value, ci95=None if low is None or high is None else (low, high))
