"""Solving a placement, and the curve of congestion: what the worker does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nona import study
from nona.report.placements.working import working
from nona.study import Study
from nona.study.congestion import congestion_curve
from nona.study.outcome import placement_outcome
from nona.study.provenance import now_text
from nona.ui.jobs.desk import Desk


def place_scenario(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Solve, compare with local and spread, show the working."""
    desk.emit({"fraction": 0.3, "text": "Solving the placement"})
    placement = study.place(prepared, str(spec.get("solver", "parametric")), desk.cache, desk.check)
    desk.emit({"fraction": 0.7, "text": "Evaluating local and spread for comparison"})
    outcome = placement_outcome(prepared, placement, now_text())

    return {**outcome, "working": working(prepared.system, placement, prepared.scenario.labels)}


def predict_congestion(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Predict nona, local and spread over the link's background load."""

    def tell(share: float) -> None:
        desk.check()
        desk.emit({"fraction": share, "text": "Solving the placement at every load"})

    return asdict(congestion_curve(prepared.system, progress=tell))
