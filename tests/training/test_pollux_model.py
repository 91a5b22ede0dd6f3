"""Pollux's model of a step and its fit, against definitions written out in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

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
from nona.training.elastic.profiles import shipped_applications
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


def test_computing_times_without_noise_are_found():
    again = [compute_s(fit(SEEN), m) for m in SEEN.local]
    assert again == pytest.approx(SEEN.compute_s.tolist(), rel=1e-4)


def test_what_was_not_seen_stays_optimistic():
    one = fit(_seen(TRUE, [(1, 1, 32)]))
    assert one[0] == pytest.approx(compute_s(TRUE, 32) / 2)
    assert (one[2:6] <= 1.2e-8).all()
    two = fit(_seen(TRUE, [(1, 1, 32), (1, 2, 32), (1, 4, 64)]))
    assert two[2] >= 1.1 * two[4] > 1e-4
    assert two[3] >= 1.1 * two[5]


def test_the_best_batch_is_the_best_of_all_fifty():
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


def test_goodputs_know_which_placements_exist():
    table = goodputs(TRUE, np.array([3.0, 40.0]), np.array([128, 4096, 32, 1024]), 4, 9)
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
