"""Whether a run had a steady state: by the load offered, by growth, by jobs left behind.

Luck must not decide. The offered load uses nominal rates and mean services, with only the mean
work and bytes a job measured in the run: neither the noise of arrivals nor that of service draws is
in it. Growth catches what sums over resources miss, such as one executor that gets too much; it is
tested against its own fluctuation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.run import RawRun, State
from nona.simulation.workload.arrivals import effective_rate
from nona.system import System

SIGNIFICANT = 4.0  # standard errors
MATERIAL = 0.02  # jobs left behind per job that arrives
BACKLOG = 0.05  # jobs more than usual at the end of the window, per job that arrived in it
UNUSUAL = 4.0  # and this many times the square root of the usual number


def offered_load(system: System, raw: RawRun) -> tuple[float, NDArray[np.float64]]:
    """(executors, (L,) links): ρ = (background + Σ rate · mean per job) / capacity to serve.

    Classes of which no job completed are left out; jobs left behind tell of them. Of several links
    each gets its measured share of a class's bytes.
    """
    done = np.maximum(raw.class_completed, 1)
    rates = np.array([effective_rate(q.arrivals, q.rate) for q in system.queries])
    compute = system.background_compute
    executors = compute.rate * compute.mean + float(rates @ (raw.class_work_s / done)) / system.executors
    background = np.array([stream.rate * stream.mean for _, stream in system.link_streams])
    links = (background + (rates * raw.class_bytes / done) @ _shares(raw)) / system.link_capacity
    return executors, links


def _shares(raw: RawRun) -> NDArray[np.float64]:
    """(classes, L) Share of the message bytes of each class that crosses each link."""
    if raw.crossed_bytes is None:
        return np.ones((len(raw.class_bytes), 1))
    crossed, requested = raw.crossed_bytes[:, :-1], raw.crossed_bytes[:, -1:]
    return np.divide(crossed, requested, out=np.zeros_like(crossed), where=requested > 0)


def _by_chance(system: System, raw: RawRun, links: NDArray[np.float64]) -> NDArray[np.float64]:
    """(L,) How much of each link's load may be chance: which of many links a message crosses is drawn.

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
    luck: NDArray[np.float64] = SIGNIFICANT * links * relative
    return luck


def growth(raw: RawRun) -> tuple[float, float]:
    """(jobs left behind per arrival over the window, the same in standard errors).

    The window is cut into stretches of equally many arrivals; in each the number in the system
    changes by D. Mean D over its standard error is large only when the number grows stretch after
    stretch: in a stable system the changes cancel, so this errs on the side of stable.
    """
    change = np.diff(raw.open_at)
    error = float(np.std(change, ddof=1)) / len(change) ** 0.5
    mean = float(np.mean(change))
    score = mean / error if error > 0 else (np.inf if mean > 0 else 0.0)
    return mean * len(change) / raw.collected.jobs, float(score)


def backlog(raw: RawRun) -> tuple[float, float]:
    """(jobs in the system at the end of the window, the usual number: the median over the marks).

    A window ends in a backlog when the first exceeds the second by more than :data:`BACKLOG` of the
    jobs measured, so that the means depend on where the window ends, and by more than
    :data:`UNUSUAL` · √(1 + usual), which a system without queues does not reach (its number is
    Poisson).
    """
    return float(raw.open_at[-1]), float(np.median(raw.open_at))


def judge(system: System, raw: RawRun) -> tuple[State, str]:
    """State of the run, and the reason when it is not stable."""
    executors, links = offered_load(system, raw)
    certain = links - _by_chance(system, raw, links)
    worst = int(np.argmax(certain))
    link = "the link" if system.topology is None else f"link {system.link_names[worst]!r}"
    for load, sure, resource, remedy in (
        (executors, executors, "the executors", "add servers or lower the rates"),
        (links[worst], certain[worst], link, "raise its capacity, or keep more on one server"),
    ):
        if sure >= 1:
            return "overloaded", f"The load offered to {resource} is {load:.3g} of capacity; {remedy}."
    jobs, tally = raw.collected.jobs, raw.collected.tally
    unfinished = int(tally.arrived.sum() - tally.completed.sum())
    if unfinished:
        return "overloaded", (
            f"{unfinished} of {jobs} measured jobs were not complete when the run was cut off; some "
            "resource is overloaded, or some jobs starve."
        )
    left_behind, score = growth(raw)
    if left_behind > MATERIAL and score > SIGNIFICANT:
        return "overloaded", (
            f"The number of jobs in the system kept growing, by {left_behind:.2g} per arrival; some "
            "resource is overloaded."
        )
    there, usual = backlog(raw)
    if there - usual > max(BACKLOG * jobs, UNUSUAL * (1 + usual) ** 0.5):
        return "backlogged", (
            f"{there:.0f} jobs were in the system at the end of the window, usually {usual:.0f}; measure "
            "more jobs, as the means depend on where this window ends."
        )
    return "stable", ""
