"""The Simulation page: its finding equals its numbers, runs and baseline, trouble, precision, the expert."""

from itertools import count
from types import SimpleNamespace

import app_driver as app
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.app.form import _on_change
from nona.app.pages import run_page
from nona.app.pages.queries.simulation import parse_parts, parts_text
from nona.app.pages.queries.simulation_runs import MOST_DRAWN, chart_data, show_run, shown_run
from nona.app.session.state import AppState, Draft, KeptRuns
from nona.app.widgets import policy_choice
from nona.queries.chart_data import LiveLine, LiveRun
from nona.queries.placement.fixed import PRESETS
from nona.queries.report import comparison, findings
from nona.queries.report.report import SimulatedRun, simulation_report
from nona.queries.schedulers.registry import scheduler_names
from nona.queries.workflows import preparation, simulation
from nona.queries.workflows.tested_range import like_cases_text
from nona.scenario.file import parse_scenario, scenario_hash

PAGE = "simulation"


def lines(elements):
    return [app.said([e]) for e in elements]


def test_while_a_simulation_runs_the_line_tells_its_own_settings(open_page, monkeypatch):
    at = app.adopt(open_page(PAGE))
    state = app.state_of(at)
    state.job_scenarios["simulate"] = state.scenario
    app.edit(at, ("seed",), 99)
    assert "seed 99" in at.button(key="simulate-controls-line").label
    monkeypatch.setattr(run_page, "_runs", lambda state, kind: kind == "simulate")
    assert (
        f"seed {state.job_scenarios['simulate'].seed}" in at.run().button(key="simulate-controls-line").label
    )


def test_the_finding_the_tiles_and_the_table_are_those_of_the_report(open_page):
    at = app.adopt(open_page(PAGE))
    data = app.run(at, "simulate")
    found = data.report.schedulers
    told = findings.headline(found, data.differences, data.off)
    assert told.lead in lines(at.subheader)
    assert f"{told.beside}." in lines(at.markdown)
    assert told.text.startswith("nona is fastest: 14 ms ± 0 ms simulated (95 %)")
    assert app.metrics(at) == {"Mean JCT": "14 ms"}  # one number stands out, and it stands once
    drawn = app.sent(at, "titles")
    for name, line in data.live.to_json()["series"].items():
        used = found[name].utilization  # one number in charts and tables: that of the measured window
        assert drawn["series"][name] == line | {"busy": [used.compute, used.network]}
    assert [drawn["series"][n]["jobs"] for n in drawn["schedulers"]] == [180] * 3
    assert drawn["running"] is False
    assert "nona" in drawn["alts"][0]
    busy = found["nona"].utilization
    assert at.button(key="evidence-line").label == like_cases_text(data.scenario, busy.compute, busy.network)
    deciding = ["scheduler", "mean JCT", "predicted", "SLO hits", "executors busy", "link busy", "p95"]
    assert list(at.dataframe[0].value) == deciding
    at.toggle(key="all-columns-results").set_value(True).run()
    assert {"state", "predicted", "p99", "in flight"} <= set(at.dataframe[0].value)


@pytest.mark.verify
def test_a_pinned_run_stands_beside_the_next_one(open_page):
    at = app.adopt(open_page(PAGE))
    old = app.run(at, "simulate")
    at.button(key="pin-run").click().run()
    assert any("This run is the baseline" in c for c in lines(at.caption))
    state = app.state_of(at)
    app.edit(at, ("background", "network", "utilization"), 0.5)
    new = app.run(at, "simulate")
    own = "The slides' example"
    assert [k.name for k in state.runs.kept] == [own, f"{own}: link background 0 % → 50 %"]
    found = comparison.changes(old.means, new.means, paired=True)
    told = next(m for m in lines(at.markdown) if m.startswith("##### Link background 0 % → 50 %"))
    assert ("rises" in told) == (found["nona"].jct_s.change.mean > 0)
    rows = app.table(at, "mean JCT, change")
    assert list(rows["scheduler"]) == list(found) == ["nona", "local", "spread"]
    assert rows["mean JCT, baseline"][1].startswith("22 ms")
    assert any("Paired by replication" in c for c in lines(at.caption))
    assert found["spread"].jct_s.change.mean > 0
    app.edit(at, ("seed",), 99)
    app.run(at, "simulate")
    assert any("Not paired (another seed)" in c for c in lines(at.caption))


def test_a_former_run_is_shown_again_under_its_own_mark_and_its_scenario_restored(open_page):
    at = app.adopt(open_page(PAGE), schedulers=["local"])
    first = app.run(at, "simulate")
    state = app.state_of(at)
    app.edit(at, ("seed",), 5)
    mark = app.run(at, "simulate").about.hash
    assert mark == scenario_hash(state.scenario)
    assert {f"Run 2 · version {mark}", f"Run 2 · The slides' example: seed 1 → 5 · version {mark}"} <= set(
        lines(at.caption)
    )
    assert app.sent(at, "titles")["note"] == f"Run 2 · version {mark}."
    app.named(at.selectbox, "Run shown").select_index(1).run()
    assert state.results["simulate"].data is first
    assert state.is_stale("simulate")
    (told,) = [w for w in lines(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 5.")
    assert "Run 2 is of the scenario as it is now" in told  # there is nothing to run again
    assert "simulates" not in told
    app.edit(at, ("seed",), 6)
    (told,) = [w for w in lines(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 6.")
    assert "*Run the simulation* simulates the scenario as it is now, as run 3; run 1 can then" in told
    app.edit(at, ("plan",), {"offers": [{"gpu": "l4"}]})
    assert [w for w in lines(at.warning) if "is shown" in w] == [told]  # no run depends on a plan
    at.run()  # what was taken in once is not taken in again
    assert state.results["simulate"].data is first
    at.button(key="restore-run").click().run()
    assert state.scenario.seed == 1
    assert not state.is_stale("simulate")
    assert state.jobs["simulate"]  # a finished run that is not shown, its live figures still known
    app.edit(app.edit(at, ("name",), "Another"), ("seed",), 7)
    differs = f"is of “{first.about.name}”, not of “Another”: seed 1 → 7."
    assert any(differs in m for m in lines(at.caption))
    assert any(b.key == "pin-run" for b in at.button)  # it was chosen
    app.named(at.toggle, "Show it").set_value(False).run()
    assert not any(b.key == "pin-run" for b in at.button)
    state.results.clear()
    state.runs = KeptRuns()
    at.run()
    assert not any("Not finished" in m for m in lines(at.markdown))


def test_an_overloaded_result_says_what_would_help_and_a_failed_run_why_and_keeps_what_was_there(open_page):
    at = open_page(PAGE)
    row = app.changed().model_dump(mode="json")["workload"][0] | {"rate": "90/s"}
    app.adopt(at, schedulers=["spread"], workload=[row | {"arrivals": {"process": "poisson"}}])
    app.run(at, "simulate")
    told = lines(at.error)[0].replace("*", "")
    assert "spread is overloaded" in told
    assert "multiply all rates by" in told
    assert any(m.startswith("spread is overloaded") for m in lines(at.subheader))
    assert app.metrics(at) == {}

    app.adopt(at, schedulers=["nona"])
    before = app.run(at, "simulate")
    app.edit(at, ("workload", 0, "rate"), "100000/s")
    app.run(at, "simulate")
    assert any("servers" in e for e in lines(at.error))
    assert app.state_of(at).results["simulate"].data is before


def test_the_oldest_run_is_forgotten_but_never_the_baseline():
    runs, scenario = KeptRuns(most=3), app.changed()

    def result(seed):
        about = SimpleNamespace(name="n", made="")  # all that the list of runs reads of a result
        return SimulatedRun.model_construct(about=about, scenario=scenario.model_copy(update={"seed": seed}))

    for seed in range(6):
        runs.add(f"f{seed}", f"j{seed}", result(seed))
        if seed == 1:
            runs.pinned = 2
    assert [k.number for k in runs.kept] == [2, 5, 6]
    assert runs.baseline is not None
    name = runs.kept[-1].data.scenario.name
    assert runs.kept[-1].name == f"{name}: seed 4 → 5"
    assert runs.add("f", "j", result(5)).name == f"{name}: unchanged scenario"


@pytest.mark.verify
def test_a_late_message_of_a_field_that_is_gone_changes_nothing(open_page):
    """While work runs each poll sends what the browser still shows, also fields that were just replaced."""
    at = app.adopt(open_page(PAGE), schedulers=["local"])
    state = app.state_of(at)
    for seed in (1, 2, 3):
        app.edit(at, ("seed",), seed)
        app.run(at, "simulate")
    shown = state.results["simulate"]
    show_run(state, 1, instead_of=2)  # the box that stood beside run 2, heard after run 3 came in
    assert state.results["simulate"] is shown
    show_run(state, 1, instead_of=3)
    assert shown_run(state).number == 1
    typed = _on_change(state, ("seed",), lambda value: 99)["on_change"]
    state.undo()
    at.run()
    seed = state.scenario.seed
    typed()  # what was typed before Undo does not come back
    assert state.scenario.seed == seed


def test_at_most_eight_schedulers_are_drawn_in_the_order_chosen_with_their_looks_before_the_first_job():
    line = LiveLine(t=(), jct_s=(), first=0, counts=(1,), jobs=1, mean_s=1.0, hit_rate=None, busy=None)
    names = tuple(reversed(scheduler_names()))[: MOST_DRAWN + 2]
    data = chart_data(LiveRun(schedulers=names, series=dict.fromkeys(names, line)), running=True)
    assert data.schedulers == tuple(data.series) == tuple(data.styles) == names[:MOST_DRAWN]
    assert f"{names[-2]} and {names[-1]} are only in the tables of the result" in data.note
    few = chart_data(LiveRun(schedulers=names[:MOST_DRAWN]), running=True)
    assert few.note == ""
    data = chart_data(LiveRun(schedulers=("nona", "<b>")), running=True)
    assert data.series == {}
    assert data.styles["nona"].colour.startswith("#")
    assert set(data.styles) == {"nona", "<b>"}
    assert len(data.titles) == len(data.alts) == 4


def test_differences_warmup_and_precision_on_the_page(open_page):
    at = open_page("simulation")
    state = app.state_of(at)
    state.edit(("schedulers",), ["local", "spread"])
    app.edit(at, ("simulation", "jobs"), 150)
    app.named(at.selectbox, "Warm-up").select("MSER-5, on pilot runs").run()
    app.named(at.text_input, "Precision of the means").set_value("3").run()
    assert "0.5" in app.said(at.error)
    assert state.scenario.simulation.precision is None
    app.named(at.text_input, "Precision of the means").set_value("30 %").run()
    app.named(at.number_input, "Replications at most").set_value(12).run()
    spec = state.scenario.simulation
    assert (spec.warmup, spec.precision, spec.max_replications) == ("mser", 0.3, 12)
    report = app.run(at, "simulate").report
    assert report.precision.replications in (10, 11, 12)
    notes = next(c.value for c in at.caption if "Withheld" in c.value)
    assert "by MSER-5" in notes
    assert f"after {report.precision.replications} replications" in notes
    assert "p99 needs 1,000" in notes
    at.toggle(key="all-columns-results").set_value(True).run()
    results = app.table(at, "mean JCT")
    assert list(results["p99"]) == ["–", "–"]
    app.put(at, "simulate-tabs", "Over time")
    assert any(m.value.replace("\\", "").startswith("**Warm-up: ") for m in at.markdown)
    app.put(at, "simulate-tabs", "Compare")
    shown = app.table(at, "verdict")
    assert list(shown["scheduler"]) == ["spread"]
    assert list(shown.columns)[:2] == ["scheduler", "verdict"], "what a narrow window shows first"
    slower = shown["verdict"][0]
    app.named(at.selectbox, "Baseline scheduler").select("spread").run()
    shown = app.table(at, "verdict")
    assert list(shown["scheduler"]) == ["local"]
    opposite = {"clearly slower": "clearly faster", "clearly faster": "clearly slower"}
    assert shown["verdict"][0] == opposite.get(slower, slower)


def expert_page(open_page):
    return app.choose_schedulers(app.adopt(open_page("simulation")), "local", "expert")


def row(at):
    return app.named(at.selectbox, app.state_of(at).scenario.labels[0])


def options(at):
    return next(s.options for s in app.state_of(at).scenario.schedulers if s.name == "expert")


def test_options_of_schedulers_are_set_kept_undone_and_stand_in_the_table(open_page, monkeypatch):
    at = app.choose_schedulers(app.adopt(open_page(PAGE)), "nona", "jsq-d", "expert")
    state, path = app.state_of(at), ("schedulers", 1)
    state.history.clock = count(0, 10).__next__  # every change is a step of its own
    app.put(at, "scheduler-options", True)

    def drawn():
        return at.number_input(key=f"option:{state.revision}:jsq-d:d")

    drawn().set_value(3).run()
    assert state.value(path) == {"jsq-d": {"d": 3}}
    assert "jsq-d d: 3" in lines(at.caption)
    data = app.run(at, "simulate")
    assert list(at.dataframe[0].value["options"]) == ["–", "d: 3", "–"]
    takes = {}
    monkeypatch.setattr(
        policy_choice,
        "scheduler_picker",
        lambda key, label, chosen, hint, take, *more: takes.update({key: take}),
    )
    at.run()
    takes["simulation-schedulers"](("nona",))
    takes["simulation-schedulers"](("nona", "jsq-d"))
    assert state.value(path) == {"jsq-d": {"d": 3}}
    state.undo()
    state.undo()
    assert state.scenario.schedulers == data.scenario.schedulers
    at.run()
    at.button(key="defaults:jsq-d").click().run()
    assert (state.value(path), drawn().value) == ("jsq-d", 2)
    entries = policy_choice.with_option(state.scenario.schedulers, "jsq-d", "d", 0, 2)
    assert not state.edit(("schedulers",), entries)
    assert "option d=0 must be a whole number from 1 to 64; change it." in state.problem()


def test_a_preset_is_written_into_the_scenario_and_taken_back_and_own_parts_simulated_as_typed(open_page):
    at = expert_page(open_page)
    label = app.state_of(at).scenario.labels[0]
    assert row(at).value == "automatic"
    assert row(at).options == ["automatic", *PRESETS, "own parts"]
    row(at).select("half").run()
    assert options(at) == {"models": {label: "half"}}
    assert parse_scenario(app.state_of(at).dump()) == app.state_of(at).scenario
    assert "half" in app.state_of(at).dump()
    app.go(at, "home", "simulation")
    assert row(at).value == "half"
    row(at).select("automatic").run()
    assert options(at) == {}
    row(at).select("own parts").run()
    model = preparation.prepare(app.state_of(at).scenario).models[0]
    tasks = [model.tasks.task_ids[t] for s in model.decomposition.subgraphs for t in s.interior]
    assert ", ".join(tasks).replace("_", "\\_") in "".join(c.value for c in at.caption)
    at.text_area[0].set_value(f"{tasks[0]},\n").run()
    assert options(at) == {"models": {label: [[tasks[0]]]}}
    assert parse_scenario(app.state_of(at).dump()) == app.state_of(at).scenario
    at.number_input[0].set_value(100).run()
    at.number_input[1].set_value(2).run()
    data = app.run(at, "simulate")
    study = simulation.simulate(preparation.prepare(app.state_of(at).scenario))
    wanted = simulation_report(study.summaries, 0.0).schedulers["expert"].jct_s.mean
    assert data.report.schedulers["expert"].jct_s.mean == wanted


def test_parts_that_the_model_does_not_have_stay_as_a_draft_that_goes_with_its_row_or_scheduler(open_page):
    at = expert_page(open_page)
    row(at).select("own parts").run()
    before = app.state_of(at).scenario
    at.text_area[0].set_value("no such task").run()
    assert "'no such task' is not a task of the model" in app.said(at.error)
    assert app.state_of(at).scenario == before
    assert at.button(key="run-simulate").disabled
    app.go(at, "home", "simulation")
    assert at.text_area[0].value == "no such task"
    at.text_area[0].set_value("").run()
    assert not at.error
    assert not at.button(key="run-simulate").disabled
    at.text_area[0].set_value("no such task").run()
    assert app.state_of(at).problem()
    app.choose_schedulers(at, "local")
    assert app.state_of(at).problem() == ""
    assert not at.text_area
    assert not [e for e in at.expander if "expert" in e.label], "without the expert there is no table"
    state = AppState()
    state.edit(("schedulers",), ["expert"])
    state.drafts["expert", "resnet18"] = Draft("x", "wrong")
    state.edit(("seed",), 3)
    assert state.problem() == "wrong"
    state.replace_list(("workload",), [{"model": "gpt2", "rate": "1/s"}])
    assert state.problem() == ""


def test_entries_of_rows_that_went_can_be_dropped(open_page):
    at = open_page("simulation")
    app.edit(at, ("schedulers",), [{"expert": {"models": {"gone": "half", "resnet18": "quarter"}}}])
    assert lines(at.error) == [
        "'quarter' is no preset; choose one from the list.",
        "Not in the workload: gone; drop or rename the entries.",
    ]
    app.named(at.button, "Drop these entries").click().run()
    app.named(at.selectbox, "resnet18").select("local").run()
    assert not at.error
    assert options(at) == {"models": {"resnet18": "local"}}


names = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=6)


@examples(100)
@given(st.lists(st.lists(names, min_size=1, max_size=4), max_size=4))
def test_parts_are_read_as_they_are_written(parts):
    assert parse_parts(parts_text(parts)) == parts


def test_an_entry_that_stops_all_runs_is_told_once_with_its_page_row_and_field(open_page):
    at = open_page("simulation")
    app.state_of(at).edit(("workload", 0, "rate"), "-5/s")
    for page in ("simulation", "placement"):
        app.go(at, page)
        (told,) = [w for w in lines(at.warning) if "Nothing can run yet" in w]
        assert "Page Scenario, row resnet18, Rate: '-5/s' must be greater than 0" in told
        assert "workload[0]" not in app.said(at.warning)
        assert "Open Scenario" in [link.label for link in at.get("page_link")]
    app.go(at, "scenario")
    assert "Nothing can run yet" not in app.said(at.warning)
    assert "Rate: '-5/s' must be greater than 0" in app.said(at.error)
