"""The Simulation page: its finding equals its numbers, tabs, runs and baseline, what to do about trouble."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from app_driver import Open, finish, metrics

from nona.report.simulations.comparison import changes
from nona.report.simulations.findings import headline
from nona.report.simulations.report import SimulatedRun
from nona.results.simulation_charts import LiveLine, LiveRun
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_hash, scenario_to_mapping
from nona.schedulers.registry import scheduler_names
from nona.sources.samples import scenario_path
from nona.ui.pages.simulation_runs import MOST_DRAWN, chart_data, show_run, shown_run
from nona.ui.session.state import Runs
from nona.ui.widgets.fields import _commit

PAGE = "7_simulation"
TABS = ["Compare", "Distribution", "Where time goes", "Over time", "First jobs", "How sure"]


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def said(elements: Any) -> list[str]:
    return [e.value.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ") for e in elements]


def small(at: Any, **changes: Any) -> None:
    """The slides' example, small."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"simulation": {"jobs": 60, "replications": 3}, "schedulers": ["nona", "local", "spread"]}
    state_of(at).adopt(scenario_from_mapping(data | changes))
    at.run()


def run(at: Any) -> SimulatedRun:
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    found: SimulatedRun = state_of(at).results["simulate"].data
    return found


def live_data(at: Any) -> dict[str, Any]:
    found = [json.loads(c.proto.json) for c in at.get("bidi_component")]
    return next(d for d in found if "titles" in d)


def test_the_finding_and_the_tiles_are_those_of_the_report(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at)
    data = run(at)
    found = data.report.schedulers
    told = headline(found, data.differences, data.off)
    assert f"##### {told.lead}" in said(at.markdown)
    assert f"{told.beside}." in said(at.markdown)
    assert told.text.startswith("nona is shortest: 14 ms ± 0 ms simulated (95 %)")
    assert metrics(at) == {"Mean JCT": "14 ms"}  # one number stands out, and it stands once
    drawn = live_data(at)
    for name, line in data.live.to_json()["series"].items():
        used = found[name].utilization  # one number in charts and tables: that of the measured window
        assert drawn["series"][name] == line | {"busy": [used.compute, used.network]}
    assert [drawn["series"][n]["jobs"] for n in drawn["schedulers"]] == [180] * 3
    assert drawn["running"] is False
    assert "nona" in drawn["alts"][0]


def test_only_the_open_tab_is_drawn_each_with_charts_and_words(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at, simulation={"jobs": 30, "replications": 2})
    run(at)
    for tab in TABS:
        at.session_state["result-tabs"] = tab
        at.run()
        assert not at.exception, at.exception
        charts = at.get("plotly_chart")
        assert charts, tab
        assert all(c.proto.alt for c in charts)
        assert [t.label for t in at.tabs if t.children] == [tab]


def test_a_pinned_run_stands_beside_the_next_one(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at)
    old = run(at)
    at.button(key="pin-run").click().run()
    assert any("This run is the baseline" in c for c in said(at.caption))
    state = state_of(at)
    state.edit(("background", "network", "utilization"), 0.5)
    at.run()
    new = run(at)
    assert [k.name for k in state.runs.kept] == ["The slides' example", "link background 0 % → 50 %"]
    found = changes(old.means, new.means, paired=True)
    told = next(m for m in said(at.markdown) if m.startswith("##### Link background 0 % → 50 %"))
    assert "link" in told
    table = next(d.value for d in at.dataframe if "mean JCT, change" in d.value)
    assert list(table["scheduler"]) == list(found) == ["nona", "local", "spread"]
    assert table["mean JCT, baseline"][1].startswith("22 ms")
    assert any("Paired by replication" in c for c in said(at.caption))
    assert found["spread"].jct_s.change.mean > 0
    state.edit(("seed",), 99)
    at.run()
    run(at)
    assert any("Not paired (another seed)" in c for c in said(at.caption))


def test_a_former_run_is_shown_again_and_its_scenario_restored(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at, schedulers=["local"])
    first = run(at)
    state = state_of(at)
    state.edit(("seed",), 5)
    at.run()
    run(at)
    chooser = next(s for s in at.selectbox if s.label == "Run shown")
    chooser.select_index(1).run()
    assert state.results["simulate"].data is first
    assert state.is_stale("simulate")
    (told,) = [w for w in said(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 5.")
    assert "Run 2 is of the scenario as it is now" in told  # there is nothing to run again
    assert "simulates" not in told
    state.edit(("seed",), 6)
    at.run()
    (told,) = [w for w in said(at.warning) if "is shown" in w]
    assert told.startswith("Run 1 is shown. The scenario has changed since: seed 1 → 6.")
    assert "*Run the simulation* simulates the scenario as it is now, as run 3; run 1 can then" in told
    state.edit(("plan",), {"offers": [{"gpu": "l4"}]})
    at.run()
    assert [w for w in said(at.warning) if "is shown" in w] == [told]  # no run depends on a plan
    at.run()  # what was taken in once is not taken in again
    assert state.results["simulate"].data is first
    at.button(key="restore-run").click().run()
    assert state.scenario.seed == 1
    assert not state.is_stale("simulate")


def test_a_finished_run_that_is_not_shown_is_not_called_unfinished(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at, schedulers=["local"])
    run(at)
    state = state_of(at)
    assert state.jobs["simulate"]  # whose live figures are still known
    state.results.clear()
    state.runs = Runs()
    at.run()
    assert not any("Not finished" in m for m in said(at.markdown))


def test_an_overloaded_result_says_what_would_help(open_page: Open) -> None:
    at = open_page(PAGE)
    row = scenario_to_mapping(load_scenario(scenario_path("slides_example")))["workload"][0]
    small(at, schedulers=["spread"], workload=[row | {"rate": "90/s", "arrivals": {"process": "poisson"}}])
    run(at)
    told = said(at.error)[0].replace("*", "")
    assert "spread is overloaded" in told
    assert "all rates ×" in told
    assert any(m.startswith("##### spread is overloaded") for m in said(at.markdown))
    assert metrics(at) == {}


def test_a_failed_run_says_why_and_keeps_what_was_there(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at, schedulers=["nona"])
    before = run(at)
    state_of(at).edit(("workload", 0, "rate"), "100000/s")
    at.run()
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    assert any("servers" in e for e in said(at.error))
    assert state_of(at).results["simulate"].data is before


def test_the_oldest_run_is_forgotten_but_never_the_baseline() -> None:
    runs, scenario = Runs(most=3), load_scenario(scenario_path("slides_example"))

    def result(seed: int) -> SimulatedRun:
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


def test_live_charts_are_told_how_schedulers_look_before_the_first_job() -> None:
    data = chart_data(LiveRun(schedulers=("nona", "<b>")), running=True, fraction=0.0)
    assert data.series == {}
    assert data.styles["nona"].colour.startswith("#")
    assert set(data.styles) == {"nona", "<b>"}
    assert len(data.titles) == len(data.alts) == 4


def test_a_late_message_of_a_field_that_is_gone_changes_nothing(open_page: Open) -> None:
    """While work runs each poll sends what the browser still shows, also fields that were just replaced."""
    at = open_page(PAGE)
    small(at, schedulers=["local"])
    state = state_of(at)
    for seed in (1, 2, 3):
        state.edit(("seed",), seed)
        at.run()
        run(at)
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


def test_every_part_of_the_page_bears_the_mark_of_its_run(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at, schedulers=["local"])
    run(at)
    state_of(at).edit(("seed",), 5)
    at.run()
    data = run(at)
    mark = f"Run 2 · fingerprint {data.about.hash}"
    assert data.about.hash == scenario_hash(state_of(at).scenario)
    assert mark in said(at.caption)
    assert live_data(at)["note"] == f"{mark}."
    assert f"Run 2 · seed 1 → 5 · fingerprint {data.about.hash}" in said(at.caption)


def test_the_table_shows_what_decides_and_the_rest_on_request(open_page: Open) -> None:
    at = open_page(PAGE)
    small(at)
    run(at)
    assert list(at.dataframe[0].value) == ["scheduler", "mean JCT", "SLO hits", "p95", "executors", "link"]
    at.toggle(key="all-columns-results").set_value(True).run()
    assert {"state", "predicted", "p99", "in flight"} <= set(at.dataframe[0].value)


def test_at_most_eight_schedulers_are_drawn_in_the_order_chosen_and_the_others_are_named() -> None:
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
