"""The options of a plan: rows, costs by part, why nothing cheaper does, the printed plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from nona.planning.offers import gpu_text
from nona.report.plan import (
    answer_text,
    curve_rows,
    energy_text,
    marked,
    plan_finding,
    plan_rows,
    present_text,
    servers_text,
    several_links,
    target_rows,
    tightest,
    week_text,
    why_text,
)
from nona.results.planning import PlanCost, PlanModel, PlanOption, PlanReport
from nona.tables.table import text_table
from nona.units import format_bandwidth, format_time

OTHERS = 4  # options that keep, beside the answer


@dataclass(frozen=True, slots=True)
class Bill:
    """An option by name, with the parts of its cost per hour."""

    name: str
    costs: tuple[PlanCost, ...]


def bills(report: PlanReport, pinned: Sequence[int] = ()) -> list[Bill]:
    """The answer, the next options that keep, and pinned ones, the cheapest first."""
    keeping = [i for i, o in enumerate(report.options) if o.verdict == "keeps"]
    chosen = sorted({*keeping[: OTHERS + 1], *pinned})
    several = len({o.link for o in report.options}) > 1
    return [Bill(_name(o, several), _parts_of(report, o)) for o in (report.options[i] for i in chosen)]


def _name(option: PlanOption, links: bool) -> str:
    """Name the servers and the scheduler; with the link if there are several."""
    link = f", {option.link * 8e-9:.4g} Gbit/s" if links else ""
    return f"{servers_text(option.servers)}, {option.scheduler}{link}"


def _parts_of(report: PlanReport, option: PlanOption) -> tuple[PlanCost, ...]:
    """The cost of an option per hour: servers of each kind, the link, and data moved where that is known.

    The price of data is what the cost of a million queries holds beyond that of servers and link.
    """
    servers = [PlanCost(part=gpu_text(s.gpu, s.mig), per_hour=s.count * s.price) for s in option.servers]
    link = option.cost_per_hour - sum(c.per_hour for c in servers)
    data = 0.0
    answer = report.answer
    if answer is not None and answer.cost_per_million and option.cost_per_million is not None:
        millions = sum(c.per_hour for c in answer.costs) / answer.cost_per_million
        data = option.cost_per_million * millions - option.cost_per_hour
    both = (PlanCost(part="link", per_hour=link), PlanCost(part="data moved", per_hour=data))
    least = 1e-9 * max(option.cost_per_hour, 1e-9)
    return tuple(c for c in (*servers, *both) if c.per_hour > least)


def evidence_text(report: PlanReport) -> str:
    """State the evidence for the verdicts and the assumptions behind them."""
    sure = f"{100 * report.confidence:.4g} %"
    simulated = [o for o in report.options if o.by == "simulation"]
    runs = sum(o.replications for o in simulated)
    return (
        f"{len(simulated):,} options were simulated in {runs:,} runs. Each verdict has {sure} confidence, "
        "which covers all its targets and all looks at the runs. Bounds rule out all counts below the first "
        "of each row. Where a count of servers misses, lower counts in the same row are assumed to miss too. "
        "This is proved for one queue before equal servers, not for every scheduler."
    )


def chain_rows(report: PlanReport) -> list[dict[str, str | int | None]]:
    """For each kind of cluster, the counts of the servers that grow: ruled out, missed, kept."""
    several = len({c.link for c in report.evidence}) > 1
    return [
        {
            "servers that grow": gpu_text(c.gpu, c.mig),
            "beside": servers_text(c.others) or "–",
            "scheduler": c.scheduler,
            **({"link": format_bandwidth(c.link)} if several else {}),
            "ruled out up to": c.lowest - 1,
            "misses or open up to": c.missed,
            "keeps from": c.kept,
        }
        for c in report.evidence
    ]


def failure_rows(report: PlanReport) -> list[dict[str, str]]:
    """The answer without a server of each kind, and without a rack: what is left, and its tightest target."""
    rows = []
    for f in report.failures:
        seen = tightest(report.targets, f.shares)
        rows.append(
            {
                "lost": f.lost,
                "left": servers_text(f.servers) or "nothing",
                "verdict": f.verdict,
                "tightest target": seen.text if seen else "ruled out by bounds",
                "error budget used": seen.used_span if seen else "–",
            }
        )
    return rows


def work_rows(report: PlanReport) -> list[dict[str, str]]:
    """Tabulate the time for which one query of each model occupies each kind of executor."""
    return [
        {"model": model, **{kind: format_time(seconds) for kind, seconds in by_kind.items()}}
        for model, by_kind in report.work.items()
    ]


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
    """The present cluster, then a row for each option, the cheapest first; units are those of the column."""
    return [_row(report, mark, option, several_links(report)) for mark, option in marked(report)]


def _row(report: PlanReport, mark: str, option: PlanOption, links: bool) -> dict[str, Cell]:
    budget = tightest(report.targets, option.shares)
    p99 = [1000 * m.p99_s for m in option.models.values() if m.p99_s is not None]
    row: dict[str, Cell] = {
        "answer": mark,
        "cost per hour": option.cost_per_hour,
        "verdict": option.verdict,
        "servers": servers_text(option.servers),
        "scheduler": option.scheduler,
        "link Gbit/s": option.link * 8e-9,
        "cost per million": option.cost_per_million,
        "by": option.by,
        "error budget used": None if budget is None else budget.used,
        "tightest target": "" if budget is None else budget.target.text,
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


MOST_ROWS = 40
BOUNDS = ("load", "idle", "memory")


def plan_text(report: PlanReport, today: date | None = None) -> str:
    """Format the output of ``nona plan``; ``today`` as for :func:`plan_finding`."""
    lines = [plan_finding(report, today)]
    if report.answer is not None:
        lines.append(f"Cost: {answer_text(report.answer, report.currency)}.")
    if report.best is not None and (energy := energy_text(report.best)):
        lines.append(energy)
    lines.append(f"Targets: {'; '.join(t.text for t in report.targets)}.")
    if now := present_text(report):
        lines.append(now)
    if report.week is not None:
        lines.append(week_text(report.week, report.currency))
    rows = plan_rows(report)
    looked = [row for row in rows if row["by"] not in BOUNDS]
    shown = (looked or rows)[:MOST_ROWS]
    lines += ["", text_table(shown, list(shown[0]))] if shown else []
    if len(rows) > len(shown):
        ruled = len(rows) - len(looked) if looked else 0
        dearer = len(rows) - ruled - len(shown)
        lines.append(f"Not shown: {ruled} ruled out by bounds, {dearer} more expensive; --json has all.")
    if report.curve:
        for rows in (curve_rows(report), target_rows(report)):
            lines += ["", text_table(rows, list(rows[0]))]
    if report.prices:
        lines += ["", "Prices as of their date; check them before you buy:", *report.prices]
    return "\n".join(lines)
