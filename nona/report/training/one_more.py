"""What one more GPU of each type buys: a sentence, rows, dots."""

from __future__ import annotations

from nona.report.figures.compare import Before, Dot
from nona.report.text import share_text
from nona.report.training.words import HOUR_S, dollars_text, hours_text
from nona.results.training.one_more import OneMoreReport, OneMoreRow

Cell = str | float | None


def one_more_finding(report: OneMoreReport) -> str:
    """The GPU that shortens the mean JCT most, and the one that does so at the least price."""
    base = report.base.mean_jct_s
    saved = {r.gpu: base - r.mean_jct_s for r in report.rows if base and r.mean_jct_s is not None}
    if base is None or not saved:
        return "No job was completed, so nothing can be compared."
    best = max(saved, key=lambda g: (saved[g], g))
    if saved[best] <= 0:
        return f"One more GPU of no type shortens the mean JCT under {report.policy}."
    said = (
        f"One more {best} shortens the mean JCT under {report.policy} most, by {hours_text(saved[best])} "
        f"({share_text(saved[best] / base, 1)})"
    )
    per = {r.gpu: saved[r.gpu] / r.price_hour for r in report.rows if r.price_hour and r.gpu in saved}
    cheap = max(per, key=lambda g: (per[g], g), default=best)
    if cheap == best or per[cheap] <= 0:
        return f"{said}."
    return f"{said}; for its price {cheap} buys most."


def one_more_rows(report: OneMoreReport) -> list[dict[str, Cell]]:
    """A row for the cluster as it is, and one for each type of GPU."""
    return [_row(r, report) for r in (report.base, *report.rows)]


def _row(row: OneMoreRow, report: OneMoreReport) -> dict[str, Cell]:
    base = report.base.mean_jct_s
    change = row.mean_jct_s / base - 1 if base and row.mean_jct_s is not None and row.gpu else None
    now = report.gpus.get(row.gpu, 0)
    return {
        "cluster": f"one more {row.gpu}: {now + 1}" if row.gpu else "as it is",
        "mean JCT": hours_text(row.mean_jct_s),
        "change": "–" if change is None else share_text(change, 1, "+"),
        "makespan": hours_text(row.makespan_s),
        "worst ρ": "–" if row.worst_rho is None else f"{row.worst_rho:.3g}",
        "cost of the run": dollars_text(row.cost_usd),
        "$ an hour of that GPU": "–" if row.price_hour is None else dollars_text(row.price_hour),
    }


def one_more_dots(report: OneMoreReport) -> list[Dot]:
    """The mean JCT in hours for each type of GPU, beside that of the cluster as it is."""
    base = report.base.mean_jct_s
    before = None if base is None else Before(base / HOUR_S, None, "as it is")
    return [
        Dot(
            name=r.gpu,
            value=None if r.mean_jct_s is None else r.mean_jct_s / HOUR_S,
            interval=None if r.ci95 is None else [v / HOUR_S for v in r.ci95],
            label=f"{hours_text(r.mean_jct_s)}, as it is {hours_text(base)}",
            note="no job complete" if r.mean_jct_s is None else "",
            before=before,
        )
        for r in report.rows
    ]
