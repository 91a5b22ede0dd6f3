"""Charts as inline SVG: axes, bars with intervals, stacked bars, lines, points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nona.registry import Look
from nona.report.figures import OVERLOADED_DASH, Dot, scheduler_style
from nona.report.html.pieces import escape
from nona.units import format_number


def ticks(high: float, wanted: int = 5, low: float = 0.0) -> list[float]:
    """Round numbers from ``low`` to at least ``high``, steps of 1, 2 or 5 times a power of ten.

    >>> ticks(23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low, low + 1.0]
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    return [low + i * step for i in range(math.ceil(span / step * (1 - 1e-9)) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from at most ``low`` to at least ``high``; 1 and 10 where that is many.

    >>> log_ticks(3.0, 40.0)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    marks = [float(f"{m}e{e}") for e in range(first, last + 1) for m in steps]
    begin = max((i for i, m in enumerate(marks) if m <= low), default=0)
    end = next((i for i, m in enumerate(marks) if m >= high), len(marks) - 1)
    return marks[begin : max(end, begin + 1) + 1]


@dataclass(frozen=True, slots=True)
class Scale:
    """Map values from ``low``…``high`` to positions ``begin``…``end``, clipped at the ends."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = math.log(low), math.log(high), math.log(max(value, low))
        share = (here - low) / (high - low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


def _scale_over(marks: Sequence[float], begin: float, end: float, log: bool = False) -> Scale:
    return Scale(marks[0], marks[-1], begin, end, log)


WIDTH, LEFT, RIGHT, ROW = 760, 170, 190, 30  # on the right a value has its interval beside it
_DASHES = {
    "solid": "",
    "dash": "9 5",
    "dot": "2 4",
    "longdash": "15 6",
    "dashdot": "9 4 2 4",
    "longdashdot": "15 4 2 4",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A curve; ``dash`` as plotly names it."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = "solid"


def bars(
    rows: Sequence[Dot],
    axis: str,
    alt: str,
    most: float | None = None,
    look: Callable[[str], Look] = scheduler_style,
) -> str:
    """Horizontal bars from 0 in the colour of their name's look, each with its 95 % interval as a whisker."""
    reach = [max(r.value or 0.0, r.interval[1] if r.interval else 0.0) for r in rows]
    marks = ticks(most if most is not None else max(reach, default=0.0))
    at = _scale_over(marks, LEFT, WIDTH - RIGHT)
    body = []
    for i, row in enumerate(rows):
        y, label = 8 + i * ROW, row.note or row.label if row.value is None else row.label
        body.append(_text_at(LEFT - 8, y + 17, row.name, "end"))
        end = at(row.value) if row.value is not None else LEFT
        if row.value is not None:
            body.append(
                _rect(LEFT, y + 4, end - LEFT, ROW - 10, look(row.name).colour, f"{row.name}: {label}")
            )
        if row.interval and row.value is not None:
            low, high = at(max(row.interval[0], 0.0)), at(min(row.interval[1], marks[-1]))
            end = max(end, high)
            middle = y + 4 + (ROW - 10) / 2
            body.append(
                f'<path class="w" fill="none" stroke-width="1.5" d="M{low:.1f} {middle - 5:.1f}v10m0 -5'
                f'H{high:.1f}m0 -5v10"/>'
            )
        body.append(_text_at(end + 8, y + 17, label, longest=30))
    return _framed(body, marks, at, 8 + len(rows) * ROW, axis, alt)


def stacked_bars(
    rows: Sequence[tuple[str, Sequence[float]]], parts: Sequence[tuple[str, str]], axis: str, alt: str
) -> str:
    """Horizontal bars of parts, with (name, colour) of each part in the legend; no values: no bar."""
    marks = ticks(max((sum(v) for _, v in rows), default=0.0))
    at = _scale_over(marks, LEFT, WIDTH - RIGHT)
    body = list(_legend([(n, c, "solid") for n, c in parts]))
    top = 8 + ROW * math.ceil(len(parts) / 4)
    for i, (name, values) in enumerate(rows):
        y, start = top + i * ROW, 0.0
        body.append(_text_at(LEFT - 8, y + 17, name, "end"))
        for (part, colour), value in zip(parts, values, strict=False):
            label = f"{name}, {part}: {format_number(value)} {axis.rpartition(', ')[2]}"
            body.append(_rect(at(start), y + 4, at(start + value) - at(start), ROW - 10, colour, label))
            start += value
        if not values:
            body.append(_text_at(LEFT + 8, y + 17, "overloaded"))
    return _framed(body, marks, at, top + len(rows) * ROW, axis, alt, top)


def lines(
    curves: Sequence[Line],
    axis: str,
    upright: str,
    alt: str,
    limits: Mapping[str, float],
    steps: bool = True,
    log: bool = False,
) -> str:
    """Curves with vertical ``limits`` (name → position). Steps for distributions; x from 0, or ``log``."""
    top = 8 + ROW * math.ceil(len(curves) / 4)
    low, left = top + 260, 64
    places = [x for c in curves for x in (*c.x[:1], *c.x[-1:]) if x > 0 or not log]
    places += limits.values()
    far = max(places, default=1.0)
    marks = log_ticks(min(places, default=0.1), far) if log else ticks(far, 6)
    levels = ticks(max((y for c in curves for y in c.y), default=1.0))
    at, up = _scale_over(marks, left, WIDTH - 24, log), _scale_over(levels, low, top + 6)
    body = list(_legend([(c.name, c.colour, c.dash) for c in curves]))
    for level in levels:
        body.append(f'<path class="g" d="M{left} {up(level):.1f}H{WIDTH - 24}"/>')
        body.append(_text_at(left - 6, up(level) + 4, f"{level:.4g}", "end", "q"))
    body.append(_text_at(left, top - 2, upright, "start", "q"))
    body += [_curve(curve, at, up, steps) for curve in curves]
    for name, place in limits.items():
        x = at(place)
        body.append(f'<path class="s" stroke-dasharray="6 4" stroke-width="1.5" d="M{x:.1f} {top}V{low}"/>')
        anchor = "end" if x > WIDTH - 140 else "start"
        body.append(_text_at(x + (-5 if anchor == "end" else 5), low - 8, name, anchor, "st"))
    return _framed(body, marks, at, low, axis, alt, top)


def _curve(curve: Line, at: Scale, up: Scale, steps: bool) -> str:
    dash = f' stroke-dasharray="{_DASHES[curve.dash]}"' if _DASHES.get(curve.dash) else ""
    return (
        f'<path fill="none" stroke="{escape(curve.colour)}" stroke-width="2"{dash} '
        f'd="{_path(curve, at, up, steps)}"><title>{escape(curve.name)}</title></path>'
    )


def overloaded(name: str, dash: str, state: str) -> tuple[str, str]:
    """Name and dash of a curve, marked where its scheduler is overloaded."""
    return (f"{name} (overloaded)", OVERLOADED_DASH) if state == "overloaded" else (name, dash)


def _path(curve: Line, at: Scale, up: Scale, steps: bool) -> str:
    points = list(zip(curve.x, curve.y, strict=True))
    if not points:
        return "M0 0"
    begin = [f"M{at(points[0][0]):.1f} {up(0 if steps else points[0][1]):.1f}"]
    if steps:
        return "".join(begin + [f"H{at(x):.1f}V{up(y):.1f}" for x, y in points])
    return "".join(begin + [f"L{at(x):.1f} {up(y):.1f}" for x, y in points[1:]])


def _framed(
    body: Sequence[str],
    marks: Sequence[float],
    at: Scale,
    bottom: float,
    axis: str,
    alt: str,
    top: float = 4,
) -> str:
    grid = [f'<path class="g" d="M{at(m):.1f} {top}V{bottom}"/>' for m in marks]
    labels = [_text_at(at(m), bottom + 18, f"{m:.4g}", "middle", "q") for m in marks]
    title = _text_at((at.begin + at.end) / 2, bottom + 38, axis, "middle", "q")
    return (
        f'<svg viewBox="0 0 {WIDTH} {bottom + 48:.0f}" role="img" aria-label="{escape(alt)}">\n'
        + "\n".join([*grid, *body, *labels, title])
        + "\n</svg>"
    )


def _legend(entries: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Name, colour and dash of each curve, four in a row."""
    for i, (name, colour, dash) in enumerate(entries):
        x, y = 10 + (i % 4) * (WIDTH - 20) / 4, 14 + (i // 4) * ROW * 0.75
        stroke = f' stroke-dasharray="{_DASHES[dash]}"' if _DASHES.get(dash) else ""
        yield f'<path stroke="{escape(colour)}" stroke-width="4"{stroke} d="M{x:.1f} {y:.1f}h30"/>'
        yield _text_at(x + 36, y + 4, name, longest=19)


def _text_at(x: float, y: float, value: str, anchor: str = "start", kind: str = "", longest: int = 24) -> str:
    """Text of a chart, cut where it is too long; ``kind`` is its class."""
    shown = value if len(value) <= longest or kind else value[: longest - 1] + "…"
    attributes = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}"{attributes}{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>'
        + (f"{escape(shown)}</text>")
    )


def _rect(x: float, y: float, width: float, height: float, colour: str, hover: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{height:.1f}" rx="2" '
        f'fill="{escape(colour)}"><title>{escape(hover)}</title></rect>'
    )


Shape = Literal["circle", "cross", "diamond"]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with its marker, the text under a pointer, and the text beside it."""

    x: float
    y: float
    told: str
    shape: Shape
    colour: str
    label: str = ""


def points(
    shown: Sequence[Point],
    axis: str,
    upright: str,
    alt: str,
    legend: Sequence[tuple[str, Shape]],
    rule: tuple[float, str] | None = None,
) -> str:
    """Points over an axis from 0 and a logarithmic one, with a horizontal ``rule`` (place, name)."""
    top, left = 8 + ROW, 64
    low = top + 280
    marks = ticks(max((p.x for p in shown), default=1.0), 6)
    heights = [p.y for p in shown if p.y > 0 and math.isfinite(p.y)] + ([rule[0]] if rule else [])
    levels = log_ticks(min(heights, default=0.1), max(heights, default=1.0))
    at, up = _scale_over(marks, left, WIDTH - 40), _scale_over(levels, low, top + 6, log=True)
    body = []
    for i, (name, shape) in enumerate(legend):
        begin = float(WIDTH - 110 * (len(legend) - i))
        body += [_marker(begin, 14, shape, "currentColor", name), _text_at(begin + 12, 18, name)]
    for level in levels:
        body.append(f'<path class="g" d="M{left} {up(level):.1f}H{WIDTH - 24}"/>')
        body.append(_text_at(left - 6, up(level) + 4, f"{level:.4g}", "end", "q"))
    body.append(_text_at(left, top - 2, upright, "start", "q"))
    if rule:
        y = up(rule[0])
        body.append(
            f'<path class="s" stroke-dasharray="6 4" stroke-width="1.5" d="M{left} {y:.1f}H{WIDTH - 24}"/>'
        )
        body.append(_text_at(WIDTH - 26, y - 5, rule[1], "end", "st"))
    for p in shown:
        x, y = at(p.x), up(p.y)
        body.append(_marker(x, y, p.shape, p.colour, p.told))
        if p.label:
            right = x > WIDTH / 2
            body.append(
                _text_at(x + (-10 if right else 10), y + 18, p.label, "end" if right else "start", "st")
            )
    return _framed(body, marks, at, low, axis, alt, top)


def _marker(x: float, y: float, shape: Shape, colour: str, hover: str) -> str:
    r = 5.5
    path = {
        "circle": f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        "cross": f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
        "diamond": f"M{x:.1f} {y - r:.1f}l{r} {r} {-r} {r} {-r} {-r}z",
    }[shape]
    fill = escape(colour) if shape == "circle" else "none"
    return (
        f'<path fill="{fill}" stroke="{escape(colour)}" stroke-width="2" d="{path}">'
        f"<title>{escape(hover)}</title></path>"
    )
