"""Times of batches: the cost layer's, measured and given ones, tasks, memory, and what is refused."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from nona.cli.main import main
from nona.cluster.hardware.executor import executor_class, make_executor_class
from nona.core.errors import NonaError
from nona.models.cost.batches import activation_bytes, batch_sizes, cost_batches, fit_batches
from nona.models.cost.costing import cost_graph
from nona.models.cost.measured import read_measured
from nona.models.cost.options import PER_QUERY, CostOptions
from nona.models.graph.guard_columns import from_lines, to_lines
from nona.models.graph.model import Edge, ModelGraph, Operator
from nona.models.graph.node_link import from_node_link, to_node_link
from nona.models.graph.readers import read_model
from nona.models.prepared import prepare_model
from nona.queries.workflows.facts import model_facts
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.sample_files import load_sample
from nona.serverless.functions import DEFAULT_LAW

A100, T4 = executor_class("a100-40gb"), executor_class("t4")
FLOW = {
    "nodes": [{"id": "a", "compute_ms": 3.0}, {"id": "b", "batch_ms": {"1": 2.0, "8": 4.1}}],
    "edges": [{"source": "a", "target": "b", "bytes": 1000000}],
    "graph": {"device": "a100-40gb"},
}


def study(batching="", gpu="a100-40gb", model="resnet18", top="", row=""):
    own = f", batching: {batching}" if batching else ""
    return prepare(
        parse_scenario(
            f"version: 1\ncluster: {{servers: [{{gpu: {gpu}}}]}}\nmodels: {{flow: {FLOW}}}\n{top}\n"
            f"workload: [{{model: {model}, rate: 9/s, slo: 40 ms{row}{own}}}]"
        )
    )


def steps_s(batching, **more):
    return study(batching, **more).system.queries[0].batching.step_s


@pytest.mark.parametrize(("name", "own"), [("googlenet", 1), ("bert_base", 3)])
def test_steps_are_the_cost_layers_at_its_points_and_linear_between_on_every_class(name, own):
    graph, options = load_sample(name), CostOptions(batch=own)
    model = prepare_model(graph, (A100, T4), options, largest=12)
    assert batch_sizes(12) == (1, 2, 4, 8, 12)
    assert (model.batch_s[0] == model.tasks.compute_s).all(), "one query takes what it takes without batching"
    for size in (2, 4, 8, 12):
        for k, executor in enumerate((A100, T4)):
            whole = cost_graph(graph, executor, replace(options, batch=own * size)).compute_s
            assert model.batch_s[size - 1, k].tolist() == list(model.contracted.sum_over_tasks(whole))
    for low, high in pairwise((2, 4, 8, 12)):
        slopes = np.diff(model.batch_s[low - 1 : high], axis=0)
        assert slopes == pytest.approx(np.broadcast_to(slopes[0], slopes.shape), rel=1e-9)
    assert (np.diff(model.batch_s, axis=0) >= -1e-12 * model.batch_s[1:]).all()
    bare = make_executor_class(replace(A100.device, l2_bytes=0.0))
    one, twelve = (cost_graph(graph, bare, replace(options, batch=own * b)).total_compute_s for b in (1, 12))
    assert twelve <= 12 * one, "without a cache to fall out of, a batch is no slower than its parts"


def test_measured_batches_win_are_linear_between_and_are_carried_beyond_by_the_model():
    graph = load_sample("resnet18")
    first = graph.operators[0].id
    rows = {1: 5.0, 6: 9.0}
    table = "model,operator,device,batch,ms\n" + "".join(
        f"resnet18,{first},a100-40gb,{b},{ms}\n" for b, ms in rows.items()
    )
    measured = read_measured(table)

    def first_s(batch, table=measured):
        return cost_graph(graph, A100, CostOptions(members=batch), table).costs[0].compute_s

    assert list(cost_batches(graph, A100, CostOptions(), 8, measured)) == [1, 2, 4, 6, 8]
    assert list(cost_batches(graph, A100, CostOptions(batch=3), 8, measured)) == [1, 2, 4, 8]
    assert [first_s(b) for b in (1, 2, 4, 6)] == pytest.approx([5e-3, 5.8e-3, 7.4e-3, 9e-3], rel=1e-12)
    assert first_s(8) == pytest.approx(9e-3 * first_s(8, None) / first_s(6, None), rel=1e-12)
    costed = cost_graph(graph, A100, CostOptions(members=8), measured)
    assert [c.provenance for c in costed.costs[:2]] == ["calibrated", "modelled"]
    one = prepare_model(graph, (A100,), measured=measured, largest=8)
    six = cost_graph(graph, A100, CostOptions(members=6), measured)
    assert one.batch_s[5, 0].tolist() == list(one.contracted.sum_over_tasks(six.compute_s))


def test_a_measured_whole_model_holds_at_its_batches_and_grows_as_modelled_beyond():
    graph, table = (
        load_sample("resnet18"),
        "model,operator,device,batch,ms\n*,*,a100-40gb,1,2\n*,*,a100-40gb,4,3\n",
    )
    measured = read_measured(table)

    def total_s(batch, table=measured):
        return cost_graph(graph, A100, CostOptions(members=batch), table).total_compute_s

    assert [total_s(b) for b in (1, 2, 4)] == pytest.approx([2e-3, 2e-3 + 1e-3 / 3, 3e-3])
    assert total_s(8) == pytest.approx(3e-3 * total_s(8, None) / total_s(4, None))


def test_times_of_a_file_grow_as_it_says_or_by_the_law_and_tasks_add_them_up():
    """By hand: a takes 3 ms by the law, b from 2 ms at 1 to 4.1 ms at 8 and on with 0.3 ms a query."""
    for p, batching in ((PER_QUERY, "{max_batch: 16}"), (0.2, "{max_batch: 16, per_query: 20 %}")):
        steps = 1e3 * steps_s(batching, model="flow")[:, 0]
        assert steps[:, 0] + steps[:, -1] * (steps.shape[1] - 1) == pytest.approx(
            [3 * (1 - p + p * b) + 2 + 0.3 * (b - 1) for b in range(1, 17)]
        )
    assert pytest.approx(1 - PER_QUERY) == DEFAULT_LAW.constant
    several = 1e3 * steps_s("{max_batch: 2}", model="flow", row=", batch: 3")[1, 0].sum()
    assert several == pytest.approx(3 * 3 * (1 + PER_QUERY) + 2 + 0.3 * 5), "b queries of 3 inputs each"
    lines = model_facts(study("{max_batch: 16, per_query: 20 %}", model="flow"))["flow"].warnings
    assert len([line for line in lines if "1 − p + p·b times as long, p = 20 %" in line]) == 1
    graph = from_node_link(FLOW)
    assert [c.provenance for c in cost_graph(graph, A100, CostOptions(members=4)).costs] == [
        "modelled",
        "given",
    ]


@pytest.mark.parametrize("own", [1, 3])
def test_times_by_batch_hold_at_every_size_that_the_file_gives(own):
    """Also between powers of two, where kernels change: 9 inputs take longer than 10 here."""
    points = {1: 1.0, 3: 1.25, 7: 1.5, 9: 1.9, 10: 1.7, 21: 3.5}
    times = {str(inputs): ms for inputs, ms in points.items()}
    task = from_node_link({"directed": True, "nodes": [{"id": "a", "batch_ms": times}], "edges": []})
    largest = 21 // own
    steps = prepare_model(task, (A100,), CostOptions(batch=own), largest=largest).batch_s[:, 0, 0]
    inputs = own * np.arange(1, largest + 1)
    assert 1e3 * steps == pytest.approx(np.interp(inputs, list(points), list(points.values())))


def test_times_by_batch_survive_the_ways_out_of_a_file_and_are_carried_by_their_ratios():
    graph = from_node_link(FLOW)
    assert from_node_link(to_node_link(graph)) == graph == from_lines(to_lines(graph))
    times = r'batch_ms="{\"1\": 2, \"4\": \"3.5\"}", compute_ms="{\"a100-40gb\": 8, \"t4\": 9}"'
    dot = f"digraph {{ a [{times}] }}"
    task = read_model(dot.encode(), "a.dot").operators[0]
    assert task.batch_s == ((1, 0.002), (4, 0.0035))
    carried = ModelGraph("one", (task,), ())
    assert [cost_graph(carried, e, CostOptions(members=4)).compute_s for e in (A100, T4)] == [
        (0.014,),
        (0.01575,),
    ]


def test_one_for_all_rows_a_row_of_its_own_and_off():
    assert study().system.queries[0].batching is None
    assert study(top="batching: {max_batch: 4}").system.queries[0].batching.max_batch == 4
    assert study("{max_batch: 2}", top="batching: {}").system.queries[0].batching.max_batch == 2
    for off in ("off", "'off'", "{max_batch: 1}"):
        batched = study(off, top="batching: {}")
        assert batched.system.queries[0].batching is None
        assert parse_scenario(dump_scenario(batched.scenario)) == batched.scenario
        assert batched.system.queries[0].weight_bytes == study().system.queries[0].weight_bytes


@pytest.mark.parametrize(
    ("batching", "rule", "delay_s", "preferred", "form_ahead"),
    [
        ("{}", "greedy", 0.0, (), 0),
        ("{delay: 2 ms}", "delay", 2e-3, (), 0),
        ("{rule: static}", "static", 0.0, (), 0),
        ("{rule: triton, delay: 1 ms, form_ahead: 2}", "triton", 1e-3, (8,), 2),
        ("{rule: triton, preferred: [8, 4, 4]}", "triton", 0.0, (4, 8), 0),
    ],
)
def test_the_rule_follows_the_delay_and_tritons_keys_are_tritons(
    batching, rule, delay_s, preferred, form_ahead
):
    taken = study(batching).system.queries[0].batching
    assert (taken.rule, taken.delay_s, taken.preferred, taken.form_ahead) == (
        rule,
        delay_s,
        preferred,
        form_ahead,
    )
    assert taken.max_batch == 8
    assert not any("Batching" in line for line in model_facts(study(batching))["resnet18"].warnings)


def test_allowed_sizes_fill_batches_up():
    plain, filled = steps_s("{max_batch: 12}"), steps_s("{max_batch: 6, allowed: [12, 1, 4]}")
    assert (filled == plain[[0, 3, 3, 3, 11, 11]]).all()


@pytest.mark.parametrize(
    ("batching", "line"),
    [
        ("{preferred: [4]}", "preferred counts under the rule triton, not greedy; leave it out"),
        ("{form_ahead: 1, delay: 1 ms}", "form_ahead counts under the rule triton, not delay; leave it out"),
        (
            "{rule: static, delay: 1 ms}",
            "a delay does not count under the rule static; leave one of them out",
        ),
        (
            "{delay: 50 ms}",
            "delay of 50 ms is longer than the SLO of 40 ms: no batch that waits its delay can be in time",
        ),
    ],
)
def test_what_does_not_count_or_comes_too_late_is_said(batching, line):
    lines = model_facts(study(batching))["resnet18"].warnings
    assert [line in said for said in lines] == [True]


def test_activations_are_the_most_alive_at_once_and_the_largest_batch_must_fit():
    """A diamond by hand: when b runs, a's two tensors of 5 and 7 bytes and its own of 2 are alive."""
    diamond = ModelGraph(
        "diamond",
        tuple(Operator(name, compute_s={"*": 1e-3}) for name in "abcd"),
        tuple(
            Edge(u, v, u + v, size)
            for u, v, size in (("a", "b", 5.0), ("a", "c", 7.0), ("b", "d", 2.0), ("c", "d", 1.0))
        ),
    )
    assert activation_bytes(cost_graph(diamond, A100), diamond.edges) == 14.0
    small = '"a100-40gb", mig: "1g.5gb"'
    alone, batched = study(gpu=small), study("{max_batch: 64}", gpu=small)
    each = batched.models[0].activation_bytes
    assert batched.system.queries[0].weight_bytes == alone.system.queries[0].weight_bytes + 64 * each
    fits = int((batched.system.class_memory_bytes[0] - batched.models[0].weight_bytes) / each)
    assert fits < 1023
    study(f"{{max_batch: {fits}}}", gpu=small)
    with pytest.raises(NonaError) as caught:
        study(f"{{max_batch: {fits + 1}}}", gpu=small)
    assert f"Lower max_batch to at most {fits:,}, or take a larger GPU or slice." in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_through_the_times_and_its_largest_error():
    fit = fit_batches((1, 2, 4, 8), (2.0, 3.0, 5.0, 12.0))
    slope, fixed = np.polyfit((1, 2, 4, 8), (2.0, 3.0, 5.0, 12.0), 1)
    assert (fit.per_query_s, fit.fixed_s) == pytest.approx((slope, fixed))
    assert fit.error == pytest.approx(
        max(abs(fixed + slope * b - s) / s for b, s in ((1, 2), (2, 3), (4, 5), (8, 12)))
    )
    assert fit_batches([1], [2.0]).error == 0.0


def test_inspect_prints_the_times_of_batches_and_the_line_through_them(capsys):
    assert main(["inspect", "resnet18", "--batches", "4,1,3", "--batch", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    model = prepare_model(load_sample("resnet18"), (A100,), CostOptions(batch=2), largest=4)
    times = model.batch_s[[0, 2, 3], 0].sum(axis=1)
    assert [b["batch"] for b in report["batches"]] == [1, 3, 4]
    assert [b["compute_s"] for b in report["batches"]] == pytest.approx(times)
    assert [b["queries_per_s"] for b in report["batches"]] == pytest.approx([1, 3, 4] / times)
    low_s, high_s = report["total_compute_interval_s"]
    assert report["batches"][0]["interval_s"] == pytest.approx((low_s, high_s))
    assert [b["interval_s"][1] / b["compute_s"] for b in report["batches"]] == pytest.approx(
        [high_s / report["total_compute_s"]] * 3
    )
    slope, fixed = np.polyfit((1, 3, 4), times, 1)
    assert (report["fit"]["per_query_s"], report["fit"]["fixed_s"]) == pytest.approx((slope, fixed))
    assert main(["inspect", "rag_pipeline", "--batches", "1,8"]) == 0
    text = capsys.readouterr().out
    assert "8      1.27 s" in text
    assert "interval" not in text  # all times are given
    assert "1 − p + p·b times as long, p = 45 %" in text
