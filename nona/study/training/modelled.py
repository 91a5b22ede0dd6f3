"""Training rates by the cost layer, for models that ship, lie inside a scenario or in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nona.cost.costing import cost_graph
from nona.cost.options import MOST_QUERIES, CostOptions
from nona.errors import ScenarioError
from nona.graph.model import ModelGraph
from nona.hardware.device import Device
from nona.hardware.executor import make_executor_class
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.training.model.cluster import TrainingCluster
from nona.training.workload.model_names import batch_of, with_batch
from nona.training.workload.step_time import STACK, TrainingStep, training_step

DEFAULT_BATCH = 32
"""Examples per GPU and step of a model whose name has no batch size."""

DRAWN: Mapping[str, tuple[int, ...]] = {
    "resnet18": (32, 64, 128, 256),
    "resnet50": (16, 32, 64),
    "mobilenet_v2": (32, 64, 128),
    "vit_b_16": (8, 16, 32),
    "bert_base": (2, 4, 8),
    "gpt2": (1, 2),
}
"""Shipped models and batch sizes that a generator chooses from where rates are modelled."""


@dataclass(frozen=True)
class ModelledRates:
    """Rates by :mod:`nona.training.workload.step_time` on the GPUs of one scenario.

    GPUs of one server reduce over their peer link (the host's where there is none), those of several over the
    servers' cards, or the core's link where cards have no bandwidth of their own.
    """

    scenario: Scenario
    sources: Sources
    devices: Mapping[str, Device]
    cluster: TrainingCluster
    _steps: dict[tuple[str, str], TrainingStep] = field(default_factory=dict)
    _graphs: dict[str, ModelGraph] = field(default_factory=dict)

    def rate(self, gpu: str, name: str, workers: int, spread: bool = False) -> float:
        """Steps/s of ``workers`` GPUs; 0 where a step does not fit the memory of a GPU.

        Raises
        ------
        NonaError
            When there is no such model, or its batch is too large.
        """
        device, step = self.devices[gpu], self._step(gpu, name)
        if step.memory_bytes > device.memory_bytes:
            return 0.0
        network = self.scenario.cluster.network
        across = network.nic or network.capacity
        inside = device.peer_bandwidth or device.host_bandwidth or across
        if workers > max(self.cluster.nodes[gpu]) or spread:
            return step.steps_per_s(workers, min(inside, across), network.latency)
        return step.steps_per_s(workers, inside, 0.0)

    def graph(self, model: str) -> ModelGraph:
        """The graph of a model, read once."""
        if model not in self._graphs:
            self._graphs[model] = self.sources.model(model, inline=self.scenario.models)
        return self._graphs[model]

    def queries_per_s(self, gpu: str, model: str) -> float:
        """1 / the time of one query by the cost layer, at the scenario's stack and precision."""
        base, batch = batch_of(model)
        cost = self.scenario.cost
        options = CostOptions(cost.stack, cost.precision, batch or 1)
        seconds = cost_graph(
            self.graph(base), make_executor_class(self.devices[gpu]), options
        ).total_compute_s
        return (batch or 1) / seconds if seconds > 0 else 0.0

    def _step(self, gpu: str, name: str) -> TrainingStep:
        key = gpu, name
        if key not in self._steps:
            model, batch = batch_of(name)
            if (batch or 1) > MOST_QUERIES:
                raise ScenarioError(
                    [f"Model {name!r}: a batch of {batch} is larger than {MOST_QUERIES}; make it smaller."]
                )
            options = CostOptions(STACK, self.scenario.cost.precision, batch or DEFAULT_BATCH)
            self._steps[key] = training_step(self.graph(model), self.devices[gpu], options)
        return self._steps[key]


def drawn_models() -> tuple[str, ...]:
    """Names of the models that a generator chooses from where rates are modelled.

    >>> drawn_models()[:2]
    ('resnet18 (batch size 32)', 'resnet18 (batch size 64)')
    """
    return tuple(with_batch(model, batch) for model, batches in DRAWN.items() for batch in batches)
