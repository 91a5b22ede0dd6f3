"""The functions of a serverless system: given ones, shipped ones, those of networks.

The time of a batch of b on g vGPUs is that of the cost layer on the MIG slice of g compute slices at
batch b; where no slice has g (5 and 6 of 7, or a GPU without MIG), on g parts of the whole. vCPUs do not
change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from nona.cluster.hardware.device import Device, find_device
from nona.cluster.hardware.executor import ExecutorClass, make_executor_class
from nona.cluster.hardware.mig import board
from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import CostError, GraphError
from nona.core.text import join_words
from nona.models.contraction.contracted import ContractedGraph
from nona.models.contraction.rules import DEFAULT_RULE, contract
from nona.models.cost.costing import cost_graph
from nona.models.cost.measured import MeasuredTable
from nona.models.cost.operators import operator_work
from nona.models.cost.options import MOST_QUERIES, CostOptions, resident_bytes, scaled_edges
from nona.models.cost.stated import carried
from nona.models.graph.model import ANY_DEVICE, Edge, ModelGraph, Operator
from nona.scenario.serverless import FunctionSpec, ServerlessSpec, TransferSpec
from nona.serverless.functions import (
    MEASURED,
    ConfigurationSpace,
    CpuLaw,
    DefaultLaw,
    Function,
    GpuLaw,
    LawTimes,
    TableTimes,
    default_times,
    network_law,
    shipped_function,
    shipped_network,
)
from nona.serverless.profiles import profile_times, read_profile, rows_of

DEFAULT_COLD_START_S = 5.0


class FunctionBook:
    """The functions that the stages of all workflows name, each once, in order of appearance.

    A stage names its function by its attribute ``function``, else by its own id. The scenario's own
    functions come first, then the shipped ones, then the default law around the stage's own time, which
    is that of any device (:func:`on_one_vgpu`). ``read`` gives the bytes of a file; a GPU has ``parts``
    vGPUs. On a vGPU a shipped function takes ``slower`` times as long on the GPU as on an A100's.
    """

    def __init__(
        self,
        spec: ServerlessSpec,
        space: ConfigurationSpace,
        read: Callable[[str], bytes],
        parts: int = 7,
        slower: float = 1.0,
    ) -> None:
        self._spec, self._slower = spec, slower
        self._carried_names: set[str] = set()
        self._own = {
            name: self._carried(_own_function(name, own, space, read, parts), own.network is not None)
            for name, own in spec.functions.items()
        }
        self._given: list[Function] = []  # under the names that they came with
        self._functions: list[Function] = []

    def note(self, gpu: str) -> str | None:
        """State that times of shipped functions are carried over to ``gpu``; ``None`` if none are."""
        names = sorted({f.name for f in self._given} & self._carried_names)
        if not names:
            return None
        return (
            f"Times of {join_words(names)} are modelled: those on an A100, carried over to {gpu} by peak and "
            f"bandwidth; a profile of {gpu} replaces them"
        )

    @property
    def functions(self) -> tuple[Function, ...]:
        """All functions so far; their names differ."""
        return tuple(self._functions)

    def has_time(self, stage: Operator) -> bool:
        """Return whether the stage's function can be found."""
        return self._find(stage) is not None

    def number(self, stage: Operator, graph: str, carried_time: bool = False) -> int:
        """Return the number of the stage's function; ``carried_time``: its own time is of other hardware."""
        function = self._find(stage, carried_time)
        if function is None:
            raise GraphError(
                f"Workflow {graph!r}: stage {stage.id!r} names no known function and has no time; give it "
                "compute_ms, or describe the function under serverless.functions."
            )
        return self.add(function, graph)

    def add(self, function: Function, graph: str) -> int:
        """Return number of ``function``; another one of its name takes the graph's name in addition."""
        if function in self._given:
            return self._given.index(function)
        taken = {f.name for f in self._functions}
        names = (f"{function.name} ({graph}{f' {n}' if n > 1 else ''})" for n in count(1))
        unique = function.name if function.name not in taken else next(n for n in names if n not in taken)
        self._given.append(function)
        self._functions.append(replace(function, name=unique))
        return len(self._functions) - 1

    def _find(self, stage: Operator, carried_time: bool = False) -> Function | None:
        spec, name, time_s = self._spec, str(stage.attributes.get("function", stage.id)), _time_s(stage)
        if name in self._own:
            return self._own[name]
        law = DefaultLaw(spec.cpu_share, spec.gpu_floor, spec.gpu_constant, spec.gpu_exponent)
        shipped = shipped_function(name, law)
        if time_s is None:
            return None if shipped is None else self._carried(shipped)
        times = default_times(time_s, law)
        if shipped is not None:
            confirmed = tuple(c for c in shipped.confirmed if c != MEASURED)  # the times are not the fit's
            own = replace(shipped, times=times, confirmed=confirmed)
            return self._modelled(own) if carried_time and self._slower != 1.0 else own
        return Function(name, times, cold_start_s=DEFAULT_COLD_START_S, source="the workflow's own time")

    def _carried(self, function: Function, shipped: bool = True) -> Function:
        if not shipped or self._slower == 1.0 or not isinstance(function.times, LawTimes):
            return function
        times = replace(function.times, gpu=function.times.gpu.scaled(self._slower))
        return self._modelled(replace(function, times=times))

    def _modelled(self, function: Function) -> Function:
        self._carried_names.add(function.name)
        confirmed = tuple(c for c in function.confirmed if c not in (MEASURED, "time"))
        return replace(function, confirmed=confirmed, source=f"{function.source}, carried over from an A100")


A100S = ("a100-40gb", "a100-80gb")


def slower_than_a100(device: Device, options: CostOptions) -> float:
    """Time of a function on one vGPU of ``device`` over that on an A100's, by peak and bandwidth.

    >>> from nona.cluster.hardware.device import find_device
    >>> [round(slower_than_a100(find_device(d), CostOptions()), 2) for d in ("a100-40gb", "l4", "h100")]
    [1.0, 1.99, 0.44]
    """
    here, there = slice_of(device, 1), slice_of(find_device(A100S[1]), 1)
    if device.name in A100S or here is None or there is None:
        return 1.0
    return carried(None, there, here, options)


def on_one_vgpu(
    graph: ModelGraph, executor: ExecutorClass, options: CostOptions, own: Mapping[str, Device]
) -> ModelGraph:
    """Return the workflow with each stage's stated time on ``executor``, one vGPU, as that of any device.

    A time for other hardware is carried over as everywhere (:mod:`nona.models.cost.stated`); one for any
    device is that at the smallest configuration. ``own`` are the user's devices.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> flow = ModelGraph("flow", (Operator("a", compute_s={"a100-40gb": 0.01}, bound="compute"),), ())
    >>> slice = executor_class("a100-40gb/1g.5gb")
    >>> made = on_one_vgpu(flow, slice, CostOptions(), {})
    >>> 3 < made.operators[0].compute_s["*"] / 0.01 <= 7
    True
    """
    if all(set(o.compute_s or {}) <= {ANY_DEVICE} for o in graph.operators):
        return graph
    costs = cost_graph(graph, executor, options, own=own).costs
    operators = tuple(
        replace(o, compute_s={ANY_DEVICE: cost.compute_s}) if o.compute_s else o
        for o, cost in zip(graph.operators, costs, strict=True)
    )
    return replace(graph, operators=operators)


def _time_s(stage: Operator) -> float | None:
    return (stage.compute_s or {}).get(ANY_DEVICE)


def _own_function(
    name: str, spec: FunctionSpec, space: ConfigurationSpace, read: Callable[[str], bytes], parts: int
) -> Function:
    cpu = CpuLaw(spec.cpu.parallel, spec.cpu.serial)
    source, input_bytes = spec.source or "the scenario", spec.input
    confirmed: tuple[str, ...] = ()
    weights: float | None = None
    times: LawTimes | TableTimes
    if spec.gpu is not None:
        law = GpuLaw(spec.gpu.per_query, spec.gpu.floor, spec.gpu.constant, spec.gpu.exponent)
        times = LawTimes(law, cpu)
    elif spec.network is not None:
        measured = shipped_network(spec.network)
        times, confirmed = LawTimes(network_law(spec.network), cpu), measured.confirmed
        source = spec.source or f"{spec.network}: {measured.source}"
        input_bytes, weights = spec.input or measured.input_bytes, measured.weight_bytes
    elif spec.profile is not None:
        what = f"Profile {spec.profile!r}"
        rows = rows_of(read_profile(read(spec.profile), what), name, what)
        times, confirmed = profile_times(rows, space, parts), (MEASURED,)
        source = spec.source or f"{spec.profile}: {len(rows)} measured times"
    else:
        times = TableTimes({BatchConfiguration(r.batch, r.vcpus, r.vgpus): r.time for r in spec.table})
    return Function(name, times, spec.cold_start, input_bytes, source, confirmed, weights, spec.memory)


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
    """Return whether the cost layer can derive the graph's times from FLOPs (no operator states a time).

    >>> is_network(ModelGraph("workflow", (Operator("a", compute_s={"*": 0.1}),), ()))
    False
    """
    if any(o.compute_s for o in graph.operators):
        return False
    return any(w.known and w.work.flops > 0 for w in operator_work(graph)[0])


def slice_of(device: Device, vgpus: int) -> ExecutorClass | None:
    """Return the executor that ``vgpus`` of a device form, ``None`` if it has fewer.

    >>> from nona.cluster.hardware.device import find_device
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
    """Return a network's stages and functions, as ``spec.models`` asks.

    ``options``: stack and precision; its ``batch`` are the inputs of one job. ``rule``: of contraction, for
    ``tasks``.
    """
    whole = contract(replace(graph, edges=scaled_edges(graph, options)), rule)
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
    """Return the reason why the tasks of a network are not suitable as stages; empty if they are.

    Either there are more than 32, or, with ``smallest_s`` their seconds at the smallest configuration,
    fetching their inputs from other nodes takes over ten times as long as computing:
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
            f"inputs from other nodes takes {1e3 * fetch_s:.3g} ms."
        )
    return ""


def _tables(
    graph: ModelGraph,
    tasks: ContractedGraph,
    device: Device,
    space: ConfigurationSpace,
    options: CostOptions,
    measured: MeasuredTable | None,
) -> list[dict[BatchConfiguration, float]]:
    """For each task configuration → seconds; those that cannot hold the weights are left out."""
    needed = resident_bytes(graph, options)
    times_s: dict[tuple[int, int], tuple[float, ...] | None] = {}
    tables: list[dict[BatchConfiguration, float]] = [{} for _ in tasks.tasks]
    for configuration in space.configurations:
        key = (configuration.batch, configuration.vgpus)
        if key not in times_s:
            executor = slice_of(device, configuration.vgpus)
            fits = executor is not None and needed <= executor.memory_bytes
            times_s[key] = None
            if executor is not None and fits:
                batched = replace(options, batch=_inputs(graph, options.batch, configuration.batch))
                costed = cost_graph(graph, executor, batched, measured)
                times_s[key] = tasks.sum_over_tasks(costed.compute_s)
        for table, seconds in zip(tables, times_s[key] or (), strict=False):
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
    outputs = {name for o in graph.operators for name in o.outputs}
    read = {name for o in graph.operators for name in o.inputs if name}
    given = read - outputs - graph.parameters - graph.static
    return options.batch * sum(
        graph.tensors[n].size_bytes * options.width_scale(graph.tensors[n]) for n in sorted(given)
    )


def _task_graph(tasks: ContractedGraph) -> ModelGraph:
    edges = tuple(Edge(s, t, f"{s} → {t}", size) for (s, t), size in tasks.pair_bytes().items())
    return ModelGraph(tasks.graph.name, tuple(Operator(task.id) for task in tasks.tasks), edges)
