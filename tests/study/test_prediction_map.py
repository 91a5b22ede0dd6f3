"""Prediction against simulation: the stored map can be made again, and shipped scenarios are predicted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sizes import first

from nona.cli.main import main
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.prediction import predict
from nona.placement.sampled.moves import blend
from nona.report.placements.report import placement_report, response_report
from nona.report.placements.text import response_finding, response_lines, response_rows
from nona.report.studies import prediction_map
from nona.report.studies.figures import band, map_figure
from nona.results.placement import ResponseReport
from nona.results.studies import Comparison, Measure
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study import prediction_map as study_prediction_map
from nona.study.shipped import shipped_map
from nona.study.sweep_numbers import with_value
from nona.study.sweeps import sweep
from nona.system import Arrivals, Stream


def stored_point(scenario, placement, load):
    (found,) = (
        p for p in shipped_map().points if (p.scenario, p.placement, p.load) == (scenario, placement, load)
    )
    return found


def test_the_stored_map_has_every_point_and_its_origin():
    data = shipped_map()
    assert {p.scenario for p in data.points} <= set(study_prediction_map.SYSTEMS)
    assert set(study_prediction_map.SCENARIOS) <= {p.scenario for p in data.points}
    known = {*study_prediction_map.PLACEMENTS, *study_prediction_map.OF_NETWORKS}
    for name in study_prediction_map.SYSTEMS:
        own = [(p.placement, p.load) for p in data.points if p.scenario == name]
        assert len(set(own)) == len(own)
        assert all(placement in known and load in study_prediction_map.LOADS for placement, load in own)


def test_the_plan_of_the_map_tests_the_default_at_every_load():
    for name in study_prediction_map.SCENARIOS:
        assert {
            load for placement, load in study_prediction_map.names_of(name, True) if placement == "nona"
        } == set(study_prediction_map.LOADS)
    for name in study_prediction_map.SYSTEMS:
        assert {p for p, _ in study_prediction_map.names_of(name, True)} >= {"local", "nona"}
        assert {p for p, _ in study_prediction_map.names_of(name, False)} == {"local"}


def test_the_stored_map_stays_below_its_highest_load():
    assert all(p.servers <= 0.86 and p.link <= 0.86 for p in shipped_map().points)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("scenario", "placement", "load"),
    [("rag_pipeline", "half", "as shipped"), ("five_models_80_servers", "local", "both 0.6")],
)
def test_a_point_of_the_stored_map_can_be_made_again(scenario, placement, load):
    """Predicted anew to 2 %, simulated anew, shorter, within both intervals."""
    kept = stored_point(scenario, placement, load)
    system, placed = study_prediction_map.point(
        study_prediction_map.map_system(scenario), placement, study_prediction_map.LOADS[load]
    )
    again = study_prediction_map.measure(
        (scenario, placement, load), system, placed, tasks=20_000, replications=4
    )
    assert again.mean_s.predicted == pytest.approx(kept.mean_s.predicted, rel=0.02)
    assert again.p95_s.predicted == pytest.approx(kept.p95_s.predicted, rel=0.05)
    assert again.servers == pytest.approx(kept.servers, abs=1e-3)
    (new_s, new_half_s), (old_s, old_half_s) = simulated(again), simulated(kept)
    assert abs(new_s - old_s) <= 2 * (new_half_s + old_half_s)


def simulated(found):
    """The simulated mean and its half-width."""
    return found.mean_s.simulated, found.mean_s.ci95


def test_with_poisson_arrivals_most_points_are_within_their_bounds():
    """The accuracy that the documents state, for all placements and for nona's own."""
    points = [p for p in shipped_map().points if set(p.processes) <= {"poisson"}]
    own = [p for p in points if p.placement == "nona"]
    assert len(own) > 100
    worst_of: dict[Measure, float] = {"mean_s": 0.3, "p95_s": 0.35}
    for measure_of, worst in worst_of.items():
        for chosen, share in ((points, 0.94), (own, 0.97)):
            good, of = prediction_map.within(chosen, measure_of, prediction_map.BOUNDS[measure_of])
            assert good >= share * of
        assert prediction_map.within(points, measure_of, worst)[0] == len(points)
    assert not any(prediction_map.surely_outside(p, "mean_s", 0.1) for p in own)


def test_the_prediction_is_closer_than_the_formula_alone():
    points = shipped_map().points
    assert (
        prediction_map.within(points, "mean_s", 0.1)[0]
        > 1.5 * prediction_map.within(points, "formula_s", 0.1)[0]
    )


def test_a_short_study_gives_rows_words_and_a_figure():
    settings = study_prediction_map.MapSettings(tasks=1000, replications=2, scenarios=("esg_workflows",))
    data = study_prediction_map.map_study(settings)
    assert [p.load for p in data.points] == list(study_prediction_map.OF_SERVERS)
    assert len(prediction_map.point_rows(data)) == len(study_prediction_map.OF_SERVERS)
    assert prediction_map.summary_rows(data)[0]["points"] == len(study_prediction_map.OF_SERVERS)
    assert prediction_map.title(data) in prediction_map.map_text(data)
    assert "esg_workflows" in prediction_map.findings(data)[len(prediction_map.MEASURES)]


@pytest.mark.parametrize("chosen", prediction_map.MEASURES)
def test_the_figure_shows_the_errors_and_their_bands(chosen):
    data = shipped_map()
    (heat,) = map_figure(data, chosen).data
    shown = [int(t) for row in heat.text for t in row if t]
    errors = [e for p in data.points if (e := prediction_map.error(p, chosen)) is not None]
    assert sorted(shown) == sorted(round(100 * e) for e in errors)
    bands = sorted(int(z) for row in heat.z for z in row if z is not None)
    assert bands == sorted(band(e) for e in errors)


def test_an_interval_can_excuse_an_error_only_as_far_as_it_goes():
    def made(predicted, half):
        found = Comparison(predicted=predicted, simulated=1.0, ci95=half)
        return shipped_map().points[0].model_copy(update={"state": "stable", "mean_s": found})

    assert not prediction_map.surely_outside(made(1.09, 0.0), "mean_s", 0.1)
    assert prediction_map.surely_outside(made(1.3, 0.1), "mean_s", 0.1)
    assert not prediction_map.surely_outside(made(1.3, 0.2), "mean_s", 0.1)
    assert not prediction_map.surely_outside(made(1.3, None), "mean_s", 0.1)
    assert prediction_map.error(made(1.1, 0.0), "mean_s") == 0.1
    assert prediction_map.error(made(1.0, 0.0).model_copy(update={"state": "overloaded"}), "mean_s") is None


def test_points_have_the_loads_that_they_name():
    system, placed = study_prediction_map.point(
        study_prediction_map.map_system("rag_pipeline"), "half", study_prediction_map.LOADS["both 0.85"]
    )
    queries = placed.queries
    found = predict(system, queries)
    assert found.compute_utilization == pytest.approx(0.85, abs=1e-6)
    assert found.network_utilization == pytest.approx(0.85, abs=1e-6)
    assert study_prediction_map.splits(queries) == pytest.approx(0.5)
    local, spread = local_placement(system).queries, spread_placement(system).queries
    assert study_prediction_map.splits(blend(local, spread, 0.0)) == 0.0
    assert study_prediction_map.splits(blend(local, spread, 1.0)) == 1.0
    assert all(np.isclose(s.probabilities.sum(), 1.0) for row in queries for s in row)


def test_outside_the_tested_region_one_line_says_why():
    system = study_prediction_map.map_system("rag_pipeline")
    inside = loaded(0.31, 0.35)
    assert study_prediction_map.warning(system, inside) is None
    assert "executors busy 95 %" in str(study_prediction_map.warning(system, loaded(0.95, 0.35)))
    assert "link busy 97 %" in str(study_prediction_map.warning(system, loaded(0.31, 0.97)))
    mmpp = replace(system, queries=(replace(system.queries[0], arrivals=Arrivals("mmpp")),))
    assert "(mmpp)" in str(study_prediction_map.warning(mmpp, inside))
    shared = replace(system, discipline="processor-sharing")
    assert "equally shared" in str(study_prediction_map.warning(shared, inside))
    assert "No tested point" in str(study_prediction_map.warning(system, loaded(0.0, 0.0)))
    assert study_prediction_map.warning(system, loaded(0.7, 0.3)) is None  # nothing beside the background
    assert "tested points of similar load" in str(study_prediction_map.warning(system, loaded(0.83, 0.85)))


def loaded(servers, link):
    """A response at these utilisations."""
    times = {"mean_s": 0.01, "p50_s": 0.01, "p95_s": 0.02, "p99_s": 0.02, "sampling_s": 0.0}
    loads = {"compute_utilization": servers, "link_utilization": link}
    return ResponseReport(miss=None, models={}, **times, **loads)


def test_the_response_is_told_model_by_model():
    system = replace(study_prediction_map.map_system("slides_example"), background_network=Stream())
    placement = local_placement(system)
    report = response_report(system, placement, ["slides"])
    assert report.mean_s == pytest.approx(0.022)
    assert report.miss == 1.0
    assert report.models["slides"].p95_s == pytest.approx(0.022)
    told = report.model_copy(update={"warning": "Simulate."})
    assert "mean" not in response_finding(told)
    assert response_lines(told)[-1] == "warning: Simulate."
    (row,) = response_rows(told, placement_report(system, placement, ["slides"]).models)
    assert (row["SLO missed"], row["SLO"]) == ("100.0 %", "20 ms")


def test_the_command_prints_the_response(capsys):
    assert main(["place", "slides_example", "--json"]) == 0
    response = json.loads(capsys.readouterr().out)["response"]
    assert response["mean_s"] == pytest.approx(0.014)
    assert set(response["models"]["slides_example"]) == {"mean_s", "p50_s", "p95_s", "p99_s", "slo_s", "miss"}


PATH = "background.network.utilization"


def points(name, levels, schedulers, jobs):
    scenario = load_scenario(scenario_path(name))
    scenario = with_value(with_value(scenario, "simulation.jobs", jobs), "simulation.replications", 3)
    return list(sweep(scenario, PATH, levels, schedulers))


@pytest.mark.parametrize("level", first(1, [0.5, 0.0, 0.9]))
def test_five_models_of_the_paper_on_80_servers(level):
    for found in points("five_models_80_servers", (level,), ("nona", "local"), jobs=4000):
        mean = found.summary.jct.mean
        assert found.summary.state == "stable"
        assert abs(found.predicted_s - mean.mean) <= 0.1 * mean.mean + 2 * mean.half_width, found


@pytest.mark.verify
def test_splitting_retreats_and_spreading_overloads_as_the_link_fills():
    idle, full = (
        {p.scheduler: p for p in points("background_sweep", (level,), ("nona", "local", "spread"), jobs=1500)}
        for level in (0.0, 0.9)
    )
    assert idle["nona"].predicted_s < idle["local"].predicted_s
    assert idle["nona"].predicted_s < full["nona"].predicted_s <= full["local"].predicted_s
    assert full["spread"].predicted_s is None
    assert full["spread"].summary.state == "overloaded"
    assert idle["spread"].error is not None


def test_a_sweep_reaches_any_place_of_the_scenario():
    scenario = load_scenario(scenario_path("slides_example"))
    scenario = with_value(with_value(scenario, "simulation.jobs", 50), "simulation.replications", 1)
    values = (8e9 / 8, 8e10 / 8)
    slow, fast = sweep(scenario, "cluster.network.capacity", values, ("spread",))
    assert slow.summary.jct.p50.mean == pytest.approx(32e-3)
    assert fast.summary.jct.p50.mean < slow.summary.jct.p50.mean
    assert (slow.value, fast.value) == values
