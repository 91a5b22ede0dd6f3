"""The count of a model's configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.app.tasks.context import CountAsked, JobContext, request_of, scenario_of, sources_of
from nona.cluster.hardware.device import user_devices
from nona.cluster.hardware.executor import executor_class
from nona.models.cost.measured import read_measured
from nona.models.cost.options import CostOptions
from nona.models.prepared import PreparedModel, prepare_model
from nona.models.results import ConfigurationCounts
from nona.queries.placement.enumeration import configurations_considered
from nona.queries.workflows.rows import given_graph

QUICK = 200_000  # Σ (interior tasks)²: up to here counting takes a tenth of a second or so


def is_quick(model: PreparedModel) -> bool:
    """Return whether counting takes about 0.1 s at most; the work grows with the interior squared."""
    return sum(len(s.interior) ** 2 for s in model.decomposition.subgraphs) <= QUICK


def count_configurations(spec: Mapping[str, Any], context: JobContext) -> ConfigurationCounts:
    """Read, cost and contract a model, and count the configurations of its sub-graphs."""
    context.emit({"fraction": 0.0, "text": "Reading and contracting the model"})
    scenario, sources, asked = scenario_of(spec), sources_of(spec), request_of(spec, CountAsked)
    cost = scenario.cost
    own = user_devices(scenario.cluster.devices)
    read = sources.model(asked.model, dict(asked.symbols), scenario.models)
    graph = given_graph(read, asked.model, cost, own)
    executor = executor_class(asked.device, own)
    measured = read_measured(sources.read(cost.measured)) if cost.measured else None
    options = CostOptions(cost.stack, cost.precision)
    model = prepare_model(graph, (executor,), options, scenario.contraction, measured, own)
    subgraphs = model.decomposition.subgraphs
    work = [1 + len(s.interior) ** 2 for s in subgraphs]
    counts, done = [], 0
    for number, subgraph in enumerate(subgraphs):
        context.emit(
            {
                "fraction": done / sum(work),
                "text": f"{graph.name}: sub-graph {number + 1} of {len(subgraphs)}",
            }
        )
        counts.append(configurations_considered(model.tasks, subgraph))
        done += work[number]
    return ConfigurationCounts(configurations=tuple(counts))
