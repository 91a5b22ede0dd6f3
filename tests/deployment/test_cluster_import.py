"""Nodes of Kubernetes and texts of nvidia-smi read as the servers that they describe."""

import json

import pytest
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
        (1, "a30", 2, 16, "2g.12gb, 1g.6gb, 1g.6gb", None),
        (1, "a30", 1, 8, None, None),
        (1, "l4", 2, 15, None, 3),
        (1, "a100-80gb", 2, 16, "3g.40gb, 3g.40gb", None),
    ]
    read = values(found.facts.read)
    assert read["b: GPUs in slices"] == "4 × 1g.6gb, 2 × 2g.12gb = 2 × a30, each 2g.12gb, 1g.6gb, 1g.6gb"
    assert values(found.facts.not_used)["e: a node without GPUs"] == "7 vCPUs, only for tasks on CPUs"
    assert asked(imported("nodes.json")) == {"network.capacity"}


def test_texts_of_nvidia_smi_are_one_server():
    found = imported("smi", network__capacity="25 Gbit/s")
    groups = parse_scenario(found.text).cluster.servers
    assert [(g.gpu, g.gpus, g.mig) for g in groups] == [
        ("a30", 1, "1g.6gb+me@0, 2g.12gb@2"),
        ("a30", 1, None),
    ]
    assert values(found.facts.read)["GPU0, GPU1: joined by"] == "NVLink (4)"
    assert values(found.facts.not_used)["GPU 1: compute_mode"] == "Exclusive_Process"


def _node(**changes):
    node = json.loads((DATA / "nodes.json").read_text())["items"][0]
    node["metadata"]["labels"] |= changes.pop("labels", {})
    node["status"]["allocatable"] |= changes
    return file_of("n.json", json.dumps({"kind": "List", "items": [node]}, indent=1).encode())


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
