"""The network story: the talk's three times, the edge by bisection; and the steps of a search."""

import math
from dataclasses import replace

import pytest

from nona.placement.fixed import local_placement, spread_placement
from nona.placement.sampled.judge import by_response, certificate_of
from nona.placement.solve import solve
from nona.report.placements.text import best_so_far
from nona.results.simulation_charts import Story
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.placing import SearchSteps
from nona.study.preparation import prepare
from nona.study.shipped import stored_result
from nona.study.simulation import place
from nona.study.sweep_numbers import with_value
from nona.system import Batching
from studies.network_story import (
    LINK,
    LOADS,
    STRATEGIES,
    network_story,
    overview_story,
    paying_limit,
    story_load,
)
from studies.provenance import rounded_result


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


@pytest.fixture(scope="module")
def system():
    return prepare(load_scenario(scenario_path("rag_pipeline"))).system


def handed_out(placement, origin):
    """As a search hands it out: judged, with a name, by samples of its own."""
    return replace(placement, formula=certificate_of(placement), origin=origin, objective_s=1e-9)


def test_steps_are_judged_by_the_samples_of_the_report(system):
    ticks = iter(range(100))
    taken = SearchSteps(system, clock=lambda: float(next(ticks)))
    spread, local, best = spread_placement(system), local_placement(system), solve(system)
    assert taken.take(handed_out(spread, "spread"))
    assert taken.take(handed_out(local, "local"))
    assert not taken.take(handed_out(spread, "spread")), "what is worse is no step"
    assert all(s.gap is None for s in taken.steps)
    assert taken.take(handed_out(best, "formula"))
    wanted = [by_response(system, p).objective_s for p in (spread, local, best)]
    assert wanted == sorted(wanted, reverse=True)
    steps = [(s.objective_s, s.elapsed_s, s.origin) for s in taken.steps]
    assert steps == list(zip(wanted, (1.0, 2.0, 3.0), ("spread", "local", "formula"), strict=True))
    last = taken.steps[-1]
    assert last.lower_bound_s == min(best.lower_bound_s, last.objective_s)
    assert last.gap == pytest.approx((last.objective_s - last.lower_bound_s) / last.objective_s)


def test_a_worse_optimum_brings_its_bound_to_the_best_so_far(system):
    """The formula's optimum may be slower than local when jobs are sampled: its bound counts all the same."""
    taken = SearchSteps(system)
    best, slow = solve(system), spread_placement(system)
    taken.take(handed_out(best, "local"))
    unbounded = taken.best
    taken.best = replace(unbounded, lower_bound_s=math.nan, formula=None)
    bounds = {"formula": certificate_of(best), "global_bound_s": best.global_bound_s}
    assert taken.take(replace(handed_out(slow, "formula"), **bounds))
    assert taken.best.queries == best.queries
    assert taken.best.objective_s == unbounded.objective_s
    assert certificate_of(taken.best) == certificate_of(best)
    assert taken.steps[-1].origin == "local"
    assert taken.steps[-1].gap is not None
    taken = SearchSteps(system)  # the result is the last step
    local = by_response(system, local_placement(system))
    taken.take(handed_out(local, "local"))
    taken.finish(local)
    assert len(taken.steps) == 1
    result = by_response(system, solve(system))
    taken.finish(result)
    assert taken.steps[-1].objective_s == result.objective_s
    assert taken.best is result


def test_where_executors_batch_a_search_awaits_no_bound(system):
    batched = replace(
        system, queries=tuple(replace(q, batching=Batching(q.tasks.compute_s[None])) for q in system.queries)
    )
    words = {"no bound yet": system, "no bound: the certificate holds for batches of 1 only": batched}
    for text, of in words.items():
        taken = SearchSteps(of)
        taken.finish(local_placement(of))
        assert best_so_far(taken.steps).endswith(text)


def test_the_story_that_ships_is_made_again_by_its_command():
    shipped = stored_result(Story)
    again = rounded_result(overview_story(LOADS[:2], shipped.command))
    assert [p.load for p in shipped.points] == list(LOADS)
    assert (again.points, again.limit) == (shipped.points[:2], shipped.limit)
