"""The table of the scheduler ``expert`` is edited on the Simulation page."""

from __future__ import annotations

from typing import Any

from app_driver import Open, choose_schedulers, finish, go
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.placement.fixed import PRESETS
from nona.report.simulations.report import simulation_report
from nona.scenario.file import parse_scenario
from nona.study.preparation import prepare
from nona.study.simulation import simulate
from nona.ui.pages.simulation import parse_parts, parts_text
from nona.ui.session.state import AppState, Draft

PAGE = "7_simulation"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def expert_page(open_page: Open, name: str = "slides_example") -> Any:
    at = open_page("1_overview")
    at.selectbox(key="demo").select(name).run()
    at.button(key="open-demo").click().run()
    go(at, PAGE)
    choose_schedulers(at, "local", "expert")
    return at


def row(at: Any) -> Any:
    label = state_of(at).scenario.labels[0]
    return next(s for s in at.selectbox if s.label == label)


def options(at: Any) -> Any:
    return next(s.options for s in state_of(at).scenario.schedulers if s.name == "expert")


def test_a_preset_is_written_into_the_scenario_and_taken_back(open_page: Open) -> None:
    at = expert_page(open_page)
    label = state_of(at).scenario.labels[0]
    assert row(at).value == "automatic"
    assert row(at).options == ["automatic", *PRESETS, "own parts"]
    row(at).select("half").run()
    assert options(at) == {"models": {label: "half"}}
    assert parse_scenario(state_of(at).dump()) == state_of(at).scenario
    assert "half" in state_of(at).dump()
    go(at, "1_overview")
    go(at, PAGE)
    assert row(at).value == "half"
    row(at).select("automatic").run()
    assert options(at) == {}


def test_own_parts_are_simulated_as_typed(open_page: Open) -> None:
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
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    study = simulate(prepare(state_of(at).scenario))
    wanted = simulation_report(study.summaries, 0.0).schedulers["expert"].jct_s.mean
    found = state_of(at).results["simulate"].data.report.schedulers["expert"]
    assert found.jct_s.mean == wanted


def test_parts_that_the_model_does_not_have_stay_as_a_draft(open_page: Open) -> None:
    at = expert_page(open_page)
    row(at).select("own parts").run()
    before = state_of(at).scenario
    at.text_area[0].set_value("no such task").run()
    assert not at.exception
    assert len(at.error) == 1
    assert "'no such task' is not a task of the model" in at.error[0].value.replace("\\", "")
    assert state_of(at).scenario == before
    assert at.button(key="run-simulate").disabled
    go(at, "1_overview")
    go(at, PAGE)
    assert at.text_area[0].value == "no such task"
    at.text_area[0].set_value("").run()
    assert not at.error
    assert not at.button(key="run-simulate").disabled


def test_a_draft_goes_with_its_row_or_its_scheduler(open_page: Open) -> None:
    at = expert_page(open_page)
    row(at).select("own parts").run()
    at.text_area[0].set_value("no such task").run()
    assert state_of(at).problem()
    choose_schedulers(at, "local")
    assert state_of(at).problem() == ""
    assert not at.text_area


def test_entries_of_rows_that_went_can_be_dropped(open_page: Open) -> None:
    at = open_page(PAGE)
    state_of(at).edit(("schedulers",), [{"expert": {"models": {"gone": "half", "resnet18": "quarter"}}}])
    at.run()
    lines = [e.value.replace("\\", "") for e in at.error]
    assert lines == [
        "'quarter' is no preset; choose one from the list.",
        "Not in the workload: gone; drop or rename the entries.",
    ]
    next(b for b in at.button if b.label == "Drop these entries").click().run()
    next(s for s in at.selectbox if s.label == "resnet18").select("local").run()
    assert not at.error
    assert options(at) == {"models": {"resnet18": "local"}}


def test_without_the_expert_there_is_no_table(open_page: Open) -> None:
    at = expert_page(open_page)
    choose_schedulers(at, "local")
    assert not [e for e in at.expander if "expert" in e.label]


names = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=6)


@examples(100)
@given(st.lists(st.lists(names, min_size=1, max_size=4), max_size=4))
def test_parts_are_read_as_they_are_written(parts: list[list[str]]) -> None:
    assert parse_parts(parts_text(parts)) == parts


def test_a_removed_row_takes_its_draft_along() -> None:
    state = AppState()
    state.drafts["expert", "resnet18"] = Draft("x", "wrong")
    state.edit(("seed",), 3)
    assert state.problem() == "wrong"
    state.replace_list(("workload",), [{"model": "gpt2", "rate": "1/s"}])
    assert state.problem() == ""
