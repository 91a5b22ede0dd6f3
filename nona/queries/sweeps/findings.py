"""Findings of a sweep: stable ranges, where the SLO target holds, and why curves differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from nona.core.document import Estimate
from nona.core.tables import (
    CHANGE,
    FACTOR,
    KEPT,
    TIME,
    WHOLE_SHARE,
    Column,
    FilledTable,
    Table,
)
from nona.core.text import count_text, join_words, verb
from nona.queries.sweeps.report import value_text
from nona.queries.sweeps.results import ServersNeeded, SweepReport, SweptCurve, SweptPoint, Unit

Span = tuple[float | None, float | None]
NEAR = 0.03  # of the swept span: what lies closer together counts as one


def unstable_spans(curve: SweptCurve, near: float = NEAR) -> list[Span]:
    """Ranges without a steady state: (first, last) value of each, ``None``: to the end.

    Those as close together as the share ``near`` of all values count as one: near an edge chance decides
    from point to point.
    """
    points, spans = curve.points, list[Span]()
    for steady, group in groupby(points, key=lambda p: p.steady):
        if steady:
            continue
        run = list(group)
        low = None if run[0] is points[0] else run[0].value
        high = None if run[-1] is points[-1] else run[-1].value
        before = spans[-1][1] if spans else None
        close = near * (points[-1].value - points[0].value)
        if low is not None and before is not None and low - before <= close:
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    return spans


def stability_text(curve: SweptCurve, unit: str) -> str:
    """Return the ranges in which a scheduler has no steady state, in words."""
    return _spans_text(unstable_spans(curve), unit)


def _spans_text(spans: Sequence[Span], unit: str) -> str:
    """Ranges without a steady state in words.

    >>> _spans_text([(0.6, None)], "fraction"), _spans_text([], "fraction")
    ('unstable from 60 %', 'stable throughout')
    """
    if not spans:
        return "stable throughout"
    if list(spans) == [(None, None)]:
        return "unstable everywhere"
    words = []
    for low, high in spans:
        if high is None:
            words.append(f"from {value_text(low or 0.0, unit)}")
        elif low is None:
            words.append(f"up to {value_text(high, unit)}")
        else:
            shown = value_text(low, unit), value_text(high, unit)
            words.append(f"from {shown[0]} to {shown[1]}" if shown[0] != shown[1] else f"at {shown[0]}")
    return "unstable " + " and ".join(words)


def stability_finding(report: SweepReport) -> str:
    """Return one or two sentences on the schedulers' stability, the lowest edges first."""
    by_spans: dict[tuple[Span, ...], list[str]] = {}
    for name, curve in report.schedulers.items():
        by_spans.setdefault(tuple(unstable_spans(curve)), []).append(name)
    holding = by_spans.pop((), [])
    span = _span(report)
    if not by_spans:
        return f"Every scheduler is stable {span}." if len(holding) > 1 else f"{holding[0]} is stable {span}."
    first, *others = sorted(by_spans, key=lambda spans: spans[0][0] or 0.0)
    names = by_spans[first]
    ends = f"{join_words(names)} {verb(names, 'is', 'are')} {_spans_text(first, report.unit)}"
    for spans in others:
        ends += f", {join_words(by_spans[spans])} {_spans_text(spans, report.unit).removeprefix('unstable ')}"
    few = len(holding) <= len(report.schedulers) / 2
    stable_text = (
        f"{'Only ' if few else ''}{join_words(holding)} {verb(holding, 'is', 'are')} stable {span}. "
    )
    stable_text = stable_text[0].upper() + stable_text[1:] if holding else ""
    return f"{stable_text}{ends[0].upper() if not stable_text else ends[0]}{ends[1:]}."


def _span(report: SweepReport) -> str:
    values = report.values
    if len(values) == 1:
        return f"at {value_text(values[0], report.unit)}"
    return f"from {value_text(values[0], report.unit)} to {value_text(values[-1], report.unit)}"


SHOWN = 4  # names in one list


def at_value(report: SweepReport, value: float) -> dict[str, SweptPoint]:
    """Scheduler → its point at ``value``, where it was simulated there."""
    points = {}
    for name, curve in report.schedulers.items():
        point = next((p for p in curve.points if p.value == value), None)
        if point is not None:
            points[name] = point
    return points


def place_text(label: str, unit: Unit, value: float) -> str:
    """Return a value of the swept number as the beginning of a sentence.

    >>> place_text("Link background", "fraction", 0.6), place_text("Servers", "count", 12.0)
    ('At 60 % link background', 'With 12 servers')
    >>> place_text("Servers", "count", 1.0)
    'With 1 server'
    """
    shown = value_text(value, unit)
    if unit == "count":
        noun = label.replace("Servers", "Server") if value == 1 else label
        return f"With {shown} {noun[0].lower()}{noun[1:]}"
    if "." in label:  # a key that has no name for people
        return f"At {label} = {shown}"
    return f"At {shown} {label[0].lower()}{label[1:]}"


class _PointAt(NamedTuple):
    name: str
    point: SweptPoint
    report: SweepReport

    @property
    def times(self) -> Estimate:
        """Its mean over that of the reference, which is exactly 1 for itself."""
        own = self.name == self.report.reference and self.point.ratio.mean
        return Estimate(mean=1.0, ci95=None) if own else self.point.ratio

    @property
    def formula(self) -> float | str:
        if not self.point.has_formula:
            return "none"
        return "unstable" if self.point.predicted_s is None else self.point.predicted_s


def at_values(report: SweepReport, value: float) -> FilledTable:
    """Each scheduler at one value."""
    base, unit = report.reference, report.unit
    columns: tuple[Column[_PointAt], ...] = (
        Column("scheduler", lambda r: r.name, decides=True),
        Column("mean JCT", lambda r: r.point.jct_s if r.point.steady else None, TIME, decides=True),
        Column(f"times {base}", lambda r: r.times, FACTOR, "times", interval=True, decides=True),
        Column("SLO hits", lambda r: r.point.slo_hit_rate, KEPT, interval=True, decides=True),
        Column("formula", lambda r: r.formula, TIME, decides=True),
        Column("state", lambda r: r.point.state),
        Column("stability", lambda r: stability_text(report.schedulers[r.name], unit), decides=True),
        Column("formula's error", lambda r: r.point.error, CHANGE),
        Column("link busy", lambda r: r.point.utilization.network, WHOLE_SHARE),
        Column("executors busy", lambda r: r.point.utilization.compute, WHOLE_SHARE),
    )
    return Table("", columns).fill(_PointAt(n, p, report) for n, p in at_value(report, value).items())


def sweep_text(report: SweepReport) -> str:
    """Format the output of ``nona sweep``."""
    what = report.label if report.label == report.key else f"{report.label} ({report.key})"
    lines = [
        f"{what}: {count_text(len(report.values), 'value')}, "
        f"{count_text(report.replications, 'replication')} of {report.jobs:,} jobs "
        f"({report.engine}, {report.seconds:.1f} s)",
        *sweep_findings(report),
    ]
    columns = ("scheduler", "mean JCT", "times", "SLO hits", "formula", "state")
    for value in report.values:
        lines += [
            "",
            place_text(report.label, report.unit, value),
            at_values(report, value).select(*columns).text(),
        ]
    return "\n".join(lines)


def sweep_findings(report: SweepReport) -> tuple[str, ...]:
    """State which schedulers are stable where, and where each keeps the target of SLOs if there are any."""
    return tuple(filter(None, (stability_finding(report), target_finding(report))))


LOAD = "load"


@dataclass(frozen=True, slots=True)
class Crossing:
    """A value at which the SLO hits pass the target; ``falls``: beyond it they are below."""

    value: float
    falls: bool


def crossings(curve: SweptCurve, target: float) -> list[Crossing]:
    """Return the crossings of a curve, on straight lines between its points.

    An overloaded point keeps nothing.
    """
    points = [(p.value, p.kept) for p in curve.points if p.kept is not None]
    crossed = []
    for (a, x), (b, y) in pairwise(points):
        if (x >= target) != (y >= target):
            crossed.append(Crossing(a + (b - a) * (x - target) / (x - y), x >= target))
    return crossed


def _has_target(report: SweepReport) -> bool:
    return any(p.slo_hit_rate.mean is not None for c in report.schedulers.values() for p in c.points)


def holds_text(curve: SweptCurve, report: SweepReport) -> str:
    """Return where a scheduler keeps the target: ``up to +18 %``, ``from 7 on``, ``throughout``."""
    if not _has_target(report) or not curve.points:
        return ""
    crossed = crossings(curve, report.target)
    if not crossed:
        first = curve.points[0].kept or 0.0
        return "throughout" if first >= report.target else "nowhere"
    words = []
    for c in crossed:
        value = c.value
        if report.unit == "count":  # the last count that keeps the target, or the first
            value = math.floor(value) if c.falls else math.ceil(value)
        words.append(f"{'up to' if c.falls else 'from'} {there_text(value, report)}")
    return " and ".join(words)


def there_text(value: float, report: SweepReport) -> str:
    """Return a value of the swept number; a load as the change from the scenario's."""
    return change_text(value) if report.key == LOAD else value_text(value, report.unit)


def change_text(factor: float) -> str:
    """Return a factor on the load as a change in per cent.

    >>> change_text(1.183), change_text(0.9), change_text(1.0)
    ('+18 %', '−10 %', '±0 %')
    """
    share = round(100 * (factor - 1))
    return f"{'+' if share > 0 else '−' if share < 0 else '±'}{abs(share)} %"


def target_text(target: float) -> str:
    """Return the target share.

    >>> target_text(0.99), target_text(0.999)
    ('99 %', '99.9 %')
    """
    return f"{100 * target:.6g} %"


def target_finding(report: SweepReport) -> str:
    """State where each scheduler keeps the target, the longest first, and the servers needed beyond.

    Empty where no query has an SLO.
    """
    by_text: dict[str, list[str]] = {}
    for name, curve in _longest_first(report):
        if words := holds_text(curve, report):
            by_text.setdefault(words, []).append(name)
    if not by_text:
        return ""
    clauses = [f"{words} ({join_words(names)})" for words, names in list(by_text.items())[:SHOWN]]
    more = sum(len(names) for names in list(by_text.values())[SHOWN:])
    rest = f"; {more} more keep less" if more else ""
    needs = "".join(f" {_needed_text(n)}" for n in report.needed)
    return f"{target_text(report.target)} of the SLOs are kept {', '.join(clauses)}{rest}.{needs}"


def _needed_text(need: ServersNeeded) -> str:
    """Return the servers needed at one load, in a sentence.

    >>> _needed_text(ServersNeeded(scheduler="nona", value=1.3, now=8, servers=10, most=32))
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
        kept = [p for p in swept if (p.kept or 0.0) >= report.target]
        falling = [c.value for c in crossings(curve, report.target)]
        return len(kept) + (falling[0] / max(report.values[-1], 1e-12) if falling else 0.0) * 1e-3

    return sorted(report.schedulers.items(), key=lambda pair: -share(pair[1]))
