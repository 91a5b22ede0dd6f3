"""What ``nona plan`` writes beside its answer: HTML, CSV, Parquet, and the saved item."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from nona.cli.main import main
from nona.results.document import Estimate
from nona.results.planning import PlanOutcome
from nona.store.database import Database
from nona.store.plans import change
from nona.store.store import COMMAND_LINE, Store, compare, export_items, import_items

SCENARIO = """
version: 1
name: "<script>small</script>"
cluster: {servers: [{count: 2, gpu: l4}]}
workload: [{model: one, rate: 300, slo: 40 ms, service_scv: 1}]
models:
  one: {directed: true, nodes: [{id: a, compute_ms: {l4: 10.0}}], edges: []}
simulation: {jobs: 800}
plan: {hit: 0.8, schedulers: [opportunistic], offers: ["l4=2"], most: 12, replications: 16}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that one plan writes, and a second plan in the same store."""
    path = tmp_path_factory.mktemp("plan")
    (path / "s.yaml").write_text(SCENARIO)
    files = ["--html", "p.html", "--csv", "p.csv", "--parquet", "p.parquet"]
    whole = [str(path / a) if "." in a else a for a in files]
    store = ["--store", str(path / "store")]
    assert main(["plan", str(path / "s.yaml"), *whole, "--save", "first", *store]) == 0
    link = ["--link", "10 Gbit/s=365/month", "--link", "40 Gbit/s=2"]
    assert main(["plan", str(path / "s.yaml"), *link, "--save", "second", *store]) == 0
    return path


def store_of(folder: Path) -> Store:
    return Store(Database(folder / "store"), COMMAND_LINE, everyone=True, master=True)


def test_the_tables_have_a_row_for_each_option_and_one_answer(folder: Path) -> None:
    csv, parquet = pd.read_csv(folder / "p.csv"), pd.read_parquet(folder / "p.parquet")
    assert len(csv) == len(parquet) > 0
    assert (csv["answer"] == "→").sum() == 1
    assert parquet["cost per hour"].is_monotonic_increasing


def test_the_html_report_is_one_file_without_scripts(folder: Path) -> None:
    page = (folder / "p.html").read_text()
    assert "<script" not in page
    assert "http://" not in page
    assert "src=" not in page
    assert page.count("<svg") == 3  # options, traffic, costs
    assert "Buy " in page
    assert "headroom" in page


def test_a_saved_plan_is_listed_compared_exported_and_imported(folder: Path) -> None:
    store = store_of(folder)
    second, first = store.listing().items
    assert (first.kind, first.name, second.name) == ("plan", "first", "second")
    assert first.facts.finding.startswith("Buy ")
    found = compare(store, [first.id, second.id])
    hourly = next(a for a in found.answers if a.measure.startswith("cost per hour"))
    assert hourly.changes[1].mean == pytest.approx(0.5)  # the cheaper link: 365 a month over 730 h
    assert any("plan" in text for text in found.scenario[1])
    other = Store(Database(folder / "other"), COMMAND_LINE, everyone=True, master=True)
    (taken,) = import_items(other, export_items(store, [first.id]))
    assert taken.imported
    answer = other.contents(taken.id).answer()
    assert isinstance(answer, PlanOutcome)
    assert answer == store.contents(first.id).answer()


def test_the_command_line_shows_and_compares_saved_plans(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--store", str(folder / "store")]
    capsys.readouterr()
    assert main(["saved", "list", "--json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)["items"]
    assert main(["saved", "compare", listed[1]["id"], listed[0]["id"], *where]) == 0
    assert "cost per hour, USD" in capsys.readouterr().out


def test_the_interval_of_a_change_has_both_ends_of_both_intervals() -> None:
    a, b = Estimate(mean=0.5, ci95=(0.4, 0.6)), Estimate(mean=0.5, ci95=(0.5, 0.5))
    assert change(a, b).ci95 == pytest.approx((-0.1, 0.1))
    assert change(a, Estimate(mean=0.7, ci95=None)).ci95 is None
