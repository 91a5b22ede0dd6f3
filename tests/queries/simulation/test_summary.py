"""What is kept of a run and said of runs: collector, sketch of quantiles, summaries that count every job."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from scipy.stats import t
from simulation_cases import first_fit, make_system, query, task_graph, uniform
from sizes import examples, first

from nona.core.checks import Check
from nona.core.document import UNKNOWN
from nona.core.errors import SimulationError
from nona.core.statistics import mean_interval, percentile
from nona.queries.simulation.collected import PARTS, RELATIVE_ERROR, JobCollector, QuantileSketch, tally_of
from nona.queries.simulation.records import Records, pieces
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.sizes import RunSize
from nona.queries.simulation.steady_state import executors_reason, link_reason
from nona.queries.simulation.summary import MeasuredJobs, hit_rate_difference, jct_difference, summarize
from nona.queries.system import BackgroundStream


def records(jct_s, query=None, **changes):
    jct = np.asarray(jct_s, dtype=float)
    arrival = np.arange(len(jct), dtype=float)
    classes = np.zeros(len(jct), dtype=np.int64) if query is None else np.asarray(query)
    parts = np.outer(jct, [0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
    base = Records(
        scheduler="local", replication=0, engine="simpy", decisions="python", jobs=len(jct), every=1,
        query=classes, arrival_s=arrival, completion_s=arrival + jct, parts_s=parts,
        tally=tally_of(classes, jct, parts, [None] * (1 + classes.max(initial=0))),
        arrived=len(jct) + 2, completed=int(np.isfinite(jct).sum()) + 1,
        in_flight=int(np.isnan(jct).sum()) + 1, window_s=(0.0, float(len(jct))),
        executor_busy_s=np.ones(2), link_busy_s=np.array([0.5]), link_names=("link",),
        utilization_compute=0.4, utilization_network=0.2, state="stable", state_reason="",
        checks=(Check("conservation", True, "all there"),), timeline=None, seconds=0.1,
    )  # fmt: skip
    return replace(base, **changes)


def test_little_s_law_gives_the_mean_completion_time_where_nothing_crosses_the_window():
    """One job a second, each 0.5 s long: half a job is there on average, whichever way it is counted."""
    runs = [records([0.5] * 11, mean_open=0.5, window_s=(0.0, 10.0), jobs=11, offered=(0.3, 0.1))] * 2
    found = summarize(runs, [None], ["m"]).result
    assert found.little_s == pytest.approx(0.5) == pytest.approx(found.jct_s.mean)
    assert (found.offered.compute, found.offered.network) == pytest.approx((0.3, 0.1))


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
    s = summarize([r, replace(r, replication=1)], [0.2, None], ["a", "b"]).result
    a, b = s.models.values()
    assert a.slo_hit_rate == pytest.approx(1 / 3)
    assert b.slo_hit_rate is None
    assert s.slo_hit_rate.mean == pytest.approx(1 / 3)
    assert (s.jct_s.mean, s.jct_s.jobs) == (pytest.approx(0.2), 6)
    assert (s.jobs.arrived, s.jobs.completed, s.jobs.in_flight) == (12, 8, 4)
    assert summarize([r], [None, None], ["a", "b"]).result.slo_hit_rate == UNKNOWN


def test_hit_rates_of_thinned_records_have_the_interval_of_all_jobs():
    system = make_system(replace(query(task_graph([1.0]), 0.6, 1.0), slo_s=6.0))
    whole, thin = (
        summarize(
            [
                simulate_run(
                    system, *uniform(1), RunOptions(jobs=4000, warmup=100, replication=r, record_jobs=n)
                )
                for r in range(5)
            ],
            [6.0],
            ["q"],
        ).result.slo_hit_rate
        for n in (4000, 1000)
    )
    assert whole.mean == pytest.approx(thin.mean, abs=1e-12)
    assert whole.ci95 == pytest.approx(thin.ci95, abs=0.2 * (whole.ci95[1] - whole.ci95[0]))


def test_the_reason_of_an_overload_has_the_mean_load_that_stands_beside_it():
    run = simulate_run(make_system(query(task_graph([1.0]), 0.5, 1.0)), *uniform(1), RunOptions(jobs=50))
    for place, reason in enumerate((executors_reason, lambda load: link_reason("the link", load))):
        loads = (9.4, 10.7)
        runs = [
            replace(
                run, state="overloaded", state_reason=reason(x), offered=(x, 0.1) if not place else (0.1, x)
            )
            for x in loads
        ]
        result = summarize(runs, [None], ["q"]).result
        assert (result.offered.compute, result.offered.network)[place] == pytest.approx(10.05)
        assert "10.1 times" in result.state_reason
        assert result.state_reason == reason(10.05)


def test_overload_shows_no_means_but_its_jobs():
    good = records([0.1] * 50)
    bad = replace(good, replication=1, state="overloaded", state_reason="executors at load 1.2")
    s = summarize([good, bad], [0.2], ["a"]).result
    assert (s.state, s.state_reason) == ("overloaded", "executors at load 1.2")
    assert (s.jct_s.mean, s.models["a"].jct_s, s.parts_s.compute, s.jct_s.jobs) == (None, None, None, 100)
    for percentiles in (s.jct_s.percentiles, s.models["a"].percentiles):
        assert all(p.value_s is None and "overloaded" in p.withheld for p in percentiles.values())
    assert s.slo_hit_rate.mean == 1.0


def test_one_replication_uses_batch_means_and_a_class_without_jobs_is_nan():
    rng = np.random.default_rng(0)
    r = records(rng.exponential(1.0, 400))
    s = summarize([r], [1.0, 1.0], ["a", "rare"]).result
    assert MeasuredJobs([r], [1.0, 1.0]).mean_jct().n == 20
    assert s.jct_s.half_width > 0
    assert s.slo_hit_rate.half_width > 0
    rare = s.models["rare"]
    assert (rare.jct_s, rare.slo_hit_rate) == (None, None)


def test_checks_fail_and_decisions_are_python_if_they_were_once_and_links_are_averaged():
    good = records([0.1, 0.2])
    bad = replace(good, replication=3, checks=(Check("conservation", False, "one job lost"),))
    (check,) = summarize([good, bad, good], [None], ["a"]).checks
    assert not check.ok
    assert check.detail == "replication 3: one job lost"
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
    both, first = (summarize(some, [None], ["a"]).result for some in (runs, runs[:1]))
    assert (both.decisions, first.decisions) == ("python", "machine code")
    assert list(both.links) == ["a", "core", "b"]
    assert list(both.links.values()) == pytest.approx([0.4, 0.2, 0.1])
    assert summarize([records([0.1])], [None], ["a"]).result.links == {}


def test_difference_of_schedulers_is_paired_by_replication():
    a = [records([1.0 + i, 2.0 + i], replication=i) for i in range(5)]
    b = [records([0.5 + i, 1.5 + i], replication=i) for i in range(5)]
    d = jct_difference(a, b)
    assert d.difference.mean == pytest.approx(0.5)
    assert d.difference.half_width < 1e-9
    assert d.variance_reduction > 1e6
    hits = hit_rate_difference(a, b, [1.75])
    assert hits.difference.mean == pytest.approx((-0.5 - 0.5) / 5)
    assert jct_difference(a, b[::-1]).difference == d.difference, "by number, not by place"
    assert jct_difference(a, b[3:]).difference.mean == jct_difference(a[3:], b[3:]).difference.mean
    for other in (b[4:], [replace(r, every=2) for r in b]):
        with pytest.raises(SimulationError, match="must match"):
            jct_difference(a[:4], other)
        with pytest.raises(SimulationError, match="must match"):
            hit_rate_difference(a[:4], other, [1.0])
    bad = [replace(r, state="overloaded") for r in a]  # its hits can be compared all the same
    assert math.isnan(jct_difference(a, bad).difference.mean)
    assert hit_rate_difference(a, bad, [1.75]).difference.mean == 0


def test_one_run_of_each_is_paired_job_by_job():
    rng = np.random.default_rng(4)
    common = rng.exponential(1.0, 4000)
    a, b = records(common + 0.02 + 0.002 * rng.random(4000)), records(common)
    d = jct_difference([a], [b])
    assert d.difference.covers(0.021)
    assert d.is_clear
    assert d.variance_reduction > 1000
    assert not MeasuredJobs([a], [None]).mean_jct().low > MeasuredJobs([b], [None]).mean_jct().high


def test_mixed_or_missing_input_is_refused():
    r = records([0.1], query=[1])
    with pytest.raises(SimulationError, match="0 schedulers"):
        summarize([], [], [])
    with pytest.raises(SimulationError, match="2 schedulers"):
        summarize([r, replace(r, scheduler="spread")], [None] * 2, ["a", "b"])
    with pytest.raises(SimulationError, match="query classes"):
        summarize([r], [None], ["a"])


VALUES = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=1, max_size=60)
ROUNDING = 1e-12


def assert_close(found, exact):
    assert abs(found - exact) <= RELATIVE_ERROR * exact * (1 + ROUNDING) + ROUNDING * exact


@given(VALUES, st.floats(0, 1))
@examples(200)
def test_quantiles_are_within_the_stated_error(values, p):
    assert math.isnan(QuantileSketch().added([]).quantile(p))
    sketch = QuantileSketch().added(values)
    assert sketch.count == len(values)
    assert_close(sketch.quantile(p), float(np.quantile(values, p)))


@given(VALUES, VALUES, VALUES)
@examples(60)
def test_merging_is_counting_together(a, b, c):
    one, two, three = (QuantileSketch().added(v) for v in (a, b, c))
    together = list(pieces(QuantileSketch().added(a + b + c)))
    assert list(pieces(one.merged(two).merged(three))) == together
    assert list(pieces(three.merged(QuantileSketch()).merged(two.merged(one)))) == together


@pytest.mark.parametrize("draw", ["exponential", "lognormal", "pareto"])
def test_quantiles_of_many_values(draw):
    rng = np.random.default_rng(4)
    x = {"exponential": rng.exponential(1e-3, 50_000), "lognormal": rng.lognormal(0, 3, 50_000)}.get(draw)
    x = rng.pareto(1.1, 50_000) + 1e-3 if x is None else x
    sketch = QuantileSketch()
    for part in np.array_split(x, 13):
        sketch = sketch.added(part)
    for p in (0.0, 0.001, 0.5, 0.95, 0.99, 0.9999, 1.0):
        assert_close(sketch.quantile(p), float(np.quantile(x, p)))
    assert len(sketch.counts) < math.log(x.max() / x.min()) / (2 * RELATIVE_ERROR) + 2


GRAPH = task_graph([2e-3, 5e-3, 4e-3, 2e-3], [(0, [1, 2], 2e5), (1, [3], 1e5), (2, [3], 1e5)])
SYSTEM = make_system(
    replace(query(GRAPH, 150.0, 0.5, name="a"), slo_s=0.03),
    query(task_graph([3e-3]), 150.0, 1.0, name="b"),
    servers=[0, 0, 1, 2, 2, 3],
    capacity=2e8,
    background_compute=BackgroundStream(20.0, 5e-3, 1.0),
)
FULL = RunOptions(jobs=2400, warmup=200, timeline_jobs=2)


@pytest.mark.parametrize("make", first(1, [lambda: uniform(4), first_fit]), ids=["bind", "pick"])
def test_thinned_records_are_a_sample_of_the_same_run(make):
    full = simulate_run(SYSTEM, *make(), FULL)
    thin = simulate_run(SYSTEM, *make(), replace(FULL, record_jobs=100))
    assert (full.every, thin.every, thin.jobs, len(thin.query)) == (1, 24, 2400, 100)
    rows = {n: getattr(full, n)[::24] for n in ("query", "arrival_s", "completion_s", "parts_s")}
    assert replace(full, every=24, **rows).digest() == thin.digest()
    assert list(pieces(full.tally)) == list(pieces(thin.tally))
    a, b = (summarize([r], [0.03, None], ["a", "b"]).result for r in (full, thin))
    parts = [(s.jct_s.mean, s.parts_s, s.jct_s.percentiles) for s in (a, b)]
    models = [[(m.jct_s, m.parts_s, m.percentiles) for m in s.models.values()] for s in (a, b)]
    for x, y in [parts, *zip(*models, strict=True)]:
        assert y[0] == pytest.approx(x[0], rel=1e-12)
        assert y[1] == x[1]
        assert sum(filter(None, y[1].by_name().values())) == pytest.approx(y[0], rel=1e-9)
        for p, q in zip(x[2].values(), y[2].values(), strict=True):
            assert (p.withheld, p.interval_withheld) == (q.withheld, q.interval_withheld)
            assert (p.value_s is None) == (q.value_s is None)
            assert_close(q.value_s or 0.0, p.value_s or 0.0)
    assert b.models["a"].slo_hit_rate == pytest.approx(a.models["a"].slo_hit_rate, rel=1e-12)


ONE = task_graph([1.0])


class Jobs(NamedTuple):
    """A run: what each job brings, and how it is measured."""

    query: np.ndarray
    arrival_s: np.ndarray
    completion_s: np.ndarray
    parts_s: np.ndarray
    size: RunSize


def two_classes():
    return make_system(replace(query(ONE, 1.0, name="a"), slo_s=1.5), query(ONE, 1.0, name="b"))


@st.composite
def drawn_jobs(draw):
    n = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    first = draw(st.integers(0, n - 1))
    arrival = np.sort(rng.integers(0, 40, n) / 4 if draw(st.booleans()) else rng.uniform(0, 10, n))
    completion = arrival + rng.choice([0.0, 0.5, 1.5, 30.0], n) * rng.uniform(0.5, 1.5, n)
    completion[rng.random(n) < draw(st.sampled_from([0.0, 0.1]))] = math.nan
    jobs = draw(st.integers(1, n - first))
    size = RunSize(first, jobs, 0, True, 3, 10, 1.0, draw(st.integers(1, 40)))
    return Jobs(rng.integers(0, 2, n), arrival, completion, rng.uniform(0, 1, (n, len(PARTS))), size)


def all_at_once(jobs):
    collector = JobCollector(two_classes(), jobs.size)
    collector.arrivals(0, jobs.query, jobs.arrival_s)
    done = np.flatnonzero(~np.isnan(jobs.completion_s))
    collector.completions(done, jobs.completion_s[done], jobs.parts_s[done])
    return collector.finish()


def in_pieces(jobs, rng, watched=False):
    """Arrivals and completions in random chunks; each completion some time after its arrival."""
    collector = JobCollector(two_classes(), jobs.size, watched)
    handed, waiting = 0, np.flatnonzero(~np.isnan(jobs.completion_s))
    while handed < len(jobs.query) or len(waiting):
        upto = handed + int(rng.integers(0, 20))
        collector.arrivals(handed, jobs.query[handed:upto], jobs.arrival_s[handed:upto])
        handed = min(upto, len(jobs.query))
        ready = waiting[(waiting < handed) & (rng.random(len(waiting)) < 0.6)]
        rng.shuffle(ready)
        collector.completions(ready, jobs.completion_s[ready], jobs.parts_s[ready])
        waiting = np.setdiff1d(waiting, ready)
    return collector


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("nona.queries.simulation.collected.BLOCK", 16)


# The fixture sets one block size for all examples.
checked = examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@checked
@given(drawn_jobs(), st.integers(0, 10_000))
def test_chunking_does_not_matter(jobs, seed):
    rng = np.random.default_rng(seed)
    assert list(pieces(in_pieces(jobs, rng).finish())) == list(pieces(all_at_once(jobs)))


@checked
@given(drawn_jobs())
def test_the_outcome_is_that_of_all_jobs_at_once(jobs):
    found, size = all_at_once(jobs), jobs.size
    measured = slice(size.first, size.last + 1)
    jct = (jobs.completion_s - jobs.arrival_s)[measured]
    of, tally = jobs.query[measured], found.tally
    assert len(found.query) <= size.record_jobs
    every = math.ceil(size.jobs / size.record_jobs)
    for name in ("query", "arrival_s", "completion_s"):
        np.testing.assert_array_equal(getattr(found, name), getattr(jobs, name)[measured][::every])
    done = ~np.isnan(jobs.completion_s)
    expected_parts = np.where(done[:, None], jobs.parts_s, np.nan)[measured]
    np.testing.assert_array_equal(found.parts_s, expected_parts[::every])
    assert tally.arrived.tolist() == [int((of == q).sum()) for q in (0, 1)]
    assert tally.completed.tolist() == [int((~np.isnan(jct[of == q])).sum()) for q in (0, 1)]
    assert tally.hits.tolist() == [int((jct[of == 0] <= 1.5).sum()), 0]
    for q in (0, 1):
        np.testing.assert_allclose(tally.total_s[q], np.nansum(jct[of == q]), rtol=1e-12)
        np.testing.assert_allclose(tally.squares_s2[q], np.nansum(jct[of == q] ** 2), rtol=1e-12)
        np.testing.assert_allclose(tally.parts_s[q], np.nansum(expected_parts[of == q], axis=0), rtol=1e-12)
    assert (found.arrived, found.left, found.filled) == (len(done), done.sum(), done.sum())
    start, stop = jobs.arrival_s[size.first], jobs.arrival_s[size.last]
    inside = np.minimum(np.where(done, jobs.completion_s, np.inf), stop) - np.maximum(jobs.arrival_s, start)
    np.testing.assert_allclose(found.inside_s, inside[inside > 0].sum(), rtol=1e-12)
    assert found.window_s == (start, stop)
    np.testing.assert_array_equal(found.traced_arrival_s, jobs.arrival_s[found.traced])


@checked
@given(drawn_jobs(), st.integers(0, 10_000))
def test_progress_hands_out_every_measured_completion_once(jobs, seed):
    collector = in_pieces(jobs, np.random.default_rng(seed), watched=True)
    size, progress = jobs.size, collector.progress()
    measured = jobs.completion_s[size.first : size.last + 1]
    expected = np.sort(measured[~np.isnan(measured)])
    np.testing.assert_array_equal(np.sort(progress.completion_s), expected)
    assert (progress.completion_s >= progress.arrival_s).all()
    assert progress.fraction <= 1
    assert len(collector.progress().query) == 0


def test_what_is_kept_follows_the_jobs_in_flight_and_the_rows_recorded():
    """100,000 jobs, some fifty at a time in the system: a handful of blocks, 500 rows."""
    n, ahead = 100_000, 50
    size = RunSize(1000, n - 1000, 0, True, 0, 10, 1.0, record_jobs=500)
    collector = JobCollector(two_classes(), size)
    most = 0
    for begin in range(0, n, 40):
        numbers = np.arange(begin, begin + 40)
        collector.arrivals(begin, numbers % 2, numbers.astype(float))
        done = numbers[numbers >= ahead] - ahead
        collector.completions(done, done + float(ahead), np.zeros((len(done), len(PARTS))))
        most = max(most, len(collector.blocks))
    found = collector.finish()
    assert most <= (ahead + 40) // 16 + 2
    assert len(found.query) == 500
    assert found.tally.completed.sum() == n - 1000 - ahead
    assert sum(len(s.counts) for s in found.tally.sketches) < 10


def test_an_early_completion_is_counted_and_jobs_left_out_or_complete_too_soon_are_refused():
    collector = JobCollector(two_classes(), RunSize(0, 2, 0, True, 0, 10, 1.0))
    collector.arrivals(0, np.array([0, 1]), np.array([1.0, 2.0]))
    collector.completions(np.array([0, 1]), np.array([0.5, 2.0]), np.zeros((2, len(PARTS))))
    assert collector.finish().early == 1
    collector = JobCollector(two_classes(), RunSize(0, 2, 0, True, 0, 10, 1.0))
    collector.arrivals(0, np.array([0]), np.array([1.0]))
    with pytest.raises(SimulationError, match="arrivals from job 5"):
        collector.arrivals(5, np.array([0]), np.array([2.0]))
    with pytest.raises(SimulationError, match="before its arrival"):
        collector.completions(np.array([1]), np.array([3.0]), np.zeros((1, len(PARTS))))
