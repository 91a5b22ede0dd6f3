"""Scenarios with hundreds of rows: pages draw a part at a time, and work is done once per model."""

import pytest
from app_driver import go, state_of

from nona.app.pages.scenario.workload_facts import arrivals_of
from nona.app.session.editing import ScenarioText
from nona.app.session.state import AppState
from nona.app.widgets.fields import AT_ONCE
from nona.queries.workflows import preparation
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import scenario_from_mapping
from nona.serverless.workflows import preparation as serverless
from nona.serverless.workflows.preparation import prepare_serverless

ROWS = 2 * AT_ONCE + 3


def many(rows=ROWS, groups=1, **more):
    """Rows of two models in turn."""
    workload = [
        {"name": f"r{i}", "model": ("resnet18", "gpt2")[i % 2], "rate": 1 + i, "slo": "1 s"}
        for i in range(rows)
    ]
    servers = [{"count": 50 + i, "gpu": "a100-40gb"} for i in range(groups)]
    return scenario_from_mapping({"cluster": {"servers": servers}, "workload": workload, **more})


def keys(at, prefix):
    """Numbers of the entries whose *Remove* stands on the page."""
    found = [b.key or "" for b in at.button]
    return [int(k.rpartition("-")[2]) for k in found if k.startswith(prefix)]


@pytest.mark.verify
@pytest.mark.parametrize(("place", "removes"), [(0, "remove-row-"), (1, "remove-group-")])
def test_a_page_draws_a_part_of_the_entries_and_leads_to_all(open_page, place, removes):
    at = open_page("home")
    state_of(at).adopt(many(groups=ROWS))
    go(at, "scenario")
    seen = []
    for number in (1, 2, 3):
        at.get("pagination")[place].set_value(number).run()
        seen.append(keys(at, removes))
    assert [len(part) for part in seen] == [AT_ONCE, AT_ONCE, 3]
    assert sorted(n for part in seen for n in part) == list(range(ROWS))


def test_a_model_is_prepared_once_however_many_rows_name_it_but_for_each_batch(monkeypatch):
    made: list[str] = []
    for module, name in ((preparation, "prepare_model"), (serverless, "network_stages")):
        real = getattr(module, name)

        def counted(graph, *given, real=real, **named):
            made.append(graph.name)
            return real(graph, *given, **named)

        monkeypatch.setattr(module, name, counted)
    assert len(prepare(many(6)).models) == 6
    assert sorted(made) == ["gpt2", "resnet18"]
    made.clear()
    assert len(prepare_serverless(many(6, serverless={})).applications) == 6
    assert sorted(made) == ["gpt2", "resnet18"]
    data = many(2).model_dump(mode="json")
    data["workload"] = [{"model": "resnet18", "rate": 1, "batch": b} for b in (1, 8, 1)]
    first, second, third = prepare(scenario_from_mapping(data)).models
    assert first is third
    assert second.tasks.compute_s.sum() > first.tasks.compute_s.sum()


def test_the_arrivals_of_a_row_without_trace_are_looked_up_by_that_row_alone(monkeypatch):
    state = AppState(scenario=many())
    dumped: list[object] = []
    kind = type(state.scenario.workload[0].arrivals)
    real = kind.model_dump

    def counted(self, **named):
        dumped.append(self)
        return real(self, **named)

    monkeypatch.setattr(kind, "model_dump", counted)
    arrivals_of(state, 3)
    assert len(dumped) == 1


def test_values_are_written_once_per_scenario_as_in_the_whole_text():
    state = AppState(scenario=many(2))
    assert state.value(("workload", 1, "slo")) == "1 s"
    written = state.written
    state.value(("workload", 0))["slo"] = "9 s"
    assert state.value(("workload", 0, "slo")) == "1 s"
    assert state.written is written
    assert state.edit(("workload", 0, "slo"), "2 s")
    assert state.value(("workload", 0, "slo")) == "2 s"
    scenario = many(3, background={"compute": {"utilization": 0.25}})
    whole = scenario.model_dump(mode="json")
    written = ScenarioText(scenario)
    assert {part: written.value_at((part,)) for part in whole} == whole == written.value_at(())
