"""A run beside its baseline: for each scheduler the old value, the new one, and their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from nona.report.figures import QUIET, figure, text
from nona.report.figures_compare import ROW, spread_wide
from nona.report.scheduler_styles import scheduler_style

Row = Mapping[str, Any]
SCALES = {"jct_s": 1e3, "slo_hit_rate": 100.0, "compute": 100.0, "network": 100.0}
AXES = {
    "jct_s": "mean JCT, ms",
    "slo_hit_rate": "SLO hit rate, %",
    "compute": "executors busy, %",
    "network": "busiest link busy, %",
}


def dumbbell_figure(changes: Mapping[str, Mapping[str, Row]], measure: str) -> go.Figure:
    """One row per scheduler: hollow and grey the baseline, in its colour the run; an arrow between them.

    ``changes`` is that of :func:`~nona.report.baseline.changes`. A value that is not there, as the mean
    of an overloaded run, is said in words.
    """
    made = figure(70 + ROW * len(changes), legend=False)
    scale = SCALES[measure]
    values = [r[measure][k]["mean"] for r in changes.values() for k in ("old", "new")]
    log = measure == "jct_s" and spread_wide(values)
    for name, row in changes.items():
        _add(made, name, row[measure], scale)
    names = [text(n, 24) for n in changes]
    made.update_yaxes(categoryorder="array", categoryarray=names[::-1], showgrid=False)
    made.update_xaxes(
        title=AXES[measure] + (", log" if log else ""), type="log" if log else "linear", nticks=6
    )
    return made


def _add(made: go.Figure, name: str, row: Row, scale: float) -> None:
    style, label = scheduler_style(name), text(name, 24)
    old, new = row["old"]["mean"], row["new"]["mean"]
    if old is not None and new is not None:
        made.add_scatter(
            x=[scale * old, scale * new],
            y=[label, label],
            mode="lines",
            line={"color": style.colour, "width": 2},
            hoverinfo="skip",
        )
    for which, colour, symbol in (
        ("old", QUIET, "circle-open"),
        ("new", style.colour, style.symbol),
    ):
        value = row[which]
        if value["mean"] is None:
            continue
        span = value["ci95"] or [value["mean"]] * 2
        word = "baseline" if which == "old" else "this run"
        made.add_scatter(
            x=[scale * value["mean"]],
            y=[label],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [scale * (span[1] - value["mean"])],
                "arrayminus": [scale * (value["mean"] - span[0])],
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            hovertemplate=f"{label}, {word}: %{{x:.4g}}<extra></extra>",
        )
    missing = [w for w, v in (("baseline", old), ("this run", new)) if v is None]
    if missing:
        made.add_scatter(x=[None], y=[label])
        made.add_annotation(
            x=0,
            xref="paper",
            y=label,
            text=f"no value in {' and '.join(missing)}",
            showarrow=False,
            xanchor="left",
            yshift=-12 if len(missing) == 1 else 0,
            font={"color": QUIET, "size": 11},
        )
