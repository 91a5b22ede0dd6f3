"""Queueing theory against second computations: Markov chains solved as linear systems, and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from nona.errors import SimulationError
from nona.simulation.theory import (
    erlang_c,
    fork_join_bounds_s,
    fork_join_two_jct_s,
    link_wait_s,
    mg1_jct_s,
    mmc_jct_s,
    tandem_jct_s,
)
from nona.system import Stream


def chain_mmc(rate, mean_s, servers, states=4000):
    """Mean time by Little's law from the stationary distribution of the birth and death chain."""
    k = np.arange(1, states)
    log_p = np.concatenate([[0.0], np.cumsum(np.log(rate * mean_s / np.minimum(k, servers)))])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return float(np.arange(states) @ p) / rate, float(p[servers:].sum())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(servers=st.integers(1, 90), utilization=st.floats(0.05, 0.95), mean_s=st.floats(1e-4, 10.0))
def test_mmc_agrees_with_its_markov_chain(servers, utilization, mean_s):
    rate = utilization * servers / mean_s
    jct, waiting = chain_mmc(rate, mean_s, servers)
    assert mmc_jct_s(rate, mean_s, servers) == pytest.approx(jct, rel=1e-9)
    assert erlang_c(servers, rate * mean_s) == pytest.approx(waiting, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("utilization", [0.3, 0.6, 0.9])
def test_one_server_is_one_queue_by_either_formula(utilization):
    assert mmc_jct_s(utilization, 1.0, 1) == pytest.approx(mg1_jct_s(utilization, 1.0))
    assert mg1_jct_s(utilization, 1.0) == pytest.approx(1 / (1 - utilization))
    waits = [mg1_jct_s(utilization, 1.0, scv) - 1.0 for scv in (0.0, 0.5, 1.0, 2.0)]
    assert np.allclose(waits, np.array([0.5, 0.75, 1.0, 1.5]) * waits[2])


def fork_join_chain_mean(rho, most):
    """Two-branch fork-join with μ = 1 by its Markov chain, queue lengths cut off at ``most``.

    The mean number of jobs in the system is E max(n₁, n₂): a job is there until both of its tasks
    are done, and each queue serves in order.
    """
    size = (most + 1) ** 2
    at = {(i, j): i * (most + 1) + j for i in range(most + 1) for j in range(most + 1)}
    q = lil_matrix((size, size))
    for (i, j), s in at.items():
        for target, rate in (
            ((i + 1, j + 1), rho if max(i, j) < most else 0.0),
            ((i - 1, j), 1.0 if i else 0.0),
            ((i, j - 1), 1.0 if j else 0.0),
        ):
            if rate:
                q[at[target], s] += rate
                q[s, s] -= rate
    q[0, :] = 1.0
    b = np.zeros(size)
    b[0] = 1.0
    p = spsolve(q.tocsc(), b)
    return sum(max(i, j) * p[s] for (i, j), s in at.items()) / rho


@pytest.mark.parametrize(("rho", "most"), [(0.1, 14), (0.3, 25), (0.6, 45)])
def test_two_branch_fork_join_agrees_with_its_markov_chain(rho, most):
    assert fork_join_two_jct_s(rho, 1.0) == pytest.approx(fork_join_chain_mean(rho, most), rel=1e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(branches=st.integers(1, 64), rho=st.floats(0.01, 0.99))
def test_fork_join_bounds_are_in_order_and_grow_with_the_branches(branches, rho):
    low, high = fork_join_bounds_s(rho, 1.0, branches)
    wider = fork_join_bounds_s(rho, 1.0, branches + 1)
    assert low <= high * (1 + 1e-12)
    assert low <= wider[0] * (1 + 1e-12)
    assert high <= wider[1]
    assert mg1_jct_s(rho, 1.0) <= low * (1 + 1e-12)
    if branches == 2:
        assert low <= fork_join_two_jct_s(rho, 1.0) * (1 + 1e-12) <= high * (1 + 1e-9)


def test_fork_join_bounds_close_in_an_empty_system():
    # without queueing the time is the maximum of independent exponentials
    low, high = fork_join_bounds_s(1e-6, 1.0, 5)
    assert low == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5, rel=1e-4)
    assert high == pytest.approx(low, rel=1e-4)


def test_tandem_adds_and_the_link_superposes():
    assert tandem_jct_s(3.0, [0.1, 0.2]) == pytest.approx(1 / (10 - 3) + 1 / (5 - 3))
    whole = link_wait_s(2e6, [Stream(1.2, 1e6, 1.0)])
    assert link_wait_s(2e6, [Stream(0.5, 1e6, 1.0), Stream(0.7, 1e6, 1.0)]) == pytest.approx(whole)
    assert whole == pytest.approx(mg1_jct_s(1.2, 0.5) - 0.5)


def test_overload_is_infinite():
    assert mg1_jct_s(10.0, 0.1) == math.inf
    assert mmc_jct_s(30.0, 0.1, 3) == math.inf
    assert tandem_jct_s(5.0, [0.1, 0.2]) == math.inf
    assert fork_join_bounds_s(10.0, 0.1, 3) == (math.inf, math.inf)
    assert fork_join_two_jct_s(10.0, 0.1) == math.inf
    assert link_wait_s(1e6, [Stream(1.0, 1e6, 0.0)]) == math.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda: mg1_jct_s(0.0, 1.0),
        lambda: mmc_jct_s(1.0, -1.0, 2),
        lambda: erlang_c(0, 0.5),
        lambda: fork_join_bounds_s(1.0, 0.1, 0),
        lambda: link_wait_s(0.0, []),
        lambda: mg1_jct_s(math.nan, 1.0),
    ],
)
def test_impossible_queues_are_refused(call):
    with pytest.raises(SimulationError, match="must be"):
        call()
