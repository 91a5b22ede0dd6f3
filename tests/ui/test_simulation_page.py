"""The Simulation page: its finding equals its numbers, runs and baseline, trouble, precision, the expert."""

from types import SimpleNamespace

import pytest
from app_driver import (
    adopt,
    choose_schedulers,
    go,
    metrics,
    named,
    run,
    said,
    sent,
    state_of,
    tab,
    table,
)
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.placement.fixed import PRESETS
from nona.report.simulations.comparison import changes
from nona.report.simulations.findings import headline
from nona.report.simulations.report import SimulatedRun, simulation_report
from nona.results.simulation_charts import LiveLine, LiveRun
from nona.scenario.file import load_scenario, parse_scenario, scenario_hash, scenario_to_mapping
from nona.schedulers.registry import scheduler_names
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.study.simulation import simulate
from nona.ui.pages.simulation import parse_parts, parts_text
from nona.ui.pages.simulation_runs import MOST_DRAWN, chart_data, show_run, shown_run
from nona.ui.session.state import AppState, Draft, Runs
from nona.ui.widgets.fields import _commit

PAGE = "7_simulation"


def lines(elements):
    return [said([e]) for e in elements]


def test_the_finding_and_the_tiles_are_those_of_the_report(open_page):
    at = open_page(PAGE)
    adopt(at)
    data = run(at, "simulate")
    found = data.report.schedulers
    told = headline(found, data.differences, data.off)
    assert f"##### {told.lead}" in lines(at.markdown)
    assert f"{told.beside}." in lines(at.markdown)
    assert told.text.startswith("nona is shortest: 14 ms ± 0 ms simulated (95 %)")
    assert metrics(at) == {"Mean JCT": "14 ms"}  # one number stands out, and it stands once
    drawn = sent(at, "titles")
    for name, line in data.live.to_json()["series"].items():
        used = found[name].utilization  # one number in charts and tables: that of the measured window
        assert drawn["series"][name] == line | {"busy": [used.compute, used.network]}
    assert [drawn["series"][n]["jobs"] for n in drawn["schedulers"]] == [180] * 3
    assert drawn["running"] is False
    assert "nona" in drawn["alts"][0]


@pytest.mark.verify
def test_a_pinned_run_stands_beside_the_next_one(open_page):
    at = open_page(PAGE)
    adopt(at)
    old = run(at, "simulate")
    at.button(key="pin-run").click().run()
    assert any("This run is the baseline" in c for c in lines(at.caption))
    state = state_of(at)
    state.edit(("background", "network", "utilization"), 0.5)
    at.run()
    new = run(at, "simulate")
    assert [k.name for k in state.runs.kept] == ["The slides' example", "link background 0 % → 50 %"]
    found = changes(old.means, new.means, paired=True)
    told = next(m for m in lines(at.markdown) if m.startswith("##### Link background 0 % → 50 %"))
    assert "link" in told
    rows = table(at, "mean JCT, change")
    assert list(rows["scheduler"]) == list(found) == ["nona", "local", "spread"]
    assert rows["mean JCT, baseline"][1].startswith("22 ms")
    assert any("Paired by replication" in c for c in lines(at.caption))
    assert found["spread"].jct_s.change.mean > 0
    state.edit(("seed",), 99)
    at.run()
    run(at, "simulate")
    assert any("Not paired (another seed)" in c for c in lines(at.caption))


def test_a_former_run_is_shown_again_and_its_scenario_restored(open_page):
    at = open_page(PAGE)
    adopt(at, schedulers=["local"])
    first = run(at, "simulate")
    state = state_of(at)
    state.edit(("seed",), 5)
    at.run()
    run(at, "simulate")
    chooser = named(at.selectbox, "Run shown")
    chooser.select_index(1).run()
    assert state.results["simulate"].data is first
    assert state.is_stale("simulate")
    (told,) = [w for w in lines(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 5.")
    assert "Run 2 is of the scenario as it is now" in told  # there is nothing to run again
    assert "simulates" not in told
    state.edit(("seed",), 6)
    at.run()
    (told,) = [w for w in lines(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 6.")
    assert "*Run the simulation* simulates the scenario as it is now, as run 3; run 1 can then" in told
    state.edit(("plan",), {"offers": [{"gpu": "l4"}]})
    at.run()
    assert [w for w in lines(at.warning) if "is shown" in w] == [told]  # no run depends on a plan
    at.run()  # what was taken in once is not taken in again
    assert state.results["simulate"].data is first
    at.button(key="restore-run").click().run()
    assert state.scenario.seed == 1
    assert not state.is_stale("simulate")


def test_a_finished_run_that_is_not_shown_is_not_called_unfinished(open_page):
    at = open_page(PAGE)
    adopt(at, schedulers=["local"])
    run(at, "simulate")
    state = state_of(at)
    assert state.jobs["simulate"]  # whose live figures are still known
    state.results.clear()
    state.runs = Runs()
    at.run()
    assert not any("Not finished" in m for m in lines(at.markdown))


def test_an_overloaded_result_says_what_would_help(open_page):
    at = open_page(PAGE)
    row = scenario_to_mapping(load_scenario(scenario_path("slides_example")))["workload"][0]
    adopt(at, schedulers=["spread"], workload=[row | {"rate": "90/s", "arrivals": {"process": "poisson"}}])
    run(at, "simulate")
    told = lines(at.error)[0].replace("*", "")
    assert "spread is overloaded" in told
    assert "all rates ×" in told
    assert any(m.startswith("##### spread is overloaded") for m in lines(at.markdown))
    assert metrics(at) == {}


def test_a_failed_run_says_why_and_keeps_what_was_there(open_page):
    at = open_page(PAGE)
    adopt(at, schedulers=["nona"])
    before = run(at, "simulate")
    state_of(at).edit(("workload", 0, "rate"), "100000/s")
    at.run()
    run(at, "simulate")
    assert any("servers" in e for e in lines(at.error))
    assert state_of(at).results["simulate"].data is before


def test_the_oldest_run_is_forgotten_but_never_the_baseline():
    runs, scenario = Runs(most=3), load_scenario(scenario_path("slides_example"))

    def result(seed):
        about = SimpleNamespace(name="n", made="")  # all that the list of runs reads of a result
        return SimulatedRun.model_construct(about=about, scenario=scenario.model_copy(update={"seed": seed}))

    for seed in range(6):
        runs.add(f"f{seed}", f"j{seed}", result(seed))
        if seed == 1:
            runs.pinned = 2
    assert [k.number for k in runs.kept] == [2, 5, 6]
    assert runs.baseline is not None
    assert runs.kept[-1].name == "seed 4 → 5"
    assert runs.add("f", "j", result(5)).name == "the same again"


def test_live_charts_are_told_how_schedulers_look_before_the_first_job():
    data = chart_data(LiveRun(schedulers=("nona", "<b>")), running=True, fraction=0.0)
    assert data.series == {}
    assert data.styles["nona"].colour.startswith("#")
    assert set(data.styles) == {"nona", "<b>"}
    assert len(data.titles) == len(data.alts) == 4


def test_a_late_message_of_a_field_that_is_gone_changes_nothing(open_page):
    """While work runs each poll sends what the browser still shows, also fields that were just replaced."""
    at = open_page(PAGE)
    adopt(at, schedulers=["local"])
    state = state_of(at)
    for seed in (1, 2, 3):
        state.edit(("seed",), seed)
        at.run()
        run(at, "simulate")
    shown = state.results["simulate"]
    show_run(state, 1, instead_of=2)  # the box that stood beside run 2, heard after run 3 came in
    assert state.results["simulate"] is shown
    show_run(state, 1, instead_of=3)
    assert shown_run(state).number == 1
    old = state.revision
    state.undo()
    at.run()
    seed = state.scenario.seed
    _commit(state, ("seed",), f"field:{old}:seed")  # what was typed before Undo does not come back
    assert state.scenario.seed == seed


def test_every_part_of_the_page_bears_the_mark_of_its_run(open_page):
    at = open_page(PAGE)
    adopt(at, schedulers=["local"])
    run(at, "simulate")
    state_of(at).edit(("seed",), 5)
    at.run()
    data = run(at, "simulate")
    mark = f"Run 2 · fingerprint {data.about.hash}"
    assert data.about.hash == scenario_hash(state_of(at).scenario)
    assert mark in lines(at.caption)
    assert sent(at, "titles")["note"] == f"{mark}."
    assert f"Run 2 · seed 1 → 5 · fingerprint {data.about.hash}" in lines(at.caption)


def test_the_table_shows_what_decides_and_the_rest_on_request(open_page):
    at = open_page(PAGE)
    adopt(at)
    run(at, "simulate")
    assert list(at.dataframe[0].value) == ["scheduler", "mean JCT", "SLO hits", "p95", "executors", "link"]
    at.toggle(key="all-columns-results").set_value(True).run()
    assert {"state", "predicted", "p99", "in flight"} <= set(at.dataframe[0].value)


def test_at_most_eight_schedulers_are_drawn_in_the_order_chosen_and_the_others_are_named():
    line = LiveLine(t=(), jct_s=(), first=0, counts=(1,), jobs=1, mean_s=1.0, hit_rate=None, busy=None)
    names = tuple(reversed(scheduler_names()))[: MOST_DRAWN + 2]
    data = chart_data(LiveRun(schedulers=names, series=dict.fromkeys(names, line)), running=True)
    assert data.schedulers == tuple(data.series) == tuple(data.styles) == names[:MOST_DRAWN]
    assert f"{names[-2]}, {names[-1]} are in the tables only" in data.note
    titles = [f"{names[-1]} keeps 47 % of the SLOs, {names[0]} 0.0 %"]
    ended = chart_data(LiveRun(schedulers=names, series=dict.fromkeys(names, line)), False, titles=titles)
    assert ended.schedulers == (*names[: MOST_DRAWN - 1], names[-1]), "whom a title names is drawn"
    few = chart_data(LiveRun(schedulers=names[:MOST_DRAWN]), running=True)
    assert "drawn" not in few.note


def test_differences_warmup_and_precision_on_the_page(open_page):
    at = open_page("7_simulation")
    state = state_of(at)
    state.edit(("schedulers",), ["local", "spread"])
    state.edit(("simulation", "jobs"), 150)
    at.run()
    named(at.selectbox, "Warm-up").select("MSER-5, on pilot runs").run()
    named(at.text_input, "Precision of the means").set_value("30 %").run()
    named(at.number_input, "Replications at most").set_value(12).run()
    spec = state.scenario.simulation
    assert (spec.warmup, spec.precision, spec.max_replications) == ("mser", 0.3, 12)
    report = run(at, "simulate").report
    assert report.precision.replications in (10, 11, 12)
    notes = next(c.value for c in at.caption if "Withheld" in c.value)
    assert "by MSER\\-5" in notes
    assert f"after {report.precision.replications} replications" in notes
    assert "p99 needs 1,000" in notes
    at.toggle(key="all-columns-results").set_value(True).run()
    results = table(at, "mean JCT")
    assert list(results["p99"]) == ["–", "–"]
    tab(at, "result-tabs", "Over time")
    assert any(m.value.replace("\\", "").startswith("**Warm-up: ") for m in at.markdown)
    tab(at, "result-tabs", "Compare")
    shown = table(at, "verdict")
    assert list(shown["scheduler"]) == ["spread"]
    assert list(shown.columns)[:2] == ["scheduler", "verdict"], "what a narrow window shows first"
    slower = shown["verdict"][0]
    named(at.selectbox, "Baseline scheduler").select("spread").run()
    shown = table(at, "verdict")
    assert list(shown["scheduler"]) == ["local"]
    opposite = {"slower": "faster", "faster": "slower"}
    assert shown["verdict"][0] == opposite.get(slower, slower)


def test_a_bad_precision_is_told_beside_its_field(open_page):
    at = open_page("7_simulation")
    field = named(at.text_input, "Precision of the means")
    field.set_value("3").run()
    assert any("0.5" in e.value for e in at.error)
    assert state_of(at).scenario.simulation.precision is None


def expert_page(open_page):
    return choose_schedulers(adopt(open_page("7_simulation")), "local", "expert")


def row(at):
    label = state_of(at).scenario.labels[0]
    return next(s for s in at.selectbox if s.label == label)


def options(at):
    return next(s.options for s in state_of(at).scenario.schedulers if s.name == "expert")


def test_a_preset_is_written_into_the_scenario_and_taken_back(open_page):
    at = expert_page(open_page)
    label = state_of(at).scenario.labels[0]
    assert row(at).value == "automatic"
    assert row(at).options == ["automatic", *PRESETS, "own parts"]
    row(at).select("half").run()
    assert options(at) == {"models": {label: "half"}}
    assert parse_scenario(state_of(at).dump()) == state_of(at).scenario
    assert "half" in state_of(at).dump()
    go(at, "1_overview")
    go(at, "7_simulation")
    assert row(at).value == "half"
    row(at).select("automatic").run()
    assert options(at) == {}


def test_own_parts_are_simulated_as_typed(open_page):
    at = expert_page(open_page)
    label = state_of(at).scenario.labels[0]
    row(at).select("own parts").run()
    model = prepare(state_of(at).scenario).models[0]
    tasks = [model.tasks.task_ids[t] for s in model.decomposition.subgraphs for t in s.interior]
    assert ", ".join(tasks).replace("_", "\\_") in "".join(c.value for c in at.caption)
    at.text_area[0].set_value(f"{tasks[0]},\n").run()
    assert options(at) == {"models": {label: [[tasks[0]]]}}
    again = parse_scenario(state_of(at).dump())
    assert again == state_of(at).scenario
    at.number_input[0].set_value(100).run()
    at.number_input[1].set_value(2).run()
    data = run(at, "simulate")
    study = simulate(prepare(state_of(at).scenario))
    wanted = simulation_report(study.summaries, 0.0).schedulers["expert"].jct_s.mean
    assert data.report.schedulers["expert"].jct_s.mean == wanted


def test_parts_that_the_model_does_not_have_stay_as_a_draft(open_page):
    at = expert_page(open_page)
    row(at).select("own parts").run()
    before = state_of(at).scenario
    at.text_area[0].set_value("no such task").run()
    assert len(at.error) == 1
    assert "'no such task' is not a task of the model" in at.error[0].value.replace("\\", "")
    assert state_of(at).scenario == before
    assert at.button(key="run-simulate").disabled
    go(at, "1_overview")
    go(at, "7_simulation")
    assert at.text_area[0].value == "no such task"
    at.text_area[0].set_value("").run()
    assert not at.error
    assert not at.button(key="run-simulate").disabled


def test_a_draft_goes_with_its_row_or_its_scheduler(open_page):
    at = expert_page(open_page)
    row(at).select("own parts").run()
    at.text_area[0].set_value("no such task").run()
    assert state_of(at).problem()
    choose_schedulers(at, "local")
    assert state_of(at).problem() == ""
    assert not at.text_area
    assert not [e for e in at.expander if "expert" in e.label], "without the expert there is no table"


def test_entries_of_rows_that_went_can_be_dropped(open_page):
    at = open_page("7_simulation")
    state_of(at).edit(("schedulers",), [{"expert": {"models": {"gone": "half", "resnet18": "quarter"}}}])
    at.run()
    lines = [e.value.replace("\\", "") for e in at.error]
    assert lines == [
        "'quarter' is no preset; choose one from the list.",
        "Not in the workload: gone; drop or rename the entries.",
    ]
    named(at.button, "Drop these entries").click().run()
    named(at.selectbox, "resnet18").select("local").run()
    assert not at.error
    assert options(at) == {"models": {"resnet18": "local"}}


names = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=6)


@examples(100)
@given(st.lists(st.lists(names, min_size=1, max_size=4), max_size=4))
def test_parts_are_read_as_they_are_written(parts):
    assert parse_parts(parts_text(parts)) == parts


def test_a_removed_row_takes_its_draft_along():
    state = AppState()
    state.drafts["expert", "resnet18"] = Draft("x", "wrong")
    state.edit(("seed",), 3)
    assert state.problem() == "wrong"
    state.replace_list(("workload",), [{"model": "gpt2", "rate": "1/s"}])
    assert state.problem() == ""
