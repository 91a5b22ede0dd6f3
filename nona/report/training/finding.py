"""What a run on a training cluster found: the gain of knowing that types of GPU differ, and who is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nona.report.text import share_text
from nona.report.training.words import by_mean_jct, dollars_text, hours_text, overlap, times_text
from nona.results.training.report import PolicyOutcome

AGNOSTIC = "-agnostic"
LEVEL = 0.01  # mean JCTs closer than that are said to be equal


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean JCT under ``aware``, which knows that types of GPU differ, and under ``agnostic``."""

    aware: str
    agnostic: str
    aware_s: float
    agnostic_s: float

    @property
    def ratio(self) -> float:
        """How many times as long the agnostic policy's mean JCT is."""
        return self.agnostic_s / self.aware_s if self.aware_s > 0 else 1.0


def gain_of(policies: Mapping[str, PolicyOutcome]) -> Gain | None:
    """The gain of heterogeneity-awareness: a policy against its agnostic twin, if both ran.

    Two policies that differ in more than that say nothing about it.
    """
    means = by_mean_jct(policies)
    twins = [n for n in means if n + AGNOSTIC in means]
    if not twins:
        return None
    name = twins[0]
    return Gain(name, name + AGNOSTIC, means[name], means[name + AGNOSTIC])


def finding(policies: Mapping[str, PolicyOutcome]) -> tuple[str, str]:
    """The finding, and what is said in small letters under it."""
    gain, best, kept = gain_sentence(policies), best_sentence(policies), slo_sentence(policies)
    sure = runs_sentence(policies)
    if gain_of(policies):
        return gain, " ".join(filter(None, (best, kept, sure)))
    return best, " ".join(filter(None, (kept or gain, sure)))


def runs_sentence(policies: Mapping[str, PolicyOutcome]) -> str:
    """How sure the order of the two fastest policies is; empty where their intervals do not overlap."""
    names = list(by_mean_jct(policies))[:2]
    if len(names) < 2:
        return ""
    first, second = (policies[n].jct_s for n in names)
    if first.ci95 is None or second.ci95 is None:
        return "These are figures of one run, without intervals: more replications give them."
    if not overlap(first, second):
        return ""
    return f"The intervals of {names[0]} and {names[1]} overlap: more replications may change their order."


def slo_sentence(policies: Mapping[str, PolicyOutcome]) -> str:
    """Who keeps most deadlines, at what cost, and who fewest; empty without deadlines."""
    known = {n: p.slo_hit_rate for n, p in policies.items() if p.slo_hit_rate is not None}
    if not known:
        return ""
    most = max(known, key=lambda n: (known[n], -(policies[n].cost_usd or 0.0)))
    fewest = min(known, key=lambda n: (known[n], n))
    usd = policies[most].cost_usd
    cost = f" for {dollars_text(usd)}" if usd else ""
    said = f"{most} keeps most deadlines, {share_text(known[most])}{cost}"
    return (
        f"{said}."
        if known[most] == known[fewest]
        else f"{said}; {fewest} keeps fewest, {share_text(known[fewest])}."
    )


def gain_sentence(policies: Mapping[str, PolicyOutcome]) -> str:
    """What knowing each job's speed on each type of GPU is worth, in one sentence."""
    gain = gain_of(policies)
    if gain is None:
        return (
            "Run max-min-fairness and max-min-fairness-agnostic, for example, to see what it gains to know "
            "that types of GPU differ."
        )
    means = (
        f"{hours_text(gain.aware_s)} under {gain.aware}, {hours_text(gain.agnostic_s)} under {gain.agnostic}"
    )
    if abs(gain.ratio - 1) < LEVEL:
        return f"Knowing each job's speed on each type of GPU changes the mean JCT by less than 1 %: {means}."
    if gain.ratio < 1:
        return f"Knowing each job's speed on each type of GPU does not shorten the mean JCT here: {means}."
    saved = share_text(1 - 1 / gain.ratio)
    return f"Knowing each job's speed on each type of GPU shortens the mean JCT by {saved}: {means}."


def best_sentence(policies: Mapping[str, PolicyOutcome]) -> str:
    """The policy of the shortest mean JCT, and the cheapest one."""
    means = by_mean_jct(policies)
    if not means:
        return "No policy completed a job."
    best = next(iter(means))
    fastest = f"{best} has the shortest mean JCT, {hours_text(means[best])}"
    costs = {n: p.cost_usd for n, p in policies.items() if p.cost_usd is not None}
    if not costs or max(costs.values()) <= 0:
        return f"{fastest}."
    cheapest = min(costs, key=lambda n: (costs[n], n))
    if cheapest == best:
        return f"{fastest}, and costs least, {dollars_text(costs[best])}."
    paid, least = dollars_text(costs.get(best)), dollars_text(costs[cheapest])
    if paid == least:
        return f"{fastest}, at {paid}; no policy costs noticeably less."
    return f"{fastest}, at {paid}; {cheapest} costs least, {least}."


def hero_figure(policies: Mapping[str, PolicyOutcome]) -> tuple[str, str, str]:
    """Label, value and hint of the page's one large number."""
    gain, means = gain_of(policies), by_mean_jct(policies)
    if gain is not None and gain.ratio >= 1:
        hint = f"Mean JCT under {gain.agnostic} over that under {gain.aware}."
        return "Heterogeneity gain", times_text(gain.ratio), hint
    if not means:
        return "", "", ""
    best = next(iter(means))
    return "Shortest mean JCT", hours_text(means[best]), f"Under {best}."
