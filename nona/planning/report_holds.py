"""Does it hold? In a sentence, as a table, as text for terminals."""

from __future__ import annotations

from datetime import date
from functools import partial

from nona.cluster.prices import HOURS
from nona.core.tables import (
    KEPT,
    TIME,
    Column,
    Table,
    kept_text,
    mean_text,
    money,
    or_dash,
    share_text,
    time_text,
)
from nona.core.text import Finding, count_text, join_words
from nona.core.units import format_number, format_time
from nona.planning.report_plan import beyond_text, headroom_text, month_text, needed_text, servers_text
from nona.planning.results import HoldsReport, PlanOption, TargetOutcome

WORDS = {"keeps": "holds", "misses": "misses", "open": "open"}
HELD: Table[TargetOutcome] = Table(
    "",
    (
        Column("model", lambda t: t.target.model),
        Column("target", lambda t: t.target.text),
        Column("jobs in time", lambda t: t.share, KEPT, interval=True),
        Column("time", lambda t: t.time_s, TIME, interval=True),
        Column("bound", lambda t: t.target.within_s, TIME),
        Column("verdict", lambda t: WORDS[t.verdict]),
    ),
)


_VERDICTS = {"keeps": "Holds.", "misses": "Does not hold.", "open": "Open so far."}


def holds_finding(report: HoldsReport, today: date | None = None) -> Finding:
    """Return the verdict with its tightest target, and what more the cluster bears, with its price."""
    unknown = report.option.verdict == "open" and not report.option.replications
    verdict = "" if unknown else _VERDICTS[report.option.verdict]
    beyond = (_deciding(report.option), _borne(report, today), _survived(report), _price(report))
    return Finding(f"{verdict} {_tightest(report)}".strip(), " ".join(text for text in beyond if text))


def _tightest(report: HoldsReport) -> str:
    """Of the targets that make the verdict, the one furthest from being kept; else why there is none."""
    estimated = [
        t for t in report.targets if t.verdict == report.option.verdict and _measured_value(t) is not None
    ]
    if not estimated:
        return _reason(report.option) or "No run has ended yet."
    tightest = max(estimated, key=lambda t: t.target.used(_measured_value(t) or 0.0))
    target, label = tightest.target, "Undecided" if tightest.verdict == "open" else "Tightest"
    bound, time = time_text(target.within_s), mean_text(tightest.time_s, format_time)
    if target.share is None:
        result = f"{target.model} mean {time} of {bound}"
    elif tightest.time_s.mean is None:
        kept = mean_text(tightest.share, partial(kept_text, goal=target.share))
        result = f"{kept} of {target.model} within {bound}, of p{100 * target.share:.6g} asked"
    else:
        result = f"{target.model} p{100 * target.share:.6g} {time} of {bound}"
    return f"{label}: {result}; {_budget(tightest)}."


def _budget(held: TargetOutcome) -> str:
    """Return the part used of what a target allows, by which the tightest one is found; why it is open."""
    target = held.target
    used = target.used_of(held.time_s if target.share is None else held.share)
    what = "bound" if target.share is None else "error budget"
    text = f"{or_dash(used.mean, share_text)} of its {what} is used"
    if held.verdict != "open" or used.ci95 is None:
        return text
    low, high = map(share_text, used.ci95)
    return f"{text}, and with its interval {low} to {high}: so it may exceed 100 %"


def _measured_value(held: TargetOutcome) -> float | None:
    return held.time_s.mean if held.target.share is None else held.share.mean


def _reason(option: PlanOption) -> str:
    return f"{option.reason[0].upper()}{option.reason[1:]}." if option.reason else ""


def _deciding(option: PlanOption) -> str:
    return needed_text(option) or (_reason(option) if option.replications else "")


def _borne(report: HoldsReport, today: date | None) -> str:
    """Up to which traffic it was seen to hold, from which to miss, and when growth passes that."""
    factor = report.headroom
    if factor is None:
        return _partial_text(report)
    if factor <= 0:
        return "Even a small part of the traffic was not shown to keep its targets."
    month = ""
    if report.growth > 0 and report.breaks_at is not None:
        when = "passed already" if report.breaks_at == 0 else month_text(report.breaks_at, today)
        month = f"{when} at {format_number(100 * report.growth)} % a month"
    beyond = beyond_text(report.curve, factor, report.full_at)
    more = "; ".join(text for text in (month, beyond) if text)
    until = {"keeps": "Until", "misses": "It would hold until", "open": "Proved up to"}[report.option.verdict]
    return f"{until} {headroom_text(factor)} the traffic ({more})."


def _partial_text(report: HoldsReport) -> str:
    """Return what is known of more traffic so far, as of a check that was cancelled."""
    loads = [c for c in report.curve if c.factor != 1 and c.replications]
    known = [
        f"{headroom_text(c.factor)} {WORDS[c.verdict]} after {count_text(c.replications, 'run')}"
        for c in loads
    ]
    return f"So far, with more traffic: {join_words(known)}." if known else ""


def _survived(report: HoldsReport) -> str:
    clauses = []
    for verdict, word in WORDS.items():
        lost = [f.lost for f in report.failures if f.verdict == verdict]
        clauses += [f"Without {join_words(lost)}: {word}."] if lost else []
    return " ".join(clauses)


def _price(report: HoldsReport) -> str:
    if not report.priced:
        return ""
    return f"{money(HOURS['month'] * report.option.cost_per_hour, report.currency)} a month."


def holds_note(report: HoldsReport) -> str:
    """Return the evidence: the confidence of the verdict, the number of runs, the intervals."""
    option = report.option
    sure = f"{100 * report.confidence:.4g} % confidence"
    runs = f"after {option.replications} runs" if option.replications else "by bounds, before any run"
    return (
        f"{servers_text(option.servers)} under {option.scheduler}: {WORDS[option.verdict]} at {sure} {runs}, "
        f"for all targets together. Intervals: 95 %, each by itself."
    )


def holds_text(report: HoldsReport, today: date | None = None) -> str:
    """Return the answer for terminals."""
    finding = holds_finding(report, today)
    return "\n".join(
        [
            *filter(None, (finding.lead, finding.beside)),
            "",
            HELD.fill(report.targets).text(),
            "",
            holds_note(report),
        ]
    )
