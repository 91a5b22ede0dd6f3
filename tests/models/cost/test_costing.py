"""Times of operators: modelled ones, stated ones carried to other hardware, measuring and tables."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sizes import examples

from evidence.published_latencies import reference_model
from nona.cluster.hardware.device import devices, user_devices
from nona.cluster.hardware.executor import executor_class, make_executor_class
from nona.cluster.hardware.mig import parse_layout
from nona.core.errors import CostError, GraphError, ScenarioError
from nona.models.cost.costed import interval, total_interval
from nona.models.cost.costing import cost_graph
from nona.models.cost.measured import MeasuredTable, read_measured
from nona.models.cost.options import CostOptions, kernel_constant, scaled_edges, stacks, tensor_scale
from nona.models.cost.roofline import KernelLoad, Roofline
from nona.models.cost.stated import bound_of, carried, unscaled_share, with_given
from nona.models.graph.model import Edge, ModelGraph, Operator, Tensor
from nona.models.graph.node_link import from_node_link, to_node_link
from nona.models.times_report import given_times, hardware_notes, hardware_warnings, origin_text
from nona.planning.offers import slicings
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.rows import given_graph
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.plan import offer_entry
from nona.scenario.sample_files import load_sample

RESNET = reference_model("resnet50")
BERT = reference_model("bert-base/128")
FIRST = RESNET.operators[0].id


def on(executor, graph=RESNET, measured=None, own=None, **options):
    if isinstance(executor, str):
        executor = executor_class(executor)
    return cost_graph(graph, executor, CostOptions(**options), measured=measured, own=own)


def ms(graph, executor, **more):
    return 1e3 * on(executor, graph, **more).total_compute_s


@pytest.mark.parametrize("stack", list(stacks()))
@pytest.mark.parametrize("precision", ["model", "fp16", "int8"])
def test_all_times_are_modelled_and_views_take_none(stack, precision):
    costed = on("a100-40gb", BERT, stack=stack, precision=precision)
    assert {c.provenance for c in costed.costs} == {"modelled"}
    assert all((c.compute_s > 0) == (c.kind != "Reshape") for c in costed.costs)
    assert costed.warnings == ()


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
    slow, fast = (on(make_executor_class(d), precision=precision).total_compute_s for d in (t4, better))
    assert fast <= slow * (1 + 1e-12)


def test_slices_cost_less_than_their_part_and_more_than_the_whole():
    """The overhead does not grow, so 1/7 of a GPU is less than 7 times slower at batch 1."""
    names = ["", "/7g.40gb", "/4g.20gb", "/3g.20gb", "/2g.10gb", "/1g.5gb"]
    times = [ms(RESNET, f"a100-40gb{n}", precision="int8") for n in names]
    assert times == sorted(times)
    assert times[0] <= times[1]  # at batch 1 no kernel fills more than 98 SMs
    assert 1 < times[-1] / times[1] < 7
    large = {"precision": "int8", "batch": 256}
    ratio = ms(RESNET, "a100-40gb/1g.5gb", **large) / ms(RESNET, "a100-40gb/7g.40gb", **large)
    assert 5 < ratio < 7.9  # near 7^0.95 where the overhead vanishes; memory has 8 parts


def test_mps_shares_are_linear_beyond_the_overhead():
    whole, quarter = (Roofline(executor_class(name), "tensorrt") for name in ("t4", "t4/mps-1of4"))
    for flops, weights, moved in ((1e9, 0.0, 0.0), (0.0, 1e6, 0.0), (0.0, 0.0, 1e6), (1e9, 1e6, 1e7)):
        load = KernelLoad("product", flops, weights, moved, "fp16")
        assert quarter.work_s(load) == pytest.approx(4 * whole.work_s(load))
    assert quarter.constants.launch_s == whole.constants.launch_s


def test_the_cache_is_a_second_roof():
    """Bytes that it holds come at the rate of the SMs, those beyond it, and weights, from memory."""
    for name in ("t4", "l4", "a100-40gb"):
        roof = Roofline(executor_class(name), "tensorrt")
        device, size = roof.executor.device, roof.cache_bytes
        rate = kernel_constant("any", "bytes_per_cycle") * device.clock * device.sms
        held = roof.work_s(KernelLoad("other", 0.0, 0.0, size / 2, "fp16"))
        assert held == pytest.approx(size / 2 / rate)
        beyond = roof.work_s(KernelLoad("other", 0.0, 0.0, 100 * size, "fp16"))
        assert beyond == pytest.approx(max(99 * size / roof.bandwidth, 100 * size / rate))
        fetched = roof.work_s(KernelLoad("other", 0.0, size, 0.0, "fp16"))
        assert fetched == pytest.approx(size / roof.bandwidth)
        assert roof.work_s(KernelLoad("other", 0.0, size, 0.0, "fp16", weights_stay=True)) == 0


@pytest.mark.parametrize("batch", [8, 16, 32])
def test_an_l4_is_twice_as_fast_as_a_t4(batch):
    """MLPerf ResNet-50 offline: 12,882 against 6,036 images a second, 2.1 times."""
    ratio = ms(RESNET, "t4", precision="fp16", batch=batch) / ms(RESNET, "l4", precision="fp16", batch=batch)
    assert 1.6 < ratio < 4.4


@pytest.mark.parametrize(("batch", "published"), [(4, 1.41), (8, 2.27), (16, 3.84), (32, 7.11), (64, 13.40)])
def test_batches_of_resnet_50_on_an_a100_are_within_30_percent(batch, published):
    """NVIDIA/TensorRT issue 3993, TensorRT 8.6, the file's single precision in TF32."""
    assert ms(RESNET, "a100-40gb", batch=batch) == pytest.approx(published, rel=0.3)


def test_batch_scales_activations_and_flops_not_weights():
    one, many = on("t4"), on("t4", batch=8)
    for a, b in zip(one.costs, many.costs, strict=True):
        assert (b.flops, b.weight_bytes) == (8 * a.flops, a.weight_bytes)
        assert (b.read_bytes, b.write_bytes) == (8 * a.read_bytes, 8 * a.write_bytes)
    assert many.total_compute_s < 8 * one.total_compute_s
    sizes = [e.size_bytes for e in scaled_edges(RESNET, CostOptions(batch=8))]
    assert sizes == [8 * e.size_bytes for e in RESNET.edges]


def test_precision_scales_bytes_of_floating_point_tensors_only():
    half, full = on("t4", BERT, precision="fp16"), on("t4", BERT, precision="fp32")
    assert full.compute_s == on("t4", BERT).compute_s
    assert sum(c.weight_bytes for c in half.costs) == sum(c.weight_bytes for c in full.costs) / 2
    assert sum(c.flops for c in half.costs) == sum(c.flops for c in full.costs)
    scale = tensor_scale(BERT, CostOptions(precision="int8", batch=2))
    assert scale["ids"] == 2
    assert {s for n, s in scale.items() if n in BERT.parameters} == {0.25}
    plain = {"t": Tensor("t", 8.0)}
    graph = ModelGraph("g", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),), plain)
    assert scaled_edges(graph, CostOptions(precision="int8", batch=3))[0].size_bytes == 24.0
    tf32, fp32 = on("a100-40gb", precision="tf32"), on("a100-40gb", precision="fp32")
    assert [c.read_bytes for c in tf32.costs] == [c.read_bytes for c in fp32.costs]
    assert tf32.total_compute_s < fp32.total_compute_s, "another peak"
    told = on("v100", precision="tf32").warnings
    assert told == ("Device 'v100' states no tf32 peak: that of fp32 is used.",)


def workflow(times):
    return ModelGraph("flow", (Operator("a", compute_s=times),), ())


def table(*rows, columns="model,operator,device,ms"):
    return read_measured("\n".join([columns, *rows]))


STATED = {"*": 5.0, "a100-40gb": 2.0, "a100-40gb/1g.5gb": 3.0}
MEASURED = ("flow,a,t4,7", "*,a,a30,4")


@pytest.mark.parametrize(
    ("times", "rows", "executor", "expected"),
    [
        (STATED, (), "t4", (5.0, "given")),
        (STATED, (), "a100-40gb", (2.0, "given")),
        (STATED, (), "a100-40gb/1g.5gb", (3.0, "given")),
        (STATED, (), "a100-40gb/2g.10gb", (pytest.approx(2 * (108 / 28) ** 0.5), "modelled")),
        (STATED, MEASURED, "t4", (0.007, "measured")),
        (STATED, MEASURED, "a30", (0.004, "measured")),
        (STATED, MEASURED, "h100", (5.0, "given")),
        (STATED, MEASURED, "t4/mps-1of4", (pytest.approx(0.014), "calibrated")),
    ],
)
def test_measured_times_win_then_given_ones_and_the_nearest_counts(times, rows, executor, expected):
    measured = table(*rows) if rows else None
    only = on(executor, workflow(times), measured=measured).costs[0]
    assert (only.compute_s, only.provenance) == expected


def test_times_for_no_known_device_are_refused_and_unknown_work_costs_its_overhead():
    assert ms(workflow(STATED), "t4", batch=4) == 20e3
    with pytest.raises(CostError, match="'abacus', which is no known device or slice"):
        on("t4", workflow({"abacus": 1.0}))
    costed = on("t4", workflow(None))
    assert "1 operator" in costed.warnings[0]
    assert costed.total_compute_s == kernel_constant("engine", "launch_cycles") / devices()["t4"].clock


def test_a_measured_operator_is_carried_to_a_slice_by_the_models_ratio():
    whole, part = on("a100-40gb"), on("a100-40gb/1g.5gb")
    found = on("a100-40gb/1g.5gb", measured=table(f"resnet50,{FIRST},a100-40gb,1")).costs
    assert found[0].compute_s == pytest.approx(1e-3 * part.compute_s[0] / whole.compute_s[0])
    assert [c.provenance for c in found[:2]] == ["calibrated", "modelled"]


def test_a_measured_whole_model_calibrates_its_operators():
    plain = on("t4")
    costed = on("t4", measured=table("resnet50,*,t4,3", f"resnet50,{FIRST},t4,0.5"))
    assert costed.total_compute_s == pytest.approx(3e-3)
    assert costed.costs[0].compute_s == 0.5e-3
    assert [c.provenance for c in costed.costs[:2]] == ["measured", "calibrated"]
    pairs = list(zip(costed.compute_s, plain.compute_s, strict=True))[1:]
    assert len({round(a / b, 9) for a, b in pairs if b > 0}) == 1


def test_rows_that_cannot_be_used_are_said():
    unknown = on("t4", measured=table("resnet50,nope,t4,1"))
    assert "no operator 'nope'; nearest are " in unknown.warnings[0]
    other = on("t4", measured=table("resnet50,Conv_0,t4,1,8", columns="model,operator,device,ms,batch"))
    assert "hold for batch 8, any stack, any precision, not for batch 1" in other.warnings[0]
    assert other.compute_s == on("t4").compute_s


def test_a_users_own_efficiencies_calibrate():
    own = user_devices({"mine": {"base": "t4", "compute_efficiency": 1.0, "memory_efficiency": 1.0}})
    costed = on(make_executor_class(own["mine"]))
    assert {c.provenance for c in costed.costs} == {"calibrated"}
    assert costed.total_compute_s < on("t4").total_compute_s


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stack": "magic"}, "Stack 'magic'"),
        ({"precision": "fp4"}, "Precision 'fp4'"),
        *(({"batch": batch}, f"Batch {batch}") for batch in (0, True, 1.5)),
    ],
)
def test_impossible_options(options, why):
    with pytest.raises(CostError, match=why):
        CostOptions(**options)


def test_intervals_hold_the_time_and_widen_with_the_level():
    narrow, wide = interval(2.0, "modelled", 0.5), interval(2.0, "modelled", 0.95)
    assert wide[0] < narrow[0] < 2.0 < narrow[1] < wide[1]
    assert narrow[0] * narrow[1] == pytest.approx(4.0)
    costed = on("t4")
    assert total_interval(costed) == pytest.approx(interval(costed.total_compute_s, "modelled"))
    with pytest.raises(CostError, match="level"):
        interval(1.0, "modelled", 1.0)


# Peaks and bandwidths as in the catalogue: A100 19.5 TFLOP/s fp32, 312 fp16, 1555 GB/s; T4 8.1, 65, 320.
COMPUTE, COMPUTE_FP16, MEMORY = 19.5 / 8.1, 312 / 65, 1555 / 320
SLICE = 42 / 108  # SMs of a 3g.20gb; it has 4 of 8 memory slices
BY_HAND = [
    ("compute", "t4", COMPUTE),
    ("memory", "t4", MEMORY),
    ("host", "t4", 1.0),
    (None, "t4", (COMPUTE * MEMORY) ** 0.5),
    ("compute", "a100-40gb/3g.20gb", SLICE**-0.95),
    ("memory", "a100-40gb/3g.20gb", 2.0**0.95),
    ("host", "a100-40gb/3g.20gb", 1.0),
    (None, "a100-40gb/3g.20gb", SLICE**-0.5),
    ("compute", "a100-40gb/mps-1of4", 4.0),
    ("memory", "a100-40gb/mps-1of4", 4.0),
    (None, "a100-40gb/mps-1of4", 2.0),
    (None, "t4/mps-1of4", 2.0 * (COMPUTE * MEMORY) ** 0.5),
]


def flow(**node):
    """One task of 10 ms on an A100 unless ``node`` says otherwise."""
    return from_node_link({"nodes": [{"id": "a", "compute_ms": 10, "device": "a100-40gb"} | node]}, "flow")


@pytest.mark.parametrize(("bound", "executor", "ratio"), BY_HAND)
def test_a_given_time_is_carried_by_what_bounds_the_task(bound, executor, ratio):
    graph = flow(**({"bound": bound} if bound else {}))
    assert ms(graph, executor) == pytest.approx(10 * ratio)
    assert ms(graph, "a100-40gb") == pytest.approx(10)
    a, b = executor_class("a100-40gb/1g.5gb"), executor_class(executor)
    there, back = carried(bound, a, b, CostOptions()), carried(bound, b, a, CostOptions())
    assert there * back == pytest.approx(1)


def test_precision_kind_and_known_work_set_the_ratio():
    assert ms(flow(bound="compute"), "t4", precision="fp16") == pytest.approx(10 * COMPUTE_FP16)
    assert bound_of(Operator("a", "Conv")) == "compute"
    assert bound_of(Operator("a", "lookup")) == "host"
    assert bound_of(Operator("a", "Conv", bound="memory")) == "memory", "a stated one wins"
    assert bound_of(Operator("a")) is None
    assert ms(flow(kind="database"), "t4") == 10
    work = {"flops": 1e9, "read_bytes": 1e6}
    known = from_node_link({"nodes": [{"id": "a"} | work]})
    assert ms(flow(**work), "t4") == pytest.approx(10 * ms(known, "t4") / ms(known, "a100-40gb"))


def test_an_own_device_can_be_named():
    own = user_devices({"mine": {"base": "t4", "fp32": "16.2 TFLOP/s"}})
    graph = flow(device="mine", bound="compute")
    assert ms(graph, "t4", own=own) == pytest.approx(20)
    assert ms(graph, make_executor_class(own["mine"])) == 10
    both = flow(device=None, compute_ms={"t4": 90, "a100-40gb/3g.20gb": 20}, bound="compute")
    nearer = pytest.approx(20 * SLICE**0.95)  # a slice of the device is nearer than another device
    assert (ms(both, "a100-40gb"), ms(both, "t4")) == (nearer, 90)
    with pytest.raises(CostError, match="'mine', which is no known device or slice"):
        on("t4", graph)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("A100", "use a100-40gb or a100-80gb"),
        ("a100-40gb:9g", "has no such profile; use 1g.5gb"),
        ("3g.20gb", "use a100-40gb/3g.20gb"),
        ("h10", "h100"),
    ],
)
def test_a_time_for_what_is_no_device_is_refused_with_the_nearest_name_also_beside_others(name, remedy):
    beside = flow(device=None, compute_ms={"t4": 90, name: 20})
    calls = [
        lambda: on("t4", beside),
        lambda: on("t4", flow(device=name)),
        lambda: with_given(flow(), name, {}),
        lambda: with_given(flow(), None, {name: 2.0}),
    ]
    for call in calls:
        with pytest.raises(CostError) as caught:
            call()
        assert f"has '{name}'" in str(caught.value)
        assert remedy in str(caught.value)


@pytest.mark.parametrize("name", ["a100-40gb/3g.20gb", "a100-40gb:3g.20gb", "a100-40gb:3g", "a100-40gb/3g"])
def test_each_spelling_of_a_slice_means_the_same_everywhere(name):
    slice_ = "a100-40gb/3g.20gb"
    assert executor_class(name).name == slice_
    assert ms(flow(device=None, compute_ms={"a100-40gb": 5, name: 20}), slice_) == 20
    assert ms(with_given(flow(device="a100-40gb"), None, {name: 3.0}), slice_) == 30
    assert ms(with_given(flow(device=None), name, {}), slice_) == 10
    rows = read_measured(f"model,operator,device,ms\n*,a,{name},7\n")
    assert ms(flow(), slice_, measured=rows) == 7
    offer = offer_entry(f"{name}=2")
    assert slicings(offer["gpu"], offer["mig"]) == ("3g.20gb",)
    assert parse_layout(offer["mig"], "a100-40gb").text == "3g.20gb"


def test_origins_are_told_and_times_without_a_device_but_not_those_for_any_warned_about():
    for node, executor, text in (
        ({}, "t4", "given on a100-40gb, modelled on t4"),
        ({}, "a100-40gb", "given"),
        ({"bound": "host"}, "t4", "given on a100-40gb; it does not run on the GPU"),
        ({"device": None}, "t4", "given, no device named"),
    ):
        assert origin_text(on(executor, flow(**node)).costs[0], executor) == text

    def told(graph):
        times = {"flow": given_times(on("t4", graph))}
        return hardware_warnings(times), hardware_notes(times, "t4")

    (warning,), notes = told(flow(device=None))
    assert "100 % of its time is the same on every GPU and slice" in warning
    assert not notes
    assert told(flow(device=None, bound="host")) == ([], [])
    anywhere = from_node_link({"graph": {"device": "any"}, "nodes": [{"id": "a", "compute_ms": 10}]})
    warnings, notes = told(anywhere)
    assert not warnings
    assert "any device, by definition" in notes[0]
    assert unscaled_share(on("t4", anywhere)) == 0


def test_times_of_any_and_of_one_device_survive_the_way_through_a_file():
    nodes = [{"id": "a", "compute_ms": 1, "bound": "host"}, {"id": "b", "compute_ms": 2, "device": "any"}]
    graph = from_node_link({"graph": {"device": "t4"}, "nodes": nodes, "edges": []})
    assert [o.compute_s for o in graph.operators] == [{"t4": 0.001}, {"*": 0.002}]
    assert from_node_link(to_node_link(graph)) == graph
    for node, why in (
        ({"device": 3}, "device=3 must be a text"),
        ({"compute_ms": {"t4": 1}}, "a device and a map of devices"),
        ({"bound": "luck"}, "bound='luck' must be compute, memory or host"),
    ):
        with pytest.raises(GraphError, match=why):
            flow(**node)


SCENARIO = """
version: 1
cluster: {servers: [{count: 1, gpu: %s}]}
workload: [{model: flow, rate: 1/s}]
cost: {given: {flow: %s}}
models:
  flow: {nodes: [{id: a, compute_ms: 10, kind: MatMul}, {id: b, compute_ms: 5, kind: Lookup}], edges: []}
"""


@pytest.mark.parametrize(
    ("gpu", "given", "total_ms"),
    [
        ("a100-40gb", "a100-40gb", 15),
        ("t4", "a100-40gb", 5 + 10 * COMPUTE),
        ("t4", "any", 15),
        ("t4", "{device: a100-40gb, factors: {t4: 3}}", 35),
        ("a100-40gb", "{device: a100-40gb, factors: {t4: 3}}", 15),
        ("t4", "{factors: {t4: 2}}", 25),
        ("a100-40gb", "t4", 5 + 10 / COMPUTE),
    ],
)
def test_a_scenario_says_what_the_times_hold_for(gpu, given, total_ms):
    scenario = parse_scenario(SCENARIO % (gpu, given))
    assert 1e3 * prepare(scenario).models[0].costed[0].total_compute_s == pytest.approx(total_ms)
    assert parse_scenario(dump_scenario(scenario)) == scenario


def test_a_scenario_has_the_last_word_on_the_device_but_not_on_a_model_without_times():
    moved = with_given(load_sample("ensemble"), "t4", {})
    assert ms(moved, "t4") == pytest.approx(59)
    assert ms(moved, "a100-40gb") == pytest.approx(5 + 54 / COMPUTE)
    several = flow(device=None, compute_ms={"t4": 90, "a100-40gb": 20})
    assert ms(with_given(several, "h100", {}), "t4") == 90
    with pytest.raises(CostError, match="its file states no times"):
        with_given(load_sample("resnet18"), "t4", {})
    with pytest.raises(ScenarioError, match=r"cost.given.flow.factors.t4"):
        parse_scenario(SCENARIO % ("t4", "{factors: {t4: 0}}"))
    assert given_graph(
        load_sample("resnet18"), "resnet18", parse_scenario(SCENARIO % ("t4", "t4")).cost, {}
    ).name


@pytest.mark.parametrize(("layout", "count", "most"), [("3g.20gb", 2, 0.9), ("1g.5gb", 7, 1.1)])
def test_slicing_the_gpus_adds_no_capacity_to_the_ensemble_for_free(layout, count, most):
    """All slices of a GPU serve hardly more of its queries a second than the whole; it was 2 and 7 times."""
    ensemble = load_sample("ensemble")
    whole, part = ms(ensemble, "a100-40gb"), ms(ensemble, f"a100-40gb/{layout}")
    assert whole == pytest.approx(59)
    assert count * whole / part < most
    example = load_sample("slides_example")
    assert (example.device, ms(example, "t4"), ms(example, f"a100-40gb/{layout}")) == ("*", 22, 22)


HEAD = "model,operator,device,ms"
SQUEEZENET = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"


@pytest.mark.parametrize(
    ("options", "ms"),
    [((), 1), (("tensorrt", "model", 8), 2), (("eager", "fp16", 8), 4), (("tensorrt", "model", 2), None)],
)
def test_rows_hold_for_their_batch_stack_and_precision(options, ms):
    rows = ["m,a,t4,1,,,", "m,a,t4,2,8,,", "m,a,t4,3,8,eager,", "m,a,t4,4,8,eager,fp16"]
    found = read_measured("\n".join([f"{HEAD},batch,stack,precision", *rows]))
    assert found.times("m", "t4", CostOptions(*options)) == ({"a": ms / 1e3} if ms else {})


def test_the_very_model_wins_over_any_model_and_columns_may_come_in_any_order():
    for rows in (["1,t4,a,*,", "2,t4,a,m,x"], ["2,t4,a,m,", "1,t4,a,*,"]):
        lines = ["# taken on a T4, clocks locked", "ms,device,task,model,note", *rows]
        found = read_measured(("\ufeff" + "\r\n".join(lines)).encode())  # byte order mark, Windows' line ends
        assert found.times("m", "t4", CostOptions()) == {"a": 2e-3}
        assert found.times("n", "t4", CostOptions()) == {"a": 1e-3}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no rows"),
        (HEAD, "no rows"),
        ("model,operator,ms\nm,a,1", "'device' is missing"),
        (f"{HEAD},ms\nm,a,d,1,1", "'ms' appears twice"),
        ("model,operator,task,device,ms\nm,a,a,d,1", "'operator' appears twice"),
        (f"{HEAD},extra\nm,a,d,1,1", "'extra' is not known"),
        (f"{HEAD}\nm,a,d", "line 2: 3 cells"),
        (f"{HEAD}\nm,,d,1", "line 2: operator=''"),
        (f"{HEAD}\nm,a,d,fast", "ms='fast'"),
        (f"{HEAD}\nm,a,d,nan", "ms='nan'"),
        (f"{HEAD}\nm,a,d,-1", "ms='-1'"),
        (f"{HEAD}\nm,a,d,1e300", "ms='1e300'"),
        (f"{HEAD}\nm,a,d,1\nm,a,d,2", "line 3: line 2 is about m, a, d, 1 too"),
        (f"{HEAD},batch\nm,a,d,1,zero", "batch='zero'"),
        (f"{HEAD},batch\nm,a,d,1,0", "batch='0'"),
        (f"{HEAD},stack\nm,a,d,1,magic", "stack='magic'"),
        (f"{HEAD},precision\nm,a,d,1,fp4", "precision='fp4'"),
        (f'{HEAD}\n"m,a,d,1', "line 2"),
        (f"{HEAD}\nm\0,a,d,1\x07", "ms="),
        (b"mod\xff", "byte 3 is not UTF-8"),
    ],
)
def test_broken_tables_name_the_line(text, why):
    with pytest.raises(ScenarioError, match=why) as caught:
        read_measured(text)
    assert "\n" not in str(caught.value)


@examples(200)
@given(
    st.one_of(
        st.binary(max_size=80), st.text(max_size=80).map(lambda t: f"{HEAD}\n{t}".encode(errors="ignore"))
    )
)
@example(b'model,operator,device,ms\n"\r\n')
def test_anything_gives_a_table_or_one_line(data):
    problem = ""
    try:
        found = read_measured(data)
    except ScenarioError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1
    assert problem or isinstance(found, MeasuredTable)
