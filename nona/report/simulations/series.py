"""Series for charts, condensed from records: a few hundred points, whatever the number of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nona.report.simulations.links import busiest_links, each_link
from nona.results.simulation.series import (
    Distribution,
    Distributions,
    GanttBar,
    OverTime,
    ResourceLoad,
)
from nona.simulation.records.run import Records
from nona.system import System

Runs = Mapping[str, Sequence[Records]]
POINTS = 240


def ecdf_series(runs: Runs, names: Sequence[str]) -> Distributions:
    """Empirical distribution of the JCT.

    All replications together. Jobs that did not finish count in the denominator, so that the curve
    ends below 1 where some did not. Overloaded runs are shown as what happened in them.
    """
    return {
        scheduler: {
            "all": _ecdf(np.concatenate([r.completion_time_s for r in records])),
            **{
                name: _ecdf(np.concatenate([r.completion_time_s[r.query == j] for r in records]))
                for j, name in enumerate(names)
            },
        }
        for scheduler, records in runs.items()
    }


def _ecdf(values: NDArray[np.float64]) -> Distribution:
    done = np.sort(values[~np.isnan(values)])
    if not len(done):
        return Distribution(x=(), y=())
    ranks = np.unique(np.linspace(0, len(done) - 1, min(POINTS, len(done))).round().astype(int))
    return Distribution(x=tuple(done[ranks].tolist()), y=tuple(((ranks + 1) / len(values)).tolist()))


def jct_over_time(runs: Runs, bins: int = 80) -> dict[str, OverTime]:
    """Mean JCT of the jobs that arrived in each interval of the first replication's window."""
    return {
        scheduler: _binned(records[0].arrival_s - records[0].window_s[0], records[0].completion_time_s, bins)
        for scheduler, records in runs.items()
        if records
    }


def _binned(at: NDArray[np.float64], value: NDArray[np.float64], bins: int) -> OverTime:
    done = ~np.isnan(value)
    at, value = at[done], value[done]
    if not len(at):
        return OverTime(t=(), jct_s=())
    edges = np.linspace(at.min(), max(at.max(), at.min() + 1e-9), min(bins, len(at)) + 1)
    place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    sums = np.bincount(place, weights=value, minlength=len(edges) - 1)
    used = counts > 0
    middle = (edges[:-1] + edges[1:]) / 2
    return OverTime(t=tuple(middle[used].tolist()), jct_s=tuple((sums[used] / counts[used]).tolist()))


def executor_load(runs: Runs) -> dict[str, ResourceLoad]:
    """Scheduler → utilisation of each executor, of the busiest links, averaged over replications."""
    load: dict[str, ResourceLoad] = {}
    for scheduler, records in runs.items():
        lengths = [max(r.window_s[1] - r.window_s[0], 1e-300) for r in records]
        pairs = list(zip(records, lengths, strict=True))
        load[scheduler] = ResourceLoad(
            executors=tuple(np.mean([r.executor_busy_s / n for r, n in pairs], axis=0).tolist()),
            link=float(np.mean([r.link_busy_s.max() / n for r, n in pairs])),
            links=tuple(busiest_links(records)),
            each_link=tuple(each_link(records)),
        )
    return load


def gantt_rows(runs: Runs, system: System) -> dict[str, tuple[GanttBar, ...]]:
    """Scheduler → the first measured jobs' task and message intervals; times from the first request."""
    return {
        scheduler: _gantt(records[0], system)
        for scheduler, records in runs.items()
        if records and records[0].timeline and records[0].timeline.tasks
    }


def _place(system: System, executor: int) -> str:
    """The executor's server, and its own number where servers have several."""
    server = int(system.executor_server[executor])
    several = len(set(system.executor_server.tolist())) < system.executors
    return f"server {server} · executor {executor}" if several else f"server {server}"


def _gantt(record: Records, system: System) -> tuple[GanttBar, ...]:
    timeline = record.timeline
    if timeline is None:
        return ()
    begin = min(t.ready_s for t in timeline.tasks)
    tasks = (
        GanttBar(
            row=_place(system, t.executor),
            job=t.job,
            model=system.queries[t.query].name,
            what=system.queries[t.query].tasks.task_ids[t.task],
            start_s=t.start_s - begin,
            end_s=t.end_s - begin,
            wait_s=t.start_s - t.ready_s,
        )
        for t in timeline.tasks
    )
    messages = (
        GanttBar(
            row="link",
            job=m.job,
            model=system.queries[m.query].name,
            what=f"message to server {m.destination}",
            start_s=m.start_s - begin,
            end_s=m.end_s - begin,
            wait_s=m.start_s - m.request_s,
        )
        for m in timeline.messages
    )
    return (*tasks, *messages)
