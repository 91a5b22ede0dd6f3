"""Report on a cluster: capacity at a glance, server groups, links, and which weights do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.hardware.catalogue import find_device
from nona.hardware.cluster import Cluster, ServerGroup
from nona.hardware.executor import ExecutorClass
from nona.units import format_bandwidth, format_size


@dataclass(frozen=True, slots=True)
class GroupPicture:
    """One server group: how many servers and GPUs, and the executors of one GPU.

    ``slices`` holds, for each executor of a GPU, its label, its part of the device's compute, and
    the compute slices of its MIG instance (0 for a whole GPU or an MPS client).
    """

    servers: int
    gpus: int
    vcpus: int
    device: str
    sharing: str
    slices: tuple[tuple[str, float, int], ...]


def group_picture(cluster: Cluster, group: ServerGroup) -> GroupPicture:
    """What a picture of the group shows."""
    device = find_device(group.gpu, cluster.devices)
    classes = group.classes(device)
    sharing = "whole GPUs"
    if group.mig:
        sharing = "1 executor by MIG" if len(classes) == 1 else f"{len(classes)} executors by MIG"
    if group.mps:
        sharing = f"{group.mps} MPS clients" + (
            f" on each slice, {len(classes)} executors" if group.mig else ""
        )
    slices = tuple(
        (c.mig or ("GPU" if c.whole else "client"), c.compute_fraction, _slices(c)) for c in classes
    )
    return GroupPicture(group.count, group.gpus, group.vcpus, device.title, sharing, slices)


def _slices(made: ExecutorClass) -> int:
    return int(made.mig.split("g.")[0]) if made.mig else 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """Totals of a cluster: executors, their memory (bytes), their peak at fp16 (FLOP/s), vCPUs."""

    executors: int
    memory_bytes: float
    fp16_flop_per_s: float
    vcpus: int


def capacity(cluster: Cluster) -> Capacity:
    """Totals over all executors.

    >>> capacity(Cluster((ServerGroup(2, "t4", vcpus=4),))).vcpus
    8
    """
    classes = cluster.classes
    made = [classes[e.executor_class] for e in cluster.executors]
    return Capacity(
        len(made),
        sum(c.memory_bytes for c in made),
        sum(c.peak("fp16") for c in made),
        sum(cluster.server_vcpus),
    )


def weights_problems(weights: Mapping[str, float], classes: Sequence[ExecutorClass]) -> list[str]:
    """A sentence for every model whose weights do not fit an executor class, and for all models together.

    ``weights`` are bytes by model. The simulator and the placement take it that every executor
    holds the weights of all models, so their sum counts as well.

    >>> from nona.hardware.executor import executor_class
    >>> slice_ = executor_class("a100-40gb/1g.5gb")
    >>> weights_problems({"big": 8e9}, [slice_])[0].split(";")[0]
    'big: its weights, 8 GB, do not fit an executor of a100-40gb/1g.5gb, 5.1 GB'
    >>> weights_problems({"a": 3e9, "b": 1e9}, [slice_])
    []
    """
    problems = []
    for made in classes:
        room = f"{made.name}, {format_size(made.memory_bytes)}"
        large = {n: w for n, w in weights.items() if w > made.memory_bytes}
        problems += [
            f"{name}: its weights, {format_size(size)}, do not fit an executor of {room}; take a larger "
            "slice or GPU, fewer MPS clients, a lower precision, or another model"
            for name, size in large.items()
        ]
        total = sum(weights.values())
        if not large and total > made.memory_bytes:
            problems.append(
                f"All models together have {format_size(total)} of weights, more than an executor of {room} "
                "has; any task may run anywhere, so weights would have to be loaded again and again, which "
                "no time here contains: take larger slices, or serve fewer models on this cluster"
            )
    return problems


def link_lines(cluster: Cluster) -> list[tuple[str, str]]:
    """The links a message meets, with their capacity: name, what it is."""
    network = cluster.network
    lines = [("Core" if network.several_links else "Link", format_bandwidth(network.capacity))]
    if network.racks is not None:
        racks = -(-cluster.servers // network.racks.size)
        lines.insert(0, (f"{racks} rack uplinks", f"{format_bandwidth(network.racks.uplink)} each way"))
    if network.nic is not None:
        lines.insert(0, (f"{cluster.servers:,} cards", f"{format_bandwidth(network.nic)} each way"))
    return lines
