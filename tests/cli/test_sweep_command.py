"""``nona sweep``: JSON, text, the file of points, and one line for what cannot be swept."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from nona.cli.main import main

SWEEP = ("sweep", "slides_example", "--key", "background.network.utilization")
SMALL = ("--jobs", "30", "--replications", "2", "--scheduler", "nona", "--scheduler", "spread")


def test_json_and_csv_hold_the_same_points(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    status = main([*SWEEP, "--values", "0:0.4:0.2", *SMALL, "--json", "--csv", str(path)])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    told = json.loads(captured.out)
    assert told["values"] == [0.0, 0.2, 0.4]
    assert list(told["schedulers"]) == ["nona", "spread"]
    assert told["complete"]
    first = told["schedulers"]["spread"]["points"][0]
    assert first["jct_s"]["mean"] == pytest.approx(32e-3)
    assert first["ratio"]["mean"] == pytest.approx(32 / 14)
    assert first["predicted_s"] == pytest.approx(32e-3, rel=0.01)
    table = pd.read_csv(path)
    assert len(table) == sum(len(c["points"]) for c in told["schedulers"].values())
    held = table[(table.scheduler == "spread") & (table.value == 0)]
    assert held.mean_jct_s.iloc[0] == pytest.approx(first["jct_s"]["mean"])


def test_text_says_the_finding_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, "--values", "0,10 %", *SMALL, "--values-only", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "Every scheduler is stable from 0 % to 10 %." in out
    assert "At 10 % link background nona is 2." in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*SWEEP, "--values", "0:1:0.5"), "must be less than 1"),
        ((*SWEEP, "--values", "a:b:c"), "'a' is not a fraction"),
        ((*SWEEP, "--values", "0.1", "--scheduler", "nobody"), "nobody"),
        ((*SWEEP, "--values", "0.1", "--jobs", "0"), "--jobs 0 must be at least 1"),
        (("sweep", "slides_example", "--key", "no.where", "--values", "1"), "no such key"),
        (("sweep", "slides_example", "--key", "name", "--values", "1"), "is not a number"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert why in captured.err
    assert len(captured.err.strip().splitlines()) == 1


def test_two_numbers_give_a_table_of_winners_and_rows_of_both(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "points.csv"
    both = ("--second", "cluster.servers[0].count", "--second-values", "3,4")
    words = [*SWEEP, "--values", "0,0.4", *both, *SMALL, "--csv", str(path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "Lowest mean JCT of 4 cells: nona in 4." in out
    assert out.splitlines()[-1].split()[:2] == ["4", "nona"]
    assert len(pd.read_csv(path)) == 8
    assert main([*words, "--json", "--force"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in told["rows"]] == told["values"] == [3.0, 4.0]
    for wrong, why in (
        ([*SWEEP, "--values", "0", "--second", "load"], "give both"),
        ([*SWEEP, "--values", "0", "--second", SWEEP[3], "--second-values", "0.5"], "given twice"),
    ):
        assert main(wrong) == 2
        assert why in capsys.readouterr().err


def test_a_serverless_scenario_runs_its_policies_or_says_why_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sizes = ("--jobs", "60", "--replications", "2", "--scheduler", "fixed", "--values-only")
    asked = ("sweep", "strict_light", "--key", "cluster.servers[0].vcpus", "--values", "8,16", *sizes)
    file = tmp_path / "points.csv"
    assert main([*asked, "--json", "--csv", str(file)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["value"] for p in found["policies"]["fixed"]["points"]] == [8, 16]
    assert len(file.read_text().splitlines()) == 3
    for key, values in (("background.network.utilization", "0.1"), ("cluster.network.capacity", "1 Gbit/s")):
        assert main(["sweep", "strict_light", "--key", key, "--values", values]) == 2
        told = capsys.readouterr().err
        assert "a serverless run does not depend on it" in told
        assert told.count("\n") == 1
    assert main([*asked, "--second", "load", "--second-values", "1"]) == 2
    assert "leave out --second" in capsys.readouterr().err
