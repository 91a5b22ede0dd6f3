"""The study of elastic jobs on a link: findings, tables, figure."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import PALETTE, add_points, figure, log_axis, text
from nona.report.training.findings import HOUR_S
from nona.results.document import Estimate
from nona.statistics import NO_RATIO, Ratio, paired_ratio
from nona.tables import SHARE, Column, Filled, Table, share_text, time_text
from nona.units import format_bandwidth
from studies.policy_results import ElasticLinkPoint, ElasticLinkStudy
from studies.presented import Presented, Shown, grouped
from studies.reports.elastic import SECONDS, mean_of, workload_means

SEEING = "optimus-link"
BLIND = "optimus"
UNCLEAR = " (which of the two JCTs is longer is not clear)"
NO_LINK = "as measured, no link"


def link_name(point: ElasticLinkPoint) -> str:
    if point.capacity is None:
        return NO_LINK
    return f"{format_bandwidth(point.capacity)}, {share_text(point.background)} background"


def links_of(study: ElasticLinkStudy) -> list[str]:
    """The links, none first, then fast ones first."""
    return list(dict.fromkeys(map(link_name, study.points)))


def cost_of(study: ElasticLinkStudy, link: str, name: str, other: tuple[str, str] | None = None) -> Ratio:
    """Mean JCT of a policy on a link over another mean, paired by workload (Fieller's interval).

    ``other``: policy and link; its own without a link if ``None``.
    """
    means = {(p.name, link_name(p)): workload_means(p) for p in study.points}
    below = other or (name, NO_LINK)
    return (
        paired_ratio(means[name, link], means[below]) if {(name, link), below} <= means.keys() else NO_RATIO
    )


def links(study: ElasticLinkStudy) -> Filled:
    """A row for each policy, a column for each link."""

    def on(link: str) -> Column[list[ElasticLinkPoint]]:
        def jct(points: list[ElasticLinkPoint]) -> Estimate | None:
            return next((mean_of(p).estimate for p in points if link_name(p) == link), None)

        return Column(link, jct, SECONDS, interval=True)

    sees: Column[list[ElasticLinkPoint]] = Column("sees", lambda points: points[0].view)
    return Table("policy", (sees, *map(on, links_of(study)))).of(grouped(study.points, lambda p: p.name))


def costs(study: ElasticLinkStudy) -> Filled:
    """Each policy on each link: its JCT against itself without it and against who sees it."""

    def cost(p: ElasticLinkPoint, other: tuple[str, str] | None = None) -> str:
        return _ratio_text(cost_of(study, link_name(p), p.name, other))

    columns: tuple[Column[ElasticLinkPoint], ...] = (
        Column("policy", lambda p: p.name),
        Column("link", link_name),
        Column("against no link", cost),
        Column("against optimus-link", lambda p: cost(p, (SEEING, link_name(p)))),
        Column("GPU time that the link costs", lambda p: float(np.mean(p.link_share)), SHARE),
    )
    return Table("", columns).of(p for p in study.points if link_name(p) != NO_LINK)


def title(study: ElasticLinkStudy) -> str:
    """State the link's cost to Optimus without and with sight of it, as one finding."""
    costs = []
    for link in links_of(study):
        blind, seeing = (cost_of(study, link, name) for name in (BLIND, SEEING))
        if link != NO_LINK and not np.isnan(blind.value + seeing.value):
            both = f"{_ratio_text(blind)} without seeing it, {_ratio_text(seeing)} when seeing it"
            apart = cost_of(study, link, BLIND, (SEEING, link))
            unclear = not (apart.is_clear or np.isnan(apart.low))
            costs.append(f"{link}: {both}{UNCLEAR if unclear else ''}")
    if not costs:
        return "Optimus was not run with and without sight of the link"
    return f"What the link adds to the mean JCT of Optimus: {'; '.join(costs)}"


def presented(study: ElasticLinkStudy) -> Presented:
    """The study with its tables: JCT of each policy on each link, and what the links cost."""
    cost = "On the links: mean JCT against the same policy without one, and against optimus-link on it"
    tables = (
        Shown("elastic-link-points", "Mean JCT ± 95 % over workloads", links(study), folded=True),
        Shown("elastic-link-costs", cost, costs(study), folded=True),
    )
    notes = (
        f"± and brackets: 95 % over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, its authors' simulator 100. FIFO link. The all-reduce on "
        "the link is modelled, parameter counts are recollected; all else is measured."
    )
    provenance = f"{study.origin}, {time_text(study.seconds)}."
    return Presented(title(study), study.failed_checks, tables, notes, provenance)


def _ratio_text(ratio: Ratio) -> str:
    return "–" if ratio.value != ratio.value else f"{share_text(ratio.value - 1, sign='+')}{_within(ratio)}"


def _within(ratio: Ratio) -> str:
    if np.isnan(ratio.low):
        return ""
    low = max(ratio.low, 0.0)  # times are positive, whatever the interval's formula says
    return f" ({share_text(low - 1, sign='+')} to {share_text(ratio.high - 1, sign='+')})"


SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


def link_figure(study: ElasticLinkStudy) -> go.Figure:
    """Mean JCT of each policy, a mark for each link, with intervals over workloads."""
    names = [text(name) for name in dict.fromkeys(p.name for p in study.points)]
    chart, all_means = figure(150 + 38 * len(names)), list[float]()
    for k, (link, points) in enumerate(grouped(study.points, link_name).items()):
        intervals = [mean_of(p) for p in points]
        means = [i.mean / HOUR_S for i in intervals]
        look = Look(PALETTE[k % len(PALETTE)], "solid", SYMBOLS[k % len(SYMBOLS)])
        spans = [  # a logarithmic axis cannot show an interval that reaches 0
            None if i.ends is None else (max(i.low / HOUR_S, 0.1 * m), i.high / HOUR_S)
            for i, m in zip(intervals, means, strict=True)
        ]
        hover = f"%{{y}}, {text(link)}: %{{x:,.3~r}} h"
        add_points(chart, link, means, [text(p.name) for p in points], look, hover, across=spans)
        all_means += means
    log_axis(chart, all_means, "mean JCT, h")
    chart.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=names)
    return chart
