"""Overlapping batch means: the estimator by its definition, and coverage where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_sequences import PHI, ar1, is_nominal, mm1
from scipy.stats import t
from sizes import examples

from nona.simulation.intervals import batch_size, long_run_variance, overlapping_batch_means


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=40), share=st.floats(0, 1))
@examples(60)
def test_the_variance_by_its_definition(values, share):
    x, n = np.array(values), len(values)
    m = 1 + int(share * (n // 2 - 1))
    means = [x[j : j + m].mean() for j in range(n - m + 1)]
    wanted = n * m / ((n - m) * (n - m + 1)) * sum((y - x.mean()) ** 2 for y in means)
    assert long_run_variance(x, m) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    interval = overlapping_batch_means(values, batch=m)
    half = t.ppf(0.975, 1.5 * (n / m - 1)) * math.sqrt(wanted / n)
    assert interval.half_width == pytest.approx(half, rel=1e-6, abs=1e-6)
    assert interval.mean == pytest.approx(x.mean(), abs=1e-9)


def test_batches_of_one_give_the_variance_of_independent_values():
    x = np.random.default_rng(0).normal(size=500)
    assert long_run_variance(x, 1) == pytest.approx(x.var(ddof=1))


def test_it_finds_the_long_run_variance_of_a_correlated_sequence():
    found = [long_run_variance(x, 200) for x in ar1(np.random.default_rng(1), 200, 4000)]
    assert np.mean(found) == pytest.approx(1 / (1 - PHI) ** 2, rel=0.06)


@pytest.mark.parametrize(("name", "truth"), [("ar1", 0.0), ("mm1", 2.0)])
def test_coverage_is_nominal(name, truth):
    random = np.random.default_rng(3)
    runs = ar1(random, 400, 4000) if name == "ar1" else mm1(random, 250, 20_000, 0.5)
    hits = sum(overlapping_batch_means(x).covers(truth) for x in runs)
    assert is_nominal(hits, len(runs)), hits


def test_short_batches_promise_too_much():
    runs = ar1(np.random.default_rng(4), 300, 4000)
    hits = sum(overlapping_batch_means(x, batch=2).covers(0.0) for x in runs)
    assert not is_nominal(hits, len(runs))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_values_have_no_interval(n):
    interval = overlapping_batch_means(np.ones(n))
    assert math.isnan(interval.half_width)
    assert math.isnan(interval.mean) == (n == 0)


def test_size_and_number_of_batches():
    for n in (4, 7, 39, 40, 41, 1000, 12_345):
        interval = overlapping_batch_means(np.arange(float(n)))
        assert interval.n == n // batch_size(n) >= 2
    assert overlapping_batch_means([1.0, math.nan, 1.0, 1.0, 1.0]).half_width == 0
    assert math.isnan(overlapping_batch_means(np.arange(10.0), batch=6).half_width)
