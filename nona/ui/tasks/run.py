"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona import study
from nona.errors import JobError
from nona.report.plain import plain
from nona.scenario.file import scenario_from_mapping
from nona.sources.lookup import Sources
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.answer import answer
from nona.ui.tasks.capacity import find_capacity
from nona.ui.tasks.check import check_self
from nona.ui.tasks.count import count_configurations
from nona.ui.tasks.place import place_scenario, predict_congestion
from nona.ui.tasks.serverless import compare_ways, find_nodes, run_schedulers, run_serverless
from nona.ui.tasks.simulate import simulate_scenario
from nona.ui.tasks.story import tell_story
from nona.ui.tasks.sweep import sweep_scenario
from nona.ui.tasks.theory import simulate_known


def run_task(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    Some kinds need no scenario: ``count`` looks at one model only, ``validate`` simulates the systems
    that theory knows, ``story`` the slides' example. The ``serverless`` ones read it by themselves.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    kind = str(spec.get("kind"))
    alone = {
        "count": count_configurations,
        "validate": simulate_known,
        "story": tell_story,
        "check": check_self,
        "serverless": run_serverless,
        "serverless-sharing": compare_ways,
        "serverless-nodes": find_nodes,
        "serverless-schedulers": run_schedulers,
    }
    kinds = {
        "place": place_scenario,
        "capacity": find_capacity,
        "congestion": predict_congestion,
        "simulate": simulate_scenario,
        "answer": answer,
        "sweep": sweep_scenario,
    }
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
