"""Which files a scenario names, in one place for all that read, copy or list them."""

import pytest

from nona.errors import ScenarioError
from nona.scenario.file import scenario_from_mapping
from nona.sources.lookup import Sources, file_names, is_file, named_files, with_files_renamed

INSIDE = {"nodes": [{"id": "a", "compute_ms": 1.0}], "links": [], "directed": True, "multigraph": False}


def scenario():
    trace = {"process": "trace", "trace": "t.csv"}
    rows = [
        {"model": "own.onnx", "rate": "1/s", "arrivals": trace},
        {"model": "inside", "rate": "1/s"},
        {"model": "resnet18", "rate": "1/s", "arrivals": trace},
        {"model": "two.dot", "rate": "1/s"},
    ]
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
            "workload": rows,
            "cost": {"measured": "m.measured.csv"},
            "models": {"inside": INSIDE},
            "plan": {"profile": "week.csv"},
        }
    )


def test_files_are_listed_with_their_places():
    assert [(f.place, f.name, f.kind) for f in named_files(scenario())] == [
        ("workload[0].model", "own.onnx", "model"),
        ("workload[0].arrivals.trace", "t.csv", "trace"),
        ("workload[2].arrivals.trace", "t.csv", "trace"),
        ("workload[3].model", "two.dot", "model"),
        ("cost.measured", "m.measured.csv", "measured"),
        ("plan.profile", "week.csv", "profile"),
    ]
    assert file_names(scenario()) == ["own.onnx", "two.dot", "t.csv", "m.measured.csv", "week.csv"]
    assert file_names(scenario(), "trace", "measured") == ["t.csv", "m.measured.csv"]
    assert [is_file(scenario(), m) for m in ("own.onnx", "inside", "resnet18")] == [True, False, False]


def test_renaming_reaches_every_place_and_nothing_else():
    renamed = with_files_renamed(scenario(), lambda name: f"new-{name}")
    assert file_names(renamed) == [f"new-{name}" for name in file_names(scenario())]
    assert [r.model for r in renamed.workload] == ["new-own.onnx", "inside", "resnet18", "new-two.dot"]
    assert with_files_renamed(scenario(), lambda name: name) == scenario()


def test_every_missing_file_is_named_at_once(tmp_path):
    (tmp_path / "t.csv").write_text("0\n")
    with pytest.raises(ScenarioError) as error:
        Sources(tmp_path).check(scenario())
    places = [problem.partition(":")[0] for problem in error.value.problems]
    assert places == ["workload[0].model", "workload[3].model", "cost.measured", "plan.profile"]
