"""A plan as ``nona plan`` prints it: the finding, what it costs, and the tables below."""

from __future__ import annotations

from datetime import date

from nona.report.plan.budget import target_rows
from nona.report.plan.text import (
    answer_text,
    curve_rows,
    energy_text,
    plan_finding,
    plan_rows,
    week_text,
)
from nona.report.text import table
from nona.results.plan import PlanReport

MOST_ROWS = 40
BOUNDS = ("load", "idle", "memory")


def plan_text(report: PlanReport, today: date | None = None) -> str:
    """What ``nona plan`` prints; ``today`` as of :func:`plan_finding`."""
    told = [plan_finding(report, today)]
    if report.answer is not None:
        told.append(f"Cost: {answer_text(report.answer, report.currency)}.")
    if report.best is not None and (energy := energy_text(report.best)):
        told.append(energy)
    told.append(f"Targets: {'; '.join(t.text for t in report.targets)}.")
    told += [f"Without {f.lost}: {f.verdict}." for f in report.failures]
    if report.week is not None:
        told.append(week_text(report.week, report.currency))
    rows = plan_rows(report)
    looked = [row for row in rows if row["by"] not in BOUNDS]
    shown = (looked or rows)[:MOST_ROWS]
    told += ["", table(shown, list(shown[0]))] if shown else []
    if len(rows) > len(shown):
        ruled = len(rows) - len(looked) if looked else 0
        dearer = len(rows) - ruled - len(shown)
        told.append(f"Not shown: {ruled} ruled out by bounds, {dearer} dearer; --json has all.")
    if report.curve:
        for rows in (curve_rows(report), target_rows(report)):
            told += ["", table(rows, list(rows[0]))]
    if report.prices:
        told += ["", "Prices as of their date; check them before you buy:", *report.prices]
    return "\n".join(told)
