"""The findings of the serverless study, also over load, as text and for its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evidence.policy_results import Cells, ServerlessStudy
from evidence.presented import Presented, Shown
from evidence.reports import serverless_claims as claims
from evidence.reports import serverless_tables as tables
from nona.core.tables import SHARE, WHOLE_SHARE, Column, FilledTable, NumberKind, Table, share_text
from nona.core.text import join_words
from nona.core.units import format_time
from nona.serverless.report.over import knee_text, limit_of, over_value
from nona.serverless.results import OverPoint, OverReport

# What the slides state: esg keeps so many per cent more SLOs than each of two policies.
SEARCHES = (("orion", "aquatope"), 46.0, 80.0)
SHARES = (("infless", "fast-gshare"), 36.0, 61.0)
MORE = 0.5  # percentage points: what differs by less is not "more"


class Gap(NamedTuple):
    """ESG's lead over two policies at one load, in percentage points: the smaller and the larger."""

    setting: str
    load: float
    vgpus_held: float
    esg: float
    least: float
    most: float

    def inside(self, low: float, high: float) -> bool:
        """Return whether both leads are in the range."""
        return low <= self.least and self.most <= high


def gaps(reports: dict[str, OverReport], others: Sequence[str]) -> Iterator[Gap]:
    """At every load at which all three policies were simulated."""
    for setting, report in reports.items():
        for load in report.values:
            points = [p for n in ("esg", *others) if (p := _at(report, n, load)) is not None]
            if len(points) > len(others):
                kept, *theirs = (p.slo_hit_rate.mean or 0.0 for p in points)
                leads = [100 * (kept - share) for share in theirs]
                yield Gap(setting, load, points[0].utilization.vgpu or 0.0, kept, min(leads), max(leads))


def _at(report: OverReport, policy: str, load: float) -> OverPoint | None:
    if policy not in report.policies:
        return None
    return next((p for p in report.policies[policy].points if p.value == load), None)


def claim_text(data: ServerlessStudy) -> str:
    """At which use of the vGPUs ESG leads as the slides say, with the default profiles: a few sentences."""
    reports = dict(data.curves)
    sentences: list[str] = []
    for others, low, high in (SHARES, SEARCHES):
        rows = list(gaps(reports, others))
        inside = [g for g in rows if g.inside(low, high)]
        ahead = [g for g in rows if g.least > MORE]
        lead = f"the slides' lead of {low:.0f} to {high:.0f} points over {join_words(others)}"
        any_lead = f"The lead of esg exceeds {MORE:g} points {_where(ahead)}"
        sentences.append(f"{lead} appears {_where(inside)}. {any_lead}.")
    level = [g.vgpus_held for g in gaps(reports, SHARES[0]) if max(abs(g.least), abs(g.most)) <= MORE]
    if level:
        same = join_words(["esg", *SHARES[0]])
        sentences.append(
            f"Up to a use of {share_text(max(level))} of the vGPUs, {same} keep equally many SLOs."
        )
    return " ".join(
        [f"With the default profiles {sentences[0]}", *(t[0].upper() + t[1:] for t in sentences[1:])]
    )


def _where(gaps: Sequence[Gap]) -> str:
    """Return the range of use; the rows of :func:`leads` have the loads."""
    if not gaps:
        return "at none of the loads tried"
    vgpus_held = [g.vgpus_held for g in gaps]
    ends = share_text(min(vgpus_held)), share_text(max(vgpus_held))
    use = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"where esg holds {use} of the vGPUs"


class _Lead(NamedTuple):
    over_shares: Gap
    over_searches: Gap | None


def leads(data: ServerlessStudy) -> FilledTable:
    """ESG's leads at every load, beside the ranges of the slides."""
    reports = dict(data.curves)
    others = {(g.setting, g.load): g for g in gaps(reports, SEARCHES[0])}
    rows = [_Lead(g, others.get((g.setting, g.load))) for g in gaps(reports, SHARES[0])]
    columns: tuple[Column[_Lead], ...] = (
        Column("setting", lambda r: r.over_shares.setting),
        Column("load", lambda r: r.over_shares.load, NumberKind("× {:g}".format)),
        Column("vGPUs held", lambda r: r.over_shares.vgpus_held, WHOLE_SHARE),
        Column("esg keeps", lambda r: r.over_shares.esg, SHARE),
        Column(f"over {', '.join(SHARES[0])}", lambda r: _points(r.over_shares, *SHARES[1:])),
        Column(
            f"over {', '.join(SEARCHES[0])}",
            lambda r: _points(r.over_searches, *SEARCHES[1:]) if r.over_searches else None,
        ),
    )
    return Table("", columns).fill(rows)


def _points(gap: Gap, low: float, high: float) -> str:
    mark = ", as stated" if gap.inside(low, high) else ""
    return f"{gap.least:+.1f} to {gap.most:+.1f} points{mark}"


class _Curve(NamedTuple):
    setting: str
    report: OverReport

    def knees(self, policy: str) -> str:
        of = self.report.policies[policy]
        return "; ".join(knee_text(self.report, of, k) for k in of.knees)


def _curves(data: ServerlessStudy) -> list[_Curve]:
    return [_Curve(setting, report) for setting, report in data.curves.items()]


def knees(data: ServerlessStudy) -> FilledTable:
    """Until which load each policy keeps the target: a row a setting."""

    def of(policy: str) -> Column[_Curve]:
        return Column(policy, lambda r: r.knees(policy) if policy in r.report.policies else None)

    rows = _curves(data)
    names = dict.fromkeys(name for row in rows for name in row.report.policies)
    return Table("", (Column("setting", lambda r: r.setting), *map(of, names))).fill(rows)


class _Use(NamedTuple):
    curve: _Curve
    policy: str
    point: OverPoint


def _use_at_knees(data: ServerlessStudy) -> FilledTable:
    rows = []
    for curve in _curves(data):
        for name, policy in curve.report.policies.items():
            limit = limit_of(policy)
            point = None if limit is None else _at(curve.report, name, limit)
            rows += [_Use(curve, name, point)] if point else []
    columns: tuple[Column[_Use], ...] = (
        Column("setting", lambda r: r.curve.setting),
        Column("policy", lambda r: r.policy),
        Column("until", lambda r: over_value(r.curve.report, r.point.value)),
        Column("vGPUs held", lambda r: r.point.utilization.vgpu, WHOLE_SHARE),
        Column("vCPUs held", lambda r: r.point.utilization.vcpu, WHOLE_SHARE),
    )
    return Table("", columns).fill(rows)


OURS = (
    "Of ESG's paper only slides and summaries were available. They state 16 nodes of 16 vCPUs and 7 vGPUs, "
    "four applications, SLOs of 0.8, 1 and 1.2 L, the names of the loads, and the compared policies. "
    "Function sequences, gaps between calls, prices and cold starts are from memory; the scaling of times, "
    "transfers and the platform's rules are our choice. So agreement confirms nothing and disagreement "
    "refutes nothing."
)
RULES = (
    f"Order: means differ by more than {claims.MATERIAL:g} points or {claims.SLOWER:.0%}. Size: a setting "
    f"and policy within the stated range, in points or per cent; miss rates within {claims.NEAR:.0f} points; "
    f"costs within {claims.SIMILAR:.0%} are similar; just below the SLO means a median from "
    f"{claims.JUST_BELOW[0]:g} to {claims.JUST_BELOW[1]:g} of it."
)


def title(data: ServerlessStudy) -> str:
    """Return the main finding in one sentence."""
    cells = claims.main_cells(data)
    keeps = [n for n, row in cells.items() if _first(row)]
    cheap = [n for n, row in cells.items() if claims.order(row, "costs")[0] == "esg"]
    of = len(cells)
    return (
        "Of the published policies esg keeps the most SLOs, or does not differ clearly from the best, "
        f"in {len(keeps)} of {of} settings, and is cheapest in {len(cheap)}"
    )


def _first(row: Cells) -> bool:
    best = claims.order(row, "hits")[0]
    return best == "esg" or not claims.clear(claims.difference(row[best], row["esg"], "hits"))


def findings(data: ServerlessStudy) -> list[str]:
    """Say what decides ESG's lead; the tables have each policy and setting."""
    return [claim_text(data)]


def cutoff_title(data: ServerlessStudy) -> str:
    """Return the cut-off above which Orion's hit rate no longer grows."""
    points = data.cutoff.points
    kept = [p.slo_hit_rate.mean or 0.0 for p in points]
    best = max(kept)
    enough = next(p for p, share in zip(points, kept, strict=True) if share >= best - 0.002)
    first, last = points[0], points[-1]
    return (
        f"Orion in {data.cutoff.setting} keeps {share_text(kept[0], 1)} of the SLOs with a cut-off of "
        f"{format_time(first.cutoff_s)}, {share_text(best, 1)} from {format_time(enough.cutoff_s)} on, and "
        f"{share_text(kept[-1], 1)} with {format_time(last.cutoff_s)}"
    )


def miss_title(data: ServerlessStudy) -> str:
    """Return the deviation of the configuration misses from those of the slides."""
    cells = claims.main_cells(data)
    ahead = (c for c in claims.CLAIMS if c.name.startswith("misses of"))
    near = [c.name.removeprefix("misses of ") for c in ahead if c.judge(cells).size]
    if near:
        return (
            f"Configuration misses of {join_words(near)} are within {claims.NEAR:.0f} points of the slides'"
        )
    more = f"by more than {claims.NEAR:.0f} points in some setting"
    return f"Configuration misses differ from the slides' {more}"


def provenance(data: ServerlessStudy) -> str:
    """Return the provenance of the numbers in one line."""
    return f"{data.origin}, {data.replications} runs of {data.calls:,} calls"


def presented(data: ServerlessStudy) -> Presented:
    """Return the study with its tables: settings, knees, leads, searches, sharing."""
    lines = [
        f"{c.slides}: {c.finding}; order: {c.order}; size: {c.size}." for c in tables.judged_claims(data)
    ]
    missed_rows = tables.MISSED.fill(tables.missed(data))
    shown = (
        Shown("study-policies", "Policies in the three settings", tables.settings(data)),
        Shown("study-knees", "Up to which load", knees(data)),
        Shown("study-gaps", "ESG's leads by load", leads(data)),
        Shown("study-use", "Use at the knees", _use_at_knees(data), folded=True),
        Shown("study-miss-rows", "Configuration misses: ours and the slides'", missed_rows, folded=True),
        Shown("study-searches", "ESG's search in each setting", tables.searches(data), folded=True),
        Shown("study-cutoffs", "Orion's cut-off", tables.CUTOFFS.fill(data.cutoff.points), folded=True),
        Shown(
            "study-sharing", f"Ways of sharing: {data.sharing.scenario}", tables.sharing(data), folded=True
        ),
    )
    notes = f"{RULES} {OURS}"
    return Presented(title(data), [*findings(data), *lines], shown, notes, provenance(data))


def study_page(data: ServerlessStudy) -> str:
    """Return the finding, knees, ESG's leads by load, and the claims with their verdicts."""
    return "\n\n".join(
        [
            f"{title(data)}. {claim_text(data)}",
            "Up to which multiple of a setting's load each policy keeps 99 % of the SLOs:",
            knees(data).markdown(),
            "ESG's lead over the other policies by load, in percentage points:",
            leads(data).markdown(),
            "The claims of the slides in their three settings:",
            tables.CLAIMED.fill(tables.judged_claims(data)).markdown(),
            f"Source: `{provenance(data)}`.",
        ]
    )
