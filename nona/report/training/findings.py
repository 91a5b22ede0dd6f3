"""Findings of training, in rounds and elastic: times and gains in words, the best policies, titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.report.text import Finding, counted, not_clear
from nona.results import training as result_training
from nona.results.elastic import ElasticOutcome, ElasticReport
from nona.scenario.training import TrainingSpec
from nona.tables import amount_text, kept_text, mean_text, or_dash, share_text
from nona.units import format_number

HOUR_S = 3600.0
Policies = Mapping[str, result_training.PolicyResult]


def hours_text(seconds: float | None) -> str:
    """A time of seconds to months with three digits.

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
    """The mean JCT with its interval."""
    return mean_text(jct.estimate, hours_text)


def dollars_text(usd: float | None) -> str:
    """US dollars, as all money.

    >>> dollars_text(3.14159), dollars_text(18.0), dollars_text(12345.6), dollars_text(None)
    ('$3.14', '$18.00', '$12,346', '–')
    """
    return or_dash(usd, lambda amount: f"${amount_text(amount)}")


def job_label(name: str) -> str:
    """A job's name where nothing else says that it is one: a number is no name.

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
        return counted(spec.generate.jobs, "training job")
    training = sum(job.kind == "training" for job in spec.jobs)
    others = len(spec.jobs) - training
    return counted(training, "training job") + (f" + {counted(others, 'other')}" if others else "")


AGNOSTIC = "-agnostic"
LEVEL = 0.01  # mean JCTs closer than that are said to be equal
MAIN = 0.75  # part of the difference that one reason alone explains


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean JCT under ``aware``, which knows that types of GPU differ, and under ``agnostic``."""

    aware: str
    agnostic: str
    aware_s: float
    agnostic_s: float

    @property
    def ratio(self) -> float:
        return self.agnostic_s / self.aware_s if self.aware_s > 0 else 1.0


def gain_of(policies: Policies) -> Gain | None:
    """The gain of heterogeneity-awareness: a policy against its agnostic twin, if both ran.

    Two policies that differ in more than that say nothing about it.
    """
    means = by_mean_jct(policies)
    twins = [n for n in means if n + AGNOSTIC in means]
    if not twins:
        return None
    name = twins[0]
    return Gain(name, name + AGNOSTIC, means[name], means[name + AGNOSTIC])


def training_finding(report: result_training.TrainingReport | ElasticReport) -> Finding:
    """State the best policy or the gain, and beside it the others and how sure it is."""
    if isinstance(report, ElasticReport):
        return _elastic_finding(report.policies, report.level)
    policies, modelled = report.policies, report.setting.modelled
    gain, best, kept = gain_sentence(policies), best_sentence(policies, report.level), slo_sentence(policies)
    sure, mark = runs_sentence(policies), modelled_sentence(modelled)
    lead, others = (gain, (best, kept, sure)) if gain_of(policies) else (best, (kept or gain, sure))
    return Finding(f"{lead}{mark}", " ".join(filter(None, others)), *_number(policies))


def _elastic_finding(policies: Mapping[str, ElasticOutcome], level: Sequence[str]) -> Finding:
    names = list(by_mean_jct(policies))
    best = names[0]
    if len(names) == 1:
        lead = f"{best} has a mean JCT of {jct_text(policies[best].jct_s)}."
        return Finding(lead, _how(best, policies[best]), *_number(policies))
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
        lead = f"{best} has the shortest mean JCT, {share_text(shorter)} shorter than {second}: {_why(a, b)}."
    return Finding(lead, f"{_how(best, a)} {_how(second, b)}", *_number(policies))


def _why(a: ElasticOutcome, b: ElasticOutcome) -> str:
    """JCT = time without GPUs + time with GPUs: which of the two makes the difference."""
    waits, trains = (a.waited_s, b.waited_s), (_trained_s(a), _trained_s(b))
    gain_wait, gain_train = waits[1] - waits[0], trains[1] - trains[0]
    wait = f"its jobs wait {hours_text(waits[0])} without GPUs rather than {hours_text(waits[1])}"
    train = f"train for {hours_text(trains[0])} rather than {hours_text(trains[1])}"
    if gain_wait >= 0 and gain_train >= 0:
        whole = (gain_wait + gain_train) or 1.0
        if gain_wait / whole >= MAIN:
            return wait
        return f"its jobs {train}" if gain_train / whole >= MAIN else f"{wait} and {train}"
    if gain_wait > 0:
        return f"{wait}, though they {train}"
    waiting = f"wait {hours_text(waits[0])} without GPUs rather than {hours_text(waits[1])}"
    return f"its jobs {train}, though they {waiting}"


def _trained_s(of: ElasticOutcome) -> float:
    jcts = [job.jct_s for job in of.jobs]
    return sum(jcts) / len(jcts) - of.waited_s if jcts else 0.0


def _how(name: str, of: ElasticOutcome) -> str:
    return (
        f"Under {name} a job with GPUs has {format_number(of.mean_gpus)} on average, at a statistical "
        "efficiency of "
        f"{share_text(of.efficiency)}; {share_text(of.utilization)} of the GPUs are in use."
    )


def modelled_sentence(types: Sequence[str]) -> str:
    """Name the types whose rates are modelled, after a blank; empty if all were measured or given.

    >>> modelled_sentence(["a100-40gb", "l4"])
    ' Rates on a100-40gb and l4 are modelled, not measured.'
    """
    return f" Rates on {' and '.join(types)} are modelled, not measured." if types else ""


def runs_sentence(policies: Policies) -> str:
    """Say that there are no intervals where that is so; else empty."""
    names = list(by_mean_jct(policies))[:2]
    if len(names) < 2:
        return ""
    first, second = (policies[n].jct_s for n in names)
    if first.ci95 is None or second.ci95 is None:
        return (
            "These figures come from one run and have no intervals: run two replications or more to get them."
        )
    return ""


def slo_sentence(policies: Mapping[str, result_training.PolicyOutcome]) -> str:
    """Name the policies that keep most deadlines, with the cost, and fewest; empty without deadlines."""
    rates = {n: p.slo_hit_rate for n, p in policies.items() if p.slo_hit_rate is not None}
    if not rates:
        return ""
    most = max(rates, key=lambda n: (rates[n], -(policies[n].cost_usd or 0.0)))
    fewest = min(rates, key=lambda n: (rates[n], n))
    usd = policies[most].cost_usd
    cost = f" for {dollars_text(usd)}" if usd else ""
    if rates[most] == rates[fewest]:
        every = "every policy" if len(rates) > 1 else most
        return f"{every[0].upper()}{every[1:]} keeps {kept_text(rates[most])} of the deadlines."
    sentence = f"{most} keeps the most deadlines, {kept_text(rates[most])}{cost}"
    return f"{sentence}; {fewest} keeps the fewest, {kept_text(rates[fewest])}."


def gain_sentence(policies: Policies) -> str:
    """State the gain from each job's speed on each type of GPU, in one sentence."""
    gain = gain_of(policies)
    if gain is None:
        return (
            "To see what a policy gains by knowing that types of GPU differ, run for example "
            "max-min-fairness and max-min-fairness-agnostic."
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


def best_sentence(policies: Mapping[str, result_training.PolicyOutcome], level: Sequence[str] = ()) -> str:
    """The policy of the shortest mean JCT, those that it leads without a clear difference, the cheapest."""
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
    if paid == least:
        return f"{fastest}, at {paid}; no policy costs noticeably less."
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


def cdf_title(policies: Policies) -> str:
    """The policies whose slowest jobs are fastest and slowest, by the 95th percentile."""
    p95_s = {n: p.jct_s.p95 for n, p in policies.items() if p.jct_s.p95 is not None}
    if not p95_s:
        return "No policy completed a job"
    best = min(p95_s, key=lambda n: (p95_s[n], n))
    worst = max(p95_s, key=lambda n: (p95_s[n], n))
    title = f"The 95th percentile of JCT is {hours_text(p95_s[best])} under {best}"
    return title if worst == best else f"{title}, {hours_text(p95_s[worst])} under {worst}"


def rho_title(policies: Policies) -> str:
    """The least unfair policy, and how large a part of its jobs would be faster on an equal share."""
    worst_rhos = {n: p.worst_rho for n, p in policies.items() if p.worst_rho is not None}
    if not worst_rhos:
        return "No job has a ρ: none is complete, or nobody measured how fast they are on an equal share"
    best = min(worst_rhos, key=lambda n: (worst_rhos[n], n))
    values = [j.rho for j in policies[best].measured if j.rho is not None]
    title = f"The worst ρ is lowest under {best}: {format_number(worst_rhos[best])}"
    if not values:
        return title
    above = sum(v > 1 for v in values) / len(values)
    return f"{title}; {share_text(above)} of its jobs would be faster on an equal share of the cluster"


def gantt_title(trace: result_training.PolicyTrace, policy: str) -> str:
    """Count the stays of jobs on GPUs."""
    if not trace.stays:
        return f"{policy}: no job ran"
    jobs = {j for s in trace.stays for j in s.jobs}
    each = len(trace.stays) / len(jobs)
    return (
        f"{policy}: {len(jobs):,} jobs ran in {len(trace.stays):,} stays, {format_number(each)} for each job"
    )


def rounds_title(rounds: Sequence[result_training.Round]) -> str:
    """State the mean numbers of running and waiting jobs, and the most that wait."""
    if not rounds:
        return "No round was kept"
    time_s = sum(r.end_s - r.start_s for r in rounds) or 1.0
    running = sum(r.running * (r.end_s - r.start_s) for r in rounds) / time_s
    waiting = sum(r.waiting * (r.end_s - r.start_s) for r in rounds) / time_s
    most = max(rounds, key=lambda r: (r.waiting, -r.number))
    wait = format_number(waiting) if not waiting or waiting >= 0.01 else "less than 0.01"
    title = f"On average {format_number(running)} jobs run and {wait} wait"
    at_most = "1 job waits" if most.waiting == 1 else f"{most.waiting:,} jobs wait"
    return title if not most.waiting else f"{title}; at most {at_most}, first in round {most.number}"


def received_title(rows: Sequence[result_training.Received], error: float | None) -> str:
    """State the mean difference between the time that jobs received and their allocation."""
    if not rows:
        return "No job had an allocation"
    if error is None:
        return f"Shares of time of {len(rows)} jobs: planned and received"
    return f"Time received differs from the allocation by {share_text(error, 1)} of a job's time on average"
