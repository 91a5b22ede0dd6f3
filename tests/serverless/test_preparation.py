"""A scenario as a serverless system."""

import math

import numpy as np
import pytest

from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import NonaError
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import load_sample, scenario_path
from nona.scenario.schema import Scenario
from nona.scenario.serverless import SharingSpec
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.registry import get_policy
from nona.serverless.report.findings import pareto_title
from nona.serverless.report.text import serverless_text
from nona.serverless.system import least_nodes
from nona.serverless.workflows.functions import MOST_STAGES
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import report_of, simulate_serverless_scenario
from tests.core.filled import but

SLIDES = load_scenario(scenario_path("slides_example"))
SCENARIO = load_scenario(scenario_path("strict_light"))
SYSTEM = prepare_serverless(SCENARIO)
FORK = {
    "nodes": [{"id": "a", "compute_ms": 40}, {"id": "b", "compute_ms": 60}, {"id": "c", "compute_ms": 90}],
    "edges": [
        {"source": "a", "target": "b", "bytes": 1000},
        {"source": "a", "target": "c", "bytes": 2000},
        {"source": "b", "target": "c", "bytes": 500},
    ],
}
MYSTERY = {"nodes": [{"id": "deblur"}, {"id": "mystery"}], "edges": []}
CONFIGURATIONS = {"batch": [1, 4], "vcpus": [1, 2], "vgpus": [1, 7]}


def scenario(model="fork", server=None, row=None, rows=1, nodes=None, **parts):
    """Two servers and a row of a model, or of a workflow of these nodes; ``serverless`` as told."""
    models = {"fork": FORK} if nodes is None else {model: nodes}
    servers = server if isinstance(server, list) else [{"count": 2, **(server or {})}]
    workload = [{"model": model, "rate": 3.0, "slo": "2 s", **(row or {})}] * rows
    usual = {"cluster": {"servers": servers}, "workload": workload, "models": models, "serverless": {}}
    return Scenario.model_validate(usual | parts)


def system(*given, serverless=None, **more):
    own = {k: more.pop(k) for k in list(more) if k not in ("server", "row", "rows", "nodes", "cost")}
    return prepare_serverless(scenario(*given, **more, serverless={"configurations": CONFIGURATIONS, **own}))


def test_a_workflow_becomes_an_application():
    made = system()
    (app,) = made.applications
    assert app.stage_names == ("a", "b", "c")
    assert app.dag.predecessors == ((), (0,), (0, 1))
    assert app.input_bytes == (0.0, 1000.0, 2500.0)  # the entry's are its function's, which has none
    assert (app.slo_s, app.rate) == (2.0, 3.0)
    assert made.time_s[:, 0] == pytest.approx([0.040, 0.060, 0.090])
    assert made.smallest_s(app) == pytest.approx(0.190)
    assert len(made.invokers) == 2
    assert made.invokers[0].vgpus == 7


def test_the_slo_factor_stands_in_for_slos():
    for row, factor in (({"slo": None}, 0.8), ({}, 1.5)):
        (app,) = system(row=row, slo_factor=factor).applications
        assert app.slo_s == pytest.approx(factor * 0.190)


def test_own_functions_come_first_and_keep_their_law():
    law = {"gpu": {"per_query": "10 ms", "constant": "3 ms", "floor": "4 ms", "exponent": 1.0}}
    law["cpu"] = {"parallel": "2 ms"}
    made = system(functions={"b": {**law, "cold_start": "1 s", "input": "2 MB"}})
    b = next(f for f in made.functions if f.name == "b")
    number = made.functions.index(b)
    assert b.cold_start_s == 1.0
    time_s = [made.time_s[number, made.space.number[BatchConfiguration(*c)]] for c in ((1, 1, 1), (4, 2, 7))]
    assert time_s == pytest.approx([0.015, 4 * 0.001 + max(0.004, 0.043 / 7)])


def test_a_table_leaves_out_what_it_lacks():
    names = ("batch", "vcpus", "vgpus", "time")
    rows = [dict(zip(names, row, strict=True)) for row in ((1, 1, 1, 0.2), (4, 2, 7, 0.1))]
    made = system(functions={"a": {"table": rows}})
    known = {made.space[c] for c in range(len(made.space)) if made.time_s[0, c] < float("inf")}
    assert known == {BatchConfiguration(1, 1, 1), BatchConfiguration(4, 2, 7)}
    with pytest.raises(NonaError, match="no time for the smallest configuration"):
        _ = system(functions={"a": {"table": rows[1:]}}).time_s


def test_one_function_serves_every_workflow_that_names_it():
    made = SYSTEM
    assert len(made.functions) == len({f.name for f in made.functions}) == 6
    by_name = {app.name: app for app in made.applications}
    deblur = next(f for f, function in enumerate(made.functions) if function.name == "deblur")
    assert sum(deblur in app.function for app in made.applications) == 3
    assert by_name["expanded_image_classification"].stages == 5
    for app in made.applications:
        assert app.slo_s == pytest.approx(0.8 * made.smallest_s(app))


def test_equal_names_with_other_times_are_told_apart():
    same = [{"id": "abc"[t - 1], "compute_ms": t, "attributes": {"function": "same"}} for t in (1, 2, 3)]
    edges = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
    made = system("chain", nodes={"nodes": same, "edges": edges}, rows=2)
    assert [f.name for f in made.functions] == ["same", "same (chain)", "same (chain 2)"]
    assert [app.function for app in made.applications] == [(0, 1, 2)] * 2


@pytest.mark.parametrize(
    ("server", "board", "vgpus", "slices"),
    [
        ({"gpu": "a30"}, "a30", 4, 0),
        ({"gpu": "h100", "mig": "3g.40gb, 4g.40gb"}, "h100-80gb", 7, 2),
    ],
)
def test_gpus_and_layouts(server, board, vgpus, slices):
    node = system(server=server).invokers[0]
    assert (node.board, node.vgpus, node.gpus) == (board, vgpus, server.get("gpus", 1))
    assert len(node.layout.slices if node.layout else ()) == slices


def test_a_network_is_one_function_timed_by_the_cost_layer():
    made = system("resnet50", row={"slo": "50 ms"})
    (function,), (app,) = made.functions, made.applications
    assert (function.name, app.stages, made.notes) == ("resnet50", 1, ())
    time_s = {made.space[c]: float(made.time_s[0, c]) for c in range(len(made.space))}
    one, four = time_s[BatchConfiguration(1, 1, 1)], time_s[BatchConfiguration(4, 1, 1)]
    assert one < four < 4 * one  # weights are read once for a batch
    assert time_s[BatchConfiguration(4, 1, 7)] < four
    assert time_s[BatchConfiguration(4, 2, 7)] == time_s[BatchConfiguration(4, 1, 7)]
    assert app.input_bytes == (3 * 224 * 224 * 4,)
    records = simulate_serverless(made, get_policy("esg"), {}, PlatformRunOptions(calls=50, warmup=5))
    assert (records.calls.completion_s[records.calls.measured] > 0).all()


def test_tasks_of_a_network_are_stages_where_that_makes_sense():
    near = {"remote_latency": "10 us", "remote_bandwidth": "100 GB/s"}
    made = system("resnet50", models="tasks", transfer=near, row={"slo": "50 ms"})
    (app,) = made.applications
    assert (1 < app.stages <= MOST_STAGES, made.notes) == (True, ())
    whole = system("resnet50", transfer=near)
    assert made.time_s.sum(axis=0) == pytest.approx(whole.time_s[0])  # tasks add up to the network
    assert len(app.dag) == app.stages
    assert sum(app.input_bytes[1:]) > 0


@pytest.mark.parametrize(
    ("model", "reason"), [("resnet50", "fetching"), ("bert_base", "more than 32 stages")]
)
def test_why_tasks_are_no_stages_is_said(model, reason):
    made = system(model, models="tasks", row={"slo": "1 s"})
    assert made.applications[0].stages == 1
    (note,) = made.notes
    assert reason in note
    assert model in note


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: prepare_serverless(SLIDES), "serverless: is missing"),
        (lambda: system("w", nodes=MYSTERY), "mystery.*no known function"),
        (lambda: system(row={"slo": None}), "no slo"),
        (lambda: system("nowhere.json"), "not a file|no files"),
        (lambda: system(server={"gpu": "t4", "mig": "1g.5gb"}, sharing={"mode": "mps"}), "no MIG"),
        (lambda: system(server={"mig": "9g.90gb"}), "9g.90gb"),
        (lambda: system(server={"gpus": 2, "mig": ["3g.20gb", "whole"]}), "a group of servers for each"),
        (
            lambda: system(server={"gpu": "l4"}),
            "cuts a GPU by MIG, which l4 does not have; use mps or time-sl",
        ),
        (
            lambda: system("resnet18", [{"gpu": "a100-40gb"}, {"gpu": "a30"}]),
            "a100-40gb and a30 differ in speed",
        ),
        (lambda: system("llama2_7b"), "weights .* do not fit"),
        (lambda: system("resnet18", row={"batch": 2000}), "more than 4096"),
        (lambda: system(server={"vcpus": 1}, configurations=CONFIGURATIONS | {"vcpus": [2]}), "vCPUs"),
    ],
)
def test_what_is_refused_is_said_in_one_line(make, words):
    with pytest.raises(NonaError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_networks_run_on_large_slices_and_get_parts_of_a_gpu_without_slices():
    large = system("llama2_7b", configurations=CONFIGURATIONS | {"vgpus": [4, 7]}, row={"slo": "10 s"})
    assert large.functions[0].cold_start_s > 5 + 10  # its weights are fetched
    assert load_sample("llama2_7b").name == large.functions[0].name
    parts = system("resnet50", server={"gpu": "t4"}, sharing={"mode": "mps"})
    one, seven = (parts.space.number[BatchConfiguration(1, 1, n)] for n in (1, 7))
    assert parts.time_s[0, seven] < parts.time_s[0, one]


@pytest.mark.parametrize(("gpu", "slower"), [("l4", True), ("h100", False)])
def test_shipped_functions_are_carried_to_other_gpus_and_it_is_said(gpu, slower):
    nodes = {"nodes": [{"id": "deblur"}, {"id": "bert"}, {"id": "own", "compute_ms": 5}], "edges": []}
    there, here = (
        system("w", nodes=nodes, server={"gpu": g}, sharing={"mode": "mps"}) for g in ("a100-80gb", gpu)
    )
    assert there.notes == ()
    (note,) = here.notes
    assert "Times of bert and deblur are modelled: those on an A100, carried" in note
    gpu_s = [np.array([f.seconds(s.space)[1] for f in s.functions]) for s in (here, there)]
    factors = gpu_s[0] / gpu_s[1]
    assert all(((f > 1) == slower).all() and np.ptp(f) < 1e-9 for f in factors[:2])
    assert (factors[2] == 1).all(), "a stated time of any device is that of any device"
    (workflow,) = system("depth_recognition", server={"gpu": gpu}, sharing={"mode": "mps"}).notes
    assert "Times of deblur, depth_recognition and super_resolution are modelled" in workflow


def test_with_fewer_nodes_than_any_policy_needs_all_are_overloaded_and_the_title_says_how_many():
    few = scenario(
        row={"rate": 400.0},
        serverless={"configurations": CONFIGURATIONS, "policies": ["esg", "infless", "fast-gshare"]},
        simulation={"jobs": 1500, "replications": 1},
    )
    made = prepare_serverless(few)
    at = made.time_s / made.space.batch
    needs = [
        400 * sum((at[f] * size).min() for f in (0, 1, 2)) for size in (made.space.vgpus, made.space.vcpus)
    ]
    needed = math.ceil(max(needs[0] / 7, needs[1] / made.invokers[0].vcpus))
    assert least_nodes(made) == needed > len(made.invokers) == 2
    report = report_of(simulate_serverless_scenario(few))
    assert {p.state for p in report.policies.values()} == {"overloaded"}
    title = pareto_title(report.policies, report.setting)
    assert title == f"Every policy is overloaded: 2 nodes are too few, and any policy needs at least {needed}"
    assert (
        least_nodes(
            prepare_serverless(but(few, serverless=but(few.serverless, sharing=SharingSpec(mode="mps"))))
        )
        == 1
    )


def test_the_report_says_why_tasks_are_no_stages():
    own = {"models": "tasks", "configurations": CONFIGURATIONS, "policies": ["esg"]}
    made = scenario("resnet18", simulation={"jobs": 40, "replications": 1}, serverless=own)
    result = simulate_serverless_scenario(made, oracle=False)
    assert result.setting.notes == (result.system.notes[0],)
    report = report_of(result)
    assert "resnet18 is one function" in serverless_text(report)


def test_a_time_for_a_device_is_carried_to_one_vgpu_and_the_scenario_says_for_which_it_holds():
    def first_s(gpu="a100-40gb", device=None, **cost):
        node = {"id": "a", "compute_ms": 40, "bound": "compute"}
        graph = {"nodes": [node], "edges": [], "graph": {"device": device} if device else {}}
        mode = "mig-counter" if gpu == "a100-40gb" else "mps"
        made = system("flow", {"gpu": gpu}, nodes=graph, cost=cost, sharing={"mode": mode})
        return float(made.time_s[0, made.space.smallest])

    assert first_s() == first_s(given={"flow": "any"}) == pytest.approx(0.040)
    assert first_s(device="a100-40gb/1g.5gb") == pytest.approx(0.040), "the very slice"
    whole = first_s(device="a100-40gb")
    assert 2 < whole / 0.040 <= 7, "one of seven slices is slower than the whole"
    assert first_s(given={"flow": "a100-40gb"}) == whole
    assert first_s("t4", given={"flow": "a100-40gb"}) > whole, "a seventh of a T4 is slower still"
    factors = {"device": "a100-40gb", "factors": {"a100-40gb/1g.5gb": 3.0}}
    assert first_s(given={"flow": factors}) == pytest.approx(0.120)
