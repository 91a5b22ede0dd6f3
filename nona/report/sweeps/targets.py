"""Where a sweep keeps the target share of SLOs: crossings on the chart, ranges in words, servers needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nona.report.sweeps.values import value_text
from nona.report.text import listed
from nona.results.sweep import ServersNeeded, SweepReport, SweptCurve

LOAD = "load"
SHOWN = 4  # schedulers in one sentence


@dataclass(frozen=True, slots=True)
class Crossing:
    """A value at which the SLO hits pass the target; ``falls``: beyond it they are below."""

    value: float
    falls: bool


def crossings(curve: SweptCurve, target: float) -> list[Crossing]:
    """The crossings of a curve, on straight lines between its points; an overloaded point keeps nothing."""
    kept = [(p.value, _kept(p.steady, p.slo_hit_rate.mean)) for p in curve.points]
    points = [(value, hits) for value, hits in kept if hits is not None]
    found = []
    for (a, x), (b, y) in pairwise(points):
        if (x >= target) != (y >= target):
            found.append(Crossing(a + (b - a) * (x - target) / (x - y), x >= target))
    return found


def _kept(steady: bool, hits: float | None) -> float | None:
    """The share of SLOs kept: none without a steady state, also where it was not even simulated."""
    return hits if steady else 0.0


def has_target(report: SweepReport) -> bool:
    """Whether any scheduler's SLO hits are known."""
    return any(p.slo_hit_rate.mean is not None for c in report.schedulers.values() for p in c.points)


def holds_text(curve: SweptCurve, report: SweepReport) -> str:
    """The range in which a scheduler keeps the target: ``until +18 %``, ``from 7 on``, ``throughout``."""
    if not has_target(report) or not curve.points:
        return ""
    found = crossings(curve, report.target)
    if not found:
        first = _kept(curve.points[0].steady, curve.points[0].slo_hit_rate.mean) or 0.0
        return "throughout" if first >= report.target else "nowhere"
    words = []
    for c in found:
        value = c.value
        if report.unit == "count":  # the last count that keeps the target, or the first
            value = math.floor(value) if c.falls else math.ceil(value)
        words.append(f"{'until' if c.falls else 'from'} {there_text(value, report)}")
    return " and ".join(words)


def there_text(value: float, report: SweepReport) -> str:
    """A value of the swept number; a load as the change from the scenario's."""
    return change_text(value) if report.key == LOAD else value_text(value, report.unit)


def change_text(factor: float) -> str:
    """A factor on the load as a change in per cent.

    >>> change_text(1.183), change_text(0.9), change_text(1.0)
    ('+18 %', '−10 %', '±0 %')
    """
    share = round(100 * (factor - 1))
    return f"{'+' if share > 0 else '−' if share < 0 else '±'}{abs(share)} %"


def target_text(target: float) -> str:
    """The target share.

    >>> target_text(0.99), target_text(0.999)
    ('99 %', '99.9 %')
    """
    return f"{100 * target:.6g} %"


def target_finding(report: SweepReport) -> str:
    """Where each scheduler keeps the target, the longest first, and the servers needed beyond.

    Empty where no query has an SLO.
    """
    by_text: dict[str, list[str]] = {}
    for name, curve in _longest_first(report):
        if words := holds_text(curve, report):
            by_text.setdefault(words, []).append(name)
    if not by_text:
        return ""
    said = [f"{words} ({listed(names)})" for words, names in list(by_text.items())[:SHOWN]]
    more = sum(len(names) for names in list(by_text.values())[SHOWN:])
    rest = f"; {more} more hold less" if more else ""
    needs = "".join(f" {needed_text(n)}" for n in report.needed)
    return f"{target_text(report.target)} of the SLOs hold {', '.join(said)}{rest}.{needs}"


def needed_text(need: ServersNeeded) -> str:
    """The servers needed at one load, in a sentence.

    >>> needed_text(ServersNeeded(scheduler="nona", value=1.3, now=8, servers=10, most=32))
    'At +30 % two more servers are needed (nona, simulated).'
    """
    where = "As the scenario stands" if need.value == 1.0 else f"At {change_text(need.value)}"
    if need.servers is None:
        return f"{where} {need.most} servers are too few ({need.scheduler}, simulated)."
    more = need.servers - need.now
    count = f"{_word(more)} more server{' is' if more == 1 else 's are'} needed"
    return f"{where} {count} ({need.scheduler}, simulated)."


def _word(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six")
    return words[count] if count < len(words) else str(count)


def _longest_first(report: SweepReport) -> Sequence[tuple[str, SweptCurve]]:
    def share(curve: SweptCurve) -> float:
        swept = [p for p in curve.points if p.value in report.values]
        kept = [p for p in swept if (_kept(p.steady, p.slo_hit_rate.mean) or 0.0) >= report.target]
        falling = [c.value for c in crossings(curve, report.target)]
        return len(kept) + (falling[0] / max(report.values[-1], 1e-12) if falling else 0.0) * 1e-3

    return sorted(report.schedulers.items(), key=lambda pair: -share(pair[1]))
