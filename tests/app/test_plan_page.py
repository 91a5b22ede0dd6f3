"""The Plan page: the question is part of the scenario, and an option of the answer becomes the scenario."""

import json
from typing import Any

import pytest
from app_driver import finish, go, job_of, named, new_session, pickers, run, said, state_of, until

from nona.app.pages.planning.page import VERDICTS, option_name
from nona.app.session.workspace import jobs
from nona.app.store.database import Database
from nona.app.store.families import PLAN
from nona.app.store.store import COMMAND_LINE, ResultStore, export_items, import_items
from nona.app.widgets.fields import plain
from nona.core.tables import money
from nona.planning.question import opened, question_of
from nona.planning.report_plan import why_text
from nona.planning.results import PlanOutcome
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path
from tests.core.filled import FAST, SLOW, TWO_OFFERS

PAGE = "plan"
DATA: dict[str, Any] = TWO_OFFERS | {
    "simulation": {"jobs": 500, "replications": 2},
    "plan": {
        "hit": 0.9,
        "offers": [{"gpu": FAST, "price": 2}, {"gpu": SLOW, "price": 0.9}],
        "schedulers": ["least-loaded"],
        "growth": "5%/month",
        "most": 12,
    },
}


def adopt_plan(at, **plan):
    """Make the scenario of this test the session's own."""
    state_of(at).adopt(scenario_from_mapping({**DATA, "plan": {**DATA["plan"], **plan}}))
    return go(at, PAGE)


@pytest.fixture(scope="module")
def planned():
    """A session with the answer."""
    at = adopt_plan(new_session().run())
    run(at, "plan")
    yield at
    jobs().close()


def plan_of(at):
    return state_of(at).scenario.plan


def outcome_of(at):
    found = state_of(at).result_of("plan", PlanOutcome)
    assert found is not None
    return found


def test_a_scenario_without_a_question_offers_what_its_cluster_has(open_page):
    at = open_page(PAGE)
    assert state_of(at).scenario.plan is None
    at.button(key="make-plan").click().run()
    spec = state_of(at).scenario.plan
    servers = state_of(at).scenario.cluster.servers
    assert [(o.gpu, o.mig) for o in spec.offers] == [(g.gpu, g.mig) for g in servers]
    assert pickers(at)["Schedulers"]["chosen"] == [s.name for s in spec.schedulers]
    at.button(key="remove-plan").click().run()
    assert state_of(at).scenario.plan is None


def test_the_page_says_what_the_search_found_and_what_decides_fits_a_window_of_1280_pixels(planned):
    report = outcome_of(planned).report
    assert report.best is not None
    assert money(report.answer.cost_per_hour, "USD") in [m.value for m in planned.metric]
    assert any(s.value.startswith("Buy ") for s in planned.subheader)
    (table,) = [d.value for d in planned.dataframe if "verdict" in d.value and "servers" in d.value]
    assert list(table["answer"][:2]) == ["now", "→"]
    assert set(table["verdict"]) <= {*VERDICTS, "not run"}
    # The page's column is 848 pixels wide there, of which the boxes to tick take 33.
    (shown,) = [d for d in planned.dataframe if {"verdict", "servers"} <= set(d.value)]
    configured = json.loads(shown.proto.columns)
    assert sum(configured[name]["width"] for name in shown.value) <= 848 - 33
    best = outcome_of(planned).report.best
    assert "why" not in shown.value  # too long for a cell: it stands below, in full
    assert why_text(best) in said([*planned.subheader, *planned.markdown, *planned.caption])


def test_an_option_becomes_the_scenario_as_it_was_simulated_and_undo_takes_it_back(planned):
    report, before = outcome_of(planned).report, state_of(planned).scenario
    planned.button(key="plan-open-option").click().run()
    taken = state_of(planned).scenario
    wanted = [(s.count, s.gpu) for s in report.best.servers]
    assert [(g.count, g.gpu) for g in taken.cluster.servers] == wanted
    assert taken.schedulers[0].name == report.best.scheduler
    assert taken.plan == before.plan
    state_of(planned).undo()
    assert state_of(planned).scenario == before
    go(planned, PAGE)
    scenario = state_of(planned).scenario  # each option gives the cluster that was simulated for it
    question = question_of(scenario, Sources())
    prices = {(o.gpu, o.mig): o.price for o in question.offers}
    for option in outcome_of(planned).report.options:
        cluster = opened(scenario, option).cluster
        cost = sum(g.count * prices[g.gpu, g.mig] for g in cluster.servers)
        assert cost == pytest.approx(option.cost_per_hour)


def test_a_changed_question_makes_the_answer_stale_and_a_pinned_option_outlives_a_reload(planned):
    assert not any("has changed" in w.value for w in planned.warning)
    state_of(planned).edit(("plan", "hit"), "95%")
    planned.run()
    assert any("has changed" in w.value for w in planned.warning)
    state_of(planned).undo()
    planned.run()
    assert not any("has changed" in w.value for w in planned.warning)
    report = outcome_of(planned).report
    assert report.best is not None
    planned.button(key="plan-pin-option").click().run()
    assert planned.session_state["plan-pinned"] == [option_name(report.best)]
    fresh = new_session()
    fresh.session_state["nona_token"] = planned.session_state["nona_token"]
    go(fresh.run(), PAGE)
    assert fresh.session_state["plan-pinned"] == [option_name(report.best)]
    assert fresh.button(key="plan-pin-option").label == "Let it go"
    fresh.button(key="plan-pin-option").click().run()
    assert fresh.session_state["plan-pinned"] == []


def test_another_scenario_s_answer_is_one_line_that_names_it_until_it_is_asked_for(planned):
    state, own = state_of(planned), state_of(planned).scenario
    demand = scenario_from_mapping(
        {
            **DATA,
            "name": "My own demand",
            "workload": [{"model": "bert_base", "rate": "900/s", "slo": "50 ms"}],
        }
    )
    state.adopt(demand)
    go(planned, PAGE)
    assert not any(s.value.startswith("Buy ") for s in planned.subheader)
    line = said(planned.caption)
    assert f"The last plan is of “{own.name}”, not of “My own demand”" in line
    assert "workload" in line or "bert_base" in line  # and what differs
    named(planned.toggle, "Show it").set_value(True).run()
    assert any(s.value.startswith("Buy ") for s in planned.subheader)
    state.undo()
    go(planned, PAGE)
    assert any(s.value.startswith("Buy ") for s in planned.subheader)
    assert not any("not of" in m.value for m in planned.markdown)
    state.adopt(own.model_copy(update={"plan": None}))  # as if the scenario were opened again
    go(planned, PAGE).button(key="plan-show-last").click().run()
    assert state.scenario == own
    assert any(s.value.startswith("Buy ") for s in planned.subheader)


def field(at, label, number=0):
    return [w for w in at.text_input if w.label == label][number]


def test_what_is_typed_becomes_the_question_or_stays_with_its_error_and_a_bad_week_is_one_line(open_page):
    at = adopt_plan(open_page(PAGE), prices={"currency": "$"})
    labels = [w.label for kind in ("text_input", "number_input", "selectbox") for w in at.get(kind)]
    assert "$/h" in labels
    assert not [label for label in labels if "\\" in label]  # which a browser would read out
    field(at, "$/h").set_value("730/month").run()
    assert plan_of(at).offers[0].price == 1.0
    field(at, "$/h").set_value("cheap").run()
    assert any("cheap" in e.value for e in at.error)
    assert plan_of(at).offers[0].price == 1.0
    assert field(at, "$/h").value == "cheap"
    field(at, "$/h").set_value("").run()
    assert plan_of(at).offers[0].price is None
    assert not at.error
    field(at, "Within the SLO").set_value("99.5 %").run()
    assert plan_of(at).hit == 0.995
    field(at, "Growth").set_value("100%/year").run()
    assert plan_of(at).growth == pytest.approx(2 ** (1 / 12) - 1)
    at.button(key="plan-add-offer").click().run()
    *_, last = plan_of(at).offers
    assert last.gpu not in (FAST, SLOW)
    at.button(key=f"plan-remove-offer-{state_of(at).revision}-2").click().run()
    assert [o.gpu for o in plan_of(at).offers] == [FAST, SLOW]
    named(at.selectbox, "GPU").select("t4").run()
    assert (plan_of(at).offers[0].gpu, plan_of(at).offers[0].price) == ("t4", None)
    rack = named(at.selectbox, "Must survive").options[2]
    assert rack.startswith("a rack (not available: the cluster has no racks")
    named(at.selectbox, "Must survive").select(rack).run()
    assert (plan_of(at).survive, named(at.selectbox, "Must survive").value) == ("nothing", "nothing")
    named(at.selectbox, "Must survive").select("a server").run()
    assert plan_of(at).survive == "server"
    named(at.file_uploader, "Profile or trace").upload("week.csv", b"factor\n1\n2\n").run()
    assert plan_of(at).profile == "week.csv"
    run(at, "plan")
    (line,) = [e.value for e in at.error]
    assert "168" in line.partition("week")[2]


def test_a_saved_plan_is_there_after_other_work(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("NONA_STORE", str(tmp_path))
    planned.run()
    job = state_of(planned).results["plan"].job_id
    name = planned.text_input(key=f"save-name-plan-{job}")
    # Drawn when it is unfolded, maybe some runs later: a browser then takes the default.
    assert name.proto.default == name.value == "two offers"
    planned.button(key="save-plan").click().run()
    monkeypatch.setenv("NONA_SHARED_STORE", "1")
    store = ResultStore(Database(tmp_path), COMMAND_LINE, master=True)
    (item,) = store.listing().items
    shown = [s.value for s in planned.subheader if s.value.startswith("Buy ")]
    for text in (s.replace("\N{NO-BREAK SPACE}", " ") for s in shown):
        assert plain(item.facts.finding).startswith(text), "the same words, the month by its name"
    assert "which growth passes in" in item.facts.finding
    assert item.facts.about == "4 servers, a100-40gb; one, 150/s"
    found = outcome_of(planned)
    early = found.model_copy(update={"ended_early_s": 75.0})
    assert PLAN.facts(early).finding == f"Cancelled after 75 s. {item.facts.finding}"
    before = state_of(planned).scenario
    (imported,) = import_items(store, export_items(store, [item.id]))
    for kept in (item, imported):
        state_of(planned).edit(("plan", "hit"), "50%")
        del state_of(planned).results["plan"]
        go(planned, "runs").button(key=f"saved-open-{kept.id}").click().run()
        go(planned, PAGE)
        assert state_of(planned).scenario.plan == before.plan
        assert outcome_of(planned) == found
        assert not any("has changed" in w.value for w in planned.warning)


def test_cancel_keeps_what_is_known(open_page):
    at = adopt_plan(open_page(PAGE), hit=0.99, schedulers=["least-loaded", "nona", "jsq-d"])
    at.button(key="run-plan").click().run()
    job = job_of(at, "plan")
    assert until(lambda: job.best is not None or not job.unfinished)
    job.mark_watched()
    job.cancel()
    finish(at, "plan")
    if not job.best:
        pytest.fail("the job ended before anything was known")
    assert outcome_of(at).ended_early_s is not None
    assert any(s.value.startswith("Cancelled after") for s in at.subheader)


@pytest.mark.verify
def test_servers_of_one_group_are_counted_for_each_scheduler():
    """The slides' example is in time on two servers and late on one."""
    at = new_session().run()
    state_of(at).adopt(load_scenario(scenario_path("slides_example")))
    at = go(at, PAGE)
    at.button(key="count-servers").click().run()
    asked = plan_of(at)
    assert (asked.group, [s.name for s in asked.schedulers]) == (
        0,
        [s.name for s in state_of(at).scenario.schedulers],
    )
    assert state_of(at).change(("plan", "schedulers"), ["nona", "local"])
    assert state_of(at).change(("plan", "most"), 16)
    at.run()
    run(at, PAGE)
    report = outcome_of(at).report
    assert (report.best.grown.count, report.best.scheduler) == (2, "nona")
    assert [m.value for m in at.metric][:1] == ["2"]
    assert any("Under nona, 2\N{NO-BREAK SPACE}× a100-40gb keep all targets" in s.value for s in at.subheader)
    assert "Needed under local: more than 16." in said(at.markdown)
    before = state_of(at).scenario.cluster.servers
    at.button(key="plan-open-option").click().run()
    (after,) = state_of(at).scenario.cluster.servers
    assert after == before[0].model_copy(update={"count": 2})


def test_an_option_that_keeps_can_be_taken_away(planned):
    files = {button.proto.label for button in planned.get("download_button") if "take-" in button.proto.id}
    assert files == {"Kubernetes", "Triton", "Alerts"}  # its GPUs are whole: nothing to write on sharing
    assert any("all GPUs are whole" in text.value for text in planned.caption)
