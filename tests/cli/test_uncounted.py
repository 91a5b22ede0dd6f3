"""A model whose work is not known: every command says so, and none decides on it."""

import json

import pytest
from calling import answer, refusal

TASKS = [{"id": f"t{i}", "compute_ms": 2.0} for i in range(200)]
MYSTERY = [{"id": "mystery", "kind": "Mystery"}]
SCENARIO = """
version: 1
cluster: {servers: [{count: 2, gpu: t4}]}
workload: [{model: net.json, rate: 1/s, slo: 2 s}]
schedulers: [local]
simulation: {jobs: 40, replications: 1}
objective: formula
plan: {offers: [{gpu: t4}]}
"""


@pytest.fixture
def scenario(tmp_path):
    def written(*nodes):
        (tmp_path / "net.json").write_text(json.dumps({"nodes": nodes, "edges": []}))
        (tmp_path / "s.yaml").write_text(SCENARIO)
        return tmp_path / "s.yaml"

    return written


def test_too_much_of_it_gives_no_verdict(scenario, capsys):
    path = scenario(*MYSTERY, *TASKS[:9])
    for command in ("plan", "capacity"):
        why = refusal(capsys, command, path)
        assert "No verdict: 1 of 10 operators of 'net' have no known work; give" in why
    for command in (("place", path), ("simulate", path), ("sweep", path, "--key", "load", "--values", "1,2")):
        found = answer(capsys, *command)
        assert found["uncounted"] == {"net": 0.1}
        assert found["warnings"][0].startswith("No verdict: 1 of 10")
        assert "'Mystery' has no rule" in found["warnings"][1]
    html = path.with_suffix(".html")
    answer(capsys, "simulate", path, "--html", html)
    assert "1 of 10 operators of" in html.read_text()


def test_one_in_a_hundred_is_said_and_decided_on(scenario, capsys):
    path = scenario(*MYSTERY, *TASKS)
    found = answer(capsys, "capacity", path)
    assert found["uncounted"] == {"net": pytest.approx(1 / 201)}
    assert "'Mystery' has no rule" in found["warnings"][0]
    measured = path.with_name("times.csv")
    measured.write_text("model,operator,device,ms\nnet,mystery,t4,2\n")
    path.write_text(SCENARIO + "cost: {measured: times.csv}\n")
    assert "uncounted" not in answer(capsys, "capacity", path)
