"""What every run tests on itself, from its records alone.

The records say who was on which GPUs from when to when. What the engine added up as it went (busy time,
steps, jobs in the system) must agree with what follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.simulation.records.run import Check
from nona.training.model.system import TrainingSystem
from nona.training.records.run import TrainingRecords
from nona.training.records.spans import Spans, spans_of

CLOCK_S = 1e-6
TOLERANCE = 1e-9  # relative, of sums


def run_checks(system: TrainingSystem, records: TrainingRecords) -> tuple[Check, ...]:
    """All checks of one run."""
    spans = spans_of(records)
    return (
        _steps(system, records),
        _capacity(system, spans),
        _gpus_once(system, spans),
        _jobs_once(spans),
        _busy(records, spans),
        _causality(records, spans),
        _little(system, records),
    )


def checks_of(system: TrainingSystem, runs: Sequence[TrainingRecords]) -> tuple[Check, ...]:
    """Each check over all replications: it holds if it held in every one; else the first that did not."""
    rows = [run_checks(system, run) for run in runs]
    return tuple(next((c for c in same if not c.ok), same[0]) for same in zip(*rows, strict=True))


def _steps(system: TrainingSystem, records: TrainingRecords) -> Check:
    """A complete job did the steps it asked for, another one fewer; none did more."""
    complete = ~np.isnan(records.completion_s)
    slack = TOLERANCE * records.asked
    whole = np.abs(records.done - records.asked) <= slack
    more = records.done > records.asked + slack
    wrong = np.flatnonzero(np.where(complete, ~whole, more))
    told = f"{int(complete.sum())} of {len(complete)} jobs complete; {len(wrong)} with other steps than asked"
    return Check("steps done = steps asked", not len(wrong), told)


def most_at_once(place: Ints, start_s: Floats, end_s: Floats, amount: Floats, places: int) -> Floats:
    """(places,) the most that is held at one time; what ends at an instant is free for what starts then."""
    most = np.zeros(places)
    for p in range(places):
        own = (place == p) & (end_s > start_s)
        times = np.concatenate([start_s[own], end_s[own]])
        change = np.concatenate([amount[own], -amount[own]])
        order = np.lexsort((change, times))
        most[p] = np.cumsum(change[order]).max(initial=0.0)
    return most


def _capacity(system: TrainingSystem, spans: Spans) -> Check:
    """At no time are more GPUs of a type given than there are."""
    types = system.cluster.types
    there = np.array([system.cluster.gpus[t] for t in types], float)
    counts = np.diff(spans.at).astype(float)
    most = most_at_once(spans.kind, spans.start_s, spans.end_s, counts, len(types))
    told = ", ".join(f"{t} {m:.0f} of {n:.0f}" for t, m, n in zip(types, most, there, strict=True))
    return Check("allocation within capacity", bool((most <= there).all()), f"most GPUs at once: {told}")


def _gpus_once(system: TrainingSystem, spans: Spans) -> Check:
    """No GPU is given twice: on each, a span starts when the one before it has ended."""
    types = system.cluster.types
    there = np.array([system.cluster.gpus[t] for t in types])
    each = np.repeat(np.arange(len(spans.kind)), np.diff(spans.at))
    kind = spans.kind[each]
    known = bool((spans.gpus >= 0).all() and (spans.gpus < there[kind]).all())
    overlaps = _overlaps(kind * (int(there.max()) + 1) + spans.gpus, spans.start_s[each], spans.end_s[each])
    told = f"{len(each)} times that a GPU was given, {overlaps} while it was taken"
    return Check("no GPU given twice", known and not overlaps, told)


def _jobs_once(spans: Spans) -> Check:
    """No job of a round is in two places at once."""
    n = spans.placed
    both = spans.second[:n] >= 0
    jobs = np.concatenate([spans.first[:n], spans.second[:n][both]])
    start = np.concatenate([spans.start_s[:n], spans.start_s[:n][both]])
    end = np.concatenate([spans.end_s[:n], spans.end_s[:n][both]])
    overlaps = _overlaps(jobs, start, end)
    return Check("no job in two places", not overlaps, f"{len(jobs)} stays, {overlaps} at the same time")


def _overlaps(key: Ints, start_s: Floats, end_s: Floats) -> int:
    """How many intervals start before the one before them on the same key has ended."""
    order = np.lexsort((start_s, key))
    key, start_s, end_s = key[order], start_s[order], end_s[order]
    return int(((key[1:] == key[:-1]) & (start_s[1:] < end_s[:-1] - CLOCK_S)).sum())


def _busy(records: TrainingRecords, spans: Spans) -> Check:
    """GPU-seconds booked on types, and seconds booked on jobs, are those of the spans."""
    jobs, types = records.busy_s.shape
    seconds = spans.end_s - spans.start_s
    found = np.bincount(spans.kind, spans.gpu_s, types)
    type_error = np.abs(found - records.booked_s).max(initial=0.0)
    placed = np.arange(len(seconds)) < spans.placed
    of_job = spans.of_jobs(np.where(placed, seconds, 0.0), jobs, split=False)
    held = np.unique(spans.first[~placed])
    own = records.busy_s.sum(axis=1)
    job_error = np.abs(np.delete(of_job - own, held)).max(initial=0.0)
    limit = CLOCK_S + TOLERANCE * max(float(found.max(initial=0.0)), float(own.max(initial=0.0)))
    told = f"GPU-seconds differ by {type_error:.2g} of {found.sum():.6g}, seconds of a job by {job_error:.2g}"
    return Check("busy time = booked time", bool(type_error <= limit and job_error <= limit), told)


def _causality(records: TrainingRecords, spans: Spans) -> Check:
    """Jobs run after they came, and are complete when their last stay ends."""
    jobs = len(records.arrival_s)
    last = np.full(jobs, -np.inf)
    np.maximum.at(last, spans.first, spans.end_s)
    both = spans.second >= 0
    np.maximum.at(last, spans.second[both], spans.end_s[both])
    early = spans.start_s < records.arrival_s[spans.first] - CLOCK_S
    complete = ~np.isnan(records.completion_s)
    wrong = np.abs(last[complete] - records.completion_s[complete]) > CLOCK_S
    told = f"{int(early.sum())} stays before the arrival, {int(wrong.sum())} completions not at a stay's end"
    return Check("no run before arrival, none after completion", not early.any() and not wrong.any(), told)


def _little(system: TrainingSystem, records: TrainingRecords) -> Check:
    """Jobs in the system, summed over the rounds, are the time that jobs were there (Little's law, L = λW).

    A job counts from its first round to the end of the round in which it is complete.
    """
    length = records.round_end_s - records.round_start_s
    clock = np.concatenate([[0.0], np.cumsum(length)])
    seen = ~np.isnan(records.admitted_s)
    seen &= np.array([job.kind == "training" for job in system.jobs])
    first = np.searchsorted(records.round_start_s, records.admitted_s[seen] - CLOCK_S)
    end = np.where(np.isnan(records.completion_s), np.inf, records.completion_s)[seen]
    last = np.minimum(np.searchsorted(records.round_end_s, end - CLOCK_S) + 1, len(length))
    there = float(np.maximum(clock[last] - clock[np.minimum(first, len(length))], 0.0).sum())
    counted = float(((records.running + records.waiting) * length).sum())
    ok = abs(there - counted) <= CLOCK_S + TOLERANCE * max(there, counted)
    return Check("Little's law", ok, f"{counted:.6g} job-seconds in rounds, {there:.6g} of jobs")
