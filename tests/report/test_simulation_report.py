"""The report on a simulation: differences, reasons, warm-up and precision, as JSON, text and figure."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nona import study
from nona.errors import SimulationError
from nona.report.simulations.figures import warmup_figure
from nona.report.simulations.report import MOST_LINKS, compared, simulation_report
from nona.report.simulations.series import warmup_series
from nona.report.simulations.tables import compared_text, difference_text, simulation_text
from nona.report.simulations.uncertainty import all_differences, differences
from nona.results.simulation import WarmupReport
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.simulation.summary import FEWEST
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path


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
