"""What the Validation page shows: tiles, tables, and the figures with few digits."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.cost.validation.latencies import ValidationReport, ValidationSummary
from nona.report.checks.validation import latency_rows, slice_rows, summary_rows
from nona.report.text import share_text

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
    with st.grid(5, min_column_width=125):
        st.metric(
            "Published latencies", summary.rows, help="Those that count: no constant was read off them."
        )
        st.metric("MAPE", share_text(summary.mape, 1), help="Mean of |predicted − published| / published.")
        st.metric("Bias", f"{summary.bias:.2f}", help="Mean of published / predicted; above 1: too fast.")
        st.metric(
            "Spearman",
            f"{summary.spearman:.3f}",
            help="Rank correlation: whether slower things are predicted slower.",
        )
        st.metric(
            "log σ", f"{summary.log_sigma:.2f}", help="Standard deviation of ln(published / predicted)."
        )


def validation_finding(summary: ValidationSummary) -> str:
    """What the published latencies say of the formula, in a sentence.

    >>> validation_finding(ValidationSummary("all", 32, 0.261, 1.18, 0.968, 0.35))
    'Off by 26 % on average, too fast by 18 %; the order is right (rank correlation 0.97)'
    """
    side = "too fast" if summary.bias > 1 else "too slow"
    order = (
        "is right" if summary.spearman > 0.9 else "is roughly right" if summary.spearman > 0.7 else "is not"
    )
    return (
        f"Off by {share_text(summary.mape)} on average, {side} by {share_text(abs(summary.bias - 1))}; "
        f"the order {order} (rank correlation {summary.spearman:.2f})"
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
