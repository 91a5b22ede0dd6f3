"""Figures of a placement: configurations, the split of the JCT, the comparison of predictions."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE, figure, text
from nona.report.placements.parts import PARTS, TimeParts
from nona.results.placement.configuration import PlacedConfiguration
from nona.results.placement.report import PlacementReport

SHARES = (
    ("compute", "compute", PALETTE[0]),
    ("transfer", "transfer", PALETTE[1]),
    ("network_wait", "wait at the link", PALETTE[2]),
    ("server_wait", "wait at the server", PALETTE[7]),
    ("joins", "joins and own work", PALETTE[3]),
)
SEEN = 2e-3  # of the compute: what is less cannot be seen


def servers_of(
    configuration: PlacedConfiguration, root: str | None, sink: str | None
) -> list[tuple[str, list[str]]]:
    """The servers of a configuration with the tasks on each: the root's first.

    >>> split = PlacedConfiguration(parts=(("a",), ("b",)), root_part=0, sink_part=1, probability=1.0)
    >>> servers_of(split, "r", "s")
    [("root's server", ['r', 'a']), ("sink's server", ['b', 's'])]
    """
    first, last = configuration.root_part, configuration.sink_part
    at_root = last in (-1, first)
    home = [root or "(start)", *(configuration.parts[first] if first >= 0 else [])]
    if at_root:
        home.append(sink or "(end)")
    servers = [("root's server", home)]
    others = 0
    for i, part in enumerate(configuration.parts):
        if i == first:
            continue
        if i == last:
            servers.append(("sink's server", [*part, sink or "(end)"]))
        else:
            others += 1
            servers.append((f"other server {others}", list(part)))
    return servers


def jct_split_figure(models: Mapping[str, TimeParts]) -> go.Figure:
    """The predicted mean JCT of each model, stacked by its parts, in milliseconds."""
    names = list(models)
    made = figure(130 + 46 * len(names))
    for key, label, colour in SHARES:
        if key == "joins" and not any(m.joins_s > SEEN * m.compute_s for m in models.values()):
            continue
        made.add_bar(
            y=[text(n) for n in names],
            x=[PARTS[key](models[n]) * 1e3 for n in names],
            name=label,
            orientation="h",
            marker_color=colour,
            hovertemplate=f"%{{y}}: {label} %{{x:.4g}} ms<extra></extra>",
        )
    made.update_layout(barmode="stack")
    made.update_xaxes(title="predicted mean JCT, ms")
    made.update_yaxes(autorange="reversed")
    return made


def comparison_figure(reports: Mapping[str, PlacementReport | None]) -> go.Figure:
    """Predicted mean JCTs of placements, with standard errors; no bar without a steady state."""
    made = figure(260, legend=False)
    found = {n: r.objective_s for n, r in reports.items() if r and r.objective_s}
    errors = {n: r.objective_error_s or 0.0 if r else 0.0 for n, r in reports.items()}
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
