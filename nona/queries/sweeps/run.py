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
from nona.queries.study.cache import StudyCache
from nona.queries.sweeps.bench import (
    DONE,
    SweepPoints,
    SweepRunOptions,
    check_grid,
    check_settings,
    find_servers,
    swept_scenario,
)
from nona.queries.sweeps.numbers import number_named
from nona.queries.sweeps.results import GridRequest, GridRow, SweepGrid, SweepReport, SweepRequest
from nona.queries.sweeps.values import bends, between, spread_order, turns
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

FIRST = 5  # values of the first wave
BENDS = 3  # values more per scheduler, at most
R = TypeVar("R")
Hear = Callable[[float, str, Callable[[], R]], object]
"""Hears the share of the work that is done, what is done now, and what gives the results so far."""
Tell = Callable[[float], None]
_NO_SOURCES = Sources()


def sweep(
    scenario: Scenario,
    settings: SweepRequest,
    sources: Sources = _NO_SOURCES,
    on_progress: Hear[SweepReport] = do_nothing,
    **how: Unpack[SweepRunOptions],
) -> SweepReport:
    """Sweep one number.

    Raises ``NonaError`` for settings that cannot be swept, before any work is done, and for a scenario that
    cannot run.
    """
    check_settings(scenario, settings)
    with SweepPoints(partial(swept_scenario, scenario, settings), settings, sources, **how) as bench:
        for name, stage in STAGES.items():

            def tell(share: float, name: str = name, stage: Stage = stage) -> None:
                fraction = stage.begin + (stage.end - stage.begin) * min(share, 0.999)
                on_progress(fraction, stage.text, lambda: bench.report(name))

            stage.work(bench, tell)
        return bench.report(DONE)


def _coarse(bench: SweepPoints, tell: Tell) -> None:
    """Simulate a few values far apart first, so that all curves appear early; then those between.

    Within each wave schedulers that need no placement go before those that wait for it to be solved.
    """
    names, values = bench.settings.schedulers, bench.settings.values
    placed = [n for n in names if get_scheduler(n).needs_placement]
    groups = [g for g in ([n for n in names if n not in placed], placed) if g]
    order = spread_order(len(values))
    waves = [order[:FIRST], order[FIRST:]]
    steps = [(group, i) for wave in waves for group in groups for i in wave]
    for done, (group, i) in enumerate(steps, 1):
        bench.simulate(values[i], group, 1)
        tell(done / len(steps))


def _replications(bench: SweepPoints, tell: Tell) -> None:
    values = bench.settings.values
    for done, i in enumerate(spread_order(len(values)), 1):
        bench.replicate(values[i], bench.settings.schedulers)
        tell(done / len(values))


def _edges(bench: SweepPoints, tell: Tell) -> None:
    names = bench.settings.schedulers if bench.settings.edges else ()
    for done, name in enumerate(names):

        def measured(value: float, name: str = name, share: float = done / len(names)) -> bool:
            stable = bench.measure(value, name)
            tell(share)
            return stable

        _bisect(bench, bench.steady(name), measured)
        _bisect(bench, bench.predictable(name), partial(bench.predict, name=name))
        tell((done + 1) / len(names))


def _bisect(bench: SweepPoints, steady: Mapping[float, bool], judge: Callable[[float], bool]) -> None:
    """Judge values towards each edge between two that are known."""
    for low, high in turns(list(steady.items())):
        inside, outside = (low, high) if steady[low] else (high, low)
        run_search(edge(inside, outside, between(bench.number.unit, _span(bench))), judge)


def _bends(bench: SweepPoints, tell: Tell) -> None:
    names = bench.settings.schedulers if bench.settings.edges else ()
    for done, name in enumerate(names):
        for _ in range(BENDS):
            new = bends(bench.stable_means(name), bench.number.unit, _span(bench), 1)
            if not new or new[0] in bench.points[name]:
                break
            bench.measure(new[0], name)
            tell(done / len(names))


def _span(bench: SweepPoints) -> float:
    return bench.settings.values[-1] - bench.settings.values[0]


class Stage(NamedTuple):
    """A part of a sweep, from ``begin`` to ``end`` of the whole, measured on the shipped five models."""

    work: Callable[[SweepPoints, Tell], None]
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
    on_progress: Hear[SweepGrid] = do_nothing,
    **how: Unpack[SweepRunOptions],
) -> SweepGrid:
    """Sweep two numbers, as :func:`sweep` does.

    Rows far apart come first. Each is a sweep of the first number at its values alone, with the same random
    numbers.
    """
    check_grid(scenario, settings)
    begin, rows = time.perf_counter(), dict[float, SweepReport]()
    how["cache"] = how.get("cache") or StudyCache()
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

        def tell(
            fraction: float,
            text: str,
            row: Callable[[], SweepReport],
            done: int = done,
            value: float = value,
        ) -> None:
            share, text = (done + fraction) / len(order), f"{done + 1} of {len(order)} rows"
            on_progress(share, text, lambda: report({**rows, value: row()}))

        rows[value] = sweep(second.set(scenario, value), row_settings, sources, tell, **how)
    return report(rows)
