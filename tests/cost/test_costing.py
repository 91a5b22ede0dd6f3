"""Times of operators: the formula recomputed, monotone in the hardware, and stated times that win."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cost.costed import interval, total_interval
from nona.cost.costing import cost_graph, fuse
from nona.cost.measured import read_measured
from nona.cost.operators import operator_work
from nona.cost.options import CostOptions, scaled_edges, stacks, tensor_scale
from nona.cost.roofline import Roofline, given_slowdown, transfer_s
from nona.cost.validation_networks import Sketch, reference_model
from nona.errors import CostError
from nona.graph.model import Edge, ModelGraph, Operator, Tensor
from nona.hardware.device import devices, links, user_devices
from nona.hardware.executor import executor_class, make_executor_class

RESNET = reference_model("resnet50")
BERT = reference_model("bert-base/128")
SAMPLES = Path(__file__).parents[2] / "sample_models"


def total_s(graph, executor, options=CostOptions()):  # noqa: B008
    return cost_graph(graph, executor_class(executor), options).total_compute_s


@pytest.mark.parametrize("stack", list(stacks()))
@pytest.mark.parametrize("precision", ["model", "fp16", "int8"])
def test_operators_add_up_to_their_kernels(stack, precision):
    """The formula, written out again with the constants of the tables."""
    options = CostOptions(stack, precision)
    works, _ = operator_work(BERT, options)
    sizes = {n: t.size_bytes * tensor_scale(BERT, options)[n] for n, t in BERT.tensors.items()}
    peak = {"model": 19.5e12, "fp16": 312e12, "int8": 624e12}[precision]
    launch = {"tensorrt": 2.7e-6, "cuda-graphs": 5e-6, "onnxruntime": 10e-6, "eager": 60e-6}[stack]
    expected = 0.0
    for kernel in fuse(BERT, works, sizes, stacks()[stack].fuses):
        flops = sum(works[i].work.flops for i in kernel.members)
        busy = max(flops / (0.67 * peak), kernel.traffic_bytes / (0.60 * 1555e9))
        expected += launch + busy if kernel.launches else 0.0
    costed = cost_graph(BERT, executor_class("a100-40gb"), options)
    assert costed.total_compute_s == pytest.approx(expected, rel=1e-9)
    assert all(c.compute_s >= 0 and c.provenance == "modelled" for c in costed.costs)
    assert costed.warnings == ()


def test_views_take_no_time_and_epilogues_no_launch():
    costed = cost_graph(RESNET, executor_class("a100-40gb"))
    kinds = {c.kind: [] for c in costed.costs}  # type: dict[str, list[float]]
    for c in costed.costs:
        kinds[c.kind].append(c.compute_s)
    assert kinds["Flatten"] == [0.0]
    assert min(kinds["Conv"]) > 2.7e-6


@examples(25)
@given(
    st.sampled_from(["fp32", "fp16", "memory bandwidth"]),
    st.floats(1.0, 20.0),
    st.sampled_from(["model", "fp16", "tf32"]),
)
def test_better_hardware_is_never_slower(what, factor, precision):
    t4 = devices()["t4"]
    if what == "memory bandwidth":
        better = replace(t4, bandwidth=t4.bandwidth * factor)
    else:
        better = replace(t4, peaks={**t4.peaks, what: t4.peaks[what] * factor})
    options = CostOptions(precision=precision)
    slow = cost_graph(RESNET, make_executor_class(t4), options).compute_s
    fast = cost_graph(RESNET, make_executor_class(better), options).compute_s
    assert sum(fast) <= sum(slow) * (1 + 1e-12)


def test_slices_cost_less_than_their_part_and_more_than_the_whole():
    """The overhead does not grow, so 1/7 of a GPU is less than 7 times slower at batch 1."""
    options = CostOptions(precision="int8")
    names = ["7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"]
    times = [total_s(RESNET, f"a100-40gb/{n}", options) for n in names]
    assert times == sorted(times)
    assert total_s(RESNET, "a100-40gb", options) < times[0]
    assert 1 < times[-1] / times[0] < 7
    large = CostOptions(precision="int8", batch=256)
    ratio = total_s(RESNET, "a100-40gb/1g.5gb", large) / total_s(RESNET, "a100-40gb/7g.40gb", large)
    assert 5 < ratio < 7.9  # near 7^0.95 where the overhead vanishes; memory has 8 parts


def test_mps_shares_are_linear_beyond_the_overhead():
    whole = Roofline(executor_class("t4"), "tensorrt")
    quarter = Roofline(executor_class("t4/mps-1of4"), "tensorrt")
    for flops, size in ((1e9, 0.0), (0.0, 1e6), (1e9, 1e7)):
        assert quarter.work_s(flops, size, "fp16") == pytest.approx(4 * whole.work_s(flops, size, "fp16"))
    assert quarter.constants.launch_s == whole.constants.launch_s


def test_batch_scales_activations_and_flops_not_weights():
    one = cost_graph(RESNET, executor_class("t4"))
    many = cost_graph(RESNET, executor_class("t4"), CostOptions(batch=8))
    for a, b in zip(one.costs, many.costs, strict=True):
        assert b.flops == 8 * a.flops
        assert (b.read_bytes, b.write_bytes) == (8 * a.read_bytes, 8 * a.write_bytes)
        assert b.weight_bytes == a.weight_bytes
    assert many.total_compute_s < 8 * one.total_compute_s
    assert [e.size_bytes for e in scaled_edges(RESNET, CostOptions(batch=8))] == [
        8 * e.size_bytes for e in RESNET.edges
    ]


def test_precision_scales_bytes_of_floating_point_tensors_only():
    half = cost_graph(BERT, executor_class("t4"), CostOptions(precision="fp16"))
    full = cost_graph(BERT, executor_class("t4"), CostOptions(precision="fp32"))
    assert full.compute_s == cost_graph(BERT, executor_class("t4")).compute_s
    assert sum(c.weight_bytes for c in half.costs) == sum(c.weight_bytes for c in full.costs) / 2
    assert sum(c.flops for c in half.costs) == sum(c.flops for c in full.costs)
    scale = tensor_scale(BERT, CostOptions(precision="int8", batch=2))
    assert scale["ids"] == 2
    assert {s for n, s in scale.items() if n in BERT.parameters} == {0.25}


def test_tf32_has_the_bytes_of_fp32_and_another_peak():
    tf32 = cost_graph(RESNET, executor_class("a100-40gb"), CostOptions(precision="tf32"))
    fp32 = cost_graph(RESNET, executor_class("a100-40gb"), CostOptions(precision="fp32"))
    assert [c.read_bytes for c in tf32.costs] == [c.read_bytes for c in fp32.costs]
    assert tf32.total_compute_s < fp32.total_compute_s


def test_a_missing_peak_is_said():
    costed = cost_graph(RESNET, executor_class("v100"), CostOptions(precision="tf32"))
    assert costed.warnings == ("Device 'v100' states no tf32 peak: that of fp32 is used.",)


def test_plain_bytes_are_not_scaled_by_precision():
    graph = ModelGraph(
        "g", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),), {"t": Tensor("t", 8.0)}
    )
    assert scaled_edges(graph, CostOptions(precision="int8", batch=3))[0].size_bytes == 24.0


def workflow(times):
    return ModelGraph("flow", (Operator("a", compute_s=times),), ())


def cost_of(graph, executor, **more):
    only = cost_graph(graph, executor_class(executor), **more).costs[0]
    return only.compute_s, only.provenance


def test_given_times_win_and_the_nearest_counts():
    graph = workflow({"*": 5.0, "a100-40gb": 2.0, "a100-40gb/1g.5gb": 3.0})
    assert cost_of(graph, "t4") == (5.0, "given")
    assert cost_of(graph, "a100-40gb") == (2.0, "given")
    assert cost_of(graph, "a100-40gb/1g.5gb") == (3.0, "given")
    slower = given_slowdown(executor_class("a100-40gb/2g.10gb"))
    assert cost_of(graph, "a100-40gb/2g.10gb") == (pytest.approx(2.0 * slower), "modelled")
    assert slower == pytest.approx((108 / 28) ** 0.5)
    assert cost_of(graph, "t4", options=CostOptions(batch=4))[0] == 20.0


def test_a_time_for_an_unknown_device_only_is_an_error():
    with pytest.raises(CostError, match="times for abacus, which is no device known here, and none for 't4'"):
        cost_of(workflow({"abacus": 1.0}), "t4")


def test_a_time_for_another_device_is_carried_by_the_models_ratio_when_the_work_is_known():
    s = Sketch("g")
    s.add("Relu", [s.source("x", (1000,))], (1000,))
    graph = s.graph()
    given = replace(graph, operators=(replace(graph.operators[0], compute_s={"v100": 1.0}),))
    ratio = cost_of(graph, "t4")[0] / cost_of(graph, "v100")[0]
    assert cost_of(given, "t4") == (pytest.approx(ratio), "modelled")
    time, provenance = cost_of(given, "v100/mps-1of2")
    assert provenance == "modelled"
    modelled = [cost_of(graph, name)[0] for name in ("v100/mps-1of2", "v100")]
    assert time == pytest.approx(modelled[0] / modelled[1])


def test_unknown_work_is_warned_about_and_costs_its_overhead():
    costed = cost_graph(workflow(None), executor_class("t4"))
    assert "1 operator" in costed.warnings[0]
    assert costed.total_compute_s == 2.7e-6


def table(*rows):
    return read_measured("\n".join(["model,operator,device,ms", *rows]))


def test_measured_times_override_model_and_file():
    measured = table("flow,a,t4,7", "*,a,a100-40gb,4")
    graph = workflow({"*": 5.0})
    assert cost_of(graph, "t4", measured=measured) == (0.007, "measured")
    assert cost_of(graph, "a100-40gb", measured=measured) == (0.004, "measured")
    assert cost_of(graph, "h100", measured=measured) == (5.0, "given")
    time, provenance = cost_of(graph, "t4/mps-1of4", measured=measured)
    assert (time, provenance) == (pytest.approx(0.014), "calibrated")


def test_a_measured_operator_is_carried_to_a_slice_by_the_models_ratio():
    name = RESNET.operators[0].id
    measured = table(f"resnet50,{name},a100-40gb,1")
    whole, part = executor_class("a100-40gb"), executor_class("a100-40gb/1g.5gb")
    ratio = cost_graph(RESNET, part).compute_s[0] / cost_graph(RESNET, whole).compute_s[0]
    carried = cost_graph(RESNET, part, measured=measured).costs
    assert carried[0].compute_s == pytest.approx(1e-3 * ratio)
    assert [c.provenance for c in carried[:2]] == ["calibrated", "modelled"]


def test_a_measured_whole_model_calibrates_its_operators():
    name = RESNET.operators[0].id
    measured = table("resnet50,*,t4,3", f"resnet50,{name},t4,0.5")
    plain = cost_graph(RESNET, executor_class("t4"))
    costed = cost_graph(RESNET, executor_class("t4"), measured=measured)
    assert costed.total_compute_s == pytest.approx(3e-3)
    assert costed.costs[0].compute_s == 0.5e-3
    assert [c.provenance for c in costed.costs[:2]] == ["measured", "calibrated"]
    ratios = {
        round(a / b, 9) for a, b in zip(costed.compute_s[1:], plain.compute_s[1:], strict=True) if b > 0
    }
    assert len(ratios) == 1


def test_rows_that_cannot_be_used_are_said():
    unknown = cost_graph(RESNET, executor_class("t4"), measured=table("resnet50,nope,t4,1"))
    assert "(first 'nope')" in unknown.warnings[0]
    measured = read_measured("model,operator,device,ms,batch\nresnet50,Conv_0,t4,1,8\n")
    other = cost_graph(RESNET, executor_class("t4"), measured=measured)
    assert "another batch" in other.warnings[0]
    assert other.compute_s == cost_graph(RESNET, executor_class("t4")).compute_s


def test_a_users_own_efficiencies_calibrate():
    own = user_devices({"mine": {"base": "t4", "compute_efficiency": 1.0, "memory_efficiency": 1.0}})
    costed = cost_graph(RESNET, make_executor_class(own["mine"]))
    assert {c.provenance for c in costed.costs} == {"calibrated"}
    assert costed.total_compute_s < total_s(RESNET, "t4")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stack": "magic"}, "Stack 'magic'"),
        ({"precision": "fp4"}, "Precision 'fp4'"),
        ({"batch": 0}, "Batch 0"),
        ({"batch": True}, "Batch True"),
        ({"batch": 1.5}, "Batch 1.5"),
    ],
)
def test_impossible_options(options, why):
    with pytest.raises(CostError, match=why):
        CostOptions(**options)


def test_transfer_is_affine():
    link = links()["nccl-a100-internode"]
    one, two = transfer_s(1e6, link), transfer_s(2e6, link)
    assert two - one == pytest.approx(1e6 / 7.8e9)
    assert transfer_s(0, link) == 31e-6
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(CostError, match="Transfer"):
            transfer_s(bad, link)


def test_intervals_hold_the_time_and_widen_with_the_level():
    narrow, wide = interval(2.0, "modelled", 0.5), interval(2.0, "modelled", 0.95)
    assert wide[0] < narrow[0] < 2.0 < narrow[1] < wide[1]
    assert narrow[0] * narrow[1] == pytest.approx(4.0)
    costed = cost_graph(RESNET, executor_class("t4"))
    low, high = total_interval(costed)
    assert (low, high) == pytest.approx(interval(costed.total_compute_s, "modelled"))
    with pytest.raises(CostError, match="level"):
        interval(1.0, "modelled", 1.0)
