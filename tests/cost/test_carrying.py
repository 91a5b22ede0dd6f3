"""Given times on other hardware: ratios by hand, devices that a file or a scenario names, and warnings."""

import pytest

from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions
from nona.cost.stated import bound_of, carried, unscaled_share, with_given
from nona.errors import CostError, GraphError, ScenarioError
from nona.graph.model import Operator
from nona.graph.node_link import from_node_link, to_node_link
from nona.graph.readers import read_model
from nona.hardware.device import user_devices
from nona.hardware.executor import executor_class, make_executor_class
from nona.report.times import given_times, hardware_notes, hardware_warnings, origin_text
from nona.scenario.file import dump_scenario, parse_scenario
from nona.sources.samples import load_sample
from nona.study.models import given_graph
from nona.study.preparation import prepare

# Peaks and bandwidths as in the catalogue: A100 19.5 TFLOP/s fp32, 312 fp16, 1555 GB/s; T4 8.1, 65, 320.
COMPUTE, COMPUTE_FP16, MEMORY = 19.5 / 8.1, 312 / 65, 1555 / 320
SLICE = 42 / 108  # SMs of a 3g.20gb; it has 4 of 8 memory slices
BY_HAND = [
    ("compute", "t4", COMPUTE),
    ("memory", "t4", MEMORY),
    ("host", "t4", 1.0),
    (None, "t4", (COMPUTE * MEMORY) ** 0.5),
    ("compute", "a100-40gb/3g.20gb", SLICE**-0.95),
    ("memory", "a100-40gb/3g.20gb", 2.0 * SLICE**0.05),
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


def ms(graph, executor, **more):
    return 1e3 * cost_graph(graph, executor_class(executor), **more).total_compute_s


@pytest.mark.parametrize(("bound", "executor", "ratio"), BY_HAND)
def test_a_given_time_is_carried_by_what_bounds_the_task(bound, executor, ratio):
    graph = flow(**({"bound": bound} if bound else {}))
    assert ms(graph, executor) == pytest.approx(10 * ratio)
    assert ms(graph, "a100-40gb") == pytest.approx(10)


def test_the_precision_chooses_the_peak():
    graph = flow(bound="compute")
    assert ms(graph, "t4", options=CostOptions(precision="fp16")) == pytest.approx(10 * COMPUTE_FP16)


def test_the_way_there_and_back_cancels():
    a, b = executor_class("a100-40gb/1g.5gb"), executor_class("t4")
    for bound in ("compute", "memory", None):
        there = carried(bound, a, b, CostOptions())
        assert there * carried(bound, b, a, CostOptions()) == pytest.approx(1)


def test_a_kind_tells_the_bound_and_a_stated_one_wins():
    assert bound_of(Operator("a", "Conv")) == "compute"
    assert bound_of(Operator("a", "lookup")) == "host"
    assert bound_of(Operator("a", "Conv", bound="memory")) == "memory"
    assert bound_of(Operator("a")) is None
    assert ms(flow(kind="database"), "t4") == 10


def test_known_work_sets_the_ratio():
    graph = flow(flops=1e9, read_bytes=1e6)
    known = from_node_link({"nodes": [{"id": "a", "flops": 1e9, "read_bytes": 1e6}]})
    assert ms(graph, "t4") == pytest.approx(10 * ms(known, "t4") / ms(known, "a100-40gb"))


def test_a_slice_of_the_device_is_nearer_than_another_device():
    graph = flow(device=None, compute_ms={"t4": 90, "a100-40gb/3g.20gb": 20}, bound="compute")
    assert ms(graph, "a100-40gb") == pytest.approx(20 * SLICE**0.95)
    assert ms(graph, "t4") == 90


def test_an_own_device_can_be_named():
    own = user_devices({"mine": {"base": "t4", "fp32": "16.2 TFLOP/s"}})
    graph = flow(device="mine", bound="compute")
    costed = cost_graph(graph, executor_class("t4"), own=own)
    assert costed.total_compute_s == pytest.approx(0.02)
    assert cost_graph(graph, make_executor_class(own["mine"])).total_compute_s == 0.01
    with pytest.raises(CostError, match="mine, which is no device known here"):
        cost_graph(graph, executor_class("t4"))


def test_origins_are_told():
    def origin(graph, executor):
        return origin_text(cost_graph(graph, executor_class(executor)).costs[0], executor)

    assert origin(flow(), "t4") == "given on a100-40gb, modelled on t4"
    assert origin(flow(), "a100-40gb") == "given"
    assert "does not run on the GPU" in origin(flow(bound="host"), "t4")
    assert origin(flow(device=None), "t4") == "given, no device named"


def test_times_without_a_device_are_warned_about_and_those_for_any_are_not():
    def told(graph):
        given = {"flow": given_times(cost_graph(graph, executor_class("t4")))}
        return hardware_warnings(given), hardware_notes(given, "t4")

    warnings, notes = told(flow(device=None))
    assert "100 % of its time is the same on every GPU and slice" in warnings[0]
    assert not notes
    assert told(flow(device=None, bound="host")) == ([], [])
    anywhere = from_node_link({"graph": {"device": "any"}, "nodes": [{"id": "a", "compute_ms": 10}]})
    warnings, notes = told(anywhere)
    assert not warnings
    assert "any device, by definition" in notes[0]
    assert unscaled_share(cost_graph(anywhere, executor_class("t4"))) == 0


FORMATS = {
    "flow.json": b'{"graph": {"device": "t4"}, "nodes": [{"id": "a", "compute_ms": 10, "bound": "compute"}]}',
    "flow.dot": b'digraph { node [device="t4", bound=compute]; a [compute_ms=10] }',
    "flow.graphml": b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
        <key id="t" for="node" attr.name="compute_ms" attr.type="double"/>
        <key id="d" for="node" attr.name="device" attr.type="string"><default>t4</default></key>
        <key id="b" for="node" attr.name="bound" attr.type="string"/>
        <graph edgedefault="directed"><node id="a"><data key="t">10</data><data key="b">compute</data>
        </node></graph></graphml>""",
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_names_the_device(name):
    graph = read_model(FORMATS[name], name)
    assert graph.operators[0].compute_s == {"t4": 0.01}
    assert graph.warnings == ()
    assert ms(graph, "a100-40gb") == pytest.approx(10 / COMPUTE)
    assert from_node_link(to_node_link(graph)) == graph


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({"device": 3}, "device=3 must be a text"),
        ({"compute_ms": {"t4": 1}}, "a device and a map of devices"),
        ({"bound": "luck"}, "bound='luck' must be compute, memory or host"),
    ],
)
def test_a_wrong_device_or_bound_is_refused(node, why):
    with pytest.raises(GraphError, match=why):
        flow(**node)


def test_a_graph_with_times_of_any_and_of_one_device_survives_the_way_through_a_file():
    document = {
        "graph": {"device": "t4"},
        "nodes": [{"id": "a", "compute_ms": 1}, {"id": "b", "compute_ms": 2, "device": "any"}],
    }
    graph = from_node_link(document)
    assert [o.compute_s for o in graph.operators] == [{"t4": 0.001}, {"*": 0.002}]
    assert from_node_link(to_node_link(graph)) == graph


SCENARIO = """
version: 1
cluster: {servers: [{count: 1, gpu: %s}]}
workload: [{model: flow, rate: 1/s}]
cost: {given: {flow: %s}}
models: {flow: {nodes: [{id: a, compute_ms: 10, kind: MatMul}, {id: b, compute_ms: 5, kind: Lookup}]}}
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
    model = prepare(scenario).models[0]
    assert 1e3 * model.costed[0].total_compute_s == pytest.approx(total_ms)
    assert parse_scenario(dump_scenario(scenario)) == scenario


def test_a_scenario_has_the_last_word_on_the_device():
    moved = with_given(load_sample("ensemble"), "t4", {})
    assert ms(moved, "t4") == pytest.approx(59)
    assert ms(moved, "a100-40gb") == pytest.approx(5 + 54 / COMPUTE)
    several = flow(device=None, compute_ms={"t4": 90, "a100-40gb": 20})
    assert ms(with_given(several, "h100", {}), "t4") == 90


def test_a_scenario_cannot_say_it_of_a_model_without_times():
    with pytest.raises(CostError, match="its file states no times"):
        with_given(load_sample("resnet18"), "t4", {})
    with pytest.raises(ScenarioError, match=r"cost.given.flow.factors.t4"):
        parse_scenario(SCENARIO % ("t4", "{factors: {t4: 0}}"))
    assert given_graph(load_sample("resnet18"), "resnet18", parse_scenario(SCENARIO % ("t4", "t4")).cost).name


@pytest.mark.parametrize(("layout", "count", "most"), [("3g.20gb", 2, 0.9), ("1g.5gb", 7, 1.1)])
def test_slicing_the_gpus_adds_no_capacity_to_the_ensemble_for_free(layout, count, most):
    """All slices of a GPU serve hardly more of its queries a second than the whole; it was 2 and 7 times."""
    ensemble = load_sample("ensemble")
    whole, part = ms(ensemble, "a100-40gb"), ms(ensemble, f"a100-40gb/{layout}")
    assert whole == pytest.approx(59)
    assert count * whole / part < most
    assert ms(ensemble, "t4") == pytest.approx(5 + 54 * COMPUTE)


def test_the_slides_example_states_that_its_times_hold_anywhere():
    example = load_sample("slides_example")
    assert example.device == "*"
    assert ms(example, "t4") == ms(example, "a100-40gb/1g.5gb") == pytest.approx(22)
