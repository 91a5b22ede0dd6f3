"""SLO hits over the time of arrival, window by window, for each scheduler."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import figure, text
from nona.report.simulations.hits_over_time import worst_window
from nona.results.simulation.hits import HitsOverTime
from nona.units import format_time


def hits_over_time_figure(hits: HitsOverTime) -> go.Figure:
    """Share of the jobs of each window that kept their SLO, as steps, one line per scheduler."""
    made = figure(320)
    for name, windows in hits.items():
        style = scheduler_style(name)
        known = [w for w in windows if w.hit_rate is not None]
        made.add_scatter(
            x=[w.start_s for w in known] + [w.end_s for w in known[-1:]],
            y=[100 * (w.hit_rate or 0.0) for w in [*known, *known[-1:]]],
            customdata=[[w.hits, w.jobs, w.end_s] for w in [*known, *known[-1:]]],
            name=text(name),
            mode="lines",
            line={"color": style.colour, "width": 2, "dash": style.dash, "shape": "hv"},
            hovertemplate="%{y:.1f} % of SLOs kept: %{customdata[0]} of %{customdata[1]} jobs that arrived "
            "from %{x:.4g} s to %{customdata[2]:.4g} s<extra>%{fullData.name}</extra>",
        )
    made.update_xaxes(title="arrival, s after the first measured job")
    made.update_yaxes(title="SLO hits, %", range=[0, 101])
    return made


def hits_over_time_title(hits: HitsOverTime) -> str:
    """The window with the fewest hits, and under which scheduler."""
    worst = worst_window(hits)
    if worst is None:
        return "No job has an SLO"
    name, window = worst
    if window.hits == window.jobs:
        return "Every job kept its SLO in every window"
    kept, length = 100 * (window.hit_rate or 0.0), format_time(window.end_s - window.start_s)
    since = format_time(window.start_s)
    return f"Worst window: {kept:.3g} % of SLOs kept under {name}, {length} from {since} on"
