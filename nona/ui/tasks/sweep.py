"""The worker's part of a sweep: curve after curve, told as they come."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona.report.plain import plain
from nona.report.sweeps.report import Curves, sweep_report
from nona.simulation.engines import AUTO, engine_named
from nona.sources import Sources
from nona.study import Study
from nona.study.curves import curves
from nona.ui.jobs.desk import Desk
from nona.ui.sweep.settings import from_plain

TELL_EVERY_S = 0.8
TEXTS = {
    "coarse": "A first look at every value",
    "replications": "More runs for the intervals",
    "edges": "Looking for the edges of stability",
    "bends": "More values where curves bend",
    "done": "Done",
}


def sweep_scenario(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Sweep as ``spec["sweep"]`` says; ``live`` and the result are the report with ``settings`` beside.

    Raises
    ------
    NonaError
        For values that the scenario does not allow.
    """
    settings = from_plain(prepared.scenario, spec["sweep"])
    sources = Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)
    last = 0.0
    told: Curves | None = None
    for told in curves(
        prepared.scenario,
        settings,
        sources,
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
