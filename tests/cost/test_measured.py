"""Measured times: tables that are read, written and refused; filling weights and measuring for real."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from sizes import examples

from nona.cost import measuring
from nona.cost.costing import cost_graph
from nona.cost.measured import MeasuredTable, read_measured
from nona.cost.options import CostOptions
from nona.errors import CostError, NonaError
from nona.graph.readers import read_model
from nona.hardware.device import user_devices
from nona.hardware.executor import make_executor_class
from nona.serverless.profiles import read_profile, rows_of

HEAD = "model,operator,device,ms"


def test_columns_may_come_in_any_order_and_tasks_are_operators():
    text = "# taken on a T4, clocks locked\nms,device,task,model,note\n1.5,t4,a,m,x\n"
    found = read_measured(text.encode())
    assert found.notes == ("taken on a T4, clocks locked",)
    assert found.times("m", "t4", CostOptions()) == {"a": 0.0015}


def test_rows_hold_for_their_batch_stack_and_precision():
    text = (
        f"{HEAD},batch,stack,precision\nm,a,t4,1,,,\nm,a,t4,2,8,,\nm,a,t4,3,8,eager,\nm,a,t4,4,8,eager,fp16\n"
    )
    found = read_measured(text)
    assert found.times("m", "t4", CostOptions()) == {"a": 1e-3}
    assert found.times("m", "t4", CostOptions(batch=8)) == {"a": 2e-3}
    assert found.times("m", "t4", CostOptions("eager", "fp16", 8)) == {"a": 4e-3}
    assert found.times("m", "t4", CostOptions(batch=2)) == {}


def test_the_very_model_wins_over_any_model():
    for rows in (["*,a,t4,1", "m,a,t4,2"], ["m,a,t4,2", "*,a,t4,1"]):
        text = "\ufeff" + "\r\n".join([HEAD, *rows])  # byte order mark, Windows' line ends
        found = read_measured(text.encode())
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
        (f"{HEAD},extra\nm,a,d,1,1", "'extra' is unknown"),
        (f"{HEAD}\nm,a,d", "line 2: 3 cells"),
        (f"{HEAD}\nm,,d,1", "line 2: operator=''"),
        (f"{HEAD}\nm,a,d,fast", "ms='fast'"),
        (f"{HEAD}\nm,a,d,nan", "ms='nan'"),
        (f"{HEAD}\nm,a,d,-1", "ms='-1'"),
        (f"{HEAD}\nm,a,d,1e300", "ms='1e300'"),
        (f"{HEAD}\nm,a,d,1\nm,a,d,2", "line 3: 'a' on 'd' has a time already"),
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
    with pytest.raises(CostError, match=why) as caught:
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
    except CostError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1
    assert problem or isinstance(found, MeasuredTable)


SQUEEZENET = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"


def external(name, kind, dims):
    tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights-not-shipped")
    return tensor


def small_model():
    """Convolution, batch normalisation, an embedding's index input: no weight is in the file."""
    f, i = TensorProto.FLOAT, TensorProto.INT64
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Gather", ["n", "ids"], ["g"], axis=1),
        helper.make_node("Relu", ["g"], ["y"], name="conv"),
    ]
    weights = [external("w", f, (4, 3, 3, 3)), *(external(n, f, (4,)) for n in "sbmv")]
    info = helper.make_tensor_value_info
    inputs = [info("x", f, ("batch", 3, 8, 8)), info("ids", i, (2,))]
    output = [info("y", f, ("batch", 2, 6, 6))]
    graph = helper.make_graph(nodes, "small", inputs, output, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_every_missing_weight_is_filled_and_the_model_is_valid(tmp_path):
    model = small_model()
    assert measuring.fill_weights(model, seed=3) == 5
    measuring.save_model(model, tmp_path / "m.onnx")
    again = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(again)
    values = {t.name: onnx.numpy_helper.to_array(t) for t in again.graph.initializer}
    assert (values["v"] > 0).all()
    assert values["w"].shape == (4, 3, 3, 3)
    assert values["w"].std() > 0
    assert measuring.fill_weights(again) == 0
    other = small_model()
    measuring.fill_weights(other, seed=3)
    assert other == model


def test_the_filled_model_computes_finite_numbers():
    from onnx.reference import ReferenceEvaluator

    model = small_model()
    measuring.fill_weights(model)
    inputs = measuring.random_inputs(model, {"batch": 2})
    assert {n: a.shape for n, a in inputs.items()} == {"x": (2, 3, 8, 8), "ids": (2,)}
    (result,) = ReferenceEvaluator(model).run(None, inputs)
    assert result.shape == (2, 2, 6, 6)
    assert np.isfinite(result).all()


def test_what_cannot_be_filled_or_measured_is_refused(monkeypatch):
    huge = small_model()
    huge.graph.initializer.append(external("huge", TensorProto.FLOAT, (10**5, 10**5)))
    for call, why in (
        (lambda: measuring.random_inputs(small_model(), {}), "'batch' is symbolic"),
        (lambda: measuring.fill_weights(huge), r"40\.0 GB"),
        (lambda: measuring.measure_model(SQUEEZENET, threads=0), "threads=0"),
    ):
        with pytest.raises(CostError, match=why):
            call()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CostError, match=r"nona-planner\[measure\]"):
        measuring.measure_model(SQUEEZENET)


def test_nodes_take_the_names_of_the_operators():
    model = small_model()
    graph = read_model(model.SerializeToString(), "small.onnx", symbols={"batch": 1}, guarded=False)
    measuring.name_nodes(model, graph)
    assert [n.name for n in model.graph.node] == [o.id for o in graph.operators]
    assert len({n.name for n in model.graph.node}) == 4


def test_events_become_times_in_order():
    events = [
        {"cat": "Node", "name": "b_kernel_time", "dur": 5, "ts": 30},
        {"cat": "Node", "name": "b_fence_before", "dur": 1, "ts": 29},
        {"cat": "Session", "name": "run", "dur": 99, "ts": 0},
        {"cat": "Node", "name": "b_kernel_time", "dur": 9, "ts": 10},
    ]
    assert measuring.node_times(events) == {"b": [9e-6, 5e-6]}


def test_a_written_table_is_read_back():
    times = {"conv, 1": [0.003, 0.001, 0.002], "relu": [4e-6] * 3}
    found = read_measured(measuring.table_text("m", "cpu", times, ["how, and when"]))
    assert found.notes == ("how, and when",)
    assert {r.operator: r.time_s for r in found.rows} == {"conv, 1": 0.002, "relu": 4e-6}


def test_this_machine_is_a_valid_device():
    name = measuring.device_name(2)
    assert name.startswith("cpu-")
    assert name.endswith("-2t")
    device = user_devices({name: measuring.device_definition(1e11, 2e10)})[name]
    assert device.peak("fp16") == 1e11
    assert device.bandwidth == 2e10


def test_a_written_profile_is_read_back():
    seconds = {1: [0.010] * 20, 4: [0.02, 0.021, 0.022, 0.05]}
    rows = read_profile(measuring.profile_text("m, a", 2, seconds, ["how, and when"]).encode())
    assert {(r.batch, r.vcpus, r.percentile) for r in rows} == {(b, 2, p) for b in seconds for p in (50, 95)}
    kept = rows_of(rows, "any")
    assert [(r.batch, r.seconds) for r in kept] == [(1, 0.010), (4, 0.0215)]
    assert {(r.gpu_share, r.vgpus) for r in kept} == {(None, None)}


def test_measuring_batches_for_real(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "small.onnx"
    path.write_bytes(small_model().SerializeToString())
    with pytest.raises(CostError, match="Measuring batches 0"):
        measuring.measure_batches(SQUEEZENET, [0])
    with pytest.raises(CostError, match="first dimension of its inputs is fixed"):
        measuring.measure_batches(SQUEEZENET, [1])
    rows = read_profile(measuring.measure_batches(path, [2, 1, 2], runs=3, warmup=1).encode())
    assert [(r.model, r.batch, r.vcpus, r.percentile) for r in rows] == [
        ("small", batch, 1, percentile) for batch in (1, 2) for percentile in (50, 95)
    ]
    with pytest.raises(CostError, match="ONNX Runtime cannot run it"), measuring.refusing("small"):
        raise RuntimeError("why\nnot")


def test_measuring_for_real(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "small.onnx"
    path.write_bytes(small_model().SerializeToString())
    table = tmp_path / "table.csv"
    result = measuring.measure_model(path, table, symbols={"batch": 2}, runs=3, warmup=1)
    assert result.missing == ()
    measured = read_measured(table.read_bytes())
    graph = read_model(path.read_bytes(), "small.onnx", symbols={"batch": 2})
    definition = json.loads(measured.notes[-1].split(": ", 1)[1])
    executor = make_executor_class(user_devices(definition)[result.device])
    costed = cost_graph(graph, executor, measured=measured)
    assert {c.provenance for c in costed.costs} == {"measured"}
    assert costed.total_compute_s == pytest.approx(sum(result.operators_s.values()), rel=1e-4)
    with pytest.raises(NonaError):
        measuring.measure_model(tmp_path / "missing.onnx")
