"""Figure: the measured times of a network and the law fitted to them, by batch and by slice."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, number_text
from nona.serverless.model.function import GpuLaw
from nona.serverless.profiles.fit import law_seconds, relative_errors
from nona.serverless.profiles.measurements import Points


def fit_figure(points: Points, law: GpuLaw) -> go.Figure:
    """Milliseconds over the batch size, both logarithmic; markers: measured, lines: the law."""
    made = figure(380)
    errors = relative_errors(law, points)
    batches = np.geomspace(points.batch.min(), points.batch.max(), 49)
    for number, vgpus in enumerate(np.unique(points.vgpus)):
        colour, name = PALETTE[number], f"{vgpus:g} vGPU{'' if vgpus == 1 else 's'}"
        own = points.vgpus == vgpus
        made.add_scatter(
            x=batches,
            y=1e3 * law_seconds(law, batches, np.full_like(batches, vgpus)),
            mode="lines",
            line={"color": colour, "width": 2},
            legendgroup=name,
            showlegend=False,
            hoverinfo="skip",
        )
        made.add_scatter(
            x=points.batch[own],
            y=1e3 * points.seconds[own],
            name=name,
            legendgroup=name,
            mode="markers",
            marker={"color": colour, "size": 8},
            customdata=100 * errors[own],
            hovertemplate=f"batch of %{{x}} on {name}: %{{y:.3g}} ms measured, law off by "
            "%{customdata:.1f} %<extra></extra>",
        )
    sizes = np.unique(points.batch)
    made.update_xaxes(
        title="jobs in the batch", type="log", tickvals=sizes, ticktext=[f"{b:g}" for b in sizes]
    )
    low, high = 1e3 * points.seconds.min(), 1e3 * points.seconds.max()
    ticks = [d * 10.0**e for e in range(-3, 7) for d in (1, 2, 5) if low / 1.5 <= d * 10.0**e <= 1.5 * high]
    made.update_yaxes(
        title="ms of the batch", type="log", tickvals=ticks, ticktext=[number_text(t) for t in ticks]
    )
    return made
