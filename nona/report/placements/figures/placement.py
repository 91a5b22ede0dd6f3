"""Figures of a placement: configurations, the split of the JCT, the comparison of predictions."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE, figure, number_text, text
from nona.report.placements.compared import is_slo, value_of
from nona.report.placements.parts import PARTS, TimeParts
from nona.results.placement.configuration import PlacedConfiguration
from nona.results.placement.outcome import PlacementOutcome

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


def comparison_figure(data: PlacementOutcome) -> go.Figure:
    """The solved placement, local and spread: mean JCTs with standard errors, or SLO hits where those count.

    All by sampled jobs; no bar without a steady state.
    """
    slo = is_slo(data.nona)
    made, factor, unit = figure(260, legend=False), 100.0 if slo else 1e3, "%" if slo else "ms"
    reports = {"nona": data.nona, "local": data.local, "spread": data.spread}
    values = {n: value_of(data, r) for n, r in reports.items()}
    errors = {n: 0.0 if slo or r is None else r.response.sampling_s or 0.0 for n, r in reports.items()}
    names = list(reports)
    drawn = [0.0 if (v := values[n]) is None else factor * v for n in names]
    made.add_bar(
        x=names,
        y=drawn,
        marker_color=[scheduler_style(n).colour for n in names],
        text=[_bar_text(values[n], factor, unit) for n in names],
        error_y={
            "array": [factor * errors[n] for n in names],
            "visible": any(factor * errors[n] > 1e-6 * y for n, y in zip(names, drawn, strict=True)),
            "thickness": 1.5,
        },
        textposition="outside",
        cliponaxis=False,
        hovertemplate=f"%{{x}}: %{{y:.4g}} {unit}<extra></extra>",
    )
    title = "predicted SLO hits, %" if slo else "predicted mean JCT, ms"
    made.update_yaxes(title=title, **({"range": [0, 112]} if slo else {"rangemode": "tozero"}))
    return made


def _bar_text(value: float | None, factor: float, unit: str) -> str:
    if value is None:
        return "overloaded"
    return f"{factor * value:.4g} %" if unit == "%" else f"{number_text(factor * value)} {unit}"
