"""The what-if view: its sliders change a copy of the scenario, its answer follows them."""

import json
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from app_driver import adopt, changed, edit, go, put, shown, state_of, until

from nona.app.jobs.registry import AppJob, JobRegistry
from nona.app.pages.queries.simulation_what_if import apply, changed_text, copied, discard, move, moves, value
from nona.app.session.live import LiveAnswers, question
from nona.app.session.state import AppState
from nona.app.session.uploads import Uploads
from nona.app.session.workspace import jobs
from nona.app.tasks.simulation import REPLICATIONS
from nona.core.figures import GHOST
from nona.queries.sweeps.numbers import COMPUTE, LINK, LOAD, number_named
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import answers


def panel(open_page):
    """The Simulation page with the panel on it."""
    return put(open_page("simulation"), "what-if-open", True)


def slider(at, label):
    return next(s for s in [*at.slider, *at.select_slider] if s.label == label)


def table(at):
    return next((shown(d) for d in at.dataframe if "SLO hits" in d.value and "p50" not in d.value), None)


def style(at):
    return str(next(h.proto.body for h in at.get("html") if "what-if-answer" in h.proto.body))


def rested(state, early):
    """Whether a look is worth it: a part that is asked for has told of something, or all have ended."""
    asked = [job for job in map(jobs().get, state.live.parts) if job]
    for job in asked:
        job.mark_watched()
    told = any(job.live for job in asked) if early else False
    return told or not any(job.unfinished for job in asked)


def until_answered(at, replications=REPLICATIONS, seconds=300):
    """Look, as the browser does, until the answer for these numbers is there: once early, then at the end."""
    end, early = time.monotonic() + seconds, True
    state = state_of(at)
    while time.monotonic() < end:
        at.run()
        shown = state.live.find(question(copied(state)).fingerprint)
        base = question(state.scenario).fingerprint
        if shown and shown.data.replications >= replications and shown.complete and state.live.is_final(base):
            return at.run()
        until(partial(rested, state, early), seconds)
        early = False
    raise AssertionError("no answer in time")


def test_sliders_change_a_copy_until_apply_and_undo_takes_it_back(open_page):
    at = panel(open_page)
    state = state_of(at)
    before, mark = state.scenario, state.fingerprint("simulate")
    slider(at, "Link background").set_value(35).run()
    slider(at, "Compute background").set_value(20).run()
    slider(at, "Servers").set_value(11).run()
    slider(at, "Load").set_value(1.5).run()
    slider(at, "Link capacity").set_value(6.25e9).run()
    assert state.scenario is before
    assert state.fingerprint("simulate") == mark
    assert not state.history.undone
    go(at, "scenario")
    assert next(n for n in at.number_input if n.label == "Servers").value == 8
    go(at, "simulation")  # the copy is as it was
    assert [slider(at, s).value for s in ("Link background", "Servers", "Load")] == [35, 11, 1.5]

    at.button(key="what-if-apply").click().run()
    scenario = state.scenario
    assert (scenario.background.network.utilization, scenario.background.compute.utilization) == (0.35, 0.2)
    assert (scenario.cluster.servers[0].count, scenario.workload[0].rate) == (11, 450)
    assert scenario.cluster.network.capacity == 6.25e9
    assert slider(at, "Load").value == 1.0
    assert at.button(key="what-if-apply").disabled
    at.button(key="undo").click().run()
    assert state.scenario == before
    assert not state.history.undone
    assert slider(at, "Servers").value == 8


def test_numbers_that_the_scenario_changes_meanwhile_are_its_own_and_what_stands_typed_survives_apply():
    state = AppState()
    names = ("cluster.servers[0].count", LOAD)
    servers, load = (number_named(state.scenario, name) for name in names)
    move(state, servers, 11.0)
    move(state, load, 2.0)
    assert changed_text(state) == "servers 8 → 11, resnet18 rate 300/s → 600/s"
    state.edit(("cluster", "servers", 0, "count"), 5)
    assert value(state, servers) == 5
    assert list(moves(state)) == [LOAD]
    state.edit(("workload", 0, "rate"), "100/s")
    assert copied(state) is state.scenario
    move(state, load, 2.0)
    move(state, load, 1.0)
    assert not moves(state)
    state = AppState()
    state.edit(("cluster", "network", "latency"), "5 apples")
    move(state, number_named(state.scenario, LINK), 0.5)
    move(state, number_named(state.scenario, COMPUTE), 0.1)
    apply(state)
    assert state.history.undone == "what if: compute background 0 % → 10 %, link background 0 % → 50 %"
    assert state.drafts
    discard(state)
    assert state.scenario.background.network.utilization == 0.5


@pytest.mark.verify
def test_the_answer_is_that_of_the_study_and_follows_a_slider(open_page):
    at = adopt(panel(open_page))
    until_answered(at)
    *_, wanted = answers(prepare(state_of(at).scenario), jobs=60, replications=REPLICATIONS)
    shown = state_of(at).live.last
    found = shown.data.report.schedulers
    assert list(found) == ["nona", "local", "spread"] == list(table(at)["scheduler"])
    for name, summary in wanted.summaries.items():
        assert found[name].jct_s.mean == summary.result.jct_s.mean
    assert list(table(at)["predicted"]) == ["14 ms", "22 ms", "32 ms"]
    assert "opacity: 1" in style(at)
    assert "mean JCT before" not in table(at)
    assert len(at.get("plotly_chart")) == 2

    former = table(at)
    slider(at, "Link background").set_value(50).run()
    if "opacity: 0.45" in style(at):  # the former answer stays, dimmed, while there is no other
        assert list(table(at)["mean JCT"]) == list(former["mean JCT"])
    until_answered(at)
    assert list(table(at)["mean JCT before"]) == [m.split(" ±")[0] for m in former["mean JCT"]]
    assert "opacity: 1" in style(at)
    assert table(at)["link busy"][1] != former["link busy"][1]
    drawn = json.loads(at.get("plotly_chart")[0].proto.spec)["data"]
    assert sum(t["marker"]["symbol"] == GHOST for t in drawn if t.get("mode") == "markers") == 3


@pytest.mark.verify
def test_a_change_supersedes_what_is_being_asked(open_page):
    at = adopt(panel(open_page))
    first = state_of(at).live.parts
    assert first
    slider(at, "Link background").set_value(10).run()
    slider(at, "Link background").set_value(20).run()
    second = state_of(at).live.parts
    assert second
    assert not set(first) & set(second)
    assert [jobs().get(p) for p in first] == [None] * len(first)
    until_answered(at)
    at.button(key="what-if-discard").click().run()  # the scenario's own answer is still known
    assert state_of(at).live.parts == ()
    assert table(at) is not None
    assert slider(at, "Link background").value == 0
    assert at.button(key="what-if-discard").disabled


@pytest.mark.verify
def test_what_cannot_be_placed_is_said_and_the_others_answer(open_page):
    at = panel(open_page)
    row = changed().model_dump(mode="json")["workload"][0]
    adopt(at, workload=[row | {"rate": "1000/s"}])
    until_answered(at, replications=1)
    assert any("nona cannot run" in w.value.replace("\\", "") for w in at.warning)
    assert list(table(at)["scheduler"]) == ["local", "spread"]
    assert list(table(at)["predicted"]) == ["overloaded", "overloaded"]
    assert list(table(at)["mean JCT"]) == ["–", "–"]


def test_nothing_is_asked_while_the_scenario_is_not_valid(open_page):
    at = adopt(panel(open_page))
    edit(at, ("cluster", "network", "capacity"), "5 apples")
    assert state_of(at).live.parts == ()
    assert any("5 apples" in w.value for w in at.warning)


def test_the_button_takes_the_workers_of_the_quick_answer(open_page):
    at = adopt(panel(open_page))
    first = state_of(at).live.parts
    at.button(key="run-simulate").click().run()
    assert [jobs().get(p) for p in first] == [None] * len(first)
    assert jobs().get(state_of(at).jobs["simulate"]) is not None


def test_an_answer_that_was_lost_is_asked_for_again_and_parts_that_end_alike_are_one_line():
    """The page was left for so long that nobody watched; or the worker was killed by someone else."""
    state, registry = AppState(), jobs()
    state.adopt(changed())
    live, uploads, asked = LiveAnswers(), Uploads(), [question(state.scenario)]
    live.refresh(registry, asked, uploads)
    lost = live.parts
    for part in lost:
        registry.get(part).cancel()
    live.refresh(registry, asked, uploads)
    assert () != live.parts != lost
    live.stop(registry)
    asked = question(changed())
    ended = [AppJob(i, "answer", asked.fingerprint, Path(), status="failed", error="it ended") for i in "ab"]
    registry = cast("JobRegistry", SimpleNamespace(get=lambda i: next(j for j in ended if j.id == i)))
    live = LiveAnswers(requested=asked.fingerprint, parts=("a", "b"), first=asked.fingerprint)
    live.refresh(registry, [asked], Uploads())
    assert live.errors == {asked.fingerprint: ("it ended",)}
