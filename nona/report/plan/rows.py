"""The options of a plan as rows of numbers, which a table sorts and a file keeps."""

from __future__ import annotations

from nona.report.plan.budget import tightest
from nona.report.plan.text import several_links, why_text
from nona.report.plan.words import servers_text
from nona.results.plan import PlanModel, PlanOption, PlanReport

Cell = str | float | int | bool | None
DECIDING = (
    "answer",
    "cost per hour",
    "verdict",
    "servers",
    "scheduler",
    "error budget used",
    "p99 ms",
)  # from the left, where a telephone shows them


def option_rows(report: PlanReport) -> list[dict[str, Cell]]:
    """A row for each option, the cheapest first; numbers in the units that the column says."""
    answer = -1 if report.answer is None else report.answer.option
    return [_row(report, o, i == answer, several_links(report)) for i, o in enumerate(report.options)]


def _row(report: PlanReport, option: PlanOption, is_answer: bool, links: bool) -> dict[str, Cell]:
    found = tightest(report.targets, option.shares)
    p99 = [1000 * m.p99_s for m in option.models.values() if m.p99_s is not None]
    row: dict[str, Cell] = {
        "answer": "→" if is_answer else "",
        "cost per hour": option.cost_per_hour,
        "verdict": option.verdict,
        "servers": servers_text(option.servers),
        "scheduler": option.scheduler,
        "link Gbit/s": option.link * 8e-9,
        "cost per million": option.cost_per_million,
        "by": option.by,
        "error budget used": None if found is None else found.used,
        "tightest target": "" if found is None else found.target.text,
        "p99 ms": max(p99, default=None),
        "busy %": None if option.utilization is None else 100 * option.utilization,
        "headroom": option.headroom,
        "runs": option.replications,
        "kWh per million": option.energy_kwh_per_million,
        "kg CO₂ per million": option.co2_kg_per_million,
        "why": why_text(option),
    }
    return row if links else {k: v for k, v in row.items() if k != "link Gbit/s"}


def model_rows(models: dict[str, PlanModel]) -> list[dict[str, Cell]]:
    """A row for each model on one option: share within the SLO with its interval, and p99."""
    return [
        {
            "model": name,
            "within SLO %": None if m.hit_rate.mean is None else 100 * m.hit_rate.mean,
            "from %": None if m.hit_rate.ci95 is None else 100 * m.hit_rate.ci95[0],
            "to %": None if m.hit_rate.ci95 is None else 100 * m.hit_rate.ci95[1],
            "p99 ms": None if m.p99_s is None else 1000 * m.p99_s,
        }
        for name, m in models.items()
    ]
