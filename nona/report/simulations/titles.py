"""Titles of a simulation's charts: each states what its chart shows, with the number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from nona.report.figures import Dot, dot_of
from nona.report.simulations.advice import PART
from nona.report.simulations.findings import shortest
from nona.report.simulations.live import MOST_NAMED
from nona.report.simulations.tables import VERDICTS
from nona.report.text import listed, verb
from nona.results.document import Estimate
from nona.results.simulation import Difference, Differences, Percentile, SchedulerResult, Schedulers
from nona.statistics import not_apart
from nona.tables import kept_text, mean_text, share_text
from nona.units import format_number, format_time

NO_DIFFERENCES: Differences = MappingProxyType({})


def jct_dots(schedulers: Schedulers) -> list[Dot]:
    """Mean JCT of each scheduler, in milliseconds, with its interval."""
    return [dot_of(name, s.jct_s, 1e3, _time_text, s.state) for name, s in schedulers.items()]


def _time_text(value: Estimate) -> str:
    return mean_text(value, format_time)


def _hits_text(value: Estimate) -> str:
    return mean_text(value, kept_text)


def hit_dots(schedulers: Schedulers) -> list[Dot]:
    """SLO hit rate of each scheduler, in per cent, with its interval."""
    return [dot_of(name, s.slo_hit_rate, 100, _hits_text, "no SLO") for name, s in schedulers.items()]


def difference_dots(differences: Mapping[str, Difference]) -> list[Dot]:
    """Mean JCT of each scheduler minus that of a baseline, in milliseconds, with its paired interval."""
    return [dot_of(name, d.jct_s, 1e3, _time_text, d.verdict) for name, d in differences.items()]


def _percentiles(scheduler: SchedulerResult, model: str) -> Mapping[str, Percentile]:
    return scheduler.jct_s.percentiles if model == "all" else scheduler.models[model].percentiles


def jct_title(schedulers: Schedulers, differences: Differences = NO_DIFFERENCES) -> str:
    """State the ratio of the longest mean JCT to the shortest, if they differ clearly, and who is left out.

    The means themselves stand elsewhere.
    """
    means = {n: s.jct_s.mean for n, s in schedulers.items() if s.jct_s.mean is not None}
    if not means:
        return "No scheduler has a mean JCT: all are overloaded"
    low, high = min(means, key=lambda n: means[n]), max(means, key=lambda n: means[n])
    if low == high or means[low] <= 0:
        return f"Mean JCT of {low}"
    row = differences.get(low, {}).get(high)
    if row is not None and row.verdict == "not told apart":
        return f"Mean JCT: {high} is highest, without a clear difference from {low}"
    times = format_number(means[high] / means[low])
    return f"{high} takes {times} times as long as {low} on average"


def hits_title(schedulers: Schedulers) -> str:
    """The schedulers that keep most and fewest SLOs."""
    rates = {n: s.slo_hit_rate for n, s in schedulers.items() if s.slo_hit_rate.mean is not None}
    if not rates:
        return "No query has an SLO"
    show = kept_text
    most, fewest = (_together(rates, of) for of in (max, min))
    high, low = _span(rates, most, show), _span(rates, fewest, show)
    if set(most) & set(fewest):
        between = _span(rates, tuple(rates), show)
        alike = "" if len(rates) == 1 or " to " not in between else ", without a clear difference"
        return f"All schedulers keep {between} of the SLOs{alike}"
    return f"{_named(most)} {verb(most, 'keeps', 'keep')} {high} of the SLOs, {_named(fewest)} {low}"


def _together(values: Mapping[str, Estimate], best: Callable[..., str]) -> tuple[str, ...]:
    """The names with the best value: those that do not lie clearly apart from it, in their order."""
    first = best(values, key=lambda name: values[name].mean or 0.0)
    level = {first, *not_apart(first, values)}
    return tuple(name for name in values if name in level)


def _span(values: Mapping[str, Estimate], names: Sequence[str], show: Callable[[float], str]) -> str:
    """The values of these names, from the least to the largest where they are shown differently."""
    means = [values[name].mean or 0.0 for name in names]
    low, high = show(min(means)), show(max(means))
    return low if low == high else f"{low} to {high}"


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= MOST_NAMED else f"{len(names)} schedulers"


def differences_title(baseline: str, differences: Mapping[str, Difference]) -> str:
    """Count the schedulers clearly faster and slower than the baseline; kinds without any are left out."""
    verdicts = [d.verdict for d in differences.values()]
    counts = [f"{verdicts.count(v)} {word}" for v, word in VERDICTS.items() if v in verdicts]
    return f"Against {baseline}: {', '.join(counts) or 'no means to compare'}"


def ecdf_title(schedulers: Schedulers, model: str) -> str:
    """The 95th percentile of the schedulers that have the lowest."""
    whole = model == "all"
    tails = {}
    for name, s in schedulers.items():
        value = _percentiles(s, model)["p95"].as_mean
        if value.mean is not None:
            tails[name] = value
    which = "jobs" if whole else f"{model} jobs"
    if not tails:
        return f"Completion times of {which}"
    best = _together(tails, min)
    within = _span(tails, best, format_time)
    alike = ", without a clear difference" if " to " in within else ""
    have, whose = ("has", "its") if len(best) == 1 else ("have", "their")
    done = f"95 % of {whose} {which} are completed within {within}"
    return f"{_named(best)} {have} the shortest tail{alike}: {done}"


def parts_title(schedulers: Schedulers, model: str) -> str:
    """The largest part of the JCT under the scheduler with the lowest mean."""
    best = shortest(schedulers)
    if best is None:
        return "No scheduler has a mean JCT"
    of = schedulers[best] if model == "all" else schedulers[best].models[model]
    parts = {k: v for k, v in of.parts_s.by_name().items() if v is not None}
    total = sum(parts.values())
    if total <= 0:
        return f"{best}: no job took any time"
    most = max(parts, key=lambda k: parts[k])
    return f"{best}: {share_text(parts[most] / total)} of the time is {PART[most]}"


def utilisation_title(schedulers: Schedulers) -> str:
    """The busiest resource, and the scheduler that uses it most."""
    loads = [
        (v, name, word)
        for name, s in schedulers.items()
        for v, word in ((s.utilization.compute, "executors"), (s.utilization.network, "link"))
        if v is not None
    ]
    if not loads:
        return "No load was measured"
    most = max(loads)[0]
    show = partial(share_text, digits=int(most < 0.1))
    by_word: dict[str, list[str]] = {}
    for share, name, word in loads:
        if show(share) == show(most):
            by_word.setdefault(word, []).append(name)
    several = len(by_word) > 1
    where = listed([f"the {word} under {_named(names)}" for word, names in by_word.items()])
    return f"The busiest {'resources are' if several else 'resource is'} {where}: {show(most)}"


def executors_title(executors: Sequence[float]) -> str:
    """The range of the executors' utilisation.

    >>> executors_title([0.5, 0.25])
    'Executors are busy between 25 % and 50 % of the time'
    >>> executors_title([0.011, 0.0105])
    'Every executor is busy for 1 % of the time'
    """
    if not executors:
        return "No executor was measured"
    low, high = (f"{100 * of(executors):.0f} %" for of in (min, max))
    if low == high:
        return f"Every executor is busy for {low} of the time"
    return f"Executors are busy between {low} and {high} of the time"


def over_time_title(schedulers: Schedulers) -> str:
    """Name the schedulers whose JCT grows over time: an overloaded run does not settle at a level."""
    growing = [n for n, s in schedulers.items() if s.overloaded]
    late = [n for n, s in schedulers.items() if s.state == "backlogged"]
    if growing:
        return f"JCT keeps growing under {', '.join(growing)}"
    if late:
        return f"{', '.join(late)} ended with a backlog; the others are stable"
    return "No JCT grows over time: all runs are stable"
