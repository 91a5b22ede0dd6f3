"""Paired differences: Student on the pairs, and the gain is what pairing gained."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_sequences import ar1, is_nominal
from sizes import examples

from nona.errors import SimulationError
from nona.simulation.intervals import mean_interval, paired_difference, paired_jobs

VALUES = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=5, max_size=20)


@given(pairs=VALUES)
@examples(80)
def test_gain_and_correlation_by_their_definitions(pairs):
    a, b = np.array(pairs).T
    found = paired_difference(a, b)
    assert found.difference == mean_interval(a - b)
    difference, both = np.var(a - b, ddof=1), np.var(a, ddof=1) + np.var(b, ddof=1)
    if difference > 1e-6 * both > 0:
        assert found.variance_reduction == pytest.approx(both / difference, rel=1e-6)
    if min(np.var(a), np.var(b)) > 1e-6:
        assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-6)
    assert not abs(found.correlation) > 1


def test_pairing_removes_common_noise_and_says_how_much():
    random = np.random.default_rng(3)
    noise = random.normal(0, 10, 400)
    a, b = noise + random.normal(1.0, 1.0, 400), noise + random.normal(0, 1.0, 400)
    paired = paired_difference(a, b)
    assert paired.difference.covers(1.0)
    assert paired.is_clear
    # Var a + Var b = 2·101, Var(a − b) = 2
    assert paired.variance_reduction == pytest.approx(101, rel=0.2)
    assert paired.correlation == pytest.approx(100 / 101, abs=0.005)
    alone = paired_difference(a, random.permutation(b))
    assert alone.variance_reduction == pytest.approx(1, rel=0.2)
    assert not alone.is_clear


def test_the_interval_of_paired_runs_covers():
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        noise = random.normal(0, 5, 6)
        a, b = noise + random.normal(0.3, 1, 6), noise + random.normal(0, 1, 6)
        hits += paired_difference(a, b).difference.covers(0.3)
    assert is_nominal(hits, 400), hits


def test_jobs_of_two_runs_are_paired_with_their_correlation():
    random = np.random.default_rng(6)
    hits, gains = 0, []
    for _ in range(200):
        common, own = ar1(random, 1, 4000)[0], ar1(random, 2, 4000) / 10
        found = paired_jobs(common + own[0] + 0.2, common + own[1])
        hits += found.difference.covers(0.2)
        gains.append(found.variance_reduction)
    assert is_nominal(hits, 200), hits
    # Var a + Var b = 2·1.01, Var(a − b) = 2·0.01
    assert np.median(gains) == pytest.approx(101, rel=0.1)


def test_equal_values_and_few_pairs():
    same = paired_difference([1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert same.variance_reduction == math.inf
    assert same.difference.half_width == 0
    assert same.is_clear
    constant = paired_difference([1.0] * 5, [1.0] * 5)
    assert math.isnan(constant.variance_reduction)
    assert not constant.is_clear
    few = paired_difference([1.0, 2.5, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0])
    assert math.isnan(few.variance_reduction)
    assert few.difference.half_width > 0
    one = paired_difference([1.0], [0.0])
    assert one.difference.mean == 1
    assert not one.is_clear
    assert paired_difference([1.0, math.nan, 3.0], [0.0, 1.0, 1.0]).difference.n == 2


def test_what_does_not_match_is_refused():
    with pytest.raises(SimulationError, match="must match"):
        paired_difference([1.0], [1.0, 2.0])
    with pytest.raises(SimulationError, match="the same ones"):
        paired_jobs(np.ones(3), np.ones(4))
