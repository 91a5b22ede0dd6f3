"""Figures over the time of one serverless run: queues, resources held, MIG layouts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from nona.report.figures.style import BAD, PALETTE, colours, figure, text
from nona.report.serverless.titles import totals
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.run import Snapshot

MOST_QUEUES = 10


def queues_figure(snapshots: Sequence[Snapshot], system: ServerlessSystem) -> go.Figure:
    """Jobs waiting in each AFW queue over time; of many queues, those with the largest mean length."""
    made = figure(320)
    if not snapshots:
        return made
    lengths, times = np.array([s.queues for s in snapshots]), [s.time_s for s in snapshots]
    longest = sorted(range(lengths.shape[1]), key=lambda q: (-float(lengths[:, q].mean()), q))[:MOST_QUEUES]
    names = {q: _queue_name(system, q) for q in sorted(longest)}
    colour = colours(names.values())
    for queue, name in names.items():
        made.add_scatter(
            x=times,
            y=lengths[:, queue].tolist(),
            name=text(name, 44),
            mode="lines",
            line={"color": colour[name], "width": 1.5, "shape": "hv"},
            hovertemplate=text(name) + ": %{y} jobs at %{x:.4g} s<extra></extra>",
        )
    made.update_xaxes(title="seconds")
    made.update_yaxes(title="jobs in the queue", rangemode="tozero")
    return made


def _queue_name(system: ServerlessSystem, queue: int) -> str:
    application, stage = system.queues[queue]
    row = system.applications[application]
    return f"{row.name}: {row.stage_names[stage]}"


def use_figure(snapshots: Sequence[Snapshot], system: ServerlessSystem) -> go.Figure:
    """Shares of all vCPUs and vGPUs that are allocated, and of stranded vGPUs, over time."""
    made = figure(300)
    vcpus, vgpus = totals(system)
    times = [s.time_s for s in snapshots]
    lines = (
        ("vGPUs held", [100 * (1 - sum(s.free_vgpus) / vgpus) for s in snapshots], PALETTE[0], "solid"),
        ("vCPUs held", [100 * (1 - sum(s.free_vcpus) / vcpus) for s in snapshots], PALETTE[1], "dash"),
        ("vGPUs stranded", [100 * sum(s.stranded) / vgpus for s in snapshots], BAD, "dot"),
    )
    for name, values, colour, dash in lines:
        made.add_scatter(
            x=times,
            y=values,
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate=name + ": %{y:.3g} % at %{x:.4g} s<extra></extra>",
        )
    made.update_xaxes(title="seconds")
    made.update_yaxes(title="share, %", rangemode="tozero")
    return made
