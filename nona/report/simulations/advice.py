"""Who wins and why, in a sentence: arithmetic on the run.

Parts of a mean JCT add up to it, so that what one scheduler's jobs take longer is the sum of what they take
longer in each part.
"""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.simulations.findings import not_told_apart_from, reference_for, shortest, ties_with
from nona.report.text import listed, verb
from nona.results.simulation import Differences, PartName, SchedulerResult, Schedulers
from nona.schedulers.base import NetworkView
from nona.schedulers.registry import SCHEDULERS
from nona.tables import share_text
from nona.units import format_time

SEES: Mapping[NetworkView, str] = {
    NetworkView.N0: "nothing of the network",
    NetworkView.N1: "the link's capacity and latency",
    NetworkView.N2: "its own past transfers",
    NetworkView.N3: "what the link has promised",
    NetworkView.N4: "the link's queue",
}
PART: Mapping[PartName, str] = {
    "compute": "computing",
    "transfer": "transfers",
    "link_wait": "waiting for links",
    "server_wait": "waiting for servers",
    "own_wait": "waiting for its own tasks",
    "fill_wait": "waiting for batches to fill",
}
LONGER: Mapping[PartName, str] = {
    "compute": "computing takes {} longer per job",
    "transfer": "transfers take {} longer per job",
    "link_wait": "a job waits {} longer for links",
    "server_wait": "a job waits {} longer for servers",
    "own_wait": "a job waits {} longer for its own tasks on the same executor",
    "fill_wait": "a job waits {} longer for batches to fill",
}


def scheduler_advice(schedulers: Schedulers, differences: Differences) -> str:
    """The winner of a finished simulation and the reason, or why nobody wins; empty without any run."""
    best = shortest(schedulers)
    if best is None:
        over = [n for n, s in schedulers.items() if s.overloaded]
        return f"No scheduler wins: {listed(over)} {verb(over)} overloaded." if over else ""
    spent = _most_text(schedulers[best])
    stable = [n for n, s in schedulers.items() if n != best and s.jct_s.mean is not None]
    if not stable:
        lead = f"{best} ran alone" if len(schedulers) == 1 else f"Only {best} has a steady state"
        return f"{lead}: {spent}."
    if ties := ties_with(best, differences):
        return f"{listed([best, *ties])} take exactly as long on the same jobs; {spent}."
    if level := not_told_apart_from(best, differences):
        return f"{best} has the lowest mean, but this run cannot tell it from {listed(level)}; {spent}."
    return _why(best, reference_for(schedulers, best) or stable[0], schedulers)


def views_text(best: str, other: str) -> str:
    """Describe the first scheduler's observations, as it declares them, and the second's differences.

    >>> views_text("spark-fair", "local")
    'it reads queues, which local does not, and both see nothing of the network'
    >>> views_text("nona", "local")
    "it sees the link's capacity and latency, while local sees nothing of the network"
    """
    if best not in SCHEDULERS or other not in SCHEDULERS:
        return "what it sees is not declared"
    mine, theirs = (_reads_queues(n) for n in (best, other))
    own, its = (SCHEDULERS.find(n).network_view for n in (best, other))
    queues = "" if not mine else "it reads queues" + (", as" if theirs else ", which")
    queues = f"{queues} {other} does{'' if theirs else ' not'}" if mine else ""
    if own == its:
        both = f"both see {SEES[own]}"
        blind = f"it reads no queues, {'which' if theirs else 'as'} {other} does{'' if theirs else ' not'}"
        return f"{queues or (blind if theirs else 'neither reads queues')}, and {both}"
    seen = f"sees {SEES[own]}, while {other} sees {SEES[its]}"
    return f"{queues}, and {seen}" if queues else f"it {seen}"


def _reads_queues(name: str) -> bool:
    s = SCHEDULERS.find(name)
    return s.reads_queues or s.picks


def _parts(s: SchedulerResult) -> dict[PartName, float]:
    return {part: value or 0.0 for part, value in s.parts_s.by_name().items()}


def _mean(s: SchedulerResult) -> float:
    return s.jct_s.mean or 0.0


def _why(best: str, other: str, schedulers: Schedulers) -> str:
    gap = _mean(schedulers[other]) - _mean(schedulers[best])
    own, theirs = _parts(schedulers[best]), _parts(schedulers[other])
    more = {part: theirs[part] - own[part] for part in own}
    most = max(more, key=lambda p: more[p])
    lead = f"{best} wins: {views_text(best, other)}"
    if more[most] <= 0:
        return f"{lead}."
    longer = f"under {other}, {LONGER[most].format(format_time(more[most]))}"
    if more[most] > 1.005 * gap:  # the loser saves elsewhere
        return f"{lead}; {longer}, but all other parts together are {format_time(more[most] - gap)} shorter."
    return f"{lead}; {longer}, which is {share_text(more[most] / gap)} of the difference."


def _most_text(s: SchedulerResult) -> str:
    parts = _parts(s)
    most = max(parts, key=lambda p: parts[p])
    share = parts[most] / _mean(s) if _mean(s) else 0.0
    return f"{share_text(share)} of the time is {PART[most]}"
