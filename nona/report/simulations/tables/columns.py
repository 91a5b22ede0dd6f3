"""The columns that tables of results choose from: key, heading, unit, and what they read of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from nona.report.simulations.tables.rows import ResultRow
from nona.results.estimate import Estimate
from nona.results.simulation.report import JobCounts, PartName

Unit = Literal["text", "s", "rate", "share", "count"]
Value = Estimate | float | int | str | None
PARTS: Mapping[PartName, str] = {
    "compute": "compute",
    "transfer": "transfer",
    "link_wait": "wait at links",
    "server_wait": "wait at servers",
    "own_wait": "wait for own tasks",
}
PERCENTILES = ("p50", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes
    ----------
    key
        What it is chosen by, and its name among plain numbers, there with the unit's ending.
    heading
        Its heading for people.
    unit
        ``s``: times; ``rate``: hit rates, ``share``: utilisations, both fractions; ``count``; ``text``.
    read
        Its value in a row; ``None`` where there is none.
    interval
        Whether its values are means, which may have an interval.
    """

    key: str
    heading: str
    unit: Unit
    read: Callable[[ResultRow], Value]
    interval: bool = False


def _percentile(name: str) -> Column:
    return Column(f"jct_{name}", name, "s", lambda r: r.percentiles[name].as_mean, interval=True)


def _part(name: PartName) -> Column:
    return Column(name, PARTS[name], "s", lambda r: r.parts.by_name()[name])


def _jobs(heading: str, read: Callable[[JobCounts], int]) -> Column:
    key = f"jobs_{heading.replace(' ', '_')}"
    return Column(key, heading, "count", lambda r: None if r.jobs is None else read(r.jobs))


COLUMNS: Mapping[str, Column] = {
    c.key: c
    for c in (
        Column("scheduler", "scheduler", "text", lambda r: r.scheduler),
        Column("model", "model", "text", lambda r: r.model),
        Column("state", "state", "text", lambda r: r.state),
        Column("jct", "mean JCT", "s", lambda r: r.jct, interval=True),
        Column("jct_mean", "JCT", "s", lambda r: r.jct.mean),
        Column("predicted", "predicted", "s", lambda r: r.prediction),
        *map(_percentile, PERCENTILES),
        Column("slo_hit_rate", "SLO hits", "rate", lambda r: r.slo_hit_rate, interval=True),
        Column("slo", "SLO", "s", lambda r: r.slo_s),
        *map(_part, PARTS),
        Column("utilization_compute", "executors", "share", lambda r: r.utilization.compute),
        Column("utilization_network", "link", "share", lambda r: r.utilization.network),
        _jobs("arrived", lambda jobs: jobs.arrived),
        _jobs("completed", lambda jobs: jobs.completed),
        _jobs("in flight", lambda jobs: jobs.in_flight),
        Column("replications", "replications", "count", lambda r: r.replications),
    )
}


def columns(*wanted: str | tuple[str, str]) -> tuple[Column, ...]:
    """Columns by their keys, each as it is or, as (key, heading), under another heading.

    >>> [c.heading for c in columns("scheduler", ("jct", "JCT"))]
    ['scheduler', 'JCT']
    """
    return tuple(COLUMNS[w] if isinstance(w, str) else replace(COLUMNS[w[0]], heading=w[1]) for w in wanted)


def headings(chosen: tuple[Column, ...]) -> tuple[str, ...]:
    """Their headings, in order."""
    return tuple(c.heading for c in chosen)


RESULTS = columns(
    "scheduler",
    "state",
    "jct",
    "predicted",
    "slo_hit_rate",
    "utilization_compute",
    "utilization_network",
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "jobs_completed",
    "jobs_in_flight",
)
"""One row per scheduler, as pages and the HTML report show it."""
