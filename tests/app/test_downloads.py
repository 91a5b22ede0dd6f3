"""The downloads of a run and of a placement: what each button gives, and that all of them agree."""

import html
import io
import json

import pandas as pd
import pytest
from app_driver import adopt, go, new_session, run, state_of

from nona.app.pages.queries import simulation
from nona.app.pages.queries.placement import PLACEMENT
from nona.app.session.workspace import jobs
from nona.queries.placement.results import SolvedPlacement
from nona.queries.report.placement.comparison import formula_text, lead_text
from nona.scenario.file import parse_scenario

REPORTS = {"HTML report", "Report (JSON)", "Scenario (YAML)", "Summary (CSV)", "Summary (Parquet)"}


def run_of(at, kind):
    effort = {"jobs": 120, "replications": 2}
    adopt(at, name="My <i>run</i> ../x", schedulers=["nona", "local"], simulation=effort)
    run(at, kind)
    return state_of(at)


def by_label(files):
    return {file.label: file for group in files.values() for file in group}


def placed(state):
    return by_label(PLACEMENT.files(state, state.results["place"].data))


def both(files, name):
    """The table that is offered in two formats."""
    parquet, text = (io.BytesIO(files[f"{name} ({kind})"].make()) for kind in ("Parquet", "CSV"))
    table = pd.read_parquet(parquet)
    pd.testing.assert_frame_equal(table, pd.read_csv(text), check_dtype=False)
    return table


@pytest.fixture(scope="module")
def simulated():
    at = go(new_session().run(), "simulation")
    yield run_of(at, "simulate")
    jobs().close()


def test_every_file_of_a_run_says_the_same(simulated):
    files = by_label(simulation.run_files(simulated, simulated.runs.kept[-1]))
    assert {*REPORTS, "Trace (Perfetto)", "Jobs (CSV)", "Jobs (Parquet)"} == set(files)
    assert not [f.file for f in files.values() if set(f.file) & set("<>/ ")]
    report = json.loads(files["Report (JSON)"].make())
    mean = {n: s["jct_s"]["mean"] for n, s in report["schedulers"].items()}
    table, summary = (both(files, name) for name in ("Jobs", "Summary"))
    assert len(table) == 120 * 2 * 2
    assert table.groupby("scheduler")["jct_s"].mean().to_dict() == pytest.approx(mean)
    whole = summary[summary["model"] == "all"].set_index("scheduler")
    assert whole["jct_s"].to_dict() == mean
    assert set(json.loads(files["Trace (Perfetto)"].make())["otherData"]["jobs"]) == set(mean)
    assert parse_scenario(files["Scenario (YAML)"].make().decode()) == simulated.scenario
    page = files["HTML report"].make().decode()
    assert page == files["HTML report"].make().decode()
    assert "My &lt;i&gt;run" in page


def test_a_run_whose_folder_is_gone_still_gives_its_reports(simulated, monkeypatch):
    monkeypatch.setattr(simulation, "jobs", lambda: type("None", (), {"get": lambda *_: None})())
    files = by_label(simulation.run_files(simulated, simulated.runs.kept[-1]))
    assert set(files) == REPORTS
    assert all(f.make() for f in files.values())


@pytest.mark.verify
def test_a_placement_has_its_files(open_page):
    state = run_of(open_page("placement"), "place")
    files = placed(state)
    found = json.loads(files["Report (JSON)"].make())
    assert found["nona"]["objective_s"] == state.results["place"].data.nona.objective_s
    page = html.unescape(files["HTML report"].make().decode())
    assert SolvedPlacement.from_json(found) == state.results["place"].data
    assert lead_text(state.results["place"].data.nona) in page
    assert formula_text(state.results["place"].data.nona) in page
    assert parse_scenario(files["Scenario (YAML)"].make().decode()) == state.scenario


def test_an_uploaded_model_is_in_the_run_s_scenario(open_page):
    at = open_page("placement")
    state = state_of(at)
    graph = {"nodes": [{"id": "a", "compute_ms": 2.0}, {"id": "b", "compute_ms": 1.0}], "edges": []}
    state.uploads.add("own.json", json.dumps(graph).encode())
    state.replace_list(("workload",), [{"model": "own.json", "rate": 1}])
    at.run()
    run(at, "place")
    text = placed(state)["Scenario (YAML)"].make().decode()
    assert parse_scenario(text).models.keys() == {"own.json"}
    assert state.results["place"].data.about.files == ()
