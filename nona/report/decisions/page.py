"""The part of the documentation on decisions that is made from the study's data, in Markdown."""

from __future__ import annotations

from nona.report.decisions.rows import missed_gains, network_rows, worst_rows
from nona.report.decisions.text import findings, provenance, title
from nona.report.markdown import between_marks, markdown_table
from nona.results.studies.decisions import DecisionStudy


def with_results(page: str, data: DecisionStudy) -> str:
    """``page`` with the text between its two marks replaced by text made from ``data``."""
    return between_marks(page, results_markdown(data))


def results_markdown(data: DecisionStudy) -> str:
    """Finding, details, and the tables with the worst cells."""
    parts = [f"**{title(data)}.**", "\n".join(f"* {line}" for line in findings(data))]
    for heading, rows in (
        ("nona: the largest ratios", worst_rows(data, "blind")),
        ("nona: most left by the bound and not gained", missed_gains(data)),
        ("nona-live: the largest ratios", worst_rows(data, "live")),
        ("Every network", network_rows(data)),
    ):
        parts += [f"### {heading}", markdown_table(rows)] if rows else []
    return "\n\n".join([*parts, provenance(data)])
