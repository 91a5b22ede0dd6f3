"""Whether a run had a steady state: by the load offered, by growth, by jobs left behind.

Luck must not decide. The offered load uses nominal rates and mean services, with only the mean
work and bytes a job measured in the run: neither the noise of arrivals nor that of service draws is
in it. Growth catches what sums over resources miss, such as one executor that gets too much; it is
tested against its own fluctuation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.simulation.arrivals import effective_rate
from nona.simulation.records import RawRun, State
from nona.system import System

BLOCKS = 20
SIGNIFICANT = 4.0  # standard errors
MATERIAL = 0.02  # jobs left behind per job that arrives


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
    """(L,) How much of each link's load may be luck: which of many links a message crosses is drawn.

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


def growth(raw: RawRun, jobs: int) -> tuple[float, float]:
    """(jobs left behind per arrival over the window, the same in standard errors).

    The window is cut into blocks; in each the number in the system changes by D. Mean D over its
    standard error is large only when the number grows block after block: in a stable system the
    changes cancel, so this errs on the side of stable.
    """
    first, last = raw.first_measured, raw.first_measured + jobs - 1
    borders = np.linspace(raw.arrival_s[first], raw.arrival_s[last], BLOCKS + 1)
    gone = np.sort(raw.completion_s[~np.isnan(raw.completion_s)])
    inside = np.searchsorted(raw.arrival_s, borders, "right") - np.searchsorted(gone, borders, "right")
    change = np.diff(inside)
    error = float(np.std(change, ddof=1)) / BLOCKS**0.5
    mean = float(np.mean(change))
    score = mean / error if error > 0 else (np.inf if mean > 0 else 0.0)
    return mean * BLOCKS / jobs, float(score)


def judge(system: System, raw: RawRun, jobs: int) -> tuple[State, str]:
    """State of the run, and the reason when it is overloaded."""
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
    cohort = raw.completion_s[raw.first_measured : raw.first_measured + jobs]
    unfinished = int(np.isnan(cohort).sum())
    if unfinished:
        return "overloaded", (
            f"{unfinished} of {jobs} measured jobs were not complete when the run was cut off; "
            "some resource gets more than it can serve, or some jobs starve."
        )
    left_behind, score = growth(raw, jobs)
    if left_behind > MATERIAL and score > SIGNIFICANT:
        return "overloaded", (
            f"The number of jobs in the system grew all the time, by {left_behind:.2g} per arrival; "
            "some resource gets more than it can serve."
        )
    return "stable", ""
