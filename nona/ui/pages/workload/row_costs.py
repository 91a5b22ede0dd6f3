"""What a row of the workload costs on an executor class: seconds, weights, provenance. Kept by content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from nona.cost.costing import CostOptions, cost_graph
from nona.cost.given import with_given
from nona.cost.measured import MeasuredTable
from nona.cost.options import resident_bytes
from nona.graph.model import ModelGraph
from nona.hardware.catalogue import user_devices
from nona.hardware.executor import executor_class
from nona.report.inputs.given_times import given_times
from nona.report.inputs.models import provenance_shares
from nona.results.about import GivenTimes
from nona.scenario.cost import GivenSpec
from nona.ui.loaded.loading import load_graph, load_measured
from nona.ui.session.state import AppState


@dataclass(frozen=True)
class RowCost:
    """One query on one kind of executor.

    ``total_s``: all its operators one after the other; ``critical_s``: the longest chain, which no
    placement goes below; ``weight_bytes``: its weights, once; ``provenance``: share of the time by
    where it comes from; ``given``: the hardware for which its file states times.
    """

    total_s: float
    critical_s: float
    weight_bytes: float
    provenance: Mapping[str, float]
    given: GivenTimes

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
    graph, spec = load_graph(state, row.model, row.symbols), cost.given.get(row.model, GivenSpec())
    options = CostOptions(cost.stack, cost.precision, row.batch)
    own = json.dumps(state.scenario.cluster.devices, sort_keys=True)
    digest, measured = load_measured(state) or ("", None)
    told = spec.model_dump_json()
    return _cost(id(graph), executor, own, options, digest, told, graph, measured)[0]


@st.cache_resource(max_entries=256, show_spinner="Costing the models")
def _cost(
    key: int,
    executor: str,
    own: str,
    options: CostOptions,
    digest: str,
    told: str,
    _graph: ModelGraph,
    _measured: MeasuredTable | None,
) -> tuple[RowCost, ModelGraph]:
    """The cost; with it the graph, so that no other one can have its ``id`` while this is kept."""
    devices = user_devices(json.loads(own))
    spec = GivenSpec.model_validate_json(told)
    graph = with_given(_graph, spec.device, spec.factors)
    costed = cost_graph(graph, executor_class(executor, devices), options, _measured, devices)
    weights, shares = resident_bytes(_graph, options), provenance_shares(costed)
    spans = costed.total_compute_s, costed.critical_path_s
    return RowCost(*spans, weights, shares, given_times(costed)), _graph
