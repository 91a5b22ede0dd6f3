"""Missed SLOs over the number of servers."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import GOOD, QUIET, colours, figure, text
from nona.results.capacity import CapacityReport, DeviceCapacity, ServerCount

BELOW = 0.1  # of the target: where counts without a miss are drawn, or lower
WIDE = 16  # most servers over fewest, from which the axis is logarithmic


def capacity_figure(report: CapacityReport) -> go.Figure:
    """Share of missed SLOs, ± two standard errors, at every count tried, the target, and each answer.

    The shares are on a logarithmic axis, as the target is a small one; counts without a miss are drawn at
    its lower end, hollow.
    """
    target = 1 - report.target_hit_rate
    known = [t for d in report.devices for t in d.tried if t.miss is not None]
    floor = min([BELOW * target, *(0.5 * t.miss for t in known if t.miss)])
    made = figure(340, legend=len(report.devices) > 1)
    for device in (d for d in report.devices if d.finished or d.tried):
        _line(made, report, device, floor)
    counts = [t.servers for t in known]
    most = _most_shown(report)
    if counts and most > WIDE * min(counts):
        log_axis(made, [float(min(counts)), float(most)], "servers")
        made.update_xaxes(range=[math.log10(0.8 * min(counts)), math.log10(most)])
    else:
        made.update_xaxes(title="servers", rangemode="tozero", tickformat="d")
        if most <= WIDE:
            made.update_xaxes(dtick=1)
    log_axis(made, [100 * floor, 100.0], "SLOs missed, %", of="y")
    made.add_hline(
        y=100 * target,
        line={"color": QUIET, "dash": "dash", "width": 1.5},
    )
    made.add_annotation(
        x=1,
        xref="paper",
        xanchor="right",
        y=math.log10(100 * target),  # of a logarithmic axis
        yanchor="bottom",
        text=f"{100 * target:.4g} % allowed",
        showarrow=False,
        font={"color": QUIET},
    )
    return made


def _most_shown(report: CapacityReport) -> int:
    """The largest count on the axis: twice the largest answer, though more was tried."""
    answers = [d.servers for d in report.devices if d.servers is not None]
    tried = max((t.servers for d in report.devices for t in d.tried), default=1)
    return min(2 * max(answers), tried) if answers else tried


def _line(made: go.Figure, report: CapacityReport, device: DeviceCapacity, floor: float) -> None:
    known = [t for t in device.tried if t.miss is not None]
    look = scheduler_style(device.scheduler)
    one = len({d.scheduler for d in report.devices}) == 1
    colour = colours(d.gpu for d in report.devices)[device.gpu] if one else look.colour
    several = len({d.gpu for d in report.devices}) > 1
    name = f"{device.scheduler}, {device.gpu}" if several else device.scheduler
    made.add_scatter(
        x=[t.servers for t in known],
        y=[100 * max(t.miss or 0.0, floor) for t in known],
        error_y={
            "type": "data",
            "array": [200 * t.error if t.miss else 0.0 for t in known],
            "arrayminus": [_down(t, floor) for t in known],
            "width": 4,
            "thickness": 1.5,
        },
        name=text(f"{name}{'' if device.finished else ', not finished'}"),
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": look.dash},
        marker={
            "symbol": [look.symbol if t.miss else hollow(look.symbol) for t in known],
            "size": [14 if t.servers == device.servers else 8 for t in known],
            "line": {"width": [2 if t.servers == device.servers else 1 for t in known], "color": GOOD},
        },
        customdata=[f"{100 * (t.miss or 0.0):.3g} %" if t.miss else "none" for t in known],
        hovertemplate=f"{text(device.scheduler)}, %{{x}} servers: %{{customdata}} missed<extra></extra>",
    )


def hollow(symbol: str) -> str:
    """The open form of a marker; some schedulers' markers are open already.

    >>> hollow("circle"), hollow("x-thin-open")
    ('circle-open', 'x-thin-open')
    """
    return symbol if symbol.endswith("-open") else f"{symbol.removesuffix('-dot')}-open"


def _down(count: ServerCount, floor: float) -> float:
    """The lower arm of the error bar in per cent: it must not leave a logarithmic axis."""
    miss = count.miss or 0.0
    return 100 * max(min(2 * count.error, miss - floor), 0.0)
