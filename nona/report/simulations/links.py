"""The links of a cluster, stage by stage along a message's route, and their utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from nona.hardware.network import Network
from nona.report.figures.style import PALETTE, QUIET, figure, text
from nona.results.simulation.series import LinkLoad
from nona.simulation.records.run import Records
from nona.simulation.statistics.measured import link_utilizations
from nona.units import format_bandwidth

MOST_LINKS = 12
MOST_DRAWN = 2000


@dataclass(frozen=True, slots=True)
class LinkStage:
    """A stage of a message's path: its name, how many links it has, the capacity of each (B/s)."""

    stage: str
    links: int
    each: float

    @property
    def together(self) -> float:
        """Capacity of all its links, B/s."""
        return self.links * self.each


def link_stages(network: Network, servers: int) -> list[LinkStage]:
    """The stages of the longest path.

    >>> [s.stage for s in link_stages(Network(nic=1e9), 4)]
    ['server out', 'core', 'server in']
    >>> link_stages(Network(nic=1e9), 4)[0].together
    4000000000.0
    """
    stages = [LinkStage("core", 1, network.capacity)]
    if network.racks is not None:
        racks, uplink = -(-servers // network.racks.size), network.racks.uplink
        stages = [LinkStage("rack up", racks, uplink), *stages, LinkStage("rack down", racks, uplink)]
    if network.nic is not None:
        out, back = (LinkStage(f"server {way}", servers, network.nic) for way in ("out", "in"))
        stages = [out, *stages, back]
    return stages


def link_table(stages: Sequence[LinkStage]) -> list[dict[str, str]]:
    """The stages as text for a table."""
    return [
        {
            "link": r.stage,
            "number": f"{r.links:,}",
            "each": format_bandwidth(r.each),
            "together": format_bandwidth(r.together),
        }
        for r in stages
    ]


def stages_figure(stages: Sequence[LinkStage]) -> go.Figure:
    """Total capacity of each stage: traffic queues first at the narrowest."""
    made = figure(60 + 34 * len(stages), legend=False)
    narrow = min(r.together for r in stages)
    made.add_bar(
        y=[r.stage for r in stages],
        x=[r.together * 8e-9 for r in stages],
        orientation="h",
        marker_color=[PALETTE[2] if r.together == narrow else PALETTE[0] for r in stages],
        text=[f"{r.links:,} × {format_bandwidth(r.each)}" for r in stages],
        textposition="auto",
        hovertemplate="%{y}: %{x:,.4g} Gbit/s in all<extra></extra>",
    )
    made.update_yaxes(autorange="reversed", type="category")
    made.update_xaxes(title="capacity, Gbit/s", rangemode="tozero")
    return made


def busiest_links(records: Sequence[Records]) -> list[LinkLoad]:
    """The busiest links of one scheduler, averaged over its replications; empty for a single link."""
    busiest = link_utilizations(records)[:MOST_LINKS]
    return [LinkLoad(link=name, utilization=share) for name, share in busiest]


def each_link(records: Sequence[Records]) -> list[LinkLoad]:
    """Every link of one scheduler, averaged over its replications; none where they are too many to draw."""
    names = records[0].link_names
    if len(names) > MOST_DRAWN:
        return []
    lengths = [max(r.window_s[1] - r.window_s[0], 1e-300) for r in records]
    shares = np.mean([r.link_busy_s / n for r, n in zip(records, lengths, strict=True)], axis=0)
    return [LinkLoad(link=n, utilization=u) for n, u in zip(names, shares.tolist(), strict=True)]


def links_figure(links: Sequence[LinkLoad]) -> go.Figure:
    """Utilisation of the busiest links, background included; the busiest on top."""
    made = figure(70 + 24 * len(links), legend=False)
    made.add_bar(
        y=[text(r.link) for r in links],
        x=[100 * r.utilization for r in links],
        orientation="h",
        marker_color=[QUIET if r.link.startswith("server") else PALETTE[4] for r in links],
        hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
    )
    made.update_yaxes(autorange="reversed", type="category")
    made.update_xaxes(title="utilisation, %", range=[0, 101])
    return made
