"""The network story: the talk's three times, the edge by bisection; and the steps of a search."""

import pytest

from evidence.network_story import (
    LINK,
    STRATEGIES,
    network_story,
    paying_limit,
    story_load,
)
from nona.queries.sweeps.numbers import with_value
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path


@pytest.fixture(scope="module")
def scenario():
    found = load_scenario(scenario_path("slides_example")).model_copy(update={"objective": "formula"})
    changes = {"workload[0].rate": "1/s", "simulation.jobs": 40, "simulation.replications": 2}
    for path, value in changes.items():
        found = with_value(found, path, value)
    return found


@pytest.fixture(scope="module")
def points(scenario):
    return list(network_story(scenario, (0.0, 0.6, 0.9), engine="simpy"))


def test_an_idle_link_gives_the_times_of_the_talk_and_the_typical_job_is_whole(points):
    found = {name: 1e3 * points[0].runs[name].mean.mean for name in STRATEGIES}
    assert found == pytest.approx({"local": 22, "spread": 32, "nona": 14})
    for point in points:
        for run in point.runs.values():
            assert len(run.tasks) == 4
            assert len({t.job for t in (*run.tasks, *run.messages)}) == 1
            assert max(t.end_s for t in run.tasks) == pytest.approx(run.jct_s)
            assert min(t.ready_s for t in run.tasks) == pytest.approx(0.0, abs=1e-9)
            assert abs(run.jct_s - run.mean.mean) < 0.05


def test_splitting_stops_paying_where_the_waits_eat_its_gain(scenario):
    """Bisection over the solver against the condition itself: below the edge a split wins, above none."""
    limit, key = paying_limit(scenario), "background.network.utilization"
    below, above, local = (
        place(prepare(with_value(scenario, key, load))) for load in (limit - 0.005, limit + 0.005, 0.98)
    )
    assert below.prediction.jct_s < local.prediction.jct_s * (1 - 1e-6)
    assert above.prediction.jct_s == pytest.approx(local.prediction.jct_s)
    quick, slow = (
        paying_limit(with_value(scenario, "cluster.network.capacity", c))
        for c in ("8000 Gbit/s", "0.1 Gbit/s")
    )
    assert (quick, slow) == (None, 0.0), "it always or never pays"


def test_the_blocks_are_the_intervals_in_milliseconds_and_the_headline_says_when_it_stopped_paying(points):
    row = story_load(points[0].load, points[0].runs, points[0].system)
    spread = row.runs["spread"]
    assert spread.servers == 3
    assert {b.lane for b in spread.blocks} == {"A", "B", "C", LINK}
    on_link = sorted((b for b in spread.blocks if b.lane == LINK), key=lambda b: b.start_ms)
    assert [b.end_ms - b.start_ms for b in on_link] == pytest.approx([9, 1, 1, 9])
    assert all(b.asked_ms <= b.start_ms < b.end_ms for b in spread.blocks)
    assert row.runs["local"].servers == 1
    said = [story_load(p.load, p.runs, p.system).headline for p in points]
    assert "22 ms" in said[0]
    assert "60 %" in said[1]
    assert ["no longer pays" in line for line in said[1:]] == [False, True]
