"""Results of a placement survive their JSON, and what is unknown in it is refused."""

import json

import pytest
from pydantic import ValidationError

from nona.queries.placement.results import PlacementOutcome, PlacementReport, SolvedPlacement
from nona.queries.report.placement.working import working
from nona.queries.workflows.placement_outcome import placement_outcome
from nona.queries.workflows.placements import place
from nona.queries.workflows.placing import SearchSteps
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path


def again(result):
    """What a reader of the JSON text gets."""
    return type(result).from_json(json.loads(json.dumps(result.to_json(), allow_nan=False)))


@pytest.fixture(scope="module", params=["slides_example", "racks_and_nics"])
def solved(request):
    scenario = load_scenario(scenario_path(request.param))
    study = prepare(scenario)
    search = SearchSteps()
    placement = place(study, on_better=search.add)
    outcome = placement_outcome(study, placement, "2026-01-01")
    shown = working(study.system, placement, study.scenario.labels)
    return SolvedPlacement.from_fields(outcome, working=shown, steps=search.steps)


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
    assert {"objective_s", "simulated", "formula", "predicted", "models"} <= set(printed)
    assert PlacementReport.from_json(printed) == solved.nona
    nona = data["nona"]
    for inner in (data, nona, nona["predicted"], nona["simulated"], data["working"]):
        inner["unknown"] = 1
        with pytest.raises(ValidationError, match="unknown"):
            SolvedPlacement.from_json(data)
        del inner["unknown"]
    with pytest.raises(ValidationError, match="working"):
        PlacementOutcome.from_json(data)
