"""At which use the gaps that the slides state appear, from the study's curves over load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nona.report.serverless.over.text import knee_text, limit_of, over_value
from nona.report.text import listed, or_dash, share_text
from nona.results.serverless.over import OverPoint, OverReport
from nona.results.serverless.study import ServerlessStudy

# What the slides state: esg keeps so many per cent more SLOs than each of two policies.
SEARCHES = (("orion", "aquatope"), 46.0, 80.0)
SHARES = (("infless", "fast-gshare"), 36.0, 61.0)
MORE = 0.5  # percentage points: what differs by less is not "more"


@dataclass(frozen=True, slots=True)
class Gap:
    """ESG's lead over two policies at one load, in percentage points: the smaller and the larger."""

    setting: str
    load: float
    vgpus_held: float
    esg: float
    least: float
    most: float

    def inside(self, low: float, high: float) -> bool:
        """Whether both leads are in the range."""
        return low <= self.least and self.most <= high


def gaps(reports: dict[str, OverReport], others: Sequence[str]) -> Iterator[Gap]:
    """At every load at which all three policies were simulated."""
    for setting, report in reports.items():
        for load in report.values:
            points = {n: _at(report, n, load) for n in ("esg", *others)}
            if any(p is None for p in points.values()):
                continue
            kept = {n: p.slo_hit_rate.mean or 0.0 for n, p in points.items() if p is not None}
            esg = points["esg"]
            leads = [100 * (kept["esg"] - kept[other]) for other in others]
            held = 0.0 if esg is None else esg.utilization.vgpu or 0.0
            yield Gap(setting, load, held, kept["esg"], min(leads), max(leads))


def _at(report: OverReport, policy: str, load: float) -> OverPoint | None:
    if policy not in report.policies:
        return None
    return next((p for p in report.policies[policy].points if p.value == load), None)


def claim_text(data: ServerlessStudy) -> str:
    """At which use of the vGPUs ESG leads as the slides say, with the default profiles: a few sentences."""
    reports = dict(data.curves[0].settings)
    told = []
    for others, low, high in (SHARES, SEARCHES):
        found = list(gaps(reports, others))
        inside = [g for g in found if g.inside(low, high)]
        ahead = [g for g in found if g.least > MORE]
        lead = f"the slides' lead of {low:.0f} to {high:.0f} points over {listed(others)}"
        told.append(f"{lead} appears {_where(inside)}, one of any size {_where(ahead)}.")
    level = [g.vgpus_held for g in gaps(reports, SHARES[0]) if max(abs(g.least), abs(g.most)) <= MORE]
    if level:
        same = listed(["esg", *SHARES[0]])
        told.append(f"Up to {share_text(max(level))} of the vGPUs {same} keep equally many SLOs.")
    return " ".join([f"With the default profiles {told[0]}", *(t[0].upper() + t[1:] for t in told[1:])])


def _where(found: Sequence[Gap]) -> str:
    """The range of use; the rows of :func:`gap_rows` have the loads."""
    if not found:
        return "at no load that was tried"
    held = [g.vgpus_held for g in found]
    ends = share_text(min(held)), share_text(max(held))
    use = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"where esg holds {use} of the vGPUs"


def gap_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """ESG's leads at every load and with every set of profiles, beside the ranges of the slides."""
    rows = []
    for curves in data.curves:
        reports = dict(curves.settings)
        shares = {(g.setting, g.load): g for g in gaps(reports, SHARES[0])}
        searches = {(g.setting, g.load): g for g in gaps(reports, SEARCHES[0])}
        for key, g in shares.items():
            other = searches.get(key)
            rows.append(
                {
                    "profiles": curves.name,
                    "setting": g.setting,
                    "load": f"× {g.load:g}",
                    "vGPUs held": share_text(g.vgpus_held),
                    "esg keeps": share_text(g.esg, 1),
                    "over infless, fast-gshare": _points(g, SHARES[1], SHARES[2]),
                    "over orion, aquatope": "–" if other is None else _points(other, *SEARCHES[1:]),
                }
            )
    return rows


def _points(gap: Gap, low: float, high: float) -> str:
    mark = ", as stated" if gap.inside(low, high) else ""
    return f"{gap.least:+.1f} to {gap.most:+.1f} points{mark}"


def study_knee_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """Until which load each policy keeps the target: a row a setting and set of profiles."""
    rows = [
        _knee_row(curves.name, setting, report)
        for curves in data.curves
        for setting, report in curves.settings.items()
    ]
    for curve in data.scarcity:
        name = f"CPU share {share_text(curve.cpu_share)}, {curve.vcpus} vCPUs a node"
        rows.append(_knee_row(name, data.scarce_setting, curve.report))
    return rows


def _knee_row(profiles: str, setting: str, report: OverReport) -> dict[str, str]:
    told = {n: "; ".join(knee_text(report, p, k) for k in p.knees) for n, p in report.policies.items()}
    return {"profiles": profiles, "setting": setting, **told}


def use_at_knee_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """The vGPUs and vCPUs that each policy holds at the last load that it keeps."""
    rows = []
    for row, report in _reports(data):
        for name, policy in report.policies.items():
            limit = limit_of(policy)
            point = None if limit is None else _at(report, name, limit)
            if point is not None:
                rows.append(
                    {
                        **row,
                        "policy": name,
                        "until": over_value(report, limit),
                        "vGPUs held": or_dash(point.utilization.vgpu, share_text),
                        "vCPUs held": or_dash(point.utilization.vcpu, share_text),
                    }
                )
    return rows


def _reports(data: ServerlessStudy) -> Iterator[tuple[dict[str, str], OverReport]]:
    for curves in data.curves:
        for setting, report in curves.settings.items():
            yield {"profiles": curves.name, "setting": setting}, report
