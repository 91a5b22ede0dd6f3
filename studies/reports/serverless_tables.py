"""Tables of the serverless study: settings, claims, misses, searches, sensitivity."""

from __future__ import annotations

import math
from typing import NamedTuple

from nona.report.serverless.findings import PER, USD
from nona.results.document import Estimate
from nona.results.serverless import PolicyOutcome, Spread
from nona.tables import COUNT, SHARE, TIME, WHOLE_SHARE, Column, Filled, Kind, Table, mean_text
from studies import policy_results as results
from studies.reports import serverless_claims

_WORDS = {"hits": "keeps more than", "costs": "is cheaper than"}
POINTS = Kind(lambda share: f"{100 * share:+.1f}")
RATIO = Kind("{:.2f}".format)


class _Set(NamedTuple):
    setting: str
    policy: str
    row: PolicyOutcome
    cell: results.Cell
    esg_row: PolicyOutcome
    esg: results.Cell

    @property
    def own(self) -> bool:
        return self.policy == "esg"

    @property
    def per_hit(self) -> float | None:
        hit, base = self.row.cost_per_hit_usd.mean, self.esg_row.cost_per_hit_usd.mean
        return None if hit is None or not base else hit / base


SETTINGS = Table[_Set](
    "",
    (
        Column("setting", lambda r: r.setting),
        Column("policy", lambda r: r.policy),
        Column("SLOs kept", lambda r: r.row.slo_hit_rate, SHARE, interval=True),
        Column(
            "points vs esg",
            lambda r: None if r.own else serverless_claims.difference(r.cell, r.esg, "hits").estimate,
            POINTS,
            interval=True,
        ),
        Column(f"$ per {PER:,}", lambda r: r.row.cost_per_call_usd, USD, "cost_per_call", interval=True),
        Column(
            "cost / esg's",
            lambda r: serverless_claims.cost_ratio(r.cell, r.esg).estimate,
            RATIO,
            interval=True,
        ),
        Column("per hit / esg's", lambda r: r.per_hit),
        Column("misses", lambda r: r.row.configuration_miss_rate, SHARE),
        Column("search", lambda r: r.row.search_s.mean, TIME),
        Column("latency / SLO", lambda r: r.cell.mean_fill, RATIO),
        Column("state", lambda r: r.row.state),
    ),
)


def settings(data: results.ServerlessStudy) -> Filled:
    """Every policy in every setting; differences and ratios to ESG are paired by replication."""
    return SETTINGS.of(
        _Set(name, policy, row, of.cells[policy], of.policies["esg"], of.cells["esg"])
        for name, of in data.settings.items()
        for policy, row in of.policies.items()
    )


class JudgedClaim(NamedTuple):
    """A claim of the slides, the finding, the verdicts on order and size, and what changes them."""

    slides: str
    finding: str
    order: str
    size: str
    changed_by: str


CLAIMED = Table[JudgedClaim](
    "",
    (
        Column("slides", lambda c: c.slides),
        Column("found", lambda c: c.finding),
        Column("order", lambda c: c.order),
        Column("size", lambda c: c.size),
        Column("changed by", lambda c: c.changed_by),
    ),
)


def judged_claims(data: results.ServerlessStudy) -> list[JudgedClaim]:
    """All claims, in their order."""
    cells = serverless_claims.main_cells(data)
    rows = []
    for claim in serverless_claims.CLAIMS:
        judged, moved = claim.judge(cells), dict[str, list[str]]()
        for alternative, what in serverless_claims.movers(data, claim):
            moved.setdefault(what, []).append(alternative)
        rows.append(
            JudgedClaim(
                slides=claim.stated,
                finding=judged.finding,
                order=_verdict(judged.order),
                size=_verdict(judged.size),
                changed_by="; ".join(f"{what} with {', '.join(names)}" for what, names in moved.items())
                or "no alternative",
            )
        )
    return rows


def _verdict(holds: bool | None) -> str:
    return "–" if holds is None else "agrees" if holds else "does not"


class Missed(NamedTuple):
    """Configuration misses of one policy in one setting, as shares; ``ours`` with its interval."""

    setting: str
    policy: str
    ours: Estimate | None
    slides: float


MISSED = Table[Missed](
    "",
    (
        Column("setting", lambda r: r.setting),
        Column("policy", lambda r: r.policy),
        Column("ours", lambda r: r.ours, SHARE, interval=True),
        Column("slides", lambda r: r.slides, SHARE),
    ),
)


def missed(data: results.ServerlessStudy) -> list[Missed]:
    """Configuration misses compared with those of the slides, as shares."""
    return [
        Missed(name, policy, of.policies[policy].configuration_miss_rate, stated.get(name, math.nan) / 100)
        for name, of in data.settings.items()
        for policy, stated in serverless_claims.MISSES.items()
    ]


class _Searched(NamedTuple):
    charged: Spread
    search: results.MeasuredSearches


SEARCHES = Table[_Searched](
    "setting",
    (
        Column("charged, mean", lambda r: r.charged.mean, TIME),
        Column("charged, p99", lambda r: r.charged.p99, TIME),
        Column("measured, mean", lambda r: r.search.measured_s.mean, TIME),
        Column("measured, p99", lambda r: r.search.measured_s.p99, TIME),
        Column("paths examined, mean", lambda r: r.search.steps.mean, Kind("{:.0f}".format)),
        Column("of", lambda r: r.search.full_paths, COUNT),
        Column("without pruning", lambda r: r.search.every_path_s, TIME),
        Column("slides", lambda _: serverless_claims.BRUTE_FORCE_S, TIME),
    ),
)


def searches(data: results.ServerlessStudy) -> Filled:
    """ESG's search times in each setting: charged in the simulation, measured on the study's machine."""
    return SEARCHES.of(
        {
            name: _Searched(data.settings[name].policies["esg"].search_s, search)
            for name, search in data.searches.items()
        }
    )


CUTOFFS = Table[results.CutoffPoint](
    "",
    (
        Column("cut-off", lambda p: p.cutoff_s, TIME),
        Column("search, mean", lambda p: p.search_s.mean, TIME),
        Column("SLOs kept", lambda p: p.slo_hit_rate, SHARE, interval=True),
        Column(f"$ per {PER:,}", lambda p: p.cost_per_call_usd, USD, "cost_per_call", interval=True),
    ),
)


class _Shared(NamedTuple):
    mode: str
    policy: str
    row: results.SharedOutcome


SHARING = Table[_Shared](
    "",
    (
        Column("sharing", lambda r: r.mode),
        Column("policy", lambda r: r.policy),
        Column("SLOs kept", lambda r: r.row.slo_hit_rate, SHARE, interval=True),
        Column(f"$ per {PER:,}", lambda r: r.row.cost_per_call_usd, USD, "cost_per_call", interval=True),
        Column("vGPUs held", lambda r: r.row.utilization.vgpu, WHOLE_SHARE),
        Column("stranded", lambda r: r.row.stranded_vgpus, RATIO),
        Column("state", lambda r: r.row.state),
    ),
)


def sharing(data: results.ServerlessStudy) -> Filled:
    """The same workload under each way of sharing the GPUs."""
    modes = data.sharing.modes
    return SHARING.of(
        _Shared(mode, policy, row) for mode, rows in modes.items() for policy, row in rows.items()
    )


class _Changed(NamedTuple):
    default: str
    other: str
    before: results.Cells
    cells: results.Cells

    @property
    def esg_points(self) -> str:
        change = serverless_claims.difference(self.cells["esg"], self.before["esg"], "hits")
        if not change.mean:
            return "0"
        points = mean_text(change.estimate, POINTS.show)
        return points if serverless_claims.clear(change) else f"({points})"

    @property
    def swapped(self) -> str:
        pairs = (
            (key, pair)
            for key in serverless_claims.KEYS
            for pair in serverless_claims.swaps(self.before, self.cells, key)
        )
        return "; ".join(f"{above} {_WORDS[key]} {below}" for key, (above, below) in pairs) or "none"


ALTERNATIVES = Table[_Changed](
    "",
    (
        Column("default", lambda r: r.default),
        Column("alternative", lambda r: r.other),
        Column("SLOs kept", lambda r: serverless_claims.ranking_text(r.cells, "hits")),
        Column("cost", lambda r: serverless_claims.ranking_text(r.cells, "costs")),
        Column("esg, points", lambda r: r.esg_points),
        Column("changes", lambda r: r.swapped),
    ),
)


def alternatives(data: results.ServerlessStudy, setting: str) -> Filled:
    """Every alternative in one setting: the rankings, and the pairs of policies that change order.

    A pair changes places when it is the other way round and the difference is clear.
    """
    default = serverless_claims.default_cells(data)[setting]
    rows = [_Changed("default", "", default, default)]
    for row in data.sensitivity.rows:
        key = row.key.removeprefix("serverless.")
        cells = serverless_claims.alternative_cells(data, row)[setting]
        rows.append(_Changed(f"{key}: {row.default}", row.other, default, cells))
    return ALTERNATIVES.of(rows)
