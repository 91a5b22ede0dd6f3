"""One policy under several ways of sharing the GPUs: rows, dots and the finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nona.gpu_sharing.registry import WAYS
from nona.report.figures.compare import Dot, scaled
from nona.report.serverless.words import PER, call_cost, cost_text, dollars, hit_rate, ranked, rate_text
from nona.report.text import or_dash, share_text, time_text
from nona.results.estimate import Estimate
from nona.results.serverless.outcome import PolicyOutcome
from nona.results.serverless.report import WaysReport


def way_title(name: str) -> str:
    """The display title of the way called ``name``; an unknown name is returned unchanged.

    >>> way_title("mig-geometry"), way_title("gone")
    ('MIG, placed', 'gone')
    """
    return WAYS[name].title if name in WAYS else name


def under_ways(found: WaysReport) -> dict[str, PolicyOutcome]:
    """Way → what the compared policy did under it."""
    return {way: report.policies[found.policy] for way, report in found.reports.items()}


def hit_dots(ways: Mapping[str, PolicyOutcome]) -> list[Dot]:
    """The share of SLOs kept under each way, in per cent."""
    return [_dot(way, o.slo_hit_rate, 100, rate_text) for way, o in ways.items()]


def cost_dots(ways: Mapping[str, PolicyOutcome]) -> list[Dot]:
    """The cost under each way, in dollars for :data:`~nona.report.serverless.words.PER` calls."""
    return [_dot(way, o.cost_per_call_usd, PER, cost_text) for way, o in ways.items()]


def _dot(way: str, value: Estimate, factor: float, told: Callable[[Estimate], str]) -> Dot:
    mean = None if value.mean is None else factor * value.mean
    return Dot(way_title(way), mean, scaled(value.ci95, factor), told(value), "no call completed")


def way_rows(ways: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """A row for each way."""
    return [
        {
            "sharing": way_title(way),
            "state": p.state,
            "SLOs kept": rate_text(p.slo_hit_rate),
            f"$ per {PER:,} calls": cost_text(p.cost_per_call_usd),
            f"$ per {PER:,} hits": dollars(p.cost_per_hit_usd.mean),
            "mean latency": time_text(p.latency_s.mean),
            "p95": time_text(p.latency_s.p95),
            "mean batch": or_dash(p.mean_batch, "{:.2f}".format),
            "vGPUs held": or_dash(p.utilization.vgpu, share_text),
            "vGPUs stranded": or_dash(p.stranded_vgpus, "{:.2f}".format),
            "rechecks": or_dash(p.rechecks, "{:.2f}".format),
        }
        for way, p in ways.items()
    ]


def ways_title(ways: Mapping[str, PolicyOutcome], policy: str) -> str:
    """The way under which ``policy`` keeps most SLOs, and the cheapest."""
    hits, costs = ranked(ways, hit_rate), ranked(ways, call_cost)
    if not hits or not costs:
        return f"Under {policy}, no call was completed"
    best = max((w for w in ways if w in hits), key=lambda w: hits[w])  # of equals the first way
    least = min((w for w in ways if w in costs), key=lambda w: costs[w])
    both = f"Under {policy}, {way_title(best)} keeps most SLOs ({share_text(hits[best], 1)})"
    if best == least:
        return f"{both} and is cheapest ({dollars(costs[least])} per {PER:,} calls)"
    return f"{both}; {way_title(least)} is cheapest ({dollars(costs[least])} per {PER:,} calls)"
