"""The worker's part of the network story: point after point, reported as computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona import study
from nona.report.plain import plain
from nona.report.simulations.network_story import story_headline, story_point
from nona.scenario.file import load_scenario
from nona.simulation.engines import AUTO, engine_named
from nona.sources.samples import scenario_path
from nona.study.network_story import network_story, paying_limit
from nona.ui.jobs.desk import Desk

SCENARIO = "slides_example"
LOADS = tuple(round(0.05 * i, 2) for i in range(20))
# One query a second, still one at a time: rarer ones only give others more messages to send in between.
RATE, JOBS, REPLICATIONS = "1/s", 100, 4


def tell_story(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the slides' example at every load; ``live`` and result hold ``points`` and ``limit``."""
    scenario = load_scenario(scenario_path(SCENARIO))
    changes: dict[str, float | str] = {
        "workload[0].rate": RATE,
        "simulation.jobs": JOBS,
        "simulation.replications": REPLICATIONS,
    }
    for path, value in changes.items():
        scenario = study.with_value(scenario, path, value)
    told: dict[str, Any] = {"points": [], "limit": paying_limit(scenario), "jobs": JOBS * REPLICATIONS}
    for point in network_story(scenario, LOADS, engine=engine_named(AUTO), check=desk.check):
        row = story_point(point.load, point.runs, point.system)
        told["points"].append(plain({**row, "headline": story_headline(row)}))
        share = len(told["points"]) / len(LOADS)
        desk.emit({"fraction": share, "text": f"Link load {100 * point.load:.0f} %", "live": told})
    return told
