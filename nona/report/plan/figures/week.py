"""Traffic and servers over the hours of a week."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.style import GOOD, PALETTE, QUIET, figure, text
from nona.results.plan import PlanWeek

HOURS = 24


def week_figure(week: PlanWeek) -> go.Figure:
    """Traffic by hour above, servers by hour below: constant for the peak, and as each hour needs."""
    made = figure(360)
    hours = list(range(len(week.factors)))
    made.add_scatter(
        x=hours,
        y=list(week.factors),
        mode="lines",
        line={"shape": "hv", "color": PALETTE[4], "width": 2},
        fill="tozeroy",
        name="traffic",
        hovertemplate="%{customdata}: %{y:.3g} × the traffic<extra></extra>",
        customdata=[hour_text(h) for h in hours],
    )
    most = max(week.servers)
    for name, counts, dash in (
        ("constant", [most] * len(hours), "dash"),
        ("by hour", list(week.servers), "solid"),
    ):
        made.add_scatter(
            x=hours,
            y=counts,
            mode="lines",
            line={"shape": "hv", "color": QUIET if dash == "dash" else GOOD, "width": 2, "dash": dash},
            name=text(f"servers of {week.gpu}, {name}"),
            yaxis="y2",
            customdata=[hour_text(h) for h in hours],
            hovertemplate=f"%{{customdata}}: %{{y}} servers, {name}<extra></extra>",
        )
    ticks = list(range(0, len(hours), HOURS if len(hours) > HOURS else 6))
    made.update_xaxes(
        tickvals=ticks,
        ticktext=[hour_text(h).split()[0] if len(hours) > HOURS else hour_text(h).split()[-1] for h in ticks],
        anchor="y2",
    )
    made.update_yaxes(title="traffic", domain=[0.56, 1], rangemode="tozero")
    lower = made.layout.yaxis.to_plotly_json()
    made.update_layout(yaxis2={**lower, "title": "servers", "domain": [0, 0.46], "rangemode": "tozero"})
    return made


def hour_text(hour: int) -> str:
    """An hour of the week; hour 0 is Monday 0:00.

    >>> hour_text(0), hour_text(34)
    ('Mon 0:00', 'Tue 10:00')
    """
    return f"{('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[hour // HOURS % 7]} {hour % HOURS}:00"
