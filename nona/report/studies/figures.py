"""Figures of the studies on placing and predicting: decisions, networks, map, paper."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import plotly.graph_objects as go

from nona.cost.validation import ValidationRow
from nona.registry import Look
from nona.report.figures import (
    BAD,
    DASHED,
    GOOD,
    PALETTE,
    PLAIN,
    QUIET,
    add_heat,
    add_line,
    add_means,
    add_points,
    colours,
    figure,
    rule,
    scheduler_style,
    text,
)
from nona.report.studies.decisions import QUESTIONS, compared, family_of, heat, ratio_words, where
from nona.report.studies.network_views import by_slowdown
from nona.report.studies.prediction_map import BANDS, columns_of, error, half_width
from nona.report.studies.validation import AGREES, UNCLEAR
from nona.results import studies
from nona.results.program import ComparedRow
from nona.tables import share_text
from nona.units import format_number, format_time

FULL = 1.25  # a ratio from which on a cell has the full colour
SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "cross",
    "triangle-up",
    "x",
    "star",
    "pentagon",
    "hexagon",
    "bowtie",
)


def ratios_figure(data: studies.DecisionStudy, key: studies.QuestionKey) -> go.Figure:
    """Every cell's ratio with its interval, sorted; colour and symbol show the family.

    On a logarithmic axis twice as long and half as long are equally far from 1; the dashed line is the goal.
    """
    cells = sorted(compared(data, key), key=lambda c: c.answer.ratio)
    families = list(dict.fromkeys(n.family for n in data.networks.values()))
    colour = colours(families)
    chart = figure(430)
    for number, family in enumerate(families):
        own = [(rank, c) for rank, c in enumerate(cells, 1) if family_of(data, c.cell) == family]
        if own:
            ratios = [c.answer.ratio for _, c in own]
            spans = [c.answer.estimate.ci95 for _, c in own]
            add_points(
                chart,
                family,
                [rank for rank, _ in own],
                ratios,
                Look(colour[family], "solid", SYMBOLS[number % len(SYMBOLS)]),
                "%{customdata}",
                size=6,
                spans=spans,
                bar=1,
                customdata=[
                    f"{text(where(c.cell))}<br>{ratio_words(c.answer)} {c.answer.best}" for _, c in own
                ],
            )
    chart.update_xaxes(title="cells, sorted by ratio")
    chart.update_yaxes(
        type="log", title=f"mean JCT of {QUESTIONS[key].name} over that of the best rival (log)"
    )
    chart.add_hline(y=1.0, line={"color": QUIET, "width": 1})
    rule(chart, QUESTIONS[key].goal, "")
    return chart


def heat_figure(data: studies.DecisionStudy, key: studies.QuestionKey) -> go.Figure:
    """Link bandwidth on x, its background load on y: the largest ratio; the median when pointed at."""
    links, backgrounds, ratios = heat(data, key)
    chart = figure(150 + 62 * len(backgrounds), legend=False)
    largest = [[max(cell_ratios, default=None) for cell_ratios in row] for row in ratios]
    add_heat(
        chart,
        largest,
        [(0.0, GOOD), (0.5, QUIET), (1.0, BAD)],
        (2.0 - FULL, FULL),
        "%{x}, background %{y}<br>%{customdata}",
        x=[f"{link:g} Gbit/s" for link in links],
        y=[share_text(b) for b in backgrounds],
        text=[[_cell_text(cell_ratios) for cell_ratios in row] for row in ratios],
        texttemplate="%{text}",
        customdata=[[_hover_text(cell_ratios) for cell_ratios in row] for row in ratios],
        hoverongaps=False,
        colorbar={"title": {"text": "largest", "side": "top"}, "thickness": 10},
    )
    chart.update_xaxes(title="link bandwidth", showgrid=False, type="category")
    chart.update_yaxes(title="background load of the link", showgrid=False, type="category")
    return chart


def _cell_text(ratios: list[float]) -> str:
    """The largest.

    >>> _cell_text([0.5, 1.0, 1.2])
    '1.20'
    """
    return f"{max(ratios):.2f}" if ratios else ""


def _hover_text(ratios: list[float]) -> str:
    """The same as a sentence.

    >>> _hover_text([0.5, 1.0, 1.2])
    'median 1.00, largest 1.20, of 3 cells'
    """
    return f"median {median(ratios):.2f}, largest {max(ratios):.2f}, of {len(ratios)} cells" if ratios else ""


ROW_PX, REST_PX = 26, 130


def network_views_figure(data: studies.NetworkViewsStudy) -> go.Figure:
    """Two points per scheduler with their 95 % intervals, joined by a line; milliseconds, logarithmic.

    The scheduler that the loaded link slows most is on top; one without a steady state has no point.
    """
    rows = by_slowdown(data)
    chart = figure(REST_PX + ROW_PX * len(rows))
    names = [text(f"{r.scheduler}  {r.view}") for r in rows]
    for name, row in zip(names, rows, strict=True):
        ends = [on.jct_s.mean for on in (row.idle, row.loaded)]
        if None not in ends:
            add_line(chart, "", [1e3 * e for e in ends if e is not None], [name, name], PLAIN)
    background = data.about.background
    _points(chart, names, [r.idle for r in rows], "idle link", GOOD, "circle-open")
    _points(chart, names, [r.loaded for r in rows], f"link {share_text(background)} loaded", BAD, "diamond")
    _without_steady_state(chart, names, rows)
    chart.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    chart.update_xaxes(type="log", title="mean JCT, ms (log)")
    return chart


def _points(
    made: go.Figure, names: list[str], links: list[studies.OnLink], label: str, colour: str, symbol: str
) -> None:
    look, hover = Look(colour, "solid", symbol), f"%{{y}}, {label}: %{{x:,.3~r}} ms"
    add_means(made, label, names, [on.jct_s for on in links], 1e3, look, hover, lying=True, bar=1.5)


def _without_steady_state(made: go.Figure, names: list[str], rows: list[studies.NetworkViewRow]) -> None:
    for name, row in zip(names, rows, strict=True):
        links = [
            link for link, on in (("idle", row.idle), ("loaded", row.loaded)) if on.state == "overloaded"
        ]
        if links:
            made.add_annotation(
                x=1,
                xref="paper",
                xanchor="right",
                y=name,
                text=f"{' and '.join(links)}: no steady state",
                showarrow=False,
                font={"color": BAD},
            )


COLOURS = ("#14a394", "#9ccc65", "#e0a81e", "#e25555")  # within 5, 10, 20 %, and beyond


def band(value: float) -> int:
    """The number of the band that contains an error.

    >>> [band(e) for e in (0.0, -0.07, 0.15, 0.4)]
    [0, 1, 2, 3]
    """
    return sum(abs(value) > bound for bound in BANDS)


def map_figure(data: studies.PredictionMap, measure: studies.Measure) -> go.Figure:
    """Placements and loads as rows, scenarios as columns; the number is the signed error in per cent."""
    points = data.points
    scenarios = list(dict.fromkeys(p.scenario for p in points))
    columns = columns_of((p.placement, p.load) for p in points)
    by_cell = {(p.scenario, p.placement, p.load): p for p in points}
    rows = [[by_cell.get((s, *c)) for s in scenarios] for c in columns]
    errors = [[None if p is None else error(p, measure) for p in row] for row in rows]
    chart = figure(210 + 21 * len(columns), legend=False)
    steps = [(end, colour) for i, colour in enumerate(COLOURS) for end in (i / 4, (i + 1) / 4)]
    add_heat(
        chart,
        [[None if e is None else band(e) + 0.5 for e in row] for row in errors],
        steps,
        (0, 4),
        x=[text(s) for s in scenarios],
        y=[[c[0] for c in columns], [c[1] for c in columns]],
        text=[["" if e is None else _whole(e) for e in row] for row in errors],
        texttemplate="%{text}",
        customdata=[[_hover(p, measure) for p in row] for row in rows],
        hoverongaps=False,
        colorbar={
            "tickvals": [0.5, 1.5, 2.5, 3.5],
            "ticktext": ["≤ 5 %", "≤ 10 %", "≤ 20 %", "> 20 %"],
            "title": {"text": "off by", "side": "top"},
            "orientation": "h",
            "thickness": 10,
            "y": 1.02,
            "yanchor": "bottom",
        },
    )
    chart.update_yaxes(autorange="reversed", showgrid=False)
    chart.update_xaxes(showgrid=False, tickangle=-60, side="bottom")
    return chart


def _whole(value: float) -> str:
    """Per cent with its sign, none for 0.

    >>> _whole(0.104), _whole(-0.004)
    ('+10', '0')
    """
    rounded = round(100 * value)
    return f"{rounded:+d}" if rounded else "0"


def _hover(point: studies.MapPoint | None, measure: studies.Measure) -> str:
    value = None if point is None else error(point, measure)
    if point is None or value is None:
        return ""
    half = half_width(point, measure)
    sure = "" if half is None else f", simulation ± {share_text(half, 1)}"
    return (
        f"{text(point.scenario)}, {point.placement}, {point.load}<br>"
        f"executors {share_text(point.servers)}, link {share_text(point.link)}<br>"
        f"{share_text(value, 1, '+')}{sure}"
    )


def growth_figure(data: studies.PaperStudy) -> go.Figure:
    """Ratio of the mean JCT to nona's over the jobs in the run, log-log, and the paper's number."""
    chart = figure(360)
    for row in data.overload.schedulers:
        x, y = [r.jobs for r in row.runs], [r.ratio for r in row.runs]
        hover = f"{text(row.scheduler)}: %{{y:,.3~r}} × at %{{x:,}} jobs"
        add_points(chart, row.scheduler, x, y, scheduler_style(row.scheduler), hover, size=8, joined=True)
    chart.update_xaxes(type="log", title="jobs in the run (log)", dtick=1)
    chart.update_yaxes(type="log", title="mean JCT relative to nona (log)", dtick=1)
    rule(chart, data.claim, f"{data.claim:.0f} ×")
    return chart


VALIDATION_SYMBOLS = {"counted": "circle", "in-sample": "circle-open"}
GREY = ("x", "cross", "diamond-tall")  # groups that only stand there for comparison


def validation_figure(rows: Sequence[ValidationRow]) -> go.Figure:
    """Predicted against published latency (ms), logarithmic axes, one trace per group, with the diagonal.

    Groups that only stand there for comparison are grey; open circles are in sample.
    """
    chart = figure(580)
    times_ms = [1e3 * t for r in rows for t in (r.measured_s, r.predicted_s)]
    ends = [min(times_ms) * 0.8, max(times_ms) * 1.25] if times_ms else [0.1, 10.0]
    add_line(chart, "predicted = published", ends, ends, DASHED, width=1.5)
    groups = dict.fromkeys(r.group for r in rows)
    coloured = [g for g in groups if any(r.group == g and r.use != "shown" for r in rows)]
    others = [g for g in groups if g not in coloured]
    for group in groups:
        own = [r for r in rows if r.group == group]
        x, y = [1e3 * r.measured_s for r in own], [1e3 * r.predicted_s for r in own]
        name, colour = f"{group} (not counted)", QUIET
        symbols: str | list[str] = GREY[others.index(group) % len(GREY)] if group in others else ""
        if group in coloured:
            name, colour = group, PALETTE[coloured.index(group) % len(PALETTE)]
            symbols = [VALIDATION_SYMBOLS.get(r.use, GREY[0]) for r in own]
        look, hovers = Look(colour, "solid", "circle"), [_validation_hover(r) for r in own]
        add_points(chart, name, x, y, look, "%{customdata}", customdata=hovers)
        chart.data[-1].marker.symbol = symbols
    chart.update_xaxes(type="log", title="published, ms", dtick=1)
    chart.update_yaxes(type="log", title="predicted, ms", dtick=1)
    return chart


def theory_figure(rows: Sequence[ComparedRow]) -> go.Figure:
    """Error of the simulated mean with its interval in per cent, one line per system and job class.

    Where theory gives bounds, between them there is no error. Means that differ are red.
    """
    labels = list(dict.fromkeys(_label(r) for r in rows))
    loads = sorted({r.load for r in rows})
    chart = figure(110 + 26 * len(labels))
    for number, load in enumerate(loads):
        own = [r for r in rows if r.load == load]
        shift = (number - (len(loads) - 1) / 2) * 0.22
        add_points(
            chart,
            f"load {load:.0%}",
            [r.error_percent for r in own],
            [labels.index(_label(r)) + shift for r in own],
            Look(PALETTE[number], "solid", "circle"),
            "%{customdata}",
            size=7,
            across=[
                (r.error_percent - r.half_width_percent, r.error_percent + r.half_width_percent) for r in own
            ],
            bar=1.5,
            customdata=[_theory_hover(r) for r in own],
        )
        seen = [PALETTE[number] if r.verdict in (AGREES, UNCLEAR) else BAD for r in own]
        chart.data[-1].marker.update(color=seen, line={"color": seen})
    rule(chart, 0.0, "", "x")
    chart.update_xaxes(title="simulated mean over theory − 1, %", ticksuffix=" %")
    chart.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=[text(label) for label in labels],
        range=[len(labels) - 0.4, -0.6],
        showgrid=False,
    )
    return chart


def _label(row: ComparedRow) -> str:
    return f"{row.system}: {row.jobs}" if row.jobs else row.system


def _theory_hover(row: ComparedRow) -> str:
    upper = "" if row.to_ms is None else f" to {format_number(row.to_ms)}"
    return (
        f"{text(_label(row))}, load {row.load:.0%}<br>theory {format_number(row.theory_ms)}{upper} ms<br>"
        f"simulated {format_number(row.simulated_ms)} ± {format_number(row.half_width_ms, 2)} ms: "
        f"{text(row.verdict)}"
    )


def _validation_hover(row: ValidationRow) -> str:
    return (
        f"{text(row.model)} on {text(row.executor)}, {row.precision}, {row.stack}<br>"
        f"published {format_time(row.measured_s)}, predicted {format_time(row.predicted_s)}"
    )
