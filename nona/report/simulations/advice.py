"""Advice on schedulers: who wins and why, and what it would take for another to win.

Both are arithmetic on the run: parts of a mean JCT add up to it, so that what one scheduler's jobs take
longer is the sum of what they take longer in each part. What would be if a part vanished is said under
the condition that the other parts stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.report.simulations.findings import equal_to, not_told_apart_from, reference_for, shortest, ties_with
from nona.report.simulations.uncertainty import bottleneck
from nona.report.text import counted, listed
from nona.results.simulation import Difference, Differences, PartName, SchedulerResult, Schedulers
from nona.schedulers.base import NetworkView
from nona.schedulers.registry import SCHEDULERS
from nona.statistics import values_needed
from nona.tables import share_text
from nona.units import format_time, of_capacity

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
LEVERS: Mapping[PartName, str] = {
    "link_wait": "a faster link or less background traffic",
    "server_wait": "more servers or lower rates",
    "transfer": "a faster link",
    "own_wait": "splitting jobs over more executors",
    "fill_wait": "a shorter delay or smaller batches",
}
NOTICED = 0.1  # share of a mean JCT


@dataclass(frozen=True, slots=True)
class Advice:
    """The winner and the reason; the change that would let another win (empty if there is no other)."""

    why: str
    otherwise: str

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for line in (self.why, self.otherwise) if line)


def scheduler_advice(schedulers: Schedulers, differences: Differences) -> Advice | None:
    """The advice on a finished simulation; ``None`` where no scheduler completed a job."""
    best = shortest(schedulers)
    if best is None:
        return _all_overloaded(schedulers)
    stable = [n for n, s in schedulers.items() if n != best and s.jct_s.mean is not None]
    if not stable:
        return _alone(best, schedulers)
    level = not_told_apart_from(best, differences)
    if ties := ties_with(best, differences):
        return Advice(_equal(best, ties, schedulers), _own_tasks([best, *ties], schedulers))
    if level:
        return Advice(_level(best, level, schedulers), _to_tell(best, level, differences))
    other = reference_for(schedulers, best) or stable[0]
    return Advice(_why(best, other, schedulers), _what_it_takes(best, stable, schedulers))


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


def _what_it_takes(best: str, stable: list[str], schedulers: Schedulers) -> str:
    """The part without which another would lead, or how far the nearest stays behind without any wait."""
    own = _parts(schedulers[best])
    order = sorted(stable, key=lambda n: _mean(schedulers[n]))
    for name in order:
        theirs = _parts(schedulers[name])
        for part, lever in LEVERS.items():
            lead = (_mean(schedulers[best]) - own[part]) - (_mean(schedulers[name]) - theirs[part])
            if part == "own_wait" and _is_placed(name):
                continue  # its placement was free to split
            if lead > 1e-9 * _mean(schedulers[best]) and theirs[part] > 0:
                return (
                    f"Without {PART[part]}, which {lever} would shorten, {name} would lead by "
                    f"{format_time(lead)}; all other parts are taken as they are."
                )
    name = order[0]
    behind = _mean(schedulers[name]) - _mean(schedulers[best])
    return (
        f"No single remedy lets another win: {name}, the next, is {format_time(behind)} behind, "
        "and would be even if transfers, or waiting for links, servers or its own tasks, took no time."
    )


def _level(best: str, level: list[str], schedulers: Schedulers) -> str:
    return (
        f"{best} has the lowest mean, but this run cannot tell it from {listed(level)}; "
        f"{_most_text(schedulers[best], 'its')}."
    )


def _equal(best: str, level: list[str], schedulers: Schedulers) -> str:
    return (
        f"{listed([best, *level])} take exactly as long on the same jobs; "
        f"{_most_text(schedulers[best], 'the')}."
    )


def _most_text(s: SchedulerResult, whose: str) -> str:
    parts = _parts(s)
    most = max(parts, key=lambda p: parts[p])
    share = parts[most] / _mean(s) if _mean(s) else 0.0
    return f"{share_text(share)} of {whose} time is {PART[most]}"


def _own_tasks(best: Sequence[str], schedulers: Schedulers) -> str:
    """Suggest how to shorten a job's waits for its own tasks; empty where they are short.

    Splitting is no advice where a placement that was free to split did not, or a scheduler that splits lost.
    """
    own = _parts(schedulers[best[0]])["own_wait"]
    if own < NOTICED * _mean(schedulers[best[0]]):
        return ""
    spent = f"A job spends {format_time(own)} waiting for its own tasks on the same executor"
    placed = next(filter(_is_placed, best), "")
    split = [n for n, s in schedulers.items() if n not in best and _parts(s)["own_wait"] < own]
    if placed:
        return f"{spent}; {placed} was free to split it, and its placement does not: here that costs more."
    if split:
        takes = "takes" if len(split) == 1 else "take"
        return f"{spent}; {listed(split)} {takes} longer with less of that: splitting it costs more here."
    return f"{spent}: splitting it may shorten that; more servers alone will not."


def _is_placed(name: str) -> bool:
    return name in SCHEDULERS and SCHEDULERS.find(name).needs_placement


def _to_tell(best: str, level: Sequence[str], differences: Differences) -> str:
    """State the number of replications that would separate two schedulers, from the measured difference."""
    other = next(n for n in level if n not in equal_to(best, differences))
    row: Difference = differences[best][other]
    mean, half = row.jct_s.mean, row.jct_s.half_width
    if not mean or half is None or row.replications < 2:
        return "Run two replications or more to see whether they differ."
    needed = values_needed(half / abs(mean), row.replications)
    if needed is None:
        return (
            f"Their means differ by {format_time(abs(mean))}, too little to matter: choose by SLO hits or by "
            "what each needs to see."
        )
    return (
        f"If {other} really differs by the {format_time(abs(mean))} measured, about {needed:,} "
        f"replications would show it; this run has {row.replications}."
    )


def _alone(best: str, schedulers: Schedulers) -> Advice:
    over = [n for n, s in schedulers.items() if s.overloaded]
    spent = _most_text(schedulers[best], "its jobs'")
    if not over:
        return Advice(f"{best} ran alone: {spent}.", "Run a second scheduler to compare it with.")
    first, why = schedulers[over[0]], views_text(best, over[0])
    return Advice(
        f"Only {best} has a steady state: {why}; {spent}.",
        f"For {over[0]} to have a mean, its load must fall: {_load_text(first)}.",
    )


def _all_overloaded(schedulers: Schedulers) -> Advice | None:
    over = {n: s for n, s in schedulers.items() if s.overloaded}
    if not over:
        return None
    least = min(over, key=lambda n: _worst(over[n]))
    return Advice(
        f"No scheduler wins: {counted(len(over), 'scheduler')} ran, and none has a steady state.",
        f"{least} is nearest to one: {_load_text(over[least])}.",
    )


def _worst(s: SchedulerResult) -> float:
    return max(v for v in (s.offered.compute, s.offered.network, 0.0) if v is not None)


def _load_text(s: SchedulerResult) -> str:
    which = bottleneck(s.offered)
    load = s.offered.network if which == "link" else s.offered.compute
    if load is None:
        return s.state_reason.rstrip(".")
    whose, resource = ("its", "its link is") if which == "link" else ("their", "its executors are")
    return f"{resource} offered {of_capacity(load, whose)}"
