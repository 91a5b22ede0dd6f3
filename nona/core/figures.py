"""The common parts of all figures: colours, fonts, axes, each scheduler's look, means with intervals.

Hue alone does not part so many lines for everyone, so each scheduler has a marker of its own, and those
of like hue differ in their dash. Dotted lines are kept for overloaded runs, the marker ``x`` for the
point where a scheduler becomes unstable. Colours are middle tones: at least 3 : 1 against white and
against the dark theme's background. Policies of serverless workflows and of training clusters, and ways of
sharing a GPU, are on charts of their own, so they may look like a scheduler.

Where a value is compared with one from before, that one is a hollow grey circle on the same row.
"""

from __future__ import annotations

import html
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from nona.core.document import Estimate
from nona.core.family import families
from nona.core.registry import ChartStyle, load
from nona.core.units import format_number

# Middle tones: they read on white and on near black.
PALETTE = (
    "#6366f1",
    "#14a394",
    "#e08a1e",
    "#e0529c",
    "#1f93d1",
    "#7fae1b",
    "#9b6cf2",
    "#e25555",
    "#12a5bd",
    "#8390a6",
)
# One type face, size and note for all charts; the live charts' style says the same in its own words.
FONT, HOVER = "Inter, 'Source Sans', sans-serif", "#2b3150"
TOOLS_PX = 28  # the strip above a chart in which its tool bar appears
TEXT_PX, SMALL_PX = 12, 11  # of legends and titles; of ticks and notes
GOOD, BAD, QUIET = "#14a394", "#e25555", "#8390a6"
PLAIN = ChartStyle(QUIET, "solid", "circle")  # of what only stands beside the data
DASHED = ChartStyle(QUIET, "dash", "circle")


def text(value: object, longest: int = 60) -> str:
    """``value`` as text that a chart shows literally, not as markup.

    >>> text("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    shown = str(value)
    return html.escape(shown if len(shown) <= longest else shown[: longest - 1] + "…", quote=False)


def figure(height: int = 320, legend: bool = True) -> go.Figure:
    """Return an empty figure in the common style; ``height`` in pixels, tool bar and legend included."""
    chart = go.Figure()
    chart.update_layout(
        height=height,
        font={"family": FONT, "size": TEXT_PX},
        margin={"l": 8, "r": 8, "t": TOOLS_PX, "b": 8},
        showlegend=legend,
        legend={
            "orientation": "h",
            "traceorder": "normal",
            "yref": "container",  # below the tool bar, which has the strip above to itself
            "y": 1 - TOOLS_PX / height,
            "yanchor": "top",
            "x": 0,
            "font": {"size": TEXT_PX},
        },
        hoverlabel={
            "bgcolor": HOVER,
            "bordercolor": HOVER,
            "align": "left",
            "font": {"family": FONT, "size": TEXT_PX, "color": "#ffffff"},
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        uirevision="keep",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": PALETTE[0]},
    )
    axis = {
        "automargin": True,
        "gridcolor": "rgba(128,128,128,.22)",
        "zeroline": False,
        "tickfont": {"size": SMALL_PX},
    }
    chart.update_xaxes(axis)
    chart.update_yaxes(axis)
    return chart


def rule(chart: go.Figure, at: float, word: str, of: str = "y", anchor: str = "center") -> None:
    """Draw a dashed line across the chart at a value that counts (an SLO, a target), with its label.

    ``anchor``: the side of a word above an upright line on which it meets the line.
    Draw it after the axis has its type: on a logarithmic one notes stand at the logarithm.
    """
    axis = chart.layout.yaxis if of == "y" else chart.layout.xaxis
    place = math.log10(at) if axis.type == "log" else at
    line = {"color": QUIET, "dash": "dash", "width": 1.5}
    note = {"text": text(word), "showarrow": False, "font": {"size": SMALL_PX}}
    if of == "y":
        chart.add_hline(y=at, line=line)
    else:
        chart.add_vline(x=at, line=line)
    if word and of == "y":
        chart.add_annotation(x=0, xref="x domain", xanchor="left", y=place, yanchor="bottom", **note)
    elif word:
        # Above the chart: what is drawn along the line would lie on the word.
        chart.add_annotation(y=1, yref="y domain", yanchor="bottom", x=place, xanchor=anchor, **note)


def finished(chart: go.Figure) -> go.Figure:
    """Return the figure with the titles of its axes as small as their numbers, whatever they were set to."""
    chart.update_xaxes(title_font={"size": SMALL_PX})
    chart.update_yaxes(title_font={"size": SMALL_PX})
    return chart


OVERLOADED_DASH = "dot"
UNSTABLE_SYMBOL = "x"
_OTHERS = tuple(
    ChartStyle(colour, dash, symbol)
    for dash in ("longdashdot", "dashdot")
    for colour, symbol in (
        ("#8390a6", "bowtie"),
        ("#0e94a8", "hourglass"),
        ("#b3873a", "star-diamond"),
        ("#b45fd0", "hexagram"),
    )
)


def scheduler_style(name: str) -> ChartStyle:
    """Return the style of a scheduler or policy by name, or of a way of sharing by its title.

    One that declares none, or is not known, gets a spare look, always the same.

    >>> scheduler_style("local").colour
    '#0f9b8e'
    >>> scheduler_style("mine") == scheduler_style("mine")
    True
    """
    registries = [load(place) for family in families() for place in family.styles]
    found = next((registry[name] for registry in registries if name in registry), None)
    found = found or next(
        (way for registry in registries for way in registry.values() if way.title == name), None
    )
    return found.style if found and found.style else _OTHERS[zlib.crc32(name.encode()) % len(_OTHERS)]


GHOST = "circle-open"  # what a value was before
FAR = 20.0  # values that many times apart are drawn on a logarithmic axis
ROW = 42


@dataclass(frozen=True, slots=True)
class PreviousValue:
    """A value from before with its interval, both as drawn; ``word`` says what it belongs to."""

    value: float | None
    interval: Sequence[float] | None
    word: str = "baseline"


@dataclass(frozen=True, slots=True)
class EstimateDot:
    """A value with its interval, both as drawn; ``note`` replaces a missing value."""

    name: str
    value: float | None
    interval: Sequence[float] | None
    label: str
    note: str = ""
    before: PreviousValue | None = None


def dot_of(
    name: str, value: Estimate, factor: float, show: Callable[[Estimate], str], note: str = ""
) -> EstimateDot:
    """Return a mean with its interval, ``factor`` times as large on the chart.

    ``note`` replaces a missing one.
    """
    mean = None if value.mean is None else factor * value.mean
    return EstimateDot(name, mean, scaled(value.ci95, factor), show(value), note)


def dots_figure(
    dots: Sequence[EstimateDot],
    axis: str,
    zero: bool = False,
    most: float | None = None,
    look: Callable[[str], ChartStyle] | None = None,
) -> go.Figure:
    """One dot per row, the first on top; each row shows its name and its label.

    ``axis`` titles the values; ``zero`` draws a line at 0 and keeps it in view, as differences need it;
    intervals are cut off at ``most`` (of a rate in per cent: 100) and, without ``zero``, at 0.
    """
    chart = figure(70 + ROW * max(2, len(dots)), legend=False)  # one row alone leaves no room for the title
    values = [d.value for d in dots] + [d.before.value for d in dots if d.before is not None]
    log = not zero and most is None and spread_wide(values)
    for dot in dots:
        _add(chart, dot, (look or scheduler_style)(dot.name), (most, zero, log))
    label_rows(
        chart, [d.name for d in dots], [d.note or d.label if d.value is None else d.label for d in dots]
    )
    if log:
        log_axis(chart, values, axis)
    else:
        chart.update_xaxes(type="linear", title=axis, nticks=6)
    if zero:
        chart.add_vline(x=0, line={"color": QUIET, "width": 1.5})
    elif most is not None:
        low = min((v for v in values if v is not None), default=0.0)
        ends = [span[0] for d in dots for span in (d.interval, d.before and d.before.interval) if span]
        begin = 0.0 if low < 0.5 * most else max(0.0, min([low, *ends]))
        chart.update_xaxes(range=capped(begin, most))
    elif not log:
        chart.update_xaxes(rangemode="tozero")
    return chart


def capped(low: float, most: float) -> list[float]:
    """Return the range of an axis that ends at ``most``, with room for a marker there but for no tick beyond.

    >>> [round(v, 2) for v in capped(0.0, 100.0)], [round(v, 2) for v in capped(98.0, 100.0)]
    ([0.0, 102.0], [97.9, 100.04])
    """
    low = min(low, 0.98 * most)
    return [max(0.0, low - 0.05 * (most - low)), most + 0.02 * (most - low)]


def with_previous(now: Sequence[EstimateDot], before: Sequence[EstimateDot], word: str) -> list[EstimateDot]:
    """Each dot with the one of the same name from before, in the chart and in its label.

    >>> now, before = EstimateDot("a", 2.0, None, "2 ms"), EstimateDot("a", 3.0, None, "3 ms")
    >>> (both,) = with_previous([now], [before], "before")
    >>> both.label, both.before.value
    ('2 ms, before 3 ms', 3.0)
    """
    old = {d.name: d for d in before}
    dots = []
    for dot in now:
        then = old.get(dot.name)
        if then is not None:
            old_mean, mean = (d.note if d.value is None else d.label.split(" ±")[0] for d in (then, dot))
            labelled = replace(dot, label=f"{mean}, {word} {old_mean}", note="")
            dot = replace(labelled, before=PreviousValue(then.value, then.interval, word))
        dots.append(dot)
    return dots


def label_rows(chart: go.Figure, names: Sequence[str], labels: Sequence[str]) -> None:
    """Make the y axis one row per name, the first on top, each with its label in small print below."""
    shown = [text(n, 24) for n in names]
    chart.update_layout(margin={"r": 12})
    both = [
        f"{n}<br><span style='font-size:11px'>{text(label, 40).replace('-', '−')}</span>" if label else n
        for n, label in zip(shown, labels, strict=True)
    ]
    chart.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=shown[::-1],
        tickvals=shown,
        ticktext=both,
        range=[len(shown) - 0.5, -0.5][::-1],
        showgrid=False,
    )


def log_axis(chart: go.Figure, values: Sequence[float | None], title: str, of: str = "x") -> None:
    """Make an axis logarithmic, with ticks at 1, 2, 5 times powers of ten, fewer over a wide range."""
    positive = [v for v in values if v is not None and v > 0]
    ticks = log_ticks(min(positive), max(positive)) if positive else []
    change = chart.update_xaxes if of == "x" else chart.update_yaxes
    change(type="log", title=f"{title}, log", tickvals=ticks, ticktext=[format_number(t) for t in ticks])


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from about ``low`` to about ``high``, nine at most if possible.

    >>> log_ticks(3.0, 120.0)
    [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    """
    ticks: list[float] = []
    for heads in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        ticks = [float(f"{h}e{p}") for p in powers for h in heads]
        ticks = [t for t in ticks if low / 2 <= t <= high * 2]
        if len(ticks) <= 9:
            break
    return ticks


def fitting_axis(chart: go.Figure, values: Sequence[float | None], title: str, of: str = "x") -> None:
    """Make an axis begin at 0, or logarithmic where the values spread too widely for that."""
    if spread_wide(values):
        log_axis(chart, values, title, of)
    else:
        change = chart.update_xaxes if of == "x" else chart.update_yaxes
        change(type="linear", title=title, rangemode="tozero")


def zero_or_close(chart: go.Figure, values: Sequence[float]) -> None:
    """Make the x axis begin at 0, or near the least value where all of them are close together."""
    if values and min(values) > 0.5 * max(values):
        room = 0.12 * (max(values) - min(values)) + 0.02 * max(values)
        chart.update_xaxes(range=[min(values) - room, max(values) + room])
    else:
        chart.update_xaxes(rangemode="tozero")


def distributions_figure(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float], ChartStyle]],
    axis: str,
    hover: str,
    steps: bool = True,
) -> go.Figure:
    """Name → values in order, their share in per cent, and its look; ``hover`` follows the name.

    ``steps``: each value is that of a job; otherwise lines join percentiles.

    The axis is logarithmic where the longest values are many times as long as the short ones.
    """
    chart = figure(380)
    ends: list[float | None] = []
    for name, (x, y, look) in curves.items():
        ends += [x[len(x) // 10], x[-1]] if x else []
        add_line(chart, name, x, y, look, f"{text(name)}: {hover}", steps=steps)
    fitting_axis(chart, ends, axis)
    chart.update_yaxes(title="jobs, %", range=[0, 101])
    return chart


def spread_wide(values: Sequence[float | None]) -> bool:
    """Return whether positive values spread so widely that only a logarithmic axis shows them all.

    >>> spread_wide([1.0, 50.0]), spread_wide([1.0, None, 3.0])
    (True, False)
    """
    numbers = [v for v in values if v is not None]
    return bool(numbers) and min(numbers) > 0 and max(numbers) > FAR * min(numbers)


def _add(
    chart: go.Figure, dot: EstimateDot, style: ChartStyle, axis: tuple[float | None, bool, bool]
) -> None:
    row = text(dot.name, 24)
    if dot.before is not None and dot.before.value is not None:
        if dot.value is not None:
            add_line(chart, "", [dot.before.value, dot.value], [row, row], replace(style, dash="solid"))
        before = EstimateDot(dot.name, dot.before.value, dot.before.interval, "")
        ghost = ChartStyle(QUIET, "solid", GHOST)
        _mark(chart, before, ghost, f"{row}, {dot.before.word}: %{{x:,.3~r}}", axis)
    if dot.value is None:
        chart.add_scatter(x=[None], y=[row])
    else:
        shown = text(dot.label)
        hover = f"{text(dot.name)}: " + (shown if dot.before is None else f"%{{x:,.3~r}}<br>{shown}")
        _mark(chart, dot, style, hover, axis)


def _mark(
    chart: go.Figure, dot: EstimateDot, look: ChartStyle, hover: str, axis: tuple[float | None, bool, bool]
) -> None:
    """Draw a marker with its interval, which the ``axis`` (most, zero, log) cuts off."""
    value, (most, zero, log) = dot.value or 0.0, axis
    span = list(dot.interval) if dot.interval is not None else [value, value]
    if not zero:
        span[0] = max(span[0], value * 1e-3 if log else 0.0)
    if most is not None:
        span[1] = min(span[1], most)
    across = [span] if span[1] > span[0] else []
    add_points(chart, "", [value], [text(dot.name, 24)], look, hover, 11, across=across)


def scaled(interval: Sequence[float] | None, factor: float) -> list[float] | None:
    """Return an interval in another unit.

    >>> scaled([0.5, 1.0], 100), scaled(None, 100)
    ([50.0, 100.0], None)
    """
    return None if interval is None else [factor * v for v in interval]


Span = Sequence[float] | None


def add_line(
    chart: go.Figure,
    name: str,
    x: Sequence[float | str | None],
    y: Sequence[float | str | None],
    look: ChartStyle,
    hover: str = "",
    width: float = 2,
    steps: bool = False,
    **more: Any,
) -> None:
    """Add a line to a chart.

    Parameters
    ----------
    chart : plotly.graph_objects.Figure
        The figure; changed in place.
    name : str
        What the legend shows.
    x, y : sequence of float, str or None
        Coordinates; ``None`` breaks the line.
    look : ChartStyle
        Colour, dash and symbol.
    hover : str, optional
        Plotly's template for the pointer; empty: nothing is shown.
    width : float, optional
        Width in pixels.
    steps : bool, optional
        Whether the line is a staircase.
    **more
        Further options of plotly's trace.
    """
    line = {"color": look.colour, "dash": look.dash, "width": width, "shape": "hv" if steps else "linear"}
    chart.add_scatter(x=list(x), y=list(y), mode="lines", line=line, **_named(name, hover), **more)


def add_points(
    chart: go.Figure,
    name: str,
    x: Sequence[float | str | None],
    y: Sequence[float | str | None],
    look: ChartStyle,
    hover: str = "",
    size: float | Sequence[float] = 9,
    joined: bool = False,
    spans: Sequence[Span] = (),
    across: Sequence[Span] = (),
    bar: float = 2,
    **more: Any,
) -> None:
    """Add markers to a chart, with their intervals.

    Parameters
    ----------
    chart : plotly.graph_objects.Figure
        The figure; changed in place.
    name : str
        What the legend shows.
    x, y : sequence of float, str or None
        Coordinates; ``None`` breaks the line.
    look : ChartStyle
        Colour, dash and symbol.
    hover : str, optional
        Plotly's template for the pointer; empty: nothing is shown.
    size : float or sequence of float, optional
        Diameter of the markers in pixels.
    joined : bool, optional
        Join the markers by a line; otherwise they have a border.
    spans, across : sequence of (float, float) or None, optional
        Interval of each ``y``, and of each ``x``, from end to end.
    bar : float, optional
        Width of the intervals in pixels.
    **more
        Further options of plotly's trace.

    Examples
    --------
    >>> made = go.Figure()
    >>> add_points(made, "a", [1, 2], [3.0, 4.0], PLAIN, spans=[(2.5, 3.5), None])
    >>> made.data[0].error_y.array, made.data[0].error_y.arrayminus
    ((0.5, 0.0), (0.5, 0.0))
    """
    border = {} if joined else {"line": {"width": 2, "color": look.colour}}
    chart.add_scatter(
        x=list(x),
        y=list(y),
        mode="lines+markers" if joined else "markers",
        line={"color": look.colour, "dash": look.dash, "width": 2} if joined else None,
        marker={"color": look.colour, "symbol": look.symbol, "size": size, **border},
        error_x=_whiskers(x, across, look.colour, bar) if across else None,
        error_y=_whiskers(y, spans, look.colour, bar) if spans else None,
        **_named(name, hover),
        **{"cliponaxis": False, **more},  # a marker at the end of an axis is drawn whole
    )


def add_means(
    chart: go.Figure,
    name: str,
    places: Sequence[float | str],
    values: Sequence[Estimate],
    scale: float,
    look: ChartStyle,
    hover: str = "",
    lying: bool = False,
    **more: Any,
) -> list[float | None]:
    """Add means with their intervals, ``scale`` times as large, and return these means.

    They are joined by a line over their ``places``; ``lying`` ones stand alone, each on the row of its place.
    """
    means = [None if v.mean is None else scale * v.mean for v in values]
    spans = [scaled(v.ci95, scale) for v in values]
    if lying:
        add_points(chart, name, means, places, look, hover, across=spans, **more)
    else:
        add_points(chart, name, places, means, look, hover, joined=True, spans=spans, **more)
    return means


def add_bars(
    chart: go.Figure,
    name: str,
    places: Sequence[str | float],
    values: Sequence[float | None],
    colour: str | Sequence[str],
    hover: str = "",
    upright: bool = False,
    **more: Any,
) -> None:
    """Add bars in a colour, lying unless ``upright``; legend and pointer as those of :func:`add_line`."""
    ends = {"x": places, "y": values} if upright else {"x": values, "y": places, "orientation": "h"}
    chart.add_bar(**ends, marker_color=colour, **_named(name, hover), **more)


def add_heat(
    chart: go.Figure,
    z: Sequence[Sequence[float | None]],
    scale: Sequence[Sequence[object]],
    span: tuple[float, float],
    hover: str = "%{customdata}",
    **more: Any,
) -> None:
    """Add a heat map with colours from ``scale`` over ``span``; ``more`` has places, texts, colour bar."""
    chart.add_heatmap(
        z=z,
        zmin=span[0],
        zmax=span[1],
        colorscale=scale,
        showscale="colorbar" in more,
        xgap=2,
        ygap=2,
        hovertemplate=f"{hover}<extra></extra>",
        **more,
    )


def _whiskers(values: Sequence[Any], spans: Sequence[Span], colour: str, thickness: float) -> dict[str, Any]:
    ends = [
        (0.0, 0.0) if v is None or span is None else (max(0.0, span[1] - v), max(0.0, v - span[0]))
        for v, span in zip(values, spans, strict=True)
    ]
    return {
        "type": "data",
        "symmetric": False,
        "array": [up for up, _ in ends],
        "arrayminus": [down for _, down in ends],
        "color": colour,
        "thickness": thickness,
        "width": 5,
    }


def _named(name: str, hover: str) -> dict[str, Any]:
    on_hover = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    return {"name": text(name), **on_hover} if name else {"showlegend": False, **on_hover}


def time_by_kind_figure(kinds: Mapping[str, float], most: int = 10) -> go.Figure:
    """Seconds per kind of operator, the largest first; the rest together."""
    ordered = sorted(kinds.items(), key=lambda k: (-k[1], k[0]))
    rest = sum(v for _, v in ordered[most:])
    shown = ordered[:most] + ([("all others", rest)] if rest > 0 else [])
    chart = figure(max(180, 28 * len(shown) + 60), legend=False)
    names, times_ms = [text(k) for k, _ in shown][::-1], [v * 1e3 for _, v in shown][::-1]
    add_bars(chart, "", names, times_ms, PALETTE[0], "%{y}: %{x:,.3~r} ms")
    chart.update_xaxes(title="ms")
    return chart
