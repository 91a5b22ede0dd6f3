"""Figures of a simulation: lines over time and of the distribution, loads; dotted where overloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis, spread_wide
from nona.report.figures.scheduler_styles import OVERLOADED_DASH, scheduler_style
from nona.report.figures.style import PALETTE, figure, rule, text
from nona.results.simulation.report import Schedulers
from nona.results.simulation.series import Distributions, OverTime, ResourceLoad, Slos


def jct_over_time_figure(
    series: Mapping[str, OverTime], states: Mapping[str, str] | None = None
) -> go.Figure:
    """Mean JCT of the jobs that arrived in each time interval, one line per scheduler.

    The axis is logarithmic where the lines lie far apart, as they do beside an overloaded one.
    """
    made = figure(360)
    for name, row in series.items():
        _line(made, name, row.t, [v * 1e3 for v in row.jct_s], "%{y:.4g} ms", states)
    made.update_xaxes(title="arrival, s after the first measured job")
    if spread_wide([sum(s.jct_s) / len(s.jct_s) for s in series.values() if s.jct_s]):
        log_axis(made, [1e3 * v for s in series.values() for v in s.jct_s], "mean JCT, ms", "y")
    else:
        made.update_yaxes(type="linear", title="mean JCT, ms", rangemode="tozero")
    return made


def ecdf_figure(ecdf: Distributions, model: str, slo_s: Slos, states: Mapping[str, str]) -> go.Figure:
    """Distribution of completion times, for one model or ``"all"``, with SLOs as lines.

    The axis is logarithmic where the slowest jobs take many times as long as the quick ones.
    """
    made = figure(400)
    ends: list[float | None] = []
    for name, curves in ecdf.items():
        curve = curves[model]
        x = [v * 1e3 for v in curve.x]
        ends += [x[len(x) // 10], x[-1]] if x else []
        _line(made, name, x, [100 * v for v in curve.y], "%{y:.1f} % within %{x:.4g} ms", states, shape="hv")
    slos = [s for name, s in slo_s.items() if s is not None and model in (name, "all")]
    if spread_wide(ends):
        log_axis(made, ends, "JCT, ms")
    else:
        made.update_xaxes(type="linear", title="JCT, ms", rangemode="tozero")
    word = "SLO" if len(set(slos)) == 1 else "SLOs"
    for slo in sorted(set(slos)):  # one word for all of them: they may stand side by side
        rule(made, slo * 1e3, word if slo == max(slos) else "", "x")
    made.update_yaxes(title="jobs completed, %", range=[0, 101])
    return made


def _line(
    made: go.Figure,
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    hover: str,
    states: Mapping[str, str] | None,
    shape: str = "linear",
) -> None:
    style = scheduler_style(name)
    overloaded = (states or {}).get(name) == "overloaded"
    made.add_scatter(
        x=x,
        y=y,
        name=text(name) + (" (overloaded)" if overloaded else ""),
        mode="lines",
        line={
            "color": style.colour,
            "width": 2,
            "shape": shape,
            "dash": OVERLOADED_DASH if overloaded else style.dash,
        },
        hovertemplate=f"%{{fullData.name}}: {hover}<extra></extra>",
    )


def utilisation_figure(schedulers: Schedulers) -> go.Figure:
    """Mean utilisation of the executors and of the busiest link, background included."""
    made = figure(110 + 44 * len(schedulers))
    names = list(schedulers)
    shares = [s.utilization for s in schedulers.values()]
    for values, label, colour in (
        ([s.compute for s in shares], "executors", PALETTE[0]),
        ([s.network for s in shares], "busiest link", PALETTE[2]),
    ):
        made.add_bar(
            y=[text(n, 24) for n in names],
            x=[_percent(v) for v in values],
            orientation="h",
            name=label,
            marker_color=colour,
            hovertemplate=f"%{{y}}: {label} %{{x:.1f}} %<extra></extra>",
        )
    made.update_layout(barmode="group", bargap=0.3)
    made.update_xaxes(title="utilisation, %", range=[0, 101])
    made.update_yaxes(autorange="reversed", showgrid=False)
    return made


def executor_figure(load: ResourceLoad) -> go.Figure:
    """Utilisation of every executor under one scheduler."""
    values = [100 * v for v in load.executors]
    made = figure(240, legend=False)
    made.add_bar(
        x=[str(i) for i in range(len(values))],
        y=values,
        marker_color=PALETTE[0],
        hovertemplate="executor %{x}: %{y:.1f} %<extra></extra>",
    )
    made.update_xaxes(title="executor", type="category", nticks=20)
    made.update_yaxes(title="utilisation, %", range=[0, 101])
    return made


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
