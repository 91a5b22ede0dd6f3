"""The command line as others call it: JSON on standard output and nothing else, exit status, errors."""

import json
import os
import subprocess
import sys
from unittest.mock import ANY

import pytest
import yaml
from calling import answer, by_formula, refusal, text
from sizes import first

from nona.allocation.registry import policy_names as training_names
from nona.language.routers import ROUTERS
from nona.queries.schedulers.registry import scheduler_names
from nona.queries.workflows.placement_outcome import full_report
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import prepare
from nona.scenario import sample_files as samples
from nona.scenario.file import load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import query_scenario_names, sample_names, scenario_names, scenario_path
from nona.serverless.policies.registry import policy_names as serverless_names

FIXED = ["--policy", "fixed", "--calls", "40", "--replications", "1"]
SMALL = ["--jobs", "400", "--replications", "2"]


@pytest.mark.parametrize("model", first(8, sample_names()))
def test_inspect_and_contract_answer_for_every_sample(model, capsys):
    figures = answer(capsys, "inspect", model)
    assert figures["operators"] >= 1
    low, high = figures["total_compute_interval_s"]
    assert low <= figures["total_compute_s"] * (1 + 1e-9) <= high * (1 + 2e-9)
    assert 0 < figures["critical_path_s"] <= figures["total_compute_s"] * (1 + 1e-9)
    assert figures["parallelism"] == pytest.approx(figures["total_compute_s"] / figures["critical_path_s"])
    contracted = answer(capsys, "contract", model)
    assert contracted["operators"] == figures["operators"]
    assert len(contracted["task_list"]) == contracted["tasks"]
    assert len(contracted["steps"]) == contracted["operators"] - contracted["tasks"]
    members = [o for t in contracted["task_list"] for o in t["operators"]]
    assert len(members) == len(set(members)) == contracted["operators"]
    assert sum(t["compute_s"] for t in contracted["task_list"]) == pytest.approx(figures["total_compute_s"])
    ids = {t["id"] for t in contracted["task_list"]}
    assert all({e["source"], e["target"]} <= ids for e in contracted["edges"])
    assert all(s["configurations"] >= 1 and set(s["interior"]) <= ids for s in contracted["subgraphs"])


@pytest.mark.parametrize("scenario", first(1, ["slides_example", "rag_pipeline"]))
def test_place_prints_what_the_study_finds(scenario, capsys):
    """Every shipped scenario is placed, and its certificate checked, in tests/scenario/samples."""
    prepared = prepare(load_scenario(scenario_path(scenario)), Sources(scenario_path(scenario).parent))
    found = full_report(prepared, place(prepared)).to_json()
    assert answer(capsys, "place", scenario) == {**found, "seconds": ANY}


@pytest.mark.parametrize("scenario", first(2, query_scenario_names()))
def test_simulate_checks_itself_in_every_shipped_scenario(scenario, capsys, tmp_path):
    file = by_formula(tmp_path, scenario)
    result = answer(capsys, "simulate", file, *SMALL, "--scheduler", "nona", "--scheduler", "local")
    assert set(result["schedulers"]) == {"nona", "local"}
    assert result["checks"]
    assert all(result["checks"].values()), result["failed_checks"]
    for s in result["schedulers"].values():
        many_users = scenario == "replay_a_load_test"  # 1,000 of them, who all send at the start
        assert s["state"] == ("backlogged" if many_users else "stable"), s["state_reason"]
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


def test_registries(capsys):
    listed = answer(capsys, "schedulers")["schedulers"]
    policies = {
        "Serverless policies": serverless_names(),
        "Training policies": training_names(),
        "Routers of language models": list(ROUTERS),
    }
    for family, names in policies.items():
        found = {s["name"]: s for s in listed if s["family"] == family}
        assert found.keys() == set(names)
        assert all(s["summary"] and s["source"] for s in found.values())
    assert {s["name"] for s in listed if s["family"] not in policies} == set(scheduler_names())
    devices = {d["name"]: d for d in answer(capsys, "devices")["devices"]}
    assert {"v100", "t4", "a100-40gb", "h100", "b200"} <= set(devices)
    assert all(d["bandwidth_bytes_per_s"] > 0 for d in devices.values())
    listed = answer(capsys, "models")
    assert {m["name"] for m in listed["models"]} == set(sample_names())
    assert {s["name"] for s in listed["scenarios"]} == set(scenario_names())
    heads = [line.split(": ")[1] for line in text(capsys, "models").splitlines() if "Shipped" in line]
    assert heads == [*samples.scenario_families()]


def test_a_name_of_both_is_a_scheduler_for_simulate(capsys):
    """``gandiva`` is a policy of training clusters and a scheduler of queries."""
    found = answer(capsys, "simulate", "slides_example", "--scheduler", "gandiva", *SMALL)
    assert set(found["schedulers"]) == {"gandiva"}


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
        ["serverless", "strict_light", *FIXED],
        ["serverless", "mig_or_mps", *FIXED, "--sharing", "mps", "--sharing", "mig-counter"],
    ],
)
def test_text_for_people(arguments, capsys):
    assert len(text(capsys, *arguments).splitlines()) >= 2


def test_overload_is_explained(tmp_path, capsys):
    data = yaml.safe_load(scenario_path("slides_example").read_text(encoding="utf-8"))
    data["workload"][0]["rate"] = "1e6/s"
    path = tmp_path / "too_much.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert "server" in refusal(capsys, "place", path)
    found = answer(capsys, "simulate", path, "--scheduler", "local", "--jobs", "500", "--replications", "1")
    local = found["schedulers"]["local"]
    assert (local["state"], local["jct_s"]["mean"]) == ("overloaded", None)
    assert set(local["parts_s"].values()) == {None}
    assert all(found["checks"].values())


@pytest.mark.verify
def test_same_seed_same_bytes_in_every_process(tmp_path):
    outputs = set()
    file = by_formula(tmp_path, "slides_example")
    for hash_seed, workers in (("0", "1"), ("1", "2")):
        path = tmp_path / f"jobs-{hash_seed}.csv"
        words = ["simulate", file, *SMALL, "--scheduler", "nona-d2", "--workers", workers]
        command = [sys.executable, "-m", "nona.cli.main", *words, "--records", str(path)]
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        outputs.add(path.read_bytes())
    assert len(outputs) == 1


def test_seed_and_batch_change_what_they_should(capsys):
    words = ("simulate", "five_models_80_servers", *SMALL, "--scheduler", "local", "--seed")
    found = [answer(capsys, *words, s)["schedulers"]["local"] for s in ("1", "2")]
    assert found[0]["jct_s"]["mean"] != found[1]["jct_s"]["mean"]
    one = answer(capsys, "inspect", "resnet18")
    eight = answer(capsys, "inspect", "resnet18", "--batch", "8")
    scale = {"gmac": 8, "weight_bytes": 1, "activation_bytes": 8}
    assert {k: eight[k] / one[k] for k in scale} == pytest.approx(scale)


@pytest.mark.verify
def test_simulate_to_a_precision_against_a_baseline_with_any_number_of_workers(capsys, tmp_path):
    file, to = by_formula(tmp_path, "slides_example"), ["--precision", "5%", "--max-replications", "14"]
    chosen = [a for n in ("local", "random", "nona") for a in ("--scheduler", n)]
    words = ["simulate", file, "--jobs", "60", "--warmup", "mser", *to, "--baseline", "local", *chosen]
    found = [answer(capsys, *words, "--workers", w) for w in ("1", "2")]
    for key in ("schedulers", "differences", "precision", "warmup", "baseline"):
        assert found[0][key] == found[1][key]
    report = found[0]
    assert set(report["differences"]) == {"random", "nona"}
    nona = report["differences"]["nona"]
    assert (nona["jct_s"]["mean"], nona["verdict"]) == (pytest.approx(-8e-3), "faster")
    assert report["warmup"]["rule"] == "mser"
    assert 10 <= report["precision"]["replications"] <= 14
    assert report["schedulers"]["nona"]["replications"] == report["precision"]["replications"]
    plain = answer(capsys, "simulate", "slides_example", "--jobs", "60", "--scheduler", "local")
    assert (plain["baseline"], plain["differences"], plain["precision"]) == (None, {}, None)
    assert plain["warmup"] == {"rule": "fixed", "jobs": 0, "schedulers": {}, "too_short": []}
