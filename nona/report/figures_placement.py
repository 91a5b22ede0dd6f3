"""Figures of a placement: configurations, the split of the JCT, the comparison of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from nona.report.figures import PALETTE, QUIET, figure, text
from nona.report.scheduler_styles import scheduler_style

SHARES = (
    ("compute_s", "compute", PALETTE[0]),
    ("transfer_s", "transfer", PALETTE[1]),
    ("network_wait_s", "wait at the link", PALETTE[2]),
    ("server_wait_s", "wait at the server", PALETTE[7]),
)
Row = Mapping[str, Any]
SHOWN_TASKS = 6


def servers_of(configuration: Row, root: str | None, sink: str | None) -> list[tuple[str, list[str]]]:
    """The servers of a configuration with the tasks on each: the root's first.

    >>> servers_of({"parts": [["a"], ["b"]], "root_part": 0, "sink_part": 1}, "r", "s")
    [("root's server", ['r', 'a']), ("sink's server", ['b', 's'])]
    """
    first, last = configuration["root_part"], configuration["sink_part"]
    at_root = last in (-1, first)
    home = [root or "(start)", *(configuration["parts"][first] if first >= 0 else [])]
    if at_root:
        home.append(sink or "(end)")
    servers = [("root's server", home)]
    others = 0
    for i, part in enumerate(configuration["parts"]):
        if i == first:
            continue
        if i == last:
            servers.append(("sink's server", [*part, sink or "(end)"]))
        else:
            others += 1
            servers.append((f"other server {others}", list(part)))
    return servers


def configuration_figure(
    configuration: Row, root: str | None, sink: str | None, ink: str = QUIET
) -> go.Figure:
    """Boxes for servers, tasks inside them, written in the colour ``ink``.

    Every server but the root's is drawn uniformly among the others.
    """
    servers = servers_of(configuration, root, sink)
    lines = [_lines(tasks) for _, tasks in servers]
    tallest = max(len(x) for x in lines)
    made = figure(56 + 20 * tallest, legend=False)
    for i, ((name, _), shown) in enumerate(zip(servers, lines, strict=True)):
        colour = PALETTE[i % len(PALETTE)]
        made.add_shape(
            type="rect",
            x0=i + 0.03,
            x1=i + 0.97,
            y0=0,
            y1=1,
            fillcolor=f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:], 16)},.15)",
            line={"color": colour, "width": 2},
            layer="below",
        )
        made.add_annotation(
            x=i + 0.5,
            y=1.0,
            yanchor="bottom",
            text=f"<b>{name}</b>",
            showarrow=False,
            font={"size": 13, "color": ink},
        )
        made.add_annotation(
            x=i + 0.5,
            y=0.5,
            text="<br>".join(shown),
            showarrow=False,
            font={"size": 12, "family": "JetBrains Mono, monospace", "color": ink},
        )
    made.update_xaxes(range=[0, max(3, len(servers))], visible=False, fixedrange=True)
    made.update_yaxes(range=[0, 1.02], visible=False, fixedrange=True)
    made.update_layout(margin={"l": 4, "r": 4, "t": 26, "b": 4})
    return made


def _lines(tasks: Sequence[str]) -> list[str]:
    shown = [text(t, 26) for t in tasks]
    if len(shown) <= SHOWN_TASKS:
        return shown
    hidden = len(shown) - SHOWN_TASKS + 1
    return [*shown[: SHOWN_TASKS - 2], f"… {hidden} more …", shown[-1]]


def jct_split_figure(models: Mapping[str, Row]) -> go.Figure:
    """For each model its predicted mean JCT, stacked by what it is made of, in milliseconds."""
    names = list(models)
    made = figure(130 + 46 * len(names))
    made.update_layout(margin={"l": 8, "r": 8, "t": 64, "b": 8})
    for key, label, colour in SHARES:
        made.add_bar(
            y=[text(n) for n in names],
            x=[models[n][key] * 1e3 for n in names],
            name=label,
            orientation="h",
            marker_color=colour,
            hovertemplate=f"{label}: %{{x:.4g}} ms<extra>%{{y}}</extra>",
        )
    made.update_layout(barmode="stack")
    made.update_xaxes(title="predicted mean JCT, ms")
    made.update_yaxes(autorange="reversed")
    return made


def comparison_figure(reports: Mapping[str, Row | None]) -> go.Figure:
    """Predicted mean JCT of placements side by side; one without a steady state has no bar."""
    made = figure(260, legend=False)
    found = {n: r["predicted"]["jct_s"] for n, r in reports.items() if r and r["predicted"]["jct_s"]}
    names = list(reports)
    made.add_bar(
        x=names,
        y=[found[n] * 1e3 if n in found else 0 for n in names],
        marker_color=[scheduler_style(n).colour for n in names],
        text=[f"{found[n] * 1e3:.4g} ms" if n in found else "overloaded" for n in names],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}: %{y:.4g} ms<extra></extra>",
    )
    made.update_yaxes(title="predicted mean JCT, ms", rangemode="tozero")
    return made


def probabilities_figure(configurations: Sequence[Row]) -> go.Figure:
    """Probability of each configuration of one sub-graph, in the order given."""
    made = figure(84 + 26 * len(configurations), legend=False)
    made.add_bar(
        y=[f"configuration {i + 1}" for i in range(len(configurations))],
        x=[100 * c["probability"] for c in configurations],
        orientation="h",
        marker_color=[PALETTE[i % len(PALETTE)] for i in range(len(configurations))],
        text=[f"{100 * c['probability']:.3g} %" for c in configurations],
        hovertemplate="%{y}: %{x:.4g} %<extra></extra>",
    )
    made.update_layout(margin={"l": 8, "r": 8, "t": 12, "b": 32})
    made.update_xaxes(range=[0, 105], ticksuffix=" %")
    made.update_yaxes(autorange="reversed")
    return made
