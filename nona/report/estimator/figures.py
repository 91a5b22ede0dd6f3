"""The study of the throughput estimator as a chart: its error over the share of pairs that is profiled."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.look import Look
from nona.report.estimator.text import WAYS, converged
from nona.report.figures.interval_line import interval_line
from nona.report.figures.style import figure
from nona.results.studies.estimator import EstimatorStudy, Way

LOOKS: dict[Way, Look] = {
    "match": Look("#4c78d8", "solid", "circle"),
    "completed": Look("#0f9b8e", "dash", "square"),
    "table-mean": Look("#8390a6", "longdash", "diamond"),
    "random-reference": Look("#b3873a", "dashdot", "triangle-up"),
    "nearest": Look("#b45fd0", "longdashdot", "star"),
}


def estimator_figure(data: EstimatorStudy, kind: str = "new") -> go.Figure:
    """Mean error of each way of estimating with its 95 % interval, over the share profiled in per cent."""
    made = figure(360)
    points = converged(data, kind)
    for way, look in LOOKS.items():
        known = [(p.profiled, e.mean, e.ci95) for p in points if (e := p.errors[way]).mean is not None]
        means = [mean for _, mean, _ in known if mean is not None]
        spans = [span or (mean, mean) for _, mean, span in known if mean is not None]
        hover = "%{x:.3g} % profiled: error %{y:.3f}"
        interval_line(made, WAYS[way], [100 * share for share, *_ in known], means, spans, look, hover)
    made.update_xaxes(title="pairs profiled, %", rangemode="tozero")
    made.update_yaxes(title="mean error of the share kept", rangemode="tozero")
    return made
