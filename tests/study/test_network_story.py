"""The network story: the talk's three times, the edge by bisection against the waits' own formula."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nona.report.simulations.series import LINK, story_load
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.sources.samples import scenario_path
from nona.study.link_load import STRATEGIES, StoryPoint, network_story, paying_limit
from nona.study.preparation import prepare
from nona.study.simulation import place
from nona.study.sweep_numbers import with_value


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    found = load_scenario(scenario_path("slides_example"))
    changes: Mapping[str, float | str] = {
        "workload[0].rate": "1/s",
        "simulation.jobs": 40,
        "simulation.replications": 2,
    }
    for path, value in changes.items():
        found = with_value(found, path, value)
    return found


@pytest.fixture(scope="module")
def points(scenario: Scenario) -> list[StoryPoint]:
    return list(network_story(scenario, (0.0, 0.6, 0.9), engine="simpy"))


def test_an_idle_link_gives_the_times_of_the_talk(points: list[StoryPoint]) -> None:
    found = {name: 1e3 * points[0].runs[name].mean.mean for name in STRATEGIES}
    assert found == pytest.approx({"local": 22, "spread": 32, "nona": 14})


def test_the_typical_job_is_whole(points: list[StoryPoint]) -> None:
    for point in points:
        for run in point.runs.values():
            assert len(run.tasks) == 4
            assert len({t.job for t in (*run.tasks, *run.messages)}) == 1
            assert max(t.end_s for t in run.tasks) == pytest.approx(run.jct_s)
            assert min(t.ready_s for t in run.tasks) == pytest.approx(0.0, abs=1e-9)
            assert abs(run.jct_s - run.mean.mean) < 0.05


def test_splitting_stops_paying_where_the_waits_eat_its_gain(scenario: Scenario) -> None:
    """Bisection over the solver against the condition itself: below the edge a split wins, above none."""
    limit = paying_limit(scenario)
    assert limit is not None
    below, above = (
        place(prepare(with_value(scenario, "background.network.utilization", limit + d)))
        for d in (-0.005, 0.005)
    )
    local = place(prepare(with_value(scenario, "background.network.utilization", 0.98)))
    assert below.prediction.jct_s < local.prediction.jct_s * (1 - 1e-6)
    assert above.prediction.jct_s == pytest.approx(local.prediction.jct_s)


def test_there_is_no_edge_where_splitting_always_or_never_pays(scenario: Scenario) -> None:
    quick = with_value(scenario, "cluster.network.capacity", "8000 Gbit/s")
    slow = with_value(scenario, "cluster.network.capacity", "0.1 Gbit/s")
    assert paying_limit(quick) is None
    assert paying_limit(slow) == 0.0


def test_the_blocks_are_the_intervals_in_milliseconds(points: list[StoryPoint]) -> None:
    row = story_load(points[0].load, points[0].runs, points[0].system)
    spread = row.runs["spread"]
    assert spread.servers == 3
    assert {b.lane for b in spread.blocks} == {"A", "B", "C", LINK}
    on_link = sorted((b for b in spread.blocks if b.lane == LINK), key=lambda b: b.start_ms)
    assert [b.end_ms - b.start_ms for b in on_link] == pytest.approx([9, 1, 1, 9])
    assert all(b.asked_ms <= b.start_ms < b.end_ms for b in spread.blocks)
    assert row.runs["local"].servers == 1


def test_the_headline_says_when_it_stopped_paying(points: list[StoryPoint]) -> None:
    said = [story_load(p.load, p.runs, p.system).headline for p in points]
    assert "22 ms" in said[0]
    assert "60 %" in said[1]
    assert "no longer pays" not in said[1]
    assert "no longer pays" in said[2]
