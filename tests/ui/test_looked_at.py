"""While a placement is searched, the job says how many were looked at, and hears Cancel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nona.scenario.file import load_scenario
from nona.simulation.run import Cancelled
from nona.sources.samples import scenario_path
from nona.study.sweeps.numbers import with_value
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.simulate import simulate_scenario


def asked(tmp_path: Path) -> dict[str, Any]:
    scenario = load_scenario(scenario_path("vision_language_8_servers"))
    scenario = with_value(with_value(scenario, "simulation.jobs", 20), "simulation.replications", 1)
    folder = str(tmp_path)
    return {"scenario": scenario.model_dump(mode="json"), "uploads": folder, "folder": folder}


def test_a_simulation_says_how_far_its_placement_is(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    simulate_scenario(asked(tmp_path), Desk(told.append))
    counts = [
        re.fullmatch(r"Solving the placement, (\d+) placements looked at", m.get("text", "")) for m in told
    ]
    numbers = [int(found[1]) for found in counts if found]
    assert len(numbers) > 2
    assert numbers == sorted(set(numbers))


def test_a_search_inside_a_simulation_can_be_cancelled(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    def stop() -> None:
        if any("looked at" in m.get("text", "") for m in told):
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate_scenario(asked(tmp_path), Desk(told.append, stop))
    assert not any("live" in m for m in told), "it ended before anything ran"
