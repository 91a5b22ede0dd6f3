"""Percentiles: coverage where the truth is known, and what is withheld below how many jobs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_sequences import is_nominal, mm1
from sizes import examples

from nona.simulation.intervals import jobs_needed, mean_interval, percentile_interval, too_few_jobs


@given(percent=st.floats(0.5, 99.5), beyond=st.integers(1, 200))
@examples(100)
def test_jobs_needed_are_the_fewest_that_leave_enough_beyond(percent, beyond):
    share = min(percent, 100 - percent) / 100
    n = jobs_needed(percent, beyond)
    assert n * share >= beyond * (1 - 1e-9)
    assert (n - 1) * share < beyond


@pytest.mark.parametrize(
    ("percent", "value", "interval"), [(50, 20, 200), (95, 200, 2000), (99, 1000, 10_000)]
)
def test_what_is_withheld(percent, value, interval):
    for runs, factor in ((3, 1), (1, 10)):
        assert str(value) in too_few_jobs([value - 1] * runs, percent).withheld.replace(",", "")
        enough = too_few_jobs([value] * runs, percent)
        assert not enough.withheld
        assert str(interval * factor) in enough.interval_withheld.replace(",", "")
        assert too_few_jobs([interval * factor - 1] * runs, percent).interval_withheld
        assert not too_few_jobs([interval * factor] * runs, percent).interval_withheld
    # the smallest replication decides
    assert too_few_jobs([value - 1, 10**6], percent).withheld


def test_a_withheld_percentile_has_no_number():
    few = percentile_interval([np.ones(999)] * 3, 99)
    assert math.isnan(few.mean)
    assert math.isnan(few.half_width)
    no_interval = percentile_interval([np.ones(1000)] * 3, 99)
    assert no_interval.mean == 1
    assert math.isnan(no_interval.half_width)


def test_each_replication_has_its_own_percentile():
    random = np.random.default_rng(0)
    runs = [random.exponential(size=500) + shift for shift in (0.0, 5.0, 9.0)]
    found = percentile_interval(runs, 50)
    wanted = mean_interval([np.median(r) for r in runs])
    assert found.interval == wanted
    assert abs(found.mean - np.median(np.concatenate(runs))) > 0.1


def test_unfinished_jobs_do_not_count():
    runs = [np.append(np.arange(20.0), math.nan)] * 2
    assert percentile_interval(runs, 50).mean == 9.5
    assert percentile_interval([r[1:] for r in runs], 50).withheld


@pytest.mark.parametrize(("percent", "n"), [(50, 3000), (95, 5000), (99, 10_000)])
def test_coverage_over_replications(percent, n):
    random, truth = np.random.default_rng(percent), -2 * math.log(1 - percent / 100)
    experiments = 250
    hits = 0
    for _ in range(experiments):
        hits += percentile_interval(list(mm1(random, 4, n, 0.5)), percent).interval.covers(truth)
    assert is_nominal(hits, experiments), hits


def test_coverage_of_sections_of_one_run():
    random, truth = np.random.default_rng(7), 2 * math.log(2)
    found = [percentile_interval([x], 50).interval for x in mm1(random, 250, 20_000, 0.5)]
    assert is_nominal(sum(i.covers(truth) for i in found), len(found))
    assert not is_nominal(sum(i.covers(truth * 1.05) for i in found), len(found))
