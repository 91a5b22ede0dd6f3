"""The what-if panel: its sliders are the scenario's numbers, its answer follows them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from app_driver import Open, go

from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.study import answers, prepare
from nona.ui.pages.simulation.what_if_edits import capacities, load_factor, most_servers, set_load_factor
from nona.ui.session.live import Live
from nona.ui.session.state import AppState
from nona.ui.session.uploads import Uploads
from nona.ui.session.workspace import jobs
from nona.ui.tasks.answer import REPLICATIONS


def state_of(at: Any) -> AppState:
    state: AppState = at.session_state["nona_state"]
    return state


def panel(open_page: Open) -> Any:
    """The Simulation page with the panel on it."""
    return open_page("7_simulation").segmented_control(key="simulation-view").set_value("What if").run()


def small(state: AppState, **changes: Any) -> None:
    """The slides' example, small."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"simulation": {"jobs": 60, "replications": 2}, "schedulers": ["nona", "local", "spread"]}
    state.adopt(scenario_from_mapping(data | changes))


def slider(at: Any, label: str) -> Any:
    return next(s for s in [*at.slider, *at.select_slider] if s.label == label)


def table(at: Any) -> Any:
    return next((d.value for d in at.dataframe if "SLO hits" in d.value and "p50" not in d.value), None)


def style(at: Any) -> str:
    return str(next(h.proto.body for h in at.get("html") if "what-if-answer" in h.proto.body))


def until_answered(at: Any, replications: int = REPLICATIONS, seconds: float = 60) -> Any:
    """Look again and again, as the browser does, until the answer for these numbers is there."""
    end = time.monotonic() + seconds
    state = state_of(at)
    while time.monotonic() < end:
        at.run()
        assert not at.exception, at.exception
        shown = state.live.answer
        fresh = shown and shown.fingerprint == state.fingerprint("simulate")
        if fresh and shown.data.replications >= replications and not state.live.busy(jobs()):
            return at.run()
        time.sleep(0.05)
    raise AssertionError("no answer in time")


def test_sliders_are_the_scenario_s_numbers(open_page: Open) -> None:
    at = panel(open_page)
    slider(at, "Link background").set_value(35).run()
    slider(at, "Compute background").set_value(20).run()
    slider(at, "Servers").set_value(11).run()
    slider(at, "Load").set_value(1.5).run()
    slider(at, "Link capacity").set_value("50 Gbit/s").run()
    scenario = state_of(at).scenario
    assert (scenario.background.network.utilization, scenario.background.compute.utilization) == (0.35, 0.2)
    assert (scenario.cluster.servers[0].count, scenario.workload[0].rate) == (11, 450)
    assert scenario.cluster.network.capacity == 6.25e9
    assert state_of(at).live.answer is None  # nobody asked
    go(at, "4_cluster")
    assert next(t for t in at.text_input if t.label == "Capacity").value == "50 Gbit/s"
    assert next(n for n in at.number_input if n.label == "Servers").value == 11
    next(n for n in at.number_input if n.label == "Servers").set_value(5).run()
    go(at, "7_simulation")
    assert slider(at, "Servers").value == 5
    assert slider(at, "Load").value == 1.5


def test_the_load_goes_back_to_the_very_rates_and_starts_anew_when_they_are_edited() -> None:
    state = AppState()
    state.edit(("workload",), [{"model": "resnet18", "rate": 1 / 3}, {"model": "gpt2", "rate": 7.123456789}])
    before = state.scenario
    set_load_factor(state, 2.0)
    assert [r.rate for r in state.scenario.workload] == pytest.approx([2 / 3, 14.246913578], rel=1e-5)
    set_load_factor(state, 0.1)
    assert load_factor(state) == 0.1
    set_load_factor(state, 1.0)
    assert state.scenario == before
    set_load_factor(state, 3.0)
    state.edit(("workload", 0, "rate"), "12/s")
    assert load_factor(state) == 1.0
    set_load_factor(state, 2.0)
    assert state.scenario.workload[0].rate == 24


def test_the_ends_of_the_sliders_hold_still_while_they_are_moved() -> None:
    state = AppState()
    ends, choices = most_servers(state), capacities(state)
    assert ends == 16
    assert "25 Gbit/s" in choices
    for count in (1, 16, 3):
        assert state.edit(("cluster", "servers", 0, "count"), count)
        assert most_servers(state) == ends
    for text in choices:
        assert state.edit(("cluster", "network", "capacity"), text)
        assert capacities(state) == choices
    state.edit(("cluster", "network", "capacity"), "7 Gbit/s")
    assert "7 Gbit/s" in capacities(state)


def test_the_answer_is_that_of_the_study_and_follows_a_slider(open_page: Open) -> None:
    at = panel(open_page)
    small(state_of(at))
    at.run()
    at.toggle[0].set_value(True).run()
    until_answered(at)
    *_, wanted = answers(prepare(state_of(at).scenario), jobs=60, replications=REPLICATIONS)
    shown = state_of(at).live.answer
    assert shown is not None
    found = shown.data.report.schedulers
    assert list(found) == ["nona", "local", "spread"] == list(table(at)["scheduler"])
    for name, summary in wanted.summaries.items():
        assert found[name].jct_s.mean == summary.jct.mean.mean
    assert list(table(at)["predicted"]) == ["14 ms", "22 ms", "32 ms"]
    assert "opacity: 1" in style(at)
    assert "before the change" not in table(at)

    former = table(at)
    slider(at, "Link background").set_value(50).run()
    if "opacity: 0.45" in style(at):  # the former answer stays, dimmed, while there is no other
        assert list(table(at)["mean JCT"]) == list(former["mean JCT"])
    until_answered(at)
    assert list(table(at)["before the change"]) == [m.split(" ±")[0] for m in former["mean JCT"]]
    assert "opacity: 1" in style(at)
    assert table(at)["link"][1] != former["link"][1]


def test_a_change_supersedes_what_is_being_asked(open_page: Open) -> None:
    at = panel(open_page)
    small(state_of(at))
    at.run()
    at.toggle[0].set_value(True).run()
    first = state_of(at).live.parts
    assert first
    slider(at, "Link background").set_value(10).run()
    slider(at, "Link background").set_value(20).run()
    second = state_of(at).live.parts
    assert second
    assert not set(first) & set(second)
    assert [jobs().get(p) for p in first] == [None] * len(first)
    until_answered(at)
    at.toggle[0].set_value(False).run()
    assert state_of(at).live.parts == ()
    assert table(at) is None
    slider(at, "Link background").set_value(30).run()
    assert state_of(at).live.parts == ()


def test_what_cannot_be_placed_is_said_and_the_others_answer(open_page: Open) -> None:
    at = panel(open_page)
    row = scenario_to_mapping(load_scenario(scenario_path("slides_example")))["workload"][0]
    small(state_of(at), workload=[row | {"rate": "1000/s"}])
    at.run()
    at.toggle[0].set_value(True).run()
    until_answered(at, replications=1)
    assert any("nona cannot run" in w.value.replace("\\", "") for w in at.warning)
    assert list(table(at)["scheduler"]) == ["local", "spread"]
    assert list(table(at)["predicted"]) == ["overloaded", "overloaded"]
    assert list(table(at)["mean JCT"]) == ["–", "–"]


def test_nothing_is_asked_while_the_scenario_is_not_valid(open_page: Open) -> None:
    at = panel(open_page)
    small(state_of(at))
    state_of(at).live.on = True
    state_of(at).edit(("cluster", "network", "capacity"), "5 apples")
    at.run()
    assert not at.exception
    assert state_of(at).live.parts == ()
    assert any("5 apples" in w.value for w in at.warning)


def test_the_button_takes_the_workers_of_the_quick_answer(open_page: Open) -> None:
    at = panel(open_page)
    small(state_of(at))
    at.run()
    at.toggle[0].set_value(True).run()
    first = state_of(at).live.parts
    at.segmented_control(key="simulation-view").set_value("Run").run()
    at.button(key="run-simulate").click().run()
    assert [jobs().get(p) for p in first] == [None] * len(first)
    assert jobs().get(state_of(at).jobs["simulate"]) is not None


def test_an_answer_that_was_lost_is_asked_for_again() -> None:
    """The page was left for so long that nobody watched; or the worker was killed by someone else."""
    state, registry = AppState(), jobs()
    small(state)
    live, uploads = Live(on=True), Uploads()
    live.refresh(registry, "f0", state.scenario, uploads)
    lost = live.parts
    for part in lost:
        job = registry.get(part)
        assert job is not None
        job.cancel()
    live.refresh(registry, "f0", state.scenario, uploads)
    assert live.parts
    assert live.parts != lost
    live.stop(registry)
