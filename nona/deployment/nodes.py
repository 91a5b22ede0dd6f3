"""Nodes of Kubernetes as groups of servers, from ``kubectl get nodes -o json`` (or YAML).

Source: NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery/README.md: the labels of nodes, and the resources
under each way of sharing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nona.cluster.hardware.device import devices
from nona.cluster.hardware.mig import board, parse_layout, placed_text
from nona.core.errors import DeploymentError, HardwareError
from nona.deployment.facts import Ledger
from nona.deployment.found import Found, FoundServers
from nona.deployment.located import Tree
from nona.deployment.products import device_named

MOST_NODES = 10_000
_LABEL = "nvidia.com/"
_MIG = re.compile(r"nvidia\.com/mig-([\w.]+?)(\.shared)?$")


@dataclass(frozen=True, slots=True)
class _Node:
    tree: Tree
    path: tuple[str | int, ...]
    name: str

    @property
    def place(self) -> str:
        return self.tree.at(*self.path)

    def label(self, key: str) -> str:
        return self.tree.text(*self.path, "metadata", "labels", f"{_LABEL}{key}")

    def label_number(self, key: str) -> int | None:
        return self.tree.whole(*self.path, "metadata", "labels", f"{_LABEL}{key}", most=10**7)

    @property
    def resources(self) -> Mapping[str, Any]:
        return self.tree.mapping(*self.path, "status", "allocatable") or self.tree.mapping(
            *self.path, "status", "capacity"
        )

    def resource(self, key: str) -> int:
        place = "allocatable" if self.tree.get(*self.path, "status", "allocatable") else "capacity"
        return self.tree.whole(*self.path, "status", place, key, most=10**6) or 0


def node_servers(tree: Tree, ledger: Ledger) -> Found:
    """Return the servers that nodes are; those without GPUs are named, as tasks run on servers with them.

    Raises ``DeploymentError`` with file and line for a node whose labels contradict each other.
    """
    single = tree.text("kind") == "Node"
    entries = [()] if single else [("items", i) for i in range(len(tree.entries("items")))]
    if len(entries) > MOST_NODES:
        raise DeploymentError(f"{tree.at('items')}: more than {MOST_NODES:,} nodes; give a part of them.")
    groups: Counter[FoundServers] = Counter()
    for path in entries:
        node = _Node(tree, path, tree.text(*path, "metadata", "name") or f"node {path[-1] if path else 1}")
        for servers in _servers(node, ledger):
            same = next((s for s in groups if replace(s, place=servers.place) == servers), servers)
            groups[same] += 1
    return Found(servers=tuple(replace(s, count=n) for s, n in groups.items()))


def _servers(node: _Node, ledger: Ledger) -> list[FoundServers]:
    vcpus = _cpus(node)
    product = node.label("gpu.product")
    gpus = node.resource("nvidia.com/gpu") + node.resource("nvidia.com/gpu.shared")
    slices = Counter[str]()
    for key in node.resources:
        if (match := _MIG.match(str(key))) and (count := node.resource(str(key))):
            slices[match[1]] += count
    if not gpus and not slices:
        ledger.not_used(
            f"{node.name}: a node without GPUs", f"{vcpus} vCPUs, only for tasks on CPUs", node.place
        )
        return []
    gpu = _device(node, product, ledger)
    if match := re.search(r"-MIG-([\w.]+)", product):
        ledger.read(f"{node.name}: vCPUs", vcpus, node.place, "count")
        slices[match[1]] += gpus
        return [_sliced(node, gpu, slices, vcpus, None, ledger)]
    replicas = node.label_number("gpu.replicas") or 1
    sharing = node.label("gpu.sharing-strategy")
    total = node.label_number("gpu.count") or max(1, gpus // replicas)
    whole = gpus // replicas if sharing in ("time-slicing", "mps") and replicas > 1 else gpus
    servers = []
    ledger.read(f"{node.name}: vCPUs", vcpus, node.place, "count")
    if slices:
        sliced = total - whole
        share = vcpus * sliced // total if whole and total else vcpus
        servers.append(_sliced(node, gpu, slices, max(1, share), sliced if sliced > 0 else None, ledger))
        if not whole:
            return servers
        ledger.assume(
            f"{node.name}: sliced and whole GPUs",
            "two groups of servers, with the network between them",
            node.place,
        )
        vcpus = max(1, vcpus - share)
    plain = FoundServers(1, gpu, whole or total, vcpus, node.place)
    text = f"{plain.gpus} × {gpu or product}"
    if replicas > 1 and sharing == "mps":
        plain, text = replace(plain, mps=replicas), f"{text}, mps: {replicas} on each GPU"
    elif replicas > 1:
        plain, text = replace(plain, shared=replicas), f"{text}, shared {replicas} ways by time"
    ledger.read(f"{node.name}: GPUs", text, node.place)
    return [*servers, plain]


def _device(node: _Node, product: str, ledger: Ledger) -> str:
    gpu = device_named(product, node.label_number("gpu.memory"))
    if gpu:
        return gpu
    answer = ledger.ask(
        f"{node.name}.gpu", f"device of {node.name}, a {product or 'GPU without a name'}", node.place
    )
    return "" if answer is None else known_device(str(answer), f"--set {node.name}.gpu")


def known_device(name: str, place: str) -> str:
    """Return the name of a device that the catalogue has.

    Raises ``DeploymentError`` for another name.
    """
    if name not in devices():
        raise DeploymentError(
            f"{place}: {name[:60]!r} is no known device; use one of {', '.join(devices())}."
        )
    return name


def _sliced(
    node: _Node, gpu: str, slices: Mapping[str, int], vcpus: int, gpus: int | None, ledger: Ledger
) -> FoundServers:
    """Return the group of a node's GPUs in slices; all GPUs are sliced alike."""
    device = devices().get(gpu)
    count = gpus or _gpus_of(device.mig if device and device.mig else "", slices, node)
    each = {name: n / count for name, n in slices.items()}
    layout = ", ".join(name for name, n in each.items() for _ in range(int(n)))
    fault = "the slices do not divide evenly" if any(n != int(n) for n in each.values()) else ""
    if device is not None and device.mig and not fault:
        try:
            layout = placed_text(parse_layout(layout, device.mig))
        except HardwareError as error:
            fault = str(error).rstrip(".")
    total = ", ".join(f"{n} × {name}" for name, n in slices.items())
    if fault:
        answer = ledger.ask(
            f"{node.name}.mig", f"{node.name}: slices of each of its {count} GPUs, together {total}; {fault}",
            node.place,
        )  # fmt: skip
        layout = str(answer or layout)
    ledger.read(
        f"{node.name}: GPUs in slices", f"{total} = {count} × {gpu or 'GPU'}, each {layout}", node.place
    )
    return FoundServers(1, gpu, count, vcpus, node.place, mig=layout)


def _gpus_of(board_name: str, slices: Mapping[str, int], node: _Node) -> int:
    """Return how many GPUs hold so many slices, where all are full."""
    try:
        whole = board(board_name) if board_name else None
        parts = sum(n / whole.profile(name).max_instances for name, n in slices.items()) if whole else 1
    except HardwareError as error:
        raise DeploymentError(f"{node.place}: {error}") from None
    return max(1, -int(-parts // 1))


def _cpus(node: _Node) -> int:
    """Return the whole CPUs of a node, whose number may be in thousandths (``3920m``)."""
    text = str(node.resources.get("cpu", "16"))
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?)(m?)", text)
    if match is None:
        raise DeploymentError(
            f"{node.place}: cpu {text[:40]!r} must be a number of CPUs or of thousandths (3920m); correct it."
        )
    return max(1, min(4096, int(float(match[1]) / (1000 if match[2] else 1))))
