"""Findings of a serverless run in words: money, rates, chart titles, cost over the oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nona.core.document import Estimate
from nona.core.tables import (
    COUNT,
    KEPT,
    MONEY,
    Column,
    FilledTable,
    NumberKind,
    Table,
    kept_text,
    mean_text,
    money,
    or_dash,
    per_hour,
    share_text,
)
from nona.core.text import Finding, count_text, join_words, not_clear, verb
from nona.core.units import format_number
from nona.serverless.results import (
    NodesReport,
    Oracle,
    RunSetting,
    ServerlessPolicyResult,
    ServerlessReport,
    TriedNodes,
)

PER = 1000  # calls that a cost is given for: one costs some millionths of a dollar


def cost_text(cost: Estimate) -> str:
    """Return a cost per call with its interval, for :data:`PER` calls.

    >>> cost_text(Estimate(mean=0.0002, ci95=(0.00019, 0.00021))), cost_text(Estimate(mean=None, ci95=None))
    ('$0.2 ± $0.01', '–')
    """
    return mean_text(cost, dollars)


def dollars(usd: float | None) -> str:
    """Return the cost of :data:`PER` calls.

    >>> dollars(0.000123), dollars(0.00000000242), dollars(None)
    ('$0.123', '$0.00000242', '–')
    """
    return or_dash(usd, lambda amount: f"${format_number(PER * amount)}")


USD = NumberKind(dollars, "_usd")


def rate_text(rate: Estimate | None) -> str:
    """Format A share in per cent with its interval, or a dash.

    >>> rate_text(Estimate(mean=0.5, ci95=(0.4, 0.6))), rate_text(None)
    ('50 % ± 10 %', '–')
    """
    return "–" if rate is None else mean_text(rate, kept_text)


def hit_rate(outcome: ServerlessPolicyResult) -> Estimate:
    """Return the share of SLOs kept."""
    return outcome.slo_hit_rate


def call_cost(outcome: ServerlessPolicyResult) -> Estimate:
    """US dollars a call."""
    return outcome.cost_per_call_usd


def hit_cost(outcome: ServerlessPolicyResult) -> Estimate:
    """US dollars a call that keeps its SLO."""
    return outcome.cost_per_hit_usd


def ranked(
    outcomes: Mapping[str, ServerlessPolicyResult],
    value: Callable[[ServerlessPolicyResult], Estimate],
    highest: bool = False,
) -> dict[str, float]:
    """Name → mean of ``value``, the best first; those without a mean are left out."""
    means = {n: mean for n, o in outcomes.items() if (mean := value(o).mean) is not None}
    return dict(sorted(means.items(), key=lambda row: (-row[1] if highest else row[1], row[0])))


def not_overloaded(outcomes: Mapping[str, ServerlessPolicyResult]) -> dict[str, ServerlessPolicyResult]:
    """Return the outcomes without those of a growing backlog, whose costs are of few calls."""
    return {name: o for name, o in outcomes.items() if o.state != "overloaded"}


def overloaded(outcomes: Mapping[str, ServerlessPolicyResult]) -> list[str]:
    """Names of the policies with a growing backlog."""
    return [n for n, o in outcomes.items() if o.state == "overloaded"]


LEVEL = 0.002  # of the SLOs: among policies that keep as many, up to this, a title names the cheapest


def pareto_title(
    outcomes: Mapping[str, ServerlessPolicyResult],
    setting: RunSetting | None = None,
    not_apart: Sequence[str] = (),
) -> str:
    """Return the policy that keeps most SLOs, its cost, and the cheapest policy.

    None where all are overloaded.

    Of those that keep almost as many as that it names the cheapest. ``setting`` says how many nodes there
    are; ``not_apart`` names those whose difference is not clear.
    """
    if outcomes and len(overloaded(outcomes)) == len(outcomes):
        return f"Every policy is overloaded{_too_few(setting) if setting else ''}"
    steady = not_overloaded(outcomes)
    hits, costs = ranked(steady, hit_rate, highest=True), ranked(steady, call_cost)
    if not hits or not costs:
        return "No policy completed a call"
    best, cheapest, most = _cheapest(_level(hits), costs), next(iter(costs)), max(hits.values())
    cost = {name: cost_text(call_cost(steady[name])) for name in (best, cheapest)}
    rate = {name: rate_text(hit_rate(steady[name])) for name in (best, cheapest)}
    if hits[best] < most:
        near = f"within {100 * LEVEL:g} points of the most SLOs kept, {kept_text(most)}"
        lead = f"{best} is the cheapest {near}: "
    else:
        alone = list(hits.values()).count(most) == 1
        lead = f"{best} keeps {'the most SLOs' if alone else 'as many SLOs as any'}: "
    lead += f"{rate[best]}{not_clear(not_apart)}. It costs {cost[best]} per {PER:,} calls"
    not_steady = _overloaded_text(outcomes)
    if cheapest == best:
        return f"{lead}, and no other policy is shown to be cheaper{not_steady}"
    return f"{lead}; {cheapest} is cheapest at {cost[cheapest]} and keeps {rate[cheapest]}{not_steady}"


def serverless_finding(report: ServerlessReport) -> Finding:
    """Return the policy that keeps most SLOs and the cheapest, and the SLOs kept."""
    policies, best = report.policies, keeps_most(report.policies)
    kept = None if best is None else policies[best].slo_hit_rate.mean
    lead = f"{pareto_title(policies, report.setting, report.level)}."
    if kept is None:
        return Finding(lead)
    return Finding(lead, "", kept_text(kept), "SLOs kept", f"By {best}.")


def _too_few(setting: RunSetting) -> str:
    nodes, least = setting.nodes, setting.least_nodes
    text = f": {count_text(nodes, 'node')} {'is' if nodes == 1 else 'are'} too few"
    return text if least is None else f"{text}, and any policy needs at least {least}"


def keeps_most(outcomes: Mapping[str, ServerlessPolicyResult]) -> str | None:
    """Return the policy that keeps most SLOs, of several the cheapest; ``None`` where all are overloaded."""
    steady = not_overloaded(outcomes)
    hits = ranked(steady, hit_rate, highest=True)
    return _cheapest(_level(hits), ranked(steady, call_cost)) if hits else None


def _level(hits: Mapping[str, float]) -> list[str]:
    return [n for n in hits if hits[n] > max(hits.values()) - LEVEL]


def _cheapest(names: Sequence[str], costs: Mapping[str, float]) -> str:
    return min(names, key=lambda n: costs.get(n, math.inf))


def _overloaded_text(outcomes: Mapping[str, ServerlessPolicyResult]) -> str:
    over = overloaded(outcomes)
    return f"; {join_words(over)} {verb(over, 'is', 'are')} overloaded" if over else ""


def over_oracle(outcomes: Mapping[str, ServerlessPolicyResult], oracle: Oracle | None) -> dict[str, float]:
    """Name → its cost over the oracle's at the same share of SLOs, less 1; empty without an oracle.

    The oracle pays for no idle container, so that only what a policy executes is compared. Overloaded
    policies are left out.
    """
    if oracle is None or not oracle.curve:
        return {}
    shares, costs = zip(*oracle.curve, strict=True)
    excess = {}
    for name, o in not_overloaded(outcomes).items():
        hits, cost = o.slo_hit_rate.mean, _executing_usd(o)
        if hits is not None and cost is not None:
            excess[name] = cost / float(np.interp(hits, shares, costs)) - 1
    return excess


def _executing_usd(o: ServerlessPolicyResult) -> float | None:
    if o.containers is not None:
        return o.containers.executing_per_call_usd.mean
    return o.cost_per_call_usd.mean


def oracle_title(outcomes: Mapping[str, ServerlessPolicyResult], oracle: Oracle | None) -> str:
    """Return the policy closest to the oracle; without an oracle the one that keeps most SLOs."""
    over = over_oracle(outcomes, oracle)
    if not over:
        return pareto_title(outcomes)
    nearest = min(over, key=lambda n: (over[n], n))
    paid = any(o.containers is not None for o in outcomes.values())
    alone = ", idle containers left out" if paid else ""
    much = f"{share_text(over[nearest])} more expensive"
    return f"{nearest} is closest to the oracle: {much} for the same SLOs{alone}"


_VERDICTS = {"keeps": "met", "misses": "missed", "open": "undecided"}


def nodes_finding(report: NodesReport) -> str:
    """Return the policy that needs the fewest nodes, and their cost."""
    answers = {n: p.found for n, p in report.policies.items() if p.found is not None}
    target = share_text(report.target, 1)
    if not answers:
        undecided = any(t.verdict == "open" for p in report.policies.values() for t in p.tried)
        more = "more runs, for some counts are undecided, or more nodes" if undecided else "more nodes"
        return f"With up to {report.most} nodes no policy reliably keeps {target} of the SLOs; allow {more}."
    least = min(r.nodes for r in answers.values())
    first = [n for n, r in answers.items() if r.nodes == least]
    row = answers[first[0]]
    others = [f"{n} {r.nodes} ({money(r.usd_hour, 'USD')})" for n, r in answers.items() if n not in first]
    none = [n for n in report.policies if n not in answers]
    return (
        f"{' and '.join(first)} {'keeps' if len(first) == 1 else 'keep'} {target} of the SLOs with {least} "
        f"nodes, {per_hour(row.usd_hour, 'USD')} for their vCPUs and vGPUs"
        + (f"; {', '.join(others)}" if others else "")
        + (f"; up to {report.most} nodes are too few for {join_words(none)}" if none else "")
        + "."
    )


class _Tried(NamedTuple):
    policy: str
    tried: TriedNodes


NODES = Table[_Tried](
    "",
    (
        Column("policy", lambda r: r.policy),
        Column("nodes", lambda r: r.tried.nodes, COUNT),
        Column("SLOs kept", lambda r: r.tried.slo_hit_rate, KEPT, interval=True),
        Column("runs", lambda r: r.tried.replications, COUNT),
        Column("target", lambda r: _VERDICTS[r.tried.verdict]),
        Column("$ per hour", lambda r: r.tried.usd_hour, MONEY),
        Column("$ per hour held", lambda r: r.tried.held_usd_hour, MONEY),
    ),
)


def nodes(report: NodesReport) -> FilledTable:
    """Every count tried."""
    return NODES.fill(_Tried(name, t) for name, p in report.policies.items() for t in p.tried)


def nodes_text(report: NodesReport) -> str:
    """Format the output of ``nona serverless --nodes-for``."""
    return f"{nodes_finding(report)}\n\n{nodes(report).text()}"
