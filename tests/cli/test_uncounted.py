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
        assert "No verdict: 1 of 10 operators of 'net' have no known work. Give" in why
    for command in (("place", path), ("simulate", path), ("sweep", path, "--key", "load", "--values", "1,2")):
        found = answer(capsys, *command)
        assert found["uncounted"] == {"net": 0.1}
        assert found["warnings"][0].startswith("No verdict: 1 of 10")
        assert "'Mystery' has no rule" in found["warnings"][1]
    html = path.with_suffix(".html")
    answer(capsys, "simulate", path, "--html", html)
    assert "1 of 10 operators of" in html.read_text()


@pytest.mark.verify
def test_one_in_a_hundred_is_said_and_decided_on(scenario, capsys):
    path = scenario(*MYSTERY, *TASKS)
    found = answer(capsys, "capacity", path)
    assert found["uncounted"] == {"net": pytest.approx(1 / 201)}
    assert "'Mystery' has no rule" in found["warnings"][0]
    measured = path.with_name("times.csv")
    measured.write_text("model,operator,device,ms\nnet,mystery,t4,2\n")
    path.write_text(SCENARIO + "cost: {measured: times.csv}\n")
    assert "uncounted" not in answer(capsys, "capacity", path)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("net,*,T4,2,1,", "device 'T4' is unknown; use t4"),
        ("net,*,t4/1g.5gb,2,1,", "no executor is 't4/1g.5gb'; use one of t4"),
        ("Net!,*,t4,2,1,", "no model is called 'Net!'; use net"),
        ("gpt2,*,t4,2,1,", "no row is of a model here, the first is of 'gpt2'; use one of net"),
        ("net,t00,t4,2,1,", "'net' has no operator 't00'; nearest are t0 and"),
        ("net,*,t4,2,8,", "hold for batch 8, any stack, any precision, not for batch 1, tensorrt, auto"),
        ("net,*,t4,2,1,int8", "hold for batch 1, any stack, int8, not for batch 1, tensorrt, auto; measure"),
    ],
)
def test_a_measured_row_that_matches_nothing_is_refused_with_what_is_near(row, why, scenario, capsys):
    path = scenario(*TASKS[:12])
    path.with_name("times.csv").write_text(f"model,operator,device,ms,batch,precision\n{row}\n")
    path.write_text(SCENARIO + "cost: {measured: times.csv}\n")
    assert why in refusal(capsys, "simulate", path)
