"""Figure: the best placement so far over the time of the search, and the certified bound below it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, QUIET, figure
from nona.report.placements.steps_text import origin_words
from nona.results.placement.search import SearchStep


def steps_figure(steps: Sequence[SearchStep]) -> go.Figure:
    """Mean JCT of the best placement so far as a step line, and the certified bound below it."""
    made = figure(240)
    made.add_scatter(
        x=[s.elapsed_s for s in steps],
        y=[_ms(s.objective_s) for s in steps],
        name="best so far",
        mode="lines+markers",
        line={"color": PALETTE[0], "shape": "hv", "width": 2.5},
        marker={"size": 8},
        customdata=[origin_words(s.origin) for s in steps],
        hovertemplate="%{customdata}: %{y:.4g} ms after %{x:.2g} s<extra></extra>",
    )
    bound = steps[-1].lower_bound_s
    if bound is not None:  # it holds for all steps, whenever it was found
        made.add_scatter(
            x=[0, steps[-1].elapsed_s],
            y=[_ms(bound)] * 2,
            name="bound by formula",
            mode="lines",
            line={"color": QUIET, "dash": "dash", "width": 2},
            hovertemplate="bound by formula: %{y:.4g} ms<extra></extra>",
        )
    made.update_xaxes(title="seconds since the start", rangemode="tozero")
    made.update_yaxes(title="mean JCT, ms", rangemode="tozero")
    return made


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds
