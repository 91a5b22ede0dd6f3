"""Runs of every family are kept, shown again on their page and compared, and travel as one file."""

import dataclasses

import pytest
from app_driver import go, open_demo, put, said, state_of, until
from app_driver import run as simulated
from sizes import first

from nona.app.jobs.kinds import KINDS
from nona.app.layout import run_keeper
from nona.app.layout.run_keeper import PLACES, kind_of, show_result
from nona.app.pages.queries.simulation_sweep_settings import settings_of, sweep_version
from nona.app.session.state import AppState
from nona.app.store.contents import SAVED_KINDS
from nona.app.store.database import Database
from nona.app.store.store import COMMAND_LINE, ResultStore, compare, export_items, import_items
from nona.app.tasks.context import HoldsAsked, JobContext
from nona.language.report.tables import language_finding
from nona.queries.sweeps.numbers import LINK, LOAD, with_value
from nona.queries.sweeps.results import GridRequest, SweepRequest
from nona.scenario.file import scenario_from_mapping, scenario_to_mapping
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import shipped_scenario

SMALL = {"simulation": {"jobs": 200, "replications": 2}}
FAMILIES = {
    "language-plan": ("prefill_stalls_decode", SMALL | {"plan": {"offers": ["h100"], "hit": 0.9, "most": 4}}),
    "serverless": ("strict_light", SMALL),
    "training": ("who_gets_the_v100", {}),
    "language": ("prompt_over_the_network", SMALL),
    "training-elastic": ("who_scales_who_waits", {}),
    "check": ("slides_example", SMALL),
    "placement": ("slides_example", SMALL),
    "sweep": ("slides_example", SMALL),
    "grid": ("slides_example", SMALL),
}
SWEPT = SweepRequest(number=LINK, values=(0.0, 0.5), schedulers=("local", "spread"), jobs=50, replications=2)
ASKED = {
    "check": HoldsAsked(scheduler="local"),
    "sweep": SWEPT,
    "grid": GridRequest(sweep=SWEPT, second=LOAD, values=(0.5, 1.0)),
}


def made(kind, seed, tmp_path):
    """A run of the job on a small scenario of its family: the scenario and the result."""
    sample, changes = FAMILIES[kind]
    data = scenario_to_mapping(shipped_scenario(sample)) | changes | {"seed": seed}
    if kind == "serverless":
        data["serverless"] = data["serverless"] | {"policies": ["esg", "infless"]}
    if kind == "training-elastic":
        data["training"]["elastic"] = data["training"]["elastic"] | {"policies": ["fifo", "tiresias"]}
    scenario = scenario_from_mapping(data)
    spec = {"scenario": scenario_to_mapping(scenario), "uploads": str(tmp_path), "folder": str(tmp_path)}
    spec |= ASKED[kind].to_json() if kind in ASKED else {}
    return scenario, KINDS.find(PLACES[kind].job).task()(spec, JobContext(lambda message: None))


def question(state, kind):
    """The version of the question that the page asks now."""
    if kind == "check":
        return f"{state.fingerprint('holds')} {HoldsAsked(scheduler=state.kept['holds-scheduler'])}"
    if kind in ("sweep", "grid"):
        assert settings_of(state) == ASKED[kind]
        return sweep_version(state.scenario, ASKED[kind])
    return ""


def test_every_kind_that_is_kept_has_a_page():
    assert set(PLACES) == set(SAVED_KINDS)
    assert all(place.job in KINDS for place in PLACES.values())


@pytest.mark.parametrize("kind", first(3, FAMILIES))
def test_a_result_is_kept_shown_again_and_compared(kind, tmp_path):
    store = ResultStore(Database(tmp_path / "mine"), COMMAND_LINE)
    other = ResultStore(Database(tmp_path / "theirs"), COMMAND_LINE)
    scenarios, results = zip(*(made(kind, seed, tmp_path) for seed in (1, 2)), strict=True)
    assert kind_of(results[0]) is SAVED_KINDS[kind]
    new = [SAVED_KINDS[kind].new_item(f"run {k}", "", result, Sources()) for k, result in enumerate(results)]
    items = [store.save(dataclasses.replace(one, by_itself=True))[0] for one in new]
    assert all(item.by_itself and item.facts.finding and item.facts.schedulers for item in items)
    assert store.contents(items[0].id).answer() == results[0]
    (taken,) = import_items(other, export_items(store, [items[0].id]))
    assert (taken.imported, taken.facts) == (True, items[0].facts)

    state = AppState(scenario=store.contents(items[0].id).scenario())
    assert show_result(state, "again", results[0], "mark")
    place = PLACES[kind]
    assert state.results[place.job].data == results[0]
    assert not state.is_stale(place.job, question(state, kind))
    assert place.page in state.go_to
    other_link = with_value(scenarios[0], "cluster.network.latency", 1e-3)
    assert not show_result(AppState(scenario=other_link), "of another scenario", results[0], "mark")

    comparison = compare(store, [item.id for item in items])
    assert any("seed" in line for line in comparison.scenario[1])
    assert comparison.answers
    for answer in comparison.answers:
        before, after = (value.mean for value in answer.values)
        if before is not None and after is not None:
            assert answer.changes[1].mean == pytest.approx(after - before)


def test_requests_to_language_models_keep_themselves_and_open_again(tmp_path, monkeypatch, open_page):
    monkeypatch.setenv("NONA_STORE", str(tmp_path / "saved"))
    monkeypatch.setattr(run_keeper, "comes_back", lambda: True)
    at = open_demo(open_page, "search_then_answer")
    state = state_of(at)
    for path, value in ((("simulation", "jobs"), 200), (("simulation", "replications"), 2)):
        assert state.edit(path, value)
    simulated(go(at, "simulation"), "simulate")
    simulated(at, "language")
    assert not at.exception  # both can be saved on one page
    mine = ResultStore(Database(tmp_path / "saved"), COMMAND_LINE, master=True)
    assert until(lambda: len(mine.listing().items) == 2)
    (item,) = mine.listing(kind="language").items
    told = language_finding(state.results["language"].data.report).text
    assert (item.kind, item.by_itself, item.facts.finding) == ("language", True, told)
    seed = state.scenario.seed
    state.edit(("seed",), 5)
    state.results.clear()
    go(at, "runs").button(key=f"saved-open-{item.id}").click().run()
    assert state.scenario.seed == seed
    assert told in said(go(at, "simulation").subheader)
    assert "has changed since" not in said(at.warning)
    put(at, "language-tabs", "Engines")
    assert not at.exception


def test_a_plan_with_roles_is_shown_and_opens_as_the_scenario(open_page):
    at = open_demo(open_page, "prompt_over_the_network")
    state = state_of(at)
    plan = {"offers": [{"gpu": "h100", "gpus": 2, "most": 8}], "hit": 0.9}
    for path, value in ((("simulation", "jobs"), 300), (("schedulers",), ["least-kv"]), (("plan",), plan)):
        assert state.edit(path, value)
    simulated(go(at, "plan"), "language-plan")
    best = state.results["language-plan"].data.plan.best
    prompts, answers = best.by_role
    assert f"{prompts} for prompts and {answers} for answers" in said(at.subheader)
    at.button(key="language-plan-open").click().run()
    groups = [(group.engine.role, group.count) for group in state.scenario.cluster.servers]
    assert groups == [("prefill", prompts), ("decode", answers)]
    assert not at.exception
