"""Prediction against simulation: the stored map can be made again, and shipped scenarios are predicted."""

from dataclasses import replace

import numpy as np
import pytest
from sizes import first

from evidence import prediction_map as study_map
from evidence.reports import prediction as prediction_map
from evidence.reports.prediction import band, map_figure
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.prediction import predict
from nona.queries.placement.proposals import blend
from nona.queries.placement.results import PredictedClass, Prediction
from nona.queries.study_results import PredictionMap
from nona.queries.sweeps.numbers import with_value
from nona.queries.sweeps.results import SweepRequest
from nona.queries.sweeps.run import sweep
from nona.queries.system import Batching
from nona.queries.workflows.shipped import stored_result
from nona.queries.workflows.tested_range import error, untested
from nona.scenario.arrivals import Arrivals
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path
from tests.core.filled import filled

POINTS = stored_result(PredictionMap).points


def test_the_plan_of_the_map_tests_the_default_at_every_load():
    for name in study_map.SCENARIOS:
        loads = {load for placement, load in study_map.names_of(name, True) if placement == "nona"}
        assert loads == set(study_map.LOADS)
    for name in study_map.SYSTEMS:
        assert {p for p, _ in study_map.names_of(name, True)} >= {"local", "nona"}
        assert {p for p, _ in study_map.names_of(name, False)} == {"local"}


def point(scenario, placement, load):
    return study_map.point(study_map.map_system(scenario), placement, study_map.LOADS[load])


@pytest.mark.verify
@pytest.mark.parametrize(
    ("scenario", "placement", "load"),
    [("rag_pipeline", "half", "as shipped"), ("five_models_80_servers", "local", "both 0.6")],
)
def test_a_point_of_the_stored_map_can_be_made_again(scenario, placement, load):
    """The formula's value is the same; simulated anew, shorter, within both intervals."""
    of = (scenario, placement, load)
    (kept,) = (p for p in stored_result(PredictionMap).points if (p.scenario, p.placement, p.load) == of)
    again = study_map.measure(of, *point(*of), tasks=20_000, replications=4)
    assert again.formula_s == pytest.approx(kept.formula_s, rel=1e-4)
    assert again.servers == pytest.approx(kept.servers, abs=1e-3)
    assert abs(again.simulated_s - kept.simulated_s) <= 2 * (again.ci95_s + kept.ci95_s)


def test_the_formula_is_what_the_documents_say_of_it():
    """Right where queries stay whole and arrivals are Poisson; off where paths join or arrivals burst."""
    poisson = [p for p in POINTS if set(p.processes) <= {"poisson"} and p.state == "stable"]
    whole = [p for p in poisson if p.split == 0]
    assert len(whole) > 50
    good, of = prediction_map.within(whole, 0.1)
    assert good >= 0.95 * of
    split = [p for p in poisson if p.split > 0]
    assert prediction_map.within(split, 0.1)[0] < 0.7 * len(split)
    bursty = [p for p in POINTS if not set(p.processes) <= {"poisson"}]
    assert prediction_map.within(bursty, 0.1)[0] < 0.2 * len(bursty)


def test_a_short_study_gives_rows_words_and_a_figure():
    settings = study_map.MapSettings(tasks=1000, replications=2, scenarios=("esg_workflows",))
    data = study_map.map_study(settings)
    assert [p.load for p in data.points] == list(study_map.OF_SERVERS)
    assert len(prediction_map.POINTS.fill(data.points)) == len(study_map.OF_SERVERS)
    assert prediction_map.summary(data).numbers()["points"][0] == len(study_map.OF_SERVERS)
    assert prediction_map.title(data) in prediction_map.presented(data).text()
    assert "esg_workflows" in prediction_map.findings(data)[1]


def test_the_figure_shows_the_errors_and_their_bands():
    data = stored_result(PredictionMap)
    (heat,) = map_figure(data).data
    shown = [int(t) for row in heat.text for t in row if t]
    errors = [e for p in data.points if (e := error(p)) is not None]
    assert sorted(shown) == sorted(round(100 * e) for e in errors)
    bands = sorted(int(z) for row in heat.z for z in row if z is not None)
    assert bands == sorted(band(e) for e in errors)


def test_an_interval_can_excuse_an_error_only_as_far_as_it_goes():
    def made(predicted, half):
        found = {"state": "stable", "formula_s": predicted, "simulated_s": 1.0, "ci95_s": half}
        return stored_result(PredictionMap).points[0].model_copy(update=found)

    assert not prediction_map.surely_outside(made(1.09, 0.0), 0.1)
    assert prediction_map.surely_outside(made(1.3, 0.1), 0.1)
    assert not prediction_map.surely_outside(made(1.3, 0.2), 0.1)
    assert not prediction_map.surely_outside(made(1.3, None), 0.1)
    assert error(made(1.1, 0.0)) == 0.1
    assert error(made(1.0, 0.0).model_copy(update={"state": "overloaded"})) is None


def test_points_have_the_loads_that_they_name():
    system, placed = point("rag_pipeline", "half", "both 0.85")
    queries = placed.queries
    found = predict(system, queries)
    assert (found.compute_utilization, found.network_utilization) == pytest.approx((0.85, 0.85), abs=1e-6)
    assert study_map.splits(queries) == pytest.approx(0.5)
    local, spread = local_placement(system).queries, spread_placement(system).queries
    assert study_map.splits(blend(local, spread, 0.0)) == 0.0
    assert study_map.splits(blend(local, spread, 1.0)) == 1.0
    assert all(np.isclose(s.probabilities.sum(), 1.0) for row in queries for s in row)


def test_outside_the_tested_region_one_line_says_why():
    system = study_map.map_system("rag_pipeline")
    mmpp = replace(system, queries=(replace(system.queries[0], arrivals=Arrivals("mmpp")),))
    shared = replace(system, discipline="processor-sharing")
    one = system.queries[0]
    batched = replace(system, queries=(replace(one, batching=Batching(one.tasks.compute_s[None])),))
    for of, servers, link, said in (
        (batched, 0.95, 0.35, "None"),  # there is no prediction
        (system, 0.95, 0.35, "executor load 95 %"),
        (system, 0.31, 0.97, "link busy 97 %"),
        (system, 0.0, 0.0, "No tested point"),
        (system, 0.83, 0.85, "tested points of similar load"),
        (mmpp, 0.31, 0.35, "(mmpp)"),
        (shared, 0.31, 0.35, "equally shared"),
    ):
        found = filled(
            Prediction,
            network_utilization=link,
            classes=(filled(PredictedClass, utilization=servers),),
        )
        assert said in str(untested(of, found))


def sized_scenario(name, jobs, replications):
    scenario = with_value(load_scenario(scenario_path(name)), "simulation.jobs", jobs)
    return with_value(scenario, "simulation.replications", replications)


def swept(scenario, key, values, *names):
    """Scheduler → its points, from the first value to the last."""
    spec = scenario.simulation
    size = {"jobs": spec.jobs, "replications": spec.replications, "edges": False}
    report = sweep(scenario, SweepRequest(number=key, values=values, schedulers=names, **size))
    return {name: curve.points for name, curve in report.schedulers.items()}


@pytest.mark.parametrize("level", first(1, [0.5, 0.0, 0.9]))
def test_five_models_of_the_paper_on_80_servers(level):
    scenario = sized_scenario("five_models_80_servers", 4000, 3)
    for (point,) in swept(scenario, "background.network.utilization", (level,), "nona", "local").values():
        assert point.state == "stable"
        assert abs(point.error) * point.jct_s.mean <= 0.1 * point.jct_s.mean + 2 * point.jct_s.half_width, (
            point
        )


def test_a_sweep_reaches_any_place_of_the_scenario():
    values = (8e9 / 8, 8e10 / 8)
    scenario = sized_scenario("slides_example", 50, 1)
    slow, fast = swept(scenario, "cluster.network.capacity", values, "spread")["spread"]
    assert slow.jct_s.mean == pytest.approx(32e-3, rel=0.05)
    assert fast.jct_s.mean < slow.jct_s.mean
    assert (slow.value, fast.value) == values
