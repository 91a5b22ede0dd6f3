"""Findings of training, in rounds and elastic: times and gains in words, the best policies, titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.core.tables import amount_text, mean_text, or_dash, share_text
from nona.core.text import Finding, count_text, not_clear
from nona.core.units import format_number
from nona.scenario.training import TrainingSpec
from nona.training import results as result_training
from nona.training.elastic.results import ElasticOutcome, ElasticReport

HOUR_S = 3600.0
Policies = Mapping[str, result_training.PolicyResult]


def hours_text(seconds: float | None) -> str:
    """Return a time of seconds to months with three digits.

    >>> hours_text(90.0), hours_text(5400.0), hours_text(9000.0), hours_text(1.8e6), hours_text(None)
    ('90 s', '90 min', '2.5 h', '500 h', '–')
    """
    if seconds is None:
        return "–"
    if abs(seconds) < 120:
        return f"{format_number(seconds)} s"
    if abs(seconds) < 2 * HOUR_S:
        return f"{format_number(seconds / 60)} min"
    hours = seconds / HOUR_S
    return f"{hours:,.0f} h" if abs(hours) >= 1000 else f"{format_number(hours)} h"


def jct_text(jct: result_training.JctSummary) -> str:
    """Return the mean JCT with its interval."""
    return mean_text(jct.estimate, hours_text)


def dollars_text(usd: float | None) -> str:
    """US dollars, as all money.

    >>> dollars_text(3.14159), dollars_text(18.0), dollars_text(12345.6), dollars_text(None)
    ('$3.14', '$18.00', '$12,346', '–')
    """
    return or_dash(usd, lambda amount: f"${amount_text(amount)}")


def job_label(name: str) -> str:
    """Return a job's name where nothing else says that it is one: a number is no name.

    >>> job_label("17"), job_label("vision 1")
    ('job 17', 'vision 1')
    """
    return f"job {name}" if name.isdigit() else name


def by_mean_jct(policies: Policies) -> dict[str, float]:
    """Name → mean JCT in seconds, the shortest first; those that completed no job are left out."""
    means_s = {n: p.jct_s.mean for n, p in policies.items() if p.jct_s.mean is not None}
    return dict(sorted(means_s.items(), key=lambda row: (row[1], row[0])))


def jobs_text(spec: TrainingSpec) -> str:
    """Describe the jobs of a scenario.

    >>> jobs_text(TrainingSpec(trace="week.trace"))
    'training jobs of week.trace'
    """
    if spec.elastic is not None:
        load = f" at load {spec.elastic.load:g}" if spec.elastic.load != 1 else ""
        return f"elastic jobs of {'workload ' if spec.elastic.shipped else ''}{spec.elastic.workload}{load}"
    if spec.trace is not None:
        return f"training jobs of {spec.trace}"
    if spec.generate is not None:
        return count_text(spec.generate.jobs, "training job")
    training = sum(job.kind == "training" for job in spec.jobs)
    others = len(spec.jobs) - training
    return count_text(training, "training job") + (f" + {count_text(others, 'other')}" if others else "")


AGNOSTIC = "-agnostic"
LEVEL = 0.01  # mean JCTs closer than that are said to be equal


@dataclass(frozen=True, slots=True)
class AwarenessGain:
    """Mean JCT under ``aware``, which knows that types of GPU differ, and under ``agnostic``."""

    aware: str
    agnostic: str
    aware_s: float
    agnostic_s: float

    @property
    def ratio(self) -> float:
        """Mean JCT without knowledge of GPU types over that with it."""
        return self.agnostic_s / self.aware_s if self.aware_s > 0 else 1.0


def gain_of(policies: Policies) -> AwarenessGain | None:
    """Return the gain of heterogeneity-awareness: a policy against its agnostic twin, if both ran.

    Two policies that differ in more than that say nothing about it.
    """
    means = by_mean_jct(policies)
    twins = [n for n in means if n + AGNOSTIC in means]
    if not twins:
        return None
    name = twins[0]
    return AwarenessGain(name, name + AGNOSTIC, means[name], means[name + AGNOSTIC])


def training_finding(report: result_training.TrainingReport | ElasticReport) -> Finding:
    """Return the best policy or the gain, the other policies, and the confidence."""
    if isinstance(report, ElasticReport):
        return _elastic_finding(report.policies, report.level)
    policies, modelled = report.policies, report.setting.modelled
    gain, best = gain_sentence(policies), best_sentence(policies, report.level)
    sure, mark = runs_sentence(policies), modelled_sentence(modelled)
    lead, others = (gain, (best, sure)) if gain else (best, (sure,))
    return Finding(f"{lead}{mark}", " ".join(filter(None, others)), *_number(policies))


def _elastic_finding(policies: Mapping[str, ElasticOutcome], level: Sequence[str]) -> Finding:
    names = list(by_mean_jct(policies))
    best = names[0]
    if len(names) == 1:
        lead = f"{best} has a mean JCT of {jct_text(policies[best].jct_s)}."
        return Finding(lead, "", *_number(policies))
    second = names[1]
    a, b = policies[best], policies[second]
    shorter = 1 - (a.jct_s.mean or 0.0) / (b.jct_s.mean or 1.0)
    if level:
        lead = f"{best} has the shortest mean JCT, {jct_text(a.jct_s)}{not_clear(level)}."
    elif shorter < LEVEL:
        lead = (
            f"{best} and {second} are equally fast: mean JCTs of {jct_text(a.jct_s)} and {jct_text(b.jct_s)}."
        )
    else:
        lead = f"{best} has the shortest mean JCT, {share_text(shorter)} shorter than {second}."
    return Finding(lead, "", *_number(policies))


def modelled_sentence(types: Sequence[str]) -> str:
    """Name the types whose rates are modelled, after a blank; empty if all were measured or given.

    >>> modelled_sentence(["a100-40gb", "l4"])
    ' Rates on a100-40gb and l4 are modelled, not measured.'
    """
    return f" Rates on {' and '.join(types)} are modelled, not measured." if types else ""


def runs_sentence(policies: Policies) -> str:
    """Say that there are no intervals where that is so; else empty."""
    first_two = list(by_mean_jct(policies))[:2]
    unsure = len(first_two) == 2 and any(policies[name].jct_s.ci95 is None for name in first_two)
    return "These figures come from one run and have no intervals." if unsure else ""


def gain_sentence(policies: Policies) -> str:
    """State the gain from each job's speed on each type of GPU, in a sentence; empty without twins."""
    gain = gain_of(policies)
    if gain is None:
        return ""
    means = (
        f"{hours_text(gain.aware_s)} under {gain.aware}, {hours_text(gain.agnostic_s)} under {gain.agnostic}"
    )
    if abs(gain.ratio - 1) < LEVEL:
        return f"Knowing each job's speed on each type of GPU changes the mean JCT by less than 1 %: {means}."
    if gain.ratio < 1:
        return f"Knowing each job's speed on each type of GPU does not shorten the mean JCT here: {means}."
    saved = share_text(1 - 1 / gain.ratio)
    return f"Knowing each job's speed on each type of GPU shortens the mean JCT by {saved}: {means}."


def best_sentence(
    policies: Mapping[str, result_training.TrainingPolicyResult], level: Sequence[str] = ()
) -> str:
    """Name the policy of the shortest mean JCT, those level with it, and the cheapest."""
    means = by_mean_jct(policies)
    if not means:
        return "No policy completed a job."
    best = next(iter(means))
    fastest = f"{best} has the shortest mean JCT, {hours_text(means[best])}{not_clear(level)}"
    costs = {n: p.cost_usd for n, p in policies.items() if p.cost_usd is not None}
    if not costs or max(costs.values()) <= 0:
        return f"{fastest}."
    cheapest = min(costs, key=lambda n: (costs[n], n))
    if cheapest == best:
        return f"{fastest}, and costs least, {dollars_text(costs[best])}."
    paid, least = dollars_text(costs.get(best)), dollars_text(costs[cheapest])
    return f"{fastest}, at {paid}; {cheapest} costs least, {least}."


def _number(policies: Policies) -> tuple[str, str, str]:
    gain, means = gain_of(policies), by_mean_jct(policies)
    if gain is not None and gain.ratio >= 1:
        hint = f"Mean JCT under {gain.agnostic} over that under {gain.aware}."
        return f"{gain.ratio:.{2 if gain.ratio < 10 else 1}f} ×", "Heterogeneity gain", hint
    if not means:
        return "", "", ""
    best = next(iter(means))
    return hours_text(means[best]), "Shortest mean JCT", f"Under {best}."
