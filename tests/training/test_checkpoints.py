"""Failures: Young's and Daly's interval, the wall time of the model, progress between failures."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.training.checkpoints import (
    best_interval,
    daly_s,
    exact_s,
    failure_gaps,
    simulated_wall,
    wall_per_work,
    young_s,
)
from nona.training.disturbance import NodeFailures, Progress, Saving, advanced, checkpointed

CASES = [(30.0, 86400.0, 60.0), (50.0, 5000.0, 100.0), (300.0, 3600.0, 600.0)]


@pytest.mark.parametrize(("c", "m", "r"), CASES)
def test_the_formula_is_what_is_simulated(c: float, m: float, r: float) -> None:
    gaps = failure_gaps(RandomStreams(2), failures=40_000, replications=8)
    for tau in (0.5 * young_s(c, m), daly_s(c, m), 2 * young_s(c, m)):
        walls = simulated_wall(tau, c, m, r, gaps)
        half = 4.0 * walls.std(ddof=1) / np.sqrt(len(walls))
        assert abs(walls.mean() - wall_per_work(tau, c, m, r)) < half + 1e-12


@pytest.mark.parametrize(("c", "m", "r"), CASES)
def test_the_exact_interval_is_the_least_of_the_formula(c: float, m: float, r: float) -> None:
    best = exact_s(c, m)
    least = wall_per_work(best, c, m, r)
    grid = best * np.geomspace(0.3, 3, 61)
    assert least <= min(wall_per_work(t, c, m, r) for t in grid) + 1e-12


@pytest.mark.parametrize(("c", "m", "r"), CASES)
def test_young_and_daly_are_near_the_simulated_best(c: float, m: float, r: float) -> None:
    gaps = failure_gaps(RandomStreams(3), failures=10_000, replications=5)
    best = best_interval(c, m, r, gaps)
    at = {name: wall_per_work(t, c, m, r) for name, t in (("young", young_s(c, m)), ("daly", daly_s(c, m)))}
    assert at["daly"] <= at["young"] + 1e-12
    assert at["daly"] < 1.001 * wall_per_work(exact_s(c, m), c, m, r)
    assert at["young"] < 1.02 * wall_per_work(exact_s(c, m), c, m, r)
    assert wall_per_work(best.interval_s, c, m, r) < 1.01 * wall_per_work(exact_s(c, m), c, m, r)


def test_formulas_refuse_what_is_not_a_time() -> None:
    with pytest.raises(SimulationError, match="mtbf=0 s must be above 0"):
        young_s(1, 0)
    with pytest.raises(SimulationError, match="restart=-1 s must be at least 0"):
        wall_per_work(1, 1, 1, -1)


TIMES = st.lists(st.floats(0.1, 999), max_size=8).map(sorted)


@examples(60)
@given(TIMES, st.floats(1, 200), st.floats(0, 50), st.floats(0, 50), st.lists(st.floats(0, 1000), max_size=4))
def test_time_is_conserved_and_cutting_a_stretch_changes_nothing(
    failures: list[float], tau: float, c: float, r: float, cuts: list[float]
) -> None:
    how = Saving(tau, c, r)
    whole, end = advanced(Progress(), how, 0.0, 1000.0, failures, 1e9)
    assert end == 1000.0
    assert whole.spent_s == pytest.approx(1000.0)
    assert whole.failures == len(failures)
    state, edges = Progress(), [0.0, *sorted(cuts), 1000.0]
    for a, b in itertools.pairwise(edges):
        state, _ = advanced(state, how, a, b, failures, 1e9)
    assert state.spent_s == pytest.approx(1000.0)
    assert state.failures == whole.failures
    if not failures:
        assert state.work_s == pytest.approx(whole.work_s)


def test_a_single_job_takes_what_the_formula_says() -> None:
    """A job of many segments under drawn failures: wall over work, within its interval."""
    c, m, r = 20.0, 2000.0, 40.0
    tau = daly_s(c, m)
    how, walls = Saving(tau, c, r), []
    for seed in range(12):
        times = NodeFailures(m, RandomStreams(seed)).between("v100", 0, 0.0, 3e5)
        need = 400 * tau
        state, end = advanced(Progress(), how, 0.0, 3e5, times, need)
        assert state.work_s == pytest.approx(need)
        walls.append(end / need)
    half = 4.0 * float(np.std(walls, ddof=1)) / np.sqrt(len(walls))
    assert abs(np.mean(walls) - wall_per_work(tau, c, m, r)) < half


def test_a_preempted_job_loses_nothing_later() -> None:
    how = Saving(100, 10, 20)
    state, _ = advanced(Progress(), how, 0, 90, [], 1e9)
    kept, _ = advanced(checkpointed(state), how, 90, 100, [95], 1e9)
    lost, _ = advanced(state, how, 90, 100, [95], 1e9)
    assert kept.work_s == 90
    assert kept.lost_s == 5
    assert lost.work_s == 0
    assert lost.lost_s == 95


def test_failures_are_a_poisson_stream_of_each_node() -> None:
    failures = NodeFailures(100.0, RandomStreams(5))
    counts = [len(failures.between("k80", n, 0.0, 1e4)) for n in range(200)]
    assert abs(np.mean(counts) - 100) < 4 * 10 / np.sqrt(200)
    halves = failures.between("k80", 3, 0.0, 500.0) + failures.between("k80", 3, 500.0, 1e4)
    assert halves == failures.between("k80", 3, 0.0, 1e4)
    assert failures.between("k80", 3, 0.0, 1e3) != failures.between("v100", 3, 0.0, 1e3)
