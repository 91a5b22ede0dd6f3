"""What a row of the workload costs on an executor class: seconds, weights, provenance. Kept by content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from nona.cost.costing import CostOptions, cost_graph
from nona.cost.measured import MeasuredTable
from nona.cost.options import resident_bytes
from nona.graph.model import ModelGraph
from nona.hardware.catalogue import user_devices
from nona.hardware.executor import executor_class
from nona.report.inputs.models import provenance_shares
from nona.ui.loaded.loading import load_graph, load_measured
from nona.ui.session.state import AppState


@dataclass(frozen=True)
class RowCost:
    """One query on one kind of executor.

    ``total_s``: all its operators one after the other; ``critical_s``: the longest chain, which no
    placement goes below; ``weight_bytes``: its weights, once; ``provenance``: share of the time by
    where it comes from.
    """

    total_s: float
    critical_s: float
    weight_bytes: float
    provenance: Mapping[str, float]

    @cached_property
    def parallelism(self) -> float:
        """Total over critical path; 1 for a model that takes no time."""
        return self.total_s / self.critical_s if self.critical_s > 0 else 1.0


def row_cost(state: AppState, index: int, executor: str) -> RowCost:
    """Row ``index`` of the workload on the executor class called ``executor``.

    Raises
    ------
    NonaError
        When the model, the device or the measured times cannot be had.
    """
    row, cost = state.scenario.workload[index], state.scenario.cost
    graph = load_graph(state, row.model, row.symbols)
    options = CostOptions(cost.stack, cost.precision, row.batch)
    own = json.dumps(state.scenario.cluster.devices, sort_keys=True)
    digest, measured = load_measured(state) or ("", None)
    return _cost(id(graph), executor, own, options, digest, graph, measured)[0]


@st.cache_resource(max_entries=256, show_spinner="Costing the models")
def _cost(
    key: int,
    executor: str,
    own: str,
    options: CostOptions,
    digest: str,
    _graph: ModelGraph,
    _measured: MeasuredTable | None,
) -> tuple[RowCost, ModelGraph]:
    """The cost; with it the graph, so that no other one can have its ``id`` while this is kept."""
    made = executor_class(executor, user_devices(json.loads(own)))
    costed = cost_graph(_graph, made, options, _measured)
    weights, shares = resident_bytes(_graph, options), provenance_shares(costed)
    return RowCost(costed.total_compute_s, costed.critical_path_s, weights, shares), _graph
