"""Counting the configurations of one model: what the worker does when it takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.cost.measured import read_measured
from nona.cost.options import CostOptions
from nona.hardware.catalogue import user_devices
from nona.hardware.executor import executor_class
from nona.placement.enumeration.counts import configurations_considered
from nona.results.model import ConfigurationCounts
from nona.study import PreparedModel, given_graph, prepare_model
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import scenario_of, sources_of

QUICK = 200_000  # Σ (interior tasks)²: up to here counting takes a tenth of a second or so


def is_quick(model: PreparedModel) -> bool:
    """Whether the configurations are counted in a moment; the work grows with the interior squared."""
    return sum(len(s.interior) ** 2 for s in model.decomposition.subgraphs) <= QUICK


def count_configurations(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Read, cost, contract and count ``spec["model"]`` with its ``symbols`` on ``spec["device"]``.

    Raises
    ------
    NonaError
        When the model, the device or the measured times cannot be had.
    """
    desk.emit({"fraction": 0.0, "text": "Reading and contracting the model"})
    scenario = scenario_of(spec)
    sources = sources_of(spec)
    cost = scenario.cost
    graph = given_graph(sources.model(spec["model"], spec["symbols"], scenario.models), spec["model"], cost)
    own = user_devices(scenario.cluster.devices)
    made = executor_class(spec["device"], own)
    measured = read_measured(sources.read(cost.measured)) if cost.measured else None
    options = CostOptions(cost.stack, cost.precision)
    model = prepare_model(graph, (made,), options, scenario.contraction, measured, own)
    subgraphs = model.decomposition.subgraphs
    work = [1 + len(s.interior) ** 2 for s in subgraphs]
    counts, done = [], 0
    for number, subgraph in enumerate(subgraphs):
        desk.emit(
            {
                "fraction": done / sum(work),
                "text": f"{graph.name}: sub-graph {number + 1} of {len(subgraphs)}",
            }
        )
        counts.append(configurations_considered(model.tasks, subgraph))
        done += work[number]
    return ConfigurationCounts(configurations=tuple(counts)).to_json()
