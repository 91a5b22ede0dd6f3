"""Intervals that cover what they promise, percentiles by definition, summaries that count every job."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t
from sizes import examples

from nona.errors import SimulationError
from nona.simulation.collected import PARTS, tally_of
from nona.simulation.intervals import mean_interval, percentile
from nona.simulation.records import Check, Records
from nona.simulation.summary import hit_rate_difference, jct_difference, summarize


def records(jct_s, query=None, **changes):
    jct = np.asarray(jct_s, dtype=float)
    arrival = np.arange(len(jct), dtype=float)
    classes = np.zeros(len(jct), dtype=np.int64) if query is None else np.asarray(query)
    parts = np.outer(jct, [0.4, 0.3, 0.2, 0.1, 0.0])
    base = Records(
        scheduler="local",
        replication=0,
        engine="simpy",
        decisions="python",
        jobs=len(jct),
        every=1,
        query=classes,
        arrival_s=arrival,
        completion_s=arrival + jct,
        parts_s=parts,
        tally=tally_of(classes, jct, parts, [None] * (1 + classes.max(initial=0))),
        arrived=len(jct) + 2,
        completed=int(np.isfinite(jct).sum()) + 1,
        in_flight=int(np.isnan(jct).sum()) + 1,
        window_s=(0.0, float(len(jct))),
        executor_busy_s=np.ones(2),
        link_busy_s=np.array([0.5]),
        link_names=("link",),
        utilization_compute=0.4,
        utilization_network=0.2,
        state="stable",
        state_reason="",
        checks=(Check("conservation", True, "all there"),),
        timeline=None,
        seconds=0.1,
    )
    return replace(base, **changes)


def covered(interval_of, samples, level, mean):
    hits = sum(interval_of(x, level).covers(mean) for x in samples)
    low, high = binom.ppf([0.0005, 0.9995], len(samples), level)
    return low <= hits <= high, hits


def test_little_s_law_gives_the_mean_completion_time_where_nothing_crosses_the_window():
    """One job a second, each 0.5 s long: half a job is there on average, whichever way it is counted."""
    runs = [records([0.5] * 11, mean_open=0.5, window_s=(0.0, 10.0), jobs=11, offered=(0.3, 0.1))] * 2
    found = summarize(runs, [None], ["m"])
    assert found.little_s == pytest.approx(0.5) == pytest.approx(found.jct.mean.mean)
    assert found.offered == pytest.approx((0.3, 0.1))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_student_interval_covers_the_mean_as_often_as_it_says(level):
    rng = np.random.default_rng(1)
    ok, hits = covered(mean_interval, rng.normal(3.0, 2.0, (1500, 6)), level, 3.0)
    assert ok, hits


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), level=st.floats(0.5, 0.999))
@examples(60)
def test_mean_interval_is_students(values, level):
    ours = mean_interval(values, level)
    spread = np.std(values, ddof=1) / math.sqrt(len(values))
    assert ours.half_width == pytest.approx(
        t.ppf((1 + level) / 2, len(values) - 1) * spread, rel=1e-6, abs=1e-9
    )
    assert ours.mean == pytest.approx(np.mean(values), abs=1e-6)


def test_intervals_without_enough_values_say_so():
    assert math.isnan(mean_interval([]).mean)
    one = mean_interval([4.0, math.nan])
    assert (one.mean, one.n) == (4.0, 1)
    assert math.isnan(one.half_width)
    assert not one.covers(4.0)
    with pytest.raises(SimulationError, match="level"):
        mean_interval([1.0, 2.0], 1.0)


@given(values=st.lists(st.floats(0, 1e3), min_size=1, max_size=40), percent=st.floats(0, 100))
@examples(80)
def test_percentile_by_its_definition(values, percent):
    x = sorted(values)
    h = (len(x) - 1) * percent / 100
    low = min(int(h), len(x) - 1)
    high = min(low + 1, len(x) - 1)
    assert percentile(values, percent) == pytest.approx(x[low] + (h - low) * (x[high] - x[low]), abs=1e-9)


def test_unfinished_and_late_jobs_miss_the_slo_and_count():
    r = records([0.1, 0.3, math.nan, 0.2], query=[0, 0, 0, 1])
    s = summarize([r, replace(r, replication=1)], [0.2, None], ["a", "b"])
    a, b = s.models
    assert a.hit_rate.mean == pytest.approx(1 / 3)
    assert b.hit_rate is None
    assert s.hit_rate.mean == pytest.approx(1 / 3)
    assert s.jct.mean.mean == pytest.approx(0.2)
    assert (a.jct.jobs, b.jct.jobs, s.jct.jobs) == (4, 2, 6)
    assert (s.arrived, s.completed, s.in_flight) == (12, 8, 4)
    assert summarize([r], [None, None], ["a", "b"]).hit_rate is None


def test_boundary_of_the_slo_is_a_hit():
    # the arrival at 0 s keeps the completion time exact
    r = records([0.2])
    assert summarize([r], [0.2], ["a"]).hit_rate.mean == 1.0


def test_overload_shows_no_means_but_its_jobs():
    good = records([0.1] * 50)
    bad = replace(good, replication=1, state="overloaded", state_reason="executors at load 1.2")
    s = summarize([good, bad], [0.2], ["a"])
    assert (s.state, s.state_reason) == ("overloaded", "executors at load 1.2")
    for j in (s.jct, s.models[0].jct):
        assert math.isnan(j.mean.mean)
        assert all(math.isnan(p.interval.mean) for p in j.percentiles)
        assert all("overloaded" in p.withheld for p in j.percentiles)
        assert j.jobs == 100
    assert s.hit_rate.mean == 1.0


def test_the_worst_state_of_the_replications_counts():
    good, late = (
        records([0.1] * 30),
        records([0.1] * 30, replication=1, state="backlogged", state_reason="why"),
    )
    s = summarize([late, good], [None], ["a"])
    assert (s.state, s.state_reason) == ("backlogged", "why")
    assert s.jct.mean.mean == pytest.approx(0.1)


def test_percentiles_are_withheld_by_the_smallest_replication():
    enough, few = records(np.ones(1000)), records(np.ones(999), replication=1)
    assert summarize([enough, enough], [None], ["a"]).jct.p99.withheld == ""
    s = summarize([enough, few], [None], ["a"])
    assert "999" in s.jct.p99.withheld
    assert math.isnan(s.jct.p99.interval.mean)
    assert s.jct.p95.withheld == ""
    assert "2,000" in s.jct.p95.interval_withheld
    assert s.jct.p50.interval.half_width == 0


def test_percentiles_are_averaged_over_replications_not_pooled():
    a, b = records(np.ones(300)), records(3 * np.ones(300), replication=1)
    p95 = summarize([a, b], [None], ["a"]).jct.p95
    assert p95.interval.mean == 2.0
    assert p95.interval.n == 2


def thinned(whole, every):
    keep = slice(None, None, every)
    return replace(
        whole,
        every=every,
        query=whole.query[keep],
        arrival_s=whole.arrival_s[keep],
        completion_s=whole.completion_s[keep],
        parts_s=whole.parts_s[keep],
    )


def test_thinned_records_change_no_mean_and_percentiles_by_the_error_of_the_sketch():
    rng = np.random.default_rng(8)
    whole = []
    for r in range(3):
        jct, query = rng.exponential(1.0, 4000), rng.integers(0, 2, 4000)
        tally = tally_of(query, jct, np.zeros((4000, len(PARTS))), [1.0, None])
        whole.append(records(jct, query, replication=r, tally=tally))
    for runs in (whole, whole[:1]):
        full = summarize(runs, [1.0, None], ["a", "b"])
        thin = summarize([thinned(r, 10) for r in runs], [1.0, None], ["a", "b"])
        for x, y in ((full, thin), *zip(full.models, thin.models, strict=True)):
            assert y.jct.mean.mean == pytest.approx(x.jct.mean.mean, rel=1e-12)
            assert y.jct.mean.half_width > 0
            assert y.jct.jobs == x.jct.jobs
            for p, q in zip(x.jct.percentiles, y.jct.percentiles, strict=True):
                assert (p.withheld, p.interval_withheld) == (q.withheld, q.interval_withheld)
                assert q.interval.mean == pytest.approx(p.interval.mean, rel=0.005, nan_ok=True)
        assert thin.hit_rate.mean == pytest.approx(full.hit_rate.mean, rel=1e-12)
        assert thin.models[1].hit_rate is None


def test_one_replication_uses_batch_means_and_a_class_without_jobs_is_nan():
    rng = np.random.default_rng(0)
    r = records(rng.exponential(1.0, 400))
    s = summarize([r], [1.0, 1.0], ["a", "rare"])
    assert s.jct.mean.n == 20
    assert s.jct.mean.half_width > 0
    assert s.hit_rate.half_width > 0
    rare = s.models[1]
    assert rare.jct.jobs == 0
    assert math.isnan(rare.jct.mean.mean)
    assert math.isnan(rare.hit_rate.mean)


def test_checks_fail_if_they_fail_once():
    good = records([0.1, 0.2])
    bad = replace(good, replication=3, checks=(Check("conservation", False, "one job lost"),))
    (check,) = summarize([good, bad, good], [None], ["a"]).checks
    assert not check.ok
    assert check.detail == "replication 3: one job lost"


def test_decisions_are_python_if_they_were_once_and_links_are_averaged():
    names, busy = ("core", "a", "b"), np.array([[1.0, 3.0, 2.0], [3.0, 5.0, 0.0]])
    runs = [
        records(
            [0.1] * 4,
            replication=r,
            decisions=kind,
            link_names=names,
            link_busy_s=busy[r],
            window_s=(2.0, 12.0),
        )
        for r, kind in enumerate(("machine code", "python"))
    ]
    both, first = summarize(runs, [None], ["a"]), summarize(runs[:1], [None], ["a"])
    assert (both.decisions, first.decisions) == ("python", "machine code")
    assert [name for name, _ in both.links] == ["a", "core", "b"]
    assert [share for _, share in both.links] == pytest.approx([0.4, 0.2, 0.1])
    assert summarize([records([0.1])], [None], ["a"]).links == ()


def test_difference_of_schedulers_is_paired_by_replication():
    a = [records([1.0 + i, 2.0 + i], replication=i) for i in range(5)]
    b = [records([0.5 + i, 1.5 + i], replication=i) for i in range(5)]
    d = jct_difference(a, b)
    assert d.difference.mean == pytest.approx(0.5)
    assert d.difference.half_width < 1e-9
    assert d.variance_reduction > 1e6
    hits = hit_rate_difference(a, b, [1.75])
    assert hits.difference.mean == pytest.approx((-0.5 - 0.5) / 5)
    for other in (b[::-1], b[:4], [replace(r, every=2) for r in b]):
        with pytest.raises(SimulationError, match="must match"):
            jct_difference(a, other)
        with pytest.raises(SimulationError, match="must match"):
            hit_rate_difference(a, other, [1.0])


def test_no_difference_to_an_overloaded_scheduler_but_of_its_hits():
    a = [records([1.0, 2.0], replication=i) for i in range(5)]
    b = [replace(r, state="overloaded") for r in a]
    assert math.isnan(jct_difference(a, b).difference.mean)
    assert hit_rate_difference(a, b, [1.5]).difference.mean == 0


def test_one_run_of_each_is_paired_job_by_job():
    rng = np.random.default_rng(4)
    common = rng.exponential(1.0, 4000)
    a, b = records(common + 0.02 + 0.002 * rng.random(4000)), records(common)
    d = jct_difference([a], [b])
    assert d.difference.covers(0.021)
    assert d.is_clear
    assert d.variance_reduction > 1000
    assert not summarize([a], [None], ["a"]).jct.mean.low > summarize([b], [None], ["a"]).jct.mean.high


def test_mixed_or_missing_input_is_refused():
    r = records([0.1], query=[1])
    with pytest.raises(SimulationError, match="0 schedulers"):
        summarize([], [], [])
    with pytest.raises(SimulationError, match="2 schedulers"):
        summarize([r, replace(r, scheduler="spread")], [None] * 2, ["a", "b"])
    with pytest.raises(SimulationError, match="query classes"):
        summarize([r], [None], ["a"])
