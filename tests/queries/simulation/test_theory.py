"""Queueing theory against second computations: Markov chains solved as linear systems, and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve
from sizes import examples

from evidence import theory
from nona.core.errors import SimulationError
from nona.queries.system import BackgroundStream


def chain_mmc(rate, mean_s, servers, states=4000):
    """Mean time by Little's law from the stationary distribution of the birth and death chain."""
    k = np.arange(1, states)
    log_p = np.concatenate([[0.0], np.cumsum(np.log(rate * mean_s / np.minimum(k, servers)))])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return float(np.arange(states) @ p) / rate, float(p[servers:].sum())


@examples(60)
@given(servers=st.integers(1, 90), utilization=st.floats(0.05, 0.95), mean_s=st.floats(1e-4, 10.0))
def test_mmc_agrees_with_its_markov_chain(servers, utilization, mean_s):
    rate = utilization * servers / mean_s
    jct, waiting = chain_mmc(rate, mean_s, servers)
    assert theory.mmc_jct_s(rate, mean_s, servers) == pytest.approx(jct, rel=1e-9)
    assert theory.erlang_c(servers, rate * mean_s) == pytest.approx(waiting, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("utilization", [0.3, 0.6, 0.9])
def test_one_server_is_one_queue_by_either_formula(utilization):
    assert theory.mmc_jct_s(utilization, 1.0, 1) == pytest.approx(theory.mg1_jct_s(utilization, 1.0))
    assert theory.mm1_jct_s(utilization, 1.0) == pytest.approx(theory.mg1_jct_s(utilization, 1.0, 1.0))
    assert theory.md1_jct_s(utilization, 1.0) == pytest.approx(theory.mg1_jct_s(utilization, 1.0, 0.0))
    waits = [theory.mg1_jct_s(utilization, 1.0, scv) - 1.0 for scv in (0.0, 0.5, 1.0, 2.0)]
    assert np.allclose(waits, np.array([0.5, 0.75, 1.0, 1.5]) * waits[2])


def stationary(states, moves):
    """State → probability in a Markov chain; ``moves``: (target, rate) each, out of the states if too far."""
    at = {s: n for n, s in enumerate(states)}
    q = lil_matrix((len(at), len(at)))
    for s, n in at.items():
        for target, rate in moves(*s):
            if target in at:
                q[at[target], n] += rate
                q[n, n] -= rate
    q[0, :] = 1.0
    return dict(zip(at, spsolve(q.tocsc(), np.eye(len(at))[0]), strict=True))


def pairs(most):
    return [(i, j) for i in range(most + 1) for j in range(most + 1)]


def fork_join_chain_mean(rho, most):
    """Two-branch fork-join with μ = 1, queue lengths cut off at ``most``.

    The mean number of jobs in the system is E max(n₁, n₂): a job is there until both of its tasks
    are done, and each queue serves in order.
    """

    def moves(i, j):
        return [((i + 1, j + 1), rho), ((i - 1, j), 1.0), ((i, j - 1), 1.0)]

    return sum(max(s) * p for s, p in stationary(pairs(most), moves).items()) / rho


@pytest.mark.parametrize(("rho", "most"), [(0.1, 14), (0.3, 25), (0.6, 45)])
def test_two_branch_fork_join_agrees_with_its_markov_chain(rho, most):
    assert theory.fork_join_two_jct_s(rho, 1.0) == pytest.approx(fork_join_chain_mean(rho, most), rel=1e-5)


@examples(60)
@given(branches=st.integers(1, 64), rho=st.floats(0.01, 0.99))
def test_fork_join_bounds_are_in_order_and_grow_with_the_branches(branches, rho):
    low, high = theory.fork_join_bounds_s(rho, 1.0, branches)
    wider = theory.fork_join_bounds_s(rho, 1.0, branches + 1)
    assert low <= high * (1 + 1e-12)
    assert low <= wider[0] * (1 + 1e-12)
    assert high <= wider[1]
    assert theory.mg1_jct_s(rho, 1.0) <= low * (1 + 1e-12)
    if branches == 2:
        assert low <= theory.fork_join_two_jct_s(rho, 1.0) * (1 + 1e-12) <= high * (1 + 1e-9)


@st.composite
def streams_below_one(draw):
    """Up to five classes that together fill a server to less than 95 %."""
    means = draw(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=5))
    shares = [draw(st.floats(0.05, 1.0)) for _ in means]
    load = draw(st.floats(0.05, 0.95)) / sum(shares)
    return [
        BackgroundStream(load * w / m, m, draw(st.floats(0.0, 4.0)))
        for w, m in zip(shares, means, strict=True)
    ]


@examples(60)
@given(streams=streams_below_one())
def test_priorities_only_move_the_wait_from_class_to_class(streams):
    """Kleinrock's conservation law: Σ ρₖWₖ is that of first come first served, whatever the order."""
    fifo = theory.link_wait_s(1.0, streams)
    for order in (streams, streams[::-1]):
        waits = [t - s.mean for t, s in zip(theory.priority_jct_s(order), order, strict=True)]
        moved = sum(s.rate * s.mean * w for s, w in zip(order, waits, strict=True))
        assert moved == pytest.approx(fifo * sum(s.rate * s.mean for s in streams), rel=1e-9)
        assert waits == sorted(waits)
    one = streams[0]
    assert theory.priority_jct_s([one]) == pytest.approx((theory.mg1_jct_s(one.rate, one.mean, one.scv),))


def priority_chain_mean(rates, means_s, most):
    """Mean times of two exponential classes: jobs of each, class in service.

    Of each class at most ``most`` are in the system. With rates that overload the server the second
    class is there all the time, and the first has a steady state.
    """
    states = [(0, 0, 0)] + [(i, j, k) for i, j in pairs(most) for k in (0, 1) if (i, j)[k] > 0]

    def moves(i, j, k):
        come = [((i + 1, j, k if i + j else 0), rates[0]), ((i, j + 1, k if i + j else 1), rates[1])]
        if not i + j:
            return come
        left = [i - (k == 0), j - (k == 1)]
        return [*come, ((*left, 0 if left[0] or not left[1] else 1), 1 / means_s[k])]

    found = stationary(states, moves)
    return [sum(s[k] * p for s, p in found.items()) / rates[k] for k in (0, 1)]


@pytest.mark.parametrize(("rates", "most", "overload"), [((0.3, 0.2), 40, False), ((0.6, 2.0), 30, True)])
def test_two_priorities_agree_with_their_markov_chain_and_the_urgent_class_also_in_overload(
    rates, most, overload
):
    expected = priority_chain_mean(rates, (0.5, 1.5), most)
    found = theory.priority_jct_s(
        [BackgroundStream(r, m, 1.0) for r, m in zip(rates, (0.5, 1.5), strict=True)]
    )
    assert found == pytest.approx([expected[0], math.inf if overload else expected[1]], rel=1e-6)


def jackson_chain_mean(external, routing, means_s, most):
    """Two exponential stations: jobs in the network over arrivals."""

    def moves(i, j):
        yield from (((i + 1, j), external[0]), ((i, j + 1), external[1]))
        for a, left, onward in ((0, (i - 1, j), (i - 1, j + 1)), (1, (i, j - 1), (i + 1, j - 1))):
            yield left, (1 - sum(routing[a])) / means_s[a]
            yield onward, routing[a][1 - a] / means_s[a]

    return sum((i + j) * p for (i, j), p in stationary(pairs(most), moves).items()) / sum(external)


def test_a_jackson_network_with_feedback_agrees_with_its_markov_chain():
    external, routing, means_s = (0.3, 0.1), [[0.1, 0.6], [0.3, 0.2]], (0.8, 1.0)
    rates = theory.traffic_rates(external, routing)
    assert rates == pytest.approx(np.array(external) + np.array(routing).T @ rates)
    assert max(rates * means_s) < 0.6
    expected = jackson_chain_mean(external, routing, means_s, 45)
    assert theory.jackson_jct_s(external, routing, means_s) == pytest.approx(expected, rel=1e-5)


def test_systems_that_are_known_otherwise():
    assert theory.tandem_jct_s(3.0, [0.1, 0.2]) == pytest.approx(1 / (10 - 3) + 1 / (5 - 3))
    whole = theory.link_wait_s(2e6, [BackgroundStream(1.2, 1e6, 1.0)])
    assert theory.link_wait_s(
        2e6, [BackgroundStream(0.5, 1e6, 1.0), BackgroundStream(0.7, 1e6, 1.0)]
    ) == pytest.approx(whole)
    assert whole == pytest.approx(theory.mg1_jct_s(1.2, 0.5) - 0.5)
    assert theory.sharing_jct_s(0.1, 0.6) == pytest.approx(theory.mm1_jct_s(6.0, 0.1))
    assert theory.sharing_jct_s(0.3, 0.6) == pytest.approx(3 * theory.sharing_jct_s(0.1, 0.6))
    # without queueing the time is the maximum of independent exponentials
    low, high = theory.fork_join_bounds_s(1e-6, 1.0, 5)
    assert low == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5, rel=1e-4)
    assert high == pytest.approx(low, rel=1e-4)
    assert theory.jackson_jct_s([2.0, 0.0], [[0, 1], [0, 0]], [0.1, 0.2]) == pytest.approx(
        theory.tandem_jct_s(2.0, [0.1, 0.2])
    )
    # a station that every job visits 1/(1−p) times
    assert theory.jackson_jct_s([1.0], [[0.75]], [0.1]) == pytest.approx(4 * theory.mm1_jct_s(4.0, 0.1))


@pytest.mark.parametrize(("rho", "choices"), [(0.5, 1), (0.5, 2), (0.9, 2), (0.9, 3), (0.95, 5)])
def test_choices_agree_with_the_rest_point_of_their_differential_equations(rho, choices):
    """s[i], the share of queues with at least i jobs: s[i]' = λ(s[i−1]^d − s[i]^d) − (s[i] − s[i+1])."""
    s = np.zeros(300)
    s[0] = 1.0
    for _ in range(10_000):
        arrivals = rho * (s[:-1] ** choices - np.append(s[1:-1], s[-1]) ** choices)
        change = arrivals - (s[1:] - np.append(s[2:], 0.0))
        s[1:] += 0.15 * change  # a step that is stable for d·λ up to 5
    assert abs(change).max() < 1e-12
    assert theory.choices_jct_s(rho, 1.0, choices) == pytest.approx(s[1:].sum() / rho, rel=1e-8)


def test_overload_is_infinite():
    assert theory.mg1_jct_s(10.0, 0.1) == math.inf
    assert theory.mm1_jct_s(10.0, 0.1) == theory.md1_jct_s(10.0, 0.1) == math.inf
    assert theory.priority_jct_s([BackgroundStream(10.0, 0.1, 1.0), BackgroundStream(1.0, 0.1, 1.0)]) == (
        math.inf,
        math.inf,
    )
    assert theory.sharing_jct_s(0.1, 1.0) == math.inf
    assert theory.choices_jct_s(10.0, 0.1, 2) == math.inf
    assert theory.jackson_jct_s([5.0], [[0.5]], [0.1]) == math.inf
    assert theory.mmc_jct_s(30.0, 0.1, 3) == math.inf
    assert theory.tandem_jct_s(5.0, [0.1, 0.2]) == math.inf
    assert theory.fork_join_bounds_s(10.0, 0.1, 3) == (math.inf, math.inf)
    assert theory.fork_join_two_jct_s(10.0, 0.1) == math.inf
    assert theory.link_wait_s(1e6, [BackgroundStream(1.0, 1e6, 0.0)]) == math.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.mg1_jct_s(0.0, 1.0),
        lambda: theory.mmc_jct_s(1.0, -1.0, 2),
        lambda: theory.erlang_c(0, 0.5),
        lambda: theory.fork_join_bounds_s(1.0, 0.1, 0),
        lambda: theory.link_wait_s(0.0, []),
        lambda: theory.mg1_jct_s(math.nan, 1.0),
        lambda: theory.mg1_jct_s(math.inf, 1.0),
        lambda: theory.mg1_jct_s(1.0, 0.1, -0.5),
        lambda: theory.md1_jct_s(1.0, 0.0),
        lambda: theory.priority_jct_s([]),
        lambda: theory.priority_jct_s([BackgroundStream(1.0, 0.1), BackgroundStream(0.0, 0.1)]),
        lambda: theory.sharing_jct_s(0.1, 0.0),
        lambda: theory.choices_jct_s(1.0, 0.1, 0),
        lambda: theory.traffic_rates([1.0], [[0.5, 0.5]]),
        lambda: theory.traffic_rates([], []),
        lambda: theory.traffic_rates([-1.0], [[0.5]]),
        lambda: theory.traffic_rates([1.0], [[1.5]]),
        lambda: theory.traffic_rates([1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]]),
        lambda: theory.jackson_jct_s([1.0], [[0.0]], [0.1, 0.1]),
        lambda: theory.jackson_jct_s([0.0], [[0.0]], [0.1]),
    ],
)
def test_impossible_queues_are_refused(call):
    with pytest.raises(SimulationError, match="must "):
        call()
