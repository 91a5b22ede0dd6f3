"""Tables of the serverless study: settings, claims, misses, searches, sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

from nona.report.serverless.findings import PER, cost_text, rate_text
from nona.report.studies.serverless_claims import (
    BRUTE_FORCE_S,
    CLAIMS,
    KEYS,
    MISSES,
    alternative_cells,
    clear,
    cost_ratio,
    default_cells,
    difference,
    main_cells,
    movers,
    ranking_text,
    swaps,
)
from nona.results.document import Estimate
from nona.results.serverless_study import Cells, ServerlessStudy
from nona.simulation.intervals import Interval, Ratio
from nona.tables.formats import or_dash, share_text, time_text
from nona.units import format_number

_WORDS = {"hits": "keeps more than", "costs": "is cheaper than"}


@dataclass(frozen=True, slots=True)
class MissRow:
    """Configuration misses of one policy in one setting, as shares; ``ours`` with its interval."""

    setting: str
    policy: str
    ours: Estimate | None
    slides: float


def setting_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """Every policy in every setting; differences and ratios to ESG are paired by replication."""
    rows = []
    for name, setting in data.settings.items():
        esg = setting.cells["esg"]
        for policy, row in setting.policies.items():
            cell, own = setting.cells[policy], policy == "esg"
            hit = row.cost_per_hit_usd.mean
            base = setting.policies["esg"].cost_per_hit_usd.mean
            rows.append(
                {
                    "setting": name if own else "",
                    "policy": policy,
                    "SLOs kept": rate_text(row.slo_hit_rate),
                    "points vs esg": "–" if own else _points_text(difference(cell, esg, "hits")),
                    f"$ per {PER:,}": cost_text(row.cost_per_call_usd),
                    "cost / esg's": "1" if own else _ratio_text(cost_ratio(cell, esg)),
                    "per hit / esg's": "–" if hit is None or not base else format_number(hit / base),
                    "misses": rate_text(row.configuration_miss_rate),
                    "search": time_text(row.search_s.mean),
                    "latency / SLO": or_dash(cell.mean_fill, "{:.2f}".format),
                    "state": row.state,
                }
            )
    return rows


def _points_text(found: Interval) -> str:
    """A difference of shares in percentage points.

    >>> _points_text(Interval(-0.1, 0.02, 3))
    '-10.0 ± 2.0'
    """
    half = "" if found.half_width != found.half_width else f" ± {100 * found.half_width:.1f}"
    return f"{100 * found.mean:+.1f}{half}"


def _ratio_text(found: Ratio) -> str:
    """A ratio with the ends of its interval.

    >>> _ratio_text(Ratio(1.5, 1.4, 1.61, 3))
    '1.50 (1.40 to 1.61)'
    """
    span = "" if found.low != found.low else f" ({found.low:.2f} to {found.high:.2f})"
    return f"{found.value:.2f}{span}"


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim of the slides, the finding, the verdicts on order and size, and what changes them."""

    slides: str
    found: str
    order: str
    size: str
    changed_by: str


def claim_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """Tabulate each claim of the slides: finding, verdicts on order and size, and what changes them."""
    return [
        {
            "slides": c.slides,
            "found": c.found,
            "order": c.order,
            "size": c.size,
            "changed by": c.changed_by,
        }
        for c in judged_claims(data)
    ]


def judged_claims(data: ServerlessStudy) -> list[JudgedClaim]:
    """All claims, in their order."""
    cells = main_cells(data)
    rows = []
    for claim in CLAIMS:
        moved: dict[str, list[str]] = {}
        for alternative, what in movers(data, claim):
            moved.setdefault(what, []).append(alternative)
        rows.append(
            JudgedClaim(
                slides=claim.stated,
                found=claim.told(cells),
                order=_verdict(claim.order(cells)),
                size=_verdict(claim.size(cells)),
                changed_by="; ".join(f"{what} with {', '.join(names)}" for what, names in moved.items())
                or "no alternative",
            )
        )
    return rows


def _verdict(held: bool | None) -> str:
    return "–" if held is None else "agrees" if held else "does not"


def miss_rows(data: ServerlessStudy) -> list[MissRow]:
    """Configuration misses compared with those of the slides, as shares."""
    return [
        MissRow(
            name,
            policy,
            setting.policies[policy].configuration_miss_rate,
            MISSES[policy].get(name, float("nan")) / 100,
        )
        for name, setting in data.settings.items()
        for policy in MISSES
    ]


def search_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """ESG's search times in each setting: charged in the simulation, measured on the study's machine."""
    rows = []
    for name, search in data.searches.items():
        charged, taken, steps = (
            data.settings[name].policies["esg"].search_s,
            search.measured_s,
            search.steps,
        )
        rows.append(
            {
                "setting": name,
                "charged, mean": time_text(charged.mean),
                "p99": time_text(charged.p99),
                "measured, mean": time_text(taken.mean),
                "p99 ": time_text(taken.p99),
                "paths examined, mean": or_dash(steps.mean, "{:.0f}".format),
                "of": f"{search.full_paths:,}",
                "without pruning": f"{time_text(search.every_path_s)} (slides: {time_text(BRUTE_FORCE_S)})",
            }
        )
    return rows


def cutoff_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """Orion's hit rate by the cut-off of its search."""
    return [
        {
            "cut-off": time_text(p.cutoff_s),
            "search, mean": time_text(p.search_s.mean),
            "SLOs kept": rate_text(p.slo_hit_rate),
            f"$ per {PER:,}": cost_text(p.cost_per_call_usd),
        }
        for p in data.cutoff.points
    ]


def sharing_rows(data: ServerlessStudy) -> list[dict[str, str]]:
    """The same workload under each way of sharing the GPUs."""
    return [
        {
            "sharing": mode,
            "policy": policy,
            "SLOs kept": rate_text(row.slo_hit_rate),
            f"$ per {PER:,}": cost_text(row.cost_per_call_usd),
            "vGPUs held": or_dash(row.utilization.vgpu, share_text),
            "stranded": or_dash(row.stranded_vgpus, "{:.2f}".format),
            "state": row.state,
        }
        for mode, policies in data.sharing.modes.items()
        for policy, row in policies.items()
    ]


def sensitivity_rows(data: ServerlessStudy, setting: str) -> list[dict[str, str]]:
    """Every alternative in one setting: the rankings, and the pairs of policies that change order.

    A pair changes places when it is the other way round and the difference is clear.
    """
    default = default_cells(data)[setting]
    rows = [_sensitivity_row("default", "", default, default)]
    for row in data.sensitivity.rows:
        cells = alternative_cells(data, row)[setting]
        key = row.key.removeprefix("serverless.")
        rows.append(_sensitivity_row(f"{key}: {row.default}", row.other, default, cells))
    return rows


def _sensitivity_row(default: str, other: str, before: Cells, cells: Cells) -> dict[str, str]:
    changes = [f"{above} {_WORDS[key]} {below}" for key in KEYS for above, below in swaps(before, cells, key)]
    esg = difference(cells["esg"], before["esg"], "hits")
    return {
        "default": default,
        "alternative": other,
        "SLOs kept": ranking_text(cells, "hits"),
        "cost": ranking_text(cells, "costs"),
        "esg, points": _points_text(esg) if clear(esg) else "0" if not esg.mean else f"({_points_text(esg)})",
        "changes": "; ".join(changes) or "none",
    }
