"""Nodes of Kubernetes and texts of nvidia-smi read as the servers that they describe."""

import json

import pytest
import yaml
from importing import DATA, asked, imported, values

from nona.core.errors import DeploymentError
from nona.deployment.files import file_of
from nona.deployment.importing import import_files
from nona.deployment.products import PRODUCTS, device_named, label_of
from nona.scenario.file import parse_scenario


def test_equal_nodes_are_one_group():
    found = imported("nodes.json", network__capacity="25 Gbit/s")
    groups = parse_scenario(found.text).cluster.servers
    assert [(g.count, g.gpu, g.gpus, g.vcpus, g.mig, g.mps) for g in groups] == [
        (2, "h100", 4, 63, None, None),
        (1, "a30", 3, 24, "2g.12gb, 1g.6gb, 1g.6gb | 2g.12gb, 1g.6gb, 1g.6gb | whole", None),
        (1, "l4", 2, 15, None, 3),
        (1, "a100-80gb", 2, 16, "3g.40gb, 3g.40gb", None),
    ]
    read = values(found.facts.read)
    assert read["b: GPUs in slices"] == "4 × 1g.6gb, 2 × 2g.12gb = 2 × a30, each 2g.12gb, 1g.6gb, 1g.6gb"
    assert values(found.facts.not_used)["e: a node without GPUs"] == "7 vCPUs, only for tasks on CPUs"
    assert asked(imported("nodes.json")) == {"network.capacity"}


def test_texts_of_nvidia_smi_are_one_server():
    found = imported("smi")
    (group,) = parse_scenario(found.text).cluster.servers
    assert (group.count, group.gpu, group.layouts) == (1, "a30", ("1g.6gb+me@0, 2g.12gb@2", None))
    assert found.data["cluster"]["servers"][0]["mig"] == ["1g.6gb+me@0, 2g.12gb@2", "whole"]
    assert values(found.facts.read)["GPU0, GPU1: joined by"] == "NVLink (4)"
    assert values(found.facts.not_used)["GPU 1: compute_mode"] == "Exclusive_Process"


def _node(**changes):
    node = json.loads((DATA / "nodes.json").read_text())["items"][0]
    node["metadata"]["labels"] |= changes.pop("labels", {})
    node["status"]["allocatable"] |= changes
    return file_of("n.json", json.dumps({"kind": "List", "items": [node]}, indent=1).encode())


SLICED = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.count": "4"}
MIXED = {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "7", "nvidia.com/mig-3g.20gb": "4"}


def test_gpus_of_a_node_that_are_divided_differently_are_one_server():
    found = import_files([_node(labels=SLICED, **MIXED)])
    (group,) = parse_scenario(found.text).cluster.servers
    halves, sevenths = "3g.20gb, 3g.20gb", ", ".join(["1g.5gb"] * 7)
    assert (group.gpus, group.layouts) == (4, (halves, halves, sevenths, None))
    what = "a1: slices of each of its 3 GPUs, together 7 × 1g.5gb, 4 × 3g.20gb"
    assert values(found.facts.assumed)[what].count("|") == 2
    given = {"a1.mig": "3g.20gb × 2 | 3g + 4 × 1g | 3g + 3 × 1g"}
    (group,) = parse_scenario(import_files([_node(labels=SLICED, **MIXED)], given).text).cluster.servers
    assert group.layouts[1] == "3g.20gb, 1g.5gb, 1g.5gb, 1g.5gb, 1g.5gb"
    with pytest.raises(DeploymentError, match=r"--set a1\.mig: MIG layouts .* 2 for 3 GPUs"):
        import_files([_node(labels=SLICED, **MIXED)], {"a1.mig": "3g | 3g"})
    none = import_files([_node(labels=SLICED, **MIXED | {"nvidia.com/mig-3g.20gb": "40"})])
    assert [f.key for f in none.facts.asked] == ["a1.mig"]
    assert none.data["cluster"]["servers"][0]["mig"] == "asked: a1.mig"


def test_a_node_with_a_configuration_of_mig_parted_has_its_layouts_by_number():
    parted = """version: v1
mig-configs:
  mine:
    - {devices: [1], mig-enabled: true, mig-devices: {"1g.5gb": 7}}
    - {devices: [0, 3], mig-enabled: true, mig-devices: {"3g.20gb": 2}}
    - {devices: [2], mig-enabled: false}
"""
    file = file_of("mig.yaml", parted.encode())
    held = file_of(
        "map.yaml", yaml.safe_dump({"kind": "ConfigMap", "data": {"config.yaml": parted}}).encode()
    )
    node = _node(labels=SLICED | {"nvidia.com/mig.config": "mine"}, **MIXED)
    for given_file in (file, held):
        (group,) = parse_scenario(import_files([node, given_file]).text).cluster.servers
        assert [of and of[:6] for of in group.layouts] == ["3g.20g", "1g.5gb", None, "3g.20g"]
    other = _node(
        labels=SLICED | {"nvidia.com/mig.config": "mine"}, **MIXED | {"nvidia.com/mig-3g.20gb": "2"}
    )
    found = import_files([other, file])
    assert values(found.facts.not_used)["a1: mine of mig.yaml"] == "it makes other slices"


@pytest.mark.parametrize(("whole", "sevenths", "likely"), [("1", "7", "a100-40gb"), ("0", "14", None)])
def test_an_engine_may_have_the_whole_gpus_of_a_node_with_slices_and_is_said_to_stand_beside(
    whole, sevenths, likely
):
    command = file_of("start.sh", b"vllm serve meta-llama/Llama-3.1-8B-Instruct")
    node = _node(labels=SLICED, **MIXED | {"nvidia.com/gpu": whole, "nvidia.com/mig-1g.5gb": sevenths})
    found = import_files([node, command])
    question = next(fact for fact in found.facts.asked if fact.key == "llama-3.1-8b.gpu")
    assert question.value == likely
    assert values(found.facts.assumed)["llama-3.1-8b: its GPUs"].startswith("1 beside those")


def test_a_shared_gpu_is_no_second_one():
    file = _node(
        labels={
            "nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "5",
            "nvidia.com/gpu.sharing-strategy": "time-slicing",
        },
        **{"nvidia.com/gpu": "20"},
    )  # fmt: skip
    (group,) = import_files([file]).data["cluster"]["servers"]
    assert group["gpus"] == 4


def test_an_unknown_gpu_is_asked_and_an_unknown_answer_refused():
    file = _node(labels={"nvidia.com/gpu.product": "Voodoo-2"})
    found = import_files([file])
    assert [f.key for f in found.facts.asked] == ["a1.gpu"]
    assert import_files([file], {"a1.gpu": "t4"}).data["cluster"]["servers"][0]["gpu"] == "t4"
    with pytest.raises(DeploymentError, match=r"--set a1\.gpu: 'x' is no known device"):
        import_files([file], {"a1.gpu": "x"})


def test_numbers_of_nodes_must_be_numbers():
    with pytest.raises(DeploymentError, match=r"^n.json:\d+: cpu 'many' must be a number of CPUs"):
        import_files([_node(cpu="many")])


def test_labels_are_the_names_of_nvidia_smi():
    for device, product in PRODUCTS.items():
        assert device_named(product) == device
        assert device_named(label_of(device)) == device
        assert device_named(f"{label_of(device)}-SHARED") == device
