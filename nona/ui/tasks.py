"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona import study
from nona.errors import JobError
from nona.placement.placement import Placement
from nona.report.models import provenance_shares
from nona.report.placement import placement_report
from nona.report.plain import plain
from nona.scenario_file import scenario_from_mapping
from nona.sources import Sources
from nona.study import Study
from nona.ui.answer_task import answer
from nona.ui.count_task import count_configurations
from nona.ui.desk import Desk
from nona.ui.simulate_task import simulate_scenario
from nona.ui.story_task import tell_story
from nona.ui.sweep_task import sweep_scenario
from nona.ui.theory_task import simulate_known


def run_task(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    Some kinds need no scenario: ``count`` looks at one model only, ``validate`` simulates the systems
    that theory knows, ``story`` the slides' example.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    kind = str(spec.get("kind"))
    alone = {"count": count_configurations, "validate": simulate_known, "story": tell_story}
    kinds = {"place": _place, "simulate": simulate_scenario, "answer": answer, "sweep": sweep_scenario}
    if kind in alone:
        return alone[kind](spec, desk)
    if kind not in kinds:
        known = ", ".join((*kinds, *alone))
        raise JobError(f"Job {kind!r}: it must be one of {known}; choose one of these.")
    desk.emit({"fraction": 0.0, "text": "Reading and contracting the models"})
    sources = Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)
    prepared = study.prepare(scenario_from_mapping(spec["scenario"]), sources, desk.cache)
    result: dict[str, Any] = plain(kinds[kind](prepared, spec, desk))
    return result


def _place(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    desk.emit({"fraction": 0.3, "text": "Solving the placement"})
    placement = study.place(prepared, str(spec.get("solver", "parametric")), desk.cache)
    desk.emit({"fraction": 0.8, "text": "Evaluating local and spread for comparison"})
    comparison = study.compare(prepared, placement)
    names = prepared.scenario.labels

    def report(other: Placement | None) -> dict[str, Any] | None:
        return None if other is None else placement_report(prepared.system, other, names)

    return {
        "nona": report(placement),
        "local": report(comparison.local),
        "spread": report(comparison.spread),
        "models": _model_facts(prepared),
    }


def _model_facts(prepared: Study) -> dict[str, Any]:
    return {
        name: {
            "parallelism": model.costed[0].parallelism,
            "total_compute_s": model.costed[0].total_compute_s,
            "critical_path_s": model.costed[0].critical_path_s,
            "device": model.costed[0].device,
            "provenance": provenance_shares(model.costed[0]),
        }
        for name, model in zip(prepared.scenario.labels, prepared.models, strict=True)
    }
