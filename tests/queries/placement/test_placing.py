"""The chosen placement against all there are, simulated anew; its figures; its limits."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from placement_helpers import query, random_system, slides, system
from sizes import first

from nona.core.errors import PlacementError
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.proposals import choices, groups_of, same, starts
from nona.queries.schedulers.sampling import NONA
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.simulation.run import Cancelled, RunOptions, job_times
from nona.queries.system import BackgroundStream, Batching
from nona.queries.workflows import placing
from nona.queries.workflows.placement_times import simulated_figures
from nona.queries.workflows.placing import SearchSteps, place_system
from nona.scenario.arrivals import Arrivals

FRESH = 700_000  # number of the first replication: the search uses others


def mean_s(s, queries, shares=None, jobs=12_000, runs=2):
    """Simulated mean by random numbers that no search has seen; infinite without a steady state."""
    tables, means = build_tables(s, queries, shares=shares), []
    for run in range(runs):
        options = RunOptions(jobs=jobs, replication=FRESH + run, tail_jobs=jobs)
        means.append(job_times(s, NONA, tables, options).times_s.mean())
    return math.inf if np.isnan(means).any() else float(np.mean(means))


def fork(seed, m=2, load=0.5, network=0.5, servers=6):
    """A root, ``m`` tasks beside each other, a sink; loads if everything is spread."""
    rng = np.random.default_rng(seed)
    times = [1e-3 * t for t in (rng.uniform(0.5, 2), *rng.uniform(3, 10, m), rng.uniform(0.5, 3))]
    arcs = [(0, v) for v in range(1, m + 1)] + [(v, m + 1) for v in range(1, m + 1)]
    sizes = rng.uniform(0.2, 4, len(arcs)) * 1e6
    rate = load * servers / sum(times)
    capacity = rate * sizes.sum() / network
    made = query(times, [(*arc, float(size)) for arc, size in zip(arcs, sizes, strict=True)], rate)
    return replace(system(made, servers=servers), capacity=float(capacity))


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_no_pure_configuration_is_clearly_faster_and_neither_is_local_or_spread(seed):
    s = fork(seed, m=2 + seed % 2, load=0.35 + 0.05 * (seed % 5), network=0.3 + 0.1 * (seed % 5))
    chosen = place_system(s)
    own = mean_s(s, chosen.queries)
    local = next(c.queries for c in starts(s, None) if c.origin == "local")
    (group,) = groups_of(s, local)
    every = [group.placed(local, row) for row in choices(s, group, local)]
    best = min(mean_s(s, q, jobs=4000, runs=1) for q in every)
    ranked = sorted(every, key=lambda q: mean_s(s, q, jobs=4000, runs=1))[:4]
    best = min(mean_s(s, q) for q in (*ranked, spread_placement(s).queries))
    assert own <= 1.015 * best
    assert chosen.simulated.candidates >= len(every)


def test_a_formula_without_a_gap_does_not_end_the_search():
    """The sink beside the task that was sent away: the formula keeps all on one server, with a gap of 0.

    With a loaded link and deterministic times one message fewer is worth more than the formula's wait says.
    """
    times = [0.00113, 0.00889, 0.00559, 0.00159]
    arcs = [(0, 1, 0.99e6), (1, 3, 1.11e6), (0, 2, 3.67e6), (2, 3, 0.92e6)]
    link = 10e9 / 8
    s = system(query(times, arcs, 264.5), servers=7, network=BackgroundStream(0.3 * link / 1e6, 1e6, 1.0))
    s = replace(s, capacity=link, latency_s=1e-4)
    chosen = place_system(s)
    assert chosen.formula.gap < 1e-4
    assert chosen.formula.lower_bound_s > 1.05 * chosen.objective_s
    assert not chosen.queries[0][0].configurations[0].is_local
    assert chosen.objective_s < 0.95 * mean_s(s, local_placement(s).queries)


@pytest.mark.parametrize("objective", ["mean-jct", "slo"])
def test_no_start_beats_the_choice_in_its_objective(objective):
    s = random_system(11, queries=2, load=0.5, network=0.3)
    s = replace(s, queries=tuple(replace(q, slo_s=3 * float(q.tasks.compute_s.sum())) for q in s.queries))
    chosen = place_system(s, objective)

    def value(queries):
        found = simulated_figures(s, queries, None)
        mean_s = math.inf if found.mean is None else found.mean
        return found.misses if objective == "slo" else mean_s

    own = value(chosen.queries)
    assert all(own <= value(c.queries) * 1.01 + 1e-3 for c in starts(s, None))
    assert chosen.objective == objective


def test_shares_of_classes_are_searched_too():
    """Tasks that take 20 times as long on the other class stay off it, whatever an even draw would do."""
    s = random_system(4, queries=1, classes=2, servers=6, load=0.3, network=0.2)
    slow = replace(
        s.queries[0],
        tasks=replace(s.queries[0].tasks, compute_s=s.queries[0].tasks.compute_s * np.array([[1.0], [20.0]])),
    )
    s = replace(s, queries=(replace(slow, rate=0.2 * slow.rate),))
    chosen = place_system(s)
    assert chosen.class_shares[0, 1] < 0.2
    assert chosen.objective_s < mean_s(s, local_placement(s).queries)


def test_one_server_and_no_interior_need_no_search():
    for s in (system(slides(1.0), servers=1), system(query([0.01, 0.02], [(0, 1, 1.0)], 5.0))):
        chosen = place_system(s)
        assert chosen.objective_s == pytest.approx(mean_s(s, chosen.queries), rel=0.1)
        assert chosen.simulated.steady


def test_batches_after_a_long_silence_are_placed_and_simulated():
    """300 queries in 3 s, then nothing until an hour has passed."""
    (q,) = system(slides()).queries
    burst = Arrivals(
        "trace", times_s=tuple(0.01 * n for n in range(300)), scale_to_rate=False, period_s=3600.0
    )
    steps = Batching(np.stack([q.tasks.compute_s * (0.5 + 0.5 * b) for b in range(1, 5)]))
    found = place_system(replace(system(slides()), queries=(replace(q, batching=steps, arrivals=burst),)))
    assert found.formula is None
    assert found.simulated.jobs > 0
    assert math.isfinite(found.simulated.mean)


def test_executors_that_batch_are_placed_by_simulation_without_a_formula():
    q = slides(30.0)
    q = replace(q, batching=Batching(np.stack([q.tasks.compute_s * (0.5 + 0.5 * b) for b in range(1, 5)])))
    s = system(q, servers=4)
    chosen = place_system(s)
    assert chosen.formula is None
    assert chosen.prediction.jct_s is None
    assert chosen.prediction.compute_utilization < 1
    assert chosen.simulated.steady
    with pytest.raises(PlacementError, match=r"'formula'.*batch"):
        place_system(s, "formula")


def test_the_formula_alone_is_what_it_says_and_is_simulated_too():
    s = fork(1)
    chosen = place_system(s, "formula")
    assert chosen.origin == "formula"
    assert chosen.prediction.jct_s == pytest.approx(chosen.formula.objective_s)
    assert chosen.objective_s == chosen.simulated.mean
    assert chosen.simulated.candidates == 1


def test_the_same_again_and_steps_that_get_better():
    s = random_system(7, queries=2, load=0.4, network=0.3)
    steps, seen = SearchSteps(clock=iter(range(100)).__next__), []
    one = place_system(s, on_better=steps.add, on_progress=seen.append)
    two = place_system(s)
    assert same(one.queries, two.queries)
    assert one.simulated == two.simulated
    assert len(steps.steps) >= 1
    assert same(steps.best.queries, one.queries)
    assert [p.runs for p in seen] == sorted(p.runs for p in seen)
    assert all(0 <= p.share <= 1 for p in seen)


def test_a_check_ends_the_search_and_keeps_what_is_known():
    steps = SearchSteps()

    def check():
        if steps.steps:
            raise Cancelled

    with pytest.raises(Cancelled):
        place_system(random_system(7, queries=2), check=check, on_better=steps.add)
    assert steps.best.simulated.steady


def test_a_quick_answer_makes_fewer_runs_and_is_no_worse_than_the_presets(monkeypatch):
    s = fork(5)
    counted = []
    whole = place_system(s, on_progress=counted.append).simulated
    runs = counted[-1].runs
    counted.clear()
    quick = place_system(s, quick=True, on_progress=counted.append)
    assert counted[-1].runs < runs
    assert whole.candidates > quick.simulated.candidates
    presets = (local_placement(s), spread_placement(s))
    assert quick.objective_s <= 1.02 * min(mean_s(s, p.queries) for p in presets)


def test_what_cannot_be_placed_is_refused():
    with pytest.raises(PlacementError, match="servers of this mix"):
        place_system(system(query([0.5], [], 40.0)))
    with pytest.raises(PlacementError, match="no query class has an SLO"):
        place_system(system(slides()), "slo")
    with pytest.raises(PlacementError, match="must be one of"):
        place_system(system(slides()), "magic")
    with pytest.raises(PlacementError, match="capacity"):
        place_system(system(slides(1.0), network=BackgroundStream(100.0, 12.0, 1.0)))


def test_figures_are_those_of_a_known_queue():
    """All local on one executor: M/D/1. The interval covers the theory's mean, percentiles are in order."""
    rho, time_s = 0.6, 0.01
    s = system(replace(query([time_s], [], rho / time_s), slo_s=0.03), servers=1)
    found = simulated_figures(s, local_placement(s).queries, None)
    wait = rho * time_s / (2 * (1 - rho))
    low, high = found.ci95
    assert low - 0.3 * (high - low) <= time_s + wait <= high + 0.3 * (high - low)
    assert time_s <= found.p50 <= found.p95 <= found.p99
    # Erlang's distribution of the wait in M/D/1, at two services: (1 − ρ)·(e^2ρ − ρ·e^ρ)
    late = 1 - (1 - rho) * (math.exp(2 * rho) - rho * math.exp(rho))
    least, most = found.misses_ci95
    assert least < found.misses < most < 0.2
    assert least - 0.3 * (most - least) <= late <= most + 0.3 * (most - least)
    assert next(iter(found.models.values())).mean == found.mean
    full = replace(s, queries=(replace(s.queries[0], rate=1.5 / time_s),))
    assert not simulated_figures(full, local_placement(s).queries, None).steady


def test_slow_machines_answer_by_fewer_events(monkeypatch):
    """Where machine code is not ready SimPy decides, with the same candidates and shorter runs."""
    monkeypatch.setattr("nona.queries.workflows.race.engine_named", lambda name: "simpy")
    monkeypatch.setattr(placing, "EVENTS", 1_500_000)
    chosen = place_system(fork(2))
    assert chosen.simulated.candidates > 2
    assert list(itertools.chain(*chosen.queries))
