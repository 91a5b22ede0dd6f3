"""The worker's part of a sweep: curve after curve, reported as computed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nona.report.plain import plain
from nona.report.sweeps.report import Curves, sweep_report
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
    """Sweep as ``spec["sweep"]`` says; ``live`` and the result are the report with ``settings`` beside.

    Raises
    ------
    NonaError
        For values that the scenario does not allow.
    """
    scenario = study_of(spec, desk).scenario
    settings = from_plain(scenario, spec["sweep"])
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
            live = plain(sweep_report(told)) | {"settings": spec["sweep"]}
            desk.emit({"fraction": told.fraction, "text": TEXTS[told.stage], "live": live})
    report = {} if told is None else sweep_report(told)
    return report | {"settings": spec["sweep"]}


def to_plain(settings: SweepSettings) -> dict[str, Any]:
    """The settings as a job takes them."""
    return asdict(settings) | {"number": settings.number.key}


def from_plain(scenario: Scenario, data: Mapping[str, Any]) -> SweepSettings:
    """The settings that :func:`to_plain` wrote; raises when the scenario has no such number."""
    return SweepSettings(
        number_named(scenario, str(data["number"])),
        tuple(float(v) for v in data["values"]),
        tuple(str(n) for n in data["schedulers"]),
        int(data["jobs"]),
        int(data["replications"]),
        bool(data["edges"]),
    )
