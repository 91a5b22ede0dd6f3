"""``nona sweep``: its JSON, its text, and the file of points."""

import pandas as pd
import pytest
from calling import answer, by_formula, text

SMALL = ("--jobs", "30", "--replications", "2", "--scheduler", "nona", "--scheduler", "spread")


@pytest.fixture
def sweep(tmp_path):
    """The words of a small sweep of the link's background, but for its values."""
    file = by_formula(tmp_path, "slides_example")
    return ("sweep", file, "--key", "background.network.utilization", *SMALL, "--values")


def test_json_and_csv_hold_the_same_points(sweep, tmp_path, capsys):
    told = answer(capsys, *sweep, "0:0.4:0.2", "--csv", tmp_path / "points.csv")
    assert told["values"] == [0.0, 0.2, 0.4]
    assert list(told["schedulers"]) == ["nona", "spread"]
    assert told["complete"]
    first = told["schedulers"]["spread"]["points"][0]
    assert first["jct_s"]["mean"] == pytest.approx(32e-3)
    assert first["ratio"]["mean"] == pytest.approx(32 / 14)
    assert first["predicted_s"] == pytest.approx(32e-3, rel=0.01)
    table = pd.read_csv(tmp_path / "points.csv")
    assert len(table) == sum(len(c["points"]) for c in told["schedulers"].values())
    held = table[(table.scheduler == "spread") & (table.value == 0)]
    assert held.mean_jct_s.iloc[0] == pytest.approx(first["jct_s"]["mean"])


def test_text_says_the_finding_first(sweep, capsys):
    told = text(capsys, *sweep, "0,10 %", "--values-only", "--seed", "3")
    assert told.index("Every scheduler is stable from 0 % to 10 %.") < told.index("At 0 % link background")


def test_two_numbers_give_a_table_of_winners_and_rows_of_both(sweep, tmp_path, capsys):
    words = (*sweep, "0,0.4", "--second", "cluster.servers[0].count", "--second-values", "3,4")
    words += ("--csv", str(tmp_path / "points.csv"))
    told = text(capsys, *words)
    assert told.splitlines()[-1].split()[:2] == ["4", "nona"]
    assert len(pd.read_csv(tmp_path / "points.csv")) == 8
    found = answer(capsys, *words, "--force")
    assert [row["value"] for row in found["rows"]] == found["values"] == [3.0, 4.0]


def test_a_serverless_scenario_runs_its_policies(tmp_path, capsys):
    sizes = ("--jobs", "60", "--replications", "2", "--scheduler", "fixed", "--values-only")
    asked = ("sweep", "strict_light", "--key", "cluster.servers[0].vcpus", "--values", "8,16", *sizes)
    found = answer(capsys, *asked, "--csv", tmp_path / "points.csv")
    assert [p["value"] for p in found["policies"]["fixed"]["points"]] == [8, 16]
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 3
