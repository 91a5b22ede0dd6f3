"""Dots with intervals: one row per scheduler, a marker at the mean, a line over its 95 % interval.

Where a value is compared with one from before, that one is a hollow grey circle on the same row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, number_text, text

GHOST = "circle-open"  # what a value was before
FAR = 20.0  # values that many times apart are drawn on a logarithmic axis
ROW = 42


@dataclass(frozen=True, slots=True)
class Before:
    """A value from before with its interval, both as drawn; ``word`` says what it belongs to."""

    value: float | None
    interval: Sequence[float] | None
    word: str = "baseline"


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval, both as drawn; ``note`` replaces a missing value."""

    name: str
    value: float | None
    interval: Sequence[float] | None
    label: str
    note: str = ""
    before: Before | None = None


def dots_figure(dots: Sequence[Dot], axis: str, zero: bool = False, most: float | None = None) -> go.Figure:
    """One dot per row, the first on top; each row shows its name and its label.

    ``axis`` titles the values; ``zero`` draws a line at 0 and keeps it in view, as differences need it;
    intervals are cut off at ``most`` (of a rate in per cent: 100) and, without ``zero``, at 0.
    """
    made = figure(70 + ROW * len(dots), legend=False)
    values = [d.value for d in dots] + [d.before.value for d in dots if d.before is not None]
    log = not zero and most is None and spread_wide(values)
    for dot in dots:
        _add(made, dot, most, zero, log)
    rows(made, [d.name for d in dots], [d.note or d.label if d.value is None else d.label for d in dots])
    if log:
        log_axis(made, values, axis)
    else:
        made.update_xaxes(type="linear", title=axis, nticks=6)
    if zero:
        made.add_vline(x=0, line={"color": QUIET, "width": 1.5})
    elif most is not None:
        low = min((v for v in values if v is not None), default=0.0)
        ends = [span[0] for d in dots for span in (d.interval, d.before and d.before.interval) if span]
        begin = 0.0 if low < 0.5 * most else max(0.0, min([low, *ends]))
        made.update_xaxes(range=capped(begin, most))
    elif not log:
        made.update_xaxes(rangemode="tozero")
    return made


def capped(low: float, most: float) -> list[float]:
    """The range of an axis that ends at ``most``, with room for a marker there but for no tick beyond.

    >>> [round(v, 2) for v in capped(0.0, 100.0)], [round(v, 2) for v in capped(98.0, 100.0)]
    ([0.0, 102.0], [97.9, 100.04])
    """
    low = min(low, 0.98 * most)
    return [max(0.0, low - 0.05 * (most - low)), most + 0.02 * (most - low)]


def beside(now: Sequence[Dot], before: Sequence[Dot], word: str) -> list[Dot]:
    """Each dot with the one of the same name from before, in the chart and in its label.

    >>> (both,) = beside([Dot("a", 2.0, None, "2 ms")], [Dot("a", 3.0, None, "3 ms")], "before")
    >>> both.label, both.before.value
    ('2 ms, before 3 ms', 3.0)
    """
    old = {d.name: d for d in before}
    found = []
    for dot in now:
        then = old.get(dot.name)
        if then is not None:
            old_mean, mean = (d.note if d.value is None else d.label.split(" ±")[0] for d in (then, dot))
            told = replace(dot, label=f"{mean}, {word} {old_mean}", note="")
            dot = replace(told, before=Before(then.value, then.interval, word))
        found.append(dot)
    return found


def rows(made: go.Figure, names: Sequence[str], labels: Sequence[str]) -> None:
    """Make the y axis one row per name, the first on top, each with its label in small print below."""
    shown = [text(n, 24) for n in names]
    made.update_layout(margin={"r": 12})
    both = [
        f"{n}<br><span style='font-size:11px'>{text(label, 40).replace('-', '−')}</span>" if label else n
        for n, label in zip(shown, labels, strict=True)
    ]
    made.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=shown[::-1],
        tickvals=shown,
        ticktext=both,
        range=[len(shown) - 0.5, -0.5][::-1],
        showgrid=False,
    )


def log_axis(made: go.Figure, values: Sequence[float | None], title: str, of: str = "x") -> None:
    """Make an axis logarithmic, with ticks at 1, 2, 5 times powers of ten, fewer over a wide range."""
    known = [v for v in values if v is not None and v > 0]
    ticks = log_ticks(min(known), max(known)) if known else []
    change = made.update_xaxes if of == "x" else made.update_yaxes
    change(type="log", title=f"{title}, log", tickvals=ticks, ticktext=[number_text(t) for t in ticks])


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from about ``low`` to about ``high``, nine at most if possible.

    >>> log_ticks(3.0, 120.0)
    [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    """
    found: list[float] = []
    for heads in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        found = [float(f"{h}e{p}") for p in powers for h in heads]
        found = [t for t in found if low / 2 <= t <= high * 2]
        if len(found) <= 9:
            break
    return found


def spread_wide(values: Sequence[float | None]) -> bool:
    """Whether positive values spread so widely that only a logarithmic axis shows them all.

    >>> spread_wide([1.0, 50.0]), spread_wide([1.0, None, 3.0])
    (True, False)
    """
    known = [v for v in values if v is not None]
    return bool(known) and min(known) > 0 and max(known) > FAR * min(known)


def _add(made: go.Figure, dot: Dot, most: float | None, zero: bool, log: bool) -> None:
    style, row = scheduler_style(dot.name), text(dot.name, 24)
    if dot.before is not None and dot.before.value is not None:
        if dot.value is not None:
            ends = [dot.before.value, dot.value]
            line = {"color": style.colour, "width": 2}
            made.add_scatter(x=ends, y=[row, row], mode="lines", line=line, hoverinfo="skip")
        before = Dot(dot.name, dot.before.value, dot.before.interval, "")
        _mark(made, before, QUIET, GHOST, f"{row}, {dot.before.word}: %{{x:.4g}}", (most, zero, log))
    if dot.value is None:
        made.add_scatter(x=[None], y=[row])
    else:
        shown = text(dot.label)
        hover = f"{text(dot.name)}: " + (shown if dot.before is None else f"%{{x:.4g}}<br>{shown}")
        _mark(made, dot, style.colour, style.symbol, hover, (most, zero, log))


def _mark(
    made: go.Figure, dot: Dot, colour: str, symbol: str, hover: str, axis: tuple[float | None, bool, bool]
) -> None:
    """A marker with its interval, which the ``axis`` (most, zero, log) cuts off."""
    value, (most, zero, log) = dot.value or 0.0, axis
    span = list(dot.interval) if dot.interval is not None else [value, value]
    if not zero:
        span[0] = max(span[0], value * 1e-3 if log else 0.0)
    if most is not None:
        span[1] = min(span[1], most)
    made.add_scatter(
        x=[value],
        y=[text(dot.name, 24)],
        mode="markers",
        cliponaxis=False,
        marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
        error_x=whiskers(value, span, colour) if span[1] > span[0] else None,
        hovertemplate=f"{hover}<extra></extra>",
    )


def whiskers(value: float, span: Sequence[float], colour: str) -> dict[str, Any]:
    """The line over an interval, as plotly wants it."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [span[1] - value],
        "arrayminus": [value - span[0]],
        "color": colour,
        "thickness": 2,
        "width": 5,
    }


def scaled(interval: Sequence[float] | None, factor: float) -> list[float] | None:
    """An interval in another unit.

    >>> scaled([0.5, 1.0], 100), scaled(None, 100)
    ([50.0, 100.0], None)
    """
    return None if interval is None else [factor * v for v in interval]
