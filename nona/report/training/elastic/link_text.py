"""The study of elastic jobs on a link, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nona.report.text import share_text, table
from nona.report.training.elastic.study_text import ran
from nona.results.training.elastic_link import ElasticLinkPoint, ElasticLinkStudy
from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.simulation.statistics.ratio import NO_RATIO, Ratio, paired_ratio
from nona.units import format_bandwidth

SEEING = "optimus-link"
BLIND = "optimus"
UNCLEAR = " (which of both JCTs is longer is not clear)"
NO_LINK = "as measured, no link"


def workload_means(point: ElasticLinkPoint) -> list[float]:
    """Mean JCT of each workload, in seconds; replications count as their mean."""
    return [float(np.mean(runs)) for runs in point.jcts_s]


def mean_of(point: ElasticLinkPoint) -> Interval:
    """Mean JCT with its interval over workloads."""
    return mean_interval(workload_means(point))


def link_name(point: ElasticLinkPoint) -> str:
    """The link of a point."""
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
    found = {(p.name, link_name(p)): workload_means(p) for p in study.points}
    below = other or (name, NO_LINK)
    return (
        paired_ratio(found[name, link], found[below]) if {(name, link), below} <= found.keys() else NO_RATIO
    )


def link_rows(study: ElasticLinkStudy) -> list[dict[str, str]]:
    """A row for each policy, a column for each link."""
    rows: dict[str, dict[str, str]] = {}
    for point in study.points:
        row = rows.setdefault(point.name, {"policy": point.name, "sees": point.view})
        row[link_name(point)] = _span(mean_of(point))
    return list(rows.values())


def cost_rows(study: ElasticLinkStudy) -> list[dict[str, str]]:
    """A row for each policy and link: its JCT against itself without it and against who sees it."""
    return [
        {
            "policy": point.name,
            "link": link,
            "against no link": _ratio_text(cost_of(study, link, point.name)),
            "against optimus-link": _ratio_text(cost_of(study, link, point.name, (SEEING, link))),
            "GPU time that the link costs": share_text(float(np.mean(point.link_share)), 1),
        }
        for point in study.points
        if (link := link_name(point)) != NO_LINK
    ]


def link_title(study: ElasticLinkStudy) -> str:
    """What the link costs Optimus that does not see it, and Optimus that does, as one finding."""
    said = []
    for link in links_of(study):
        blind, seeing = (cost_of(study, link, name) for name in (BLIND, SEEING))
        if link != NO_LINK and not np.isnan(blind.value + seeing.value):
            both = f"{_ratio_text(blind)} unseen, {_ratio_text(seeing)} seen"
            apart = cost_of(study, link, BLIND, (SEEING, link))
            unclear = not (apart.is_clear or np.isnan(apart.low))
            said.append(f"{link}: {both}{UNCLEAR if unclear else ''}")
    return f"What the link adds to the mean JCT of Optimus: {'; '.join(said)}" if said else ""


def link_notes(study: ElasticLinkStudy) -> str:
    """What was run."""
    return (
        f"± and brackets: 95 % over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, its authors' simulator 100. FIFO link. The all-reduce on "
        "the link is modelled, parameter counts are recollected; all else is measured."
    )


def provenance(study: ElasticLinkStudy) -> str:
    """The command, and when it was run."""
    return ran(study.command, study.version, study.date, study.seed, study.seconds)


def link_study_text(study: ElasticLinkStudy) -> str:
    """Tables of JCT and costs, the finding, provenance."""
    return "\n".join(_lines(study))


def _lines(study: ElasticLinkStudy) -> Iterator[str]:
    yield "Mean JCT ± 95 % over workloads"
    yield _listed(link_rows(study))
    yield ""
    yield "On the links: mean JCT against the same policy without one, and against optimus-link on it"
    yield _listed(cost_rows(study))
    yield ""
    if finding := link_title(study):
        yield f"{finding}."
    yield link_notes(study)
    yield provenance(study)
    yield from study.failed_checks


def _listed(rows: Sequence[dict[str, str]]) -> str:
    return table(rows, tuple(rows[0])) if rows else "no rows: every policy ran without a link only"


def _span(found: Interval) -> str:
    if np.isnan(found.half_width):
        return f"{found.mean:,.0f} s"
    return f"{found.mean:,.0f} ± {found.half_width:,.0f} s"


def _ratio_text(ratio: Ratio) -> str:
    return "–" if ratio.value != ratio.value else f"{share_text(ratio.value - 1, sign='+')}{_within(ratio)}"


def _within(ratio: Ratio) -> str:
    if np.isnan(ratio.low):
        return ""
    low = max(ratio.low, 0.0)  # times are positive, whatever the interval's formula says
    return f" ({share_text(low - 1, sign='+')} to {share_text(ratio.high - 1, sign='+')})"
