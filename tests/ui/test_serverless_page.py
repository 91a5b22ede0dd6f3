"""The Serverless page: how it begins, that its fields are the scenario's, and what a run shows."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import Open

from nona.samples import scenario_path
from nona.scenario_file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.ui.serverless.presets import LOADS, SLOS, load_name, slo_name
from nona.ui.serverless.start import DEMOS, why_not

PAGE = "8_serverless"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def adopt(at: Any, name: str = "strict_light", **changes: Any) -> Any:
    """The demo ``name`` with ``changes``, on the page."""
    data = scenario_to_mapping(load_scenario(scenario_path(name)))
    state_of(at).adopt(scenario_from_mapping(data | changes))
    return at.run()


def said(elements: Any) -> str:
    return "\n".join(e.value.replace("\\", "") for e in elements)


@pytest.mark.parametrize("demo", DEMOS, ids=lambda d: d.name)
def test_every_demo_of_the_start_opens(open_page: Open, demo: Any) -> None:
    at = open_page(PAGE)
    at.button(key=f"open-serverless-{demo.name}").click().run()
    assert not at.exception
    assert state_of(at).scenario == load_scenario(scenario_path(demo.name))
    assert all(at.session_state[key] == value for key, value in demo.choices)
    assert at.multiselect[0].value == [p.name for p in state_of(at).scenario.serverless.policies]


def test_a_scenario_of_workflows_is_made_serverless(open_page: Open) -> None:
    at = open_page(PAGE)
    wanted = load_scenario(scenario_path("esg_workflows"))
    state_of(at).adopt(wanted)
    at.run()
    at.button(key="make-serverless").click().run()
    made = state_of(at).scenario
    assert made.serverless is not None
    assert made.serverless.slo_factor is None  # the rows have their own SLOs
    assert made.model_copy(update={"serverless": None}) == wanted
    state_of(at).undo()
    assert state_of(at).scenario == wanted


def test_named_settings_are_the_scenarios(open_page: Open) -> None:
    at = adopt(open_page(PAGE))
    assert (slo_name(state_of(at)), load_name(state_of(at))) == ("strict", "light")
    for name in ("relaxed", "moderate", "own", "rows"):
        shown = next(b for b in at.get("button_group") if b.label == "SLO")
        option = next(o for o in shown.options if o.split()[0] == ("as" if name == "rows" else name))
        shown.set_value(option).run()
        assert not at.exception
        assert slo_name(state_of(at)) == name
        assert state_of(at).scenario.serverless.slo_factor == {**SLOS, "own": 1.0, "rows": None}[name]
    for name in ("heavy", "own", "rows", "normal"):
        shown = next(b for b in at.get("button_group") if b.label == "Load")
        shown.set_value("as on Workload" if name == "rows" else name).run()
        assert load_name(state_of(at)) == name
    assert state_of(at).value(("serverless", "interval"))["most"] == LOADS["normal"][1]


def test_models_without_functions_say_why_they_cannot_be_serverless(open_page: Open) -> None:
    at = open_page(PAGE)
    reason = why_not(state_of(at))
    button = at.button(key="make-serverless")
    assert bool(reason) == button.disabled
    assert not reason or reason in said(at.caption)


def test_a_list_of_sizes_is_sorted_and_what_is_none_is_kept_with_its_error(open_page: Open) -> None:
    at = adopt(open_page(PAGE))
    field = next(t for t in at.text_input if t.label == "Batch sizes")
    field.set_value("4 1, 2").run()
    assert state_of(at).scenario.serverless.configurations.batch == (1, 2, 4)
    next(t for t in at.text_input if t.label == "vCPUs").set_value("many").run()
    assert state_of(at).scenario.serverless.configurations.vcpus == (1, 2, 3, 4, 6, 8, 12, 16)
    assert next(t for t in at.text_input if t.label == "vCPUs").value == "many"
    assert at.error
