"""One policy under several ways of sharing the GPUs: rows, dots and the finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.gpu_sharing.registry import WAYS
from nona.report.figures.compare import Dot, scaled
from nona.report.serverless.words import PER, cost_text, dollars, rate_text
from nona.report.text import or_dash, share_text, time_text

Row = Mapping[str, Any]


def way_title(name: str) -> str:
    """The display title of the way called ``name``; an unknown name is returned unchanged.

    >>> way_title("mig-geometry"), way_title("gone")
    ('MIG, placed', 'gone')
    """
    return WAYS[name].title if name in WAYS else name


def hit_dots(reports: Mapping[str, Row], policy: str) -> list[Dot]:
    """The share of SLOs kept under each way, in per cent."""
    return [_dot(way, r["policies"][policy]["slo_hit_rate"], 100, rate_text) for way, r in reports.items()]


def cost_dots(reports: Mapping[str, Row], policy: str) -> list[Dot]:
    """The cost under each way, in dollars for :data:`~nona.report.serverless.words.PER` calls."""
    return [
        _dot(way, r["policies"][policy]["cost_per_call_usd"], PER, cost_text) for way, r in reports.items()
    ]


def _dot(way: str, value: Row, factor: float, told: Any) -> Dot:
    mean = None if value["mean"] is None else factor * value["mean"]
    return Dot(way_title(way), mean, scaled(value["ci95"], factor), told(value), "no call completed")


def way_rows(reports: Mapping[str, Row], policy: str) -> list[dict[str, str]]:
    """A row for each way."""
    rows = []
    for way, report in reports.items():
        p = report["policies"][policy]
        rows.append(
            {
                "sharing": way_title(way),
                "state": p["state"],
                "SLOs kept": rate_text(p["slo_hit_rate"]),
                f"$ per {PER:,} calls": cost_text(p["cost_per_call_usd"]),
                f"$ per {PER:,} hits": dollars(p["cost_per_hit_usd"]["mean"]),
                "mean latency": time_text(p["latency_s"]["mean"]),
                "p95": time_text(p["latency_s"]["p95"]),
                "mean batch": or_dash(p["mean_batch"], "{:.2f}".format),
                "vGPUs held": or_dash(p["utilization"]["vgpu"], share_text),
                "vGPUs stranded": or_dash(p["stranded_vgpus"], "{:.2f}".format),
                "rechecks": or_dash(p["rechecks"], "{:.2f}".format),
            }
        )
    return rows


def ways_title(reports: Mapping[str, Row], policy: str) -> str:
    """The way that keeps most SLOs, and the cheapest.

    >>> row = lambda h, c: {"policies": {"p": {
    ...     "slo_hit_rate": {"mean": h, "ci95": None}, "cost_per_call_usd": {"mean": c, "ci95": None}}}}
    >>> ways_title({"mps": row(0.9, 2e-4), "mig-counter": row(0.8, 1e-4)}, "p")
    'Under p, MPS keeps most SLOs (90.0 %); MIG, counted is cheapest ($0.1 per 1,000 calls)'
    """
    hits = _known(reports, policy, "slo_hit_rate")
    costs = _known(reports, policy, "cost_per_call_usd")
    if not hits or not costs:
        return f"Under {policy}, no call was completed"
    best, least = max(hits, key=lambda w: hits[w]), min(costs, key=lambda w: costs[w])
    both = f"Under {policy}, {way_title(best)} keeps most SLOs ({share_text(hits[best], 1)})"
    if best == least:
        return f"{both} and is cheapest ({dollars(costs[least])} per {PER:,} calls)"
    return f"{both}; {way_title(least)} is cheapest ({dollars(costs[least])} per {PER:,} calls)"


def _known(reports: Mapping[str, Row], policy: str, key: str) -> dict[str, float]:
    found = {way: r["policies"][policy][key]["mean"] for way, r in reports.items()}
    return {way: v for way, v in found.items() if v is not None}
