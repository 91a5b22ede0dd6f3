"""Sweeps: point after point, reported as computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypedDict, TypeVar

from nona.errors import JobError
from nona.report.sweep_grids import GridCurves, grid_report
from nona.report.sweeps import Curves, sweep_report
from nona.results.sweeps import GridOutcome, GridRequest, SweepOutcome, SweepRequest
from nona.scenario.schema import Scenario
from nona.simulation.run import AUTO, engine_named
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.sweeps import curves, grid
from nona.ui.tasks.desk import Desk, asked_of, sources_of, study_of

Told = TypeVar("Told", Curves, GridCurves)
Outcome = TypeVar("Outcome", SweepOutcome, GridOutcome)
TELL_EVERY_S = 0.8
TEXTS = {
    "coarse": "A first look at every value",
    "replications": "More runs for the intervals",
    "edges": "Looking for the edges of stability",
    "bends": "More values where curves bend",
    "servers": "How many servers more load needs",
    "done": "Done",
}


def sweep_scenario(spec: Mapping[str, Any], desk: Desk) -> SweepOutcome:
    """Sweep one number; raises :class:`NonaError` for values that the scenario does not allow."""
    request = asked_of(spec, SweepRequest)

    def outcome(told: Curves) -> SweepOutcome:
        return SweepOutcome(**dict(sweep_report(told)), settings=request)

    return _swept(spec, desk, lambda s, how: curves(s, request, **how), lambda t: TEXTS[t.stage], outcome)


def sweep_grid(spec: Mapping[str, Any], desk: Desk) -> GridOutcome:
    """Sweep two numbers; raises :class:`NonaError` for values that the scenario does not allow."""
    request = asked_of(spec, GridRequest)

    def outcome(told: GridCurves) -> GridOutcome:
        return GridOutcome(**dict(grid_report(told)), settings=request)

    return _swept(spec, desk, lambda s, how: grid(s, request, **how), lambda t: t.stage, outcome)


class How(TypedDict):
    """The arguments of both sweeps beside their settings."""

    sources: Sources
    engine: str
    cache: StudyCache
    check: Callable[[], None]


def _swept(
    spec: Mapping[str, Any],
    desk: Desk,
    sweep: Callable[[Scenario, How], Iterator[Told]],
    text: Callable[[Told], str],
    outcome: Callable[[Told], Outcome],
) -> Outcome:
    """The last outcome; those before are reported now and then."""
    scenario = study_of(spec, desk).scenario
    steps = sweep(
        scenario,
        How(sources=sources_of(spec), engine=engine_named(AUTO), cache=desk.cache, check=desk.check),
    )
    latest = None
    for latest in steps:
        known = partial(outcome, latest)
        desk.tell(latest.fraction, text(latest), known, every_s=TELL_EVERY_S, keeps=True)
    if latest is None:
        raise JobError("Sweep: nothing was swept; choose at least one value.")
    return outcome(latest)
