"""Tables and figures of the serverless study: settings, claims, misses, searches."""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from evidence import policy_results as results
from evidence.reports import serverless_claims as claims
from nona.core.document import Estimate
from nona.core.figures import QUIET, add_bars, add_means, figure, log_axis, scheduler_style, text
from nona.core.tables import COUNT, SHARE, TIME, WHOLE_SHARE, Column, FilledTable, NumberKind, Table
from nona.serverless.report.findings import PER, USD
from nona.serverless.results import ServerlessPolicyResult, Spread

POINTS = NumberKind(lambda share: f"{100 * share:+.1f}")
RATIO = NumberKind("{:.2f}".format)


class _Set(NamedTuple):
    name: str
    of: results.StudySetting
    policy: str

    @property
    def row(self) -> ServerlessPolicyResult:
        return self.of.policies[self.policy]

    @property
    def cells(self) -> tuple[results.Cell, results.Cell]:
        """The policy's and ESG's."""
        return self.of.cells[self.policy], self.of.cells["esg"]

    @property
    def points(self) -> Estimate | None:
        return None if self.policy == "esg" else claims.difference(*self.cells, "hits").estimate

    @property
    def per_hit(self) -> float | None:
        hit, base = self.row.cost_per_hit_usd.mean, self.of.policies["esg"].cost_per_hit_usd.mean
        return None if hit is None or not base else hit / base


def settings(data: results.ServerlessStudy) -> FilledTable:
    """Every policy in every setting; differences and ratios to ESG are paired by replication."""
    columns: tuple[Column[_Set], ...] = (
        Column("setting", lambda r: r.name),
        Column("policy", lambda r: r.policy),
        Column("SLOs kept", lambda r: r.row.slo_hit_rate, SHARE, interval=True),
        Column("points vs esg", lambda r: r.points, POINTS, interval=True),
        Column(f"$ per {PER:,}", lambda r: r.row.cost_per_call_usd, USD, "cost_per_call", interval=True),
        Column("cost / esg's", lambda r: claims.cost_ratio(*r.cells).estimate, RATIO, interval=True),
        Column("per hit / esg's", lambda r: r.per_hit),
        Column("misses", lambda r: r.row.configuration_miss_rate, SHARE),
        Column("search", lambda r: r.row.search_s.mean, TIME),
        Column("latency / SLO", lambda r: r.cells[0].mean_fill, RATIO),
        Column("state", lambda r: r.row.state),
    )
    return Table("", columns).fill(
        _Set(name, of, policy) for name, of in data.settings.items() for policy in of.policies
    )


class JudgedClaim(NamedTuple):
    """A claim of the slides, the finding, the verdicts on order and size."""

    slides: str
    finding: str
    order: str
    size: str


CLAIMED = Table[JudgedClaim](
    "",
    (
        Column("slides", lambda c: c.slides),
        Column("found", lambda c: c.finding),
        Column("order", lambda c: c.order),
        Column("size", lambda c: c.size),
    ),
)


def judged_claims(data: results.ServerlessStudy) -> list[JudgedClaim]:
    """All claims, in their order."""
    cells = claims.main_cells(data)
    rows = []
    for claim in claims.CLAIMS:
        judged = claim.judge(cells)
        rows.append(
            JudgedClaim(
                slides=claim.stated,
                finding=judged.finding,
                order=_verdict(judged.order),
                size=_verdict(judged.size),
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
    """Return configuration misses compared with those of the slides, as shares."""
    return [
        Missed(name, policy, of.policies[policy].configuration_miss_rate, stated.get(name, math.nan) / 100)
        for name, of in data.settings.items()
        for policy, stated in claims.MISSES.items()
    ]


class _Searched(NamedTuple):
    charged: Spread
    search: results.MeasuredSearches


def searches(data: results.ServerlessStudy) -> FilledTable:
    """ESG's search times in each setting: charged in the simulation, measured on the study's machine."""
    columns: tuple[Column[_Searched], ...] = (
        Column("charged, mean", lambda r: r.charged.mean, TIME),
        Column("charged, p99", lambda r: r.charged.p99, TIME),
        Column("measured, mean", lambda r: r.search.measured_s.mean, TIME),
        Column("measured, p99", lambda r: r.search.measured_s.p99, TIME),
        Column("paths examined, mean", lambda r: r.search.steps.mean, NumberKind("{:.0f}".format)),
        Column("of", lambda r: r.search.full_paths, COUNT),
    )
    return Table("setting", columns).fill(
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


def sharing(data: results.ServerlessStudy) -> FilledTable:
    """Return the same workload under each way of sharing the GPUs."""
    modes = data.sharing.modes
    columns: tuple[Column[_Shared], ...] = (
        Column("sharing", lambda r: r.mode),
        Column("policy", lambda r: r.policy),
        Column("SLOs kept", lambda r: r.row.slo_hit_rate, SHARE, interval=True),
        Column(f"$ per {PER:,}", lambda r: r.row.cost_per_call_usd, USD, "cost_per_call", interval=True),
        Column("vGPUs held", lambda r: r.row.utilization.vgpu, WHOLE_SHARE),
        Column("stranded", lambda r: r.row.stranded_vgpus, RATIO),
        Column("state", lambda r: r.row.state),
    )
    return Table("", columns).fill(
        _Shared(mode, policy, row) for mode, rows in modes.items() for policy, row in rows.items()
    )


def settings_figure(data: results.ServerlessStudy) -> go.Figure:
    """SLOs kept by every policy in each setting, bars with intervals; labels: cost over ESG's."""
    chart = figure(400)
    names = list(data.settings)
    policies = list(next(iter(data.settings.values())).policies)
    for policy in policies:
        rates = [data.settings[n].policies[policy].slo_hit_rate for n in names]
        cells = [data.settings[n].cells for n in names]
        times = [claims.cost_ratio(c[policy], c["esg"]).value for c in cells]
        upper = [_ends(r)[1] - (_percent(r) or 0.0) for r in rates]
        add_bars(
            chart,
            policy,
            names,
            [_percent(r) for r in rates],
            scheduler_style(policy).colour,
            f"{text(policy)}, %{{x}}: %{{y:.1f}} % kept, cost %{{text}} esg's",
            upright=True,
            error_y={"type": "data", "array": upper, "color": QUIET},
            text=[f"{t:.2f}×" for t in times],
            textposition="inside",
            insidetextanchor="start",  # at the foot, where no interval lies over them
            textangle=-90,
        )
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart


def _percent(rate: Estimate) -> float | None:
    return None if rate.mean is None else 100 * rate.mean


def _ends(rate: Estimate) -> tuple[float, float]:
    mean = _percent(rate) or 0.0
    return (mean, mean) if rate.ci95 is None else (100 * rate.ci95[0], 100 * rate.ci95[1])


def misses_figure(data: results.ServerlessStudy) -> go.Figure:
    """Return configuration misses of the two policies that plan ahead, compared with the slides."""
    chart = figure(340)
    rows = missed(data)
    for policy in dict.fromkeys(r.policy for r in rows):
        own, style = [r for r in rows if r.policy == policy], scheduler_style(policy)
        names = [r.setting for r in own]
        ours = [_percent(r.ours) or 0.0 if r.ours is not None else 0.0 for r in own]
        hover, slides = "%{x}: %{y:.1f} %", [100 * r.slides for r in own]
        add_bars(chart, f"{policy}, simulated", names, ours, style.colour, hover, upright=True)
        add_bars(chart, f"{policy}, slides", names, slides, "rgba(0,0,0,0)", hover, upright=True)
        chart.data[-1].marker.line = {"color": style.colour, "width": 2}
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="configuration misses, %", rangemode="tozero")
    return chart


def cutoff_figure(data: results.ServerlessStudy) -> go.Figure:
    """Orion's SLOs kept against its cut-off, with ESG's as a line."""
    points, style = data.cutoff.points, scheduler_style("orion")
    chart = figure(320)
    x, hover = [1e3 * p.cutoff_s for p in points], "orion, cut-off %{x:,.3~r} ms: %{y:.1f} % kept"
    add_means(chart, "orion", x, [p.slo_hit_rate for p in points], 100, style, hover)
    esg = data.settings[data.cutoff.setting].policies["esg"]
    chart.add_hline(
        y=_percent(esg.slo_hit_rate),
        line={"color": scheduler_style("esg").colour, "dash": "dash", "width": 1.5},
        annotation_text="esg",
        annotation_position="bottom right",
    )
    log_axis(chart, x, "cut-off of the search, ms")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart


def sharing_figure(data: results.ServerlessStudy) -> go.Figure:
    """SLOs kept under each way of sharing the GPUs, one bar per policy."""
    chart = figure(320)
    modes = data.sharing.modes
    for policy in next(iter(modes.values())):
        rates = [_percent(row[policy].slo_hit_rate) for row in modes.values()]
        hover, colour = f"{text(policy)}, %{{x}}: %{{y:.1f}} % kept", scheduler_style(policy).colour
        add_bars(chart, policy, list(modes), rates, colour, hover, upright=True)
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart
