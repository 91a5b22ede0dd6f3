"""The report on a simulation: differences, reasons, warm-up, precision; columns alike in every table."""

import json
from dataclasses import replace

import numpy as np
import pytest
from filled import filled
from pydantic import ValidationError

from nona import study
from nona.errors import SimulationError
from nona.report.simulations.comparison import replication_means
from nona.report.simulations.figures import warmup_figure
from nona.report.simulations.live import LiveSeries
from nona.report.simulations.report import MOST_LINKS, SimulatedRun, compared, simulation_report
from nona.report.simulations.series import story_load, warmup_series
from nona.report.simulations.tables import (
    COLUMNS,
    STYLE,
    compared_text,
    difference_text,
    parts_text,
    result_rows,
    simulation_text,
    summary_table,
)
from nona.report.simulations.tables import RESULT_COLUMNS as TEXT
from nona.report.simulations.tables import RESULTS as HTML
from nona.report.simulations.uncertainty import all_differences, differences, sureness_rows
from nona.results.simulation import QuickAnswer, WarmupReport
from nona.results.simulation_charts import LiveRun, Story
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.simulation.collected import Busy, Progress
from nona.simulation.summary import FEWEST
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.link_load import network_story
from nona.study.outcome import TIMELINE_JOBS, simulation_outcome


def simulated(**simulation):
    path = scenario_path("vision_language_8_servers")
    data = scenario_to_mapping(load_scenario(path))
    data["simulation"] = {"jobs": 250, "replications": 5, **simulation}
    data["schedulers"] = ["local", "spread", "random"]
    prepared = study.prepare(scenario_from_mapping(data), Sources(path.parent))
    return prepared, study.simulate(prepared)


@pytest.fixture(scope="module")
def fixed():
    return simulated()


def slos(prepared):
    return [q.slo_s for q in prepared.system.queries]


def test_differences_agree_with_the_means(fixed):
    prepared, result = fixed
    found = all_differences(result.records, slos(prepared))
    assert set(found) == set(result.records)
    for baseline, rows in found.items():
        assert set(rows) == set(result.records) - {baseline}
        for name, row in rows.items():
            mean = result.summaries[name].jct.mean.mean - result.summaries[baseline].jct.mean.mean
            assert row.jct_s.mean == pytest.approx(mean)
            assert row.relative == pytest.approx(mean / result.summaries[baseline].jct.mean.mean)
            assert row.jct_s.mean == pytest.approx(-found[name][baseline].jct_s.mean)
            assert row.variance_reduction == pytest.approx(found[name][baseline].variance_reduction)
            low, high = row.jct_s.ci95
            verdict = "faster" if high < 0 else "slower" if low > 0 else "not told apart"
            assert row.verdict == verdict
            hits = result.summaries[name].hit_rate.mean - result.summaries[baseline].hit_rate.mean
            assert row.slo_hit_rate.mean == pytest.approx(hits)


def test_the_same_random_numbers_pay(fixed):
    prepared, result = fixed
    row = differences(result.records, slos(prepared), "random")["local"]
    assert row.correlation > 0
    assert row.variance_reduction > 1


def test_an_unknown_baseline_is_refused(fixed):
    prepared, result = fixed
    with pytest.raises(SimulationError, match="'nobody' is not simulated; choose one of local, spread"):
        differences(result.records, slos(prepared), "nobody")


def test_the_text_says_why_something_is_missing(fixed):
    prepared, result = fixed
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    assert report.warmup == WarmupReport(rule="auto", jobs=250, schedulers={}, too_short=())
    assert report.precision is None
    text = simulation_text(report)
    assert "withheld: p99 needs 1,000 completed jobs per replication; there are 250" in text
    assert "withheld: the interval of p95 needs 2,000" in text
    rows = differences(result.records, slos(prepared), "local")
    told = compared_text(compared(report, "local", rows, {}, ()))
    assert told.startswith(text)
    assert difference_text("local", rows) in told
    assert compared_text(compared(report, None, {}, {}, ())) == text
    assert len(difference_text("local", rows).splitlines()) == 4
    assert "no other" in difference_text("local", {})


def test_precision_and_warmup_are_told():
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
    text = simulation_text(report)
    assert f"warm-up: {warmup.jobs:,} jobs, by MSER-5" in text
    assert f"after {precision.replications} replications" in text
    series = warmup_series(result.warmup)
    made = warmup_figure(series)
    assert made.layout.shapes[0].x0 == warmup.jobs
    for name, curve in series.schedulers.items():
        assert min(curve.statistic) == pytest.approx(1.0) or len(curve.statistic) == 240
        assert len(curve.at) == len(curve.jct_s) <= 240
        assert sum(trace.legendgroup == name for trace in made.data) == (2 if curve.too_short else 3)


def test_a_precision_that_was_not_reached_is_said():
    _, result = simulated(precision=0.001, max_replications=FEWEST, jobs=60)
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    found = report.precision
    assert found.not_reached[0] == "local"
    assert {*found.not_reached, *found.overloaded} == set(result.records)
    assert "NOT reached after 10 replications by local (±" in simulation_text(report)


def test_decisions_in_python_are_told_where_they_cost_time(fixed):
    result = fixed[1]
    ran_as = {"local": "machine code", "spread": "python", "random": "machine code"}
    mixed = {n: replace(s, decisions=ran_as[n]) for n, s in result.summaries.items()}
    for engine, told in (("compiled", True), ("simpy", False)):
        summaries = {name: replace(s, engine=engine) for name, s in mixed.items()}
        report = simulation_report(summaries, result.seconds)
        assert report.schedulers["spread"].decisions == "python"
        assert ("decisions: spread " in simulation_text(report)) == told


def test_the_busiest_of_several_links_are_told(fixed):
    assert simulation_report(fixed[1].summaries, 1.0).schedulers["random"].links == {}
    path = scenario_path("vision_language_8_servers")
    data = scenario_to_mapping(load_scenario(path))
    data["simulation"] = {"jobs": 100, "replications": 2}
    data["schedulers"] = ["random"]
    data["cluster"]["network"]["nic"] = "5 Gbit/s"
    result = study.simulate(study.prepare(scenario_from_mapping(data), Sources(path.parent)))
    found = simulation_report(result.summaries, 1.0).schedulers["random"]
    assert len(found.links) == MOST_LINKS
    assert list(found.links.values()) == sorted(found.links.values(), reverse=True)
    busiest = [max(r.link_busy_s) / (r.window_s[1] - r.window_s[0]) for r in result.records["random"]]
    assert max(found.links.values()) <= sum(busiest) / 2 + 1e-12
    assert found.utilization.network == pytest.approx(sum(busiest) / 2)


def test_without_a_pilot_there_is_no_plot(fixed):
    assert warmup_series(fixed[1].warmup) is None


@pytest.fixture(scope="module")
def run():
    """A run with an overloaded scheduler, several models, an SLO, a pilot and a precision."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data["schedulers"] = ["local", "spread"]
    data["workload"] = [
        {"model": "slides_example", "rate": "60/s", "slo": "40 ms", "name": "a"},
        {"model": "slides_example", "rate": "5/s", "name": "b"},
    ]
    data["simulation"] = {"jobs": 100, "replications": 2, "warmup": "mser", "precision": 0.3}
    prepared = study.prepare(scenario_from_mapping(data))
    result = study.simulate(prepared, engine="simpy", timeline_jobs=TIMELINE_JOBS)
    live = LiveSeries([0.04, None])
    loads = Busy(np.array([0.5]), np.array([0.25]))
    live.add("local", 0, Progress(0.5, np.zeros(2, dtype=np.int64), np.zeros(2), np.ones(2), loads))
    return SimulatedRun(
        **dict(simulation_outcome(prepared, result, "now")),
        live=LiveRun(slo=(("a", 0.04),), schedulers=("local",), of=4, series=live.snapshot(), jobs=2),
        means=replication_means(result.records, [0.04, None]),
        idle_s=0.014,
        scenario=prepared.scenario,
    )


def every_document(run):
    scenario = load_scenario(scenario_path("slides_example"))
    (point,) = network_story(study.with_value(scenario, "simulation.jobs", 20), (0.6,), engine="simpy")
    load = story_load(point.load, point.runs, point.system)
    answer = QuickAnswer(
        predicted=run.predicted, report=run.report, replications=1, jobs=4, engine="x", failed={"y": "z"}
    )
    return [
        run,
        answer,
        filled(Story, points=(load,), limit=0.8, jobs=20),
        *sureness_rows(run.report, run.predicted, run.idle_s),
    ]


def test_results_survive_json_and_refuse_what_they_do_not_know(run):
    states = {s.state for s in run.report.schedulers.values()}
    assert "overloaded" in states
    assert run.warmup is not None
    assert run.report.precision is not None
    for document in every_document(run):
        data = json.loads(json.dumps(document.to_json(), allow_nan=False))
        assert type(document).from_json(data) == document
        with pytest.raises(ValidationError, match="stranger"):
            type(document).from_json({**data, "stranger": 1})


def test_a_row_of_a_table_is_the_scheduler_s_result(run):
    rows = {(r.scheduler, r.model): r for r in result_rows(run.report.schedulers, run.predicted, models=True)}
    assert [model for name, model in rows if name == "local"] == ["all", "a", "b"]
    for name, s in run.report.schedulers.items():
        whole, one = rows[name, "all"], rows[name, "a"]
        assert COLUMNS["jct"].read(whole) == s.jct_s
        assert COLUMNS["jobs_in_flight"].read(whole) == s.jobs.in_flight
        assert COLUMNS["jobs_in_flight"].read(one) is None
        assert COLUMNS["slo"].read(one) == s.models["a"].slo_s == 0.04
        assert COLUMNS["link_wait"].read(one) == s.models["a"].parts_s.link_wait


def test_terminal_and_html_choose_from_the_same_columns(run):
    assert {c.key for c in TEXT} <= {c.key for c in HTML}
    assert [c.heading for c in TEXT if c.key == "utilization_compute"] == ["compute"]
    assert STYLE.cell(None, "s") == "–"
    assert (STYLE.cell(0.5, "rate"), STYLE.cell(1200, "count")) == ("50.00 %", "1,200")
    assert parts_text(run.report.schedulers).splitlines()[0].split()[:3] == ["scheduler", "model", "JCT"]


def test_a_summary_of_plain_numbers_has_every_interval(run):
    table = summary_table(run.report)
    assert list(table.columns[:6]) == ["scheduler", "model", "state", "jct_s", "jct_low_s", "jct_high_s"]
    assert {"jct_p95_low_s", "slo_hit_rate_high", "server_wait_s", "slo_s"} <= set(table.columns)
    over = table[(table["state"] == "overloaded") & (table["model"] == "all")]
    assert over["jct_s"].isna().all()
    assert (over["jobs_arrived"] > 0).all()
