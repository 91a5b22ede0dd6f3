"""The study of elastic jobs on a link as a chart."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis, whiskers
from nona.report.figures.style import PALETTE, figure, text
from nona.report.training.elastic.link_text import link_name, links_of, mean_of
from nona.report.training.words import HOUR_S
from nona.results.training.elastic_link import ElasticLinkStudy

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


def link_figure(study: ElasticLinkStudy) -> go.Figure:
    """Mean JCT of each policy, a mark for each link, with intervals over workloads."""
    names = list(dict.fromkeys(point.name for point in study.points))
    made, known = figure(150 + 38 * len(names)), list[float]()
    for k, link in enumerate(links_of(study)):
        points = [p for p in study.points if link_name(p) == link]
        found = [mean_of(p) for p in points]
        means = [i.mean / HOUR_S for i in found]
        half = [0.0 if i.half_width != i.half_width else i.half_width / HOUR_S for i in found]
        colour = PALETTE[k % len(PALETTE)]
        made.add_scatter(
            x=means,
            y=[text(p.name) for p in points],
            name=text(link),
            mode="markers",
            marker={"color": colour, "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 10},
            error_x=whiskers(0.0, [0.0, 0.0], colour)
            | {
                "array": half,
                # a logarithmic axis cannot show an interval that reaches 0
                "arrayminus": [min(h, 0.9 * m) for h, m in zip(half, means, strict=True)],
            },
            hovertemplate=f"%{{y}}, {text(link)}: %{{x:.3g}} h<extra></extra>",
        )
        known += means
    log_axis(made, known, "mean JCT, h")
    made.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=[text(n) for n in names])
    return made
