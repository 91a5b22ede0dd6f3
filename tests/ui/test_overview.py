"""The Overview: its story is what the worker computed, its questions lead to their pages."""

from __future__ import annotations

import json
import time

import pytest
from app_driver import Open

from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.ui.jobs.registry import JobRegistry
from nona.ui.pages.overview import QUESTIONS, TRIES, Kept, answer, finding, kept, story_view
from nona.ui.session.state import AppState
from nona.ui.tasks.sweeps import LOADS


def test_the_story_on_the_page_is_what_was_computed(open_page: Open) -> None:
    at = open_page("1_overview")
    shown = json.loads(at.get("bidi_component")[0].proto.json)
    assert shown == json.loads(json.dumps(story_view(kept().told).to_json()))
    assert [p["load"] for p in shown["points"]] == list(LOADS)
    first = shown["points"][0]["runs"]
    assert {n: r["mean_ms"] for n, r in first.items()} == pytest.approx(
        {"local": 22, "spread": 32, "nona": 14}
    )
    assert f"{100 * shown['limit']:.0f} %" in shown["finding"]


def test_the_slider_has_its_whole_scale_while_points_come() -> None:
    told = kept().told
    assert told is not None
    few = story_view(told.model_copy(update={"points": told.points[:3]}))
    assert (len(few.points), few.of) == (3, len(LOADS))
    assert story_view(told).of == len(LOADS)


def test_the_story_is_told_by_a_worker_and_kept() -> None:
    registry, story = JobRegistry(limit=1), Kept()
    try:
        end = time.monotonic() + 300
        while not story.complete and time.monotonic() < end:
            story.refresh(registry)
            time.sleep(0.1)
        assert story.complete
        assert story.told == kept().told
        assert registry.free("story") == 1
    finally:
        registry.shut_down()


def test_a_busy_server_tells_the_story_later() -> None:
    registry, story = JobRegistry(limit=1, quick=0), Kept()
    try:
        story.refresh(registry)
        job = registry.get(story.job)
        assert job is not None
        assert job.waiting
        story.refresh(registry)
        assert registry.get(story.job) is job  # it keeps its place
        assert (story.complete, story.error) == (False, "")
    finally:
        registry.shut_down()


def test_the_story_is_begun_again_when_its_worker_dies() -> None:
    registry, story = JobRegistry(limit=1), Kept()
    killed: list[str] = []
    try:
        end = time.monotonic() + 300
        while time.monotonic() < end and len(killed) < TRIES:
            story.refresh(registry)
            job = registry.get(story.job)
            if job is not None and job.running and job.id not in killed:
                killed.append(job.id)
                job.process.kill()
            time.sleep(0.05)
        while time.monotonic() < end and not story.error:
            story.refresh(registry)
            time.sleep(0.05)
        assert len(killed) == TRIES  # not for ever: a machine on which every worker dies gets a line
        assert "its worker ended with status -9" in story.error
    finally:
        registry.shut_down()


@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=[q.action for q in QUESTIONS])
def test_every_question_leads_to_its_page(open_page: Open, number: int) -> None:
    at = open_page("1_overview")
    question = QUESTIONS[number]
    before = at.session_state["nona_state"].scenario
    at.button(key=f"question-{number}").click().run()
    assert not at.exception
    wanted = load_scenario(scenario_path(question.scenario)) if question.scenario else before
    assert at.session_state["nona_state"].scenario == wanted
    assert question.page.split("_")[1].removesuffix(".py") == at.title[0].value.lower()


def test_a_question_is_asked_of_ones_own_scenario_if_it_can_be() -> None:
    state = AppState()
    assert state.edit(("workload", 0, "rate"), "77/s")
    own = state.scenario
    for question in (q for q in QUESTIONS if q.scenario):
        answer(state, question)
        assert state.go_to == question.page
        assert (state.scenario == own) == (question.part == "workload")
        if state.scenario != own:
            assert "brings yours back" in state.toast
            state.undo()
            assert state.scenario == own


def test_the_example_opens_with_the_load_that_was_chosen(open_page: Open) -> None:
    at = open_page("1_overview")
    at.session_state["network-story"] = {"load": 0.6}
    next(b for b in at.button if b.label == "Open this example").click().run()
    assert not at.exception
    scenario = at.session_state["nona_state"].scenario
    assert scenario.background.network.utilization == 0.6
    assert at.title[0].value == "Placement"


def test_what_the_curve_says_at_its_ends() -> None:
    assert "every load" in finding(None)
    assert "0 %" in finding(0.0)
