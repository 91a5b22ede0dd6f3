"""Results of a placement survive their JSON, and what is unknown in it is refused."""

import json

import pytest
from pydantic import ValidationError

from nona.placement.messages import Link
from nona.report.models import coarsening_report
from nona.report.placements.working import working
from nona.results.placement import CongestionCurve, FullPlacementReport, PlacementOutcome, SolvedPlacement
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.link_load import congestion_curve
from nona.study.models import glued_model
from nona.study.outcome import placement_outcome
from nona.study.placing import SearchSteps
from nona.study.preparation import prepare
from nona.study.simulation import place


def again(result):
    """What a reader of the JSON text gets."""
    return type(result).from_json(json.loads(json.dumps(result.to_json(), allow_nan=False)))


@pytest.fixture(scope="module", params=["slides_example", "racks_and_nics"])
def solved(request):
    scenario = load_scenario(scenario_path(request.param))
    if request.param == "racks_and_nics":  # sampled jobs take seconds there; the other has them
        scenario = scenario.model_copy(update={"objective": "formula"})
    study = prepare(scenario)
    search = SearchSteps(study.system)
    placement = place(study)
    search.finish(placement)
    outcome = placement_outcome(study, placement, "2026-01-01")
    shown = working(study.system, placement, study.scenario.labels)
    return SolvedPlacement.like(outcome, working=shown, steps=search.steps)


def test_a_placement_survives_its_json_and_an_unknown_key_is_refused(solved):
    assert again(solved) == solved
    data = solved.to_json()
    names = ("about", "nona", "local", "spread", "models", "if_times_off", "working", "steps", "known")
    assert tuple(data) == names
    assert all((solved.nona.models, solved.working.lines, solved.steps))
    names = [c.executor_class for c in solved.nona.predicted.classes]
    assert [c["class"] for c in data["nona"]["predicted"]["classes"]] == names
    assert [c["class"] for c in data["nona"]["memory"]["classes"]] == names
    cancelled = SolvedPlacement.from_json({**data, "ended_early_s": 2.5})
    assert cancelled.ended_early_s == 2.5
    assert again(cancelled) == cancelled
    printed = solved.nona.to_json()
    assert list(printed)[-2:] == ["sampled", "response"]
    assert FullPlacementReport.from_json(printed) == solved.nona
    nona = data["nona"]
    for inner in (data, nona, nona["predicted"], nona["response"], data["working"]):
        inner["unknown"] = 1
        with pytest.raises(ValidationError, match="unknown"):
            SolvedPlacement.from_json(data)
        del inner["unknown"]
    with pytest.raises(ValidationError, match="working"):
        PlacementOutcome.from_json(data)


def test_a_curve_of_congestion_and_a_coarsening_survive_their_json():
    study = prepare(load_scenario(scenario_path("slides_example")))
    curve = congestion_curve(study.system, points=3)
    assert isinstance(again(curve), CongestionCurve)
    assert again(curve) == curve
    found = coarsening_report(glued_model(study.models[0], Link(1e9, 0.0)))
    assert again(found) == found
    assert found.subgraphs
