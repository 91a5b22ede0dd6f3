"""Moves: their cost, whether a new allocation is worth them, and when another region is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.training.moves import MoveCost, changed_share, least_round_s, moved_steps, shipped_sizes, worth
from nona.training.regions import advice, least_stay_s, pays


def _worth(old, new, rates, *others):
    thr = [(x * rates).sum(axis=1) for x in (old, new)]
    return worth((old, thr[0]), (new, thr[1]), *others)


def _net(shares, old, rates, normal, cost_s, horizon):
    """Normalised work within the horizon, move by move."""
    work = horizon * (shares * rates).sum(axis=1) / normal
    for i in range(len(old)):
        time = shares[i].sum()
        if old[i].sum() > 1e-9 and time > 1e-9:
            running = (shares[i] @ rates[i]) / time
            work[i] -= cost_s[i] * changed_share(old, shares)[i] * running / normal[i]
    return work.sum()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_never_does_less_in_the_planners_own_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, types = 4, 3
    old, new = rng.dirichlet(np.ones(types), m), rng.dirichlet(np.ones(types), m)
    rates, normal = rng.uniform(1, 10, (m, types)), rng.uniform(1, 5, m)
    cost, horizon = rng.uniform(0, 300, m), 600.0
    found = _worth(old, new, rates, normal, cost, horizon)
    nets = [_net(x, old, rates, normal, cost, horizon) for x in (old, new)]
    assert not found.feeds
    assert found.gained - found.lost == pytest.approx(nets[1] - nets[0])
    assert nets[1 if found.take else 0] >= max(nets) - 1e-9


def test_a_job_without_time_is_fed_and_staying_is_free() -> None:
    old, new = np.array([[1.0], [0.0]]), np.array([[0.5], [0.5]])
    found = _worth(old, new, np.array([[4.0], [1.0]]), np.array([2.0, 1.0]), np.full(2, 1e6), 10.0)
    assert found.take
    assert found.feeds
    assert found.gained < found.lost
    same = _worth(new, new, np.array([[4.0], [1.0]]), np.array([2.0, 1.0]), np.full(2, 1e6), 10.0)
    assert (same.gained, same.lost, same.take) == (0.0, 0.0, False)


def test_a_move_costs_steps_and_a_round_bounds_its_share() -> None:
    cost = MoveCost(1e9, 1e9, 1e9, 5.0).seconds(2e9)
    assert cost == pytest.approx(11.0)
    assert moved_steps(3.0, 360.0, cost, 1e9) == 1047
    assert moved_steps(3.0, 360.0, cost, 100) == 100
    assert cost / least_round_s(cost, 0.02) == pytest.approx(0.02)
    with pytest.raises(SimulationError, match=r"save=0 bytes/s must be above 0"):
        MoveCost(0, 1, 1)


def test_every_size_says_where_it_is_from() -> None:
    for name, size in shipped_sizes().items():
        assert 1e6 < size.size_bytes < 1e9, name
        assert size.checked in ("recollected", "assumed")
        assert size.source


@examples(50)
@given(st.floats(0.1, 10), st.floats(1.01, 10), st.floats(0.1, 1e4))
def test_the_least_stay_is_where_brute_force_finds_it(rate: float, faster: float, g: float) -> None:
    other = rate * faster
    stay = least_stay_s(rate, other, g)
    low, high = 0.0, 1e9 * g
    for _ in range(200):  # bisection on steps done, not on the formula
        middle = (low + high) / 2
        done = other * max(0.0, middle - g)
        low, high = (low, middle) if done > rate * middle else (middle, high)
    assert stay == pytest.approx(high, rel=1e-6)
    assert pays(rate, other, g, stay * 1.001)
    assert not pays(rate, other, g, stay * 0.999)


def test_advice_takes_the_fastest_region_and_counts_the_move() -> None:
    found = advice("a", "east", {"east": 1.0, "west": 1.5, "north": 3.0}, 40.0, 1e4, until_s=500.0)
    assert found is not None
    assert found.there == "north"
    assert found.move
    assert found.gain_steps == pytest.approx(3.0 * 460 - 500)
    short = advice("a", "east", {"east": 1.0, "north": 3.0}, 40.0, 30.0, until_s=500.0)
    assert short is not None
    assert not short.move
    assert short.horizon_s == 50.0
    assert advice("a", "east", {"east": 1.0}, 1.0, 1.0, 1.0) is None
