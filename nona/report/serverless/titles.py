"""Titles of the charts of a serverless simulation, each a finding computed from its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nona.report.serverless.words import PER, call_cost, dollars, hit_rate, overloaded, ranked
from nona.report.text import listed, share_text, verb
from nona.results.serverless.outcome import ApplicationOutcome, Outcome, PolicyOutcome
from nona.results.serverless.values import Spread
from nona.units import format_time

LEVEL = 0.002  # hit rates closer than that are not told apart in a title


def pareto_title(outcomes: Mapping[str, Outcome]) -> str:
    """The policy that keeps most SLOs, its cost, and the cheapest policy."""
    hits, costs = ranked(outcomes, hit_rate, highest=True), ranked(outcomes, call_cost)
    if not hits or not costs:
        return "No policy completed a call"
    level = _level(hits)
    best, cheapest = _cheapest(level, costs), next(iter(costs))
    keeps = "keeps most SLOs" if len(level) == 1 else "keeps as many SLOs as any"
    found = f"{best} {keeps}, {share_text(hits[best], 1)}, at {dollars(costs.get(best))} per {PER:,} calls"
    if cheapest == best:
        return f"{found}, and none is cheaper{_over(outcomes)}"
    return (
        f"{found}; {cheapest} is cheapest at {dollars(costs[cheapest])} and keeps "
        f"{share_text(hits[cheapest], 1)}{_over(outcomes)}"
    )


def keeps_most(outcomes: Mapping[str, Outcome]) -> str | None:
    """The policy that keeps most SLOs; of several that keep as many, the cheapest."""
    hits = ranked(outcomes, hit_rate, highest=True)
    return _cheapest(_level(hits), ranked(outcomes, call_cost)) if hits else None


def _level(hits: Mapping[str, float]) -> list[str]:
    """Those whose hit rates are not told apart from the highest."""
    return [n for n in hits if hits[n] > max(hits.values()) - LEVEL]


def _cheapest(names: Sequence[str], costs: Mapping[str, float]) -> str:
    return min(names, key=lambda n: costs.get(n, math.inf))


def _over(outcomes: Mapping[str, Outcome]) -> str:
    over = overloaded(outcomes)
    return f"; {listed(over)} {verb(over, 'is', 'are')} overloaded" if over else ""


def latency_title(policies: Mapping[str, PolicyOutcome], application: str | None = None) -> str:
    """The latencies relative to the SLO, of one application or of all."""
    inside: list[str] = []
    outside: list[str] = []
    for name, policy in policies.items():
        rows = policy.applications
        chosen = list(rows.values()) if application is None else [rows[application]]
        known = [kept for r in chosen if (kept := _in_time(r)) is not None]
        if known:
            (inside if all(known) else outside).append(name)
    of = "every application" if application is None else application
    if not inside:
        return f"No policy keeps the 95th percentile of {of} within its SLO"
    if not outside:
        return f"Every policy keeps the 95th percentile of {of} within its SLO"
    return (
        f"{listed(inside)} {verb(inside, 'keeps', 'keep')} the 95th percentile of {of} within its SLO; "
        f"{listed(outside)} {verb(outside, 'does', 'do')} not"
    )


def _in_time(row: ApplicationOutcome) -> bool | None:
    """Whether the 95th percentile is within the SLO; ``None`` if no call was completed."""
    return None if row.latency_s.p95 is None else row.latency_s.p95 <= row.slo_s


def own_search_title(policies: Mapping[str, PolicyOutcome], name: str = "esg") -> str:
    """How long a search of one policy takes; of all, where it did not run."""
    searches = {n: p.search_s for n, p in policies.items()}
    own = searches.get(name)
    if own is None or own.mean is None or own.p99 is None:
        return search_title(searches)
    return (
        f"A search of {name} takes {format_time(own.mean)} on average, and 99 % of them at most "
        f"{format_time(own.p99)}, by the paths that they examined"
    )


def search_title(searches: Mapping[str, Spread], limit_s: float = 0.010) -> str:
    """The policies with a mean search below ``limit_s``; ``searches``: name → its ``search_s``."""
    known = {n: s.mean for n, s in searches.items() if s.mean is not None}
    if not known:
        return "No search was charged"
    slowest = max(known, key=lambda n: (known[n], n))
    below = [n for n, mean in known.items() if mean < limit_s]
    longest = f"the longest mean is {format_time(known[slowest])} ({slowest})"
    if len(below) == len(known):
        return f"All mean searches are below {format_time(limit_s)}; {longest}"
    who = f"Only {listed(below)}" if below else "No policy"
    return f"{who} {verb(below, 'searches', 'search')} below {format_time(limit_s)} on average; {longest}"
