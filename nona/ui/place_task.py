"""Solving a placement: what the worker does, with the working and the curve of congestion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nona import study
from nona.report.working import working
from nona.study import Study
from nona.study.congestion import congestion_curve
from nona.study.outcome import now_text, placement_outcome
from nona.ui.desk import Desk


def place_scenario(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Solve, compare with local and spread, show the working, predict over the link's background."""
    desk.emit({"fraction": 0.3, "text": "Solving the placement"})
    placement = study.place(prepared, str(spec.get("solver", "parametric")), desk.cache)
    desk.emit({"fraction": 0.7, "text": "Evaluating local and spread for comparison"})
    outcome = placement_outcome(prepared, placement, now_text())

    def tell(share: float) -> None:
        desk.check()
        desk.emit({"fraction": 0.8 + 0.2 * share, "text": "Predicting over the link's background load"})

    return {
        **outcome,
        "working": working(prepared.system, placement, prepared.scenario.labels),
        "congestion": asdict(congestion_curve(prepared.system, placement, progress=tell)),
    }
