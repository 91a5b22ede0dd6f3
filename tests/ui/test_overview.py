"""The Overview: its story ships, its questions lead to their pages."""

import json

import pytest
from app_driver import (
    named,
    open_demo,
    state_of,
)

from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.link_load import LOADS
from nona.study.shipped import shipped_story
from nona.ui.pages.overview import QUESTIONS, answer, finding, story_view
from nona.ui.session.state import AppState


def test_the_story_on_the_page_is_the_one_that_ships(open_page):
    at = open_page("1_overview")
    shown = json.loads(at.get("bidi_component")[0].proto.json)
    assert shown == json.loads(json.dumps(story_view(shipped_story()).to_json()))
    assert [p["load"] for p in shown["points"]] == list(LOADS)
    first = shown["points"][0]["runs"]
    assert {n: r["mean_ms"] for n, r in first.items()} == pytest.approx(
        {"local": 22, "spread": 32, "nona": 14}
    )
    assert f"{100 * shown['limit']:.0f} %" in shown["finding"]


@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=[q.action for q in QUESTIONS])
def test_every_question_leads_to_its_page(open_page, number):
    at = open_page("1_overview")
    question = QUESTIONS[number]
    before = at.session_state["nona_state"].scenario
    at.button(key=f"question-{number}").click().run()
    wanted = load_scenario(scenario_path(question.scenario)) if question.scenario else before
    assert at.session_state["nona_state"].scenario == wanted
    assert question.page.split("_")[1].removesuffix(".py") == at.title[0].value.lower()


def test_a_question_is_asked_of_ones_own_scenario_if_it_can_be():
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


def test_the_example_opens_with_the_load_that_was_chosen(open_page):
    at = open_page("1_overview")
    at.session_state["network-story"] = {"load": 0.6}
    named(at.button, "Open this example").click().run()
    scenario = at.session_state["nona_state"].scenario
    assert scenario.background.network.utilization == 0.6
    assert at.title[0].value == "Placement"


def test_what_the_curve_says_at_its_ends():
    assert "every load" in finding(None)
    assert "0 %" in finding(0.0)


def test_overview_opens_a_demo_and_its_pipeline(open_page):
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
