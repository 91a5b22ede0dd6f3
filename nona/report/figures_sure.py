"""Forest plot: for each scheduler the formula's prediction beside the simulated mean and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from nona.report.figures import QUIET, figure, text
from nona.report.figures_compare import ROW, spread_wide
from nona.report.scheduler_styles import scheduler_style

Row = Mapping[str, Any]


def forest_figure(rows: Sequence[Row]) -> go.Figure:
    """Diamond: prediction. Dot with line: simulated mean with 95 % interval. Bar: Little's law.

    The dotted line is the idle bound, below which no mean can lie; overloaded schedulers say so.
    ``rows`` are those of :func:`~nona.report.sureness.sureness_rows`.
    """
    made = figure(96 + ROW * len(rows))
    names = [text(r["scheduler"], 24) for r in rows]
    idle = next((r["idle_s"] for r in rows if r["idle_s"]), None)
    log = spread_wide([idle, *(r[k] for r in rows for k in ("mean_s", "predicted_s"))])
    _simulated(made, rows, names)
    _marks(made, rows, names, "predicted_s", "predicted by the formula", "diamond-open", 13)
    _marks(made, rows, names, "little_s", "by Little's law from the number of jobs", "line-ns-open", 14)
    if idle:
        made.add_scatter(
            x=[1e3 * idle] * 2,
            y=[names[0], names[-1]],
            mode="lines",
            name="idle bound",
            line={"color": QUIET, "dash": "dot", "width": 2},
            hovertemplate="idle bound: %{x:.4g} ms<extra></extra>",
        )
    for row, name in zip(rows, names, strict=True):
        if row["mean_s"] is None:
            made.add_annotation(
                x=0.5, xref="paper", y=name, text=text(row["state"]), showarrow=False, font={"color": QUIET}
            )
    made.update_yaxes(categoryorder="array", categoryarray=names[::-1], showgrid=False)
    made.update_xaxes(
        title="mean JCT, ms" + (", log" if log else ""), type="log" if log else "linear", nticks=6
    )
    return made


def _simulated(made: go.Figure, rows: Sequence[Row], names: Sequence[str]) -> None:
    spans = [r["ci95"] or [r["mean_s"] or 0.0] * 2 for r in rows]
    means = [r["mean_s"] for r in rows]
    made.add_scatter(
        x=[None if m is None else 1e3 * m for m in means],
        y=list(names),
        mode="markers",
        name="simulated, 95 %",
        marker={"color": [scheduler_style(r["scheduler"]).colour for r in rows], "size": 10},
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
    made: go.Figure, rows: Sequence[Row], names: Sequence[str], key: str, word: str, symbol: str, size: int
) -> None:
    shown = [r[key] if r["state"] != "overloaded" or key == "predicted_s" else None for r in rows]
    made.add_scatter(
        x=[None if v is None else 1e3 * v for v in shown],
        y=list(names),
        mode="markers",
        name=word,
        marker={"symbol": symbol, "size": size, "color": QUIET, "line": {"width": 2, "color": QUIET}},
        hovertemplate=f"%{{y}}: {word} %{{x:.4g}} ms<extra></extra>",
    )
