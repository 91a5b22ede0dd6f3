"""Layers of profiles become measured times of operators where all their names join, and nowhere else."""

import json

import pytest
from importing import asked, values

from nona.deployment.files import file_of
from nona.deployment.importing import import_files
from nona.models.graph.readers import read_model
from nona.queries.workflows.preparation import prepare
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_bytes
from nona.scenario.sample_files import sample_root

ONNX = file_of("net/resnet18.onnx", (sample_root() / "resnet18.onnx").read_bytes())
NAMES = [operator.id for operator in read_model(ONNX.data, "resnet18.onnx").operators]
GIVEN = {"servers.gpu": "l4", "resnet18.rate": "20/s", "resnet18.slo": "none"}


def trtexec(*layers, name="net/resnet18_b1.json"):
    entries = [{"count": 100}, {"name": "Reformatting CopyNode for Input Tensor 0", "averageMs": 0.05}]
    entries += [{"name": layer, "timeMs": 100 * ms, "averageMs": ms} for layer, ms in layers]
    return file_of(name, json.dumps(entries).encode())


FUSED = [
    (f"{NAMES[0]} + {NAMES[1]}", 0.5),
    (f"PWN(PWN({NAMES[2]}), {NAMES[3]})", 0.25),
    (f"{{ForeignNode[{NAMES[4]}...{NAMES[-1]}]}}", 1.5),
]


def costed(found):
    """Operator → (ms, provenance) of the only model, as the scenario costs it."""
    sources = Sources(None, in_memory=found.files)
    scenario = open_bytes(found.text.encode(), "s.yaml", sources).scenario
    (model,) = prepare(scenario, sources).models
    return {cost.id: (cost.compute_s * 1e3, cost.provenance) for cost in model.costed[0].costs}


@pytest.mark.parametrize("batch", ["1", "8"])
def test_layers_are_measured_times_of_the_operators(batch):
    found = import_files([trtexec(*FUSED), ONNX], GIVEN | {"resnet18_b1.batch": batch})
    assert found.facts.asked == ()
    assert found.data["workload"][0].get("batch", 1) == int(batch)
    times = costed(found)
    assert set(times) == set(NAMES)
    assert {provenance for _, provenance in times.values()} == {"measured"}
    assert {name: ms for name, (ms, _) in times.items() if ms} == pytest.approx(
        {NAMES[0]: 0.5, NAMES[2]: 0.25, NAMES[4]: 1.5}
    )
    assert (
        "46 are fused or removed" in values(found.facts.read)["resnet18_b1: its layers as times of operators"]
    )


def test_the_batch_of_a_profile_is_asked_and_none_leaves_it_out():
    found = import_files([trtexec(*FUSED), ONNX])
    question = next(fact for fact in found.facts.asked if fact.key == "resnet18_b1.batch")
    assert question.value == "1"  # by the file's name
    without = import_files([trtexec(*FUSED), ONNX], {"resnet18_b1.batch": "none"})
    assert "workload" not in without.data
    assert values(without.facts.not_used)["resnet18_b1: its layers as times of operators"].startswith(
        "not used"
    )


@pytest.mark.parametrize("layer", ["/nowhere/Conv", f"{NAMES[0]} + /nowhere/Relu", "{ForeignNode[/x.../y]}"])
def test_one_name_that_is_no_operator_refuses_the_profile_in_one_line(layer):
    found = import_files([trtexec(*FUSED, (layer, 1.0)), ONNX], {})
    (why,) = [
        v for k, v in values(found.facts.not_used).items() if k.endswith("its layers as times of operators")
    ]
    assert "is no operator of resnet18.onnx" in why
    assert "\n" not in why
    assert "cost" not in found.data
    assert asked(found) == set()


def ort(provider, *operators):
    events = [{"cat": "Session", "name": "model_run", "dur": 900, "ts": 1}]
    for _ in range(3):
        events += [
            {"cat": "Node", "name": f"{name}_kernel_time", "dur": us, "ts": 1, "args": {"provider": provider}}
            for name, us in operators
        ]
    return file_of("net/trace.json", json.dumps(events).encode())


def test_a_trace_of_onnx_runtime_on_cuda_is_used_with_a_warning_and_one_of_a_cpu_is_not():
    operators = [(name, 10 + i) for i, name in enumerate(NAMES)]
    found = import_files([ort("CUDAExecutionProvider", *operators), ONNX], GIVEN | {"trace.batch": "1"})
    assert {name: ms for name, (ms, _) in costed(found).items()} == pytest.approx(
        {name: us / 1000 for name, us in operators}
    )
    assert "host's clock" in values(found.facts.assumed)["trace: times of operators on CUDA hold for the GPU"]
    cpu = import_files([ort("CPUExecutionProvider", *operators), ONNX])
    assert values(cpu.facts.not_used)["trace: times of operators"].endswith("in all, of a CPU")
    assert "workload" not in cpu.data


def test_a_profile_of_a_model_in_a_repository_is_the_time_of_its_step():
    config = b'name: "net" backend: "onnxruntime" max_batch_size: 0'
    repository = [file_of("models/net/config.pbtxt", config), file_of("models/net/1/model.onnx", ONNX.data)]
    given = {"servers.gpu": "l4", "net.rate": "20/s", "net.slo": "none", "resnet18_b1.batch": "1"}
    found = import_files([*repository, trtexec(*FUSED)], given)
    assert found.facts.asked == ()
    (node,) = json.loads(found.files["net.json"])["nodes"]
    assert node["compute_ms"] == pytest.approx(2.3)  # copies included


def test_the_device_of_a_profile_is_asked_where_servers_differ():
    def node(name, product):
        labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "1"}
        status = {"allocatable": {"cpu": "16", "nvidia.com/gpu": "1"}}
        return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}

    items = [node("a", "NVIDIA-L4"), node("b", "Tesla-T4")]
    nodes = file_of("nodes.json", json.dumps({"kind": "List", "items": items}).encode())
    given = {
        "resnet18.rate": "20/s",
        "resnet18.slo": "none",
        "resnet18_b1.batch": "1",
        "network.capacity": "1 Gbit/s",
    }
    assert asked(import_files([trtexec(*FUSED), ONNX, nodes], given)) == {"resnet18_b1.gpu"}
    found = import_files([trtexec(*FUSED), ONNX, nodes], given | {"resnet18_b1.gpu": "t4"})
    assert all(line.split(",")[2] == "t4" for line in found.files["measured.csv"].decode().splitlines()[1:])
    costed(found)
