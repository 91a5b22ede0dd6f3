"""The part of the documentation on decisions that is made from the study's data, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.report.decisions.rows import missed_gains, network_rows, worst_rows
from nona.report.decisions.text import findings, provenance, title
from nona.results.studies.decisions import DecisionStudy

BEGIN, END = "<!-- made from the data: begin -->", "<!-- made from the data: end -->"


def with_results(page: str, data: DecisionStudy) -> str:
    """``page`` with the text between its two marks replaced by text made from ``data``."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{results_markdown(data)}\n\n{END}{after}"


def results_markdown(data: DecisionStudy) -> str:
    """Finding, details, and the tables with the worst cells."""
    parts = [f"**{title(data)}.**", "\n".join(f"* {line}" for line in findings(data))]
    for heading, rows in (
        ("nona: the largest ratios", worst_rows(data, "blind")),
        ("nona: most left by the bound and not gained", missed_gains(data)),
        ("nona-live: the largest ratios", worst_rows(data, "live")),
        ("Every network", network_rows(data)),
    ):
        parts += [f"### {heading}", _table(rows)] if rows else []
    return "\n\n".join([*parts, provenance(data)])


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    """A table in Markdown.

    >>> print(_table([{"a": 1, "b": "x|y"}]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    head = list(rows[0])
    lines = [head, *([str(row[c]).replace("|", "\\|") for c in head] for row in rows)]
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
