"""How many servers of one group keep the SLOs: the plan in which that group grows."""

import numpy as np
import pytest

from nona.core.queueing import erlang_c
from nona.planning.offer_series import simulated_guess
from nona.planning.plan import plan
from nona.planning.planner import PlanSearch
from nona.planning.question import opened, question_of
from nona.planning.report_plan import plan_finding, range_text
from nona.planning.report_plan_options import plan_text, series_table
from nona.planning.results import CapacityReport
from nona.queries.placement.capacity import least_utilization
from nona.queries.sweeps.numbers import with_values
from nona.queries.workflows.preparation import prepare, with_times_off
from nona.scenario.file import load_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.plan import PlanSpec
from nona.scenario.sample_files import scenario_path
from tests.cli.calling import answer, refusal

NAME = "vision_language_8_servers"
SOURCES = Sources(scenario_path(NAME).parent)
CHAT = {"llm": {"model": "llama-3.1-8b", "tokens": {"input": 200, "output": 50}}, "rate": "1/s"}


def no():
    """Nobody cancels."""


def counted(scenario, *schedulers, **changes):
    """The plan in which the first group grows."""
    part = {"group": 0, "schedulers": list(schedulers), "most": 64, "replications": 32}
    return plan(with_values(scenario, {"plan": part | changes}), SOURCES, further=False)


def one_task(slo_ms, *more, rate=450.0, scv=1.0, gpu="l4"):
    """Jobs of one task of 10 ms, on two servers and those given."""
    node = {"id": "a", "compute_ms": {gpu: 10.0, "t4": 10.0}}
    row = {"model": "one", "rate": rate, "slo": f"{slo_ms} ms", "service_scv": scv}
    return scenario_from_mapping(
        {
            "cluster": {"servers": [{"count": 2, "gpu": gpu}, *more]},
            "workload": [row],
            "models": {"one": {"directed": True, "nodes": [node], "edges": []}},
            "simulation": {"jobs": 2000},
        }
    )


def modelled(slo, **row):
    cluster = {"servers": [{"count": 4, "gpu": "a100-40gb"}]}
    row = {"model": "resnet18", "rate": "9000/s", "slo": slo} | row
    simulation = {"jobs": 2000, "replications": 3}
    return scenario_from_mapping({"cluster": cluster, "workload": [row], "simulation": simulation})


def test_servers_that_stay_count_and_the_answer_is_that_of_one_kind_alone():
    """All servers are alike, so that a server of the other group is worth one of those that grow."""
    alone = counted(one_task(70), "opportunistic").best
    both = counted(one_task(70, {"count": 2, "gpu": "t4"}), "opportunistic", prices={"gpus": {"t4": 0.5}})
    assert both.best.grown.count == alone.grown.count - 2
    assert [(s.count, s.gpu) for s in both.best.servers] == [(both.best.grown.count, "l4"), (2, "t4")]
    assert both.best.cost_per_hour == pytest.approx(both.best.grown.count * both.best.grown.price + 1.0)
    least = next(c for c in range(5, 99) if erlang_c(c, 4.5) < 0.02)  # hardly anybody waits
    assert 5 <= alone.grown.count <= least
    assert "beside 2 × t4 keep all targets" in plan_finding(both).lead
    assert "the answer for opportunistic alone" in plan_finding(both).beside
    asked = with_values(one_task(70, {"count": 2, "gpu": "t4"}), {"plan": {"group": 0}})
    groups = opened(asked, both.best).cluster.servers
    assert [(g.count, g.gpu) for g in groups] == [(both.best.grown.count, "l4"), (2, "t4")]


def test_each_scheduler_has_its_own_answer_and_no_price_is_needed():
    scenario = one_task(70, gpu="mine")
    own = {
        "name": "mine",
        "memory": "16 GB",
        "bandwidth": "300 GB/s",
        "fp32": "8 TFLOP/s",
        "fp16": "60 TFLOP/s",
    }
    data = scenario.model_dump(mode="json")
    data["cluster"]["devices"] = {"mine": own}
    report = counted(scenario_from_mapping(data), "local", "least-loaded")
    drawn, seeing = (next(c for c in report.evidence if c.scheduler == s) for s in ("local", "least-loaded"))
    assert (report.best.scheduler, report.best.grown.count) == ("least-loaded", seeing.kept)
    assert (drawn.kept > seeing.kept, report.best.cost_per_hour) == (True, 0.0)
    assert f"Needed under local: {drawn.kept}." in plan_finding(report).beside
    assert series_table(report).text() in plan_text(report)


def test_engines_stay_as_they_are():
    data = one_task(70).model_dump(mode="json")
    data["cluster"]["servers"].append({"count": 1, "gpu": "h100", "engine": {}})
    data["workload"].append(CHAT)
    scenario = scenario_from_mapping(data)
    report = counted(scenario, "opportunistic")
    assert report.best.grown.count == counted(one_task(70), "opportunistic").best.grown.count
    question = question_of(with_values(scenario, {"plan": {"group": 0}}), SOURCES)
    after = question.scenario_of(PlanSearch(question).pure[0].option(3)).cluster.servers
    assert [(g.count, g.engine is None) for g in after] == [(3, True), (1, False)]


@pytest.mark.verify
def test_jobs_walked_among_waits_guess_what_a_scheduler_that_splits_needs():
    """The formula for one line before each executor asks for 73; 17 are true."""
    scenario = with_values(load_scenario(scenario_path(NAME)), {"plan": {"group": 0, "schedulers": ["nona"]}})
    question = question_of(scenario, SOURCES)
    (series,) = PlanSearch(question).pure
    assert series.guess > 60
    assert 15 <= simulated_guess(question, series, no) <= 20


def test_what_no_number_keeps_is_said_with_its_reason():
    never = counted(modelled("1 us"), "nona")
    assert (never.best, never.evidence[0].kept) == (None, None)
    told = plan_finding(never)
    assert told.bad
    assert "Needed under nona: more than there can be (resnet18 takes at least" in told.lead
    row = {"model": "llama2_7b", "rate": "0.1/s", "slo": "10 s"}  # 6.74 10^9 parameters in half precision
    large = {"cluster": {"servers": [{"count": 2, "gpu": "k80"}]}, "workload": [row]}
    told = plan_finding(counted(scenario_from_mapping(large), "local")).lead
    assert "more than there can be (llama2_7b has 13.5 GB of weights, an executor 12 GB)" in told
    few = counted(one_task(70), "opportunistic", most=3)
    assert (few.best, "opportunistic: more than 3 (" in plan_finding(few).lead) == (None, True)


def test_modelled_times_make_the_count_a_range_which_the_slo_may_be_beyond():
    (series,) = counted(modelled("5 ms"), "local", hit=0.95).evidence
    off = series.if_times_off
    assert off.low < series.kept < off.high
    assert counted(one_task(70), "local").evidence[0].if_times_off is None  # these times are given
    total_s = prepare(modelled("5 ms")).models[0].costed[0].critical_path_s
    report = counted(modelled(f"{1.3 * total_s} s"), "local", hit=0.8)
    assert report.evidence[0].if_times_off.high is None
    assert "or out of reach" in range_text(report.evidence[0].if_times_off)
    assert (
        f"({range_text(report.evidence[0].if_times_off)} if task times are wrong by the"
        in plan_finding(report).lead
    )


def test_steps_of_batches_are_off_as_times_of_tasks_are():
    studies = [prepare(modelled("5 ms", **more)) for more in ({}, {"batching": {"max_batch": 4}})]
    for times in ("short", "long"):
        alone, batched = (
            least_utilization(with_times_off(of, times).system) / least_utilization(of.system)
            for of in studies
        )
        assert batched == pytest.approx(alone, rel=0.05)
        assert abs(alone - 1) > 0.1
    short, long = (with_times_off(studies[0], times).system.queries[0].tasks for times in ("short", "long"))
    assert np.all(short.compute_s < long.compute_s)


TWO_MODELS = """{seed: 3, cluster: {servers: [{count: 1, gpu: l4}]},
  workload: [{model: mobilenet_v2, rate: 95/s, slo: 40 ms}, {model: vit_b_16, rate: 5/s, slo: %s}],
  simulation: {jobs: 1500}}"""


def test_the_fewest_servers_keep_the_slo_of_every_model_not_of_the_mix():
    hidden = counted(parse_scenario(TWO_MODELS % "1 ms"), "least-loaded", hit=0.9, most=8)
    assert hidden.best is None  # though 95 % of all jobs keep theirs on a single server
    report = counted(parse_scenario(TWO_MODELS % "30 ms"), "least-loaded", most=8)
    assert report.best is not None
    assert min(s.mean for s in report.best.shares) >= 0.99


def test_the_command_finds_that_splitting_needs_two_and_compares(capsys):
    """The slides' example takes 22 ms on one server and 14 ms on two; its SLO lies between."""
    arguments = ["--hit", "97%", "--scheduler", "nona", "--scheduler", "local", "--workers", "1"]
    told = CapacityReport.from_json(answer(capsys, "capacity", "slides_example", *arguments))
    nona, local = told.devices
    assert (nona.scheduler, nona.servers, nona.predicted.miss, nona.one_fewer.verdict) == (
        "nona",
        2,
        0.0,
        "misses",
    )
    assert (told.best_scheduler, nona.if_times_off, nona.finished) == ("nona", None, True)
    assert (local.scheduler, local.servers, local.finished) == ("local", None, True)
    assert [t.servers for t in nona.tried] == sorted({t.servers for t in nona.tried})


def test_the_command_compares_devices_at_the_prices_given(tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(TWO_MODELS % "30 ms")
    prices = ["--price", "l4=1", "--price", "h100=0.1", "--workers", "1"]
    devices = ["--gpu", "l4", "--gpu", "h100", "--scheduler", "least-loaded"]
    told = CapacityReport.from_json(answer(capsys, "capacity", str(path), *devices, *prices))
    assert [d.gpu for d in told.devices] == ["l4", "h100"]
    assert (told.best, told.devices[1].cost) == ("h100", pytest.approx(0.1 * told.devices[1].servers))


def test_a_group_grows_with_its_own_layout_beside_all_others():
    sliced = load_scenario(scenario_path("mig_layouts"))
    group = next(i for i, g in enumerate(sliced.cluster.servers) if g.mig)
    question = question_of(sliced.model_copy(update={"plan": PlanSpec(group=group)}), SOURCES)
    (grows,) = (question.offers[k] for k in question.growing)
    own = sliced.cluster.servers[group]
    assert (grows.gpu, grows.mig is None) == (own.gpu, False)
    assert sum(question.fixed_servers) == sum(
        g.count for i, g in enumerate(sliced.cluster.servers) if i != group
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--hit", "2"), "--hit"),
        (("--price", "t4"), "--price 't4' must be DEVICE=NUMBER"),
        (("--group", "7"), "there is no cluster.servers[7]"),
        (("--most", "0"), "--most 0 must be at least 1"),
        (("--gpu", "abacus"), "abacus"),
    ],
)
def test_bad_input_is_one_line(arguments, why, capsys):
    assert why in refusal(capsys, "capacity", NAME, *arguments)
