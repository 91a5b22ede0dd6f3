"""MSER-5: the statistic by its definition, cuts where the start-up is known, one cut for all schedulers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_sequences import ar1, is_nominal
from sizes import examples

from nona.simulation.intervals import overlapping_batch_means
from nona.simulation.steady_state import common_warmup, mser, mser_statistic


class Fake(NamedTuple):
    """As much of a pilot's record as is looked at."""

    completion_time_s: np.ndarray
    state: str = "stable"
    every: int = 1


@given(values=st.lists(st.floats(-100, 100), min_size=7, max_size=60))
@examples(80)
def test_the_statistic_by_its_definition(values):
    y = np.array(values)
    wanted = [((y[d:] - y[d:].mean()) ** 2).sum() / (len(y) - d) ** 2 for d in range(len(y) - 5)]
    assert mser_statistic(y) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_a_step_is_cut_where_it_is():
    noise = np.random.default_rng(0).normal(size=2000)
    for step in (0, 50, 300, 800):
        found = mser(noise + 10 * (np.arange(2000) < step))
        assert step <= found.jobs <= step + 50
        assert found.jobs % 5 == 0
        assert not found.too_short


def test_a_run_that_never_settles_is_too_short():
    x = np.random.default_rng(1).normal(size=1000)
    assert mser(x + np.arange(1000) / 20).too_short
    assert mser(x + 10 * (np.arange(1000) < 600)).too_short
    assert mser(x[:49]).too_short
    assert not mser(np.full(1000, 0.014)).too_short
    assert mser(np.full(1000, 0.014)).jobs == 0


def test_the_mean_after_the_cut_covers_and_before_it_does_not():
    runs = ar1(np.random.default_rng(2), 300, 4000, start=60.0)
    cuts = [mser(x).jobs for x in runs]
    assert 10 <= np.median(cuts) <= 200
    after = sum(overlapping_batch_means(x[c:]).covers(0.0) for x, c in zip(runs, cuts, strict=True))
    assert is_nominal(after, len(runs)), after
    assert np.mean([x[c:].mean() for x, c in zip(runs, cuts, strict=True)]) == pytest.approx(0, abs=0.02)
    assert np.mean([x.mean() for x in runs]) > 0.05


def start_up(seed, step, runs=5):
    random = np.random.default_rng(seed)
    return [Fake(random.normal(size=2000) + 10 * (np.arange(2000) < step)) for _ in range(runs)]


def test_the_latest_cut_is_common_to_all():
    found = common_warmup({"quick": start_up(4, 50), "slow": start_up(5, 400)}, otherwise=1)
    assert 400 <= found.jobs <= 450
    assert found.jobs == found.cuts["slow"].jobs > found.cuts["quick"].jobs
    assert (found.rule, found.too_short) == ("mser", ())


def test_without_a_clear_cut_the_warmup_is_not_shorter_than_otherwise():
    drift = [Fake(r.completion_time_s + np.arange(2000) / 20) for r in start_up(6, 0)]
    found = common_warmup({"quick": start_up(4, 50), "drift": drift}, otherwise=700)
    assert (found.jobs, found.too_short) == (700, ("drift",))
    bad = [r._replace(state="overloaded") for r in start_up(7, 0)]
    found = common_warmup({"bad": bad, "quick": start_up(4, 50)}, otherwise=700)
    assert (found.jobs, found.too_short, set(found.cuts)) == (700, (), {"quick"})
    assert common_warmup({"bad": bad}, otherwise=9).jobs == 9


def test_thinned_pilots_count_jobs_not_rows():
    whole = common_warmup({"a": start_up(8, 400)}, 1)
    thin = common_warmup({"a": [Fake(r.completion_time_s[::4], every=4) for r in start_up(8, 400)]}, 1)
    assert thin.cuts["a"].batch == 4 * whole.cuts["a"].batch
    assert thin.jobs == pytest.approx(whole.jobs, abs=60)


def test_averaging_pilots_sees_a_start_up_that_one_run_hides():
    random = np.random.default_rng(9)
    weak = 1.0 * (np.arange(2000) < 300)
    several = [Fake(random.normal(0, 4, 2000) + weak) for _ in range(100)]
    assert 250 <= common_warmup({"a": several}, 1).jobs <= 400
    assert math.isfinite(mser(several[0].completion_time_s).statistic.max())
