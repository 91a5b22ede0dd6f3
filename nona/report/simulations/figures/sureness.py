"""Forest plot: for each scheduler the formula's prediction and the simulated mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.compare import ROW, log_axis, spread_wide
from nona.report.figures.compare import rows as name_rows
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.results.simulation.sureness import Sureness


def forest_figure(rows: Sequence[Sureness]) -> go.Figure:
    """Diamond: prediction. Dot with line: simulated mean with 95 % interval. Bar: Little's law.

    The dotted line is the idle bound, below which no mean can lie; overloaded schedulers say so.
    ``rows`` are those of :func:`~nona.report.simulations.sureness.sureness_rows`.
    """
    made = figure(96 + ROW * len(rows))
    names = [text(r.scheduler, 24) for r in rows]
    idle = next((r.idle_s for r in rows if r.idle_s), None)
    known = [idle, *(v for r in rows for v in (r.jct_s.mean, r.predicted_s))]
    values = [1e3 * v for v in known if v is not None]
    _simulated(made, rows, names)
    _marks(made, [r.predicted_s for r in rows], names, "predicted", "diamond-open", 13)
    little = [None if r.state == "overloaded" else r.little_s for r in rows]
    _marks(made, little, names, "by Little's law from the number of jobs", "line-ns-open", 14)
    if idle:
        made.add_scatter(
            x=[1e3 * idle] * 2,
            y=[names[0], names[-1]],
            mode="lines",
            name="idle bound",
            line={"color": QUIET, "dash": "dot", "width": 2},
            hovertemplate="idle bound: %{x:.4g} ms<extra></extra>",
        )
    name_rows(made, [r.scheduler for r in rows], [_label(r) for r in rows])
    if spread_wide(values):
        log_axis(made, values, "mean JCT, ms")
    else:
        made.update_xaxes(type="linear", title="mean JCT, ms", nticks=6, rangemode="tozero")
    return made


def _label(row: Sureness) -> str:
    """The label below a scheduler's name: the error of the prediction, or why there is none."""
    if row.jct_s.mean is None:
        return row.state
    return "no prediction" if row.error is None else f"prediction {100 * row.error:+.1f} %"


def _simulated(made: go.Figure, rows: Sequence[Sureness], names: Sequence[str]) -> None:
    means = [r.jct_s.mean for r in rows]
    spans = [r.jct_s.ci95 or (r.jct_s.mean or 0.0, r.jct_s.mean or 0.0) for r in rows]
    made.add_scatter(
        x=[None if m is None else 1e3 * m for m in means],
        y=list(names),
        mode="markers",
        name="simulated, 95 %",
        marker={"color": [scheduler_style(r.scheduler).colour for r in rows], "size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [0 if m is None else 1e3 * (s[1] - m) for m, s in zip(means, spans, strict=True)],
            "arrayminus": [0 if m is None else 1e3 * (m - s[0]) for m, s in zip(means, spans, strict=True)],
            "color": QUIET,
            "thickness": 2,
            "width": 5,
        },
        hovertemplate="%{y}: simulated %{x:.4g} ms<extra></extra>",
    )


def _marks(
    made: go.Figure,
    values: Sequence[float | None],
    names: Sequence[str],
    word: str,
    symbol: str,
    size: int,
) -> None:
    made.add_scatter(
        x=[None if v is None else 1e3 * v for v in values],
        y=list(names),
        mode="markers",
        name=word,
        marker={"symbol": symbol, "size": size, "color": QUIET, "line": {"width": 2, "color": QUIET}},
        hovertemplate=f"%{{y}}: {word} %{{x:.4g}} ms<extra></extra>",
    )
