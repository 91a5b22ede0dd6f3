"""Figure: mean JCT by formula over the link's background load, for the optimum, local and spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis
from nona.report.figures.scheduler_styles import UNSTABLE_SYMBOL, scheduler_style
from nona.report.figures.style import QUIET, SMALL_PX, figure, text
from nona.results.placement.congestion import CongestionCurve, CongestionPoint

MEANS_S: Mapping[str, Callable[[CongestionPoint], float | None]] = {
    "spread": lambda p: p.spread_s,
    "local": lambda p: p.local_s,
    "nona": lambda p: p.nona_s,  # on top, where two are equal
}


def congestion_figure(curve: CongestionCurve, slos_s: Mapping[str, float]) -> go.Figure:
    """Mean JCT over the background load, log axis; marks: end of the gain by splitting, present load, SLOs.

    A line ends with a cross where the placement has no steady state any more.
    """
    made = figure(340)
    for name, mean_s in MEANS_S.items():
        found = [(p.background, s) for p in curve.points if (s := mean_s(p)) is not None]
        style = scheduler_style(name)
        made.add_scatter(
            x=[100 * b for b, _ in found],
            y=[1e3 * s for _, s in found],
            name=name,
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 2.5},
            marker={"symbol": style.symbol, "size": 7},
            hovertemplate=f"{name}: %{{y:.4g}} ms at %{{x:.0f}} % background<extra></extra>",
        )
        if found and len(found) < len(curve.points):
            made.add_scatter(
                x=[100 * found[-1][0]],
                y=[1e3 * found[-1][1]],
                mode="markers",
                marker={"symbol": UNSTABLE_SYMBOL, "size": 12, "color": style.colour},
                name=f"{name} overloads beyond",
                showlegend=False,
                hovertemplate=f"{name}: the last load with a steady state<extra></extra>",
            )
    _mark(made, 100 * curve.now, "now", "dot", "bottom right")
    if curve.stops is not None and curve.stops > curve.now:
        _mark(made, 100 * curve.stops, "splitting stops paying", "dash", "bottom left")
    _slos(made, curve, slos_s)
    made.update_xaxes(title="background load of the link, %", ticksuffix=" %", range=[_low(curve), 100])
    log_axis(made, _drawn_ms(made), "mean JCT by formula, ms", "y")
    return made


def _drawn_ms(made: go.Figure) -> list[float | None]:
    """Every height on the chart, for the axis."""
    return [y for trace in made.data for y in trace.y]


def _low(curve: CongestionCurve) -> float:
    return max(0.0, 100 * curve.now - 4)


def _mark(made: go.Figure, x: float, label: str, dash: str, position: str) -> None:
    made.add_vline(
        x=x,
        line={"color": QUIET, "dash": dash, "width": 1.5},
        annotation={"text": label, "font": {"size": SMALL_PX}},
        annotation_position=position,
    )


def _slos(made: go.Figure, curve: CongestionCurve, slos_s: Mapping[str, float]) -> None:
    """The SLOs within a factor of three of a line; others would compress the lines."""
    values = [s for p in curve.points for mean_s in MEANS_S.values() if (s := mean_s(p)) is not None]
    for name, slo in slos_s.items():
        if values and min(values) / 3 <= slo <= max(values) * 3:
            made.add_scatter(
                x=[_low(curve), 100],
                y=[1e3 * slo, 1e3 * slo],
                name=f"SLO {text(name, 24)}",
                mode="lines",
                line={"color": QUIET, "dash": "longdash", "width": 1.5},
                hovertemplate=f"SLO {text(name, 24)}: %{{y:.4g}} ms<extra></extra>",
            )


def congestion_rows(curve: CongestionCurve) -> Sequence[Mapping[str, float | None]]:
    """The points as a table, in per cent and milliseconds."""
    return [
        {
            "background %": 100 * p.background,
            **{f"{n} ms": _ms(mean_s(p)) for n, mean_s in reversed(list(MEANS_S.items()))},
        }
        for p in curve.points
    ]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds
