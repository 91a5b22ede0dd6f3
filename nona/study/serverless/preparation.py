"""From a scenario to a serverless system: each workflow's nodes become stages, each stage a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nona.errors import GraphError, ScenarioError
from nona.graph.model import ANY_DEVICE, ModelGraph, Operator
from nona.hardware.catalogue import find_device, user_devices
from nona.hardware.cluster import ServerGroup
from nona.hardware.geometry import board
from nona.hardware.mig import parse_layout
from nona.scenario import Scenario, ServerGroupSpec, WorkloadRow
from nona.scenario_serverless import FunctionSpec, ServerlessSpec
from nona.serverless.application import Application
from nona.serverless.catalogue import shipped_function
from nona.serverless.configuration import Configuration, ConfigurationSpace, grid
from nona.serverless.function import CpuLaw, Function, GpuLaw, LawTimes, TableTimes, default_times
from nona.serverless.system import Invoker, ServerlessSystem
from nona.sources import Sources
from nona.study.preparation import arrivals_of

VGPUS_WITHOUT_MIG = 7  # parts that a GPU is counted in where no slices give a number
DEFAULT_COLD_START_S = 5.0
_NO_SOURCES = Sources()


def prepare_serverless(scenario: Scenario, sources: Sources = _NO_SOURCES) -> ServerlessSystem:
    """Read the workflows of a scenario and make the system that they form on its cluster.

    Raises
    ------
    NonaError
        When the scenario is not serverless, or a workflow, function or layout is not possible.
    """
    spec = scenario.serverless
    if spec is None:
        raise ScenarioError(
            ["serverless: is missing; add the key 'serverless: {}' (all its parts have defaults)."]
        )
    sources.check(scenario)
    space = grid(spec.configurations.batch, spec.configurations.vcpus, spec.configurations.vgpus)
    graphs = [sources.model(row.model, row.symbols, scenario.models) for row in scenario.workload]
    functions = FunctionBook(spec)
    stages = [[functions.number(op, graph.name) for op in graph.operators] for graph in graphs]
    made = functions.made
    return ServerlessSystem(
        space=space,
        functions=made,
        applications=tuple(
            _application(label, row, graph, of, made, space, spec.slo_factor, sources)
            for label, row, graph, of in zip(scenario.labels, scenario.workload, graphs, stages, strict=True)
        ),
        invokers=tuple(
            node for group in scenario.cluster.servers for node in [_invoker(group, scenario)] * group.count
        ),
        sharing=spec.sharing,
        prices=spec.prices,
        transfer=spec.transfer,
        containers=spec.containers,
        dispatch=spec.dispatch,
        noise=spec.noise,
        profile_percentile=spec.profile_percentile,
        interval=spec.interval,
        seed=scenario.seed,
    )


class FunctionBook:
    """The functions that the stages of all workflows name, each once, in order of appearance.

    A stage names its function by its attribute ``function``, else by its own id. The scenario's own
    functions come first, then the shipped ones, then the default law around the stage's own time.
    """

    def __init__(self, spec: ServerlessSpec) -> None:
        self._spec = spec
        self._numbers: dict[tuple[str, float | None], int] = {}
        self._made: list[Function] = []

    @property
    def made(self) -> tuple[Function, ...]:
        """All functions so far."""
        return tuple(self._made)

    def number(self, stage: Operator, graph: str) -> int:
        """Number of the stage's function.

        Raises
        ------
        GraphError
            When it is neither known nor has the stage a time.
        """
        name = str(stage.attributes.get("function", stage.id))
        time_s = _stated_s(stage)
        function = self._find(name, time_s)
        if function is None:
            raise GraphError(
                f"Workflow {graph!r}: stage {stage.id!r} names no known function and has no time; give it "
                "compute_ms, or describe the function under serverless.functions."
            )
        key = (name, function.times.gpu.per_query_s if isinstance(function.times, LawTimes) else None)
        if key not in self._numbers:
            taken = {f.name for f in self._made}
            unique = name if name not in taken else f"{name} ({graph})"
            self._numbers[key] = len(self._made)
            self._made.append(replace(function, name=unique))
        return self._numbers[key]

    def _find(self, name: str, time_s: float | None) -> Function | None:
        spec = self._spec
        if name in spec.functions:
            return _own_function(name, spec.functions[name])
        shipped = shipped_function(name, spec.gpu_floor, spec.cpu_share)
        if time_s is None:
            return shipped
        times = default_times(time_s, spec.gpu_floor, spec.cpu_share)
        if shipped is not None:
            return replace(shipped, times=times)
        return Function(name, times, cold_start_s=DEFAULT_COLD_START_S, source="the workflow's own time")


def _stated_s(stage: Operator) -> float | None:
    """The stage's own time: for any device, else the longest that it states."""
    stated = stage.compute_s
    if not stated:
        return None
    return stated.get(ANY_DEVICE, max(stated.values()))


def _own_function(name: str, spec: FunctionSpec) -> Function:
    times: LawTimes | TableTimes
    if spec.gpu is not None:
        gpu = GpuLaw(spec.gpu.per_query, spec.gpu.floor, spec.gpu.exponent)
        times = LawTimes(gpu, CpuLaw(spec.cpu.parallel, spec.cpu.serial))
    else:
        times = TableTimes({Configuration(r.batch, r.vcpus, r.vgpus): r.time for r in spec.table})
    return Function(name, times, spec.cold_start, spec.input, spec.source or "the scenario")


def _application(
    label: str,
    row: WorkloadRow,
    graph: ModelGraph,
    function: Sequence[int],
    functions: Sequence[Function],
    space: ConfigurationSpace,
    slo_factor: float | None,
    sources: Sources,
) -> Application:
    fetched = [0.0] * len(graph.operators)
    for edge in graph.edges:
        fetched[graph.index[edge.target]] += edge.size_bytes
    for stage, before in enumerate(graph.dag.predecessors):
        if not before:
            fetched[stage] = functions[function[stage]].input_bytes
    slo_s = row.slo
    if slo_factor is not None:
        parts = [functions[f].seconds(space) for f in function]
        smallest = [float(cpu[space.smallest] + gpu[space.smallest]) for cpu, gpu in parts]
        slo_s = slo_factor * graph.dag.critical_path(smallest)[0]
    if slo_s is None:
        raise ScenarioError(
            [f"workload: {label!r} has no slo, which serverless policies need; give it one, or a slo_factor."]
        )
    names = tuple(op.id for op in graph.operators)
    arrivals = arrivals_of(row, sources)
    return Application(label, names, tuple(function), graph.dag, tuple(fetched), slo_s, row.rate, arrivals)


def _invoker(group: ServerGroupSpec, scenario: Scenario) -> Invoker:
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    ServerGroup(group.count, group.gpu, group.gpus, group.vcpus, group.mig, group.mps).classes(device)
    if device.mig is None:
        return Invoker(group.vcpus, group.gpus, VGPUS_WITHOUT_MIG, "", sms=device.sms)
    layout = parse_layout(group.mig, device.mig) if group.mig else None
    return Invoker(group.vcpus, group.gpus, board(device.mig).compute_slices, device.mig, layout, device.sms)
