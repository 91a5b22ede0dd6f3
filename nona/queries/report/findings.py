"""Findings of a simulation: the headline, sentences, remedies for overload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nona.core.document import ErrorRange, Estimate
from nona.core.tables import mean_text, share_text
from nona.core.text import Finding, join_words, not_clear, verb
from nona.core.units import format_time
from nona.queries.chart_data import LiveRun
from nona.queries.report.live import comparable
from nona.queries.report.tables import PARTS
from nona.queries.report.times_off import off_text
from nona.queries.results import Differences, Resources, Schedulers


def shortest(schedulers: Schedulers) -> str | None:
    """Return the scheduler with the lowest mean JCT among those that have one; ``None`` if none has."""
    means = {n: s.jct_s.mean for n, s in schedulers.items() if not s.overloaded and s.jct_s.mean is not None}
    return min(means, key=lambda n: means[n], default=None)


def not_told_apart_from(best: str, differences: Differences) -> list[str]:
    """Schedulers whose difference from the best has an interval that covers 0: no winner among them."""
    rows = differences.get(best, {})
    return [n for n, d in rows.items() if d.verdict == "not told apart" and d.jct_s.ci95 is not None]


def equal_to(best: str, differences: Differences) -> list[str]:
    """Schedulers whose jobs took exactly as long as those of the best in every replication."""
    rows = {n: d.jct_s for n, d in differences.get(best, {}).items()}
    return [n for n, d in rows.items() if d.mean == 0 and not d.half_width]


def ties_with(best: str, differences: Differences) -> list[str]:
    """:func:`equal_to`, where the best has no clear lead over these and is level with no others."""
    equal = equal_to(best, differences)
    return equal if set(not_told_apart_from(best, differences)) <= set(equal) else []


def unsettled_text(schedulers: Schedulers, predicted: Mapping[str, float | None]) -> str:
    """Name the schedulers for which the formula expects far longer times than a run shows; else empty."""
    names = [
        name
        for name, expected_s in predicted.items()
        if expected_s is not None and (of := schedulers.get(name)) is not None and not of.overloaded
        if of.jct_s.mean is not None and expected_s > UNSETTLED * (of.jct_s.ci95 or (0.0, of.jct_s.mean))[1]
    ]
    if not names:
        return ""
    return (
        f"For {join_words(names)} the formula expects more than {UNSETTLED:g} times the simulated mean. Near "
        "saturation queues fill slowly, so this run may be too short: simulate ten times as many jobs."
    )


UNSETTLED = 2.0  # predicted over the upper end of the simulated mean: more than errors of the formula


REFERENCE = "local"  # what a scheduler is measured by, where it is there: everything on one server

NO_RANGES: Mapping[str, ErrorRange] = MappingProxyType({})


def reference_for(schedulers: Schedulers, best: str) -> str | None:
    """Return the scheduler that the best is compared with: ``local``, or else the next best.

    ``None`` if alone.
    """
    means = {n: s.jct_s.mean for n, s in schedulers.items() if s.jct_s.mean is not None}
    others = [n for n in means if n != best]
    if not others:
        return None
    return REFERENCE if REFERENCE in others else min(others, key=lambda n: means[n])


JCT_HINT = (
    "JCT is the response time: from a job's arrival to its completion. Where intervals overlap, the "
    "difference on the same jobs decides. The usual error is the 90 % range of true task times, for times "
    "that a cost model made."
)


def headline(
    schedulers: Schedulers, differences: Differences, off: Mapping[str, ErrorRange] = NO_RANGES
) -> Finding:
    """State the finding: the scheduler with the lowest mean, its precision and lead, the overloaded ones.

    Parameters
    ----------
    schedulers : mapping of str to SchedulerResult
        Those of a simulation's report.
    differences : mapping of str to mapping
        Baseline → scheduler → paired difference, as of
        :func:`~nona.queries.report.uncertainty.all_differences`.
    off : mapping of str to ErrorRange, optional
        Scheduler → range of its mean if task times are off.

    Returns
    -------
    Finding
        The finding.
    """
    best = shortest(schedulers)
    over = [n for n, s in schedulers.items() if s.overloaded]
    if best is None:
        reason = (
            f"{join_words(over)} {verb(over)} overloaded: no mean response time exists."
            if over
            else "No job was completed: there is no mean response time."
        )
        return Finding(reason)
    level = not_told_apart_from(best, differences)
    alone = sum(s.jct_s.mean is not None for s in schedulers.values()) < 2
    if ties := ties_with(best, differences):
        lead = f"{join_words([best, *ties])} are equally fast on the same jobs"
    elif level:
        lead = f"{best} is lowest{not_clear(level)}"
    else:
        lead = f"Mean JCT of {best}" if alone and not over else f"{best} is fastest"
        lead += " by paired differences" if _overlaps(best, schedulers) else ""
    beside = (
        _sure_text(schedulers[best].jct_s, off.get(best)),
        _difference_text(best, reference_for(schedulers, best), differences),
        *_trouble(schedulers, over),
    )
    mean = format_time(schedulers[best].jct_s.mean or 0.0)
    return Finding(lead, "; ".join(filter(None, beside)), mean, "Mean JCT", JCT_HINT)


def parts_finding(schedulers: Schedulers) -> str:
    """State where the time of a query goes under the scheduler with the lowest mean; empty if none has one.

    Parts below a hundredth of the mean are left out.
    """
    best = shortest(schedulers)
    if best is None:
        return ""
    mean = schedulers[best].jct_s.mean or 0.0
    parts = {PARTS[name]: part or 0.0 for name, part in schedulers[best].parts_s.by_name().items()}
    seen = sorted((name for name in parts if parts[name] >= 0.01 * mean > 0), key=parts.__getitem__)
    told = join_words([f"{name} {format_time(parts[name])}" for name in reversed(seen)])
    return f"Under {best} a query takes {format_time(mean)}{told and ': '}{told}."


def _overlaps(best: str, schedulers: Schedulers) -> bool:
    """Return whether the best one's interval overlaps with another's, so that a picture shows no winner."""
    own = schedulers[best].jct_s.ci95
    others = [s.jct_s.ci95 for name, s in schedulers.items() if name != best and not s.overloaded]
    return own is not None and any(other is not None and other[0] <= own[1] for other in others)


def _sure_text(value: Estimate, off: ErrorRange | None) -> str:
    """State a mean's precision: the interval of its simulation, and the range if modelled times are off.

    >>> _sure_text(Estimate(mean=0.006, ci95=(0.0058, 0.0062)), ErrorRange(low_s=0.0034, high_s=0.0107))
    '± 0.2 ms simulated (95 %); 3.4 to 11 ms if task times are wrong by the usual error'
    >>> _sure_text(Estimate(mean=0.0157, ci95=(0.01413, 0.01727)), None)
    '± 1.57 ms simulated (95 %)'
    >>> _sure_text(Estimate(mean=0.006, ci95=None), None)
    'simulated, without an interval'
    """
    if value.mean is None or value.ci95 is None:
        text = "simulated, without an interval"
    else:
        within = mean_text(value, format_time).removeprefix(format_time(value.mean)).strip()
        text = f"{within} simulated (95 %)"
    return text if off is None else f"{text}; {off_text(off)}"


def _difference_text(best: str, other: str | None, differences: Differences) -> str:
    row = differences.get(other or "", {}).get(best)
    if other is None or row is None or row.relative is None or row.verdict == "not told apart":
        return ""
    less = mean_text(size_of(row.jct_s), format_time)
    return f"{share_text(abs(row.relative))} below {other} ({less} less on the same jobs)"


def size_of(change: Estimate) -> Estimate:
    """Return the change without its sign."""
    if change.mean is None or change.mean >= 0:
        return change
    span = change.ci95
    return Estimate(mean=-change.mean, ci95=None if span is None else (-span[1], -span[0]))


def _trouble(schedulers: Schedulers, over: Sequence[str]) -> tuple[str, str]:
    late = [n for n, s in schedulers.items() if s.state == "backlogged"]
    overloaded = f"{join_words(over)} {verb(over)} overloaded" if over else ""
    return overloaded, f"{join_words(late)} ended with a backlog" if late else ""


def live_headline(live: LiveRun) -> Finding:
    """Return the same while the simulation is running: the lowest mean so far.

    >>> live_headline(LiveRun()).text
    'No job is complete yet.'
    """
    means = {n: s.mean_s for n, s in comparable(live.series).items()}
    if not means:
        return Finding("No job is complete yet.")
    order = sorted(means, key=lambda n: means[n])
    least = format_time(means[order[0]])
    first = [n for n in order if format_time(means[n]) == least]
    if len(order) == 1:
        lead = f"Mean JCT of {order[0]} so far"
    else:
        of = "" if len(order) == len(live.schedulers) else f" of {len(order)} of {len(live.schedulers)}"
        lead = f"So far {join_words(first)} {'is fastest' if len(first) == 1 else 'are level'}{of}"
    rest = [f"{n} is at {format_time(means[n])}" for n in order[len(first) :][:2]]
    return Finding(lead, ", ".join(rest), least, "Mean JCT", JCT_HINT)


NOT_BUSY = Resources(compute=None, network=None)
ALWAYS = 0.98  # utilisation of what never rests but for the begin of a run
TARGET = 0.95  # utilisation that the remedies aim at: below 1, with long waits still


@dataclass(frozen=True, slots=True)
class Remedy:
    """``resource`` (``executors`` or ``link``) is offered ``load`` of its capacity.

    ``rate`` is the factor by which all rates must fall, ``size`` the one by which there must be more
    of the resource, each to reach :data:`TARGET`; ``None`` where background alone exceeds it.
    """

    resource: str
    load: float
    rate: float | None
    size: float | None


def remedies(offered: Resources, background: Resources) -> list[Remedy]:
    """Return the remedies for every resource that is offered its capacity or more.

    Formula: with load ρ and background b, queries make q = ρ − b; b + f·q = T and b + q/g = T give
    f = (T − b)/q and g = q/(T − b). Background is a share of the capacity: it grows with it.

    >>> r = remedies(Resources(compute=1.4, network=0.5), Resources(compute=0.1, network=0.2))
    >>> r[0].resource, round(r[0].rate, 3), round(r[0].size, 3)
    ('executors', 0.654, 1.529)
    """
    needed = []
    for resource, load, others in (
        ("executors", offered.compute, background.compute or 0.0),
        ("link", offered.network, background.network or 0.0),
    ):
        if load is None or load < 1:
            continue
        room, queries = TARGET - others, load - others
        possible = room > 0 and queries > 0
        needed.append(
            Remedy(
                resource,
                load,
                room / queries if possible else None,
                queries / room if possible else None,
            )
        )
    return needed


def advice(
    name: str, offered: Resources, background: Resources, servers: int, busy: Resources = NOT_BUSY
) -> str:
    """Advise on an overloaded scheduler.

    Parameters
    ----------
    name : str
        The scheduler.
    offered : Resources
        Loads offered to executors and link, 1 = capacity.
    background : Resources
        Loads by the background alone.
    servers : int
        Number of servers.
    busy : Resources, optional
        Measured busy times.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> advice("spread", Resources(compute=0.5, network=1.9), Resources(compute=0.0, network=0.0), 8)
    'To bring the link of spread below 95 %, multiply all rates by 0.5 or less, or use a link × 2 or more.'
    """
    sentences = [_sentence(name, r, servers) for r in remedies(offered, background)]
    if sentences:
        return " ".join(sentences)
    for resource, share in (("link is", busy.network), ("executors are", busy.compute)):
        if share is not None and share >= ALWAYS:
            return (
                f"Under {name} the {resource} busy all the time: lower the rates, or choose a scheduler that "
                "sees queues."
            )
    return (
        f"Some servers of {name} are overloaded, or jobs starve: lower the rates, or choose a scheduler that "
        "sees queues."
    )


def _sentence(name: str, remedy: Remedy, servers: int) -> str:
    if remedy.rate is None or remedy.size is None:
        return f"Background alone overloads the {remedy.resource} of {name}: lower it first."
    rate = math.floor(100 * remedy.rate) / 100
    more = (
        f"{math.ceil(servers * remedy.size):,} servers instead of {servers:,}"
        if remedy.resource == "executors"
        else f"a link × {math.ceil(100 * remedy.size) / 100:g} or more"
    )
    less = f"multiply all rates by {rate:g} or less"
    return f"To bring the {remedy.resource} of {name} below 95 %, {less}, or use {more}."
