"""A plan in words: servers, money, headroom, the error budget, the finding, the present cluster."""

from __future__ import annotations

import math
from calendar import month_name
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from nona.cluster.prices import HOURS
from nona.core.document import Estimate
from nona.core.tables import kept_text, mean_text, money, per_hour, time_text
from nona.core.text import MARKS, Finding, count_text, join_words, verb
from nona.core.units import duration, format_number
from nona.planning.offers import gpu_text
from nona.planning.results import (
    CountRange,
    PlanAnswer,
    PlanLoad,
    PlanOption,
    PlanOutcome,
    PlanReport,
    PlanSeries,
    PlanServers,
    PlanTarget,
    PlanWeek,
)
from nona.queries.report.times_off import USUAL


def servers_text(servers: Sequence[PlanServers]) -> str:
    """Servers in words.

    >>> servers_text([PlanServers(count=2, gpu="l4", mig=None), PlanServers(count=1, gpu="t4", mig=None)])
    '2 × l4 + 1 × t4'
    """
    return " + ".join(f"{s.count:,} × {gpu_text(s.gpu, s.mig)}" for s in servers)


def headroom_text(headroom: float) -> str:
    """Return a headroom, rounded down: no more than was seen to keep.

    >>> headroom_text(1.0169), headroom_text(1.31), headroom_text(768.59)
    ('1.01×', '1.31×', '768×')
    """
    return _times_text(headroom, math.floor, 1e-9)


def missed_text(factors: Iterable[float]) -> str:
    """Return the least factor that was seen to miss, rounded up.

    >>> missed_text([1.31, 1.0201])
    '1.03×'
    """
    return _times_text(min(factors), math.ceil, -1e-9)


def _times_text(factor: float, whole: Callable[[float], int], spare: float) -> str:
    step = 100 if factor < 10 else 10 if factor < 100 else 1
    return f"{whole(step * factor + spare) / step:,g}×"


def beyond_text(curve: Sequence[PlanLoad], headroom: float, full_at: float | None) -> str:
    """Return what is known of more traffic than keeps: what is open, and from where it misses."""
    above = [load for load in curve if load.factor > headroom]
    missed = [load.factor for load in above if load.verdict == "misses"]
    end = ""
    if missed:
        end = f"misses from {missed_text(missed)}"
    elif full_at is not None:
        end = f"the executors are full at {missed_text([full_at])}"
    still = [
        load.factor
        for load in above
        if load.verdict == "open" and load.factor < min(missed, default=math.inf)
    ]
    if not still:
        return end or "more was not tried"
    least, most = headroom_text(min(still)), headroom_text(max(still))
    may = f"open at {least}" if least == most else f"open from {least} to {most}"
    return f"{may}, so that it may take more{f'; {end}' if end else ''}"


def day_of(made_at: str) -> date | None:
    """Return the day on which a plan was made, from which its months count; ``None`` where the text has none.

    >>> day_of("2026-11-24 09:30 UTC"), day_of("once")
    (datetime.date(2026, 11, 24), None)
    """
    try:
        return date.fromisoformat(made_at[:10])
    except ValueError:
        return None


def month_text(months: int, today: date | None) -> str:
    """Return a month that many months from now, by name where today's date is known.

    >>> month_text(4, None), month_text(4, date(2026, 11, 24))
    ('month 4', 'March 2027')
    """
    if today is None:
        return f"month {months}"
    count = today.year * 12 + today.month - 1 + months
    return f"{month_name[count % 12 + 1]} {count // 12}"


LEAST_USED = 0.005  # of the error budget: a logarithmic axis has no place for 0, so that less is drawn here


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Late jobs of a target over those that it allows, or its mean over the bound; above 1 it is missed.

    ``observed`` is the share of the jobs in time, or the mean, ``estimate`` the used part with its interval.
    """

    target: PlanTarget
    observed: Estimate
    estimate: Estimate

    @property
    def used(self) -> float:
        """The part used of what the target allows; 0 before any run."""
        return self.estimate.mean or 0.0

    @property
    def share(self) -> Estimate | None:
        """The share of the jobs in time; ``None`` where a mean is asked."""
        return None if self.target.share is None else self.observed

    @property
    def text(self) -> str:
        """The share seen in time, beside the share that the target asks for; of a mean the mean.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="99 % of bert within 60 ms")
        >>> tightest([asked], [Estimate(mean=0.995, ci95=(0.993, 0.997))]).text
        '99.5 % ± 0.2 % of bert within 60 ms (target 99 %)'
        >>> tightest([asked], [Estimate(mean=0.995, ci95=(0.98, 1.01))]).text
        '99.5 % (98 % to 100 %) of bert within 60 ms (target 99 %)'
        """
        bound = time_text(self.target.within_s)
        if self.target.share is None:
            return f"mean of {self.target.model} {mean_text(self.observed, time_text)} (target {bound})"
        ends = self.observed.ci95
        cut = None if ends is None else (max(ends[0], 0.0), min(ends[1], 1.0))
        seen = mean_text(
            Estimate(mean=self.observed.mean, ci95=cut), partial(kept_text, goal=self.target.share)
        )
        return f"{seen} of {self.target.model} within {bound} (target {100 * self.target.share:.6g} %)"

    @property
    def used_text(self) -> str:
        """The used share of the budget for a chart, with the place of a value that the axis cannot show.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
        >>> tightest([asked], [Estimate(mean=1.0, ci95=None)]).used_text
        'error budget used: 0, drawn at 0.005'
        """
        place = f", drawn at {LEAST_USED:g}" if self.used < LEAST_USED else ""
        return f"error budget used: {self.used:.3g}{place}"


def floor_note(budgets: Iterable[ErrorBudget | None]) -> str:
    """Explain the place of values below the end of a logarithmic axis; empty without any.

    >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
    >>> floor_note([tightest([asked], [Estimate(mean=1.0, ci95=None)]), None])
    'Less than 0.005 of the error budget, as without any late job (0), is drawn at 0.005.'
    """
    if not any(b is not None and b.used < LEAST_USED for b in budgets):
        return ""
    least = f"{LEAST_USED:g}"
    return f"Less than {least} of the error budget, as without any late job (0), is drawn at {least}."


def tightest(targets: Sequence[PlanTarget], shares: Sequence[Estimate]) -> ErrorBudget | None:
    """Return the target that is nearest to being missed, or furthest beyond; ``None`` before any run.

    Formula: that of :meth:`~nona.planning.results.PlanTarget.used`.

    >>> asked = [PlanTarget(model=m, share=h, within_s=0.1, text=m) for m, h in (("a", 0.9), ("b", 0.99))]
    >>> found = tightest(asked, [Estimate(mean=0.92, ci95=None), Estimate(mean=0.995, ci95=None)])
    >>> found.target.model, round(found.used, 3)
    ('a', 0.8)
    """
    pairs = [(t, s) for t, s in zip(targets, shares, strict=False) if s.mean is not None]
    budgets = [ErrorBudget(target, seen, target.used_of(seen)) for target, seen in pairs]
    return max(budgets, key=lambda b: b.used, default=None)


HOUR_HINT = "Servers of the answer, without data moved."


def outcome_finding(outcome: PlanOutcome) -> Finding:
    """:func:`plan_finding` with months from the day of the plan, and that it was cancelled where it was."""
    finding = plan_finding(outcome.report, day_of(outcome.about.made))
    if outcome.ended_early_s is None:
        return finding
    return replace(finding, lead=f"Cancelled after {duration(outcome.ended_early_s)}. {finding.lead}")


def plan_finding(report: PlanReport, today: date | None = None) -> Finding:
    """State the purchase with its headroom and failures, and the evidence against everything cheaper.

    With ``today`` the month that uses it up has a name.
    """
    if report.group is not None:
        return _counts(report, today)
    answer, best = report.answer, report.best
    if answer is None or best is None:
        return Finding(_nothing(report), bad=True)
    begin = "Buy" if report.complete else "So far the cheapest that keeps all targets:"
    what = f"{servers_text(best.servers)} under {best.scheduler_text}"
    used = tightest(report.targets, best.shares)
    seen = "" if used is None else f": {used.text}"
    price = per_hour(answer.cost_per_hour, report.currency)
    cost = money(answer.cost_per_hour, report.currency), "Cost per hour", HOUR_HINT
    facts = filter(None, (_borne(report, answer, today), _survived(report)))
    sentences = (*(f"{fact[0].upper()}{fact[1:]}." for fact in facts), _at_its_price(report, best))
    beside = " ".join(filter(None, (*sentences, _cheaper(report))))
    return Finding(f"{begin} {what} at {price}{seen}.", beside, *cost)


def _at_its_price(report: PlanReport, best: PlanOption) -> str:
    """Other options that were seen to keep at the price of the answer; empty without any."""
    same = [
        f"{servers_text(o.servers)} under {o.scheduler_text}"
        for o in report.options
        if o is not best and o.verdict == "keeps" and math.isclose(o.cost_per_hour, best.cost_per_hour)
    ]
    return (
        f"At the same price {join_words(same)} {verb(same, 'keeps', 'keep')} all targets too." if same else ""
    )


def _borne(report: PlanReport, answer: PlanAnswer, today: date | None) -> str:
    """Up to which traffic the answer was seen to keep, and from which to miss; empty before that is tried."""
    if answer.headroom is None:
        return ""
    month = "" if answer.breaks_at is None else month_text(answer.breaks_at, today)
    passed = f", which growth passes in {month}" if month else ""
    beyond = beyond_text(report.curve, answer.headroom, answer.full_at)
    return f"shown up to {headroom_text(answer.headroom)} the traffic{passed}; {beyond}"


def _survived(report: PlanReport) -> str:
    words = {"keeps": "keeps its targets", "misses": "misses its targets", "open": "open"}
    clauses = []
    for verdict, begin in words.items():
        lost = [f.lost for f in report.failures if f.verdict == verdict]
        clauses += [f"{begin} without {join_words(lost)}"] if lost else []
    return "; ".join(clauses)


def present_text(report: PlanReport) -> str:
    """State the verdict on the present cluster and its cost; empty without a present cluster."""
    now = report.present
    if now is None:
        return ""
    price = per_hour(now.cost_per_hour, report.currency)
    begin = f"The present cluster, {servers_text(now.servers)} at {price},"
    if now.by == "prediction":
        likely = "keep" if (now.predicted or 0) >= 1 else "miss"
        return f"{begin} is {MARKS['prediction']} to {likely} the targets under {now.scheduler_text}."
    if now.verdict == "keeps":
        return f"{begin} keeps all targets under {now.scheduler_text}."
    why = f"under {now.scheduler_text}: {why_text(now)}."
    if now.verdict == "open":
        return f"{begin} is still open {why}"
    several = len({o.scheduler for o in report.options}) > 1
    return f"{begin} does not keep the targets{' under any scheduler; ' if several else ' '}{why}"


def _cheaper(report: PlanReport) -> str:
    sure = f"{100 * report.confidence:.4g} % confidence"
    count = len(report.cheaper_open)
    if not report.complete:
        return "The search is not complete: cheaper options may keep the targets too."
    best = report.best
    if best is not None and not any(o.cost_per_hour < best.cost_per_hour for o in report.options):
        return "Nothing cheaper is on offer."
    if count:
        are = verb(report.cheaper_open)
        first = min((report.options[i] for i in report.cheaper_open), key=lambda o: o.cost_per_hour)
        may = (
            f"{servers_text(first.servers)} under {first.scheduler_text} may do, {_hits_text(report, first)}"
        )
        decide = f" {needed_text(first)}" if first.needed else ""
        cheaper = count_text(count, "cheaper option")
        return f"{cheaper} {are} still open at {sure}: {may}; all others miss.{decide}"
    cost = math.inf if best is None else best.cost_per_hour
    seen = sum(o.replications > 0 and o.cost_per_hour < cost for o in report.options)
    rest = "ruled out by bounds, or because more of the same servers miss"
    if not seen:
        return f"Every cheaper option is {rest}."
    return f"Every cheaper option misses: {seen} in simulation, at {sure} each; the others are {rest}."


def _nothing(report: PlanReport) -> str:
    simulated = [o for o in report.options if o.replications]
    count = len(report.cheaper_open)
    if not report.complete:
        open_yet = "So far no option was seen to keep all targets; others are still open."
        return open_yet if simulated else _predicted(report)
    if count:
        are, sure = verb(report.cheaper_open), f"{100 * report.confidence:.4g} % confidence"
        return (
            f"No option was shown to keep all targets; {count} {are} still open at {sure}: allow more runs."
        )
    if not simulated and report.options:
        return f"No option keeps all targets: {report.options[-1].reason}."
    tried = max((c.missed for c in report.evidence if c.missed is not None), default=0)
    most = f": up to {tried:,} servers of a kind were tried, the most allowed" if tried else ""
    return f"No option on offer keeps all targets{most}."


def _predicted(report: PlanReport) -> str:
    likely = next(filter(_is_likely, report.options), None)
    if likely is None:
        return "No run has ended yet; no option is predicted to keep all targets."
    price = per_hour(likely.cost_per_hour, report.currency)
    what = f"{servers_text(likely.servers)} under {likely.scheduler_text} at {price}"
    return f"No run has ended yet; {MARKS['prediction']} as the cheapest that keeps all targets: {what}."


def _counts(report: PlanReport, today: date | None) -> Finding:
    """State the fewest servers of the group that grows, under each scheduler."""
    answer, best = report.answer, report.best
    others = [c for c in report.evidence if not _is_answer(c, best)]
    if answer is None or best is None or best.grown is None:
        needed = _needed(report, others, why=True) or "No count is known yet."
        return Finding(needed if report.complete else f"The search is not complete. {needed}", bad=True)
    unfinished = "" if report.complete else "The search is not complete: fewer may do. "
    series = next((c for c in report.evidence if _is_answer(c, best)), None)
    stay = [s for s in best.servers if s != best.grown]
    beside = f" beside {servers_text(stay)}" if stay else ""
    off = f" ({range_text(series.if_times_off)} {USUAL})" if series and series.if_times_off else ""
    one = best.grown.count == 1
    keeps = (
        ("seems" if one else "seem") + " to keep" if best.verdict == "open" else "keeps" if one else "keep"
    )
    facts = [
        _hits_text(report, best),
        _one_fewer(report, best),
        _borne(report, answer, today),
        _survived(report),
    ]
    lead = f"Under {best.scheduler_text}, {servers_text([best.grown])}{beside} {keeps} all targets{off}"
    rest = _needed(report, others)
    if report.complete and not others:
        rest = (
            f"This is the answer for {best.scheduler_text} alone: another scheduler may need more, or fewer."
        )
    seen, *further = (fact for fact in facts if fact)
    sentences = [*(f"{fact[0].upper()}{fact[1:]}." for fact in further), f"{unfinished}{rest}"]
    number = f"{best.grown.count:,}", "Servers", "The fewest of the group that is counted."
    return Finding(f"{lead}: {seen}.", " ".join(sentences).strip(), *number)


def _is_answer(series: PlanSeries, best: PlanOption | None) -> bool:
    return (
        best is not None
        and best.grown is not None
        and best.grown.count == series.kept
        and best.belongs_to(series)
    )


def _needed(report: PlanReport, every_series: Sequence[PlanSeries], why: bool = False) -> str:
    """State the counts of the series, those alike together; ``why``: with the reason against the largest."""
    names: dict[str, list[str]] = {}
    for series in sorted(every_series, key=lambda c: math.inf if c.kept is None else c.kept):
        names.setdefault(_count_text(report, series, why), []).append(_whose(report, series))
    clauses = [f"under {join_words(alike)}: {count}" for count, alike in names.items()]
    return f"Needed {'; '.join(clauses)}." if clauses else ""


def _count_text(report: PlanReport, series: PlanSeries, why: bool) -> str:
    if series.kept is not None:
        return f"{series.kept:,}"
    most = max((o for o in report.options if o.belongs_to(series)), key=_grown_count, default=None)
    if most is None:
        return "not known"
    count = "more than there can be" if most.by in ALWAYS else f"more than {_grown_count(most):,}"
    return f"{count} ({why_text(most)})" if why else count


def _whose(report: PlanReport, series: PlanSeries) -> str:
    """Return the scheduler of a series, with what else distinguishes it."""
    gpus = {(o.grown.gpu, o.grown.mig) for o in report.options if o.grown is not None}
    with_gpu = f" with {gpu_text(series.gpu, series.mig)}" if len(gpus) > 1 else ""
    return f"{series.scheduler}{with_gpu}"


ALWAYS = ("idle", "memory")  # what rules out one count by these rules out all


def _grown_count(option: PlanOption) -> int:
    return 0 if option.grown is None else option.grown.count


def _hits_text(report: PlanReport, option: PlanOption) -> str:
    used = tightest(report.targets, option.shares)
    return why_text(option) if used is None else used.text


def _one_fewer(report: PlanReport, best: PlanOption) -> str:
    series = next((c for c in report.evidence if best.belongs_to(c)), None)
    fewer = _grown_count(best) - 1
    option = next(
        (o for o in report.options if series and o.belongs_to(series) and _grown_count(o) == fewer), None
    )
    if option is None:
        return ""
    may = f", open after {option.replications:,} runs: {fewer:,} may do" if option.verdict == "open" else ""
    return f"with {fewer:,}: {_hits_text(report, option)}{may}"


def range_text(off: CountRange) -> str:
    """Return the range of counts, as it stands in a sentence and in a table.

    >>> range_text(CountRange(low=10, high=27, level=0.9))
    '10 to 27'
    >>> range_text(CountRange(low=6, high=6, level=0.9))
    'also 6'
    >>> range_text(CountRange(low=10, high=None, level=0.9))
    'at least 10, or out of reach'
    """
    if off.high is None:
        return "out of reach" if off.low is None else f"at least {off.low:,}, or out of reach"
    if off.low == off.high:
        return f"also {off.high:,}"
    return f"{off.low:,} to {off.high:,}" if off.low is not None else f"up to {off.high:,}"


PRESENT, ANSWER = "now", "→"


def marked(report: PlanReport) -> list[tuple[str, PlanOption]]:
    """Return the present cluster, then all options, with the mark of the first and of the answer."""
    now = [] if report.present is None else [(PRESENT, report.present)]
    answer = -1 if report.answer is None else report.answer.option
    return [*now, *((ANSWER if i == answer else "", o) for i, o in enumerate(report.options))]


BOUNDS = ("load", "idle", "memory")
FAR = 2.0  # times the cost of the cheapest that is likely to keep


def ruled_out(report: PlanReport) -> tuple[bool, ...]:
    """Of each option, whether a bound or the prediction rules it out: it was not run, nor is it likely to be.

    The prediction does where it expects a miss, or where an option costs :data:`FAR` times as much as the
    cheapest one that keeps, or is predicted to.
    """
    likely = (o.cost_per_hour for o in report.options if o.verdict == "keeps" or _is_likely(o))
    most = FAR * min(likely, default=math.inf)
    return tuple(
        o.by in BOUNDS or (o.by == "prediction" and (not _is_likely(o) or o.cost_per_hour > most))
        for o in report.options
    )


def _is_likely(option: PlanOption) -> bool:
    return option.by == "prediction" and option.predicted is not None and option.predicted >= 1


def why_text(option: PlanOption) -> str:
    """Give the reason for a verdict; without a simulation, the prediction."""
    if option.reason:
        return option.reason
    if option.predicted is None:
        return "not simulated"
    return f"not simulated; {MARKS['prediction']} to {'keep' if option.predicted >= 1 else 'miss'}"


def needed_text(option: PlanOption) -> str:
    """Say how many runs would decide an open verdict; empty where that is unknown."""
    return f"About {option.needed:,} runs would decide it." if option.needed else ""


def cliff_finding(report: PlanReport) -> str:
    """State the further traffic that the answer bears."""
    text = "" if report.answer is None else _borne(report, report.answer, None)
    return f"{text[0].upper()}{text[1:]}." if text else "The headroom is not known yet."


def answer_text(answer: PlanAnswer, currency: str) -> str:
    """Cost of an answer per month, and of a million queries."""
    monthly = HOURS["month"] * answer.cost_per_hour
    amounts = ((monthly, "a month"), (answer.cost_per_million, "per million queries"))
    return ", ".join(f"{money(amount, currency)} {unit}" for amount, unit in amounts)


def week_text(week: PlanWeek, currency: str) -> str:
    """Return the week with constant servers beside a schedule."""
    few, many = min(week.servers), max(week.servers)
    constant, scheduled = money(week.constant_cost, currency), money(week.schedule_cost, currency)
    return (
        f"Sized for the week's peak, {format_number(week.peak)}× the traffic. All servers all week cost "
        f"{constant}; {few:,} to {many:,} servers of {week.gpu}, as each hour needs, cost {scheduled}, with "
        f"{time_text(week.startup_s)} paid for each start."
    )
