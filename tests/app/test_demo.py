"""The demo: its stories are short and without numbers; its steps show real results; one's own comes back."""

import time

import pytest
from app_driver import APP, end_jobs, finish, go, job_of, new_session, said, state_of
from sizes import first

from nona.app.jobs.registry import AppJob
from nona.app.layout import frame
from nona.app.layout.frame import facts
from nona.app.pages.demo import DemoState, begin, can, press_key
from nona.app.pages.demo_questions import MOST_STEPS, STORIES, DemoStep
from nona.app.pages.home import QUESTIONS
from nona.app.session.kept import is_choice
from nona.app.session.opening import shipped
from nona.app.session.page_list import PAGES, page_file
from nona.app.session.state import AppState, Result
from nona.app.store.contents import scenario_of
from nona.app.widgets.fields import plain
from nona.planning.results import PlanOutcome
from nona.queries.report.findings import headline
from nona.queries.workflows.shipped import PLANNED, stored_result
from nona.scenario.sample_files import shipped_scenario

STEPS = [(s, step) for s in STORIES for step in s.steps]


def tour(at):
    found = state_of(at).choices.find(DemoState)
    assert found is not None
    return found


def begun(at, story):
    begin(state_of(at), story)
    return at.run()


def press(at, key):
    return at.button(key=f"demo-{key}").click().run()


def test_stories_of_at_most_five_steps_without_numbers_in_their_texts_and_their_ends():
    assert len(STORIES) == len(QUESTIONS) + 1 == 10
    for number, question in enumerate(QUESTIONS):  # the demo of its card
        assert question.scenario in ("", STORIES[number + 1].scenario)
    for story in STORIES:
        assert 1 < len(story.steps) <= MOST_STEPS
    for story, step in STEPS:
        assert not any(c.isdigit() for c in step.text)
        assert step.text.count(". ") <= 1, "one or two sentences"
        assert (APP.parent / step.page).exists()
        assert all(is_choice(key) for key, _ in step.choices)
        shipped(story.scenario, step.changes)
    last = len(STORIES) - 1
    assert not can(DemoState(AppState()), "back")
    assert not can(DemoState(AppState(), last, len(STORIES[last].steps) - 1), "next")
    assert isinstance(DemoState(AppState()).shown, DemoStep)
    at = new_session()
    at.query_params["demo"] = "<b>"
    at.run()
    assert tour(at).question_index == 0
    assert "demo" not in at.query_params


@pytest.fixture
def no_work(monkeypatch):
    """Jobs begin, and stay as they are then: what comes of them is not what is tested."""

    def begin_only(job, take):
        with job.lock:
            waited = job.status == "waiting"
            if waited:
                job.status, job.started = "running", time.monotonic()
        return waited

    end_jobs()
    monkeypatch.setattr(AppJob, "begin", begin_only)
    yield
    end_jobs()


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("number", first(4, range(len(STORIES))), ids=[s.question for s in STORIES])
def test_every_step_opens_its_page(number):
    at = new_session()
    at.query_params["demo"] = str(number + 1)
    at.run()
    for index, step in enumerate(STORIES[number].steps):
        assert (tour(at).question_index, tour(at).step) == (number, index)
        assert at.title[0].value == next(e.title for e in PAGES.values() if page_file(e.name) == step.page)
        assert step.text in [m.value.replace("\\", "") for m in at.markdown]
        assert not state_of(at).choices.complaints.get("demo-error")
        if step.run:
            assert step.run in {**state_of(at).jobs, **state_of(at).results}
        if can(tour(at), "next"):
            press(at, "next")
    press(at, "leave")
    assert state_of(at).choices.find(DemoState) is None


def test_the_plan_of_the_demo_ships_whole_and_is_of_its_scenario():
    outcome = stored_result(PlanOutcome)
    assert scenario_of(outcome) == shipped_scenario(PLANNED)
    assert outcome.report.complete
    assert outcome.ended_early_s is None
    best = outcome.report.best
    assert best is not None
    assert best.verdict == "keeps"
    kept = [o.cost_per_hour for o in outcome.report.options if o.verdict == "keeps"]
    assert best.cost_per_hour == min(kept)
    at = new_session()
    at.query_params["demo"] = str(1 + next(n for n, s in enumerate(STORIES) if s.scenario == PLANNED))
    at.run()
    assert "plan" not in state_of(at).jobs, "nobody waits for it"
    assert "ships with the program" in said(at.caption)
    assert any(m.value.startswith("**Found:** ") for m in at.markdown)


@pytest.mark.usefixtures("no_work")
def test_a_step_that_is_entered_while_the_one_before_still_solves_has_a_run_of_its_own():
    at = new_session()
    at.query_params["demo"] = "1"
    press(at.run(), "next")
    state, before = state_of(at), state_of(at).fingerprint("place")
    solving = job_of(at, "place")
    solving.take_in({"id": solving.id, "best": {}})  # it has something that Cancel would keep
    state.results["place"] = Result(before, None, "of the step before")
    press(at, "next")
    own = job_of(at, "place")
    assert own.fingerprint == state.fingerprint("place") != before
    assert (own.unfinished, solving.unfinished) == (True, False)
    assert "place" not in state.results, "the answer of the step before is not shown"
    assert "demo-run" not in {b.key for b in at.button}
    own.cancel()
    at.run().button(key="demo-run").click().run()
    again = job_of(at, "place")
    assert (again.fingerprint, again.unfinished, again is own) == (own.fingerprint, True, False)


def test_the_last_step_of_the_first_question_asks_for_what_one_server_can_keep():
    story = STORIES[0]
    last = shipped(story.scenario, story.steps[-1].changes)
    assert last.workload[0].slo > 0.022, "all four tasks take 22 ms on one server"


@pytest.fixture
def quickly(monkeypatch):
    """The shipped scenarios are placed by formula and simulated shortly: neither is what is tested."""

    def load(name):
        scenario = shipped_scenario(name)
        short = scenario.simulation.model_copy(update={"jobs": 200, "replications": 2})
        return scenario.model_copy(update={"objective": "formula", "simulation": short})

    monkeypatch.setattr("nona.app.session.opening.shipped_scenario", load)


@pytest.mark.verify
@pytest.mark.usefixtures("quickly")
def test_what_was_simulated_is_shown_again_and_compared(open_page):
    at = press(begun(open_page("home"), 2), "next")
    assert not [m for m in at.markdown if "Found:" in m.value], "no outcome before there is one"
    finish(at, "simulate")
    first = state_of(at).results["simulate"]
    told = headline(first.data.report.schedulers, first.data.differences, first.data.off).text
    assert f"**Found:** {plain(told)}" in [m.value for m in at.markdown]
    assert go(at, "simulation").metric
    finish(press(at, "next"), "simulate")
    assert state_of(at).results["simulate"].fingerprint != first.fingerprint
    baseline = state_of(at).runs.baseline
    assert baseline.fingerprint == first.fingerprint
    press(at, "back")
    assert state_of(at).results["simulate"] == first
    assert not state_of(at).is_stale("simulate")


def test_ones_own_session_comes_back_whole(open_page):
    at = open_page("scenario")
    state = state_of(at)
    assert state.edit(("cluster", "servers", 0, "count"), 5)
    assert not state.edit(("cluster", "network", "latency"), "5 apples")
    go(at, "models").session_state["model-view"] = "Tables"
    go(at.run(), "home")
    scenario, drafts, uploads = state.scenario, state.drafts, state.uploads
    at.button(key="start-demo").click().run()
    assert state.scenario != scenario
    assert state.uploads is uploads
    for key in ("next", "next", "back"):
        press(at, key)
    press(at, "leave")
    assert state_of(at) is state
    assert (state.scenario, state.drafts) == (scenario, drafts)
    assert at.title[0].value == "Home"
    assert (len(state.results), len(state.runs.kept)) == (0, 0)
    assert go(at, "models").session_state["model-view"] == "Tables"
    state.undo()  # what is not valid goes first
    assert not state.drafts
    assert state.scenario.cluster.servers[0].count == 5
    state.undo()
    assert state.scenario.cluster.servers[0].count == 8


def test_a_late_key_moves_nothing_and_leads_back_to_the_step_that_is_shown():
    state = AppState()
    begin(state, 4)
    pages = [step.page for step in STORIES[4].steps]
    press_key(state, "next 5.1")
    assert state.go_to == pages[1]
    state.go_to = ""
    for told in ("next 5.1", "back 5.1", "leave 5.1"):  # pressed before the browser had drawn the second step
        press_key(state, told)
        found = state.choices.find(DemoState)
        assert found.place == "5.2"
        assert state.go_to == pages[1] != pages[0], "Streamlit would draw the page it was pressed on"
    press_key(state, "back 5.2")
    assert state.go_to == pages[0]


def test_the_page_that_was_chosen_is_asked_for_until_it_runs(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(frame.st, "switch_page", lambda page, query_params: asked.append(page))
    state = AppState(go_to="pages/scenario.py")
    for running in ("simulation", "simulation", "scenario"):
        frame.follow(state, running)  # an event of the page before came in between
    assert asked == ["pages/scenario.py"] * 2
    frame.follow(state, "simulation")
    assert len(asked) == 2, "whoever goes elsewhere afterwards is left alone"


@pytest.mark.verify
@pytest.mark.usefixtures("quickly")
def test_nothing_of_another_story_is_shown(open_page):
    at = press(begun(open_page("home"), 2), "next")
    finish(at, "simulate")
    assert "simulate" in state_of(at).results
    assert any(fact.text.endswith("SLO hits") for fact in facts(state_of(at)))
    press(press(at, "next"), "next")
    assert tour(at).place == "4.1"
    finish(at, "simulate")  # the run of the step before ends here
    assert not any("SLO hits" in fact.text for fact in facts(state_of(at)))
