"""The ranges in which the schedulers of a sweep are unstable, in words."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.sweeps.values import value_text
from nona.report.text import listed, verb
from nona.results.sweep import SweepReport, SweptCurve

Span = tuple[float | None, float | None]
NEAR = 0.03  # of the swept span: what lies closer together counts as one


def unstable_spans(curve: SweptCurve) -> list[Span]:
    """Ranges without a steady state: (first, last) value of each, ``None``: to the end."""
    return spans_of(_flags(curve))


def merged_spans(curve: SweptCurve) -> list[Span]:
    """:func:`unstable_spans`, close ones merged: near an edge chance decides from point to point."""
    return merged(_flags(curve))


def stability_text(curve: SweptCurve, unit: str) -> str:
    """The ranges in which a scheduler has no steady state, in words."""
    return spans_text(merged_spans(curve), unit)


def _flags(curve: SweptCurve) -> list[tuple[float, bool]]:
    return [(p.value, p.steady) for p in curve.points]


def spans_of(flags: Sequence[tuple[float, bool]]) -> list[Span]:
    """Ranges without a steady state of (value, whether there is one) by ascending value.

    >>> spans_of([(0.0, True), (1.0, False), (2.0, False)])
    [(1.0, None)]
    """
    spans: list[Span] = []
    first = last = None
    for i, (value, steady) in enumerate(flags):
        if not steady:
            first, last = (value, value) if last is None else (first, value)
        if last is not None and (steady or i == len(flags) - 1):
            begins = first == flags[0][0]
            spans.append((None if begins else first, last if steady else None))
            first = last = None
    return spans


def merged(flags: Sequence[tuple[float, bool]]) -> list[Span]:
    """:func:`spans_of`, close ones merged.

    >>> flags = [(0.0, True), (0.7, False), (0.705, True), (0.71, False), (1.0, False)]
    >>> spans_of(flags), merged(flags)
    ([(0.7, 0.7), (0.71, None)], [(0.7, None)])
    """
    spans = spans_of(flags)
    close = NEAR * (flags[-1][0] - flags[0][0]) if flags else 0.0
    found = spans[:1]
    for low, high in spans[1:]:
        before = found[-1][1]
        if low is not None and before is not None and low - before <= close:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def spans_text(spans: Sequence[Span], unit: str) -> str:
    """Ranges without a steady state in words.

    >>> spans_text([(0.6, None)], "fraction"), spans_text([], "fraction")
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
    """The schedulers that are stable at all values, and the edges of the others, lowest first: in one or two
    sentences."""
    by_spans: dict[tuple[Span, ...], list[str]] = {}
    for name, curve in report.schedulers.items():
        by_spans.setdefault(tuple(merged_spans(curve)), []).append(name)
    holding = by_spans.pop((), [])
    span = _span(report)
    if not by_spans:
        return f"Every scheduler is stable {span}." if len(holding) > 1 else f"{holding[0]} is stable {span}."
    first, *others = sorted(by_spans, key=lambda spans: spans[0][0] or 0.0)
    ends = f"{listed(by_spans[first])} {verb(by_spans[first], 'is', 'are')} {spans_text(first, report.unit)}"
    for spans in others:
        ends += f", {listed(by_spans[spans])} {spans_text(spans, report.unit).removeprefix('unstable ')}"
    few = len(holding) <= len(report.schedulers) / 2
    held = f"{'Only ' if few else ''}{listed(holding)} {verb(holding, 'is', 'are')} stable {span}. "
    held = held[0].upper() + held[1:] if holding else ""
    return f"{held}{ends[0].upper() if not held else ends[0]}{ends[1:]}."


def _span(report: SweepReport) -> str:
    values = report.values
    if len(values) == 1:
        return f"at {value_text(values[0], report.unit)}"
    return f"from {value_text(values[0], report.unit)} to {value_text(values[-1], report.unit)}"
