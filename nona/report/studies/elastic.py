"""The studies of elastic jobs, alone and on a link: findings and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nona.report.text import Presented, Shown
from nona.results.document import Estimate
from nona.results.elastic import ElasticLinkPoint, ElasticLinkStudy, ElasticPoint, ElasticStudy
from nona.statistics import NO_RATIO, Interval, Ratio, mean_interval, paired_ratio
from nona.tables import SHARE, Column, Filled, Kind, Table, share_text, time_text
from nona.units import format_bandwidth


def workload_means(point: ElasticPoint | ElasticLinkPoint) -> list[float]:
    """Mean JCT of each workload, in seconds; replications count as their mean."""
    return [float(np.mean(runs)) for runs in point.jcts_s]


def mean_of(point: ElasticPoint | ElasticLinkPoint) -> Interval:
    """Mean JCT with its interval over workloads."""
    return mean_interval(workload_means(point))


SECONDS = Kind("{:,.0f} s".format)


class _Row(NamedTuple):
    point: ElasticPoint
    published_s: float | None


POINTS = Table[_Row](
    "",
    (
        Column("policy", lambda r: r.point.policy),
        Column("load", lambda r: r.point.load, Kind("{:g}".format)),
        Column("interference", lambda r: r.point.interference, Kind(share_text)),
        Column(
            "avoided", lambda r: ("yes" if r.point.avoid else "no") if r.point.policy == "pollux" else None
        ),
        Column("mean JCT", lambda r: mean_of(r.point).estimate, SECONDS, interval=True),
        Column("authors' mean", lambda r: r.published_s, SECONDS),
    ),
)


def published_of(point: ElasticPoint) -> float | None:
    """Return the authors' mean JCT (s) on the same workloads; ``None`` unless they ran all of them."""
    means_s = [value for value in point.published_s if value is not None]
    return float(np.mean(means_s)) if len(means_s) == len(point.published_s) else None


def over_load(study: ElasticStudy) -> list[ElasticPoint]:
    """The points without interference, where whoever can avoid it does."""
    return [p for p in study.points if p.avoid and not p.interference]


def _over_interference(study: ElasticStudy) -> list[ElasticPoint]:
    """The points at load 1 with interference, or without avoiding it; those without either for comparison."""
    return [p for p in study.points if p.load == 1]


def loads(study: ElasticStudy) -> Filled:
    """Each policy and load; the authors' means are over eight workloads of that load."""
    return POINTS.of(_Row(p, p.published_mean_s) for p in over_load(study))


def interference(study: ElasticStudy) -> Filled:
    """Each policy and interference at load 1; the authors' means are of the same workloads."""
    return POINTS.of(_Row(p, published_of(p)) for p in _over_interference(study))


def study_title(study: ElasticStudy) -> str:
    """The shortest mean JCT at the lowest and at the highest load, as one finding."""
    points = over_load(study)
    said = []
    for load in dict.fromkeys((min(p.load for p in points), max(p.load for p in points))):
        first, *others = sorted((p for p in points if p.load == load), key=lambda p: mean_of(p).mean)
        said.append(f"at load {load:g} {first.policy} has the shortest mean JCT{_gain(first, others)}")
    return "; ".join(said)[:1].upper() + "; ".join(said)[1:]


def _gain(first: ElasticPoint, others: Sequence[ElasticPoint]) -> str:
    if not others:
        return ""
    second = others[0]
    ratio = paired_ratio(workload_means(second), workload_means(first))
    if not ratio.is_clear:
        return f", not clearly shorter than {second.policy}"
    return f", {share_text(1 - 1 / ratio.value)} less than {second.policy}"


def avoidance_text(study: ElasticStudy) -> str:
    """State Pollux's saving by avoiding interference, at the largest interference; empty if not run."""
    points = [p for p in _over_interference(study) if p.policy == "pollux"]
    calm = next((p for p in points if p.avoid), None)
    slowed = [p for p in points if not p.avoid]
    if calm is None or not slowed:
        return ""
    worst = max(slowed, key=lambda p: p.interference)
    free = next((p for p in slowed if not p.interference), None)
    saved = share_text(1 - mean_of(calm).mean / mean_of(worst).mean)
    said = (
        f"Where neighbours on several nodes lose {share_text(worst.interference)} of their speed, avoiding "
        f"them makes the mean JCT under pollux {saved} shorter"
    )
    if free is not None:
        cost = mean_of(calm).mean / mean_of(free).mean - 1
        said += f"; where they lose nothing, avoiding them changes it by {share_text(cost, 1, '+')}"
    return f"{said}."


def study_notes(study: ElasticStudy) -> str:
    """State the setting, and its differences from the authors' runs."""
    return (
        f"Intervals are over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, the authors' simulator 100. The authors' means over load "
        "are of eight workloads for each load, most of which do not ship: above load 1 jobs of the other "
        "workloads are added."
    )


def provenance(study: ElasticStudy | ElasticLinkStudy) -> str:
    """The command, when it was run, and how long it took."""
    seconds = time_text(study.seconds)
    return f"{study.command}: version {study.version}, {study.date}, seed {study.seed}, {seconds}."


def presented(study: ElasticStudy) -> Presented:
    """The study with its tables over load and over interference, and the replays beside the authors'."""
    load = "Mean JCT over relative load (the authors' means: eight workloads of that load, most not shipped)"
    lost = "Mean JCT at load 1 over interference (the authors' means: the same workloads)"
    tables = (
        Shown("elastic-load-points", load, loads(study), folded=True),
        Shown("elastic-interference-points", lost, interference(study), folded=True),
    )
    lines = (avoidance_text(study), *replay_lines(study.points, study.workloads), *study.failed_checks)
    findings = tuple(filter(None, lines))
    return Presented(study_title(study), findings, tables, study_notes(study), provenance(study))


def replay_lines(points: Sequence[ElasticPoint], workloads: Sequence[int]) -> Iterator[str]:
    """Each policy's replay, workload by workload, against the authors' figure."""
    for point in points:
        if point.load != 1 or published_of(point) is None or not point.avoid or point.interference:
            continue
        parts = [
            f"{number}: {np.mean(runs):,.2f} s ({100 * (np.mean(runs) / published - 1):+.2f} %)"
            for number, runs, published in zip(workloads, point.jcts_s, point.published_s, strict=True)
            if published is not None
        ]
        yield f"Replay, {point.policy}, by workload, against the authors' figure: " + ", ".join(parts) + "."


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
    rows: dict[str, list[ElasticLinkPoint]] = {}
    for point in study.points:
        rows.setdefault(point.name, []).append(point)

    def on(link: str) -> Column[list[ElasticLinkPoint]]:
        def jct(points: list[ElasticLinkPoint]) -> Estimate | None:
            return next((mean_of(p).estimate for p in points if link_name(p) == link), None)

        return Column(link, jct, SECONDS, interval=True)

    sees: Column[list[ElasticLinkPoint]] = Column("sees", lambda points: points[0].view)
    return Table("policy", (sees, *map(on, links_of(study)))).of(rows)


class _Cost(NamedTuple):
    point: ElasticLinkPoint
    study: ElasticLinkStudy

    @property
    def link(self) -> str:
        return link_name(self.point)

    def against(self, other: tuple[str, str] | None = None) -> str:
        return _ratio_text(cost_of(self.study, self.link, self.point.name, other))


COSTS = Table[_Cost](
    "",
    (
        Column("policy", lambda c: c.point.name),
        Column("link", lambda c: c.link),
        Column("against no link", lambda c: c.against()),
        Column("against optimus-link", lambda c: c.against((SEEING, c.link))),
        Column("GPU time that the link costs", lambda c: float(np.mean(c.point.link_share)), SHARE),
    ),
)


def costs(study: ElasticLinkStudy) -> Filled:
    """Each policy on each link: its JCT against itself without it and against who sees it."""
    return COSTS.of(_Cost(p, study) for p in study.points if link_name(p) != NO_LINK)


def link_title(study: ElasticLinkStudy) -> str:
    """State the link's cost to Optimus without and with sight of it, as one finding."""
    said = []
    for link in links_of(study):
        blind, seeing = (cost_of(study, link, name) for name in (BLIND, SEEING))
        if link != NO_LINK and not np.isnan(blind.value + seeing.value):
            both = f"{_ratio_text(blind)} without seeing it, {_ratio_text(seeing)} when seeing it"
            apart = cost_of(study, link, BLIND, (SEEING, link))
            unclear = not (apart.is_clear or np.isnan(apart.low))
            said.append(f"{link}: {both}{UNCLEAR if unclear else ''}")
    return f"What the link adds to the mean JCT of Optimus: {'; '.join(said)}" if said else ""


def link_notes(study: ElasticLinkStudy) -> str:
    """State the setting of the study."""
    return (
        f"± and brackets: 95 % over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, its authors' simulator 100. FIFO link. The all-reduce on "
        "the link is modelled, parameter counts are recollected; all else is measured."
    )


def link_presented(study: ElasticLinkStudy) -> Presented:
    """The study with its tables: JCT of each policy on each link, and what the links cost."""
    cost = "On the links: mean JCT against the same policy without one, and against optimus-link on it"
    tables = (
        Shown("elastic-link-points", "Mean JCT ± 95 % over workloads", links(study), folded=True),
        Shown("elastic-link-costs", cost, costs(study), folded=True),
    )
    title = link_title(study) or "Optimus was not run with and without sight of the link"
    return Presented(title, study.failed_checks, tables, link_notes(study), provenance(study))


def _ratio_text(ratio: Ratio) -> str:
    return "–" if ratio.value != ratio.value else f"{share_text(ratio.value - 1, sign='+')}{_within(ratio)}"


def _within(ratio: Ratio) -> str:
    if np.isnan(ratio.low):
        return ""
    low = max(ratio.low, 0.0)  # times are positive, whatever the interval's formula says
    return f" ({share_text(low - 1, sign='+')} to {share_text(ratio.high - 1, sign='+')})"
