"""End of the warm-up (MSER-5), and the test of a run's steady state.

All schedulers must be measured on the same jobs, so there is one cut for all: the latest of
theirs. It is found on pilot runs of their own random streams, so that the runs that are measured
know nothing of how it was chosen. The pilot is averaged over its replications, job by job, which
leaves the start-up in and takes noise out.

Luck must not decide. The offered load uses nominal rates and mean services, with only the mean
work and bytes a job measured in the run: neither the noise of arrivals nor that of service draws is
in it. Growth catches what sums over resources miss, such as one executor that gets too much; it is
tested against its own fluctuation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from nona.core.arrays import Floats, Ints
from nona.core.units import format_number, of_capacity
from nona.queries.simulation.records import RawRun, Records, State
from nona.queries.system import System
from nona.scenario.arrivals import Arrivals, cycle_s, effective_rate

BATCH = 5
LEFT = 5  # batches that are never cut: the statistic of the last few is small by chance
PILOT_RUNS = 5
PILOT_FIRST = 1_000_000  # number of the first pilot replication, far from those that are measured
SHORT_FIRST = 2 * PILOT_FIRST  # in reports: of the first short run, which the whole one begins again


@dataclass(frozen=True, eq=False)
class Truncation:
    """Cut of one series by MSER-5.

    ``jobs``: jobs to leave out at the start.
    ``too_short``: the least statistic lies in the second half: no steady state was seen, the run is too short
        to tell where the warm-up ends.
    ``means`` (k,): means of consecutive batches of five.
    ``statistic`` (k − 5,): MSER statistic when the first d batches are left out, for d = 0, 1, …
    ``batch``: jobs per batch: five, or as many recorded ones.
    """

    jobs: int
    too_short: bool
    means: Floats
    statistic: Floats
    batch: int = BATCH


@dataclass(frozen=True, eq=False)
class Warmup:
    """The common warm-up.

    ``jobs`` are left out at the start of every run; ``cuts`` has the truncation of each scheduler
    that has a steady state; ``too_short`` names those whose pilot was too short to tell. ``rule`` is
    ``mser``, ``auto`` or ``fixed``; only the first looks at pilot runs.
    """

    rule: str
    jobs: int
    cuts: Mapping[str, Truncation]
    too_short: tuple[str, ...]


def mser_statistic(means: Floats) -> Floats:
    """MSER statistic of each truncation (d batches left out, for d = 0, 1, …).

    Formula: z(d) = Σ_{i ≥ d} (yᵢ − ȳ_d)² / (k−d)², ȳ_d the mean of the k−d batch means that are
    left; z is the squared half-width of their mean, up to a constant, as if they were independent.

    >>> mser_statistic(np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])).tolist()[1]
    0.0

    Source: White, An effective truncation heuristic for bias reduction in simulation output,
    Simulation 69, 1997.
    """
    y = means - means[-1]  # so that rounding is relative to the changes, not to the level
    left = np.arange(len(y), 0, -1)
    total, squares = np.cumsum(y[::-1])[::-1], np.cumsum(y[::-1] ** 2)[::-1]
    spread = squares - total**2 / left
    spread[spread < 1e-12 * squares] = 0.0  # rounding
    return np.asarray((spread / left.astype(float) ** 2)[: max(1, len(y) - LEFT)])


def mser(values: ArrayLike) -> Truncation:
    """Cut a series at the least MSER statistic of its means of five.

    >>> cut = mser(np.concatenate([np.linspace(5, 1, 50), np.tile([0.9, 1.1, 1.0, 0.8, 1.2], 90)]))
    >>> cut.jobs, cut.too_short
    (50, False)
    >>> mser(np.linspace(0, 1, 500)).too_short
    True

    Source: White, Cobb and Spratt, A comparison of five steady-state truncation heuristics for
    simulation, Winter Simulation Conference 2000 (means of five; second half: too short).
    """
    x = np.asarray(values, dtype=float).ravel()
    k = len(x) // BATCH
    if k < 2 * LEFT:
        return Truncation(0, True, x[: k * BATCH].reshape(k, BATCH).mean(axis=1), np.zeros(0))
    means = x[: k * BATCH].reshape(k, BATCH).mean(axis=1)
    statistic = mser_statistic(means)
    cut = int(np.argmin(statistic))
    return Truncation(cut * BATCH, cut > k / 2, means, statistic)


def common_warmup(pilot: Mapping[str, Sequence[Records]], otherwise: int) -> Warmup:
    """Return the latest cut of all schedulers, from pilot runs that were measured from their first job on.

    Overloaded schedulers have no steady state to wait for and no cut, and those that drop queries no series
    without gaps. If one has none, or its pilot was too short to tell, the warm-up is at least ``otherwise``
    jobs.
    """
    cuts = {}
    for name, runs in pilot.items():
        if all(r.state != "overloaded" for r in runs):
            cut = mser(np.mean([r.completion_time_s for r in runs], axis=0))
            cuts[name] = replace(cut, jobs=cut.jobs * runs[0].every, batch=BATCH * runs[0].every)
    too_short = tuple(n for n, c in cuts.items() if c.too_short)
    jobs = max((c.jobs for c in cuts.values() if not c.too_short), default=0)
    return Warmup(
        "mser", max(jobs, otherwise) if too_short or len(cuts) < len(pilot) else jobs, cuts, too_short
    )


def run_name(replication: int) -> str:
    """Return the name of a run in progress reports.

    >>> run_name(0), run_name(PILOT_FIRST + 1), run_name(SHORT_FIRST)
    ('replication 1', 'warm-up pilot 2', 'a short run first')
    """
    if replication >= SHORT_FIRST:
        return "a short run first"
    if replication >= PILOT_FIRST:
        return f"warm-up pilot {replication - PILOT_FIRST + 1}"
    return f"replication {replication + 1}"


SIGNIFICANT = 4.0  # standard errors
MATERIAL = 0.02  # jobs left behind per job that arrives
BACKLOG = 0.05  # jobs more than usual at the end of the window, per job that arrived in it
UNUSUAL = 4.0  # and this many times the square root of the usual number


def offered_load(system: System, raw: RawRun) -> tuple[float, Floats]:
    """(executors, (L,) links): ρ = (background + Σ rate · mean per job) / capacity to serve.

    Classes of which no job completed are left out; jobs left behind tell of them. Of several links
    each gets its measured share of a class's bytes. Of a closed loop the measured rate counts.
    """
    done = np.maximum(raw.class_completed, 1)
    measured = raw.class_completed / raw.end_s if raw.end_s > 0 else np.zeros(len(done))
    rates = np.array(
        [
            sent if q.users else effective_rate(q.arrivals, q.rate)
            for q, sent in zip(system.queries, measured.tolist(), strict=True)
        ]
    )
    compute = system.background_compute
    executors = compute.rate * compute.mean + float(rates @ (raw.class_work_s / done)) / system.executors
    background = np.array([stream.rate * stream.mean for _, stream in system.link_streams])
    links = (background + (rates * raw.class_bytes / done) @ _shares(raw)) / system.link_capacity
    return executors, links


def _shares(raw: RawRun) -> Floats:
    """(classes, L) Share of the message bytes of each class that crosses each link."""
    if raw.crossed_bytes is None:
        return np.ones((len(raw.class_bytes), 1))
    crossed, requested = raw.crossed_bytes[:, :-1], raw.crossed_bytes[:, -1:]
    return np.divide(crossed, requested, out=np.zeros_like(crossed), where=requested > 0)


def _by_chance(system: System, raw: RawRun, links: Floats) -> Floats:
    """Bound each link's load (L,) by chance: which of many links a message crosses is drawn.

    The bytes B of independent jobs, each of at most M, have a variance of at most M·E[B]; with the
    total given, of M·E[B]·(1 − share). Background is in ``links`` but not drawn here; that errs on
    the side of stable.
    """
    if raw.crossed_bytes is None:
        return np.zeros(1)
    most = max(float(q.tasks.tensor_bytes[q.tasks.edge_tensor].sum()) for q in system.queries)
    crossed, requested = np.split(raw.crossed_bytes.sum(axis=0), [-1])
    seen = np.maximum(crossed, most)
    elsewhere = 1 - np.divide(crossed, requested, out=np.zeros_like(crossed), where=requested > 0)
    relative = np.sqrt(np.divide(most * elsewhere, seen, out=np.zeros_like(seen), where=seen > 0))
    luck: Floats = SIGNIFICANT * links * relative
    return luck


def growth(raw: RawRun) -> tuple[float, float]:
    """:func:`growth_of` a run."""
    return growth_of(raw.open_at, raw.collected.jobs)


def growth_of(open_at: Ints, jobs: int) -> tuple[float, float]:
    """(jobs left behind per arrival over the window, the same in standard errors).

    ``open_at`` are the numbers in the system at instants between which equally many of the ``jobs`` arrive.

    The window is cut into stretches of equally many arrivals; in each the number in the system
    changes by D. Mean D over its standard error is large only when the number grows stretch after
    stretch: in a stable system the changes cancel, so this errs on the side of stable.
    """
    change = np.diff(open_at)
    error = float(np.std(change, ddof=1)) / len(change) ** 0.5
    mean = float(np.mean(change))
    score = mean / error if error > 0 else (np.inf if mean > 0 else 0.0)
    return mean * len(change) / jobs, float(score)


def _backlog(raw: RawRun) -> tuple[float, float]:
    """(jobs in the system at the end of the window, the usual number: the median over the marks).

    A window ends in a backlog when the first exceeds the second by more than :data:`BACKLOG` of the
    jobs measured, so that the means depend on where the window ends, and by more than
    :data:`UNUSUAL` · √(1 + usual), which a system without queues does not reach (its number is
    Poisson).
    """
    return float(raw.open_at[-1]), float(np.median(raw.open_at))


Rates = Sequence[tuple[Arrivals, float]]
"""The arrivals of each class, and its rate."""


def of_queries(system: System) -> Rates:
    """Return the arrivals and the rate of every query class."""
    return [(q.arrivals, q.rate) for q in system.queries]


def jobs_of_cycle(classes: Rates) -> int:
    """Jobs of all classes that arrive in the longest cycle of their loads; 0 where none goes up and down."""
    longest_s = max((cycle_s(*of) for of in classes), default=0.0)
    return math.ceil(longest_s * sum(effective_rate(*of) for of in classes))


def part_run(classes: Rates, length_s: float, jobs: str = "jobs") -> str:
    """Return the part of the longest cycle of the load that a run of this length covers.

    Empty if it is whole.

    >>> night = Arrivals("trace", times_s=tuple(range(9)), period_s=3600.0, scale_to_rate=False)
    >>> part_run([(night, 1.0)], 36.0)
    '1 % of the cycle of 3,600 s was run; measure about 9 jobs to see all of it'
    >>> part_run([(Arrivals(), 1.0)], 36.0)
    ''
    """
    longest_s = max((cycle_s(*of) for of in classes), default=0.0)
    if length_s >= longest_s:
        return ""
    share = f"{format_number(100 * length_s / longest_s, 2)} % of the cycle of {longest_s:,.0f} s was run"
    return f"{share}; measure about {jobs_of_cycle(classes):,} {jobs} to see all of it"


def executors_reason(load: float) -> str:
    """Return why executors with this load have no steady state."""
    return (
        f"The load offered to the executors is {of_capacity(load, 'their')}; add servers or lower the rates."
    )


def link_reason(link: str, load: float) -> str:
    """Return why a link with this load has no steady state."""
    return (
        f"The load offered to {link} is {of_capacity(load)}; raise its capacity, or keep more on one server."
    )


def over_runs(reason: str, load: tuple[float, float], means: tuple[float, float]) -> str:
    """Return the reason of one run with mean loads over all runs in place of its own, (executors, link)."""
    for own, mean, whose in zip(load, means, ("their", "its"), strict=True):
        reason = reason.replace(f"is {of_capacity(own, whose)};", f"is {of_capacity(mean, whose)};", 1)
    return reason


def judge(system: System, raw: RawRun) -> tuple[State, str]:
    """State of the run, and the reason when it is not stable.

    A run that covers part of a cycle of the load, a burst or the night's batch of a trace, cannot tell growth
    without end from a queue that the rest of the cycle empties: it is backlogged.
    """
    executors, links = offered_load(system, raw)
    certain = links - _by_chance(system, raw, links)
    worst = int(np.argmax(certain))
    link = "the link" if system.topology is None else f"link {system.link_names[worst]!r}"
    closed = system.closed  # users wait for what is full: it cannot grow without end
    if executors >= 1 and not closed:
        return "overloaded", executors_reason(executors)
    if certain[worst] >= 1 and not closed:
        return "overloaded", link_reason(link, links[worst])
    jobs, tally = raw.collected.jobs, raw.collected.tally
    unfinished = int((tally.arrived - tally.completed).sum())
    if unfinished:
        return "overloaded", (
            f"{unfinished} of {jobs} measured jobs were not complete when the run was cut off; some "
            "resource is overloaded, or some jobs starve."
        )
    left_behind, score = growth(raw)
    there, usual = _backlog(raw)
    begin, end = raw.collected.window_s
    part = part_run(of_queries(system), end - begin)
    growing = left_behind > MATERIAL and score > SIGNIFICANT
    if growing and part:
        return "backlogged", f"{there:.0f} jobs were in the system at the end of the window: {part}."
    if growing and all(q.users for q in system.queries):
        return "backlogged", (
            f"{there:.0f} of {sum(q.users for q in system.queries)} users waited at the end of the window, "
            "and the number still grew; measure more jobs than users send at the start."
        )
    if growing:
        return "overloaded", (
            f"The number of jobs in the system kept growing, by {format_number(left_behind, 2)} per "
            "arrival; some "
            "resource is overloaded."
        )
    if there - usual > max(BACKLOG * jobs, UNUSUAL * (1 + usual) ** 0.5):
        return "backlogged", (
            f"{there:.0f} jobs were in the system at the end of the window, usually {usual:.0f}; "
            f"{part or 'measure more jobs, as the means depend on where this window ends'}."
        )
    return "stable", ""
