"""Titles of the charts of a training cluster, each a finding computed from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.report.text import share_text
from nona.report.training.finding import best_sentence
from nona.report.training.words import hours_text
from nona.results.training.outcome import PolicyTrace, Received, Round
from nona.results.training.report import PolicyOutcome


def pareto_title(policies: Mapping[str, PolicyOutcome]) -> str:
    """Who is fastest and who is cheapest."""
    return best_sentence(policies).removesuffix(".")


def cdf_title(policies: Mapping[str, PolicyOutcome]) -> str:
    """The policies whose slowest jobs are fastest and slowest, by the 95th percentile."""
    known = {n: p.jct_s.p95 for n, p in policies.items() if p.jct_s.p95 is not None}
    if not known:
        return "No policy completed a job"
    best = min(known, key=lambda n: (known[n], n))
    worst = max(known, key=lambda n: (known[n], n))
    said = f"The 95th percentile of JCT is {hours_text(known[best])} under {best}"
    return said if worst == best else f"{said}, {hours_text(known[worst])} under {worst}"


def rho_title(policies: Mapping[str, PolicyOutcome]) -> str:
    """The least unfair policy, and how large a part of its jobs would be faster on an equal share."""
    known = {n: p.rho.worst for n, p in policies.items() if p.rho.worst is not None}
    if not known:
        return "No job was completed, so there is no ρ"
    best = min(known, key=lambda n: (known[n], n))
    values = [j.rho for j in policies[best].measured if j.rho is not None]
    said = f"The worst ρ is least under {best}: {known[best]:.3g}"
    if not values:
        return said
    above = sum(v > 1 for v in values) / len(values)
    return f"{said}; {share_text(above)} of its jobs would be faster on an equal share of the cluster"


def gantt_title(trace: PolicyTrace, policy: str) -> str:
    """How often jobs change their GPUs."""
    if not trace.stays:
        return f"{policy}: no job ran"
    jobs = {j for s in trace.stays for j in s.jobs}
    each = len(trace.stays) / len(jobs)
    return f"{policy}: {len(jobs):,} jobs ran in {len(trace.stays):,} stays, {each:.3g} for each job"


def rounds_title(rounds: Sequence[Round]) -> str:
    """How many jobs run and wait."""
    if not rounds:
        return "No round was kept"
    time_s = sum(r.end_s - r.start_s for r in rounds) or 1.0
    running = sum(r.running * (r.end_s - r.start_s) for r in rounds) / time_s
    waiting = sum(r.waiting * (r.end_s - r.start_s) for r in rounds) / time_s
    most = max(rounds, key=lambda r: (r.waiting, -r.number))
    wait = f"{waiting:.3g}" if not waiting or waiting >= 0.01 else "less than 0.01"
    said = f"On average {running:.3g} jobs run and {wait} wait"
    at_most = "1 job waits" if most.waiting == 1 else f"{most.waiting:,} jobs wait"
    return said if not most.waiting else f"{said}; at most {at_most}, first in round {most.number}"


def received_title(rows: Sequence[Received], error: float | None) -> str:
    """How far what jobs received is from their allocation."""
    if not rows:
        return "No job had an allocation"
    if error is None:
        return f"Shares of time of {len(rows)} jobs: planned and received"
    return f"Time received differs from the allocation by {share_text(error, 1)} of a job's time on average"
