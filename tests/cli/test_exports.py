"""Files from the command line: records, HTML, trace; the scenario that the app opens with."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nona import study
from nona.cli import app as start
from nona.cli.main import main
from nona.report.html.simulation import simulation_html
from nona.report.placements.certificate import bound_text
from nona.results.placement import FullPlacementReport
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.study.exports import write_records
from nona.study.outcome import simulation_outcome

SMALL = ["--jobs", "60", "--replications", "2", "--scheduler", "nona", "--scheduler", "local"]


def test_simulate_writes_every_file_and_still_prints_one_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"records": "jobs.parquet", "html": "run.html", "trace": "run.json"}
    options = [a for key, name in names.items() for a in (f"--{key}", str(tmp_path / name))]
    assert main(["simulate", "slides_example", *SMALL, *options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    table = pd.read_parquet(tmp_path / "jobs.parquet")
    assert len(table) == 60 * 2 * 2
    assert table.groupby("scheduler")["jct_s"].mean()["local"] == pytest.approx(
        report["schedulers"]["local"]["jct_s"]["mean"]
    )
    page = (tmp_path / "run.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "nona simulate scenario.yaml" in page
    trace = json.loads((tmp_path / "run.json").read_text())
    assert set(trace["otherData"]["jobs"]) == {"nona", "local"}
    assert {"X", "M", "s", "f", "C"} == {e["ph"] for e in trace["traceEvents"]} | {"C"}


def test_csv_and_parquet_hold_the_same_and_a_formula_is_text(tmp_path: Path) -> None:
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data["workload"] = [{"model": "slides_example", "rate": "1/s", "name": "=1+1"}]
    data |= {"simulation": {"jobs": 30, "replications": 1, "warmup": 5}, "schedulers": ["local"]}
    prepared = study.prepare(scenario_from_mapping(data))
    result = study.simulate(prepared, engine="simpy")
    for name in ("jobs.csv", "jobs.parquet"):
        write_records(tmp_path / name, result.records, prepared.scenario.labels)
    csv, parquet = pd.read_csv(tmp_path / "jobs.csv"), pd.read_parquet(tmp_path / "jobs.parquet")
    assert set(csv["model"]) == {"'=1+1"}
    assert set(parquet["model"]) == {"=1+1"}
    pd.testing.assert_frame_equal(csv.drop(columns="model"), parquet.drop(columns="model"), check_dtype=False)
    page = simulation_html(simulation_outcome(prepared, result, "today"))
    assert "today" in page
    assert page == simulation_html(simulation_outcome(prepared, result, "today"))


def test_place_writes_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "slides_example", "--html", str(tmp_path / "p.html"), "--json"]) == 0
    placed = FullPlacementReport.from_json(json.loads(capsys.readouterr().out))
    page = html.unescape((tmp_path / "p.html").read_text())
    assert bound_text(placed) in page
    assert "nona place scenario.yaml --html placement.html" in page


@pytest.mark.parametrize("option", ["--html", "--trace", "--records"])
@pytest.mark.parametrize(("place", "why"), [("gone/x.html", "folder does not exist"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_is_said_before_the_work(
    option: str, place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", "slides_example", "--jobs", "90000000", option, str(tmp_path / place)]
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert why in told
    assert len(told.splitlines()) == 1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(start, "become", lambda *given: calls.append(given))
    monkeypatch.setattr(start, "check_port", lambda host, port: None)
    return calls


def test_the_app_is_told_which_scenario_to_open(started: list[Any]) -> None:
    assert main(["app", "mig_layouts", "--port", "8765", "--no-browser"]) == 0
    command, environment = started[0]
    assert "8765" in command
    assert Path(environment["NONA_SCENARIO"]) == scenario_path("mig_layouts").resolve()
    assert main(["app"]) == 0
    assert "NONA_SCENARIO" not in started[1][1]


def test_a_scenario_that_cannot_be_opened_starts_nothing(
    started: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "s.yaml"
    broken.write_text("{version: 1, cluster: {servers: [{}]}, workload: [{model: gone.onnx, rate: 1}]}")
    for name in ("no_such_scenario", str(tmp_path / "gone.yaml"), str(broken)):
        assert main(["app", name]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert not started
