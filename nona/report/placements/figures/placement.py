"""Figures of a placement: configurations, the split of the JCT, the comparison of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE, figure, text

SHARES = (
    ("compute_s", "compute", PALETTE[0]),
    ("transfer_s", "transfer", PALETTE[1]),
    ("network_wait_s", "wait at the link", PALETTE[2]),
    ("server_wait_s", "wait at the server", PALETTE[7]),
    ("joins_s", "joins and own work", PALETTE[3]),
)
SEEN = 2e-3  # of the compute: what is less cannot be seen
Row = Mapping[str, Any]


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


def jct_split_figure(models: Mapping[str, Row]) -> go.Figure:
    """The predicted mean JCT of each model, stacked by its parts, in milliseconds."""
    names = list(models)
    made = figure(130 + 46 * len(names))
    made.update_layout(margin={"l": 8, "r": 8, "t": 64, "b": 8})
    for key, label, colour in SHARES:
        if key == "joins_s" and not any(m.get(key, 0.0) > SEEN * m["compute_s"] for m in models.values()):
            continue
        made.add_bar(
            y=[text(n) for n in names],
            x=[models[n].get(key, 0.0) * 1e3 for n in names],
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
    """Predicted mean JCTs of placements, with standard errors; no bar without a steady state."""
    made = figure(260, legend=False)
    found = {n: r["objective_s"] for n, r in reports.items() if r and r["objective_s"]}
    errors = {n: (r or {}).get("objective_error_s") or 0.0 for n, r in reports.items()}
    names = list(reports)
    made.add_bar(
        x=names,
        y=[found[n] * 1e3 if n in found else 0 for n in names],
        marker_color=[scheduler_style(n).colour for n in names],
        text=[f"{found[n] * 1e3:.4g} ms" if n in found else "overloaded" for n in names],
        error_y={
            "array": [errors[n] * 1e3 if n in found else 0 for n in names],
            "visible": any(errors[n] > 1e-6 * found[n] for n in found),
            "thickness": 1.5,
        },
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}: %{y:.4g} ms<extra></extra>",
    )
    made.update_yaxes(title="predicted mean JCT, ms", rangemode="tozero")
    return made
