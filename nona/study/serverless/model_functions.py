"""Networks as serverless applications: one function each, or one for every contracted task.

The time of a batch of b on g vGPUs is that of the cost layer on the MIG slice of g compute slices at
batch b; where no slice has g (5 and 6 of 7, or a GPU without MIG), on g parts of the whole. vCPUs do not
change it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nona.contraction.contracted import ContractedGraph
from nona.contraction.rules import DEFAULT_RULE, contract
from nona.cost.costing import cost_graph, scaled_edges
from nona.cost.measured import MeasuredTable
from nona.cost.operators import operator_work
from nona.cost.options import MOST_QUERIES, CostOptions, resident_bytes
from nona.errors import CostError
from nona.gpu_sharing.resources import Configuration
from nona.graph.model import Edge, ModelGraph, Operator
from nona.hardware.device import Device
from nona.hardware.executor import ExecutorClass, make_executor_class
from nona.hardware.geometry import board
from nona.placement.coarsening.steps import base_rule
from nona.scenario.serverless import ServerlessSpec, TransferSpec
from nona.serverless.model.configuration import ConfigurationSpace
from nona.serverless.model.function import Function, TableTimes
from nona.study.serverless.functions import DEFAULT_COLD_START_S

PARTS_WITHOUT_MIG = 7
MOST_STAGES = 32
FAR_SHORTER = 10.0
SHORTEST_S = 1e-6  # of a task that the cost layer gives no time, such as a change of view


@dataclass(frozen=True, eq=False)
class NetworkStages:
    """A network as a workflow: a graph whose operators are the stages, and a function for each."""

    graph: ModelGraph
    functions: tuple[Function, ...]
    note: str = ""


def is_network(graph: ModelGraph) -> bool:
    """Whether the cost layer can derive the graph's times from its operators' work (FLOPs, no stated times).

    >>> is_network(ModelGraph("workflow", (Operator("a", compute_s={"*": 0.1}),), ()))
    False
    """
    if any(o.compute_s for o in graph.operators):
        return False
    return any(w.known and w.work.flops > 0 for w in operator_work(graph)[0])


def slice_of(device: Device, vgpus: int) -> ExecutorClass | None:
    """The executor that ``vgpus`` of a device form, ``None`` if it has fewer.

    >>> from nona.hardware.catalogue import find_device
    >>> a100 = find_device("a100-40gb")
    >>> [slice_of(a100, g).name for g in (1, 3, 5)], slice_of(a100, 8)
    (['a100-40gb/1g.5gb', 'a100-40gb/3g.20gb', 'a100-40gb/7g.40gb/5of7'], None)
    """
    parts, whole = PARTS_WITHOUT_MIG, make_executor_class(device)
    if device.mig is not None:
        sliced = board(device.mig)
        parts = sliced.compute_slices
        by_size = {p.compute_slices: p.name for p in sliced.profiles if p.standard}
        if vgpus in by_size:
            return make_executor_class(device, by_size[vgpus])
        whole = make_executor_class(device, by_size[parts])
    if vgpus > parts:
        return None
    share = vgpus / parts
    return replace(
        whole,
        name=f"{whole.name}/{vgpus}of{parts}",
        compute_fraction=whole.compute_fraction * share,
        bandwidth_fraction=whole.bandwidth_fraction * share,
        memory_bytes=whole.memory_bytes * share,
        mig=whole.mig or "part",
    )


def network_stages(
    graph: ModelGraph,
    device: Device,
    spec: ServerlessSpec,
    space: ConfigurationSpace,
    options: CostOptions,
    rule: str = DEFAULT_RULE,
    measured: MeasuredTable | None = None,
) -> NetworkStages:
    """A network's stages and functions, as ``spec.models`` asks.

    Parameters
    ----------
    options
        Stack and precision; its ``batch`` are the inputs of one job.
    rule
        Of contraction, for ``tasks``.

    Raises
    ------
    CostError
        When the weights do not fit what the smallest configuration gets, or a batch is too large.
    """
    whole = contract(replace(graph, edges=scaled_edges(graph, options)), base_rule(rule))
    tables = _tables(graph, whole, device, space, options, measured)
    weights = resident_bytes(graph, options)
    cold_s = DEFAULT_COLD_START_S + weights / spec.transfer.remote_bandwidth
    fetched = _input_bytes(graph, options)
    source = f"the cost layer on {device.name} ({options.stack}); cold start: 5 s and its weights"
    note = ""
    if spec.models == "tasks":
        functions = tuple(
            Function(
                f"{graph.name}/{task.id}", TableTimes(table), cold_s, fetched, source, weight_bytes=weights
            )
            for task, table in zip(whole.tasks, tables, strict=True)
        )
        reason = why_not(whole, [t[space[space.smallest]] for t in tables], spec.transfer)
        if not reason:
            return NetworkStages(_task_graph(whole), functions)
        note = f"{graph.name} is one function: {reason}"
    total = {c: math.fsum(t[c] for t in tables) for c in tables[0]}
    one = ModelGraph(graph.name, (Operator(graph.name),), ())
    whole_one = Function(graph.name, TableTimes(total), cold_s, fetched, source, weight_bytes=weights)
    return NetworkStages(one, (whole_one,), note)


def why_not(tasks: ContractedGraph, smallest_s: Sequence[float], transfer: TransferSpec) -> str:
    """The reason why the tasks of a network are not suitable as stages; empty if they are.

    Either there are more than 32, or, with ``smallest_s`` their seconds at the smallest configuration,
    fetching their inputs from other invokers takes over ten times as long as computing:
    Σ latency + bytes / bandwidth > 10 · Σ seconds.
    """
    if len(tasks.tasks) > MOST_STAGES:
        return f"it has {len(tasks.tasks)} tasks after contraction, more than {MOST_STAGES} stages."
    latency_s, bandwidth = transfer.remote_latency, transfer.remote_bandwidth
    moved = math.fsum(e.size_bytes for e in tasks.edges)
    fetch_s = len({e.target for e in tasks.edges}) * latency_s + moved / bandwidth
    compute_s = math.fsum(smallest_s)
    if fetch_s > FAR_SHORTER * compute_s:
        return (
            f"its {len(tasks.tasks)} tasks compute {1e3 * compute_s:.3g} ms in all, and fetching their "
            f"inputs from other invokers takes {1e3 * fetch_s:.3g} ms."
        )
    return ""


def _tables(
    graph: ModelGraph,
    tasks: ContractedGraph,
    device: Device,
    space: ConfigurationSpace,
    options: CostOptions,
    measured: MeasuredTable | None,
) -> list[dict[Configuration, float]]:
    """For each task configuration → seconds; those that cannot hold the weights are left out."""
    needed = resident_bytes(graph, options)
    known: dict[tuple[int, int], tuple[float, ...] | None] = {}
    tables: list[dict[Configuration, float]] = [{} for _ in tasks.tasks]
    for configuration in space.configurations:
        key = (configuration.batch, configuration.vgpus)
        if key not in known:
            executor = slice_of(device, configuration.vgpus)
            fits = executor is not None and needed <= executor.memory_bytes
            known[key] = None
            if executor is not None and fits:
                batched = replace(options, batch=_inputs(graph, options.batch, configuration.batch))
                costed = cost_graph(graph, executor, batched, measured)
                known[key] = tasks.sum_over_tasks(costed.compute_s)
        for table, seconds in zip(tables, known[key] or (), strict=False):
            table[configuration] = max(seconds, SHORTEST_S)
    smallest = space[space.smallest]
    if smallest not in tables[0]:
        raise CostError(
            f"Network {graph.name!r}: its weights ({needed / 1e9:.3g} GB) do not fit the smallest "
            f"configuration ({smallest.text}) of {device.name}; leave small numbers out of "
            "serverless.configurations.vgpus."
        )
    return tables


def _inputs(graph: ModelGraph, own: int, batch: int) -> int:
    if own * batch > MOST_QUERIES:
        raise CostError(
            f"Network {graph.name!r}: {batch} jobs of {own} inputs are more than {MOST_QUERIES} in a batch; "
            "lower the row's batch or serverless.configurations.batch."
        )
    return own * batch


def _input_bytes(graph: ModelGraph, options: CostOptions) -> float:
    """Bytes of the tensors that no operator makes and that are not stored."""
    made = {name for o in graph.operators for name in o.outputs}
    read = {name for o in graph.operators for name in o.inputs if name}
    given = read - made - graph.parameters - graph.static
    return options.batch * sum(
        graph.tensors[n].size_bytes * options.width_scale(graph.tensors[n]) for n in sorted(given)
    )


def _task_graph(tasks: ContractedGraph) -> ModelGraph:
    edges = tuple(Edge(s, t, f"{s} → {t}", size) for (s, t), size in tasks.pair_bytes().items())
    return ModelGraph(tasks.graph.name, tuple(Operator(task.id) for task in tasks.tasks), edges)
