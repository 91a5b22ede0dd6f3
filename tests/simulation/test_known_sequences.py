"""The sequences that judge intervals, judged themselves; and that the judgement can fail."""

import numpy as np
import pytest
from known_sequences import PHI, ar1, is_nominal, mm1

from nona.simulation.intervals import mean_interval


def test_lindley_against_the_queue_event_by_event():
    service = np.random.default_rng(0).exponential(1.0, (1, 50))[0]
    gaps = np.random.default_rng(0)
    gaps.exponential(1.0, (1, 50))
    gap = gaps.exponential(2.0, (1, 49))[0]
    wait, sojourn = 0.0, []
    for i in range(50):
        wait = 0.0 if i == 0 else max(0.0, wait + service[i - 1] - gap[i - 1])
        sojourn.append(wait + service[i])
    assert mm1(np.random.default_rng(0), 1, 50, 0.5, skipped=0)[0] == pytest.approx(sojourn)


def test_ar1_has_its_variance_and_correlation():
    x = ar1(np.random.default_rng(1), 40, 5000)
    assert x.var() == pytest.approx(1 / (1 - PHI**2), rel=0.03)
    assert np.corrcoef(x[:, 1:].ravel(), x[:, :-1].ravel())[0, 1] == pytest.approx(PHI, abs=0.01)


def test_an_interval_for_independent_values_fails_on_correlated_ones():
    runs = ar1(np.random.default_rng(2), 300, 2000)
    hits = sum(mean_interval(x).covers(0.0) for x in runs)
    assert hits < 0.7 * len(runs)
    assert not is_nominal(hits, len(runs))
