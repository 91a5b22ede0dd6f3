"""A sweep of two numbers: at each value of the second, a sweep of the first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from nona.report.sweeps.grid import GridCurves
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.sweeps.curves import curves
from nona.study.sweeps.next_values import spread_order
from nona.study.sweeps.settings import GridSettings, check_grid


def grid(
    scenario: Scenario,
    settings: GridSettings,
    sources: Sources | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[GridCurves]:
    """Sweep two numbers, and report after every step; the last report has ``fraction`` 1.

    Rows far apart come first. Each is a sweep of the first number as :func:`nona.study.sweeps.curves.curves`
    makes it, at its values alone, with the same random numbers; parameters and errors are the same.
    """
    check_grid(scenario, settings)
    begin, shared = time.perf_counter(), cache or StudyCache()
    row_settings = replace(settings.sweep, edges=False)
    second = settings.second
    found = GridCurves(second.key, second.label, second.unit, settings.values, {}, "", 0.0, 0.0)
    order = spread_order(len(settings.values))
    for done, i in enumerate(order):
        value = settings.values[i]
        row = second.set(scenario, value)
        for told in curves(
            row, row_settings, sources, engine=engine, workers=workers, cache=shared, check=check
        ):
            found = replace(
                found,
                rows={**found.rows, value: told},
                stage=f"{done + 1} of {len(order)} rows",
                fraction=min((done + told.fraction) / len(order), 1.0),
                seconds=time.perf_counter() - begin,
            )
            yield found
