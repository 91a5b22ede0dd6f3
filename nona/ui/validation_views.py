"""What the Validation page shows: tiles, tables, and the figures with few digits."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.cost.validation import ValidationReport, ValidationSummary
from nona.report.validation import latency_rows, slice_rows, summary_rows

DIGITS = {
    **dict.fromkeys(("published ms", "predicted ms"), "%.3f"),
    **dict.fromkeys(
        ("predicted / published", "published ×", "predicted ×", "bias", "Spearman", "log σ"), "%.2f"
    ),
    "MAPE %": "%.1f",
}
FORMATS = {name: st.column_config.NumberColumn(format=digits) for name, digits in DIGITS.items()}


def validation_tiles(summary: ValidationSummary) -> None:
    """The summary of all counted latencies."""
    tiles = st.columns(5)
    tiles[0].metric(
        "Published latencies", summary.rows, help="Those that count: no constant was read off them."
    )
    tiles[1].metric("MAPE", f"{summary.mape:.1%}", help="Mean of |predicted − published| / published.")
    tiles[2].metric("Bias", f"{summary.bias:.2f}", help="Mean of published / predicted; above 1: too fast.")
    tiles[3].metric(
        "Spearman",
        f"{summary.spearman:.3f}",
        help="Rank correlation: whether slower things are predicted slower.",
    )
    tiles[4].metric(
        "log σ", f"{summary.log_sigma:.2f}", help="Standard deviation of ln(published / predicted)."
    )


def latency_table(report: ValidationReport) -> pd.DataFrame:
    """Every latency with its prediction and its source."""
    return pd.DataFrame(latency_rows(report.rows))


def summary_table(report: ValidationReport) -> pd.DataFrame:
    """Every group, then all TensorRT engines, then all that count."""
    return pd.DataFrame(summary_rows([*report.groups, report.tensorrt, report.overall]))


def slice_table(report: ValidationReport) -> pd.DataFrame:
    """The slowdowns on MIG slices."""
    return pd.DataFrame(slice_rows(report.slices))
