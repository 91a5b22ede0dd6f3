"""Whether a run had a steady state: by the load offered, by growth, by jobs left behind.

Luck must not decide. The offered load uses nominal rates and mean services, with only the mean
work and bytes a job measured in the run: neither the noise of arrivals nor that of service draws is
in it. Growth catches what sums over resources miss, such as one executor that gets too much; it is
tested against its own fluctuation.
"""

from __future__ import annotations

import numpy as np

from nona.simulation.arrivals import effective_rate
from nona.simulation.records import RawRun, State
from nona.system import System

BLOCKS = 20
SIGNIFICANT = 4.0  # standard errors
MATERIAL = 0.02  # jobs left behind per job that arrives


def offered_load(system: System, raw: RawRun) -> tuple[float, float]:
    """(executors, link): ρ = (background + Σ rate · mean per job) / capacity to serve.

    Classes of which no job completed are left out; jobs left behind tell of them.
    """
    done = np.maximum(raw.class_completed, 1)
    rates = np.array([effective_rate(q.arrivals, q.rate) for q in system.queries])
    compute, network = system.background_compute, system.background_network
    executors = compute.rate * compute.mean + float(rates @ (raw.class_work_s / done)) / system.executors
    link = (network.rate * network.mean + float(rates @ (raw.class_bytes / done))) / system.capacity
    return executors, link


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
    executors, link = offered_load(system, raw)
    for load, resource, remedy in (
        (executors, "the executors", "add servers or lower the rates"),
        (link, "the link", "raise its capacity, or keep more on one server"),
    ):
        if load >= 1:
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
