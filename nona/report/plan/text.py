"""A plan in words and rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date

from nona.report.means import mean_text
from nona.report.plan.budget import percent, tightest
from nona.report.plan.words import amount_text, headroom_text, money, month_text, servers_text
from nona.report.text import or_dash, time_text
from nona.results.plan import PlanAnswer, PlanModel, PlanOption, PlanReport, PlanWeek
from nona.units import format_bandwidth


def plan_finding(report: PlanReport, today: date | None = None) -> str:
    """The answer in a sentence or two; with ``today`` the month in which it breaks has a name."""
    return " ".join(finding_parts(report, today))


def finding_parts(report: PlanReport, today: date | None = None) -> tuple[str, str]:
    """What to buy with what it keeps, and what is known of everything cheaper."""
    answer, best = report.answer, report.best
    if answer is None or best is None:
        return _nothing(report), ""
    begin = "Buy" if report.complete else "So far the cheapest that keeps all targets:"
    price = f"{money(answer.cost_per_hour, report.currency)} per hour"
    facts = [fact for fact in (_seen(report, best), *_outlasts(report, answer, today)) if fact]
    seen = f": {', '.join(facts)}" if facts else ""
    link = f" on a link of {format_bandwidth(best.link)}" if several_links(report) else ""
    large = f"{begin} {servers_text(best.servers)} under {best.scheduler}{link} at {price}{seen}."
    return large, _cheaper(report)


def _seen(report: PlanReport, best: PlanOption) -> str:
    found = tightest(report.targets, best.shares)
    return "" if found is None else found.text


def _outlasts(report: PlanReport, answer: PlanAnswer, today: date | None) -> Iterator[str]:
    """The headroom, and when growth has used it up."""
    if answer.headroom is not None:
        yield f"headroom {headroom_text(answer.headroom)}"
    if answer.breaks_at is not None:
        growth = f"{100 * report.growth:.4g} % a month"
        yield f"breaks in {month_text(answer.breaks_at, today)} at {growth}"


def _cheaper(report: PlanReport) -> str:
    sure = f"{100 * report.confidence:.4g} %"
    count = len(report.cheaper_open)
    if not report.complete:
        return "The search was not finished: cheaper options may keep the targets too."
    best = report.best
    if best is not None and not any(o.cost_per_hour < best.cost_per_hour for o in report.options):
        return "Nothing cheaper is on offer."
    if count:
        verb = "is" if count == 1 else "are"
        return f"Of the cheaper options {count} {verb} still open at {sure}; all others miss."
    cost = math.inf if best is None else best.cost_per_hour
    seen = sum(o.replications > 0 and o.cost_per_hour < cost for o in report.options)
    rest = "bounds, or by what more of the same servers miss"
    if not seen:
        return f"Every cheaper option misses by {rest}."
    return f"Every cheaper option misses: {seen} in simulation, at {sure} confidence each, others by {rest}."


def _nothing(report: PlanReport) -> str:
    simulated = [o for o in report.options if o.replications]
    count = len(report.cheaper_open)
    if not report.complete:
        return "No option that was simulated so far keeps all targets." if simulated else _predicted(report)
    if count:
        return f"No option keeps all targets; {count} of those simulated are open: allow more replications."
    if not simulated and report.options:
        return f"No option keeps all targets: {report.options[-1].reason}."
    return "No option on offer keeps all targets."


def _predicted(report: PlanReport) -> str:
    """What prediction says while nothing is simulated."""
    likely = next((o for o in report.options if o.predicted is not None and o.predicted >= 1), None)
    if likely is None:
        return "Nothing is simulated yet; no option is predicted to keep all targets."
    price = money(likely.cost_per_hour, report.currency)
    what = f"{servers_text(likely.servers)} under {likely.scheduler} at {price} per hour"
    return f"Nothing is simulated yet; the cheapest that is predicted to keep all targets is {what}."


def several_links(report: PlanReport) -> bool:
    """Whether options differ in their links, so that it must be said which one is meant."""
    return len({o.link for o in report.options}) > 1


def plan_rows(report: PlanReport) -> list[dict[str, str]]:
    """A row for each option, the cheapest first."""
    answer = -1 if report.answer is None else report.answer.option
    several = several_links(report)
    return [
        {
            "": "→" if i == answer else "",
            "servers": servers_text(o.servers),
            "scheduler": o.scheduler,
            **({"link": format_bandwidth(o.link)} if several else {}),
            "cost per hour": amount_text(o.cost_per_hour),
            "verdict": o.verdict,
            "by": o.by,
            "in time, tightest target": _in_time(report, o),
            "p99 of the slowest": _slowest(o),
            "headroom": or_dash(o.headroom, headroom_text),
            "runs": f"{o.replications}",
            "why": why_text(o),
        }
        for i, o in enumerate(report.options)
    ]


def why_text(option: PlanOption) -> str:
    """What the verdict rests on; without a simulation, what is predicted."""
    if option.reason or option.predicted is None:
        return option.reason or "not simulated"
    return f"not simulated; predicted to {'keep' if option.predicted >= 1 else 'miss'}"


def _in_time(report: PlanReport, option: PlanOption) -> str:
    """The share that the verdict is about, with the verdict's limits."""
    found = tightest(report.targets, option.shares)
    return "–" if found is None else mean_text(found.share, percent)


def _slowest(option: PlanOption) -> str:
    return _longest(list(option.models.values()))


def _longest(models: Sequence[PlanModel]) -> str:
    known = [m.p99_s for m in models if m.p99_s is not None]
    return time_text(max(known)) if known else "–"


def curve_rows(report: PlanReport) -> list[dict[str, str]]:
    """A row for each factor on the traffic that the answer was tried with."""
    return [
        {
            "traffic": f"{c.factor:.4g}×",
            "verdict": c.verdict,
            "error budget used": used.used_span if (used := tightest(report.targets, c.shares)) else "–",
            "p99 of the slowest": _longest(list(c.models.values())),
            "cost per million": money(c.cost_per_million, report.currency),
        }
        for c in report.curve
    ]


def cliff_finding(report: PlanReport) -> str:
    """How much more traffic the answer bears."""
    answer = report.answer
    if answer is None or answer.headroom is None:
        return "The headroom is not known yet."
    tried = sorted(c.factor for c in report.curve if c.verdict == "misses" and c.factor > answer.headroom)
    missed = f"; at {math.ceil(100 * tried[0]) / 100:g} times it misses" if tried else ""
    if answer.headroom <= 1:
        return f"The answer was seen to keep all targets at today's traffic, not at more{missed}."
    most = headroom_text(answer.headroom)
    return f"The answer was seen to keep all targets up to {most} the traffic{missed}."


def answer_text(answer: PlanAnswer, currency: str) -> str:
    """Cost of an answer per month (730 h), and of a million queries."""
    monthly = 730 * answer.cost_per_hour
    amounts = ((monthly, "a month"), (answer.cost_per_million, "per million queries"))
    return ", ".join(f"{money(amount, currency)} {unit}" for amount, unit in amounts)


def week_text(week: PlanWeek, currency: str) -> str:
    """The week with constant servers beside a schedule."""
    few, many = min(week.servers), max(week.servers)
    saved = 1 - week.schedule_cost / week.constant_cost if week.constant_cost else 0.0
    return (
        f"Sized for the week's peak, {week.peak:.4g} times the traffic. All week long that costs "
        f"{money(week.constant_cost, currency)} a week; with {few:,} to {many:,} servers of {week.gpu} by "
        f"hour {money(week.schedule_cost, currency)} ({100 * saved:.3g} % less), starts of "
        f"{week.startup_s:g} s included."
    )


def energy_text(option: PlanOption) -> str:
    """Energy and CO₂ of a million queries; empty where the watts are not known."""
    if option.energy_kwh_per_million is None:
        return ""
    carbon = option.co2_kg_per_million
    also = "" if carbon is None else f", {carbon:.3g} kg of CO₂"
    return f"Energy of the GPUs: {option.energy_kwh_per_million:.3g} kWh per million queries{also}."
