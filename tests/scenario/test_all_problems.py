"""All that is wrong with a scenario is listed at once, names that stand for nothing included."""

import pytest

from nona.cli.main import main
from nona.errors import ScenarioError
from nona.scenario.file import scenario_text
from nona.sources.lookup import Sources
from nona.sources.opening import open_bytes, open_scenario

BAD = """
version: 1
cluster: {servers: [{count: 0, gpu: a1000}, {gpu: t4, mig: 3g.20gb}], devices: {mine: {bandwith: 1}}}
workload:
  - {model: resnet19, rate: 10 apples}
  - {model: my.onnx, rate: 3, arrivals: {process: trace, trace: hours.csv}}
cost: {measured: table.csv}
serverless: {policies: [esgg]}
schedulers: [nonna, local]
plan: {offers: ["l4=1", "a1000=2"], schedulers: [guess], profile: week.csv, growth: fast}
"""
PLACES = [
    "cluster.servers[0].count",
    "cluster.devices",
    "cluster.servers[0].gpu",
    "cluster.servers[1]",
    "workload[0].rate",
    "workload[0].model",
    "workload[1].model",
    "workload[1].arrivals.trace",
    "cost.measured",
    "schedulers[0]",
    "serverless.policies[0]",
    "plan.growth",
    "plan.schedulers[0]",
    "plan.offers[1]",
    "plan.profile",
]


def test_one_pass_lists_every_problem(tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    with pytest.raises(ScenarioError) as caught:
        open_scenario(path)
    assert [p.partition(": ")[0] for p in caught.value.problems] == PLACES
    assert main(["simulate", str(path)]) == 2
    told = capsys.readouterr().err
    assert all(place in told for place in PLACES)
    assert told.count("\n") == 1, "programs get one line"


def test_files_may_be_uploaded_later_unless_there_is_more(tmp_path):
    missing = "{version: 1, cluster: {servers: [{}]}, workload: [{model: my.onnx, rate: 1}]}"
    uploads = Sources(tmp_path, confined=True)
    assert open_bytes(missing.encode(), "a.yaml", uploads, files_may_be_missing=True).scenario
    with pytest.raises(ScenarioError) as caught:
        open_bytes(
            missing.replace("version: 1", "version: 2").encode(), "a.yaml", uploads, files_may_be_missing=True
        )
    assert len(caught.value.problems) == 2
    assert "bundle" in caught.value.problems[1]


@pytest.mark.parametrize(
    "broken",
    ["cluster: 1", "cluster: {servers: 3}", "workload: [1, {model: 2}]", "schedulers: {a: 1}", "cost: []"],
)
def test_whatever_the_file_holds_the_look_at_its_names_does_not_break(broken):
    with pytest.raises(ScenarioError):
        open_bytes(f"version: 1\n{broken}\n".encode(), "a.yaml", Sources())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"\x89PNG\r\n", "a picture"),
        (b"\x1f\x8b\x08", "a gzip archive"),
        (b"a\x00b", "not a text file"),
        (b"\xff\xfea\x00", "not text in UTF-8"),
        (b" \n", "empty"),
    ],
)
def test_a_file_of_another_kind_is_named_in_plain_words(data, what):
    with pytest.raises(ScenarioError) as caught:
        scenario_text(data, "plan.pdf")
    assert str(caught.value) == f"Scenario 'plan.pdf': it is {what}; give a YAML, JSON or .nona.zip file."


def test_a_model_given_as_a_scenario_is_sent_to_its_page():
    with pytest.raises(ScenarioError, match="page Models"):
        open_bytes(b'{"nodes": [{"id": "a"}], "edges": []}', "net.json", Sources())
