"""From a scenario to a serverless system: stages, functions, memory."""

from __future__ import annotations

from collections.abc import Sequence

from nona.cluster.hardware.cluster import ServerGroup
from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.mig import board, parse_layout
from nona.cluster.sharing.pool import Invoker
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import ScenarioError
from nona.models.cost.measured import MeasuredTable, read_measured
from nona.models.cost.options import CostOptions
from nona.models.graph.model import ANY_DEVICE, ModelGraph
from nona.planning.servers import servers_now
from nona.queries.workflows.cache import once_per_model
from nona.queries.workflows.preparation import check_has_queries
from nona.queries.workflows.rows import given_graph
from nona.queries.workflows.traffic import arrivals_of, shared_network
from nona.scenario.arrivals import Arrivals
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario, WorkloadRow
from nona.scenario.serverless import MemorySpec, ServerlessPricesSpec, ServerlessSpec
from nona.serverless.functions import ConfigurationSpace, Function, grid
from nona.serverless.system import Application, NodeMemory, ServerlessSystem
from nona.serverless.workflows.functions import (
    PARTS_WITHOUT_MIG,
    FunctionBook,
    is_network,
    network_stages,
    on_one_vgpu,
    slice_of,
    slower_than_a100,
)


def _node_memory(scenario: Scenario, functions: Sequence[Function]) -> NodeMemory | None:
    spec = (scenario.serverless or ServerlessSpec()).memory
    if spec.limit == "none":
        return None
    return NodeMemory(
        tuple(
            node
            for group in scenario.cluster.servers
            for node in [_node_bytes(spec, group, scenario)] * group.count
        ),
        tuple(round(container_bytes(f, spec)) for f in functions),
        tuple(f.name for f in functions),
    )


def container_bytes(function: Function, spec: MemorySpec) -> float:
    """Bytes of a container: as stated, else weights and ``overhead``, else ``spec.container``.

    >>> from nona.serverless.functions import shipped_function
    >>> [container_bytes(shipped_function(n), MemorySpec()) / 1e9 for n in ("vgg16", "deblur")]
    [1.053430176, 2.0]
    """
    if function.memory_bytes is not None:
        return function.memory_bytes
    if function.weight_bytes is not None:
        return function.weight_bytes + spec.overhead
    return spec.container


def _node_bytes(spec: MemorySpec, group: ServerGroupSpec, scenario: Scenario) -> int:
    if spec.limit == "node":
        return round(spec.node)
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    return round(group.gpus * device.memory_bytes)


_NO_SOURCES = Sources()


def prepare_serverless(scenario: Scenario, sources: Sources = _NO_SOURCES) -> ServerlessSystem:
    """Read the workflows of a scenario and make the system that they form on its cluster.

    Raises ``NonaError`` when the scenario is not serverless, or a workflow, function or layout is not
    possible.
    """
    spec = scenario.serverless
    if spec is None:
        raise ScenarioError(
            ["serverless: is missing; add the key 'serverless: {}' (all its parts have defaults)."]
        )
    check_has_queries(scenario)
    _check_gpus(scenario, spec)
    sources.check(scenario)
    space = grid(spec.configurations.batch, spec.configurations.vcpus, spec.configurations.vgpus)
    measured = read_measured(sources.read(scenario.cost.measured)) if scenario.cost.measured else None
    gpu, kind = _invoker(scenario.cluster.servers[0], scenario), scenario.cluster.servers[0].gpu
    options = CostOptions(scenario.cost.stack, scenario.cost.precision)
    slower = slower_than_a100(find_device(kind, user_devices(scenario.cluster.devices)), options)
    functions = FunctionBook(spec, space, sources.read, gpu.vgpus, slower)
    read = once_per_model(
        scenario,
        lambda row: _staged(row, scenario, spec, space, functions, sources, measured),
    )
    processes = [arrivals_of(scenario, i, sources) for i in range(len(scenario.workload))]
    all_functions = functions.functions
    applications = tuple(
        _application(label, row, graph, of, all_functions, space, spec.slo_factor, arrivals)
        for label, row, (graph, of, _), arrivals in zip(
            scenario.labels, scenario.workload, read, processes, strict=True
        )
    )
    notes = (
        functions.note(kind),
        *(note for *_, note in read),
        _unused_inputs(spec, all_functions, applications),
    )
    return ServerlessSystem(
        space=space,
        functions=all_functions,
        applications=applications,
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
        network=shared_network(scenario),
        idle_cost=spec.idle_cost,
        memory=_node_memory(scenario, all_functions),
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def _unused_inputs(
    spec: ServerlessSpec, functions: Sequence[Function], applications: Sequence[Application]
) -> str:
    """Name the functions whose given input counts nowhere, as they begin no workflow; empty without any."""
    begin = {
        functions[of].name
        for app in applications
        for of, before in zip(app.function, app.dag.predecessors, strict=True)
        if not before
    }
    used = {functions[of].name for app in applications for of in app.function}
    idle = [name for name, given in spec.functions.items() if given.input and name in used - begin]
    if not idle:
        return ""
    return (
        f"serverless.functions: the input of {', '.join(idle)} does not count, as no workflow begins there; "
        "give the bytes of the edges instead."
    )


def _check_gpus(scenario: Scenario, spec: ServerlessSpec) -> None:
    """One kind of GPU, on which the functions' times hold; cut by MIG only where it has MIG, all alike."""
    own = user_devices(scenario.cluster.devices)
    gpus = list(dict.fromkeys(group.gpu for group in scenario.cluster.servers))
    problems = [
        f"cluster.servers[{number}].mig: {group.mig!r} divides a server's GPUs in several ways, but "
        "functions need equal GPUs; give one layout, or a group of servers for each."
        for number, group in enumerate(scenario.cluster.servers)
        if len(set(group.layouts)) > 1
    ]
    if len(gpus) > 1:
        problems.append(
            f"cluster.servers: {' and '.join(gpus)} differ in speed, but functions' times hold for one kind "
            "of GPU; keep one kind, and compare the kinds in separate scenarios."
        )
    if not SHARING_MODES.find(spec.sharing.mode).oversubscribes:
        problems += [
            f"serverless.sharing.mode: {spec.sharing.mode!r} cuts a GPU by MIG, which {gpu} does not have; "
            "use mps or time-slicing."
            for gpu in gpus
            if find_device(gpu, own).mig is None
        ]
    if problems:
        raise ScenarioError(problems)


def _staged(
    row: WorkloadRow,
    scenario: Scenario,
    spec: ServerlessSpec,
    space: ConfigurationSpace,
    functions: FunctionBook,
    sources: Sources,
    measured: MeasuredTable | None,
) -> tuple[ModelGraph, list[int], str | None]:
    """Return the workflow of a row, its stages' functions, and the notes on a network."""
    cost, own = scenario.cost, user_devices(scenario.cluster.devices)
    graph = given_graph(sources.model(row.model, row.symbols, scenario.models), row.model, cost, own)
    device = find_device(scenario.cluster.servers[0].gpu, own)
    if not is_network(graph) or any(functions.has_time(op) for op in graph.operators):
        other = [bool(set(op.compute_s or {}) - {ANY_DEVICE}) for op in graph.operators]
        if (smallest := slice_of(device, 1)) is not None:
            graph = on_one_vgpu(graph, smallest, CostOptions(cost.stack, cost.precision), own)
        stages = zip(graph.operators, other, strict=True)
        return graph, [functions.number(op, graph.name, carried) for op, carried in stages], None
    options = CostOptions(cost.stack, cost.precision, row.batch)
    network = network_stages(graph, device, spec, space, options, scenario.contraction, measured)
    return network.graph, [functions.add(f, graph.name) for f in network.functions], network.note


def _application(
    label: str,
    row: WorkloadRow,
    graph: ModelGraph,
    function: Sequence[int],
    functions: Sequence[Function],
    space: ConfigurationSpace,
    slo_factor: float | None,
    arrivals: Arrivals,
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
    return Application(label, names, tuple(function), graph.dag, tuple(fetched), slo_s, row.rate, arrivals)


def prices_by_gpu(scenario: Scenario) -> ServerlessPricesSpec:
    """Serverless prices with which a cluster that is held whole costs what its servers cost.

    Formula: price of a server / vGPUs of a server, and nothing for vCPUs, as the server's price has them.

    Raises ``ScenarioError`` for a GPU without a price.
    """
    node, server = (
        _invoker(scenario.cluster.servers[0], scenario),
        next(iter(servers_now(scenario, scenario.cluster.servers))),
    )
    share = server.price / (node.gpus * node.vgpus)
    return ServerlessPricesSpec(vcpu_hour=0.0, vgpu_hour=share, dated="shares of the server's price")


def _invoker(group: ServerGroupSpec, scenario: Scenario) -> Invoker:
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    ServerGroup(group.count, group.gpu, group.gpus, group.vcpus, group.mig, group.mps).classes(device)
    if device.mig is None:
        return Invoker(group.vcpus, group.gpus, PARTS_WITHOUT_MIG, "", sms=device.sms)
    layout = parse_layout(group.mig, device.mig) if group.mig else None
    return Invoker(group.vcpus, group.gpus, board(device.mig).compute_slices, device.mig, layout, device.sms)
