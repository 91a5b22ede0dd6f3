"""The findings of a simulation in plain sentences, each computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from nona.report.means import mean_text
from nona.report.text import listed
from nona.results.simulation.differences import Difference, Differences
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import Schedulers, SimulationReport
from nona.units import format_time


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence; ``kind`` says whether it is a warning."""

    text: str
    kind: Literal["", "bad"] = ""


def findings(outcome: SimulationOutcome) -> list[Finding]:
    """The headline findings of a simulation, the most important first."""
    found = outcome.report.schedulers
    return [
        *_shortest(found, outcome.differences),
        *_states(found),
        *_alike(outcome.differences, found),
        *_hits(found),
        *_predictions(found, outcome.predicted),
        *_checks(outcome.report),
    ]


def shortest(found: Schedulers) -> str | None:
    """The scheduler with the lowest mean JCT among those that have one; ``None`` if none has."""
    means = {n: s.jct_s.mean for n, s in found.items() if not s.overloaded and s.jct_s.mean is not None}
    return min(means, key=lambda n: means[n], default=None)


def level_with(best: str, differences: Differences) -> list[str]:
    """Schedulers whose difference from the best has an interval that covers 0: no winner among them."""
    rows = differences.get(best, {})
    return [n for n, d in rows.items() if d.verdict == "not told apart" and d.jct_s.ci95 is not None]


def equal_to(best: str, differences: Differences) -> list[str]:
    """Schedulers whose jobs took exactly as long as those of the best in every replication."""
    rows = {n: d.jct_s for n, d in differences.get(best, {}).items()}
    return [n for n, d in rows.items() if d.mean == 0 and not d.half_width]


def ties_with(best: str, differences: Differences) -> list[str]:
    """:func:`equal_to`, where the best has no clear lead over these and is level with no others."""
    equal = equal_to(best, differences)
    return equal if set(level_with(best, differences)) <= set(equal) else []


def _shortest(found: Schedulers, differences: Differences) -> Iterator[Finding]:
    best = shortest(found)
    if best is None:
        yield Finding("Every scheduler is overloaded: no scheduler has a steady state.", "bad")
        return
    mean, others = mean_text(found[best].jct_s, format_time), differences.get(best, {})
    level, equal = level_with(best, differences), ties_with(best, differences)
    if equal:
        yield Finding(f"{listed([best, *equal])} take equally long on the same jobs, {mean} on average.")
        return
    if level:
        yield Finding(
            f"{best} has the lowest mean completion time, {mean}, without a clear difference from "
            f"{', '.join(level)}."
        )
        return
    means = {n: d.jct_s.mean for n, d in others.items() if d.jct_s.mean is not None}
    second = min(means, key=lambda n: means[n], default=None)
    told = f"{best} has the shortest mean completion time, {mean}"
    yield Finding(f"{told}." if second is None else f"{told}{_next(second, others[second])}")


def _next(name: str, difference: Difference) -> str:
    if difference.verdict == "not told apart":
        return f"; the difference from {name} is not clear."
    share = "" if difference.relative is None else f" ({difference.relative:+.1%})"
    return (
        f". {name} is next and takes {mean_text(difference.jct_s, format_time)} "
        f"longer on the same jobs{share}."
    )


def _states(found: Schedulers) -> Iterator[Finding]:
    over = [n for n, s in found.items() if s.overloaded]
    behind = [n for n, s in found.items() if s.state == "backlogged"]
    if over and len(over) < len(found):
        yield Finding(f"Overloaded, hence without a mean: {', '.join(over)}.", "bad")
    if behind:
        yield Finding(f"Ended with a backlog, possibly without a steady state: {', '.join(behind)}.", "bad")


def _alike(differences: Differences, found: Schedulers) -> Iterator[Finding]:
    order = list(found)
    pairs = [
        f"{baseline} and {name}"
        for baseline, rows in differences.items()
        for name, row in rows.items()
        if row.verdict == "not told apart" and order.index(baseline) < order.index(name)
        if name not in equal_to(baseline, differences)
    ]
    if pairs:
        yield Finding(
            f"No clear difference in this run: {'; '.join(pairs)}. More replications may separate them."
        )


def _hits(found: Schedulers) -> Iterator[Finding]:
    rates = {n: s.slo_hit_rate.mean for n, s in found.items() if s.slo_hit_rate.mean is not None}
    if not rates:
        return
    best, worst = max(rates, key=lambda n: rates[n]), min(rates, key=lambda n: rates[n])
    if rates[best] == rates[worst]:
        yield Finding(f"Every scheduler keeps the SLO for {rates[best]:.2%} of the jobs.")
    else:
        yield Finding(
            f"SLO hits range from {rates[worst]:.2%} ({worst}) to {rates[best]:.2%} ({best}) of the jobs."
        )


def _predictions(found: Schedulers, predicted: Mapping[str, float | None]) -> Iterator[Finding]:
    for name, value in predicted.items():
        mean = found[name].jct_s.mean if name in found else None
        if value is None or not mean:
            continue
        off = value / mean - 1
        told = mean_text(found[name].jct_s, format_time)
        yield Finding(
            f"Queueing theory predicts {format_time(value)} for {name}, {off:+.1%} from the simulated {told}."
        )


def _checks(report: SimulationReport) -> Iterator[Finding]:
    if report.failed_checks:
        yield Finding(f"Checks FAILED: {'; '.join(report.failed_checks)}.", "bad")
