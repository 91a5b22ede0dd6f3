"""The worker's part of the network story: point after point, reported as computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona import study
from nona.report.simulations.network_story import story_load
from nona.results.simulation.story import Story
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
    """Run the slides' example at every load; ``live`` and result are that of a ``Story``."""
    scenario = load_scenario(scenario_path(SCENARIO))
    changes: dict[str, float | str] = {
        "workload[0].rate": RATE,
        "simulation.jobs": JOBS,
        "simulation.replications": REPLICATIONS,
    }
    for path, value in changes.items():
        scenario = study.with_value(scenario, path, value)
    story = Story(points=(), limit=paying_limit(scenario), jobs=JOBS * REPLICATIONS)
    for point in network_story(scenario, LOADS, engine=engine_named(AUTO), check=desk.check):
        row = story_load(point.load, point.runs, point.system)
        story = story.model_copy(update={"points": (*story.points, row)})
        share = len(story.points) / len(LOADS)
        text = f"Link load {100 * point.load:.0f} %"
        desk.emit({"fraction": share, "text": text, "live": story.to_json()})
    return story.to_json()
