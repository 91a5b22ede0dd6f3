"""The default placement, simulated: never clearly slower than what a person would fix by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import Phase, given
from hypothesis import strategies as st
from placement_helpers import query, system
from sizes import examples

from nona.placement.fixed import idle_presets, local_placement, place_fixed, spread_placement
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import Placement, Queries, Rival
from nona.placement.sampled.judge import rows
from nona.placement.sampled.moves import starts
from nona.placement.sampled.search import choose_placement
from nona.placement.solve import solve
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.intervals import paired_difference
from nona.simulation.run import RunOptions, simulate_run
from nona.study.placing import decide, place_system
from nona.system import Stream, System

RUNS, JOBS = 5, 1500


def by_hand(built: System) -> dict[str, Queries]:
    """The queue-blind placements that the default is held against."""
    idle = zip(built.queries, idle_presets(built), strict=True)
    return {
        "local": local_placement(built).queries,
        "spread": spread_placement(built).queries,
        "expert": rows([place_fixed(built, q, preset) for q, preset in idle]),
    }


def simulated_s(built: System, placed: Queries, placement: Placement, jobs: int = JOBS) -> np.ndarray:
    """Mean JCT of each run; infinite where the system is overloaded."""
    prepared = build_tables(built, placed, shares=placement.class_shares)
    runs = [
        simulate_run(built, get_scheduler("nona"), prepared, RunOptions(jobs=jobs, replication=r))
        for r in range(RUNS)
    ]
    return np.array([np.inf if r.state == "overloaded" else r.completion_time_s.mean() for r in runs])


def assert_not_slower(built: System, placement: Placement, jobs: int = JOBS) -> None:
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
def forks(draw: st.DrawFn) -> System:
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


@examples(8, phases=[Phase.explicit, Phase.generate])
@given(forks())
def test_simulated_it_is_never_clearly_slower_than_a_placement_by_hand(built: System) -> None:
    assert_not_slower(built, place_system(built))


def joined(ways: int, steps: int, load: float) -> System:
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


def test_where_a_path_crosses_many_joins_the_formula_is_overruled() -> None:
    """Two ways, eight steps, executors 40 % busy: the formula splits; sampled jobs know better."""
    built = joined(2, 8, 0.4)
    optimum = solve(built)
    chosen = choose_placement(built, optimum)
    assert chosen.formula is not None
    assert chosen.formula.objective_s == optimum.objective_s
    response_s = predict_response(built, optimum.queries).mix.mean_s
    assert chosen.objective_s <= response_s
    assert chosen.lower_bound_s <= chosen.objective_s
    assert chosen.lower_bound_s <= optimum.lower_bound_s
    assert 0 <= chosen.gap <= 1
    assert chosen.objective_error_s < 0.05 * chosen.objective_s
    assert_not_slower(built, chosen)


def test_the_search_reports_every_improvement_and_ends_with_the_best() -> None:
    built = joined(2, 8, 0.4)
    seen: list[Placement] = []
    chosen = place_system(built, on_better=seen.append)
    assert seen
    objectives = [p.objective_s for p in seen]
    assert all(a > b for a, b in pairwise(objectives))
    assert chosen.objective_s <= min(objectives) * 1.05
    assert all(math.isnan(p.lower_bound_s) or p.lower_bound_s <= p.objective_s for p in seen)


def test_equal_inputs_give_equal_placements() -> None:
    built = joined(2, 4, 0.3)
    first, second = place_system(built), place_system(built)
    assert first.objective_s == second.objective_s
    assert first.queries[0][0].configurations == second.queries[0][0].configurations


def test_starts_are_placements_that_can_run_and_none_is_there_twice() -> None:
    built = joined(3, 2, 0.3)
    named = starts(built, rows(solve(built).queries))
    assert next(iter(named)) == "formula"
    for queries in named.values():
        build_tables(built, queries)  # refuses parts that do not partition, and bad probabilities


def test_a_quicker_rival_replaces_what_sampled_jobs_preferred() -> None:
    """Of local and spread the one that is slower when simulated is given as chosen; then the other one."""
    built = joined(2, 8, 0.6)
    chosen = choose_placement(built, solve(built))
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


def test_local_is_a_rival_whatever_sampled_jobs_say_of_it() -> None:
    """Sampled jobs can miss half of a wait, so what they call slow is simulated all the same."""
    built = joined(2, 8, 0.1)
    chosen = choose_placement(built, solve(built))
    assert chosen.sampled is not None
    assert chosen.sampled.origin != "local"
    assert "local" in [rival.origin for rival in chosen.sampled.rivals]
