"""What elastic policies learn and search: Pollux's model and search, Optimus' fits."""

import itertools
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.errors import SimulationError
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.optimus import GpuShape, Measuring, fit_curve, fit_step, remaining_epochs
from nona.training.elastic.optimus import step_s as fitted_step_s
from nona.training.elastic.pollux import TunedBatch
from nona.training.elastic.pollux_goodput import (
    Observations,
    best_batch,
    compute_s,
    fit,
    goodputs,
    loss,
    network_s,
    step_s,
)
from nona.training.elastic.pollux_search import (
    ElasticJobs,
    SearchSize,
    cross,
    crowding,
    evolve,
    fronts,
    mutate,
    repair,
    survivors,
    value_of,
)
from nona.training.elastic.profiles import shipped_applications
from nona.training.elastic.records import elastic_checks
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import ElasticCluster, ElasticSystem
from nona.training.elastic.workload import shipped_workload

TRUE = np.array([0.05, 0.002, 0.2, 0.01, 0.04, 0.003, 2.0])


def _seen(params, rows):
    nodes, gpus, local = np.array(rows).T
    compute = np.array([compute_s(params, m) for m in local])
    network = [network_s(params, bool(n > 1), int(r)) for n, r in zip(nodes, gpus, strict=True)]
    step = np.array([step_s(c, n, params[6]) for c, n in zip(compute, network, strict=True)])
    return Observations(nodes, gpus, local, compute, step)


SEEN = _seen(TRUE, [(1, 1, 32), (1, 2, 32), (1, 4, 64), (2, 6, 64), (2, 8, 128), (4, 16, 100), (3, 3, 50)])


@examples(100)
@given(st.floats(1e-3, 10.0), st.floats(1e-3, 10.0))
def test_overlap_goes_from_the_sum_to_the_larger_one(compute, network):
    assert step_s(compute, network, 1.0) == pytest.approx(compute + network)
    assert max(compute, network) <= step_s(compute, network, 10.0) <= 2**0.1 * max(compute, network) + 1e-12
    assert step_s(compute, network, 1000.0) == pytest.approx(max(compute, network), rel=1e-2)


@examples(100)
@given(st.lists(st.floats(0.005, 2.0), min_size=6, max_size=6), st.floats(1.05, 8.0))
def test_derivatives_of_the_loss_are_its_differences(parts, gamma):
    params = np.array([*parts, gamma])
    found = loss(params, *SEEN)
    for k in range(7):
        width = 1e-5 * params[k]  # narrower, rounding is seen
        up, down = params.copy(), params.copy()
        up[k] += width
        down[k] -= width
        slope = (loss(up, *SEEN)[0] - loss(down, *SEEN)[0]) / (2 * width)
        assert found[1 + k] == pytest.approx(slope, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_fit_to_noisy_times_loses_less_than_the_truth(seed):
    rng = np.random.default_rng(seed)
    noisy = SEEN._replace(
        compute_s=SEEN.compute_s * np.exp(0.1 * rng.standard_normal(7)),
        step_s=SEEN.step_s * np.exp(0.1 * rng.standard_normal(7)),
    )
    assert loss(fit(noisy), *noisy)[0] < loss(TRUE, *noisy)[0]


def test_computing_times_without_noise_are_found_and_what_was_not_seen_stays_optimistic():
    again = [compute_s(fit(SEEN), m) for m in SEEN.local]
    assert again == pytest.approx(SEEN.compute_s.tolist(), rel=1e-4)
    one = fit(_seen(TRUE, [(1, 1, 32)]))
    assert one[0] == pytest.approx(compute_s(TRUE, 32) / 2)
    assert (one[2:6] <= 1.2e-8).all()
    two = fit(_seen(TRUE, [(1, 1, 32), (1, 2, 32), (1, 4, 64)]))
    assert two[2] >= 1.1 * two[4] > 1e-4
    assert two[3] >= 1.1 * two[5]


def test_the_best_batch_is_the_best_of_all_fifty_and_goodputs_know_which_placements_exist():
    limits, noise = np.array([128, 4096, 32, 1024]), np.array([3.0, 40.0])
    for gpus, wide in ((1, False), (3, False), (3, True), (16, True)):
        best = (-1.0, 0, 0)
        for batch in np.geomspace(max(128, 32 * gpus), 4096):
            share = batch / gpus
            extra = math.ceil(share / 1024 - 1e-8) - 1
            if gpus == 1 and share > 128 + 1e-8:
                extra = max(extra, 1)
            local = math.ceil(share / (extra + 1) - 1e-8)
            if not 32 <= local <= 1024:
                continue
            compute = TRUE[0] + TRUE[1] * local
            network = 0.0
            if gpus > 1:
                network = TRUE[2 if wide else 4] + TRUE[3 if wide else 5] * max(gpus - 2, 0)
            seconds = extra * compute + (compute**2 + network**2) ** 0.5
            scale = gpus * local * (extra + 1) / 128
            best = max(best, (43 / (40 / scale + 3) * 128 / seconds, local, extra), key=lambda b: b[0])
        found = best_batch(TRUE, noise, limits, wide, gpus)
        assert found[0] == pytest.approx(best[0], rel=1e-6)
        assert found[1:] == best[1:]
    table = goodputs(TRUE, noise, limits, 4, 9)
    assert (table[0, 1:5] > 0).all()
    assert (table[0, 5:] == 0).all()
    assert (table[1, 2:] > 0).all()
    assert (table[0, 2:5] > table[1, 2:5]).all()  # across nodes is slower


def test_the_agent_starts_small_and_grows_by_twice():
    job = next(j for j in shipped_workload(1) if j.application.name == "cifar10")
    agent = TunedBatch(job, 4, 64)
    assert agent.most_gpus == 1
    split = agent.split((1,))
    assert split.batch(1) == job.application.batches.least
    _, time = job.application.step((1,), split)
    agent.measured((1,), split, time, job.application.noise(128, 0))
    assert agent.most_gpus == 2
    later = shipped_applications()["cifar10"].noise(128, 90)  # the noise grows, and with it the batch size
    agent.measured((1,), split, time, later)
    assert agent.split((4,)).batch(4) > job.application.batches.least


GPUS = 4


def legal(state, most, avoid=True):
    within = (state >= 0).all() and (state.sum(axis=0) <= GPUS).all() and (state.sum(axis=1) <= most).all()
    wide = (state > 0).sum(axis=1) > 1
    return within and (not avoid or ((state[wide] > 0).sum(axis=0) <= 1).all())


@st.composite
def matrices(draw):
    jobs, nodes = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, GPUS + 1, (jobs, nodes)).astype(np.int8), rng


@examples(100)
@given(matrices(), st.booleans())
def test_repaired_solutions_are_legal_and_stay_so(drawn, avoid):
    state, rng = drawn
    most = rng.integers(1, 30, len(state))
    before = state.copy()
    repair(state, GPUS, most, avoid, rng)
    assert legal(state, most, avoid)
    assert (state <= before).all()
    assert ((state > 0).sum(axis=1) <= 16).all()
    again = state.copy()
    repair(again, GPUS, most, avoid, rng)
    assert (again == state).all()


@examples(100)
@given(matrices())
def test_mutation_stays_within_nodes_and_crossover_keeps_rows(drawn):
    state, rng = drawn
    other = rng.integers(0, GPUS + 1, state.shape).astype(np.int8)
    first, second = state.copy(), other.copy()
    cross(first, second, rng)
    for before, after in zip(zip(state, other, strict=True), zip(first, second, strict=True), strict=True):
        assert sorted(row.tobytes() for row in before) == sorted(row.tobytes() for row in after)
    mutate(first, state, GPUS, rng)
    assert ((first >= 0) & (first <= GPUS)).all()


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


@examples(100)
@given(POINTS, st.integers(1, 30))
def test_fronts_are_those_of_the_definition_and_survivors_of_the_first_ones(points, count):
    values = np.array(points, float)
    worse = (values[None] >= values[:, None]).all(axis=2) & (values[None] > values[:, None]).any(axis=2)
    expected = np.zeros(len(values), int)
    for i in np.argsort(-values.sum(axis=1)):  # who dominates has the larger sum
        expected[i] = max((expected[k] + 1 for k in np.flatnonzero(worse[i])), default=0)
    assert fronts(values).tolist() == expected.tolist()  # the longest chain of who dominates whom
    front, kept = fronts(values), survivors(values, count)
    assert len(set(kept.tolist())) == min(count, len(values))
    left = np.setdiff1d(np.arange(len(values)), kept)
    if len(left):
        assert front[kept].max() <= front[left].min()


def test_crowding_by_hand():
    values = np.array([[0.0, 4.0], [1.0, 2.0], [4.0, 0.0]])
    assert crowding(values, fronts(values)).tolist() == [np.inf, 2.0, np.inf]


def _jobs(base, rng, most):
    jobs = len(base)
    table = np.zeros((jobs, 2, 2 * GPUS + 1))
    grow = np.sort(rng.random((jobs, 2 * GPUS)), axis=1)
    table[:, 0, 1:], table[:, 1, 1:] = grow, 0.9 * grow
    return ElasticJobs(base, table, np.full(jobs, 0.8), np.full(jobs, most))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_of_all_solutions(seed):
    rng = np.random.default_rng(seed)
    base = np.zeros((2, 2), np.int8)
    jobs = _jobs(base, rng, 5)
    best = 0.0
    for entries in itertools.product(range(GPUS + 1), repeat=4):
        state = np.array(entries, np.int8).reshape(2, 2)
        if legal(state, 5):
            best = max(best, value_of(state, jobs, GPUS)[0])
    states, values = evolve(base[None], jobs, SearchSize(40, 40, GPUS, True), rng)
    assert values[:, 0].max() == pytest.approx(best)
    assert all(legal(state, 5) for state in states)
    assert (fronts(values) == 0).all()


SHAPES = [GpuShape(1, 1), GpuShape(1, 2), GpuShape(1, 4), GpuShape(2, 8), GpuShape(3, 9), GpuShape(4, 16)]


@examples(30)
@given(st.lists(st.floats(0, 10), min_size=5, max_size=5).filter(lambda v: sum(v) > 0.1))
def test_a_law_of_the_family_is_found_again(theta):
    truth = {at: fitted_step_s(np.array(theta), 64, at) for at in SHAPES}
    found = fit_step(64, truth)
    assert (found >= 0).all()
    for at in (*SHAPES, GpuShape(2, 6)):
        assert fitted_step_s(found, 64, at) == pytest.approx(fitted_step_s(np.array(theta), 64, at), rel=1e-6)


@examples(30)
@given(st.floats(0.05, 3), st.floats(0.1, 3), st.integers(4, 30), st.sampled_from([0.01, 0.001]))
def test_a_curve_ends_where_it_falls_by_less_than_the_threshold(beta0, beta1, done, threshold):
    """The forecast against a search epoch by epoch along the true curve."""
    errors = [1 / (beta0 * k + beta1) for k in range(1, done + 1)]
    curve = fit_curve(errors)
    assert curve.loss(done) == pytest.approx(errors[-1], rel=1e-3)
    falls = (
        k
        for k in range(1, 10**5)
        if 1 / (beta0 * k + beta1) - 1 / (beta0 * (k + 1) + beta1) < threshold * errors[0]
    )
    left = max(next(falls) - done, 1)
    assert remaining_epochs(errors, 10**6, threshold) == pytest.approx(left, abs=1.01)


def test_without_a_falling_curve_users_are_believed():
    assert remaining_epochs([], 40, 0.01) == 40
    assert remaining_epochs([0.5, 0.6, 0.7], 40, 0.01) == 37
    assert remaining_epochs([0.5, 0.4, 0.3], 3, 0.01) >= 1


def test_a_fit_is_closer_to_the_measured_steps_than_any_single_time():
    """Within 40 % where it was not tried; what was tried is kept as it was first measured."""
    cluster = ElasticCluster(16, 4)
    job = next(job for job in shipped_workload(1) if job.application.name == "cifar10")
    seen = Measuring(job, cluster)
    split = seen.split((4, 2))
    time = job.application.times.step_time((4, 2), split.local)
    seen.measured((4, 2), split, time, None)
    seen.measured((4, 2), split, time._replace(step_s=99.0), None)
    assert seen.measured_s[GpuShape(2, 6)] == pytest.approx(
        time.step_s + split.extra * (time.step_s - time.sync_s)
    )
    for gpus, counts in ((3, (3,)), (5, (4, 1)), (12, (4, 4, 4))):
        true, _ = job.application.step(counts, seen.split(counts))
        assert seen.step_s(gpus) == pytest.approx(true, rel=0.4)


def test_fitted_runs_keep_the_rules_and_wait_between_divisions():
    system = ElasticSystem(ElasticCluster(4, 4), shipped_workload(3)[:20])
    options = {"fitted": True, "every_ticks": 10}
    records = simulate_elastic(system, ELASTIC["optimus"], options)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    asked = sorted({change.time_s for change in records.changes if change.given})
    assert all(b - a >= 600 for a, b in pairwise(asked))
    often = simulate_elastic(system, ELASTIC["optimus"], {"fitted": True})
    assert sum(records.restarts) < sum(often.restarts)


def test_errors_by_epoch_are_needed():
    job = shipped_workload(3)[0]
    without = replace(job, application=replace(job.application, error=None))
    with pytest.raises(SimulationError, match=r"add the column error to epochs\.csv"):
        simulate_elastic(ElasticSystem(ElasticCluster(), (without,)), ELASTIC["optimus"], {"fitted": True})
    with pytest.raises(SimulationError, match="fitted=1 must be true or false"):
        simulate_elastic(ElasticSystem(ElasticCluster(), (job,)), ELASTIC["optimus"], {"fitted": 1})
