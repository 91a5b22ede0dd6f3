"""The figure of the map: a cell for every point, coloured by the error of the prediction."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.style import figure, text
from nona.report.prediction_map.rows import BANDS, columns_of, error, half_width
from nona.report.text import share_text
from nona.results.studies.prediction_map import MapPoint, Measure, PredictionMap

COLOURS = ("#14a394", "#9ccc65", "#e0a81e", "#e25555")  # within 5, 10, 20 %, and beyond


def band(value: float) -> int:
    """The number of the band that contains an error.

    >>> [band(e) for e in (0.0, -0.07, 0.15, 0.4)]
    [0, 1, 2, 3]
    """
    return sum(abs(value) > bound for bound in BANDS)


def map_figure(data: PredictionMap, measure: Measure) -> go.Figure:
    """Placements and loads as rows, scenarios as columns; the number is the signed error in per cent."""
    points = data.points
    scenarios = list(dict.fromkeys(p.scenario for p in points))
    columns = columns_of((p.placement, p.load) for p in points)
    found = {(p.scenario, p.placement, p.load): p for p in points}
    rows = [[found.get((s, *c)) for s in scenarios] for c in columns]
    errors = [[None if p is None else error(p, measure) for p in row] for row in rows]
    made = figure(210 + 21 * len(columns), legend=False)
    steps = [(end, colour) for i, colour in enumerate(COLOURS) for end in (i / 4, (i + 1) / 4)]
    made.add_heatmap(
        x=[text(s) for s in scenarios],
        y=[[c[0] for c in columns], [c[1] for c in columns]],
        z=[[None if e is None else band(e) + 0.5 for e in row] for row in errors],
        zmin=0,
        zmax=4,
        colorscale=steps,
        text=[["" if e is None else _whole(e) for e in row] for row in errors],
        texttemplate="%{text}",
        customdata=[[_hover(p, measure) for p in row] for row in rows],
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
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
    made.update_yaxes(autorange="reversed", showgrid=False)
    made.update_xaxes(showgrid=False, tickangle=-60, side="bottom")
    return made


def _whole(value: float) -> str:
    """Per cent with its sign, none for 0.

    >>> _whole(0.104), _whole(-0.004)
    ('+10', '0')
    """
    rounded = round(100 * value)
    return f"{rounded:+d}" if rounded else "0"


def _hover(point: MapPoint | None, measure: Measure) -> str:
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
