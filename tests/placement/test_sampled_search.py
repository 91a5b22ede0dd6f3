"""Placements by sampled completion times: judge, moves, search, and the verdict of the simulation."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from placement_helpers import query, system
from sizes import examples, first

from nona.errors import PlacementError, ScenarioError
from nona.placement.fixed import idle_presets, local_placement, place_fixed, spread_placement
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import Rival
from nona.placement.sampled.judge import Judge, Values, rows
from nona.placement.sampled.moves import groups_of, moved, starts
from nona.placement.sampled.search import SURE, choose_placement
from nona.placement.solve import solve
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.statistics import paired_difference
from nona.study.placing import decide, place_system
from nona.study.preparation import prepare
from nona.study.simulation import place
from nona.study.sweep_numbers import LINK, with_value
from nona.system import Stream


def study_of(name, load=None):
    path = scenario_path(name)
    scenario = load_scenario(path)
    if load is not None:
        scenario = with_value(scenario, LINK, load)
    return prepare(scenario, Sources(path.parent))


def with_slo(system, slo_s):
    return replace(system, queries=tuple(replace(q, slo_s=slo_s) for q in system.queries))


def simulated_misses(system, placement, runs, jobs):
    """Share of missed SLOs of each run, of jobs that have one."""
    limits = np.array([np.nan if q.slo_s is None else q.slo_s for q in system.queries])
    found = []
    for records in simulated(system, placement.queries, placement, jobs, runs):
        limit = limits[records.query]
        late = ~(records.completion_time_s <= limit * (1 + 1e-9))
        found.append(float(late[~np.isnan(limit)].mean()))
    return found


def test_differences_are_taken_pair_by_pair():
    rng = np.random.default_rng(1)
    base, noise = rng.exponential(1.0, 4000), rng.normal(0, 0.01, 4000)
    a, b = Values(np.ones(1), (base + 0.05 + noise,)), Values(np.ones(1), (base,))
    gain, error = b.less_than(a)
    assert gain == pytest.approx(a.value - b.value)
    assert error == pytest.approx(noise.std(ddof=1) / math.sqrt(4000))
    assert error < 0.05 * math.hypot(a.error, b.error)
    assert a.less_than(b)[0] == -gain


def test_jobs_on_few_paths_do_not_count_as_independent():
    path = np.repeat(np.arange(4), 1000)
    y = np.random.default_rng(2).normal(0, 0.01, 4000) + np.array([0.0, 1.0, 0.0, 1.0])[path]
    alone, grouped = Values(np.ones(1), (y,)), Values(np.ones(1), (y,), (path,))
    assert grouped.error == pytest.approx(np.std([0, 1, 0, 1], ddof=1) / 2, rel=0.02)
    assert grouped.error > 10 * alone.error


def test_an_overloaded_link_is_worse_than_anything():
    good, bad = Values(np.ones(1), (np.ones(4),)), Values(np.ones(1), (np.array([1, 1, np.inf, 1.0]),))
    assert good.less_than(bad) == (math.inf, 0.0)
    assert bad.less_than(good) == (-math.inf, 0.0)


@pytest.mark.verify
def test_without_anybody_else_the_judge_knows_who_is_late():
    """On an idle cluster the slides' example takes 22 ms local and 32 ms spread: certainties."""
    system = study_of("slides_example").system
    for slo_ms, local, spread in ((21.5, 1.0, 1.0), (22.5, 0.0, 1.0), (32.5, 0.0, 0.0)):
        judge = Judge(with_slo(system, slo_ms / 1e3), "slo")
        for placed, late in ((local_placement, local), (spread_placement, spread)):
            found = judge.values(rows(placed(system).queries), 256, 0).value
            assert found == pytest.approx(late, abs=0.01)


def test_the_bound_is_the_longest_chain():
    system = study_of("slides_example").system
    chain_s = system.queries[0].tasks.dag.critical_path(system.queries[0].tasks.compute_s[0].tolist())[0]
    assert Judge(with_slo(system, 0.999 * chain_s), "slo").bound() == 1.0
    assert Judge(with_slo(system, 1.001 * chain_s), "slo").bound() == 0.0
    assert Judge(system, "mean-jct").bound() == pytest.approx(chain_s)
    drawn = replace(system, queries=tuple(replace(q, service_scv=1.0) for q in system.queries))
    assert Judge(with_slo(drawn, 0.5 * chain_s), "slo").bound() == 0.0
    for objective in ("slo", "mean-jct"):
        judge = Judge(with_slo(system, 0.012), objective)
        assert judge.values(rows(local_placement(system).queries), 128, 0).value >= judge.bound()


def test_every_move_leaves_a_placement_that_can_be_run():
    study = study_of("background_sweep")
    placement = solve(study.system)
    groups = groups_of(study.system, placement)
    assert groups
    members = [(g.query, k) for g in groups for k in g.members]
    assert len(set(members)) == len(members)
    count = 0
    for group, column in ((g, c) for g in groups for c in g.columns):
        made = moved(rows(placement.queries), group, column)
        build_tables(study.system, made)  # refuses parts that do not partition, and bad probabilities
        places = [(j, k) for j, row in enumerate(made) for k in range(len(row))]
        changed = {(j, k) for j, k in places if made[j][k] is not placement.queries[j][k]}
        assert changed <= {(group.query, k) for k in group.members}
        count += 1
    assert count >= 20


def test_equal_subgraphs_get_the_same_choice_in_their_own_tasks():
    study = study_of("five_models_80_servers")
    for group in groups_of(study.system, solve(study.system)):
        graphs = study.system.queries[group.query].decomposition.subgraphs
        for column in group.columns:
            for k, configuration in zip(group.members, column, strict=True):
                assert sorted(t for part in configuration.parts for t in part) == sorted(graphs[k].interior)


@pytest.mark.verify
def test_fewer_slos_are_missed_where_the_prediction_says_so():
    """Arrivals in bursts: splitting loads the link when it is full already, which the formula cannot know."""
    study = study_of("ensemble_bursty")
    certified = solve(study.system)
    found = choose_placement(study.system, certified, "slo", evaluations=3)
    sampled = found.sampled
    assert sampled.gain > SURE * sampled.gain_error
    assert sampled.value == pytest.approx(sampled.formula_value - sampled.gain)
    assert sampled.bound <= sampled.value
    assert found.global_bound_s <= found.lower_bound_s <= found.objective_s
    ours = simulated_misses(study.system, found, 8, 4000)
    theirs = simulated_misses(study.system, certified, 8, 4000)
    difference = paired_difference(theirs, ours).difference
    assert difference.low > 0
    assert difference.mean == pytest.approx(sampled.gain, abs=0.05)


def test_the_sampled_mean_finds_what_the_formula_overlooks():
    """At 80 % link background the formula counts returning visits as new ones; sampled jobs do not."""
    study = study_of("five_models_80_servers", 0.8)
    certified = solve(study.system)
    found = choose_placement(study.system, certified, "mean-jct", evaluations=24)
    if found.sampled.gain == 0.0:  # the formula has become as good
        assert found.queries == rows(certified.queries)
        return
    means = [simulated_s(study.system, p.queries, p, 10_000, 8) for p in (certified, found)]
    difference = paired_difference(*means).difference
    assert difference.mean > 0
    assert difference.high >= 0.5 * found.sampled.gain


def test_where_nothing_is_surely_better_the_certified_placement_stays():
    study = study_of("slides_example")
    certified = solve(study.system)
    found = choose_placement(with_slo(study.system, 0.016), certified, "slo", evaluations=60)
    assert found.queries == rows(certified.queries)
    assert found.formula.lower_bound_s == certified.lower_bound_s
    assert (found.sampled.value, found.sampled.gain) == (0.0, 0.0)
    assert found.sampled.settled
    assert found.sampled.error > 0  # none of the jobs was late, which does not mean that none ever is


def test_equal_seeds_walk_equal_jobs():
    study = study_of("vision_language_8_servers")
    judge, queries = Judge(study.system, "mean-jct"), rows(local_placement(study.system).queries)
    a, b, c = (judge.values(queries, 256, seed) for seed in (3, 3, 4))
    assert all(np.array_equal(x, y) for x, y in zip(a.y, b.y, strict=True))
    assert not any(np.array_equal(x, y) for x, y in zip(a.y, c.y, strict=True))
    assert a.less_than(b) == (0.0, 0.0)
    assert judge.asked == 3


@pytest.mark.parametrize(
    ("load", "name"), first(1, product([0.2, 0.6], ["vision_language_8_servers", "background_sweep"]))
)
def test_predicted_misses_are_those_of_the_simulation(load, name):
    """Within a quarter of the share, besides both standard errors: after the search, and of the formula's."""
    study = study_of(name, load)
    placement = place(study) if load > 0.5 else solve(study.system)
    values = Judge(study.system, "slo", placement.class_shares).values(rows(placement.queries), 4096, 0)
    seen = simulated_misses(study.system, placement, 6, 8000)
    error = math.hypot(2 * values.error, 2.6 * float(np.std(seen, ddof=1)) / math.sqrt(len(seen)))
    assert abs(values.value - np.mean(seen)) <= 0.25 * float(np.mean(seen)) + error


def test_the_objective_is_part_of_the_scenario():
    workload = [{"model": "gpt2", "rate": 1, "slo": "1 s"}]
    data = {"version": 1, "objective": "slo", "cluster": {"servers": [{}]}, "workload": workload}
    scenario = scenario_from_mapping(data)
    assert scenario_to_mapping(scenario)["objective"] == "slo"
    assert "objective" not in scenario_to_mapping(scenario.model_copy(update={"objective": "mean-jct"}))
    with pytest.raises(ScenarioError, match="needs an SLO to keep"):
        scenario_from_mapping({**data, "workload": [{"model": "gpt2", "rate": 1}]})
    with pytest.raises(ScenarioError, match=r"objective: 'least' must be"):
        scenario_from_mapping({**data, "objective": "least"})


def test_what_cannot_be_kept_is_refused_in_one_line():
    study = study_of("slides_example")
    certified = solve(study.system)
    with pytest.raises(PlacementError, match="no query class has an SLO") as caught:
        choose_placement(with_slo(study.system, None), certified, "slo")
    assert "\n" not in str(caught.value)
    with pytest.raises(PlacementError, match="must be one of mean-jct, slo"):
        choose_placement(study.system, certified, "least")


RUNS, JOBS = 5, 1500


def by_hand(built):
    """The queue-blind placements that the default is held against."""
    idle = zip(built.queries, idle_presets(built), strict=True)
    return {
        "local": local_placement(built).queries,
        "spread": spread_placement(built).queries,
        "expert": rows([place_fixed(built, q, preset) for q, preset in idle]),
    }


def simulated(built, placed, placement, jobs, runs):
    """Records of the placement, drawn by the class shares of another."""
    nona, tables = get_scheduler("nona"), build_tables(built, placed, shares=placement.class_shares)
    return [simulate_run(built, nona, tables, RunOptions(jobs=jobs, replication=r)) for r in range(runs)]


def simulated_s(built, placed, placement, jobs=JOBS, runs=RUNS):
    """Mean JCT of each run; infinite where the system is overloaded."""
    records = simulated(built, placed, placement, jobs, runs)
    return np.array([np.inf if r.state == "overloaded" else r.completion_time_s.mean() for r in records])


def assert_not_slower(built, placement, jobs=JOBS):
    """By more than the interval of paired differences, and 1 %."""
    own = simulated_s(built, placement.queries, placement, jobs)
    assert np.isfinite(own).all()
    for name, placed in by_hand(built).items():
        other = simulated_s(built, placed, placement, jobs)
        if not np.isfinite(other).all():
            continue
        slower = paired_difference(own, other).difference
        assert slower.low <= 0.01 * float(other.mean()), f"{name} is quicker: {slower}"


@st.composite
def forks(draw):
    """One or two classes of forks with 2 to 5 branches, now and then a second fork behind the first."""
    classes = []
    for _ in range(draw(st.integers(1, 2))):
        times, edges, last = [1e-3], [], 0
        for _ in range(draw(st.integers(1, 2))):
            branches = draw(st.lists(st.sampled_from([1e-3, 4e-3, 1e-2]), min_size=2, max_size=5))
            size = draw(st.sampled_from([1e4, 1e6, 5e6]))
            first = len(times)
            times += [*branches, 1e-3]
            sink = len(times) - 1
            edges += [(last, first + i, size) for i in range(len(branches))]
            edges += [(first + i, sink, size) for i in range(len(branches))]
            last = sink
        classes.append((times, edges))
    servers, load = draw(st.integers(2, 8)), draw(st.sampled_from([0.1, 0.4, 0.7]))
    share = load * servers / len(classes)
    built = [query(t, e, share / sum(t)) for t, e in classes]
    named = [replace(q, name=f"q{i}") for i, q in enumerate(built)]
    made = system(*named, servers=servers, capacity=1e9)
    busy = draw(st.sampled_from([0.0, 0.3, 0.8]))
    return replace(made, background_network=Stream(busy * 1e9 / 1e6, 1e6, 1.0))


@pytest.mark.verify
@examples(8, phases=[Phase.explicit, Phase.generate])
@given(forks())
def test_simulated_it_is_never_clearly_slower_than_a_placement_by_hand(built):
    assert_not_slower(built, place_system(built))


def joined(ways, steps, load):
    """A chain of forks of ``ways`` equal tasks: every step is a join, whose waits the formula averages."""
    times, edges, last = [1e-4], [], [0]
    for _ in range(steps):
        first = len(times)
        times += [1e-3] * ways
        now = list(range(first, first + ways))
        edges += [(a, b, 1e4) for a in last for b in now]
        last = now
    times.append(1e-4)
    edges += [(a, len(times) - 1, 1e4) for a in last]
    return system(query(times, edges, load * 8 / sum(times)), servers=8, capacity=25e9 / 8)


@pytest.mark.verify
def test_where_a_path_crosses_many_joins_the_formula_is_overruled():
    """Two ways, eight steps, executors 40 % busy: the formula splits; sampled jobs know better."""
    built = joined(2, 8, 0.4)
    optimum = solve(built)
    chosen = choose_placement(built, optimum)
    assert chosen.formula.objective_s == optimum.objective_s
    response_s = predict_response(built, optimum.queries).mix.mean_s
    assert chosen.objective_s <= response_s
    assert chosen.lower_bound_s <= min(chosen.objective_s, optimum.lower_bound_s)
    assert 0 <= chosen.gap <= 1
    assert chosen.objective_error_s < 0.05 * chosen.objective_s
    assert_not_slower(built, chosen)


def test_the_search_reports_every_improvement_and_ends_with_the_best():
    built = joined(2, 4, 0.4)
    seen = []
    chosen = place_system(built, on_better=seen.append)
    assert seen
    objectives = [p.objective_s for p in seen]
    assert all(a > b for a, b in pairwise(objectives))
    assert chosen.objective_s <= min(objectives) * 1.05
    assert all(math.isnan(p.lower_bound_s) or p.lower_bound_s <= p.objective_s for p in seen)


@pytest.mark.verify
def test_equal_inputs_give_equal_placements():
    built = joined(2, 2, 0.3)
    one, two = place_system(built), place_system(built)
    assert one.objective_s == two.objective_s
    assert one.queries[0][0].configurations == two.queries[0][0].configurations


def test_starts_are_placements_that_can_run_and_none_is_there_twice():
    built = joined(3, 2, 0.3)
    named = starts(built, rows(solve(built).queries))
    assert next(iter(named)) == "formula"
    for queries in named.values():
        build_tables(built, queries)  # refuses parts that do not partition, and bad probabilities


def test_a_quicker_rival_replaces_what_sampled_jobs_preferred():
    """Of local and spread the one that is slower when simulated is given as chosen; then the other one."""
    built = joined(2, 4, 0.6)
    chosen = choose_placement(built, solve(built), evaluations=4)
    assert chosen.sampled is not None
    placed = by_hand(built)
    means = {n: float(simulated_s(built, placed[n], chosen).mean()) for n in ("local", "spread")}
    quick = min(means, key=means.__getitem__)
    slow = max(means, key=means.__getitem__)
    assert means[slow] > 1.05 * means[quick]
    for given_to, rival in ((slow, quick), (quick, slow)):
        entry = Rival(rival, placed[rival], chosen.objective_s)
        sampled = replace(chosen.sampled, rivals=(entry,))
        decided = decide(built, replace(chosen, queries=placed[given_to], sampled=sampled))
        assert decided.queries == placed[quick]


@pytest.mark.verify
def test_local_is_a_rival_whatever_sampled_jobs_say_of_it():
    """Sampled jobs can miss half of a wait, so what they call slow is simulated all the same."""
    built = joined(2, 8, 0.1)
    chosen = choose_placement(built, solve(built))
    assert chosen.sampled.origin != "local"
    assert "local" in [rival.origin for rival in chosen.sampled.rivals]
