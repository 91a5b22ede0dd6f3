"""Models for the pages: read once, costed and contracted once, kept by content. No pickling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from nona.cost.costing import CostOptions
from nona.cost.measured import MeasuredTable, read_measured
from nona.graph.dag import Dag
from nona.graph.model import ModelGraph
from nona.graph.node_link.document import to_node_link
from nona.hardware.catalogue import devices, user_devices
from nona.hardware.executor import executor_class
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.named import file_names
from nona.sources.samples import sample_names
from nona.study import PreparedModel, configuration_counts, given_graph, prepare_model
from nona.ui.loaded.layout import Layout, lay_out_both
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.tasks.count import is_quick


@dataclass(frozen=True, eq=False)
class Loaded:
    """A prepared model with the number of configurations of each sub-graph.

    ``configurations`` is ``None`` where counting takes more than a moment. ``key`` names all that
    the model was prepared from.
    """

    prepared: PreparedModel
    configurations: tuple[int, ...] | None
    key: str


def model_names(state: AppState) -> tuple[str, ...]:
    """Uploaded model files, models inside the scenario, samples."""
    files = [n for n in state.uploads.names() if not n.lower().endswith((".csv", ".yaml", ".yml"))]
    return (*dict.fromkeys([*files, *state.scenario.models, *sample_names()]),)


def device_names(scenario: Scenario) -> tuple[str, ...]:
    """The catalogue's devices, then the scenario's own."""
    return (*dict.fromkeys([*devices(), *scenario.cluster.devices]),)


def load_graph(state: AppState, name: str, symbols: Mapping[str, int] | None = None) -> ModelGraph:
    """The graph called ``name`` as its file describes it; raises :class:`~nona.errors.NonaError` in one line.

    ``symbols`` are the sizes bound in it, by default those that the session was told.
    """
    bound = tuple(sorted((state.symbols.get(name, {}) if symbols is None else symbols).items()))
    inline = {name: state.scenario.models[name]} if name in state.scenario.models else None
    folder = state.uploads.folder
    return fetch(
        ("graph", name, _content(state, name), bound),
        lambda: Sources(folder, confined=True).model(name, dict(bound), inline),
        "Reading the model",
    )


def load_model(state: AppState, name: str, device: str, rule: str) -> Loaded:
    """The model costed on ``device`` and contracted by ``rule``."""
    cost = state.scenario.cost
    return _load(state, load_graph(state, name), name, device, rule, CostOptions(cost.stack, cost.precision))


def load_row(state: AppState, index: int) -> Loaded:
    """The model of one row of the workload as its queries run, with times on the first group's GPU."""
    scenario = state.scenario
    row, cost = scenario.workload[index], scenario.cost
    graph = load_graph(state, row.model, row.symbols)
    options = CostOptions(cost.stack, cost.precision, row.batch)
    return _load(state, graph, row.model, scenario.cluster.servers[0].gpu, scenario.contraction, options)


def load_measured(state: AppState) -> tuple[str, MeasuredTable] | None:
    """The scenario's table of measured times with a digest of its text; ``None`` when it names none."""
    name = state.scenario.cost.measured
    if name is None:
        return None
    data = state.uploads.sources.read(name)
    digest = _digest(data)
    return digest, _measured(digest, data)


def _load(
    state: AppState, graph: ModelGraph, name: str, device: str, rule: str, options: CostOptions
) -> Loaded:
    key = f"{name}\n{_content(state, name)}\n{sorted(graph.symbols.items())}"
    cost = state.scenario.cost
    own = json.dumps(state.scenario.cluster.devices, sort_keys=True)
    digest, measured = load_measured(state) or ("", None)
    mark = _digest(repr((key, device, own, rule, options, digest, cost.given.get(name))).encode())

    def prepare() -> Loaded:
        devices = user_devices(json.loads(own))
        made = executor_class(device, devices)
        prepared = prepare_model(given_graph(graph, name, cost), (made,), options, rule, measured, devices)
        counts = tuple(configuration_counts(prepared)) if is_quick(prepared) else None
        return Loaded(prepared, counts, mark)

    return fetch(("loaded", mark), prepare, "Costing and contracting the model")


def _content(state: AppState, name: str) -> str:
    """What distinguishes two models of the same name."""
    if name in state.scenario.models:
        return _digest(json.dumps(state.scenario.models[name], sort_keys=True).encode())
    return "sample" if name in sample_names() else _digest(state.uploads.sources.read(name))


def layouts_of(dag: Dag) -> tuple[Layout, Layout]:
    """The drawings of a graph for a wide and for a narrow panel, kept by its edges."""
    key = _digest(repr(dag.successors).encode())
    return fetch(("layout", key), lambda: lay_out_both(dag), "Drawing the graph")


def portable(state: AppState) -> Scenario:
    """The scenario with uploaded models inside it, so that it travels as one file."""
    models = dict(state.scenario.models)
    for row in state.scenario.workload:
        if row.model in state.uploads.names() and row.model not in models:
            models[row.model] = to_node_link(load_graph(state, row.model, row.symbols))
    return state.scenario.model_copy(update={"models": models})


def apart(scenario: Scenario) -> tuple[str, ...]:
    """CSV files that the scenario names and that its own file cannot hold."""
    return tuple(file_names(scenario, "trace", "measured", "times", "throughputs", "elastic"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@st.cache_resource(max_entries=16, show_spinner="Reading the measured times")
def _measured(digest: str, _data: bytes) -> MeasuredTable:
    return read_measured(_data)
