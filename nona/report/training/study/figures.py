"""The study of training policies as a chart: mean JCT over load."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis, spread_wide
from nona.report.figures.interval_line import interval_line
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import figure
from nona.report.training.study.claims import values
from nona.report.training.words import HOUR_S
from nona.results.training.study import TrainingStudy
from nona.simulation.statistics.intervals import mean_interval

PACKED = ", packed"


def load_figure(data: TrainingStudy, mode: str) -> go.Figure:
    """Mean JCT with 95 % intervals over jobs per hour, one line for each variant; packed ones are hollow."""
    made, means = figure(420), []
    mine = [p for p in data.loads if p.mode == mode]
    for name in dict.fromkeys(p.variant for p in mine):
        points = [p for p in mine if p.variant == name]
        found = [mean_interval([v / HOUR_S for v in values(p, "jcts_s")]) for p in points]
        look = scheduler_style(name.removesuffix(PACKED))
        if name.endswith(PACKED):
            look = replace(look, symbol=f"{look.symbol}-open")
        loads, spans = [p.per_hour for p in points], [(i.low, i.high) for i in found]
        hover = "%{x:.4g} jobs per hour: %{y:.4g} h"
        interval_line(made, name, loads, [i.mean for i in found], spans, look, hover)
        means += [i.mean for i in found]
    made.update_xaxes(title="jobs that arrive per hour", rangemode="tozero")
    if spread_wide(means):
        log_axis(made, means, "mean JCT, h", "y")
    else:
        made.update_yaxes(title="mean JCT, h", rangemode="tozero")
    return made
