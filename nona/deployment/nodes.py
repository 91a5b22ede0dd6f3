"""Nodes of Kubernetes as groups of servers, from ``kubectl get nodes -o json`` (or YAML).

Source: NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery/README.md: the labels of nodes, and the resources
under each way of sharing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nona.cluster.hardware.device import devices
from nona.cluster.hardware.mig import (
    board,
    divided_among,
    gpu_layouts,
    layout_words,
    layouts_text,
    parse_layout,
    placed_text,
)
from nona.cluster.hardware.mig_parted import read_mig_parted
from nona.core.errors import DeploymentError, HardwareError
from nona.deployment.facts import ASKED, AnswerError, Ledger
from nona.deployment.files import GivenFile
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
        return self.tree.place_of(*self.path)

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


def node_servers(tree: Tree, parted: Sequence[GivenFile], ledger: Ledger) -> Found:
    """Return the servers that nodes are; those without GPUs are named, as tasks run on servers with them.

    ``parted``: files of mig-parted, which say the layouts by the numbers of GPUs.

    Raises ``DeploymentError`` with file and line for a node whose labels contradict each other.
    """
    single = tree.text("kind") == "Node"
    entries = [()] if single else [("items", i) for i in range(len(tree.entries("items")))]
    if len(entries) > MOST_NODES:
        raise DeploymentError(
            f"{tree.place_of('items')}: more than {MOST_NODES:,} nodes; give a part of them."
        )
    groups: Counter[FoundServers] = Counter()
    for path in entries:
        node = _Node(tree, path, tree.text(*path, "metadata", "name") or f"node {path[-1] if path else 1}")
        servers = _servers(node, parted, ledger)
        if servers is not None:
            same = next((s for s in groups if replace(s, place=servers.place) == servers), servers)
            groups[same] += 1
    return Found(servers=tuple(replace(s, count=n) for s, n in groups.items()))


def _servers(node: _Node, parted: Sequence[GivenFile], ledger: Ledger) -> FoundServers | None:
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
        return None
    gpu = _device(node, product, ledger)
    ledger.read(f"{node.name}: vCPUs", vcpus, node.place, "count")
    replicas = node.label_number("gpu.replicas") or 1
    sharing = node.label("gpu.sharing-strategy")
    total = node.label_number("gpu.count") or max(1, gpus // replicas)
    whole = gpus // replicas if sharing in ("time-slicing", "mps") and replicas > 1 else gpus
    if match := re.search(r"-MIG-([\w.]+)", product):
        slices[match[1]] += gpus
        total = whole = 0
    servers = FoundServers(1, gpu, whole or total, vcpus, node.place)
    if slices:
        layouts = _layouts(node, gpu, slices, max(0, total - whole), whole, parted, ledger)
        servers = replace(servers, gpus=len(layouts), mig=layouts_text(layouts) or "")
        if not whole:
            return servers
    text = f"{whole or total} × {gpu or product}"
    if replicas > 1 and sharing == "mps" and not slices:
        servers, text = replace(servers, mps=replicas), f"{text}, mps: {replicas} on each GPU"
    elif replicas > 1:
        servers, text = replace(servers, shared=replicas), f"{text}, shared {replicas} ways by time"
    ledger.read(f"{node.name}: GPUs", text, node.place)
    return servers


def _device(node: _Node, product: str, ledger: Ledger) -> str:
    gpu = device_named(product, node.label_number("gpu.memory"))
    if gpu:
        return gpu
    what = f"device of {node.name}, a {product or 'GPU without a name'}"
    return ledger.device(f"{node.name}.gpu", what, node.place)


def _layouts(
    node: _Node,
    gpu: str,
    slices: Mapping[str, int],
    gpus: int,
    whole: int,
    parted: Sequence[GivenFile],
    ledger: Ledger,
) -> list[str | None]:
    """Return the layout of each GPU of a node: ``gpus`` in slices (0: as many as hold them), others whole."""
    device, key = devices().get(gpu), f"{node.name}.mig"
    board_name = (device and device.mig) or ""
    gpus = gpus or _gpus_of(board_name, slices, node)
    total = ", ".join(f"{n} × {name}" for name, n in slices.items())
    if configured := _configured(node, board_name, slices, (gpus, whole), parted, ledger):
        return configured
    each = ", ".join(f"{n // gpus} × {name}" for name, n in slices.items())
    layouts: list[str | None] = [each] * gpus
    fault = "the slices do not divide evenly" if any(n % gpus for n in slices.values()) else ""
    if board_name:
        try:
            divided = divided_among(slices, board_name, gpus)
        except HardwareError as error:
            raise DeploymentError(f"{node.place}: {error}") from None
        layouts = [placed_text(layout) for layout in divided] or layouts
        fault = "" if divided else f"no such layouts of {gpu} were found"
    answer: float | str | None = None
    if fault:
        what = f"{node.name}: slices of each of its {gpus} GPUs, together {total}; {fault}"
        answer = ledger.ask(key, what, node.place)
        if answer is None:
            return [f"{ASKED}{key}"] * (gpus + whole)
    elif len(set(layouts)) > 1:
        what = f"{node.name}: slices of each of its {gpus} GPUs, together {total}"
        answer = ledger.assume(what, str(layouts_text(layouts)), node.place, key=key)
    if answer is not None:
        layouts = _answered(key, str(answer), board_name, gpus)
    same = f"each {layouts[0]}" if len(set(layouts)) == 1 else layout_words(layouts_text(layouts))
    ledger.read(f"{node.name}: GPUs in slices", f"{total} = {gpus} × {gpu or 'GPU'}, {same}", node.place)
    if whole:
        ledger.assume(f"{node.name}: GPUs in slices have the numbers", f"0 to {gpus - 1}", node.place)
    return [*layouts, *[None] * whole]


def _answered(key: str, text: str, board_name: str, gpus: int) -> list[str | None]:
    try:
        layouts = gpu_layouts(text, gpus)
        if board_name:
            layouts = tuple(of and placed_text(parse_layout(of, board_name)) for of in layouts)
    except HardwareError as error:
        raise AnswerError(key, str(error)) from None
    return list(layouts)


def _configured(
    node: _Node,
    board_name: str,
    slices: Mapping[str, int],
    gpus: tuple[int, int],
    parted: Sequence[GivenFile],
    ledger: Ledger,
) -> list[str | None]:
    """Return the layouts by number of the node's configuration in a file of mig-parted; empty without one.

    ``gpus``: in slices, and whole.
    """
    name = node.label("mig.config")
    for file in parted if name and board_name else ():
        try:
            found = read_mig_parted(file.data, board_name, sum(gpus)).layouts.get(name)
        except HardwareError:
            continue  # of other boards
        if found is None:
            continue
        made = Counter(s.profile for layout in found if layout for s in layout.slices)
        if made != slices or found.count(None) != gpus[1]:
            ledger.not_used(f"{node.name}: {name} of {file.name}", "it makes other slices", node.place)
            continue
        layouts = [placed_text(layout) if layout else None for layout in found]
        ledger.read(
            f"{node.name}: GPUs as {name} of {file.name}", layout_words(layouts_text(layouts)), node.place
        )
        return layouts
    return []


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
