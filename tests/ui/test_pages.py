"""Every page through app.py: what it shows, judged by the same values computed without the app."""

from __future__ import annotations

import json
from typing import Any

import pytest
from app_driver import (
    Open,
    choose_schedulers,
    finish,
    go,
    metrics,
    new_session,
    open_demo,
    solve_demo,
    upload_model,
)

from nona.report.placements.certificate import gap_text
from nona.report.placements.text import plain_notes
from nona.scenario.file import load_scenario, parse_scenario
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.study.simulation import place

DIAMOND = {
    "directed": True,
    "nodes": [{"id": n, "compute_ms": t} for n, t in (("a", 2.0), ("b", 10.0), ("c", 8.0), ("d", 2.0))],
    "edges": [
        {"source": s, "target": t, "bytes": 1000} for s, t in (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    ],
}


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def test_overview_opens_a_demo_and_its_pipeline(open_page: Open) -> None:
    at = open_demo(open_page, "slides_example")
    wanted = load_scenario(scenario_path("slides_example"))
    assert state_of(at).scenario == wanted
    pipeline = next(
        d["stages"] for c in at.get("bidi_component") if "stages" in (d := json.loads(c.proto.json))
    )
    shown = {stage["title"]: stage["value"] for stage in pipeline}
    assert shown["Workload"] == f"{sum(r.rate for r in wanted.workload):.4g} queries/s"
    assert shown["Placement"] == "not solved yet"
    assert at.sidebar.text_input[0].value == wanted.name


def test_cluster_edits_reach_the_scenario(open_page: Open) -> None:
    at = open_page("4_cluster")
    next(n for n in at.number_input if n.label == "Servers").set_value(5).run()
    next(s for s in at.selectbox if s.label == "Shared as").select("MIG slices").run()
    assert metrics(at)["Servers"] == "5"
    group = state_of(at).scenario.cluster.servers[0]
    layout = next(s for s in at.selectbox if s.label.startswith("MIG layout"))
    assert (group.mig, layout.value) == ("3g.20gb, 3g.20gb", "2 × 3g.20gb")
    layout.select("3g.20gb + 2g.10gb + 2 × 1g.5gb").run()
    assert metrics(at)["Executors"] == "20"
    assert state_of(at).scenario.cluster.servers[0].mig == "3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb"
    next(s for s in at.selectbox if s.label == "GPU").select("t4").run()  # has no MIG: the layout goes
    assert state_of(at).scenario.cluster.servers[0].mig is None
    assert metrics(at)["Executors"] == "5"


def test_a_wrong_quantity_keeps_what_was_typed_and_the_valid_scenario(open_page: Open) -> None:
    at = open_page("4_cluster")
    before = state_of(at).scenario
    next(t for t in at.text_input if t.label == "Capacity").set_value("5 apples").run()
    assert "'5 apples' is not a bandwidth" in at.error[0].value.replace("\\", "")
    assert state_of(at).scenario == before
    go(at, "6_placement")
    assert at.button(key="run-place").disabled
    assert "5 apples" in at.warning[0].value.replace("\\", "")
    go(at, "4_cluster")
    field = next(t for t in at.text_input if t.label == "Capacity")
    assert field.value == "5 apples"
    field.set_value("40 Gbit/s").run()
    assert not at.error
    assert state_of(at).scenario.cluster.network.capacity == 5e9


def test_own_device_can_be_added_and_used(open_page: Open) -> None:
    at = open_page("4_cluster")
    at.text_input(key="device-name").set_value("mine")
    at.text_input(key="device-memory").set_value("many bytes")
    next(b for b in at.button if b.label == "Add this device").click().run()
    assert "memory" in at.error[0].value
    at.text_input(key="device-memory").set_value("24 GB")
    next(b for b in at.button if b.label == "Add this device").click().run()
    assert not at.error
    assert state_of(at).scenario.cluster.devices["mine"]["memory"] == "24 GB"
    next(s for s in at.selectbox if s.label == "GPU").select("mine").run()
    assert state_of(at).scenario.cluster.servers[0].gpu == "mine"


def test_workload_rows_can_be_added_edited_and_removed(open_page: Open) -> None:
    at = open_page("5_workload")
    at.selectbox(key="another-model").select("gpt2").run()
    next(b for b in at.button if b.label == "Add it to the mix").click().run()
    assert state_of(at).scenario.labels == ("resnet18", "gpt2")
    [t for t in at.text_input if t.label == "Rate"][1].set_value("7/s").run()
    next(t for t in at.text_input if t.label == "SLO").set_value("").run()
    [s for s in at.selectbox if s.label == "Arrivals"][1].select("Gamma (bursty or regular)").run()
    next(n for n in at.number_input if n.label == "CV of the gaps").set_value(2.5).run()
    rows = state_of(at).scenario.workload
    assert (rows[1].rate, rows[0].slo) == (7, None)
    assert (rows[1].arrivals.process, rows[1].arrivals.cv) == ("gamma", 2.5)
    next(b for b in at.button if b.label == "Remove").click().run()
    assert state_of(at).scenario.labels == ("gpt2",)


def test_a_trace_drives_a_row(open_page: Open) -> None:
    at = open_page("5_workload")
    at.file_uploader(key="trace-file").upload("t.csv", b"timestamp\n0\n0.5\n2\n").run()
    assert "3 arrivals over 2 s" in at.success[0].value.replace("\\", "")
    next(s for s in at.selectbox if s.label == "Arrivals").select("Trace t.csv").run()
    arrivals = state_of(at).scenario.workload[0].arrivals
    assert (arrivals.process, arrivals.trace) == ("trace", "t.csv")


def test_placement_shows_the_solution_of_the_study(open_page: Open) -> None:
    at = solve_demo(open_page, "slides_example")
    wanted = place(prepare(load_scenario(scenario_path("slides_example"))))
    assert metrics(at)["Predicted mean JCT"] == "14 ms"
    data = state_of(at).results["place"].data
    assert data.nona.objective_s == wanted.objective_s
    assert 0 <= data.nona.gap <= 1e-4
    assert f"**{gap_text(data.nona)}**" in [m.value for m in at.markdown]
    assert wanted.notes
    told = [m.value.replace("\\", "") for m in at.markdown]
    assert all(f"- {note}" in told for note in plain_notes(wanted.notes))
    assert data.local.objective_s == pytest.approx(0.022, rel=5e-3)
    assert data.spread.objective_s == pytest.approx(0.032, rel=5e-3)
    assert not at.warning
    state_of(at).edit(("workload", 0, "rate"), "0.2/s")
    at.run()
    assert "scenario has changed" in at.warning[0].value
    state_of(at).edit(("name",), "renamed")  # a name changes no placement
    state_of(at).edit(("workload", 0, "rate"), wanted_rate())
    at.run()
    assert not at.warning


def wanted_rate() -> float:
    return load_scenario(scenario_path("slides_example")).workload[0].rate


def test_an_infeasible_placement_is_explained(open_page: Open) -> None:
    at = open_page("6_placement")
    state_of(at).edit(("workload", 0, "rate"), "1000000/s")
    at.run()
    at.button(key="run-place").click().run()
    finish(at, "place")
    assert len(at.error) == 1
    assert "servers" in at.error[0].value
    assert "place" not in state_of(at).results


def test_simulation_compares_the_schedulers_that_were_chosen(open_page: Open) -> None:
    at = open_demo(open_page, "slides_example")
    go(at, "7_simulation")
    choose_schedulers(at, "nona", "local")
    next(n for n in at.number_input if n.label == "Jobs measured per run").set_value(200).run()
    next(n for n in at.number_input if n.label == "Replications").set_value(2).run()
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    found = state_of(at).results["simulate"].data.report.schedulers
    assert list(found) == ["nona", "local"]
    assert found["nona"].jct_s.mean == pytest.approx(0.014, rel=0.02)
    assert found["local"].jct_s.mean == pytest.approx(0.022, rel=0.02)
    at.session_state["all-columns-results"] = True
    at.run()
    table = next(d.value for d in at.dataframe if "mean JCT" in d.value)
    assert list(table["scheduler"]) == ["nona", "local"]
    assert "±" in table["mean JCT"][0]
    assert list(table["predicted"]) == ["14 ms", "22 ms"]
    assert any("given" in c.value for c in at.caption)  # the provenance of this workflow's times
    at.session_state["result-tabs"] = "Checks and downloads"
    at.run()
    assert {b.label for b in at.get("download_button")} >= {"Jobs (CSV)", "Report (JSON)"}


def test_an_overloaded_scheduler_is_labelled_and_its_mean_not_shown(open_page: Open) -> None:
    at = open_page("7_simulation")
    state = state_of(at)
    state.edit(("workload", 0, "model"), "gpt2")
    state.edit(("workload", 0, "rate"), "3000/s")
    state.edit(("schedulers",), ["local"])
    state.edit(("simulation", "jobs"), 300)
    state.edit(("simulation", "replications"), 2)
    at.run()
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    assert "local is overloaded" in at.error[0].value.replace("*", "")
    at.session_state["all-columns-results"] = True
    at.run()
    table = next(d.value for d in at.dataframe if "mean JCT" in d.value)
    assert (table["state"][0], table["mean JCT"][0], table["p95"][0]) == ("overloaded", "–", "–")


def test_scenario_file_round_trip_with_an_uploaded_model(open_page: Open) -> None:
    from nona.ui.shell.scenario_bar import scenario_file

    at = open_page("2_models")
    upload_model(at, "diamond.json", json.dumps(DIAMOND).encode())
    next(b for b in at.button if b.label == "Add to the workload").click().run()
    text = scenario_file(state_of(at))
    other = open_page("2_models")
    upload = next(f for f in other.file_uploader if "Scenario" in f.label)
    upload.upload("s.yaml", text.encode()).run()
    assert not other.exception
    assert state_of(other).scenario == parse_scenario(text)
    assert state_of(other).scenario.labels == ("resnet18", "diamond")
    assert prepare(state_of(other).scenario).models[1].costed[0].total_compute_s == pytest.approx(0.022)


def test_a_bad_scenario_file_changes_nothing(open_page: Open) -> None:
    at = open_page("1_overview")
    before = state_of(at).scenario
    next(f for f in at.file_uploader if "Scenario" in f.label).upload("s.yaml", b"seed: -1").run()
    assert state_of(at).scenario == before
    assert "must be at least 0" in at.error[0].value


def test_a_reload_finds_its_session_again(open_page: Open) -> None:
    at = open_page("5_workload")
    next(t for t in at.text_input if t.label == "Rate").set_value("123/s").run()
    token = at.session_state["nona_token"]
    again = open_page("1_overview")
    assert state_of(again).scenario.workload[0].rate == 300
    again = new_session()
    again.session_state["nona_token"] = token
    again.run()
    assert state_of(again).scenario.workload[0].rate == 123
