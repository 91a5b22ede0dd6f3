"""The command line as others call it: JSON on standard output and nothing else, exit status, errors."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from nona.cli.main import main
from nona.scenario.file import dump_scenario, load_scenario
from nona.schedulers.registry import scheduler_names
from nona.sources.lookup import Sources
from nona.sources.samples import query_scenario_names, sample_names, scenario_names, scenario_path
from nona.study.outcome import full_report
from nona.study.preparation import prepare
from nona.study.simulation import place

SMALL = ["--jobs", "400", "--replications", "2"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status = main([*arguments, "--json"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize("model", sample_names())
def test_inspect_and_contract_answer_for_every_sample(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    figures = run(capsys, "inspect", model)
    assert figures["operators"] >= 1
    low, high = figures["total_compute_interval_s"]
    assert low <= figures["total_compute_s"] * (1 + 1e-9) <= high * (1 + 2e-9)
    assert 0 < figures["critical_path_s"] <= figures["total_compute_s"] * (1 + 1e-9)
    assert figures["parallelism"] == pytest.approx(figures["total_compute_s"] / figures["critical_path_s"])
    contracted = run(capsys, "contract", model)
    assert contracted["operators"] == figures["operators"]
    assert len(contracted["task_list"]) == contracted["tasks"]
    assert len(contracted["steps"]) == contracted["operators"] - contracted["tasks"]
    members = [o for t in contracted["task_list"] for o in t["operators"]]
    assert len(members) == len(set(members)) == contracted["operators"]
    assert sum(t["compute_s"] for t in contracted["task_list"]) == pytest.approx(figures["total_compute_s"])
    ids = {t["id"] for t in contracted["task_list"]}
    assert all({e["source"], e["target"]} <= ids for e in contracted["edges"])
    assert all(s["configurations"] >= 1 and set(s["interior"]) <= ids for s in contracted["subgraphs"])


@pytest.mark.parametrize("scenario", ["slides_example", "rag_pipeline"])
def test_place_prints_what_the_study_finds(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every shipped scenario is placed and its certificate checked in tests/samples/test_scenarios.py."""
    prepared = prepare(load_scenario(scenario_path(scenario)), Sources(scenario_path(scenario).parent))
    found = full_report(prepared, place(prepared)).to_json()
    assert run(capsys, "place", scenario) == {**found, "seconds": ANY}


@pytest.mark.parametrize("scenario", query_scenario_names())
def test_simulate_checks_itself_in_every_shipped_scenario(
    scenario: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    changes = {"objective": "formula", "plan": None}  # a plan's profile would have to lie beside the file
    quickly = load_scenario(scenario_path(scenario)).model_copy(update=changes)
    (tmp_path / "quickly.yaml").write_text(dump_scenario(quickly), encoding="utf-8")
    file = str(tmp_path / "quickly.yaml")
    result = run(capsys, "simulate", file, *SMALL, "--scheduler", "nona", "--scheduler", "local")
    assert set(result["schedulers"]) == {"nona", "local"}
    assert result["checks"]
    assert all(result["checks"].values()), result["failed_checks"]
    for s in result["schedulers"].values():
        assert s["state"] == "stable", s["state_reason"]
        assert s["jobs"]["arrived"] == s["jobs"]["completed"] + s["jobs"]["in_flight"]
        low, high = s["jct_s"]["ci95"]
        assert low <= s["jct_s"]["mean"] <= high
        assert s["jct_s"]["p50"] <= s["jct_s"]["p95"]
        assert sum(s["parts_s"].values()) == pytest.approx(s["jct_s"]["mean"])
        for m in s["models"].values():
            assert sum(m["parts_s"].values()) == pytest.approx(m["jct_s"])
            assert min(m["parts_s"].values()) >= 0
        assert s["jct_s"]["p99"] is None  # 400 jobs leave 4 beyond it
        assert "1,000 completed jobs" in s["jct_s"]["percentiles"]["p99"]["withheld"]


def test_every_scheduler_runs(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [a for n in scheduler_names() for a in ("--scheduler", n)]
    result = run(capsys, "simulate", "slides_example", "--jobs", "200", "--replications", "1", *chosen)
    assert tuple(result["schedulers"]) == scheduler_names()


def test_the_slides_example_alone(capsys: pytest.CaptureFixture[str]) -> None:
    placed = run(capsys, "place", "slides_example")
    assert placed["objective_s"] == pytest.approx(14e-3, rel=1e-2)
    chosen = ["--scheduler", "nona", "--scheduler", "local", "--scheduler", "spread"]
    result = run(capsys, "simulate", "slides_example", *SMALL, *chosen)
    found = {n: s["jct_s"]["p50"] for n, s in result["schedulers"].items()}
    assert found == pytest.approx({"nona": 14e-3, "local": 22e-3, "spread": 32e-3}, rel=1e-9)


def test_registries(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "schedulers")["schedulers"]
    others = ("Serverless policies", "Training policies")
    assert {s["name"] for s in listed if s["family"] not in others} == set(scheduler_names())
    devices = {d["name"]: d for d in run(capsys, "devices")["devices"]}
    assert {"v100", "t4", "a100-40gb", "h100", "b200"} <= set(devices)
    assert all(d["bandwidth_bytes_per_s"] > 0 for d in devices.values())
    listed = run(capsys, "models")
    assert {m["name"] for m in listed["models"]} == set(sample_names())
    assert {s["name"] for s in listed["scenarios"]} == set(scenario_names())


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "resnet18"],
        ["contract", "googlenet"],
        ["place", "slides_example"],
        ["simulate", "slides_example", "--jobs", "50", "--replications", "2"],
        ["schedulers"],
        ["devices"],
        ["models"],
    ],
)
def test_text_for_people(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) >= 2
    assert "nan" not in out.lower().split()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect", "no_such_model"], "no_such_model"),
        (["inspect", "nowhere/x.onnx"], "x.onnx"),
        (["inspect", "resnet18", "--device", "abacus"], "abacus"),
        (["inspect", "resnet18", "--symbol", "batch=-1"], "NAME=SIZE"),
        (["contract", "resnet18", "--rule", "magic"], "magic"),
        (["place", "no_such_scenario"], "no_such_scenario"),
        (["place", "slides_example", "--solver", "guess"], "guess"),
        (["simulate", "slides_example", "--scheduler", "decima"], "decima"),
        (["simulate", "slides_example", "--jobs", "0"], "simulation.jobs"),
        (["simulate", "slides_example", "--engine", "steam"], "steam"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert words in captured.err


def test_overload_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = scenario_path("slides_example").read_text(encoding="utf-8")
    data = json.loads(json.dumps(__import__("yaml").safe_load(text)))
    data["workload"][0]["rate"] = "1e6/s"
    path = tmp_path / "too_much.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert main(["place", str(path), "--json"]) == 2
    assert "server" in capsys.readouterr().err
    result = run(
        capsys, "simulate", str(path), "--scheduler", "local", "--jobs", "500", "--replications", "1"
    )
    local = result["schedulers"]["local"]
    assert local["state"] == "overloaded"
    assert local["jct_s"]["mean"] is None
    assert set(local["parts_s"].values()) == {None}
    assert all(result["checks"].values())


def test_same_seed_same_bytes_in_every_process(tmp_path: Path) -> None:
    outputs = set()
    for hash_seed, workers in (("0", "1"), ("1", "2")):
        path = tmp_path / f"jobs-{hash_seed}.csv"
        arguments = ["simulate", "slides_example", *SMALL, "--scheduler", "nona-d2", "--records", str(path)]
        subprocess.run(
            [sys.executable, "-m", "nona.cli.main", *arguments, "--workers", workers],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        )
        outputs.add(path.read_bytes())
    assert len(outputs) == 1


def test_seed_and_batch_change_what_they_should(capsys: pytest.CaptureFixture[str]) -> None:
    means = {
        run(capsys, "simulate", "five_models_80_servers", *SMALL, "--scheduler", "local", "--seed", s)[
            "schedulers"
        ]["local"]["jct_s"]["mean"]
        for s in ("1", "2")
    }
    assert len(means) == 2
    one = run(capsys, "inspect", "resnet18")
    eight = run(capsys, "inspect", "resnet18", "--batch", "8")
    assert eight["gmac"] == pytest.approx(8 * one["gmac"])
    assert eight["weight_bytes"] == one["weight_bytes"]
    assert math.isclose(eight["activation_bytes"], 8 * one["activation_bytes"])


def test_simulate_to_a_precision_against_a_baseline_with_any_number_of_workers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["simulate", "slides_example", "--jobs", "60", "--warmup", "mser", "--precision", "5%"]
    arguments += ["--max-replications", "14", "--baseline", "local"]
    arguments += [a for n in ("local", "random", "nona") for a in ("--scheduler", n)]
    found = [run(capsys, *arguments, "--workers", w) for w in ("1", "2")]
    for key in ("schedulers", "differences", "precision", "warmup", "baseline"):
        assert found[0][key] == found[1][key]
    report = found[0]
    assert set(report["differences"]) == {"random", "nona"}
    nona = report["differences"]["nona"]
    assert nona["jct_s"]["mean"] == pytest.approx(-8e-3)
    assert nona["verdict"] == "faster"
    assert report["warmup"]["rule"] == "mser"
    assert 10 <= report["precision"]["replications"] <= 14
    assert report["schedulers"]["nona"]["replications"] == report["precision"]["replications"]
    plain = run(capsys, "simulate", "slides_example", "--jobs", "60", "--scheduler", "local")
    assert (plain["baseline"], plain["differences"], plain["precision"]) == (None, {}, None)
    assert plain["warmup"] == {"rule": "fixed", "jobs": 0, "schedulers": {}, "too_short": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "nobody"], "'nobody' is not simulated"),
        (["--precision", "2"], "simulation.precision"),
        (["--max-replications", "1"], "simulation.max_replications"),
        (["--warmup", "soon"], "'mser', 'auto' or a whole number"),
    ],
)
def test_simulate_refuses_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "slides_example", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("model", ["moe_block", "inception_v3", "slides_example"])
def test_contract_says_what_stays_together(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The parameters follow the options; groups partition what they can leave; the bound is printed."""
    plain = run(capsys, "contract", model)
    assert plain["coarsening"]["bound_s"] == 0
    assert plain["coarsening"]["capacity"] == 25e9 / 8
    more = run(capsys, "contract", model, "--rule", "cost-aware", "--capacity", "1 Gbit/s", "--share", "5%")
    glued = more["coarsening"]
    assert (more["rule"], glued["capacity"], glued["share"]) == ("cost-aware", 1e9 / 8, 0.05)
    assert more["steps"] == plain["steps"], "the tasks stay what they are"
    assert glued["interior_units"] <= plain["coarsening"]["interior_units"] <= glued["interior_tasks"]
    assert 0 <= glued["bound_s"] <= 0.05 * sum(s["local_s"] for s in glued["subgraphs"]) * (1 + 1e-9)
    ids = {t["id"] for t in more["task_list"]}
    for subgraph in glued["subgraphs"]:
        members = [task for unit in subgraph["units"] for task in unit]
        assert len(members) == len(set(members))
        assert set(members) <= ids
    assert all(s["reason"] and set(s["merged"]) <= ids for s in glued["steps"])


@pytest.mark.parametrize(("option", "value"), [("--share", "5x"), ("--capacity", "0"), ("--latency", "-1")])
def test_contract_refuses_a_link_that_is_none(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "slides_example", f"{option}={value}"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert value in error
