"""The Serverless page: how it begins, that its fields are the scenario's, what a run shows, whose times."""

import itertools
import json
import re

import pytest
from app_driver import changed as shipped
from app_driver import finish, go, metrics, named, new_session, pickers, put, run, said, sent, state_of
from drawn import texts, within

from nona.app.pages.serverless import form as presets
from nona.app.pages.serverless.form import LOAD, SLO, choose_preset, preset_name
from nona.app.pages.serverless.page import QUICK_CALLS, platform_drawing, why_not
from nona.app.session.state import AppState
from nona.app.session.workspace import jobs
from nona.app.tasks.serverless import PlatformReporter
from nona.app.widgets.policy_choice import with_option
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.tables import kept_text
from nona.serverless.chart_data import PlatformLive
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import network_law
from nona.serverless.policies import base, registry
from nona.serverless.policies.registry import get_policy
from nona.serverless.report import figures, findings
from nona.serverless.report.layouts import placed
from nona.serverless.workflows import comparisons, preparation
from nona.serverless.workflows.run import simulate_serverless_scenario

PAGE = "serverless"


def adopt(at, name="strict_light", **changes):
    """The demo ``name`` with ``changes``, on the page."""
    state_of(at).adopt(shipped(name, **changes))
    return at.run()


def test_a_scenario_of_workflows_is_made_serverless_and_models_without_functions_say_why_not(open_page):
    at = open_page(PAGE)
    reason = why_not(state_of(at))
    assert bool(reason) == at.button(key="make-serverless").disabled
    assert not reason or reason in said(at.caption)
    at, wanted = adopt(at, "esg_workflows"), shipped("esg_workflows")
    at.button(key="make-serverless").click().run()
    made = state_of(at).scenario
    assert made.serverless.slo_factor is None  # the rows have their own SLOs
    assert made.model_copy(update={"serverless": None}) == wanted
    state_of(at).undo()
    assert state_of(at).scenario == wanted
    state_of(at).edit(("cluster", "servers"), [{"count": 2, "gpu": "l4"}])
    at.run().button(key="make-serverless").click().run()
    assert state_of(at).scenario.serverless.sharing.mode == "mps", "an L4 has no MIG"


SMALL = {"jobs": 60, "replications": 2}
FEW = {"slo_factor": 1.0, "interval": {"least": "10 ms", "most": "30 ms"}, "policies": ["esg", "fixed"]}


@pytest.fixture(scope="module")
def ran():
    """The page with the result of a small run under two policies."""
    at = go(new_session().run(), PAGE)
    light = {**FEW, "interval": {"least": "60 ms", "most": "100 ms"}, "sharing": {"mode": "mig-geometry"}}
    adopt(at, "mig_or_mps", simulation=SMALL, serverless=light)
    at.button(key="run-serverless").click().run()
    yield finish(at, "serverless")
    jobs().close()


def result_of(at, kind="serverless"):
    return state_of(at).results[kind].data


def test_the_finding_the_tiles_the_table_and_layouts_are_those_of_the_report(ran):
    at = put(ran, "serverless-tabs", "Policies")
    report = result_of(at).report
    wanted = simulate_serverless_scenario(state_of(at).scenario)
    assert report.policies == wanted.summaries
    assert findings.serverless_finding(report).lead in said(at.subheader)
    best = max(p.slo_hit_rate.mean for p in report.policies.values())
    assert metrics(at)["SLOs kept"] == kept_text(best)
    assert metrics(at)["Self-checks"] == "passed"
    assert at.dataframe[0].value["policy"].tolist() == ["esg", "fixed"]
    over = findings.over_oracle(report.policies, report.oracle)
    assert min(over.values()) >= -1e-9  # nobody pays less than the oracle
    assert findings.oracle_title(report.policies, report.oracle).startswith(min(over, key=lambda n: over[n]))
    layouts = result_of(ran).layouts
    for rows in layouts.rows.values():
        for invoker in {r.invoker for r in rows}:
            own = placed([r for r in rows if r.invoker == invoker])
            assert all(0 <= r.low < r.high <= layouts.nodes[invoker].memory for r in own)
            for a, b in itertools.combinations(own, 2):
                apart_in_time = a.to_s <= b.from_s + 1e-9 or b.to_s <= a.from_s + 1e-9
                assert apart_in_time or a.high <= b.low or b.high <= a.low


def test_the_search_on_the_page_is_that_of_the_policy(ran):
    at = put(ran, "serverless-tabs", "Search")
    at.number_input(key="serverless-shown-length").set_value(5).run()
    at.slider(key="serverless-shown-slack").set_value(80).run()
    system = preparation.prepare_serverless(state_of(at).scenario)
    application = system.applications[0]
    asked = base.WaitingQueue(0, 0, 5, application.slo_s * 0.8)
    answer = get_policy("esg").prepare(system, {}).plan(asked)
    drawn = sent(at, "steps")
    firsts = dict.fromkeys(tuple(b["path"][:1]) for b in drawn["best"])
    assert [n for (n,) in firsts] == list(answer.ranked)
    assert f"Why {system.space[answer.ranked[0]].text}?" in said(at.subheader)
    assert len(drawn["steps"]) <= drawn["all"]
    assert at.dataframe[0].value["time"].max() <= asked.slack_s + 1e-9


def test_ways_of_sharing_are_compared_and_the_fewest_nodes_found(ran):
    at = put(ran, "serverless-tabs", "Sharing")
    at.number_input(key="serverless-shown-way-calls").set_value(20).run()
    at.number_input(key="serverless-shown-way-runs").set_value(2).run()
    run(at, "serverless-sharing")
    found = result_of(at, "serverless-sharing")
    reports = found.reports
    assert list(reports) == list(comparisons.ways_for(state_of(at).scenario))
    assert set(reports) == set(SHARING_MODES)
    assert {r.setting.sharing for r in reports.values()} == set(reports)
    assert figures.ways_title(figures.under_ways(found), "esg") in said(at.subheader)
    assert len(at.dataframe[0].value) == len(reports)

    at = put(ran, "serverless-tabs", "Nodes")
    at.number_input(key="serverless-shown-node-calls").set_value(50).run()
    at.number_input(key="serverless-shown-most-nodes").set_value(2).run()
    at.selectbox(key="serverless-shown-node-policy").select("fixed").run()
    run(at, "serverless-nodes")
    report = result_of(at, "serverless-nodes")
    assert list(report.policies) == ["fixed"]
    assert {t.nodes for t in report.policies["fixed"].tried} <= {1, 2}
    assert findings.nodes_finding(report) in said(at.subheader)
    assert at.get("plotly_chart")


def test_the_platform_is_told_while_it_runs():
    system = preparation.prepare_serverless(shipped("strict_light"))
    watch = PlatformReporter(system, ["fixed", "esg"])
    run = PlatformRunOptions(calls=40, warmup=10)
    simulate_serverless(system, registry.get_policy("fixed"), {}, run, watch.on_progress)
    told = PlatformLive.from_json(json.loads(json.dumps(watch.live().to_json())))
    assert told == watch.live()
    drawn = platform_drawing(told)
    policies, queues, nodes = within(drawn, "panel")
    assert told.focus == "fixed"
    assert texts(policies)[-6:] == ["fixed", texts(policies)[-5], texts(policies)[-4], "esg", "–", "–"]
    assert 0 <= float(texts(policies)[-5].removesuffix(" %")) <= 100
    assert float(texts(policies)[-4]) > 0
    applications = within(queues, "queues")[0][2]
    assert [len(within(a, "stage")) for a in applications] == [a.stages for a in system.applications]
    assert len(within(nodes, "invoker")) == len(system.invokers)
    for node in within(nodes, "invoker"):
        held = re.fullmatch(r"(\d+) of 16 vCPUs and (\d+) of 7 vGPUs held, (\d+) stranded", node[1]["title"])
        vcpus, vgpus, stranded = map(int, held.groups())
        assert vcpus <= 16
        assert (len(within(node, "taken")), len(within(node, "lost"))) == (vgpus, stranded)


def test_fields_and_named_settings_are_the_scenarios_and_a_first_look_makes_the_runs_small(open_page):
    at = adopt(open_page(PAGE), simulation={"jobs": 20_000, "replications": 5})
    before = state_of(at).scenario
    at.button(key="quick-look").click().run()
    assert state_of(at).scenario.simulation.jobs == QUICK_CALLS
    assert named(at.number_input, "Calls measured per run").value == QUICK_CALLS
    state_of(at).undo()
    state_of(at).undo()
    assert state_of(at).scenario == before
    at.run()
    assert (preset_name(state_of(at), SLO), preset_name(state_of(at), LOAD)) == ("strict", "light")
    for name in ("relaxed", "moderate", "own", "rows"):
        shown = named(at.get("button_group"), "SLO")
        option = next(o for o in shown.options if o.split()[0] == ("as" if name == "rows" else name))
        shown.set_value(option).run()
        assert preset_name(state_of(at), SLO) == name
        assert state_of(at).scenario.serverless.slo_factor == {**SLO.values, "own": 1.0, "rows": None}[name]
    for name in ("heavy", "own", "rows", "normal"):
        shown = named(at.get("button_group"), "Load")
        shown.set_value("as in the workload" if name == "rows" else name).run()
        assert preset_name(state_of(at), LOAD) == name
    assert state_of(at).value(("serverless", "interval"))["most"] == LOAD.values["normal"]["most"]
    named(at.text_input, "Batch sizes").set_value("4 1, 2").run()
    assert state_of(at).scenario.serverless.configurations.batch == (1, 2, 4)
    named(at.text_input, "vCPUs").set_value("many").run()
    assert state_of(at).scenario.serverless.configurations.vcpus == (1, 2, 3, 4, 6, 8, 12, 16)
    assert named(at.text_input, "vCPUs").value == "many"
    assert at.error


def test_options_of_a_policy_reach_the_scenario_and_a_row_of_one_that_was_left_changes_nothing(monkeypatch):
    state = AppState(scenario=shipped("strict_light"))
    entries = state.scenario.serverless.policies
    made = with_option(entries, "esg", "k", 7, 5)
    assert made[0] == {"name": "esg", "options": {"k": 7}}
    assert state.edit(("serverless", "policies"), made)
    entries = state.scenario.serverless.policies
    assert with_option(entries, "esg", "k", 5, 5)[0] == {"name": "esg", "options": {}}
    assert [p.name for p in state.scenario.serverless.policies] == [m["name"] for m in made]
    state, rows = AppState(), []
    state.adopt(shipped("strict_light"))
    monkeypatch.setattr(presets.st, "segmented_control", lambda *_, **options: rows.append(options))
    choose_preset(state, LOAD)
    choose_preset(state, SLO)
    left = shipped("shared_research_cluster")  # it has no serverless part
    state.adopt(left)
    for row in rows:
        row["on_change"]()
    assert state.scenario == left


def test_networks_and_forks_are_run_too_and_nothing_in_time_is_said(open_page):
    at = adopt(open_page(PAGE), "rag_pipeline", simulation={"jobs": 30, "replications": 2})
    at.button(key="make-serverless").click().run()
    path = ("serverless", "policies")
    assert state_of(at).edit(path, ["esg", "fixed"])
    run(at, "serverless")
    assert set(result_of(at).report.policies) == {"esg", "fixed"}
    put(at, "serverless-tabs", "Search")
    at.slider(key="serverless-shown-slack").set_value(5).run()
    assert "No path is in time" in said(at.markdown)


def test_every_option_has_a_field_and_every_policy_its_summary(open_page):
    at = adopt(open_page(PAGE))
    at.session_state["policy-options"] = True
    at.run()
    entries = state_of(at).scenario.serverless.policies
    wanted = sum(len(registry.get_policy(p.name).defaults) for p in entries)
    fields = [w for kind in ("number_input", "text_input", "toggle", "selectbox") for w in at.get(kind)]
    options = [w for w in fields if w.key and w.key.startswith("option:")]
    assert len(options) == wanted
    assert all(w.proto.help for w in options)
    summaries = {e["summary"] for e in pickers(at)["Policies"]["entries"]}
    assert summaries == {p.summary for p in registry.POLICIES.values()}


PROFILE = b"batch,vgpus,ms\n1,1,10\n16,1,90\n1,7,4\n16,7,20\n"


def test_functions_get_the_times_of_a_network_of_a_file_and_their_own_again(open_page):
    at = put(adopt(open_page(PAGE)), "serverless-tabs", "Functions")

    def deblur(column):
        return at.dataframe[0].value.set_index("function").loc["deblur", column]

    assert (deblur("smallest"), deblur("on the CPU")) == pytest.approx((0.319, 0.2))
    assert deblur("on 7 vGPUs") == pytest.approx(0.319 * (0.2 + 0.8 * 0.19), abs=1e-5)

    named(at.selectbox, "Function").set_value("deblur").run()
    named(at.selectbox, "Its times are").set_value("bert").run()
    assert state_of(at).scenario.serverless.functions["deblur"].network == "bert"
    assert deblur("smallest") == pytest.approx(network_law("bert").seconds(1, 1), abs=1e-5)
    assert deblur("confirmed") == "measured"

    at.file_uploader(key="profile-file").upload("mine.csv", b"batch,ms\n0,1\n").run()
    assert "batch='0'" in at.error[0].value.replace("\\", "")
    at.file_uploader(key="profile-file").upload("mine.csv", PROFILE).run()
    assert not at.error
    assert state_of(at).scenario.serverless.functions["deblur"].profile == "mine.profile.csv"
    assert named(at.selectbox, "Its times are").value == "mine.profile.csv"
    assert deblur("on 7 vGPUs") == pytest.approx(0.004)

    named(at.selectbox, "Its times are").set_value("its default").run()
    assert state_of(at).scenario.serverless.functions == {}
    named(at.number_input, "CPU share").set_value(0.5).run()
    assert state_of(at).scenario.serverless.cpu_share == 0.5
    assert at.dataframe[0].value["on the CPU"].tolist() == pytest.approx([0.5] * 6)
