"""The ratio of two paired means: Fieller's interval against its definition and by its coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.simulation.intervals import NO_RATIO, Ratio, mean_interval, paired_ratio


def pairs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of two schedulers that share their noise: means 3 and 2."""
    shared = rng.normal(size=n)
    b = 2.0 + 0.15 * shared + 0.05 * rng.normal(size=n)
    a = 3.0 + 0.30 * shared + 0.10 * rng.normal(size=n)
    return a, b


@pytest.mark.parametrize("n", [3, 5, 10])
def test_it_covers_the_true_ratio_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [paired_ratio(*pairs(rng, n)) for _ in range(2000)]
    covered = sum(r.low <= 1.5 <= r.high for r in found)
    error = 3.3 * math.sqrt(0.95 * 0.05 / 2000)
    assert abs(covered / 2000 - 0.95) < error


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_its_ends_are_where_a_t_test_of_the_difference_turns(seed: int, n: int) -> None:
    a, b = pairs(np.random.default_rng(seed), n)
    r = paired_ratio(a, b)
    if math.isnan(r.low):
        return
    if r.low == 0:  # cut there
        assert mean_interval(a).covers(0.0)
    for end, inwards in ((r.low, 1), (r.high, -1)):
        if end == 0:
            continue
        step = 1e-6 * abs(end) * inwards
        assert mean_interval(a - (end + step) * b).covers(0.0)
        assert not mean_interval(a - (end - step) * b).covers(0.0)


@examples(40)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_units_cancel_and_the_inverse_is_the_inverse(seed: int, factor: float) -> None:
    a, b = pairs(np.random.default_rng(seed), 6)
    r, scaled, inverse = paired_ratio(a, b), paired_ratio(factor * a, factor * b), paired_ratio(b, a)
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((r.value, r.low, r.high), rel=1e-6)
    assert (inverse.low, inverse.high) == pytest.approx((1 / r.high, 1 / r.low), rel=1e-6)


def test_pairing_makes_it_narrow() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=8)
    b = 2.0 + 0.1 * noise
    paired = paired_ratio(1.5 * b + 1e-3 * rng.normal(size=8), b)
    crossed = paired_ratio((1.5 * b)[::-1], b)
    assert (paired.high - paired.low) < 0.1 * (crossed.high - crossed.low)


def test_a_ratio_of_times_is_never_negative() -> None:
    times = paired_ratio([0.4, 3.1], [1.0, 0.9])
    assert (times.low, times.value) == (0.0, pytest.approx(3.5 / 1.9))
    assert mean_interval([0.4, 3.1]).covers(0.0)
    gains = paired_ratio([-0.4, 3.1], [1.0, 0.9])  # differences may be negative
    assert gains.low < 0


def test_what_cannot_be_said_is_not_said() -> None:
    one = paired_ratio([3.0], [2.0])
    assert (one.value, one.n, one.is_clear) == (1.5, 1, False)
    assert math.isnan(one.low)
    wild = paired_ratio([1.0, 5.0, -3.0], [0.1, -2.0, 2.5])  # the denominator may be 0
    assert math.isnan(wild.low)
    assert paired_ratio([], []) == NO_RATIO or math.isnan(paired_ratio([], []).value)
    kept = paired_ratio([3.0, math.nan, 3.3, 3.6], [1.0, 9.0, 1.1, 1.2])
    assert kept.n == 3
    assert kept.value == pytest.approx(3.0)
    assert Ratio(1.2, 1.1, 1.3, 4).is_clear
    assert not Ratio(1.2, 0.9, 1.3, 4).is_clear


def test_replications_that_do_not_match_are_refused() -> None:
    with pytest.raises(SimulationError, match="2 and 3 replications must match"):
        paired_ratio([1.0, 2.0], [1.0, 2.0, 3.0])
