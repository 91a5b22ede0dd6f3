"""The report on a simulation: differences, reasons, warm-up, precision, columns; runs against a baseline."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats
from sizes import examples

import nona
from evidence.network_story import network_story, story_load
from nona.core.document import Estimate
from nona.core.errors import SimulationError
from nona.core.tables import mean_text, time_text
from nona.core.units import format_time
from nona.queries.chart_data import LinkLoadExample, LiveRun
from nona.queries.report import comparison, tables
from nona.queries.report.comparison import replication_means
from nona.queries.report.figures import warmup_figure
from nona.queries.report.live import LiveSeries
from nona.queries.report.report import SimulatedRun, compared, simulation_report
from nona.queries.report.series import warmup_series
from nona.queries.report.uncertainty import all_differences, confidence_rows, differences
from nona.queries.results import QuickAnswer, ReplicationMeans, WarmupReport
from nona.queries.simulation.collected import Busy, RunProgress
from nona.queries.simulation.summary import FEWEST, MOST_LINKS
from nona.queries.workflows.outcome import TIMELINE_JOBS, simulation_outcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from tests.core.filled import but, changed, filled


def simulated(**simulation):
    effort = {"jobs": 250, "replications": 5, **simulation}
    names = ["local", "spread", "random"]
    prepared = nona.prepare(changed("vision_language_8_servers", simulation=effort, schedulers=names))
    return prepared, nona.simulate(prepared)


@pytest.fixture(scope="module")
def fixed():
    return simulated()


def slos(prepared):
    return [q.slo_s for q in prepared.system.queries]


def test_differences_agree_with_the_means_and_the_same_random_numbers_pay(fixed):
    prepared, result = fixed
    found = all_differences(result.records, slos(prepared))
    assert set(found) == set(result.records)
    for baseline, rows in found.items():
        assert set(rows) == set(result.records) - {baseline}
        for name, row in rows.items():
            mean = result.summaries[name].result.jct_s.mean - result.summaries[baseline].result.jct_s.mean
            assert row.jct_s.mean == pytest.approx(mean)
            assert row.relative == pytest.approx(mean / result.summaries[baseline].result.jct_s.mean)
            assert row.jct_s.mean == pytest.approx(-found[name][baseline].jct_s.mean)
            assert row.variance_reduction == pytest.approx(found[name][baseline].variance_reduction)
            low, high = row.jct_s.ci95
            verdict = "faster" if high < 0 else "slower" if low > 0 else "not told apart"
            assert row.verdict == verdict
            hits = (
                result.summaries[name].result.slo_hit_rate.mean
                - result.summaries[baseline].result.slo_hit_rate.mean
            )
            assert row.slo_hit_rate.mean == pytest.approx(hits)
    row = differences(result.records, slos(prepared), "random")["local"]
    assert row.correlation > 0
    assert row.variance_reduction > 1
    with pytest.raises(SimulationError, match="'nobody' is not simulated; choose one of local, spread"):
        differences(result.records, slos(prepared), "nobody")


def test_the_text_says_why_something_is_missing(fixed):
    prepared, result = fixed
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    assert report.warmup == WarmupReport(rule="auto", jobs=250, schedulers={}, too_short=())
    assert report.precision is None
    assert warmup_series(result.warmup) is None, "without a pilot there is no plot"
    text = tables.simulation_text(report)
    assert "withheld: p99 needs 1,000 completed jobs per replication; there are 250" in text
    assert "withheld: the interval of p95 needs 2,000" in text
    rows = differences(result.records, slos(prepared), "local")
    told = tables.compared_text(compared(report, "local", rows, {}, ()))
    assert told.startswith(text)
    assert tables.difference_text("local", rows) in told
    assert tables.compared_text(compared(report, None, {}, {}, ())) == text
    assert len(tables.difference_text("local", rows).splitlines()) == 4
    assert "no other" in tables.difference_text("local", {})


def test_precision_and_warmup_are_told_and_what_was_not_reached():
    _, result = simulated(precision="30 %", max_replications=FEWEST + 2, warmup="mser", jobs=200)
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    json.dumps(report.to_json(), allow_nan=False)
    warmup, precision = report.warmup, report.precision
    assert warmup.rule == "mser"
    assert warmup.jobs >= max(c.jobs for c in warmup.schedulers.values() if not c.too_short)
    assert precision.target == 0.3
    assert FEWEST <= precision.replications <= FEWEST + 2
    assert precision.reached == (not precision.not_reached)
    for name, relative in precision.relative_half_width.items():
        assert (relative > precision.bound) == (name in precision.not_reached)
        assert len(result.records[name]) == precision.replications
    text = tables.simulation_text(report)
    assert f"warm-up: {warmup.jobs:,} jobs, by MSER-5" in text
    assert f"after {precision.replications} replications" in text
    series = warmup_series(result.warmup)
    made = warmup_figure(series)
    assert made.layout.shapes[0].x0 == warmup.jobs
    for name, curve in series.schedulers.items():
        assert min(curve.statistic) == pytest.approx(1.0) or len(curve.statistic) == 240
        assert len(curve.at) == len(curve.jct_s) <= 240
        assert sum(trace.legendgroup == name for trace in made.data) == (2 if curve.too_short else 3)
    _, result = simulated(precision=0.001, max_replications=FEWEST, jobs=60)
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    found = report.precision
    assert found.not_reached[0] == "local"
    assert {*found.not_reached, *found.overloaded} == set(result.records)
    assert "NOT reached after 10 replications by local (±" in tables.simulation_text(report)


def test_decisions_in_python_are_told_where_they_cost_time(fixed):
    result = fixed[1]
    ran_as = {"local": "machine code", "spread": "python", "random": "machine code"}
    mixed = {
        n: replace(s, result=s.result.model_copy(update={"decisions": ran_as[n]}))
        for n, s in result.summaries.items()
    }
    for engine, told in (("compiled", True), ("simpy", False)):
        summaries = {name: replace(s, engine=engine) for name, s in mixed.items()}
        report = simulation_report(summaries, result.seconds)
        assert report.schedulers["spread"].decisions == "python"
        assert ("decisions: spread " in tables.simulation_text(report)) == told


def test_the_busiest_of_several_links_are_told(fixed):
    assert simulation_report(fixed[1].summaries, 1.0).schedulers["random"].links == {}
    cluster = fixed[0].scenario.cluster
    scenario = but(
        changed(
            "vision_language_8_servers", simulation={"jobs": 100, "replications": 2}, schedulers=["random"]
        ),
        cluster=but(cluster, network=but(cluster.network, nic=6.25e8)),
    )
    result = nona.simulate(nona.prepare(scenario))
    found = simulation_report(result.summaries, 1.0).schedulers["random"]
    assert len(found.links) == MOST_LINKS
    assert list(found.links.values()) == sorted(found.links.values(), reverse=True)
    busiest = [max(r.link_busy_s) / (r.window_s[1] - r.window_s[0]) for r in result.records["random"]]
    assert max(found.links.values()) <= sum(busiest) / 2 + 1e-12
    assert found.utilization.network == pytest.approx(sum(busiest) / 2)


@pytest.fixture(scope="module")
def run():
    """A run with an overloaded scheduler, several models, an SLO, a pilot and a precision."""
    a = {"model": "slides_example", "rate": "60/s", "slo": "40 ms", "name": "a"}
    rows = [a, {"model": "slides_example", "rate": "5/s", "name": "b"}]
    effort = {"jobs": 100, "replications": 2, "warmup": "mser", "precision": 0.3}
    prepared = nona.prepare(changed(schedulers=["local", "spread"], workload=rows, simulation=effort))
    result = nona.simulate(prepared, engine="simpy", timeline_jobs=TIMELINE_JOBS)
    live = LiveSeries([0.04, None])
    loads = Busy(np.array([0.5]), np.array([0.25]))
    live.add("local", 0, RunProgress(0.5, np.zeros(2, dtype=np.int64), np.zeros(2), np.ones(2), loads))
    return SimulatedRun(
        **dict(simulation_outcome(prepared, result, "now")),
        live=LiveRun(slo=(("a", 0.04),), schedulers=("local",), of=4, series=live.snapshot(), jobs=2),
        means=replication_means(result.records, [0.04, None]),
        idle_s=0.014,
        scenario=prepared.scenario,
    )


def every_document(run):
    (point,) = network_story(nona.with_value(changed(), "simulation.jobs", 20), (0.6,), engine="simpy")
    load = story_load(point.load, point.runs, point.system)
    effort = {"replications": 1, "jobs": 4, "engine": "x", "failed": {"y": "z"}}
    answer = QuickAnswer(predicted=run.predicted, report=run.report, **effort)
    story = filled(LinkLoadExample, points=(load,), limit=0.8, jobs=20)
    return [run, answer, story, *confidence_rows(run.report, run.predicted, run.idle_s)]


def test_results_survive_json_and_refuse_what_they_do_not_know(run):
    assert "overloaded" in {s.state for s in run.report.schedulers.values()}
    assert None not in (run.warmup, run.report.precision)
    for document in every_document(run):
        data = json.loads(json.dumps(document.to_json(), allow_nan=False))
        assert type(document).from_json(data) == document
        with pytest.raises(ValidationError, match="stranger"):
            type(document).from_json({**data, "stranger": 1})


def test_a_row_of_a_table_is_the_scheduler_s_result(run):
    every = tables.figures(run.report.schedulers, run.predicted, models=True)
    rows = {(r["scheduler"], r["model"]): r for r in every.texts()}
    assert [model for name, model in rows if name == "local"] == ["all", "a", "b"]
    for name, s in run.report.schedulers.items():
        whole, one = rows[name, "all"], rows[name, "a"]
        assert whole["mean JCT"] == mean_text(s.jct_s, format_time)
        assert (whole["in flight"], one["in flight"]) == (f"{s.jobs.in_flight:,}", "–")
        assert (whole["SLO"], one["SLO"]) == ("–", "40 ms")
        wait = s.models["a"].parts_s.link_wait
        assert one["wait at links"] == ("–" if wait is None else format_time(wait))
    assert "before" not in every.headings
    again = tables.figures(run.report.schedulers, before=run.report.schedulers)
    assert [r["mean JCT before"] for r in again.texts()] == [
        time_text(s.jct_s.mean) for s in run.report.schedulers.values()
    ]


def test_a_summary_of_plain_numbers_has_every_interval(run):
    table = tables.figures(run.report.schedulers, models=True).select(*tables.SUMMARY).numbers()
    assert list(table.columns[:6]) == ["scheduler", "model", "state", "jct_s", "jct_low_s", "jct_high_s"]
    assert {"jct_p95_low_s", "slo_hit_rate_high", "server_wait_s", "slo_s"} <= set(table.columns)
    over = table[(table["state"] == "overloaded") & (table["model"] == "all")]
    assert over["jct_s"].isna().all()
    assert (over["jobs_arrived"] > 0).all()
    assert len(table) == sum(1 + len(s.models) for s in run.report.schedulers.values())
    row = table[(table["scheduler"] == "local") & (table["model"] == "b")].iloc[0]
    model = run.report.schedulers["local"].models["b"]
    assert (row["jct_s"], row["jct_low_s"]) == (model.jct_s, model.jct_ci95[0])
    assert table["jct_s"].dtype == "float64"


VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12).filter(lambda v: np.ptp(v) > 1e-3)


@pytest.fixture(scope="module")
def small():
    effort = {"jobs": 60, "replications": 3}
    return simulate(prepare(changed(schedulers=["local", "spread"], simulation=effort)), engine="simpy")


def means(jct, hits=0.9):
    alike = (hits,) * len(jct)
    return ReplicationMeans(jct_s=tuple(jct), slo_hit_rate=alike, compute=alike, network=alike)


@examples(60)
@given(VALUES, VALUES, st.floats(0.5, 0.99))
def test_welch_s_interval_is_scipy_s(a, b, level):
    ours = comparison.welch_interval(a, b, level)
    low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    assert ours.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert ours.high == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_welch_s_interval_without_enough_values():
    assert math.isnan(comparison.welch_interval([], [1.0]).mean)
    one = comparison.welch_interval([2.0], [1.0, 3.0])
    assert (one.mean, math.isnan(one.half_width)) == (0.0, True)
    assert comparison.welch_interval([2.0, 2.0], [1.0, 1.0]).half_width == 0


def test_pairing_by_replication_sees_a_change_that_the_noise_of_the_runs_hides():
    noise = np.random.default_rng(1).normal(0.1, 0.03, 6)
    old, new = {"a": means(noise.tolist())}, {"a": means((noise + 0.001).tolist())}
    paired, welch = (comparison.changes(old, new, together)["a"].jct_s for together in (True, False))
    assert paired.change.mean == pytest.approx(0.001) == pytest.approx(welch.change.mean)
    assert (paired.clear, welch.clear) == (True, False)
    assert paired.old.mean == pytest.approx(noise.mean())


def test_only_common_replications_are_paired_and_only_common_schedulers_compared():
    found = comparison.changes(
        {"a": means([1.0, 2.0]), "b": means([1.0])}, {"a": means([2.0, 3.0, 9.0])}, True
    )
    assert list(found) == ["a"]
    assert found["a"].jct_s.change.mean == pytest.approx(1.0)
    assert found["a"].jct_s.new.mean == pytest.approx(14 / 3)


@pytest.mark.parametrize("paired", [True, False])
def test_a_run_that_was_overloaded_has_no_mean_and_no_change(paired):
    found = comparison.changes({"a": means([None, 2.0])}, {"a": means([2.0, 3.0])}, paired)["a"]
    assert found.jct_s.old == Estimate(mean=None, ci95=None)
    assert found.jct_s.change.mean is None
    assert not found.jct_s.clear
    assert found.slo_hit_rate.change.mean == 0


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"seed": 5}, "seed"),
        ({"simulation": {"jobs": 77, "replications": 2, "warmup": 0}}, "number of jobs"),
        ({"simulation": {"jobs": 200, "replications": 9, "warmup": 0}}, ""),
        ({"simulation": {"jobs": 200, "replications": 2, "warmup": 5}}, "warm-up"),
        ({"cluster": {"servers": [{"count": 9, "gpu": "a100-40gb"}]}}, ""),
        ({"workload": [{"model": "slides_example", "rate": "0.2/s"}]}, "workload"),
    ],
)
def test_runs_are_paired_where_they_measured_the_same_jobs(parts, why):
    found = comparison.pairing(changed(), changed(**parts), (0, 0))
    assert found.paired == (not why)
    assert why in found.why
    assert (f"another {why}" in found.text({}, {})) == bool(why)


def test_another_slo_or_warm_up_found_on_pilots():
    row = changed().model_dump(mode="json")["workload"][0]
    assert comparison.pairing(changed(), changed(workload=[row | {"slo": "1 s"}]), (3, 3)).paired
    assert not comparison.pairing(changed(), changed(), (3, 4)).paired


def test_means_of_replications_are_those_of_the_summary(small):
    found = comparison.replication_means(small.records, [0.02])
    for name, summary in small.summaries.items():
        assert np.mean(found[name].jct_s) == pytest.approx(summary.result.jct_s.mean)
        assert np.mean(found[name].compute) == pytest.approx(summary.result.utilization.compute)
        assert np.mean(found[name].network) == pytest.approx(summary.result.utilization.network)
        assert np.mean(found[name].slo_hit_rate) == pytest.approx(summary.result.slo_hit_rate.mean)
    assert comparison.replication_means(small.records, [None])["local"].slo_hit_rate == (None,) * 3


def moved(old, new, **more):
    """The headline where the means of each scheduler went from ``old`` to ``new``."""
    before, after = {n: means(v) for n, v in old.items()}, {n: means(v, **more) for n, v in new.items()}
    found = comparison.changes(before, after, True)
    return comparison.baseline_headline("Servers 12 → 16", found)


def test_the_headline_says_what_the_table_says():
    old, new = [0.020, 0.022], [0.010, 0.012]
    told = moved({"a": old}, {"a": new}, hits=0.95)
    assert told == (
        "Servers 12 → 16: the mean JCT of a falls by 10 ms ± 0 ms (-47.6 %), 5 points ± 0 points more "
        "SLO hits."
    )
    changes = comparison.changes({"a": means(old)}, {"a": means(new, hits=0.95)}, True)
    (row,) = comparison.baseline(changes, "jct_s").texts()
    assert [row[f"mean JCT, {run}"].split(" ±")[0] for run in ("baseline", "this run")] == ["21 ms", "11 ms"]
    assert row["mean JCT, clear"] == "*"
    assert "had none before" in moved({"a": [None, None]}, {"a": new})
    assert moved({}, {}) == "Servers 12 → 16: no scheduler in common."
    was, same = {"a": [0.020, 0.022]}, {"a": [0.021, 0.021]}
    assert "does not change clearly" in moved(was, same)
