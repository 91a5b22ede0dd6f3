"""The sweep panel: what is asked for, what is shown, what is kept, and what is not run twice."""

import json

import pytest
from app_driver import adopt, changed, edit, go, job_of, put, run, said, state_of, table, until

from nona.app.pages.queries import simulation_sweep_settings as asked_of
from nona.app.pages.queries.simulation_what_if import move
from nona.app.session.state import AppState
from nona.cli.main import main
from nona.core.errors import NonaError
from nona.queries.sweeps.numbers import number_named
from nona.queries.sweeps.results import SweepRequest
from nona.scenario.file import scenario_hash

FEW = {"simulation": {"jobs": 40, "replications": 2}}


def session(name="slides_example"):
    """A session with that scenario."""
    small = FEW | {"schedulers": ["nona", "local", "spread"]} if name == "slides_example" else {}
    return AppState(scenario=changed(name, **small))


def field(at, label):
    fields = [*at.text_input, *at.number_input, *at.selectbox, *at.select_slider, *at.multiselect]
    return next(f for f in fields if f.label == label)


def open_sweep(open_page, **changes):
    at = adopt(open_page("simulation"), **{**FEW, **changes})
    return put(at, "simulation-view", "Sweep")


def test_a_sweep_from_the_controls_to_the_slider_and_back_after_other_pages(open_page):
    at = open_sweep(open_page)
    field(at, "Values").set_value("0 %:60 %:20 %").run()
    run(at, "sweep")
    state = state_of(at)
    told = state.results["sweep"].data
    assert told.values == (0.0, 0.2, 0.4, 0.6)
    assert "Every scheduler is stable from 0 % to 60 %." in said(at.markdown)
    assert list(table(at, "stability")["scheduler"]) == ["nona", "local", "spread"]
    slider = at.select_slider[0]
    slider.set_value(0.0).run()
    assert list(table(at, "stability")["mean JCT"]) == ["14 ms ± 0 ms", "22 ms ± 0 ms", "32 ms ± 0 ms"]
    assert next(iter(table(at, "stability")["times nona"])) == "1 ×"
    assert [r.split(" ×")[0] for r in table(at, "stability")["times nona"]][1:] == ["1.57", "2.29"]
    assert at.button(key="run-sweep").disabled  # the same sweep is not run again
    chart = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert {"nona", "local", "spread"} <= {t["name"] for t in chart["data"]}

    go(at, "scenario", "simulation")
    assert field(at, "Values").value == "0 %:60 %:20 %"
    assert at.select_slider[0].value == 0.0
    assert state.results["sweep"].data is told


@pytest.mark.verify
def test_the_shell_gives_the_same_to_the_last_digit(open_page, tmp_path, capsys):
    at = open_sweep(open_page)
    field(at, "Values").set_value("10 %, 60 %").run()
    run(at, "sweep")
    state = state_of(at)
    file = tmp_path / "scenario.yaml"
    file.write_text(state.dump(), encoding="utf-8")
    assert main(["sweep", str(file), *asked_of.shell_arguments(asked_of.settings_of(state)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schedulers"] == state.results["sweep"].data.to_json()["schedulers"]


def test_it_is_stale_only_when_something_else_than_the_swept_number_changed(open_page):
    at = open_sweep(open_page)
    field(at, "Values").set_value("0 %, 95 %").run()
    run(at, "sweep")
    edit(at, ("background", "network", "utilization"), 0.35)
    assert not [w for w in at.warning if "scenario has changed" in w.value]
    assert at.button(key="run-sweep").disabled
    edit(at, ("seed",), 99)
    assert [w for w in at.warning if "scenario has changed" in w.value]
    assert not at.button(key="run-sweep").disabled


def test_cancelled_it_shows_what_it_had(open_page):
    at = open_sweep(open_page)
    field(at, "Jobs per run").set_value(3000).run()
    field(at, "Runs per value").set_value(60).run()
    at.button(key="run-sweep").click().run()
    job = job_of(at, "sweep")
    assert until(lambda: job.live.get("schedulers") or not job.unfinished)
    assert job.unfinished
    at.run()  # the live chart
    assert at.get("plotly_chart")
    at.button(key="cancel-sweep").click().run()
    assert any("ended early" in i.value for i in at.info)
    assert len(table(at, "stability")) >= 1
    assert not at.button(key="run-sweep").disabled
    go(at, "scenario", "simulation")
    assert any("ended early" in i.value for i in at.info)


def test_what_is_typed_wrong_stays_and_says_why(open_page):
    cluster = {"servers": [{"count": 2, "gpu": "a100-40gb"}, {"count": 2, "gpu": "a100-80gb"}]}
    at = open_sweep(open_page, cluster=cluster)
    assert "Servers a100-80gb" in field(at, "Sweep").options, "a browser shows options as they are"
    field(at, "Values").set_value("0 % to 120 %").run()
    assert any("must be less than 1" in e.value.replace("\\", "") for e in at.error)
    assert not [b for b in at.button if b.key == "run-sweep"]
    assert field(at, "Values").value == "0 % to 120 %"
    field(at, "Sweep").set_value("cluster.network.capacity").run()
    field(at, "Values").set_value("5 apples").run()
    assert any("is not a bandwidth" in e.value for e in at.error)
    field(at, "Values").set_value("1 Gbit/s").run()
    assert not at.error
    field(at, "Sweep").set_value("background.network.utilization").run()
    assert field(at, "Values").value == "0 % to 120 %"
    put(at, "sweep-shown-jobs", "many")  # as a link may bring it
    assert not at.exception
    assert field(at, "Jobs per run").value == FEW["simulation"]["jobs"]


def test_settings_are_read_and_named_fit_the_scenario_and_without_a_scheduler_there_is_no_sweep():
    state = session()
    asked_of.choose_sweep(state, "number", "cluster.servers[0].count")
    asked_of.choose_sweep(state, "values-cluster.servers[0].count", "8, 2, 5")
    settings = asked_of.settings_of(state)
    assert settings.values == (2.0, 5.0, 8.0)
    assert settings.schedulers == ("nona", "local", "spread")
    sent = json.loads(json.dumps(settings.to_json()))
    assert SweepRequest.from_json(sent) == settings
    mark = asked_of.sweep_version(state.scenario, settings)
    state.edit(("cluster", "servers", 0, "count"), 7)
    assert asked_of.sweep_version(state.scenario, settings) == mark
    assert not asked_of.is_stale(state, mark, settings)
    state.edit(("cluster", "network", "capacity"), "3 Gbit/s")
    assert asked_of.is_stale(state, mark, settings)
    state.replace_list(("cluster", "servers"), state.value(("cluster", "servers")))
    assert asked_of.is_stale(state, mark, settings.model_copy(update={"number": "cluster.servers[4].count"}))
    words = asked_of.shell_arguments(settings)
    assert words[:4] == ["--key", "cluster.servers[0].count", "--values", "2,5,8"]
    assert words.count("--scheduler") == 3
    state = session("five_models_80_servers")
    settings = asked_of.settings_of(state)
    assert settings.number == "background.network.utilization"
    assert (settings.values[0], settings.values[-1], len(settings.values)) == (0.0, 0.95, 11)
    assert settings.jobs == 4000
    assert settings.schedulers == tuple(s.name for s in state.scenario.schedulers)
    state = session()
    asked_of.choose_sweep(state, "schedulers", [])
    with pytest.raises(NonaError, match="no scheduler is chosen"):
        asked_of.settings_of(state)


def test_the_work_and_the_scenario_of_a_sweep_are_told_before_it_runs(open_page):
    at = open_sweep(open_page)
    state = state_of(at)
    assert f"version `{scenario_hash(state.scenario)}`" in said(at.markdown)
    assert "What if" not in said(at.markdown)
    mark = asked_of.sweep_version(state.scenario, asked_of.settings_of(state))
    move(state, number_named(state.scenario, "cluster.servers[0].count"), 7.0)
    at.run()
    assert "leaves out what *What if* tries (servers 3 → 7)" in said(at.markdown)
    assert asked_of.sweep_version(state.scenario, asked_of.settings_of(state)) == mark
    one = asked_of.settings_of(state)
    jobs = len(one.values) * 3 * one.replications * one.jobs
    assert any(f"simulates {jobs:,} jobs" in c.value for c in at.caption)
    asked_of.choose_sweep(state, "second", "cluster.servers[0].count")
    asked_of.choose_sweep(state, "jobs", 100_000)
    both = asked_of.settings_of(state)
    jobs = len(both.values) * len(both.sweep.values) * 3 * both.sweep.replications * 100_000
    assert f"All pairs together are {jobs / 1e6:.3g} million jobs" in asked_of.work_text(both)


@pytest.mark.verify
def test_two_numbers_make_a_map(open_page, tmp_path, capsys):
    at = open_sweep(open_page)
    state = state_of(at)
    field(at, "Sweep").set_value("load").run()
    field(at, "Against").set_value("cluster.servers[0].count").run()
    field(at, "Values").set_value("1, 2").run()
    field(at, "Values (second)").set_value("3, 4").run()
    told = run(at, "grid")
    assert [row.value for row in told.rows] == [3.0, 4.0]
    assert told.complete
    drawn = json.loads(at.get("plotly_chart")[0].proto.spec)["data"]
    assert drawn[0]["type"] == "heatmap"
    at.selectbox(key="grid-scheduler").set_value("local").run()
    assert at.button(key="run-grid").disabled  # not run twice
    file = tmp_path / "scenario.yaml"
    file.write_text(state.dump(), encoding="utf-8")
    words = asked_of.shell_arguments(asked_of.settings_of(state))
    assert main(["sweep", str(file), *words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    wanted = told.to_json()["rows"]
    assert [r["sweep"]["schedulers"] for r in rows] == [r["sweep"]["schedulers"] for r in wanted]
    state.edit(("cluster", "servers", 0, "count"), 9)
    assert not asked_of.is_stale(state, state.results["grid"].fingerprint, told.settings)
    state.edit(("seed",), 5)
    assert asked_of.is_stale(state, state.results["grid"].fingerprint, told.settings)
    field(at, "Against").set_value("").run()
    assert at.button(key="run-sweep")
