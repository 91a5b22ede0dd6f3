"""Figures of a placement: configurations, comparison, waits at links, the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from nona.core.document import UNKNOWN, Estimate
from nona.core.figures import BAD, PALETTE, add_bars, dot_of, dots_figure, figure, text
from nona.core.tables import kept_text, mean_text, percent_text, time_text
from nona.core.units import format_time
from nona.queries.placement.results import PlacedConfiguration, PlacementOutcome, PredictedLink, SearchStep
from nona.queries.report.placement.comparison import estimate_of, hits_estimate, is_slo
from nona.queries.report.placement.text import PARTS, TimeParts, bottleneck, origin_words

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
    """Return the servers of a configuration with the tasks on each: the root's first.

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
    """Return the mean JCT of each model, stacked by its parts, in milliseconds."""
    names = list(models)
    chart = figure(130 + 46 * len(names))
    for key, label, colour in SHARES:
        if key == "joins" and not any(m.joins_s > SEEN * m.compute_s for m in models.values()):
            continue
        times_ms = [PARTS[key](models[n]) * 1e3 for n in names]
        add_bars(chart, label, [text(n) for n in names], times_ms, colour, f"%{{y}}: {label} %{{x:,.3~r}} ms")
    chart.update_layout(barmode="stack")
    chart.update_xaxes(title="mean JCT, ms")
    chart.update_yaxes(autorange="reversed")
    return chart


def comparison_figure(data: PlacementOutcome) -> go.Figure:
    """Draw placement, local and spread: simulated mean JCTs with intervals, or SLO hits if they count."""
    reports = {"nona": data.nona, "local": data.local, "spread": data.spread}
    values = {n: UNKNOWN if r is None else estimate_of(r) for n, r in reports.items()}
    if not is_slo(data.nona):
        dots = [dot_of(name, value, 1e3, _mean_text, "overloaded") for name, value in values.items()]
        return dots_figure(dots, "mean JCT, ms")
    hits = {n: hits_estimate(r) for n, r in reports.items()}
    dots = [dot_of(name, value, 100.0, _hits_text, "overloaded") for name, value in hits.items()]
    return dots_figure(dots, "SLO hits, %", most=100.0)


def _mean_text(value: Estimate) -> str:
    return mean_text(value, format_time)


def _hits_text(value: Estimate) -> str:
    return kept_text(value.mean)


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def link_waits_figure(links: Sequence[PredictedLink]) -> go.Figure:
    """Mean wait of a message at each role, times the share that crosses it, so that the bars add up.

    In the order of the way; the bottleneck in another colour, overloaded links without a bar.
    """
    chart = figure(80 + 34 * len(links), legend=False)
    worst = bottleneck(links).name
    add_bars(
        chart,
        "",
        [text(r.name) for r in links],
        [1e3 * r.share * (r.wait_s or 0.0) for r in links],
        [BAD if r.name == worst else PALETTE[2] for r in links],
        "%{y}: crossed by %{customdata[0]} of messages, which wait %{customdata[1]}",
        text=[f"{percent_text(r.utilization)} busy" for r in links],
        textposition="auto",
        customdata=[[percent_text(r.share), time_text(r.wait_s)] for r in links],
    )
    chart.update_yaxes(autorange="reversed", type="category")
    chart.update_xaxes(title="mean wait per message, ms", rangemode="tozero")
    return chart


def steps_figure(steps: Sequence[SearchStep]) -> go.Figure:
    """Return simulated mean JCT, or share of late jobs, of the best placement so far, as a step line."""
    late = any(s.late for s in steps)
    unit, title = ("%", "late jobs, %") if late else ("ms", "mean JCT, ms")
    values = [s.late and _times(100.0, s.late.mean) if late else _times(1e3, s.mean_s) for s in steps]
    chart = figure(240, legend=False)
    chart.add_scatter(  # markers on steps
        x=[s.elapsed_s for s in steps],
        y=values,
        name="best so far",
        mode="lines+markers",
        line={"color": PALETTE[0], "shape": "hv", "width": 2.5},
        marker={"size": 8},
        customdata=[origin_words(s) for s in steps],
        hovertemplate=f"%{{customdata}}: %{{y:,.3~r}} {unit} after %{{x:,.3~r}} s<extra></extra>",
    )
    chart.update_xaxes(title="seconds since the start", rangemode="tozero")
    chart.update_yaxes(title=title, rangemode="tozero")
    return chart
