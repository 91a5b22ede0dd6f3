"""Files that commands write: whole or not at all, tried before the work, alike in every format."""

import html
import json
import os
from pathlib import Path

import click
import pandas as pd
import pytest
from calling import ALL, ONE_MODEL, answer, by_formula, refusal, text
from sizes import first

import nona
from nona.app.store import database, families
from nona.app.store.store import COMMAND_LINE, ResultStore, compare, export_items, import_items
from nona.cli.main import main
from nona.cli.parameters import OutputFile
from nona.core import document
from nona.core.errors import ReportError
from nona.core.output_files import check_places, write_bytes, write_job_table
from nona.planning import results as planning
from nona.queries.placement import results as placement
from nona.queries.report.placement.comparison import formula_text, lead_text
from nona.queries.workflows.exports import write_records
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.sample_files import scenario_path


def test_a_place_that_cannot_be_written_is_found_by_the_check_and_nothing_is_left(tmp_path):
    with pytest.raises(ReportError, match="choose another place"):
        check_places(tmp_path / ("x" * 300))
    old = tmp_path / "old.html"
    old.write_text("old")
    check_places(old, tmp_path / "new.html")
    assert [p.name for p in tmp_path.iterdir()] == ["old.html"]
    assert old.read_text() == "old"


def test_an_older_table_stays_whole_when_writing_breaks_off(tmp_path, monkeypatch):
    path = tmp_path / "jobs.csv"
    path.write_text("old")

    def broken(_, place, **__):
        place.write_text("fragm")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", broken)
    with pytest.raises(ReportError, match="No space left on device; choose another place"):
        write_job_table(path, pd.DataFrame({"model": ["a"]}))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_the_mode_stays_and_a_full_device_is_one_line(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    if Path("/dev/full").exists():
        with pytest.raises(ReportError, match="No space left on device"):
            write_bytes(Path("/dev/full"), b"x" * 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_a_reader_does_not_stop_the_check(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_places(pipe)  # opened for writing it would wait for ever
    assert list(tmp_path.iterdir()) == [pipe]


SMALL = "--jobs 60 --replications 2 --engine simpy"
SWEEP = f"sweep slides_example --key load --values 0.5,1 --values-only --scheduler local {SMALL}"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "option"),
    first(
        3,
        [
            ("study paper --shipped", "--html"),
            (f"simulate slides_example --scheduler local {SMALL}", "--html"),
            (SWEEP, "--csv"),
            (f"{SWEEP} --second cluster.servers[0].count --second-values 3", "--csv"),
            ("place slides_example", "--html"),
            ("study decisions --shipped", "--csv"),
        ],
    ),
)
def test_the_result_is_printed_although_its_file_cannot_be_written_in_the_end(words, option, capsys):
    assert main([*words.split(), "--json", option, "/dev/full"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert "No space left on device" in told.err


PATHS = [
    (" ".join(words), max(parameter.opts, key=len), parameter.type)
    for words, command in ALL.items()
    for parameter in command.params
    if isinstance(parameter.type, click.Path)
]
OUTPUTS = [(words, option) for words, option, kind in PATHS if isinstance(kind, OutputFile)]
# What must be given besides, so that nothing else is refused.
NEEDED = {
    "bundle": ["slides_example"],
    "plan": ["slides_example"],
    "saved bundle": ["1"],
    "place": ["slides_example"],
    "simulate": ["slides_example"],
    "serverless": ["strict_light"],
    "sweep": ["slides_example", "--key", "load", "--values", "1"],
    "training simulate": ["shared_research_cluster"],
}


def test_every_path_that_a_command_takes_is_read_or_is_an_output():
    paths = {(words, option) for words, option, _ in PATHS} - set(OUTPUTS)
    read = {("app", "--password-file"), ("plan", "--profile"), ("training elastic", "--profiles")}
    read |= {("training allocate", "file"), ("saved import", "file"), ("import", "paths")}
    read |= {("import", "--output"), ("export", "--output")}  # several files each, tested with the commands
    stores = {words for words, option in paths if option == "--store"}  # data bases that grow
    assert {"app", "simulate", "saved list", "saved import"} <= stores
    assert {path for path in paths if path[1] != "--store"} == read
    outputs = "--output --html --records --trace --csv --parquet"
    assert {option for _, option in OUTPUTS} == set(outputs.split())


@pytest.mark.parametrize(("words", "option"), OUTPUTS)
def test_a_file_that_exists_is_refused_before_the_work(words, option, tmp_path, capsys):
    old = tmp_path / "old"
    old.write_text("old")
    told = refusal(capsys, *words.split(), *NEEDED.get(words, []), option, old)
    assert str(old) in told
    assert "add --force" in told
    assert old.read_text() == "old"


def test_force_overwrites_and_devices_are_not_asked_about(tmp_path, capsys):
    old, link = tmp_path / "old.html", tmp_path / "link.html"
    old.write_text("old")
    link.symlink_to(old)
    place = ["place", by_formula(tmp_path, "slides_example"), "--html"]
    assert refusal(capsys, *place, link)
    assert text(capsys, *place, old, "--force")
    assert old.read_text().startswith("<!DOCTYPE html>")
    assert text(capsys, "--help")  # what one call was told holds for it alone
    assert refusal(capsys, *place, old)
    assert text(capsys, *place, os.devnull)


PAIR = ["--jobs", "60", "--replications", "2", "--scheduler", "nona", "--scheduler", "local"]


def test_simulate_writes_every_file_and_still_prints_one_object(tmp_path, capsys):
    names = {"records": "jobs.parquet", "html": "run.html", "trace": "run.json"}
    options = [a for key, name in names.items() for a in (f"--{key}", str(tmp_path / name))]
    report = answer(capsys, "simulate", by_formula(tmp_path, "slides_example"), *PAIR, *options)
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


def test_csv_and_parquet_hold_the_same_and_a_formula_is_text(tmp_path):
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data["workload"] = [{"model": "slides_example", "rate": "1/s", "name": "=1+1"}]
    data |= {"simulation": {"jobs": 30, "replications": 1, "warmup": 5}, "schedulers": ["local"]}
    prepared = nona.prepare(scenario_from_mapping(data))
    result = nona.simulate(prepared, engine="simpy")
    for name in ("jobs.csv", "jobs.parquet"):
        write_records(tmp_path / name, result.records, prepared.scenario.labels)
    csv, parquet = pd.read_csv(tmp_path / "jobs.csv"), pd.read_parquet(tmp_path / "jobs.parquet")
    assert set(csv["model"]) == {"'=1+1"}
    assert set(parquet["model"]) == {"=1+1"}
    pd.testing.assert_frame_equal(csv.drop(columns="model"), parquet.drop(columns="model"), check_dtype=False)


def test_place_writes_its_report(tmp_path, capsys):
    file = by_formula(tmp_path, "slides_example")
    found = answer(capsys, "place", file, "--html", tmp_path / "p.html")
    placed = placement.PlacementReport.from_json(found)
    page = html.unescape((tmp_path / "p.html").read_text())
    assert lead_text(placed) in page
    assert formula_text(placed) in page
    assert "nona place scenario.yaml --html placement.html" in page


@pytest.mark.parametrize("option", ["--html", "--trace", "--records"])
@pytest.mark.parametrize(("place", "why"), [("gone/x.html", "folder does not exist"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_is_said_before_the_work(option, place, why, tmp_path, capsys):
    words = ("simulate", "slides_example", "--jobs", "90000000")
    assert why in refusal(capsys, *words, option, tmp_path / place)


PLAN = "plan: {hit: 0.8, schedulers: [opportunistic], offers: ['l4=2'], most: 12, replications: 16}\n"


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with all that one plan writes, and a second plan in the same store."""
    path = tmp_path_factory.mktemp("plan")
    (path / "s.yaml").write_text(ONE_MODEL + PLAN)
    files = ["--html", "p.html", "--csv", "p.csv", "--parquet", "p.parquet"]
    whole = [str(path / a) if "." in a else a for a in files]
    store = ["--store", str(path / "store")]
    assert main(["plan", str(path / "s.yaml"), *whole, "--save", "first", *store]) == 0
    dearer = ["--offer", "l4=2.5"]
    assert main(["plan", str(path / "s.yaml"), *dearer, "--save", "second", *store]) == 0
    return path


@pytest.mark.verify
def test_the_tables_have_a_row_for_each_option_and_the_page_has_its_charts(planned):
    csv, parquet = pd.read_csv(planned / "p.csv"), pd.read_parquet(planned / "p.parquet")
    assert len(csv) == len(parquet) > 0
    assert (csv["answer"] == "→").sum() == 1
    assert parquet["cost_per_hour"].is_monotonic_increasing
    page = (planned / "p.html").read_text()
    assert page.count('<script type="application/json">') == 3  # options, traffic, costs
    assert "Buy " in page
    assert "headroom" in page


def test_a_saved_plan_is_listed_compared_exported_and_imported(planned, capsys):
    store = ResultStore(database.Database(planned / "store"), COMMAND_LINE, everyone=True, master=True)
    second, first = store.listing().items
    assert (first.kind, first.name, second.name) == ("plan", "first", "second")
    assert first.facts.finding.startswith("Buy ")
    found = compare(store, [first.id, second.id])
    hourly = next(a for a in found.answers if a.measure.startswith("cost per hour"))
    assert hourly.values[1].mean == pytest.approx(1.25 * hourly.values[0].mean)
    assert hourly.changes[1].mean == pytest.approx(0.25 * hourly.values[0].mean)
    assert any("plan" in text for text in found.scenario[1])
    other = ResultStore(database.Database(planned / "other"), COMMAND_LINE, everyone=True, master=True)
    (taken,) = import_items(other, export_items(store, [first.id]))
    assert taken.imported
    came = other.contents(taken.id).answer()
    assert isinstance(came, planning.PlanOutcome)
    assert came == store.contents(first.id).answer()
    where = ["--store", str(planned / "store")]
    listed = answer(capsys, "saved", "list", *where)["items"]
    ids = (listed[1]["id"], listed[0]["id"])
    assert "cost per hour, $" in text(capsys, "saved", "compare", *ids, *where)


def test_the_interval_of_a_change_has_both_ends_of_both_intervals():
    a, b = document.Estimate(mean=0.5, ci95=(0.4, 0.6)), document.Estimate(mean=0.5, ci95=(0.5, 0.5))
    assert families.change(a, b).ci95 == pytest.approx((-0.1, 0.1))
    assert families.change(a, document.Estimate(mean=0.7, ci95=None)).ci95 is None
