"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from nona import study
from nona.report.plain import plain
from nona.scenario.file import scenario_from_mapping
from nona.sources.lookup import Sources
from nona.ui.jobs.desk import Desk
from nona.ui.jobs.kinds import KINDS, Kind


def task_of(kind: Kind) -> Callable[..., Any]:
    """The function that does such a job."""
    module, _, function = kind.task.partition(":")
    task: Callable[..., Any] = getattr(import_module(module), function)
    return task


_LOADED = tuple(task_of(kind) for kind in KINDS.values())  # before the first job comes


def run_task(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    Some kinds need no scenario: ``count`` looks at one model only, ``validate`` simulates the systems
    that theory knows, ``story`` the slides' example. The ``serverless`` ones read it by themselves.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    kind = KINDS.find(str(spec.get("kind")))
    result: dict[str, Any]
    if kind.alone:
        result = task_of(kind)(spec, desk)
        return result
    desk.emit({"fraction": 0.0, "text": "Reading and contracting the models"})
    sources = Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)
    prepared = study.prepare(scenario_from_mapping(spec["scenario"]), sources, desk.cache)
    result = plain(task_of(kind)(prepared, spec, desk))
    return result
