"""SLO hits over time: what share of the jobs that arrived in each window kept their SLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.results.simulation.hits import HitsOverTime, HitWindow
from nona.results.simulation.report import SimulationReport
from nona.simulation.records.run import Records
from nona.simulation.records.tally import in_time

MOST_WINDOWS = 24
LEAST_JOBS = 30  # in a window, on average


def with_hits(
    report: SimulationReport, runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]
) -> SimulationReport:
    """The report with the SLO hits over time of every scheduler's first run."""
    return report.model_copy(update={"slo_over_time": hits_over_time(runs, slo_s)})


def hits_over_time(runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]) -> HitsOverTime:
    """Scheduler → windows of equal length over the arrivals of its first run.

    ``slo_s`` holds the SLO of each query class. Every arrived job counts, as in the hit rate of a run:
    one that was not completed has missed its SLO.
    """
    limits = np.array([np.nan if s is None else s for s in slo_s], dtype=float)
    if np.isnan(limits).all():
        return {}
    return {name: _windows(records[0], limits) for name, records in runs.items() if records}


def _windows(record: Records, limits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[HitWindow, ...]:
    limit = limits[record.query]
    counted = ~np.isnan(limit)
    at = record.arrival_s[counted] - record.window_s[0]
    if not len(at):
        return ()
    taken = record.completion_time_s[counted]
    hit = ~np.isnan(taken) & in_time(taken, limit[counted])
    number = int(min(MOST_WINDOWS, max(1, len(at) // LEAST_JOBS)))
    edges = np.linspace(min(0.0, float(at.min())), max(float(at.max()), 1e-9), number + 1)
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, number - 1)
    jobs = np.bincount(place, minlength=number).tolist()
    hits = np.bincount(place, weights=hit, minlength=number).astype(int).tolist()
    return tuple(
        HitWindow(start_s=low, end_s=high, jobs=n, hits=h, hit_rate=h / n if n else None)
        for low, high, n, h in zip(edges[:-1].tolist(), edges[1:].tolist(), jobs, hits, strict=True)
    )


def worst_window(hits: HitsOverTime) -> tuple[str, HitWindow] | None:
    """The scheduler and the window with the lowest hit rate; ``None`` where no job has an SLO."""
    known = [
        (window.hit_rate, name, window)
        for name, windows in hits.items()
        for window in windows
        if window.hit_rate is not None
    ]
    if not known:
        return None
    _, name, window = min(known, key=lambda k: k[0])
    return name, window
