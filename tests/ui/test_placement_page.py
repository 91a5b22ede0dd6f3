"""The Placement page: every figure on it is the solver's own, the working included."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from app_driver import Open, finish, go, metrics, open_demo, pickers, solve_demo, tab
from streamlit.testing.v1 import AppTest

from nona.placement.fixed import local_placement, spread_placement
from nona.placement.messages import Link
from nona.placement.sampled.judge import by_response
from nona.report.capacity import capacity_finding, capacity_rows
from nona.report.figures import number_text
from nona.report.placements.certificate import (
    against,
    bound_text,
    formula_line,
    gap_text,
    hits_text,
    measure_text,
    order_finding,
)
from nona.report.placements.figures import congestion_figure
from nona.report.placements.report import gain_finding, missed_finding
from nona.report.placements.text import congestion_finding, early_text, plain_notes, step_rows
from nona.report.planning_figures import capacity_figure
from nona.report.times import off_text
from nona.results.placement import PlacedConfiguration, PlacedSubgraph, SearchProgress
from nona.results.planning import CapacityReport
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.study.models import glued_model
from nona.study.preparation import prepare
from nona.study.simulation import place
from nona.study.sweep_numbers import with_value
from nona.ui.pages.placement import TABS, solved_text, value_text
from nona.ui.pages.placement_result import FIRST, configuration_list
from nona.ui.session.state import AppState
from nona.ui.session.workspace import jobs
from nona.ui.tasks.desk import Desk
from nona.ui.tasks.planning import find_capacity
from nona.ui.widgets.components import texts
from nona.units import format_time


def state_of(at: Any) -> AppState:
    found: AppState = at.session_state["nona_state"]
    return found


@pytest.fixture
def solved(open_page: Open) -> AppTest:
    """The page with the placement of the slides' example."""
    return solve_demo(open_page, "slides_example")


def test_before_solving_the_page_says_what_to_do(open_page: Open) -> None:
    at = open_page("6_placement")
    assert "No placement yet" in at.info[0].value
    assert not at.metric


def test_findings_and_configurations_are_the_results(solved: AppTest) -> None:
    at, state = solved, state_of(solved)
    data = state.results["place"].data
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert order_finding(data) in shown
    tree = json.loads(at.get("bidi_component")[0].proto.json)["tree"]
    subgraph = next(iter(data.nona.models.values())).subgraphs[0]
    assert tree == [configuration_list(subgraph)]
    assert "root's server" in texts(tree[0])


def test_tiles_bars_and_table_are_by_sampled_jobs(open_page: Open) -> None:
    """Headline, local and spread by the same jobs; the formula's own figures stand apart and say so."""
    at = solve_demo(open_page, "rag_pipeline")
    state = state_of(at)
    data, study = state.results["place"].data, prepare(state.scenario)
    report, wanted = data.nona, place(study)
    assert report.objective_s == wanted.objective_s
    assert report.objective_s == pytest.approx(report.response.mean_s, rel=1e-12)
    for other, fixed in ((data.local, local_placement), (data.spread, spread_placement)):
        assert other.objective_s == by_response(study.system, fixed(study.system)).objective_s
    assert metrics(at)["Predicted mean JCT"] == format_time(wanted.objective_s)
    shown = [x.value.replace("\\", "") for x in (*at.markdown, *at.caption)]
    assert f"**{gap_text(report)}**" in shown
    assert f"**{against(data, 'local').removesuffix(' local')}**" in shown
    for line in (measure_text(report), bound_text(report), formula_line(report)):
        assert any(line in text for text in shown)
    bars = json.loads(next(c.proto.spec for c in at.get("plotly_chart") if '"spread"' in c.proto.spec))[
        "data"
    ][0]
    ms = [1e3 * r.objective_s for r in (data.nona, data.local, data.spread)]
    assert bars["text"] == [f"{v:.4g} ms" for v in ms]


def test_the_live_panel_shows_the_steps_of_the_search() -> None:
    steps = [
        {
            "elapsed_s": 0.5,
            "objective_s": 0.09,
            "error_s": 1e-4,
            "origin": "local",
            "lower_bound_s": None,
            "gap": None,
        },
        {
            "elapsed_s": 2.0,
            "objective_s": 0.08,
            "error_s": 2e-4,
            "origin": "search",
            "lower_bound_s": 0.06,
            "gap": 0.25,
        },
    ]

    def page(steps: list) -> None:  # type: ignore[type-arg]  # run without the imports above
        from nona.ui.pages.placement import live_search

        live_search({"steps": steps})

    first = AppTest.from_function(page, kwargs={"steps": steps[:1]}).run()
    assert "no bound yet" in first.markdown[0].value
    assert not first.get("plotly_chart")
    at = AppTest.from_function(page, kwargs={"steps": steps}).run()
    assert not at.exception
    assert "Best so far" in at.markdown[0].value
    assert "25 %" in at.markdown[0].value
    assert at.dataframe[0].value.to_dict("records") == step_rows(
        SearchProgress.from_json({"steps": steps}).steps
    )
    assert len(at.get("plotly_chart")) == 1


def test_a_cancelled_search_leaves_the_best_so_far(open_page: Open) -> None:
    at = open_demo(open_page, "vision_language_8_servers")  # a large interior: local comes first
    state_of(at).edit(("background", "network", "utilization"), 0.23)  # which no test before has solved
    at = go(at, "6_placement")
    at.button(key="run-place").click().run()
    job = jobs().get(state_of(at).jobs["place"])
    assert job is not None
    end = time.monotonic() + 300
    while job.unfinished and job.best is None and time.monotonic() < end:
        job.touch()
        time.sleep(0.01)
    assert job.unfinished, f"{job.status} before its first answer: {job.error}"
    assert job.live.get("steps"), f"no answer after {job.elapsed_s:.0f} s: {job.text}"
    job.cancel()
    assert job.status == "cancelled"
    at.run()
    assert not at.exception
    data = state_of(at).results["place"].data
    assert data.ended_early_s == pytest.approx(job.elapsed_s)
    assert data.nona.objective_s == data.steps[-1].objective_s
    assert metrics(at)["Predicted mean JCT"] == format_time(data.nona.objective_s)
    assert early_text(data.ended_early_s) in [w.value.replace("\\", "") for w in at.warning]
    for name in TABS:  # everything below it can be opened
        tab(at, "placement-tabs", name)
    again = go(at, "1_overview")
    assert any("cancelled early" in x.proto.json for x in again.get("bidi_component"))


def test_what_could_leave_its_server_stands_below(solved: AppTest) -> None:
    at, state = tab(solved, "placement-tabs", "What splitting can gain"), state_of(solved)
    frame = next(d.value for d in at.dataframe if "groups that might leave" in d.value)
    network, study = state.scenario.cluster.network, prepare(state.scenario)
    glued = [glued_model(m, Link(network.capacity, network.latency)) for m in study.models]
    assert list(frame["model"]) == list(state.scenario.labels)
    assert list(frame["groups that might leave"]) == [g.interior_units for g in glued]
    assert list(frame["lost at most µs"]) == [1e6 * g.bound_s for g in glued]


def test_the_price_of_congestion_is_drawn_when_asked_for(solved: AppTest) -> None:
    at, state = solved, state_of(solved)
    assert "congestion" not in state.results
    tab(at, "placement-tabs", "Price of congestion")
    at.button(key="run-congestion").click().run()
    finish(at, "congestion")
    curve = state.results["congestion"].data
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert congestion_finding(curve) in shown
    assert curve.now == 0
    assert curve.stops > 0.5
    charts = {json.dumps(json.loads(c.proto.spec)["data"], sort_keys=True) for c in at.get("plotly_chart")}
    wanted = congestion_figure(curve, {"slides_example": state.scenario.workload[0].slo or 0})
    names = {t["name"] for c in charts for t in json.loads(c) if "name" in t}
    assert {t.name for t in wanted.data} <= names


def test_the_working_is_opened_by_a_switch_and_equals_the_solver(solved: AppTest) -> None:
    at = tab(solved, "placement-tabs", "The working")
    assert not at.latex
    at.toggle(key="working-on").set_value(True).run()
    assert not at.exception
    placement = place(prepare(state_of(at).scenario))
    labels = [e.label.replace("\\", "") for e in at.expander]
    lines = {x.key: x for x in state_of(at).results["place"].data.working.lines}
    assert lines["objective"].value == pytest.approx(placement.prediction.jct_s)
    for line in lines.values():
        assert f"{line.title}: **{value_text(line)}**" in labels
    formulas = "".join(x.value for x in at.latex)
    for line in lines.values():
        assert line.formula in formulas
        assert line.filled in formulas
    table = next(d.value for d in at.dataframe if "g ms" in d.value)
    assert table["x, %"].sum() == pytest.approx(100)
    assert metrics(at)["Predicted mean JCT"] == "14 ms"


def test_many_configurations_are_folded() -> None:
    many = [
        PlacedConfiguration(parts=(("a",), ("b",)), root_part=0, sink_part=-1, probability=p)
        for p in (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)
    ]
    tree = configuration_list(PlacedSubgraph(root="r", sink=None, configurations=tuple(many)))
    shown = texts(tree)
    assert f"Show {len(many) - FIRST} more, which share 15 %" in shown
    assert shown.count("(end)") == len(many)
    shares = [t for t in shown if t.endswith(" %") and t[0].isdigit()]
    assert shares == ["40 %", "20 %", "15 %", "10 %", "10 %", "5 %"]


def test_repeated_notes_are_told_once() -> None:
    notes = ["Restricted: interior of 10 tasks, 9 listed; the bounds hold for all configurations."] * 2 + [
        "Other."
    ]
    told = plain_notes(notes)
    assert told[0] == "Other."
    assert len(told) == 2


def test_the_objective_is_chosen_and_what_was_searched_is_told(open_page: Open) -> None:
    at = open_demo(open_page, "slides_example")
    go(at, "6_placement")
    box = next(s for s in at.selectbox if s.label == "Objective")
    box.select("Missed SLOs").run()
    assert state_of(at).scenario.objective == "slo"
    at.button(key="run-place").click().run()
    finish(at, "place")
    report = state_of(at).results["place"].data.nona
    assert report.objective == "slo"
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert gain_finding(report) in shown
    assert gain_finding(report) in missed_finding(report)
    assert metrics(at) == {"Predicted SLO hits": hits_text(report).split(" %")[0] + " %"}
    assert "more SLOs than local" in order_finding(state_of(at).results["place"].data)
    bars = json.loads(next(c.proto.spec for c in at.get("plotly_chart") if '"spread"' in c.proto.spec))
    assert bars["layout"]["yaxis"]["title"]["text"] == "predicted SLO hits, %"


def test_the_headline_is_the_response_when_the_formula_was_minimised(open_page: Open) -> None:
    """What has been compared with simulations heads the page; the formula's figure stands beside as such."""
    at = go(open_demo(open_page, "vision_language_8_servers"), "6_placement")
    state = state_of(at)
    state.edit(("objective",), "formula")
    at.run()
    at.button(key="run-place").click().run()
    finish(at, "place")
    data = state.results["place"].data
    response, formula = data.nona.response.mean_s, data.nona.objective_s
    assert response > 1.02 * formula
    assert metrics(at) == {"Predicted mean JCT": format_time(response)}
    shown = [x.value.replace("\\", "") for x in (*at.markdown, *at.caption)]
    assert "Mean JCT by formula" in shown
    assert f"**{format_time(formula)}**" in shown
    assert any(off_text(data.if_times_off) in text for text in shown)
    bars = json.loads(next(c.proto.spec for c in at.get("plotly_chart") if '"spread"' in c.proto.spec))
    ms = [1e3 * r.response.mean_s for r in (data.nona, data.local, data.spread)]
    assert bars["data"][0]["text"] == [f"{number_text(v)} ms" for v in ms]


def test_a_placement_from_the_cache_does_not_claim_to_have_been_solved(open_page: Open) -> None:
    at = solve_demo(open_page, "slides_example")
    first = state_of(at).results["place"].data
    at.button(key="run-place").click().run()
    finish(at, "place")
    again = state_of(at).results["place"].data
    assert again.known
    assert solved_text(again).startswith("Known from an earlier solution")
    fresh = first.model_copy(update={"known": False})
    assert solved_text(fresh).startswith("Solved in")
    early = solved_text(fresh.model_copy(update={"ended_early_s": 3.0}))
    assert early == "Cancelled after 3 s"


def test_a_cancelled_search_keeps_what_is_known_of_unfinished_schedulers() -> None:
    """Told after every number of servers: what was tried, marked as not finished, and who was not begun."""
    told: list[CapacityReport] = []

    def emit(message: dict[str, Any]) -> None:
        if "best" in message:
            assert message["best"] == message["live"]
            told.append(CapacityReport.from_json(message["best"]))

    spec = {
        "scenario": scenario_to_mapping(load_scenario(scenario_path("slides_example"))),
        "uploads": "",
        "hit": 0.97,
        "group": 0,
        "schedulers": ["local", "nona"],
    }
    whole = CapacityReport.from_json(find_capacity(spec, Desk(emit)))
    first, last = told[0], told[-1]
    assert [(d.scheduler, d.finished, len(d.tried)) for d in first.devices] == [
        ("local", False, 1),
        ("nona", False, 0),
    ]
    assert "local with a100-40gb is not finished: " in capacity_finding(first)
    assert "nona with a100-40gb is not begun." in capacity_finding(first)
    assert [d.finished for d in last.devices] == [True, False]
    assert last.devices[0] == whole.devices[0]
    assert set(last.devices[1].tried) <= set(whole.devices[1].tried)
    need = whole.devices[1].servers
    assert need is not None
    (row,) = [r for r in capacity_rows(last) if r["scheduler"] == "nona"]
    assert need == 2
    assert row["servers"] == "not finished: 2 servers keep, 1 does not"
    assert all(d.finished for d in whole.devices)
    names = [t.name for t in capacity_figure(last).data if t.name]
    assert names == ["local", "nona, not finished"]


def test_the_fewest_servers_are_found_drawn_and_told(open_page: Open) -> None:
    """The slides' example is in time on two servers and late on one."""
    at = solve_demo(open_page, "slides_example")
    tab(at, "placement-tabs", "How many servers")
    own = [e.name for e in state_of(at).scenario.schedulers]
    assert pickers(at)["Schedulers"]["chosen"] == own
    at.session_state["capacity-schedulers"] = ["nona"]
    at.run()
    assert pickers(at)["Schedulers"]["chosen"] == ["nona"]
    at.button(key="run-capacity").click().run()
    finish(at, "capacity")
    report = state_of(at).held("capacity", CapacityReport)
    assert report is not None
    assert report.devices[0].servers == 2
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert capacity_finding(report) in shown
    assert "With nona, 2 servers" in shown
    assert any("nona alone" in c.value for c in at.caption)
    spec = json.loads(at.get("plotly_chart")[-1].proto.spec)
    drawn = dict(zip(spec["data"][0]["x"], spec["data"][0]["y"], strict=True))
    assert drawn[1] == 100
    assert 0 < drawn[2] < 1  # none missed: at the lower end of the logarithmic axis
    assert spec["layout"]["yaxis"]["type"] == "log"
    # another question, and another cluster: the answer stays, with a word about what it answers
    next(s for s in at.selectbox if s.label == "SLOs to keep").select("95 %").run()
    assert any("question has changed since this search" in w.value for w in at.warning)
    state = state_of(at)
    state.apply(with_value(state.scenario, "cluster.servers.0.count", 5), "more servers")
    at.run()
    assert any("scenario has changed since this search" in w.value for w in at.warning)
    assert any("With nona, 2 servers" in m.value for m in at.markdown)
