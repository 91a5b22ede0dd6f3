"""The validation of the cost model as rows for tables and CSV files."""

from __future__ import annotations

from collections.abc import Sequence

from nona.cost.validation.latencies import SliceRatio, ValidationRow, ValidationSummary


def latency_rows(rows: Sequence[ValidationRow]) -> list[dict[str, str | float]]:
    """One row per published latency, times in milliseconds."""
    return [
        {
            "model": r.model,
            "device": r.executor,
            "precision": r.precision,
            "stack": r.stack,
            "published ms": r.measured_s * 1e3,
            "predicted ms": r.predicted_s * 1e3,
            "predicted / published": r.ratio,
            "use": r.use,
            "group": r.group,
            "note": r.note,
            "source": r.source,
        }
        for r in rows
    ]


def summary_rows(summaries: Sequence[ValidationSummary]) -> list[dict[str, str | float]]:
    """One row per group of latencies; ``Spearman`` is NaN below three rows."""
    return [
        {
            "group": s.group,
            "latencies": s.rows,
            "MAPE %": 100 * s.mape,
            "bias": s.bias,
            "Spearman": s.spearman,
            "log σ": s.log_sigma,
        }
        for s in summaries
    ]


def slice_rows(slices: Sequence[SliceRatio]) -> list[dict[str, str | float]]:
    """Slowdown of each MIG slice relative to its whole device, published and predicted."""
    return [
        {"model": s.model, "slice": s.executor, "published ×": s.measured, "predicted ×": s.predicted}
        for s in slices
    ]
