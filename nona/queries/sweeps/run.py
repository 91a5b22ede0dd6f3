"""Sweeps of one number or two: every scheduler at every value, then where curves need more of them.

One replication of every scheduler at values far apart and then between them; the other replications;
bisection towards each scheduler's edges of stability; more values where a curve bends; in a sweep of the
load, the servers that it needs. Every scheduler, at every value, sees the same random numbers: arrivals,
services and background are drawn from streams with names of their own, and only scaled by the swept number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar, Unpack

from nona.core.count_search import edge, run_search
from nona.core.experiments import do_nothing
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.sweeps.numbers import number_named
from nona.queries.sweeps.results import GridRequest, GridRow, SweepGrid, SweepReport, SweepRequest
from nona.queries.sweeps.sweep_points import (
    DONE,
    SweepPoints,
    SweepRunOptions,
    check_grid,
    check_settings,
    find_servers,
    swept_scenario,
)
from nona.queries.sweeps.values import bends, bisection, sign_changes, spread_order
from nona.queries.workflows.cache import PreparationCache
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

FIRST = 5  # values of the first wave
BENDS = 3  # values more per scheduler, at most
R = TypeVar("R")
OnSweepProgress = Callable[[float, str, Callable[[], R]], object]
"""Hears the share of the work that is done, what is done now, and what gives the results so far."""
OnShare = Callable[[float], None]
_NO_SOURCES = Sources()


def sweep(
    scenario: Scenario,
    settings: SweepRequest,
    sources: Sources = _NO_SOURCES,
    on_progress: OnSweepProgress[SweepReport] = do_nothing,
    **how: Unpack[SweepRunOptions],
) -> SweepReport:
    """Sweep one number of the scenario: simulate every scheduler at each value.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    settings : SweepRequest
        The number, its values, the schedulers and the target.
    sources : Sources, optional
        Where the scenario's files are; by default the shipped samples only.
    on_progress : callable, optional
        Gets the share of the work done (0 to 1), the stage, and a function that returns the report so far.
    **how : SweepRunOptions
        Engine, workers, cache and check.

    Returns
    -------
    SweepReport
        The curve of every scheduler with intervals, and the limits between steady state and overload.

    Raises
    ------
    NonaError
        For settings that cannot be swept, before any work is done, and for a scenario that cannot run.
    """
    check_settings(scenario, settings)
    with SweepPoints(partial(swept_scenario, scenario, settings), settings, sources, **how) as sweep_points:
        for name, stage in STAGES.items():

            def on_share(share: float, name: str = name, stage: Stage = stage) -> None:
                fraction = stage.begin + (stage.end - stage.begin) * min(share, 0.999)
                on_progress(fraction, stage.text, lambda: sweep_points.report(name))

            stage.work(sweep_points, on_share)
        return sweep_points.report(DONE)


def _coarse(sweep_points: SweepPoints, on_share: OnShare) -> None:
    """Simulate a few values far apart first, so that all curves appear early; then those between.

    Within each wave schedulers that need no placement go before those that wait for it to be solved.
    """
    names, values = sweep_points.settings.schedulers, sweep_points.settings.values
    placed = [n for n in names if get_scheduler(n).needs_placement]
    groups = [g for g in ([n for n in names if n not in placed], placed) if g]
    order = spread_order(len(values))
    waves = [order[:FIRST], order[FIRST:]]
    steps = [(group, i) for wave in waves for group in groups for i in wave]
    for done, (group, i) in enumerate(steps, 1):
        sweep_points.simulate(values[i], group, 1)
        on_share(done / len(steps))


def _replications(sweep_points: SweepPoints, on_share: OnShare) -> None:
    values = sweep_points.settings.values
    for done, i in enumerate(spread_order(len(values)), 1):
        sweep_points.replicate(values[i], sweep_points.settings.schedulers)
        on_share(done / len(values))


def _edges(sweep_points: SweepPoints, on_share: OnShare) -> None:
    names = sweep_points.settings.schedulers if sweep_points.settings.edges else ()
    for done, name in enumerate(names):

        def measured(value: float, name: str = name, share: float = done / len(names)) -> bool:
            stable = sweep_points.measure(value, name)
            on_share(share)
            return stable

        _bisect(sweep_points, sweep_points.steady(name), measured)
        _bisect(sweep_points, sweep_points.predictable(name), partial(sweep_points.predict, name=name))
        on_share((done + 1) / len(names))


def _bisect(sweep_points: SweepPoints, steady: Mapping[float, bool], judge: Callable[[float], bool]) -> None:
    """Judge values towards each edge between two that are known."""
    for low, high in sign_changes(list(steady.items())):
        inside, outside = (low, high) if steady[low] else (high, low)
        run_search(edge(inside, outside, bisection(sweep_points.number.unit, _span(sweep_points))), judge)


def _bends(sweep_points: SweepPoints, on_share: OnShare) -> None:
    names = sweep_points.settings.schedulers if sweep_points.settings.edges else ()
    for done, name in enumerate(names):
        for _ in range(BENDS):
            new = bends(sweep_points.stable_means(name), sweep_points.number.unit, _span(sweep_points), 1)
            if not new or new[0] in sweep_points.points[name]:
                break
            sweep_points.measure(new[0], name)
            on_share(done / len(names))


def _span(sweep_points: SweepPoints) -> float:
    return sweep_points.settings.values[-1] - sweep_points.settings.values[0]


class Stage(NamedTuple):
    """A part of a sweep, from ``begin`` to ``end`` of the whole, measured on the shipped five models."""

    work: Callable[[SweepPoints, OnShare], None]
    text: str
    begin: float
    end: float


STAGES = {
    "coarse": Stage(_coarse, "A first look at every value", 0.0, 0.45),
    "replications": Stage(_replications, "More runs for the intervals", 0.45, 0.8),
    "edges": Stage(_edges, "Looking for the edges of stability", 0.8, 0.9),
    "bends": Stage(_bends, "More values where curves bend", 0.9, 0.95),
    "servers": Stage(find_servers, "How many servers more load needs", 0.95, 1.0),
}


def sweep_grid(
    scenario: Scenario,
    settings: GridRequest,
    sources: Sources = _NO_SOURCES,
    on_progress: OnSweepProgress[SweepGrid] = do_nothing,
    **how: Unpack[SweepRunOptions],
) -> SweepGrid:
    """Sweep two numbers of the scenario.

    Rows far apart come first. Each row is a sweep of the first number, with the same random numbers.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    settings : GridRequest
        The sweep of the first number, and the second number with its values.
    sources, on_progress, **how
        As for :func:`sweep`.

    Returns
    -------
    SweepGrid
        A sweep of the first number for each value of the second.

    Raises
    ------
    NonaError
        As for :func:`sweep`.
    """
    check_grid(scenario, settings)
    begin, rows = time.perf_counter(), dict[float, SweepReport]()
    how["cache"] = how.get("cache") or PreparationCache()
    row_settings = settings.sweep.model_copy(update={"edges": False})
    second, order = number_named(scenario, settings.second), spread_order(len(settings.values))

    def report(rows: Mapping[float, SweepReport]) -> SweepGrid:
        return SweepGrid(
            key=second.key,
            label=second.label,
            unit=second.unit,
            values=settings.values,
            rows=tuple(GridRow(value=v, sweep=rows[v]) for v in sorted(rows)),
            complete=len(rows) == len(order) and all(row.complete for row in rows.values()),
            seconds=time.perf_counter() - begin,
        )

    for done, i in enumerate(order):
        value = settings.values[i]

        def on_share(
            fraction: float,
            text: str,
            row: Callable[[], SweepReport],
            done: int = done,
            value: float = value,
        ) -> None:
            share, text = (done + fraction) / len(order), f"{done + 1} of {len(order)} rows"
            on_progress(share, text, lambda: report({**rows, value: row()}))

        rows[value] = sweep(second.with_value(scenario, value), row_settings, sources, on_share, **how)
    return report(rows)
