"""While a placement is chosen, a job says what runs, how much is done, and hears Cancel."""

import re
import time
from typing import Any

import pytest

from nona.scenario.file import load_scenario
from nona.simulation.run import Cancelled
from nona.sources.samples import scenario_path
from nona.study.placing import PlacingProgress
from nona.study.sweep_numbers import with_value
from nona.ui.jobs.registry import Job
from nona.ui.tasks import desk as placing
from nona.ui.tasks.desk import Desk, PlacingWatch
from nona.ui.tasks.planning import place_scenario
from nona.ui.tasks.simulation import simulate_scenario

Lines = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _every_report_is_passed_on(monkeypatch):
    monkeypatch.setattr(placing, "EVERY_S", 0.0)


def asked(tmp_path):
    scenario = load_scenario(scenario_path("vision_language_8_servers"))
    scenario = with_value(with_value(scenario, "simulation.jobs", 20), "simulation.replications", 1)
    folder = str(tmp_path)
    return {"scenario": scenario.model_dump(mode="json"), "uploads": folder, "folder": folder}


def counts(told, pattern):
    found = (re.search(pattern, m.get("text", "")) for m in told)
    return [int(match[1]) for match in found if match]


@pytest.mark.verify
def test_a_simulation_says_how_far_its_placement_is(tmp_path):
    told: Lines = []
    simulate_scenario(asked(tmp_path), Desk(told.append))
    begins = next(i for i, m in enumerate(told) if m.get("step"))
    first = [m for m in told[:begins] if "fraction" in m and "models" not in m["text"]]
    second = told[begins:]
    assert all(m["text"].startswith("Step 1 of 2, the placement: ") for m in first if "text" in m)
    numbers = counts(first, r"sampled jobs, (\d+) placements? done")
    assert len(numbers) > 2
    assert numbers == sorted(set(numbers))
    shares = [m["fraction"] for m in first if "fraction" in m]
    assert shares == sorted(shares), "the bar never goes back"
    assert len(set(shares)) > 5, "and moves"
    assert second[0]["fraction"] == 0.0, "the simulation has the whole bar"
    assert second[0]["open"] is False, "and an estimate"
    assert not any("Step 1" in m.get("text", "") for m in second)


def test_the_bar_of_a_placement_moves(tmp_path):
    told: Lines = []
    place_scenario(asked(tmp_path), Desk(told.append))
    shares = [m["fraction"] for m in told if "fraction" in m]
    assert shares == sorted(shares), "it never goes back"
    assert len(set(shares)) > 5
    assert counts(told, r"by simulation, (\d+) runs? done"), "the comparison of the nearest is told"


def test_a_search_inside_a_simulation_can_be_cancelled(tmp_path):
    told: Lines = []

    def stop():
        if any("sampled jobs" in m.get("text", "") for m in told):
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate_scenario(asked(tmp_path), Desk(told.append, stop))
    assert not any("live" in m for m in told), "it ended before anything ran"


def test_the_time_left_is_that_to_the_limit_of_the_stage():
    told: Lines = []
    now = [100.0]
    watch = PlacingWatch(Desk(told.append), before="A: ", clock=lambda: now[0])
    watch.take(PlacingProgress("formula"))
    now[0] = 150.0  # of another stage: it does not count
    watch.take(PlacingProgress("search"))
    now[0] = 154.0
    watch.take(PlacingProgress("search", 7, 0.25))
    assert told[0]["text"] == "A: Solving the formula"
    assert told[-1]["text"] == "A: Searching by sampled jobs, 7 placements done, at most about 12 s more"


def test_a_step_that_is_over_does_not_lengthen_the_estimate_of_the_next(tmp_path):
    job = Job("1", "simulate", "", tmp_path, status="running", started=time.monotonic() - 100.0)
    job.take_in({"id": "1", "fraction": 0.5})
    assert job.remaining_s is not None
    assert job.remaining_s >= 100.0
    job.take_in({"id": "1", "fraction": 0.5, "step": True})
    assert job.remaining_s is None, "too early"
    job.step = time.monotonic() - 10.0
    assert 10.0 <= job.remaining_s < 100.0
