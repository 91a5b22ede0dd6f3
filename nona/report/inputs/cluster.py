"""Report on a cluster: capacity at a glance, server groups, links, and which weights do not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.hardware.catalogue import find_device
from nona.hardware.cluster import Cluster, ServerGroup
from nona.hardware.executor import ExecutorClass
from nona.units import format_size


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
    """The label of the group in a picture."""
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
    """A sentence for each model whose weights do not fit an executor class, and one for all models.

    ``weights`` are bytes by model. The placement keeps a model off the classes that cannot hold it, and
    deals models out where they do not all fit one executor; what fits nowhere cannot be served.

    >>> from nona.hardware.executor import executor_class
    >>> slice_ = executor_class("a100-40gb/1g.5gb")
    >>> weights_problems({"big": 8e9}, [slice_])[0].split(";")[0]
    'big: its weights, 8 GB, do not fit an executor of a100-40gb/1g.5gb, 4.75 GB'
    >>> weights_problems({"a": 3e9, "b": 1e9}, [slice_])
    []
    """
    problems = []
    for made in classes:
        room = f"{made.name}, {format_size(made.memory_bytes)}"
        large = {n: w for n, w in weights.items() if w > made.memory_bytes}
        problems += [
            f"{name}: its weights, {format_size(size)}, do not fit an executor of {room}; the "
            "placement uses other classes if they can hold it; otherwise choose a larger slice or GPU, fewer "
            "MPS clients, a lower precision, or another model"
            for name, size in large.items()
        ]
        total = sum(weights.values())
        if not large and total > made.memory_bytes:
            problems.append(
                f"All models together have {format_size(total)} of weights, more than an executor of {room} "
                "has; the placement puts only some of them there, and reports an error if others cannot "
                "hold the rest; larger slices or fewer models allow more placements"
            )
    return problems


def memory_rows(weights: Mapping[str, float], cluster: Cluster) -> list[dict[str, str | int]]:
    """A row for each executor class: its memory, and the weights of all models that fit it one by one.

    >>> cluster = Cluster((ServerGroup(2, "t4"),))
    >>> memory_rows({"a": 4e9, "b": 20e9}, cluster)[0]["free"], memory_rows({}, cluster)[0]["executors"]
    ('12 GB', 2)
    """
    counts = Counter(e.executor_class for e in cluster.executors)
    rows: list[dict[str, str | int]] = []
    for made in cluster.classes.values():
        fit = {n: w for n, w in weights.items() if w <= made.memory_bytes}
        held = sum(fit.values())
        left_out = [n for n in weights if n not in fit]
        rows.append(
            {
                "executor class": made.name,
                "executors": counts[made.name],
                "memory per executor": format_size(made.memory_bytes),
                "weights of all that fit": format_size(held),
                "free": format_size(made.memory_bytes - held) if held <= made.memory_bytes else "too little",
                "on all of them": format_size(held * counts[made.name]),
                "does not fit": ", ".join(left_out) or "–",
            }
        )
    return rows
