"""A plan in words: servers, money, headroom, the error budget, the finding."""

from __future__ import annotations

import math
from calendar import month_name
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from nona.planning.offers import gpu_text
from nona.report.means import mean_text
from nona.report.text import or_dash, time_text
from nona.results.document import Estimate, Interval
from nona.results.planning import (
    PlanAnswer,
    PlanLoad,
    PlanModel,
    PlanOption,
    PlanReport,
    PlanServers,
    PlanTarget,
    PlanWeek,
)
from nona.units import format_bandwidth


def servers_text(servers: Sequence[PlanServers]) -> str:
    """Servers in words.

    >>> servers_text([PlanServers(count=2, gpu="l4", mig=None), PlanServers(count=1, gpu="t4", mig=None)])
    '2 × l4 + 1 × t4'
    """
    return " + ".join(f"{s.count:,} × {gpu_text(s.gpu, s.mig)}" for s in servers)


def money(amount: float | None, currency: str) -> str:
    """An amount with its currency, which is a label only.

    >>> money(14.2, "USD"), money(None, "EUR"), money(222_222.2, "USD")
    ('14.2 USD', '–', '222,222 USD')
    """
    return or_dash(amount, lambda value: f"{_amount_text(value)} {currency}")


def _amount_text(amount: float) -> str:
    """An amount to four digits, or to whole ones where it is large."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.4g}"


def headroom_text(headroom: float) -> str:
    """A headroom, rounded down: no more than was seen to keep.

    >>> headroom_text(1.0169), headroom_text(1.31)
    ('1.01×', '1.31×')
    """
    return f"{math.floor(100 * headroom + 1e-9) / 100:g}×"


def day_of(made: str) -> date | None:
    """The day on which a plan was made, from which its months count; ``None`` where the text has none.

    >>> day_of("2026-11-24 09:30 UTC"), day_of("once")
    (datetime.date(2026, 11, 24), None)
    """
    try:
        return date.fromisoformat(made[:10])
    except ValueError:
        return None


def month_text(months: int, today: date | None) -> str:
    """A month that many months from now, by name where today's date is known.

    >>> month_text(4, None), month_text(4, date(2026, 11, 24))
    ('month 4', 'March 2027')
    """
    if today is None:
        return f"month {months}"
    count = today.year * 12 + today.month - 1 + months
    return f"{month_name[count % 12 + 1]} {count // 12}"


LEAST_USED = 0.005  # of the error budget: a logarithmic axis has no place for 0, so that less is drawn here


def percent(share: float, digits: int = 5) -> str:
    """A share in per cent; one that is next to nothing is 0.

    >>> percent(0.991423), percent(1e-103)
    ('99.142 %', '0 %')
    """
    return f"{round(100 * share, 9):.{digits}g} %"


@dataclass(frozen=True, slots=True)
class Budget:
    """Late jobs of a target over those that it allows, with the interval; above 1 the target is missed."""

    target: PlanTarget
    share: Estimate
    used: float
    interval: Interval

    @property
    def text(self) -> str:
        """What was seen of the target, beside what it asks for.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="99 % of bert within 60 ms")
        >>> tightest([asked], [Estimate(mean=0.995, ci95=(0.993, 0.997))]).text
        '99.5 % ± 0.2 % of bert within 60 ms (target 99 %)'
        """
        seen = mean_text(self.share, lambda s: percent(s, 4))
        bound = time_text(self.target.within_s)
        return f"{seen} of {self.target.model} within {bound} (target {100 * self.target.share:.6g} %)"

    @property
    def used_span(self) -> str:
        """How much is used, with its interval, for a table."""
        limits = "" if self.interval is None else f" ({self.interval[0]:.3g} to {self.interval[1]:.3g})"
        return f"{self.used:.3g}{limits}"

    @property
    def used_text(self) -> str:
        """How much is used, for a chart: in which place a value stands that the axis cannot show.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
        >>> tightest([asked], [Estimate(mean=1.0, ci95=None)]).used_text
        'error budget used: 0, drawn at 0.005'
        """
        place = f", drawn at {LEAST_USED:g}" if self.used < LEAST_USED else ""
        return f"error budget used: {self.used:.3g}{place}"


def floor_note(budgets: Iterable[Budget | None]) -> str:
    """What a chart on a logarithmic axis says of values below its least place; empty without any.

    >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
    >>> floor_note([tightest([asked], [Estimate(mean=1.0, ci95=None)]), None])
    'Less than 0.005 of the error budget, as without any late job (0), is drawn at 0.005.'
    """
    if not any(b is not None and b.used < LEAST_USED for b in budgets):
        return ""
    least = f"{LEAST_USED:g}"
    return f"Less than {least} of the error budget, as without any late job (0), is drawn at {least}."


def target_rows(report: PlanReport) -> list[dict[str, str]]:
    """For each target how far the answer was seen to hold it under more traffic, and from where to miss it.

    Of the factors that were tried: where all targets are kept, or, where another target is not, by the
    interval of its share at 95 %.
    """
    return [_target_row(report, k, target) for k, target in enumerate(report.targets)]


def _target_row(report: PlanReport, k: int, target: PlanTarget) -> dict[str, str]:
    missed = [c.factor for c in report.curve if k < len(c.shares) and _misses(target, c.shares[k])]
    first = min(missed, default=math.inf)
    held = [c.factor for c in report.curve if c.factor < first and _held(report, c, k)]
    return {
        "target": target.text,
        "seen to hold up to": headroom_text(max(held)) if held else "–",
        "seen to miss from": f"{first:.3g}×" if missed else "–",
    }


def _held(report: PlanReport, load: PlanLoad, k: int) -> bool:
    """Whether a target was seen to hold; not where all seem to and the stricter verdict is open."""
    seem = [_holds(t, s) for t, s in zip(report.targets, load.shares, strict=False)]
    return load.verdict == "keeps" or (k < len(seem) and seem[k] and not all(seem))


def _holds(target: PlanTarget, share: Estimate) -> bool:
    return share.ci95 is not None and share.ci95[0] >= target.share


def _misses(target: PlanTarget, share: Estimate) -> bool:
    return share.ci95 is not None and share.ci95[1] < target.share


def tightest(targets: Sequence[PlanTarget], shares: Sequence[Estimate]) -> Budget | None:
    """The target that is nearest to being missed, or furthest beyond; ``None`` before any run.

    Formula: used = (1 − h) / (1 − h₀), with h the share of jobs in time and h₀ the share asked for.

    >>> asked = [PlanTarget(model=m, share=h, within_s=0.1, text=m) for m, h in (("a", 0.9), ("b", 0.99))]
    >>> found = tightest(asked, [Estimate(mean=0.92, ci95=None), Estimate(mean=0.995, ci95=None)])
    >>> found.target.model, round(found.used, 3)
    ('a', 0.8)
    """
    found = [_budget(t, s, s.mean) for t, s in zip(targets, shares, strict=False) if s.mean is not None]
    return max(found, key=lambda b: b.used, default=None)


def _budget(target: PlanTarget, share: Estimate, mean: float) -> Budget:
    allowed = 1 - target.share
    ends = share.ci95
    interval = None if ends is None else ((1 - ends[1]) / allowed, (1 - ends[0]) / allowed)
    return Budget(target, share, (1 - mean) / allowed, interval)


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
            "cost per hour": _amount_text(o.cost_per_hour),
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
