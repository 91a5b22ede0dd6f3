"""Placements by sampled completion times: the judge, the moves, the search; and the simulation's verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nona.decomposition import SubGraph
from nona.errors import PlacementError, ScenarioError
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.result import Placement
from nona.placement.sampled.judge import Judge, Values, rows
from nona.placement.sampled.moves import groups_of, moves
from nona.placement.sampled.search import SURE, choose_placement
from nona.placement.solve import solve
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.intervals import paired_difference
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.preparation import Study, prepare
from nona.study.simulation import place
from nona.study.sweep_numbers import LINK, with_value
from nona.system import System


def study_of(name: str, load: float | None = None) -> Study:
    path = scenario_path(name)
    scenario = load_scenario(path)
    if load is not None:
        scenario = with_value(scenario, LINK, load)
    return prepare(scenario, Sources(path.parent))


def with_slo(system: System, slo_s: float | None) -> System:
    return replace(system, queries=tuple(replace(q, slo_s=slo_s) for q in system.queries))


def simulated_misses(system: System, placement: Placement, runs: int, jobs: int) -> list[float]:
    """Share of missed SLOs of each run, of jobs that have one."""
    scheduler = get_scheduler("nona")
    prepared = scheduler.prepare(system, placement, {})
    limits = np.array([np.nan if q.slo_s is None else q.slo_s for q in system.queries])
    found = []
    for r in range(runs):
        records = simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, replication=r))
        limit = limits[records.query]
        late = ~(records.completion_time_s <= limit * (1 + 1e-9))
        found.append(float(late[~np.isnan(limit)].mean()))
    return found


def test_differences_are_taken_pair_by_pair() -> None:
    rng = np.random.default_rng(1)
    base, noise = rng.exponential(1.0, 4000), rng.normal(0, 0.01, 4000)
    a, b = Values(np.ones(1), (base + 0.05 + noise,)), Values(np.ones(1), (base,))
    gain, error = b.less_than(a)
    assert gain == pytest.approx(a.value - b.value)
    assert error == pytest.approx(noise.std(ddof=1) / math.sqrt(4000))
    assert error < 0.05 * math.hypot(a.error, b.error)
    assert a.less_than(b)[0] == -gain


def test_jobs_on_few_paths_do_not_count_as_independent() -> None:
    path = np.repeat(np.arange(4), 1000)
    y = np.random.default_rng(2).normal(0, 0.01, 4000) + np.array([0.0, 1.0, 0.0, 1.0])[path]
    alone, grouped = Values(np.ones(1), (y,)), Values(np.ones(1), (y,), (path,))
    assert grouped.error == pytest.approx(np.std([0, 1, 0, 1], ddof=1) / 2, rel=0.02)
    assert grouped.error > 10 * alone.error


def test_an_overloaded_link_is_worse_than_anything() -> None:
    good, bad = Values(np.ones(1), (np.ones(4),)), Values(np.ones(1), (np.array([1, 1, np.inf, 1.0]),))
    assert good.less_than(bad) == (math.inf, 0.0)
    assert bad.less_than(good) == (-math.inf, 0.0)


def test_without_anybody_else_the_judge_knows_who_is_late() -> None:
    """On an idle cluster the slides' example takes 22 ms local and 32 ms spread: certainties."""
    system = study_of("slides_example").system
    for slo_ms, local, spread in ((21.5, 1.0, 1.0), (22.5, 0.0, 1.0), (32.5, 0.0, 0.0)):
        judge = Judge(with_slo(system, slo_ms / 1e3), "slo")
        assert judge.values(rows(local_placement(system).queries), 256, 0).value == pytest.approx(
            local, abs=0.01
        )
        assert judge.values(rows(spread_placement(system).queries), 256, 0).value == pytest.approx(
            spread, abs=0.01
        )


def test_the_bound_is_the_longest_chain() -> None:
    system = study_of("slides_example").system
    chain_s = system.queries[0].tasks.dag.critical_path(system.queries[0].tasks.compute_s[0].tolist())[0]
    assert Judge(with_slo(system, 0.999 * chain_s), "slo").bound() == 1.0
    assert Judge(with_slo(system, 1.001 * chain_s), "slo").bound() == 0.0
    assert Judge(system, "mean-jct").bound() == pytest.approx(chain_s)
    drawn = replace(system, queries=tuple(replace(q, service_scv=1.0) for q in system.queries))
    assert Judge(with_slo(drawn, 0.5 * chain_s), "slo").bound() == 0.0
    for objective in ("slo", "mean-jct"):
        judge = Judge(with_slo(system, 0.012), objective)  # type: ignore[arg-type]
        assert judge.values(rows(local_placement(system).queries), 128, 0).value >= judge.bound()


def test_every_move_leaves_a_placement_that_can_be_run() -> None:
    study = study_of("background_sweep")
    placement = place(study)
    groups = groups_of(study.system, placement)
    assert groups
    members = [(g.query, k) for g in groups for k in g.members]
    assert len(set(members)) == len(members)
    count = 0
    for move in moves(groups):
        made = move.of(rows(placement.queries))
        build_tables(study.system, made)  # refuses parts that do not partition, and bad probabilities
        changed = [
            (j, k)
            for j, row in enumerate(made)
            for k, placed in enumerate(row)
            if placed is not placement.queries[j][k]
        ]
        assert set(changed) <= {(move.group.query, k) for k in move.members}
        count += 1
    assert count >= 20


def test_equal_subgraphs_get_the_same_choice_in_their_own_tasks() -> None:
    study = study_of("five_models_80_servers")
    for group in groups_of(study.system, place(study)):
        graphs: tuple[SubGraph, ...] = study.system.queries[group.query].decomposition.subgraphs
        for column in group.columns:
            for k, configuration in zip(group.members, column, strict=True):
                assert sorted(t for part in configuration.parts for t in part) == sorted(graphs[k].interior)


def test_fewer_slos_are_missed_where_the_prediction_says_so() -> None:
    """Arrivals in bursts: splitting loads the link when it is full already, which the formula cannot know."""
    study = study_of("ensemble_bursty")
    certified = solve(study.system)
    found = choose_placement(study.system, certified, "slo", evaluations=3)
    sampled = found.sampled
    assert sampled is not None
    assert sampled.gain > SURE * sampled.gain_error
    assert sampled.value == pytest.approx(sampled.formula_value - sampled.gain)
    assert sampled.bound <= sampled.value
    assert found.global_bound_s <= found.lower_bound_s <= found.objective_s
    ours = simulated_misses(study.system, found, 8, 4000)
    theirs = simulated_misses(study.system, certified, 8, 4000)
    difference = paired_difference(theirs, ours).difference
    assert difference.low > 0
    assert difference.mean == pytest.approx(sampled.gain, abs=0.05)


def test_the_sampled_mean_finds_what_the_formula_overlooks() -> None:
    """At 80 % link background the formula counts returning visits as new ones; sampled jobs do not."""
    study = study_of("five_models_80_servers", 0.8)
    certified = solve(study.system)
    found = choose_placement(study.system, certified, "mean-jct", evaluations=24)
    assert found.sampled is not None
    if found.sampled.gain == 0.0:  # the formula has become as good
        assert found.queries == rows(certified.queries)
        return
    scheduler = get_scheduler("nona")
    means = {}
    for name, placement in (("found", found), ("certified", certified)):
        prepared = scheduler.prepare(study.system, placement, {})
        runs = [
            simulate_run(study.system, scheduler, prepared, RunOptions(jobs=10_000, replication=r))
            for r in range(8)
        ]
        means[name] = [float(r.completion_time_s.mean()) for r in runs]
    difference = paired_difference(means["certified"], means["found"]).difference
    assert difference.mean > 0
    assert difference.high >= 0.5 * found.sampled.gain


def test_where_nothing_is_surely_better_the_certified_placement_stays() -> None:
    study = study_of("slides_example")
    certified = solve(study.system)
    found = choose_placement(with_slo(study.system, 0.016), certified, "slo", evaluations=60)
    assert found.queries == rows(certified.queries)
    assert found.formula is not None
    assert found.formula.lower_bound_s == certified.lower_bound_s
    assert found.sampled is not None
    assert (found.sampled.value, found.sampled.gain) == (0.0, 0.0)
    assert found.sampled.settled
    assert found.sampled.error > 0  # none of the jobs was late, which does not mean that none ever is


def test_equal_seeds_walk_equal_jobs() -> None:
    study = study_of("vision_language_8_servers")
    judge, queries = Judge(study.system, "mean-jct"), rows(local_placement(study.system).queries)
    a, b, c = (judge.values(queries, 256, seed) for seed in (3, 3, 4))
    assert all(np.array_equal(x, y) for x, y in zip(a.y, b.y, strict=True))
    assert not any(np.array_equal(x, y) for x, y in zip(a.y, c.y, strict=True))
    assert a.less_than(b) == (0.0, 0.0)
    assert judge.asked == 3


@pytest.mark.parametrize("load", [0.2, 0.6])
@pytest.mark.parametrize("name", ["vision_language_8_servers", "background_sweep"])
def test_predicted_misses_are_those_of_the_simulation(name: str, load: float) -> None:
    """Within a quarter of the share, besides both standard errors: after the search, and of the formula's."""
    study = study_of(name, load)
    placement = place(study) if load > 0.5 else solve(study.system)
    values = Judge(study.system, "slo", placement.class_shares).values(rows(placement.queries), 4096, 0)
    seen = simulated_misses(study.system, placement, 6, 8000)
    error = math.hypot(2 * values.error, 2.6 * float(np.std(seen, ddof=1)) / math.sqrt(len(seen)))
    assert abs(values.value - np.mean(seen)) <= 0.25 * float(np.mean(seen)) + error


def test_the_objective_is_part_of_the_scenario() -> None:
    data = {
        "version": 1,
        "objective": "slo",
        "cluster": {"servers": [{"count": 2}]},
        "workload": [{"model": "gpt2", "rate": 1, "slo": "1 s"}],
    }
    scenario = scenario_from_mapping(data)
    assert scenario_to_mapping(scenario)["objective"] == "slo"
    assert "objective" not in scenario_to_mapping(scenario.model_copy(update={"objective": "mean-jct"}))
    with pytest.raises(ScenarioError, match="needs an SLO to keep"):
        scenario_from_mapping({**data, "workload": [{"model": "gpt2", "rate": 1}]})
    with pytest.raises(ScenarioError, match=r"objective: 'least' must be"):
        scenario_from_mapping({**data, "objective": "least"})


def test_what_cannot_be_kept_is_refused_in_one_line() -> None:
    study = study_of("slides_example")
    certified = solve(study.system)
    with pytest.raises(PlacementError, match="no query class has an SLO") as caught:
        choose_placement(with_slo(study.system, None), certified, "slo")
    assert "\n" not in str(caught.value)
    with pytest.raises(PlacementError, match="must be one of mean-jct, slo"):
        choose_placement(study.system, certified, "least")  # type: ignore[arg-type]
