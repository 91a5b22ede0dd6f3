"""The worker's part of a sweep: curve after curve, reported as computed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from nona.errors import JobError
from nona.report.sweeps.report import Curves, sweep_report
from nona.results.sweep import SweepOutcome, SweepRequest
from nona.scenario.schema import Scenario
from nona.simulation.engines import AUTO, engine_named
from nona.study.sweeps.curves import curves
from nona.study.sweeps.numbers import number_named
from nona.study.sweeps.settings import SweepSettings
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import sources_of, study_of

TELL_EVERY_S = 0.8
TEXTS = {
    "coarse": "A first look at every value",
    "replications": "More runs for the intervals",
    "edges": "Looking for the edges of stability",
    "bends": "More values where curves bend",
    "done": "Done",
}


def sweep_scenario(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Sweep as ``spec["sweep"]`` says; ``live`` and the result are a :class:`SweepOutcome`.

    Raises
    ------
    NonaError
        For values that the scenario does not allow.
    """
    scenario = study_of(spec, desk).scenario
    request = SweepRequest.from_json(spec["sweep"])
    settings = settings_from(scenario, request)
    last = 0.0
    told: Curves | None = None
    for told in curves(
        scenario,
        settings,
        sources_of(spec),
        engine=engine_named(AUTO),
        cache=desk.cache,
        check=desk.check,
    ):
        if time.monotonic() - last >= TELL_EVERY_S:
            last = time.monotonic()
            live = _outcome(told, request).to_json()
            desk.emit({"fraction": told.fraction, "text": TEXTS[told.stage], "live": live})
    if told is None:
        raise JobError("Sweep: nothing was swept; choose at least one value.")
    return _outcome(told, request).to_json()


def _outcome(told: Curves, request: SweepRequest) -> SweepOutcome:
    return SweepOutcome(**dict(sweep_report(told)), settings=request)


def request_of(settings: SweepSettings) -> SweepRequest:
    """The settings as a job takes them."""
    return SweepRequest(
        number=settings.number.key,
        values=settings.values,
        schedulers=settings.schedulers,
        jobs=settings.jobs,
        replications=settings.replications,
        edges=settings.edges,
    )


def settings_from(scenario: Scenario, request: SweepRequest) -> SweepSettings:
    """What :func:`request_of` wrote; raises when the scenario has no such number."""
    return SweepSettings(
        number_named(scenario, request.number),
        request.values,
        request.schedulers,
        request.jobs,
        request.replications,
        request.edges,
    )
