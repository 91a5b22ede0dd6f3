"""Home, the palette and Help: what ships is shown, questions lead to pages, links and words to sections."""

import re
from itertools import chain

import pytest
from app_driver import APP, go, named, pickers, put, said, state_of

from nona.app.form import help_text
from nona.app.guide import TERMS, matching, matching_terms, sections
from nona.app.pages import home, runs
from nona.app.pages.help import HOW_TO, LAST, matching_hardware, matching_how_to
from nona.app.pages.home import QUESTIONS, examples, opens, scenario_picture
from nona.app.pages.palette import entries
from nona.app.pages.planning.question import DEMOS as PLAN
from nona.app.pages.serverless.page import DEMOS as SERVERLESS
from nona.app.pages.training.page import DEMOS as TRAINING
from nona.app.session.page_list import PAGES, page_file
from nona.app.session.state import FIRST, AppState
from nona.app.store.database import Database
from nona.app.store.store import ResultStore
from nona.app.widgets.terms import GUIDE_PARAMETER, OF_LANGUAGE, ON_PAGES, TERM_PARAMETER, term
from nona.cluster.hardware.device import devices
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.workflows.preparation import prepare
from nona.scenario.sample_files import scenario_families, scenario_names, shipped_scenario
from nona.scenario.words import words
from tests.app.store.saved_things import new_item, simulated


def test_a_session_begins_with_a_shipped_scenario_in_which_the_schedulers_differ():
    system = prepare(shipped_scenario(FIRST)).system
    local, spread = (placed(system).objective_s for placed in (local_placement, spread_placement))
    assert spread > 1.5 * local, "blind splitting costs much there"


CARDS = {"plan": PLAN, "serverless": SERVERLESS, "training": TRAINING}
RUNS = ("run-plan", "run-serverless", "run-training", "run-training-elastic")


@pytest.mark.parametrize(("page", "demo"), [(page, demo) for page, demos in CARDS.items() for demo in demos])
def test_every_card_opens_its_scenario_and_tab(open_page, page, demo):
    at = open_page(page)
    at.button(key=f"open-{page}-{demo.name}").click().run()
    scenario = state_of(at).scenario
    assert scenario == shipped_scenario(demo.name)
    assert not demo.tabs or at.session_state[demo.tabs] == demo.tab
    part = scenario.serverless or (scenario.training and (scenario.training.elastic or scenario.training))
    chosen = part.policies if part else scenario.plan.schedulers
    assert [picker["chosen"] for picker in pickers(at).values()] == [[c.name for c in chosen]]
    assert [b.disabled for b in at.button if b.key in RUNS] == [False]


@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=[q.action for q in QUESTIONS])
def test_a_question_leads_to_its_page_with_the_scenario_that_its_card_names(open_page, number):
    question, at = QUESTIONS[number], open_page("home")
    state_of(at).adopt(shipped_scenario(FIRST))
    state, of_mine = state_of(at), question.scenario and question.part == "workload"
    for own in (False, True):
        state.edit(("workload", 0, "rate"), "77/s" if own else "300/s")
        before, told = state.scenario, opens(state, question)
        go(at, "home").button(key=f"question-{number}").click().run()
        assert at.title[0].value == next(
            e.title for e in PAGES.values() if page_file(e.name) == question.page
        )
        kept = not question.scenario or (own and of_mine)
        assert state.scenario == (before if kept else shipped_scenario(question.scenario))
        assert not question.scenario or f"“{state.scenario.name}”" in told
        assert kept or not own or "brings yours back" in at.toast[0].value
        state.adopt(before)


def test_every_shipped_scenario_is_an_example_with_a_picture_of_its_servers(open_page):
    assert {name for names in examples().values() for name in names} == set(scenario_names())
    at = put(open_page("home"), "examples", "Training")
    shown = {b.key for b in at.button if b.label == "Open" and str(b.key).startswith("open-")}
    assert shown == {f"open-{name}" for name in scenario_families()["Training"]}
    _, _, (meter, squares) = scenario_picture(shipped_scenario("slides_example"))
    assert len(squares[2]) == sum(g.count for g in shipped_scenario("slides_example").cluster.servers)
    assert meter[1]["style" if "style" in meter[1] else "--w"] == "0%"


def test_the_palette_finds_pages_models_examples_terms_and_actions(open_page):
    at = open_page("home")
    state, found = state_of(at), entries(state_of(at))
    state.edit(("seed",), 7)
    found["Do: undo"]()
    assert state.scenario.seed != 7
    found["Model: gpt2"]()
    assert at.run().title[0].value == "Models"
    assert state.model == "gpt2"
    found["Term: SCV"]()
    assert at.run().title[0].value == "Help"
    assert {f"Page: {page.title}. {page.question}" for page in PAGES.values()} <= found.keys()
    found["Option of jsq-d: d"]()
    assert at.run().title[0].value == "Simulation"
    found["Batching: Largest batch (max batch)"]()
    assert at.run().title[0].value == "Scenario"
    found["Example, Queries: The slides' example"]()
    assert at.run().title[0].value == "Scenario"
    assert state.scenario == shipped_scenario("slides_example")


SOUGHT = ("bursty", "NVLink", "price", "dark theme", "download", "cancel", "advice")


@pytest.mark.parametrize("words", [*SOUGHT, *devices()])
def test_help_and_palette_find_what_people_look_for(words):
    assert matching_how_to(words) or matching_hardware(words)
    assert any(words.casefold() in text.casefold() for text in entries(AppState()))


def test_what_holds_few_of_the_words_is_no_answer(open_page):
    assert not matching_how_to("purple cancel")
    at = open_page("home").button(key="palette-open").click().run()
    (field,) = (box for box in at.selectbox if box.key and box.key.startswith("palette-"))
    assert "FILTER_MODE_CONTAINS" in str(field.proto)
    entries(state_of(at))["GPU: h100 (NVIDIA H100 SXM 80 GB)"]()
    at.run()
    assert any("`h100`" in m.value for m in at.markdown)


def test_recent_scenarios_stand_with_their_verdicts(tmp_path, monkeypatch, open_page):
    monkeypatch.setenv("NONA_STORE", str(tmp_path))
    kept = ResultStore(Database(tmp_path), "somebody", everyone=True)
    for module in (home, runs):
        monkeypatch.setattr(module, "store", lambda: kept)
    assert "Recent scenarios" not in titles(open_page("home"))
    items = [new_item(name, simulated(servers)) for name, servers in (("a", 2), ("b", 3))]
    *_, latest = kept.save(*items)
    at = open_page("home")
    assert "Recent scenarios" in titles(at)
    assert latest.facts.finding in said(at.caption)
    at.button(key=f"recent-{latest.id}").click().run()
    assert state_of(at).results["simulate"].data == simulated(3)


def test_the_example_opens_with_the_load_that_was_chosen(open_page):
    at = open_page("home")
    at.session_state["network-story"] = {"load": 0.6}
    named(at.button, "Open this example").click().run()
    scenario = state_of(at).scenario
    assert scenario.background.network.utilization == 0.6
    assert at.title[0].value == "Placement"


def titles(at):
    return [s.value for s in at.subheader]


def test_all_sections_are_there_with_anchors(open_page):
    at = open_page("help")
    assert at.title[0].value == "Help"
    how, *others = at.subheader
    assert how.value == "How do I …"
    assert sorted(s.value for s in others) == sorted(s.title for s in sections())
    assert {s.anchor for s in others} == {s.name for s in sections()}
    assert [s.anchor in LAST for s in others] == sorted(s.anchor in LAST for s in others), "formulas last"
    shown = [m.value for m in at.markdown]
    assert all(s.text in shown and any(f"(#{s.name})" in text for text in shown) for s in sections())


def test_the_filter_shows_what_holds_the_words_and_a_link_opens_its_section_or_term(open_page):
    at = open_page("help")
    at.text_input(key="guide-find").set_value("pollaczek wait").run()
    assert sorted(titles(at)) == sorted(s.title for s in matching("pollaczek wait"))
    assert 0 < len(titles(at)) < len(sections())
    at.text_input(key="guide-find").set_value("xyzzy nothing").run()
    assert "Nothing in Help contains" in at.info[0].value
    at.text_input(key="guide-find").set_value("").run()
    assert len(titles(at)) == len(sections()) + 1
    at.query_params[GUIDE_PARAMETER] = "mig"
    at.run()
    assert titles(at) == ["MIG and MPS"]
    at.query_params[GUIDE_PARAMETER] = "no such section"
    at.run()
    assert len(titles(at)) == len(sections()) + 1
    del at.query_params[GUIDE_PARAMETER]
    at.query_params[TERM_PARAMETER] = "SCV"
    at.run()
    assert [s.value for s in at.subheader] == ["Glossary"]
    assert any(TERMS["SCV"] in m.value for m in at.markdown)
    at.query_params[TERM_PARAMETER] = "<b>"
    at.run()
    assert len(at.subheader) > 10
    at.text_input(key="guide-find").set_value("squared mean").run()
    assert matching_terms("squared mean") == ("SCV",)
    assert any(m.value.startswith("**SCV**") for m in at.markdown)
    at.text_input(key="guide-find").set_value("idle container kept").run()
    assert any("`serverless.containers.keep_alive`" in m.value for m in at.markdown)


@pytest.mark.parametrize("number", range(len(HOW_TO)), ids=[entry.question for entry in HOW_TO])
def test_every_how_to_leads_to_its_place(open_page, number):
    at, entry = open_page("help"), HOW_TO[number]
    at.button(key=f"how-to-{number}").click().run()
    assert at.title[0].value == PAGES[entry.page].title
    assert all(at.session_state[key] == value for key, value in entry.choices)


LINKED = re.compile(r"\bterm\(\s*[\"']([^\"']+)[\"']")


def linked():
    folders = (APP.parent / "pages", APP.parent / "nona" / "app" / "pages", APP.parent / "evidence")
    files = (file for folder in folders for file in folder.rglob("*.py"))
    return {name for file in files for name in LINKED.findall(file.read_text(encoding="utf-8"))}


def test_every_linked_term_has_an_entry_and_every_entry_is_used():
    assert linked() <= TERMS.keys()
    assert {"JCT", "network view"} <= linked()
    assert term("SCV") in help_text(words("background.compute.scv"))  # the title of the field begins with it
    assert {*OF_LANGUAGE, *chain(*ON_PAGES.values())} | linked() == TERMS.keys()
    assert ON_PAGES.keys() == {page.title for page in PAGES.values()} - {"Help"}
    with pytest.raises(KeyError):
        term("no such term")
