"""Simulated completion times of a placement, by random numbers that no choice has seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nona.core.arrays import Bools, Floats
from nona.core.statistics import BATCHES, mean_interval, overlapping_batch_means
from nona.core.verdict import share_within
from nona.queries.placement.result import Placement, Queries
from nona.queries.placement.results import SimulatedModel, SimulatedPlacement, SimulatedTimes
from nona.queries.schedulers.sampling import NONA
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.simulation.collected import over_bound
from nona.queries.simulation.run import AUTO, RunOptions, RunTimes, engine_named, job_times
from nona.queries.system import System
from nona.queries.workflows.race import SLOWER, events_per_job

FIGURE_EVENTS = 400_000  # tasks and background arrivals behind reported figures, about
RUNS = 5
_FEWEST = 200  # jobs of a run
_FIRST = 3_000_000  # number of the first replication: nobody else uses these random numbers


def simulated_figures(system: System, queries: Queries, shares: Floats | None) -> SimulatedPlacement:
    """Simulate a placement in :data:`RUNS` runs of about :data:`FIGURE_EVENTS` events in all.

    Figures of two placements have common random numbers.
    """
    engine = engine_named(AUTO)
    slower = SLOWER if engine == "simpy" else 1
    jobs = max(round(FIGURE_EVENTS / slower / events_per_job(system) / RUNS), _FEWEST)
    warmup = min(max(jobs // 2, 1), 1000)
    tables = build_tables(system, queries, shares=shares, aligned=True)
    runs = []
    for number in range(RUNS):
        options = RunOptions(
            jobs=jobs, warmup=warmup, replication=_FIRST + number, engine=engine, tail_jobs=jobs + warmup
        )
        runs.append(job_times(system, NONA, tables, options))
    figures = figures_of(system, runs)
    if not figures.steady:
        return figures
    hits = [over_bound(run.times_s, system.slo_s[run.query]) <= 1 for run in runs]
    return SimulatedPlacement.from_fields(
        figures,
        run_means=tuple(run.times_s.mean() for run in runs),
        run_hits=tuple(of_run.mean() for of_run in hits) if all(map(len, hits)) else (),
    )


def figures_of(system: System, runs: Sequence[RunTimes]) -> SimulatedPlacement:
    """Figures of a placement from its runs; fewer than :data:`RUNS` give the interval by batch means."""
    slo_s, steady = system.slo_s, all(run.steady for run in runs)
    every = [np.ones(len(run.query), dtype=bool) for run in runs]
    return SimulatedPlacement.from_fields(
        _simulated_times(runs, every, slo_s, steady),
        models={
            q.name: SimulatedModel.from_fields(
                _simulated_times(runs, [run.query == j for run in runs], slo_s, steady), slo_s=q.slo_s
            )
            for j, q in enumerate(system.queries)
        },
        steady=steady,
        jobs=sum(len(run.query) for run in runs),
    )


def simulated(system: System, placement: Placement) -> Placement:
    """Return the placement with simulated figures."""
    return replace(placement, simulated=simulated_figures(system, placement.queries, placement.class_shares))


def _simulated_times(
    runs: Sequence[RunTimes], kept: Sequence[Bools], slo_s: Floats, steady: bool
) -> SimulatedTimes:
    """Return mean, interval, percentiles and late share of the kept jobs of all runs."""
    times = [run.times_s[k] for run, k in zip(runs, kept, strict=True)]
    over = [over_bound(run.times_s[k], slo_s[run.query[k]]) for run, k in zip(runs, kept, strict=True)]
    hits = share_within([ratios for ratios in over if len(ratios)], BATCHES)
    misses = None if hits.mean is None else 1.0 - hits.mean
    whole = np.concatenate(times)
    if not steady or not len(whole):
        return SimulatedTimes(mean=None, ci95=None, p50=None, p95=None, p99=None, misses=misses)
    filled = [t for t in times if len(t)]
    interval = (
        mean_interval([t.mean() for t in filled]) if len(filled) >= RUNS else overlapping_batch_means(whole)
    )
    p50, p95, p99 = np.percentile(whole, (50, 95, 99)).tolist()
    mean, half = float(whole.mean()), interval.half_width  # runs have not equally many jobs of a row
    return SimulatedTimes(
        mean=mean,
        ci95=None if math.isnan(half) else (mean - half, mean + half),
        p50=p50,
        p95=p95,
        p99=p99,
        misses=misses,
        misses_ci95=None if hits.ci95 is None else (1.0 - hits.ci95[1], 1.0 - hits.ci95[0]),
    )
