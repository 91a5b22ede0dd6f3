"""The cost of policies over that of the oracle, which pays least for the same share of SLOs kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nona.report.serverless.titles import pareto_title
from nona.report.text import share_text

Row = Mapping[str, Any]


def over_oracle(report: Row) -> dict[str, float]:
    """Policy → its cost over the oracle's at the same share of SLOs, less 1; empty without an oracle.

    >>> report = {"oracle": {"cost_per_call_usd": 2.0, "curve": [[0.0, 1.0], [1.0, 2.0]]}, "policies": {
    ...     "p": {"slo_hit_rate": {"mean": 0.5}, "cost_per_call_usd": {"mean": 3.0}}}}
    >>> over_oracle(report)
    {'p': 1.0}
    """
    oracle = report.get("oracle") or {}
    curve = oracle.get("curve")
    if not curve:
        return {}
    found = {}
    for name, p in report["policies"].items():
        hits, cost = p["slo_hit_rate"]["mean"], p["cost_per_call_usd"]["mean"]
        if hits is not None and cost is not None:
            least = float(np.interp(hits, [h for h, _ in curve], [c for _, c in curve]))
            found[name] = cost / least - 1
    return found


def oracle_title(report: Row) -> str:
    """The policy closest to the oracle; without an oracle the one that keeps most SLOs."""
    over = over_oracle(report)
    if not over:
        return pareto_title(report)
    nearest = min(over, key=lambda n: (over[n], n))
    farthest = max(over, key=lambda n: (over[n], n))
    first = f"{nearest} is closest to the oracle: {share_text(over[nearest])} dearer for the same SLOs"
    if farthest == nearest:
        return first
    return f"{first}; {farthest} costs {share_text(over[farthest])} more"
