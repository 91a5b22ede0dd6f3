"""How long a training step takes by the cost layer, where nothing was measured.

One step is one batch on every one of k GPUs (data parallel), and counts as k steps, as in Gavel's table:
rate = k / (F + β·F + U + A). F is the forward pass, operator by operator, by a framework that does not fuse
(stack ``eager``); β·F the backward pass; U = passes · W / (e_m · B) the optimiser over weights of W bytes;
A = 2(k−1)/k · W / b + 2(k−1) · l a ring all-reduce over links of bandwidth b and latency l, without overlap.
β, the passes and the optimiser's states are in ``data/training_costs.csv``; they are calibrated on nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions, resident_bytes
from nona.cost.stack import calibration
from nona.graph.model import ModelGraph
from nona.hardware.device import Device
from nona.hardware.executor import make_executor_class
from nona.hardware.table_file import shipped_table

STACK = "eager"


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A step on one GPU: seconds of passes and update, bytes of gradients, bytes of memory that it needs."""

    passes_s: float
    update_s: float
    gradient_bytes: float
    memory_bytes: float

    def steps_per_s(self, workers: int, bandwidth: float, latency_s: float) -> float:
        """k / (F + β·F + U + A), steps per second of ``workers`` GPUs together.

        >>> round(TrainingStep(0.09, 0.01, 1e8, 1e9).steps_per_s(2, 1e9, 0.0), 3)
        10.0
        """
        reduce_s = all_reduce_s(self.gradient_bytes, workers, bandwidth, latency_s)
        return workers / (self.passes_s + self.update_s + reduce_s)


def all_reduce_s(size_bytes: float, workers: int, bandwidth: float, latency_s: float) -> float:
    """2(k−1)/k · bytes / b + 2(k−1) · l: a ring, in which every GPU sends 2(k−1) parts of bytes/k.

    >>> all_reduce_s(8e9, 4, 6e9, 0.0), all_reduce_s(8e9, 1, 6e9, 1.0)
    (2.0, 0.0)
    """
    hops = 2 * (workers - 1)
    return hops * (size_bytes / workers / bandwidth + latency_s)


def training_step(graph: ModelGraph, device: Device, options: CostOptions) -> TrainingStep:
    """A step of ``options.batch`` examples on one GPU; memory is weights, gradients, states, activations.

    >>> from nona.graph.model import Operator, Work
    >>> from nona.hardware.catalogue import find_device
    >>> graph = ModelGraph("g", (Operator("a", work=Work(flops=1e12, macs=5e11)),), ())
    >>> step = training_step(graph, find_device("v100"), CostOptions("eager"))
    >>> round(step.passes_s, 2), step.update_s
    (0.29, 0.0)
    """
    costed = cost_graph(graph, make_executor_class(device), options)
    weights = resident_bytes(graph, options)
    moved = _constant("optimiser_passes") * weights
    kept = sum(cost.write_bytes for cost in costed.costs)
    return TrainingStep(
        passes_s=(1 + _constant("backward")) * costed.total_compute_s,
        update_s=moved / (calibration(device, options.stack).memory_efficiency * device.bandwidth),
        gradient_bytes=weights,
        memory_bytes=_constant("reserved") + (2 + _constant("optimiser_states")) * weights + kept,
    )


@cache
def _constant(name: str) -> float:
    rows = shipped_table("nona.training", "data/training_costs.csv")
    return float(next(row["value"] for row in rows if row["constant"] == name))
