"""The training part of a scenario file: all problems at once, files, bundles, and commands for queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from nona.cli.main import main
from nona.errors import ScenarioError
from nona.scenario.file import parse_scenario, scenario_hash
from nona.sources.lookup import Sources, file_names, named_files, with_files_renamed
from nona.sources.opening import open_bytes, open_scenario, pack_bundle, read_bundle

BAD = """
version: 1
cluster: {servers: [{gpu: v1000}]}
training:
  throughputs: gavle
  trace: missing.trace
  policies: [isolated, isolatedd]
  prices: {k800: 1}
  entities: {team: {weight: -1}}
  jobs:
    - {name: a, model: ResNet-50 (batch size 65), steps: 5, entity: teem}
    - {name: b, throughputs: {p10: 3}, steps: 0}
    - {name: c, steps: 5}
"""
FILES = """
version: 1
cluster: {servers: [{gpu: v100}]}
training:
  throughputs: tables/mine.csv
  jobs:
    - {name: a, model: x, steps: 5}
    - {name: s, model: nets/own.onnx, steps: 60, kind: inference, rate: 5/s}
"""


def test_one_pass_lists_every_problem(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    with pytest.raises(ScenarioError) as caught:
        open_scenario(tmp_path / "bad.yaml")
    assert {problem.partition(": ")[0] for problem in caught.value.problems} >= {
        "cluster.servers[0].gpu",
        "training.throughputs",
        "training.trace",
        "training.policies[1]",
        "training.prices",
        "training.entities.team.weight",
        "training.jobs[0].entity",
        "training.jobs[1].throughputs",
        "training.jobs[1].steps",
        "training.jobs[2]",
    }
    near = open_problems(BAD.replace("gavle", "gavel"), tmp_path)
    assert any("use ResNet-50 (batch size 64)" in problem for problem in near)


def open_problems(text: str, folder: Path) -> tuple[str, ...]:
    with pytest.raises(ScenarioError) as caught:
        open_bytes(text.encode(), "a.yaml", Sources(folder))
    return caught.value.problems


@pytest.mark.parametrize(
    ("training", "why"),
    [
        ("{}", "give exactly one of the four"),
        ("{generate: {}, jobs: [{name: a, model: A3C, steps: 1}]}", "give exactly one of the four"),
        ("{generate: {jobs: 10, measured: [0, 10]}}", "first and last number"),
        ("{generate: {jobs: 10, measured: [5, 4]}}", "first and last number"),
        ("{jobs: [{name: a, model: A3C, steps: 1}, {name: a, model: A3C, steps: 1}]}", "called 'a'"),
        ("{jobs: [{name: a, model: gpt2, steps: 1, kind: inference}]}", "go together"),
        ("{jobs: [{name: a, model: A3C, steps: 1, rate: 3/s}]}", "go together"),
        ("{jobs: [{name: a, model: A3C, duration: 3 h}]}", "in place of steps"),
        ("{jobs: [{name: a, steps: 5, duration: 3 h, kind: interactive}]}", "in place of steps"),
        ("{jobs: [{name: a, duration: long, kind: interactive}]}", "is not a time"),
        ("{jobs: [{name: a, model: A3C, steps: 1, latency_slo: 1 s}]}", "use slo for a deadline"),
    ],
)
def test_what_does_not_go_together_is_refused(training: str, why: str) -> None:
    text = f"{{version: 1, cluster: {{servers: [{{gpu: v100}}]}}, training: {training}}}"
    with pytest.raises(ScenarioError, match=why):
        parse_scenario(text)


@pytest.mark.parametrize("broken", ["1", "[]", "{jobs: 3}", "{jobs: [1], policies: {a: 1}}", "{prices: [1]}"])
def test_whatever_the_part_holds_the_look_at_its_names_does_not_break(broken: str, tmp_path: Path) -> None:
    assert open_problems(f"version: 1\ncluster: {{servers: [{{}}]}}\ntraining: {broken}\n", tmp_path)


def test_trace_table_and_models_travel_in_a_bundle(tmp_path: Path) -> None:
    for folder, name in (("tables", "mine.csv"), ("nets", "own.onnx")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(name.encode())
    scenario = parse_scenario(FILES)
    assert [(f.place, f.name, f.kind) for f in named_files(scenario)] == [
        ("training.jobs[1].model", "nets/own.onnx", "model"),
        ("training.throughputs", "tables/mine.csv", "throughputs"),
    ]
    data = pack_bundle(scenario, Sources(tmp_path))
    opened = open_bytes(data, "x.nona.zip", Sources())
    assert file_names(opened.scenario) == ["own.onnx", "mine.csv"]
    assert opened.sources.read("mine.csv") == b"mine.csv"
    assert set(read_bundle(data)) == {"scenario.yaml", "own.onnx", "mine.csv"}
    back = with_files_renamed(
        opened.scenario, {"own.onnx": "nets/own.onnx", "mine.csv": "tables/mine.csv"}.get
    )
    assert scenario_hash(back) == scenario_hash(scenario)


def test_a_batch_size_stays_when_a_file_is_renamed() -> None:
    text = FILES.replace("tables/mine.csv", "modelled").replace("model: x", "model: a.onnx (batch size 8)")
    renamed = with_files_renamed(parse_scenario(text), lambda name: f"new-{name}")
    assert file_names(renamed) == ["new-a.onnx", "new-nets/own.onnx"]
    assert renamed.training is not None
    assert [job.model for job in renamed.training.jobs] == ["new-a.onnx (batch size 8)", "new-nets/own.onnx"]


def test_missing_files_are_named(tmp_path: Path) -> None:
    text = FILES.replace("jobs:\n", "trace: t.trace\n  xjobs:\n")
    assert any(
        p.startswith("training.trace: 't.trace' is not a file here") for p in open_problems(text, tmp_path)
    )


@pytest.mark.parametrize(
    "command",
    [["simulate"], ["place"], ["serverless"], ["sweep", "--key", "load", "--values", "0.5,1"], ["capacity"]],
)
def test_commands_for_queries_say_that_there_are_none(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "{version: 1, cluster: {servers: [{gpu: v100}]}, training: {generate: {}}, serverless: {}}"
    )
    assert main([command[0], str(path), *command[1:]]) == 2
    told = capsys.readouterr().err
    assert "nona training simulate" in told
    assert told.count("\n") == 1
