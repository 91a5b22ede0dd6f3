"""From a scenario to a system: every model read, costed, contracted and decomposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from nona.contraction.contracted import ContractedGraph
from nona.contraction.rules import DEFAULT_RULE, contract
from nona.contraction.task_graph import TaskGraph
from nona.cost.costed import CostedGraph
from nona.cost.costing import CostOptions, cost_graph, scaled_edges
from nona.cost.given import with_given
from nona.cost.measured import MeasuredTable, read_measured
from nona.cost.options import resident_bytes
from nona.decomposition.dominators import decompose
from nona.decomposition.subgraph import Decomposition
from nona.errors import ScenarioError
from nona.graph.model import ModelGraph
from nona.hardware.cluster import Cluster, ExecutorClass
from nona.hardware.device import Device
from nona.placement.coarsening.steps import base_rule
from nona.placement.enumeration.counts import configurations_considered
from nona.scenario.cost import CostSpec
from nona.scenario.schema import Scenario
from nona.scenario.workload import WorkloadRow
from nona.simulation.workload.arrivals import effective_rate
from nona.simulation.workload.trace_rows import Where
from nona.simulation.workload.trace_window import row_arrivals
from nona.simulation.workload.traces import read_trace
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache, model_key, once_per_model, study_key
from nona.study.network import network_background, topology_of
from nona.system import Arrivals, QueryClass, Stream, System

_NO_SOURCES = Sources()
_AS_IN_FILE = CostOptions()


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """One model on its way through the layers; ``costed`` has one entry per executor class.

    ``weight_bytes`` is what an executor holds to run any of its tasks, at the precision costed.
    """

    graph: ModelGraph
    costed: tuple[CostedGraph, ...]
    contracted: ContractedGraph
    decomposition: Decomposition
    tasks: TaskGraph
    weight_bytes: float = 0.0


@dataclass(frozen=True, eq=False)
class Study:
    """A prepared scenario: its cluster, its models, and the system they form.

    ``key`` stands for all that a placement depends on; empty when prepared without a cache.
    """

    scenario: Scenario
    cluster: Cluster
    models: tuple[PreparedModel, ...]
    system: System
    key: str = ""


def prepare_model(
    graph: ModelGraph,
    classes: Sequence[ExecutorClass],
    options: CostOptions = _AS_IN_FILE,
    rule: str = DEFAULT_RULE,
    measured: MeasuredTable | None = None,
    own: Mapping[str, Device] | None = None,
) -> PreparedModel:
    """Cost, contract and decompose one model for the given executor classes.

    ``rule`` is one of the contraction rules, or ``cost-aware``: the default rule, whose tasks the
    coarsening then keeps together (:mod:`nona.placement.coarsening`); the tasks are the same. ``own``
    are the user's devices, for which a file may give times.
    """
    costed = tuple(cost_graph(graph, c, options, measured, own) for c in classes)
    contracted = contract(replace(graph, edges=scaled_edges(graph, options)), base_rule(rule))
    tasks = TaskGraph.from_contracted(
        contracted, [c.compute_s for c in costed], [cost.weight_bytes for cost in costed[0].costs]
    )
    weights = resident_bytes(graph, options)
    return PreparedModel(graph, costed, contracted, decompose(tasks.dag), tasks, weights)


def prepare(scenario: Scenario, sources: Sources = _NO_SOURCES, cache: StudyCache | None = None) -> Study:
    """Read, cost, contract and decompose every model of a scenario.

    With a ``cache`` the models that it knows by their content are taken from there.

    Raises
    ------
    NonaError
        For a missing or bad model, an impossible MIG layout, an unknown device: one line.
    """
    check_has_queries(scenario)
    sources.check(scenario)
    cluster = Cluster.from_spec(scenario.cluster)
    measured = read_measured(sources.read(scenario.cost.measured)) if scenario.cost.measured else None

    def prepared(row: WorkloadRow) -> PreparedModel:
        return _prepare_row(row, scenario, sources, cluster, measured)

    if cache is None:
        models, key = once_per_model(scenario.workload, prepared), ""
    else:
        kept, key = cache.models, study_key(scenario, sources)
        models = once_per_model(
            scenario.workload,
            lambda row: kept.get(model_key(row, scenario, sources), lambda: prepared(row)),
        )
    return Study(scenario, cluster, models, _system(scenario, cluster, models, sources), key)


def check_has_queries(scenario: Scenario) -> None:
    """Refuse a scenario that has training jobs only.

    Raises
    ------
    ScenarioError
        In one line that names the command for training jobs.
    """
    if not scenario.workload:
        raise ScenarioError(
            [
                "workload: it is empty, so that there are no queries to place; add rows, or simulate the "
                "training jobs with `nona training simulate`."
            ]
        )


def configuration_counts(model: PreparedModel) -> list[int]:
    """How many configurations the placement considers for each sub-graph of a model."""
    return [configurations_considered(model.tasks, s) for s in model.decomposition.subgraphs]


def _prepare_row(
    row: WorkloadRow,
    scenario: Scenario,
    sources: Sources,
    cluster: Cluster,
    measured: MeasuredTable | None,
) -> PreparedModel:
    graph = given_graph(sources.model(row.model, row.symbols, scenario.models), row.model, scenario.cost)
    options = CostOptions(scenario.cost.stack, scenario.cost.precision, row.batch)
    classes = tuple(cluster.classes.values())
    return prepare_model(graph, classes, options, scenario.contraction, measured, cluster.devices)


def given_graph(graph: ModelGraph, name: str, cost: CostSpec) -> ModelGraph:
    """The model called ``name`` in a scenario, its stated times on the devices that ``cost`` says."""
    spec = cost.given.get(name)
    return graph if spec is None else with_given(graph, spec.device, spec.factors)


def _system(
    scenario: Scenario, cluster: Cluster, models: Sequence[PreparedModel], sources: Sources
) -> System:
    names = list(cluster.classes)
    compute, network = scenario.background.compute, scenario.background.network
    link = cluster.network
    arrivals = [arrivals_of(scenario, i, sources) for i in range(len(scenario.workload))]
    return System(
        executor_server=np.array([e.server for e in cluster.executors], dtype=np.int64),
        executor_class=np.array([names.index(e.executor_class) for e in cluster.executors], dtype=np.int64),
        class_names=tuple(names),
        capacity=link.capacity,
        latency_s=link.latency_s,
        discipline=link.discipline,
        background_compute=Stream(
            compute.utilization / compute.mean_service, compute.mean_service, compute.scv
        ),
        background_network=network_background(network, link.capacity),
        queries=tuple(
            QueryClass(
                name=label,
                tasks=model.tasks,
                decomposition=model.decomposition,
                rate=effective_rate(process, row.rate),
                slo_s=row.slo,
                arrivals=process,
                service_scv=row.service_scv,
                weight_bytes=model.weight_bytes,
                replica=str(row.model),
            )
            for label, row, model, process in zip(
                scenario.labels, scenario.workload, models, arrivals, strict=True
            )
        ),
        seed=scenario.seed,
        topology=topology_of(cluster),
        class_memory_bytes=np.array([c.memory_bytes for c in cluster.classes.values()]),
    )


def arrivals_of(scenario: Scenario, index: int, sources: Sources) -> Arrivals:
    """The arrival process of a row of the workload, with its trace read."""

    def read(name: str, where: Where | None) -> NDArray[np.float64]:
        return read_trace(sources.read(name), PurePath(name).name, where)

    return row_arrivals(scenario, index, read)
