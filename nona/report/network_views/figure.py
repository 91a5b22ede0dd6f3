"""The study of network views as a chart: each scheduler's mean JCT on the idle and on the loaded link."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.style import BAD, GOOD, QUIET, figure, text
from nona.report.network_views.rows import by_slowdown
from nona.report.text import share_text
from nona.results.studies.network_views import NetworkViewRow, NetworkViewsStudy, OnLink

ROW_PX, REST_PX = 26, 130


def network_views_figure(data: NetworkViewsStudy) -> go.Figure:
    """Two points per scheduler with their 95 % intervals, joined by a line; milliseconds, logarithmic.

    The scheduler that the loaded link slows most is on top; one without a steady state has no point.
    """
    rows = by_slowdown(data)
    made = figure(REST_PX + ROW_PX * len(rows))
    names = [text(f"{r.scheduler}  {r.view}") for r in rows]
    for name, row in zip(names, rows, strict=True):
        ends = [on.jct_s.mean for on in (row.idle, row.loaded)]
        if None not in ends:
            made.add_scatter(
                x=[1e3 * e for e in ends if e is not None],
                y=[name, name],
                mode="lines",
                line={"color": QUIET, "width": 2},
                showlegend=False,
                hoverinfo="skip",
            )
    background = data.about.background
    _points(made, names, [r.idle for r in rows], "idle link", GOOD, "circle-open")
    _points(made, names, [r.loaded for r in rows], f"link {share_text(background)} loaded", BAD, "diamond")
    _without_steady_state(made, names, rows)
    made.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    made.update_xaxes(type="log", title="mean JCT, ms (log)")
    return made


def _points(
    made: go.Figure, names: list[str], found: list[OnLink], label: str, colour: str, symbol: str
) -> None:
    known = [(n, on.jct_s.mean, on.jct_s.half_width or 0.0) for n, on in zip(names, found, strict=True)]
    shown = [(n, 1e3 * mean, 1e3 * half) for n, mean, half in known if mean is not None]
    made.add_scatter(
        x=[mean for _, mean, _ in shown],
        y=[n for n, *_ in shown],
        error_x={"type": "data", "array": [half for *_, half in shown], "color": colour, "thickness": 1.5},
        name=label,
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 10, "line": {"width": 2, "color": colour}},
        hovertemplate=f"%{{y}}, {label}: %{{x:.4g}} ms<extra></extra>",
    )


def _without_steady_state(made: go.Figure, names: list[str], rows: list[NetworkViewRow]) -> None:
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
