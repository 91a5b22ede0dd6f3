"""What a job's description names: its scenario, its files, and both made ready to plan with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona import study
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study import Study
from nona.ui.jobs.desk import Desk


def scenario_of(spec: Mapping[str, Any]) -> Scenario:
    """The job's scenario."""
    return scenario_from_mapping(spec["scenario"])


def sources_of(spec: Mapping[str, Any]) -> Sources:
    """Where the job finds files: among the session's uploads, and nowhere else."""
    return Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)


def study_of(spec: Mapping[str, Any], desk: Desk) -> Study:
    """The job's scenario with its models read and contracted."""
    desk.emit({"fraction": 0.0, "text": "Reading and contracting the models"})
    return study.prepare(scenario_of(spec), sources_of(spec), desk.cache)
