"""Intervals by their definitions and by their coverage where the truth is known; warm-up and precision."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import binom, t
from simulation_cases import fixed, make_system, query, same_runs, task_graph
from sizes import examples, sized

from nona.core import statistics as intervals
from nona.core.errors import SimulationError
from nona.core.verdict import share_within
from nona.queries.simulation.replications import run_replications
from nona.queries.simulation.run import RunOptions
from nona.queries.simulation.steady_state import common_warmup, mser, mser_statistic
from nona.queries.simulation.summary import next_count, precision_of, relative_bound, run_to_precision

PHI = 0.8


def ar1(random, runs, n, start=None):
    """x_{i+1} = 0.8 xᵢ + noise, of mean 0, stationary or from ``start``: one run per row."""
    noise = random.normal(size=(runs, n))
    noise[:, 0] = noise[:, 0] / math.sqrt(1 - PHI**2) if start is None else start
    return lfilter([1.0], [1.0, -PHI], noise, axis=1)


def mm1(random, runs, n, load, skipped=300):
    """Sojourn times by Lindley's recursion, service rate 1, after the first ``skipped`` customers."""
    service = random.exponential(1.0, (runs, n + skipped))
    walk = np.cumsum(service[:, :-1] - random.exponential(1 / load, (runs, n + skipped - 1)), axis=1)
    walk = np.concatenate([np.zeros((runs, 1)), walk], axis=1)
    return (walk - np.minimum.accumulate(walk, axis=1) + service)[:, skipped:]


def is_nominal(hits, experiments, level=0.95):
    """Whether so many hits happen with 99.8 % when the level is the true one."""
    low, high = binom.ppf([0.001, 0.999], experiments, level)
    return low <= hits <= high


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=40), share=st.floats(0, 1))
@examples(60)
def test_the_variance_by_its_definition(values, share):
    x, n = np.array(values), len(values)
    m = 1 + int(share * (n // 2 - 1))
    means = [x[j : j + m].mean() for j in range(n - m + 1)]
    wanted = n * m / ((n - m) * (n - m + 1)) * sum((y - x.mean()) ** 2 for y in means)
    assert intervals.long_run_variance(x, m) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    interval = intervals.overlapping_batch_means(values, batch=m)
    half = t.ppf(0.975, 1.5 * (n / m - 1)) * math.sqrt(wanted / n)
    assert interval.half_width == pytest.approx(half, rel=1e-6, abs=1e-6)
    assert interval.mean == pytest.approx(x.mean(), abs=1e-9)


@pytest.mark.sized
@pytest.mark.parametrize(("name", "truth"), [("ar1", 0.0), ("mm1", 2.0)])
def test_coverage_is_nominal(name, truth):
    random = np.random.default_rng(3)
    runs = ar1(random, 400, 4000) if name == "ar1" else mm1(random, sized(80, 250), 20_000, 0.5)
    hits = sum(intervals.overlapping_batch_means(x).covers(truth) for x in runs)
    assert is_nominal(hits, len(runs)), hits


@pytest.mark.sized
@pytest.mark.parametrize("share", [0.95, 0.99, 0.999])
def test_intervals_of_shares_near_1_cover_the_truth_also_from_few_runs_and_from_one(share):
    """M/M/1 with mean service 1 at load 0.5: the time in the system is exponential with mean 2."""
    random, experiments = np.random.default_rng(7), sized(120, 400)
    several = one = student = 0
    for _ in range(experiments):
        runs = mm1(random, 5, 6000, 0.5) / (-2 * math.log(1 - share))
        several += share_within(runs).covers(share)
        one += share_within(runs[:1], sections=20).covers(share)
        student += intervals.mean_interval((runs <= 1).mean(axis=1)).covers(share)
    least = binom.ppf(0.001, experiments, 0.95)
    assert min(several, one) >= least
    if share == 0.999:
        assert student < least, "Student's interval would do"


def test_a_share_of_all_or_none_is_no_certainty_and_one_run_without_sections_has_no_interval():
    all_, none_ = share_within([[0.5] * 200] * 5), share_within([[2.0] * 200] * 5)
    assert (all_.mean, none_.mean) == (1.0, 0.0)
    assert 0.98 < all_.ci95[0] < all_.ci95[1] == 1.0
    assert 0.0 == none_.ci95[0] < none_.ci95[1] < 0.02
    assert share_within([[0.5, math.nan, 2.0, 0.1]]).ci95 is None
    assert share_within([[0.5, math.nan, 2.0, 0.1]]).mean == 0.5
    assert share_within([[]]).mean is None


def test_size_and_number_of_batches_and_too_few_values_have_no_interval():
    for n in range(4):
        interval = intervals.overlapping_batch_means(np.ones(n))
        assert math.isnan(interval.half_width)
        assert math.isnan(interval.mean) == (n == 0)
    for n in (4, 7, 39, 40, 41, 1000, 12_345):
        interval = intervals.overlapping_batch_means(np.arange(float(n)))
        assert interval.n == n // intervals.batch_size(n) >= 2
    assert intervals.overlapping_batch_means([1.0, math.nan, 1.0, 1.0, 1.0]).half_width == 0
    assert math.isnan(intervals.overlapping_batch_means(np.arange(10.0), batch=6).half_width)


@given(percent=st.floats(0.5, 99.5), beyond=st.integers(1, 200))
@examples(100)
def test_jobs_needed_are_the_fewest_that_leave_enough_beyond(percent, beyond):
    share = min(percent, 100 - percent) / 100
    n = intervals.jobs_needed(percent, beyond)
    assert n * share >= beyond * (1 - 1e-9)
    assert (n - 1) * share < beyond


@pytest.mark.parametrize(
    ("percent", "value", "interval"), [(50, 20, 200), (95, 200, 2000), (99, 1000, 10_000)]
)
def test_what_is_withheld(percent, value, interval):
    for runs, factor in ((3, 1), (1, 10)):
        assert str(value) in intervals.too_few_jobs([value - 1] * runs, percent).withheld.replace(",", "")
        enough = intervals.too_few_jobs([value] * runs, percent)
        assert not enough.withheld
        assert str(interval * factor) in enough.interval_withheld.replace(",", "")
        assert intervals.too_few_jobs([interval * factor - 1] * runs, percent).interval_withheld
        assert not intervals.too_few_jobs([interval * factor] * runs, percent).interval_withheld
    # the smallest replication decides
    assert intervals.too_few_jobs([value - 1, 10**6], percent).withheld


def test_a_withheld_percentile_has_no_number_unfinished_jobs_do_not_count_each_replication_has_its_own():
    runs = [np.append(np.arange(20.0), math.nan)] * 2
    assert intervals.percentile_interval(runs, 50).value_s == 9.5
    assert intervals.percentile_interval([r[1:] for r in runs], 50).withheld
    for n, mean in ((999, None), (1000, 1.0)):
        found = intervals.percentile_interval([np.ones(n)] * 3, 99)
        assert (found.value_s, found.ci95) == (mean, None)
    random = np.random.default_rng(0)
    runs = [random.exponential(size=500) + shift for shift in (0.0, 5.0, 9.0)]
    found = intervals.percentile_interval(runs, 50)
    wanted = intervals.mean_interval([np.median(r) for r in runs])
    assert found.as_mean == wanted.estimate
    assert abs(found.value_s - np.median(np.concatenate(runs))) > 0.1


@pytest.mark.sized
@pytest.mark.parametrize(("percent", "n"), [(50, 3000), (95, 5000), (99, 10_000)])
def test_coverage_over_replications(percent, n):
    random, truth = np.random.default_rng(percent), -2 * math.log(1 - percent / 100)
    experiments = sized(80, 250)
    hits = 0
    for _ in range(experiments):
        hits += intervals.percentile_interval(list(mm1(random, 4, n, 0.5)), percent).as_mean.covers(truth)
    assert is_nominal(hits, experiments), hits


def test_coverage_of_sections_of_one_run():
    random, truth = np.random.default_rng(7), 2 * math.log(2)
    found = [intervals.percentile_interval([x], 50).as_mean for x in mm1(random, 250, 20_000, 0.5)]
    assert is_nominal(sum(i.covers(truth) for i in found), len(found))
    assert not is_nominal(sum(i.covers(truth * 1.05) for i in found), len(found))


VALUES = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=5, max_size=20)


@given(pairs=VALUES)
@examples(80)
def test_gain_and_correlation_by_their_definitions(pairs):
    a, b = np.array(pairs).T
    found = intervals.paired_difference(a, b)
    assert found.difference == intervals.mean_interval(a - b)
    difference, both = np.var(a - b, ddof=1), np.var(a, ddof=1) + np.var(b, ddof=1)
    if difference > 1e-6 * both > 0:
        assert found.variance_reduction == pytest.approx(both / difference, rel=1e-6)
    if min(np.var(a), np.var(b)) > 1e-6:
        assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-6)
    assert not abs(found.correlation) > 1


def test_jobs_of_two_runs_are_paired_with_their_correlation():
    random = np.random.default_rng(6)
    hits, gains = 0, []
    for _ in range(200):
        common, own = ar1(random, 1, 4000)[0], ar1(random, 2, 4000) / 10
        found = intervals.paired_jobs(common + own[0] + 0.2, common + own[1])
        hits += found.difference.covers(0.2)
        gains.append(found.variance_reduction)
    assert is_nominal(hits, 200), hits
    # Var a + Var b = 2·1.01, Var(a − b) = 2·0.01
    assert np.median(gains) == pytest.approx(101, rel=0.1)


def test_equal_values_and_few_pairs():
    same = intervals.paired_difference([1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert (same.variance_reduction, same.difference.half_width, same.is_clear) == (math.inf, 0, True)
    constant = intervals.paired_difference([1.0] * 5, [1.0] * 5)
    assert math.isnan(constant.variance_reduction)
    assert not constant.is_clear
    few = intervals.paired_difference([1.0, 2.5, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0])
    assert math.isnan(few.variance_reduction)
    assert few.difference.half_width > 0
    one = intervals.paired_difference([1.0], [0.0])
    assert (one.difference.mean, one.is_clear) == (1, False)
    assert intervals.paired_difference([1.0, math.nan, 3.0], [0.0, 1.0, 1.0]).difference.n == 2


def test_what_does_not_match_is_refused():
    with pytest.raises(SimulationError, match="must match"):
        intervals.paired_difference([1.0], [1.0, 2.0])
    with pytest.raises(SimulationError, match="the same ones"):
        intervals.paired_jobs(np.ones(3), np.ones(4))
    with pytest.raises(SimulationError, match="2 and 3 replications must match"):
        intervals.paired_ratio([1.0, 2.0], [1.0, 2.0, 3.0])


def pairs(rng, n):
    """Values of two schedulers that share their noise: means 3 and 2."""
    shared = rng.normal(size=n)
    b = 2.0 + 0.15 * shared + 0.05 * rng.normal(size=n)
    a = 3.0 + 0.30 * shared + 0.10 * rng.normal(size=n)
    return a, b


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_its_ends_are_where_a_t_test_of_the_difference_turns(seed, n):
    a, b = pairs(np.random.default_rng(seed), n)
    r = intervals.paired_ratio(a, b)
    if math.isnan(r.low):
        return
    if r.low == 0:  # cut there
        assert intervals.mean_interval(a).covers(0.0)
    for end, inwards in ((r.low, 1), (r.high, -1)):
        if end == 0:
            continue
        step = 1e-6 * abs(end) * inwards
        assert intervals.mean_interval(a - (end + step) * b).covers(0.0)
        assert not intervals.mean_interval(a - (end - step) * b).covers(0.0)


@examples(40)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_units_cancel_and_the_inverse_is_the_inverse(seed, factor):
    a, b = pairs(np.random.default_rng(seed), 6)
    r, scaled = intervals.paired_ratio(a, b), intervals.paired_ratio(factor * a, factor * b)
    inverse = intervals.paired_ratio(b, a)
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((r.value, r.low, r.high), rel=1e-6)
    assert (inverse.low, inverse.high) == pytest.approx((1 / r.high, 1 / r.low), rel=1e-6)


def test_what_cannot_be_said_is_not_said_and_a_ratio_of_times_is_never_negative():
    times = intervals.paired_ratio([0.4, 3.1], [1.0, 0.9])
    assert (times.low, times.value) == (0.0, pytest.approx(3.5 / 1.9))
    assert intervals.mean_interval([0.4, 3.1]).covers(0.0)
    gains = intervals.paired_ratio([-0.4, 3.1], [1.0, 0.9])  # differences may be negative
    assert gains.low < 0
    one = intervals.paired_ratio([3.0], [2.0])
    assert (one.value, one.n, one.is_clear) == (1.5, 1, False)
    assert math.isnan(one.low)
    wild = intervals.paired_ratio([1.0, 5.0, -3.0], [0.1, -2.0, 2.5])  # the denominator may be 0
    assert math.isnan(wild.low)
    assert math.isnan(intervals.paired_ratio([], []).value)
    kept = intervals.paired_ratio([3.0, math.nan, 3.3, 3.6], [1.0, 9.0, 1.1, 1.2])
    assert (kept.n, kept.value) == (3, pytest.approx(3.0))
    assert intervals.Ratio(1.2, 1.1, 1.3, 4).is_clear
    assert not intervals.Ratio(1.2, 0.9, 1.3, 4).is_clear


class Fake(NamedTuple):
    completion_time_s: np.ndarray
    state: str = "stable"
    every: int = 1
    replication: int = 0
    query: object = None


@given(values=st.lists(st.floats(-100, 100), min_size=7, max_size=60))
@examples(80)
def test_the_statistic_by_its_definition(values):
    y = np.array(values)
    wanted = [((y[d:] - y[d:].mean()) ** 2).sum() / (len(y) - d) ** 2 for d in range(len(y) - 5)]
    assert mser_statistic(y) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_a_step_is_cut_where_it_is_and_a_run_that_never_settles_is_too_short():
    noise = np.random.default_rng(0).normal(size=2000)
    for step in (0, 50, 300, 800):
        found = mser(noise + 10 * (np.arange(2000) < step))
        assert step <= found.jobs <= step + 50
        assert found.jobs % 5 == 0
        assert not found.too_short
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
    after = sum(intervals.overlapping_batch_means(x[c:]).covers(0.0) for x, c in zip(runs, cuts, strict=True))
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


class Source:
    """Replications with given means, that remembers what it was asked for."""

    def __init__(self, values, overloaded=()):
        self.values, self.overloaded, self.asked = values, overloaded, []

    def __call__(self, first, count):
        self.asked.append((first, count))
        rows = range(first, first + count)
        states = {n: "overloaded" if n in self.overloaded else "stable" for n in self.values}
        return {n: tuple(Fake(v[r : r + 1], states[n], 1, r) for r in rows) for n, v in self.values.items()}


def noisy(seed, cv, n=200):
    return np.random.default_rng(seed).normal(1.0, cv, n)


def test_it_stops_at_the_bound_and_not_before():
    source = Source({"a": noisy(1, 0.2), "b": noisy(2, 0.1)})
    records, found = run_to_precision(source, 0.05, at_most=200)
    assert found.not_reached == ()
    assert found.bound == pytest.approx(0.05 / 1.05)
    done = [sum(count for _, count in source.asked[: k + 1]) for k in range(len(source.asked))]
    assert done[0] == 10
    assert done[-1] == found.replications == len(records["a"]) == len(records["b"])
    assert [first for first, _ in source.asked] == [0, *done[:-1]]
    assert [r.replication for r in records["a"]] == list(range(done[-1]))
    for n in done:
        reached = all(intervals.mean_interval(v[:n]).relative <= found.bound for v in source.values.values())
        assert reached == (n == done[-1])


def test_what_was_not_reached_is_named_and_overloaded_schedulers_are_not_waited_for():
    source = Source({"noisy": noisy(3, 2.0), "calm": noisy(4, 0.001), "none": np.full(30, math.nan)})
    records, found = run_to_precision(source, 0.02, at_most=25)
    assert set(found.not_reached) == {"noisy", "none"}
    assert found.replications == len(records["calm"]) == 25
    assert found.relative_half_width["noisy"] > found.bound > found.relative_half_width["calm"]
    source = Source({"bad": noisy(5, 3.0), "calm": noisy(6, 0.01)}, overloaded=("bad",))
    _, found = run_to_precision(source, 0.05)
    assert source.asked == [(0, 10)]
    assert found.overloaded == ("bad",)
    assert found.not_reached == ()
    assert found.relative_half_width["bad"] is None


@pytest.mark.parametrize(("at_least", "at_most", "first"), [(1, 64, 10), (15, 64, 15), (5, 4, 4)])
def test_the_first_look(at_least, at_most, first):
    source = Source({"a": noisy(7, 0.001)})
    run_to_precision(source, 0.02, at_least, at_most)
    assert source.asked == [(0, first)]


@given(values=st.lists(st.floats(0.1, 10), min_size=2, max_size=30), most=st.integers(31, 100))
@examples(80)
def test_the_next_look_is_later_and_not_too_late(values, most):
    found = precision_of({"a": values}, 0.05, ())
    if found.not_reached:
        n = next_count(found, most)
        assert len(values) < n <= min(most, max(2 * len(values), len(values) + 1))


def test_the_interval_at_the_end_covers():
    random, experiments = np.random.default_rng(8), 400
    hits, counts = 0, []
    for _ in range(experiments):
        values = random.normal(1.0, 0.13, 100)
        _, found = run_to_precision(Source({"a": values}), 0.05, at_most=100)
        counts.append(found.replications)
        hits += intervals.mean_interval(values[: found.replications]).covers(1.0)
        assert found.not_reached == ()
    assert np.mean(counts) > 20
    assert is_nominal(hits, experiments, 0.94), hits  # looking early and often costs about a point


def test_a_bound_below_the_target_keeps_the_error_of_the_truth():
    # |x̄ − μ| ≤ bound·x̄ implies |x̄ − μ| ≤ target·μ
    for target in (0.01, 0.1, 0.5):
        bound = relative_bound(target)
        for mean in (1 / (1 + bound), 1 / (1 - bound)):
            assert abs(mean - 1) <= target * (1 + 1e-12)
    with pytest.raises(SimulationError, match="Precision"):
        relative_bound(0.0)


def test_it_runs_the_replications_that_a_fixed_number_would():
    system = make_system(query(task_graph([1.0]), rate=0.5, scv=1.0))

    def run(first, count):
        return run_replications(system, [fixed([0])], RunOptions(60, 10, replication=first), count)

    records, found = run_to_precision(run, 0.08, at_most=30)
    assert found.replications > 10
    same_runs(records, run(0, found.replications))
