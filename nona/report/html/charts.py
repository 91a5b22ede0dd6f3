"""Figures as inline SVG, which needs no script: lines, points and bars of what the app draws with Plotly."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from nona.report.figures import log_ticks
from nona.report.html import pieces
from nona.units import format_number

WIDTH, RIGHT, LETTER, LINE = (
    760,
    24,
    6.4,
    14,
)  # pixels: the picture, beside it, of a letter and a line of text
ENTRY = 20  # of a row of the legend
_DASHES = {
    "dash": "9 5",
    "dot": "2 4",
    "longdash": "15 6",
    "dashdot": "9 4 2 4",
    "longdashdot": "15 4 2 4",
    "3px,3px": "3 3",
}
# Symbol → corners, turned by degrees, and how far every second one lies inside; others are circles.
_SYMBOLS: Mapping[str, tuple[int, float, float]] = {
    "square": (4, 45, 1.0),
    "diamond": (4, 0, 1.0),
    "triangle": (3, 0, 1.0),
    "triangle-down": (3, 180, 1.0),
    "triangle-left": (3, 270, 1.0),
    "triangle-right": (3, 90, 1.0),
    "pentagon": (5, 0, 1.0),
    "hexagon": (6, 0, 1.0),
    "octagon": (8, 22, 1.0),
    "star": (10, 0, 0.45),
    "hexagram": (12, 0, 0.6),
    "cross": (8, 0, 0.35),
    "x": (8, 45, 0.35),
    "bowtie": (4, 45, 0.3),
    "hourglass": (4, 45, 0.3),
}


def chart(title: str, figure: go.Figure, alt: str, note: str = "") -> Markup:
    """A figure under its finding; ``alt`` describes it in words."""
    picture = _Picture(figure)
    parts = picture.axes(), picture.rules(), picture.traces(), picture.notes(), picture.legend()
    shapes = [shape for part in parts for shape in part]
    return pieces.figure(title, (WIDTH, round(picture.height)), alt, shapes, note)


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Round numbers within a range, in steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Values of an axis: logarithms where ``log``, places of ``names`` if any; ``marks``: ticks, texts."""

    low: float
    high: float
    log: bool
    names: tuple[str, ...]
    marks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    scale: _Scale
    begin: float
    end: float

    def at(self, value: Any) -> float:
        if isinstance(value, str):
            return self.place(self.scale.names.index(value))
        if self.scale.log:
            return self.place(math.log10(value) if value > 0 else self.scale.low)
        return self.place(value)

    def place(self, inside: float) -> float:
        low, high = self.scale.low, self.scale.high
        return self.part(min(max((inside - low) / (high - low), -0.02), 1.02))

    def part(self, share: float) -> float:
        return self.begin + share * (self.end - self.begin)


class _Picture:
    """The shapes of a figure; pixels count from the upper left corner."""

    def __init__(self, figure: go.Figure) -> None:
        self.figure, layout = figure, figure.layout
        self.entries = list(_entries(figure)) if layout.showlegend is not False else []
        self.noted = any(n.yref == "y domain" and n.yanchor == "bottom" for n in layout.annotations)
        rows = self.entries[-1][1] + 1 if self.entries else 0
        names = dict.fromkeys(("y", *(t.yaxis or "y" for t in figure.data)))
        uprights = {name: layout[name.replace("y", "yaxis")] for name in names}
        titled = any(axis.title.text for axis in uprights.values())
        self.top = 8.0 + ENTRY * rows + LINE * (self.noted + titled)
        bottom = self.top + max(80, layout.height - 76 - 32 * bool(rows))
        self.height = bottom + 46
        scales = {name: _scale(figure, axis, name) for name, axis in uprights.items()}
        longest = max((_width(word) for scale in scales.values() for _, word in scale.marks), default=0.0)
        self.x = _Axis(_scale(figure, layout.xaxis, "x"), min(max(48.0, longest + 14), 260.0), WIDTH - RIGHT)
        whole = _Axis(_Scale(0, 1, False, (), ()), bottom, self.top)
        self.axes_of = {"paper": whole}
        for name, axis in uprights.items():
            low, high = axis.domain or (0.0, 1.0)
            self.axes_of[name] = _Axis(scales[name], whole.part(low), whole.part(high))

    def legend(self) -> Iterator[Markup]:
        for x, row, trace in self.entries:
            y = 12.0 + ENTRY * row
            if trace.type == "bar":
                yield pieces.drawn("bar", x + 6, y - 6, 18, 11, _nth(trace.marker.color, 0))
            elif "lines" in trace.mode:
                yield _line(f"M{x:.1f} {y:.1f}h30", trace.line)
            if trace.type != "bar" and "markers" in trace.mode:
                yield _marker(trace, 0, x + 15, y, "")
            yield from _words(x + 36, y + 4, trace.name)

    def axes(self) -> Iterator[Markup]:
        layout, bottom = self.figure.layout, self.axes_of["paper"].begin
        for place, word in self.x.scale.marks:
            x = self.x.place(place)
            if layout.xaxis.showgrid is not False:
                yield pieces.drawn("grid", f"M{x:.1f} {self.top:.1f}V{bottom:.1f}")
            yield from _words(x, bottom + 16, word, "middle", "q")
        yield from _words(self.x.part(0.5), bottom + 38, layout.xaxis.title.text, "middle", "q")
        for name in [name for name in self.axes_of if name != "paper"]:
            axis, look = self.axes_of[name], layout[name.replace("y", "yaxis")]
            for place, word in axis.scale.marks:
                y = axis.place(place)
                if look.showgrid is not False and not axis.scale.names:
                    yield pieces.drawn("grid", f"M{self.x.begin:.1f} {y:.1f}H{self.x.end:.1f}")
                yield from _words(self.x.begin - 8, y + 4, word, "end", "" if axis.scale.names else "q")
            above = LINE * (self.noted and name == "y")
            yield from _words(8, min(axis.begin, axis.end) - 6 - above, look.title.text, kind="q")

    def rules(self) -> Iterator[Markup]:
        for shape in self.figure.layout.shapes:
            (x, y), (x_end, y_end) = (
                (self._across(shape, a), self._upright(shape, b))
                for a, b in ((shape.x0, shape.y0), (shape.x1, shape.y1))
            )
            yield _line(f"M{x:.1f} {y:.1f}L{x_end:.1f} {y_end:.1f}", shape.line)

    def notes(self) -> Iterator[Markup]:
        for note in self.figure.layout.annotations:
            x, y = self._across(note, note.x), self._upright(note, note.y)
            if note.showarrow is not False:
                begin, x, y = f"M{x:.1f} {y:.1f}", x + note.ax, y + note.ay
                yield pieces.drawn("line", f"{begin}L{x:.1f} {y:.1f}", note.arrowcolor, 1.5)
            anchor = {"left": "start", "right": "end"}.get(note.xanchor, "middle")
            x = max(x, _width(note.text)) if anchor == "end" else x
            yield from _words(x, y + (-4 if note.yanchor == "bottom" else 12), note.text, anchor, "q")

    def _across(self, what: Any, value: Any) -> float:
        return _place(self.x, what, value) if (what.xref or "x") == "x" else self.x.part(value)

    def _upright(self, what: Any, value: Any) -> float:
        name, _, domain = (what.yref or "y").partition(" ")
        axis = self.axes_of[name]
        return axis.part(value) if domain or name == "paper" else _place(axis, what, value)

    def traces(self) -> Iterator[Markup]:
        bars = [t for t in self.figure.data if t.type == "bar"]
        ends: dict[str, float] = {}  # of what lies on one another
        for trace in self.figure.data:
            if trace.type == "bar":
                yield from self._bars(trace, bars.index(trace), len(bars), ends)
            else:
                yield from self._scattered(trace)

    def _bars(self, trace: Any, number: int, of: int, ends: dict[str, float]) -> Iterator[Markup]:
        axis, stacked = self.axes_of["y"], self.figure.layout.barmode == "stack"
        room = 0.7 * abs(axis.place(1) - axis.place(0))
        height = room if stacked else room / of
        for i, (value, name) in enumerate(zip(trace.x, trace.y, strict=True)):
            if value is not None:
                begin = ends.get(name, 0.0) if stacked else 0.0
                ends[name] = begin + value
                x, end = self.x.at(begin), self.x.at(begin + value)
                y = axis.at(name) - room / 2 + (0 if stacked else number * height)
                size = (f"{part:.1f}" for part in (x, y, end - x, height))
                yield pieces.drawn("bar", *size, _nth(trace.marker.color, i), _hover(trace, i))

    def _scattered(self, trace: Any) -> Iterator[Markup]:
        axis = self.axes_of[trace.yaxis or "y"]
        points = [
            None if x is None or y is None else (i, self.x.at(x), axis.at(y))
            for i, (x, y) in enumerate(zip(trace.x, trace.y, strict=True))
        ]
        mode = trace.mode or ""
        if "lines" in mode:
            yield _line(_course(points, trace.line.shape == "hv"), trace.line, trace.name or "")
        spans = {side: _spans(trace, side) for side in "xy"}
        for i, x, y in filter(None, points):
            if (across := spans["x"] and spans["x"][i]) and across[1] > across[0]:
                low, high = map(self.x.at, across)
                yield _line(f"M{low:.1f} {y - 5:.1f}v10m0 -5H{high:.1f}m0 -5v10", trace.error_x)
            if (upright := spans["y"] and spans["y"][i]) and upright[1] > upright[0]:
                low, high = map(axis.at, upright)
                yield _line(f"M{x - 4:.1f} {low:.1f}h8m-4 0V{high:.1f}m-4 0h8", trace.error_y)
            if "markers" in mode:
                yield _marker(trace, i, x, y, _hover(trace, i))


def _place(axis: _Axis, what: Any, value: Any) -> float:
    """The pixel of a line or a note, whose place on a logarithmic axis is a logarithm already."""
    return axis.place(value) if axis.scale.log and "showarrow" in what else axis.at(value)


def _entries(figure: go.Figure) -> Iterator[tuple[float, int, Any]]:
    x, row = 8.0, 0
    for trace in figure.data:
        if trace.name and trace.showlegend is not False:
            size = 54 + _width(trace.name)
            if x > 8 and x + size > WIDTH:
                x, row = 8.0, row + 1
            yield x, row, trace
            x += size


def _scale(figure: go.Figure, axis: Any, name: str) -> _Scale:
    side, log = name[0], axis.type == "log"
    traces = [t for t in figure.data if side == "x" or (t.yaxis or "y") == name]
    values = [v for t in traces for v in t[side] or () if v is not None]
    numbers = [v for v in values if not isinstance(v, str)]
    numbers += [end for t in traces for span in _spans(t, side) if span for end in span]
    if side == "x" and figure.layout.barmode == "stack":
        ends: dict[str, float] = {}
        for place, value in ((p, v) for t in traces for p, v in zip(t.y, t.x, strict=True)):
            ends[place] = ends.get(place, 0.0) + (value or 0.0)
        numbers += ends.values()
    names = tuple(axis.categoryarray or dict.fromkeys(v for v in values if isinstance(v, str)))
    if log:
        numbers = [math.log10(v) for v in numbers if v > 0]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = 0.06 * (high - low) or 0.5
    from_zero = axis.rangemode == "tozero" or (not log and any(t.type == "bar" for t in traces))
    low, high = min(low, 0.0) if from_zero else low - room, high + room
    if names:
        low, high = -0.5, len(names) - 0.5
    low, high = axis.range or ((high, low) if axis.autorange == "reversed" else (low, high))
    return _Scale(low, high, log, names, _marks(axis, low, high, names))


def _marks(axis: Any, low: float, high: float, names: Sequence[str]) -> tuple[tuple[float, str], ...]:
    first, last = sorted((low, high))
    log: Callable[[float], float] = math.log10 if axis.type == "log" else float
    if axis.tickvals is not None:
        words = axis.ticktext if axis.ticktext is not None else [f"{v:,.6g}" for v in axis.tickvals]
        places = [names.index(v) if isinstance(v, str) else log(v) for v in axis.tickvals]
    elif names:
        places, words = [*range(len(names))], [*names]
    elif axis.type == "log":
        values = log_ticks(10**first, 10**last)
        places, words = [*map(log, values)], [*map(format_number, values)]
    else:
        places = ticks(first, last)
        words = [f"{v:,.6g}" for v in places]
    return tuple((p, w) for p, w in zip(places, words, strict=True) if first - 1e-9 <= p <= last + 1e-9)


def _spans(trace: Any, side: str) -> list[tuple[float, float] | None]:
    if trace.type != "scatter" or (error := trace[f"error_{side}"]).array is None:
        return []
    rows = zip(trace[side], error.array, error.arrayminus, strict=True)
    return [None if v is None else (v - minus, v + plus) for v, plus, minus in rows]


def _course(points: Sequence[tuple[int, float, float] | None], steps: bool) -> str:
    course, pen_up = "", True
    for point in points:
        if point is not None:
            _, x, y = point
            course += f"M{x:.1f} {y:.1f}" if pen_up else f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}"
        pen_up = point is None
    return course or "M0 0"


def _line(course: str, look: Any, about: str = "") -> Markup:
    width = look["width"] if "dash" in look else look["thickness"]
    dash = _DASHES.get(look["dash"] or "") if "dash" in look else None
    return pieces.drawn("line", course, look["color"], width or 2, dash, _plain(about))


def _marker(trace: Any, i: int, x: float, y: float, about: str) -> Markup:
    look, symbol = trace.marker, _nth(trace.marker.symbol, i) or "circle"
    size, colour = 0.5 * (_nth(look.size, i) or 8), _nth(look.color, i)
    shape = max((name for name in _SYMBOLS if symbol.startswith(name)), key=len, default=None)
    if shape is None:
        arc = f"a{size:.1f} {size:.1f} 0 1 0"
        course = f"M{x - size:.1f} {y:.1f}{arc} {2 * size:.1f} 0{arc} {-2 * size:.1f} 0z"
    else:
        count, turned, inner = _SYMBOLS[shape]
        around = [math.radians(turned + 360 * k / count) for k in range(count)]
        out = [1.3 * size * (inner if k % 2 else 1.0) for k in range(count)]
        corners = zip(out, around, strict=True)
        course = f"M{'L'.join(f'{x + r * math.sin(a):.1f} {y - r * math.cos(a):.1f}' for r, a in corners)}z"
    fill = "none" if symbol.endswith("-open") else colour
    return pieces.drawn("mark", course, _nth(look.line.color, i) or colour, fill, about)


def _nth(values: Any, i: int) -> Any:
    return values[i] if isinstance(values, list | tuple) else values


_BLANK = re.compile(r"%\{([\w.]+)(?:\[(\d+)\])?(?::([^}]*))?\}")


def _hover(trace: Any, i: int) -> str:
    """The app's text for a point under a pointer."""

    def filled(blank: re.Match[str]) -> str:
        name, place, spec = blank.groups()
        value = trace.name if name == "fullData.name" else _nth(trace[name], i)
        value = value if place is None else value[int(place)]
        if not isinstance(value, int | float):
            return str(value)
        return format_number(value) if spec is None or "r" in spec else format(value, spec)

    return _plain(_BLANK.sub(filled, (trace.hovertemplate or "").removesuffix("<extra></extra>")))


def _plain(text: str) -> str:
    """A figure's text without its markup, in one line."""
    return html.unescape(re.sub("<[^>]*>", "", text.replace("<br>", ", ")))


def _width(text: str) -> float:
    return max(LETTER * len(_plain(line)) for line in text.split("<br>"))


def _words(x: float, y: float, text: str | None, anchor: str = "start", kind: str = "") -> Iterator[Markup]:
    """Text around a place, in small print from its second line on; ``kind`` is its class."""
    lines = (text or "").split("<br>")
    for k, line in enumerate(lines):
        upright = y + LINE * (k - (len(lines) - 1) / 2)
        if line:
            yield pieces.drawn(
                "words", f"{x:.1f}", f"{upright:.1f}", _plain(line), anchor, "q" if k else kind
            )
