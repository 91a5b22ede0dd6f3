"""The cost of policies over that of the oracle, which pays least for the same share of SLOs kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nona.report.serverless.titles import pareto_title
from nona.report.text import share_text
from nona.results.serverless.outcome import Outcome, PolicyOutcome
from nona.results.serverless.report import Oracle


def over_oracle(outcomes: Mapping[str, Outcome], oracle: Oracle | None) -> dict[str, float]:
    """Name → its cost over the oracle's at the same share of SLOs, less 1; empty without an oracle.

    The oracle pays for no idle container, so that only what a policy executes is compared.
    """
    if oracle is None or not oracle.curve:
        return {}
    shares, costs = zip(*oracle.curve, strict=True)
    found = {}
    for name, o in outcomes.items():
        hits, cost = o.slo_hit_rate.mean, _executing_usd(o)
        if hits is not None and cost is not None:
            found[name] = cost / float(np.interp(hits, shares, costs)) - 1
    return found


def _executing_usd(o: Outcome) -> float | None:
    """What a call costs, without the idle time of containers."""
    if isinstance(o, PolicyOutcome) and o.containers is not None:
        return o.containers.executing_per_call_usd.mean
    return o.cost_per_call_usd.mean


def oracle_title(outcomes: Mapping[str, Outcome], oracle: Oracle | None) -> str:
    """The policy closest to the oracle; without an oracle the one that keeps most SLOs."""
    over = over_oracle(outcomes, oracle)
    if not over:
        return pareto_title(outcomes)
    nearest = min(over, key=lambda n: (over[n], n))
    farthest = max(over, key=lambda n: (over[n], n))
    paid = any(isinstance(o, PolicyOutcome) and o.containers is not None for o in outcomes.values())
    alone = ", idle containers left out" if paid else ""
    first = f"{nearest} is closest to the oracle: {share_text(over[nearest])} dearer for the same SLOs{alone}"
    if farthest == nearest:
        return first
    return f"{first}; {farthest} is {share_text(over[farthest])} dearer"
