"""What a run of elastic jobs found: which policy is fastest, and whether its jobs wait less or run faster."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.text import share_text
from nona.report.training.words import hours_text, jct_text, overlap
from nona.results.training.elastic import ElasticOutcome

LEVEL = 0.01  # mean JCTs closer than that are said to be equal
MAIN = 0.75  # part of the difference that one reason alone explains

Policies = Mapping[str, ElasticOutcome]


def by_mean(policies: Policies) -> dict[str, float]:
    """Name → mean JCT in seconds, the shortest first."""
    known = {name: p.jct_s.mean for name, p in policies.items() if p.jct_s.mean is not None}
    return dict(sorted(known.items(), key=lambda row: (row[1], row[0])))


def hero(policies: Policies) -> tuple[str, str, str]:
    """Label, value and hint of the page's one large number."""
    best = next(iter(by_mean(policies)))
    return "Shortest mean JCT", hours_text(policies[best].jct_s.mean), f"Under {best}."


def finding(policies: Policies) -> tuple[str, str]:
    """Who wins, and why; what is said in small letters under it."""
    names = list(by_mean(policies))
    best = names[0]
    if len(names) == 1:
        return f"{best} has a mean JCT of {jct_text(policies[best].jct_s)}.", _how(best, policies[best])
    second = names[1]
    a, b = policies[best], policies[second]
    shorter = 1 - (a.jct_s.mean or 0.0) / (b.jct_s.mean or 1.0)
    if shorter < LEVEL:
        large = (
            f"{best} and {second} are equally fast: {jct_text(a.jct_s)} and {jct_text(b.jct_s)} of mean JCT."
        )
    else:
        large = (
            f"{best} has the shortest mean JCT, {share_text(shorter)} shorter than {second}: {_why(a, b)}."
        )
    if overlap(a.jct_s, b.jct_s):
        large = f"{large[:-1]}, which more runs may change."
    return large, f"{_how(best, a)} {_how(second, b)}"


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
    """Mean time with GPUs of the first run."""
    jcts = [job.jct_s for job in of.jobs]
    return sum(jcts) / len(jcts) - of.waited_s if jcts else 0.0


def _how(name: str, of: ElasticOutcome) -> str:
    """What jobs had on average under a policy."""
    return (
        f"Under {name} a job with GPUs has {of.mean_gpus:.3g} on average, at a statistical efficiency of "
        f"{share_text(of.efficiency)}; {share_text(of.utilization)} of the GPUs are in use."
    )


def measure_title(measure: str, unit: str, means: Mapping[str, float]) -> str:
    """The largest and the smallest mean over a run.

    >>> measure_title("GPUs in use", "GPUs", {"a": 60.0, "b": 48.0})
    'GPUs in use: 60 GPUs on average under a, 48 under b'
    """
    order = sorted(means, key=lambda n: (-means[n], n))
    said = f"{measure}: {means[order[0]]:.3g} {unit} on average under {order[0]}"
    return said if len(order) == 1 else f"{said}, {means[order[-1]]:.3g} under {order[-1]}"


def cdf_title(policies: Policies) -> str:
    """The 95th percentiles, shortest and longest."""
    known = {n: p.jct_s.p95 for n, p in policies.items() if p.jct_s.p95 is not None}
    best, worst = min(known, key=lambda n: (known[n], n)), max(known, key=lambda n: (known[n], n))
    said = f"The 95th percentile of JCT is {hours_text(known[best])} under {best}"
    return said if best == worst else f"{said}, {hours_text(known[worst])} under {worst}"


def rho_title(policies: Policies) -> str:
    """The policy whose worst ρ is least, and how many of its jobs would be faster on an equal share."""
    known = {
        n: values for n, p in policies.items() if (values := [j.rho for j in p.jobs if j.rho is not None])
    }
    if not known:
        return "Profiles do not say how fast these jobs are on an equal share"
    best = min(known, key=lambda n: (max(known[n]), n))
    above = sum(value > 1 for value in known[best]) / len(known[best])
    return (
        f"The worst ρ is least under {best}: {max(known[best]):.3g}; {share_text(above)} of its jobs would "
        "be faster on an equal share of the cluster"
    )
