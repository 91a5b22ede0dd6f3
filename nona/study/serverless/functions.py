"""The functions of a serverless system, each once: the scenario's, shipped ones, and those of networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions
from nona.errors import GraphError
from nona.gpu_sharing.resources import Configuration
from nona.graph.model import ANY_DEVICE, ModelGraph, Operator
from nona.hardware.device import Device
from nona.hardware.executor import ExecutorClass
from nona.scenario.serverless import FunctionSpec, ServerlessSpec
from nona.serverless.model.catalogue import (
    MEASURED,
    network_law,
    shipped_function,
    shipped_network,
)
from nona.serverless.model.configuration import ConfigurationSpace
from nona.serverless.model.function import (
    CpuLaw,
    DefaultLaw,
    Function,
    GpuLaw,
    LawTimes,
    TableTimes,
    default_times,
)
from nona.serverless.profiles.between import profile_times
from nona.serverless.profiles.reader import read_profile, rows_of

DEFAULT_COLD_START_S = 5.0


class FunctionBook:
    """The functions that the stages of all workflows name, each once, in order of appearance.

    A stage names its function by its attribute ``function``, else by its own id. The scenario's own
    functions come first, then the shipped ones, then the default law around the stage's own time, which
    is that of any device (:func:`on_one_vgpu`). ``read`` gives the bytes of a file; a GPU has ``parts``
    vGPUs.
    """

    def __init__(
        self, spec: ServerlessSpec, space: ConfigurationSpace, read: Callable[[str], bytes], parts: int = 7
    ) -> None:
        self._spec = spec
        self._own = {
            name: own_function(name, own, space, read, parts) for name, own in spec.functions.items()
        }
        self._given: list[Function] = []  # under the names that they came with
        self._made: list[Function] = []

    @property
    def made(self) -> tuple[Function, ...]:
        """All functions so far; their names differ."""
        return tuple(self._made)

    def known(self, stage: Operator) -> bool:
        """Whether the stage's function can be found."""
        return self._find(stage) is not None

    def number(self, stage: Operator, graph: str) -> int:
        """Number of the stage's function.

        Raises
        ------
        GraphError
            When it is neither known nor has the stage a time.
        """
        function = self._find(stage)
        if function is None:
            raise GraphError(
                f"Workflow {graph!r}: stage {stage.id!r} names no known function and has no time; give it "
                "compute_ms, or describe the function under serverless.functions."
            )
        return self.add(function, graph)

    def add(self, function: Function, graph: str) -> int:
        """Number of ``function``; another one of its name takes the graph's name in addition."""
        if function in self._given:
            return self._given.index(function)
        taken = {f.name for f in self._made}
        names = (f"{function.name} ({graph}{f' {n}' if n > 1 else ''})" for n in count(1))
        unique = function.name if function.name not in taken else next(n for n in names if n not in taken)
        self._given.append(function)
        self._made.append(replace(function, name=unique))
        return len(self._made) - 1

    def _find(self, stage: Operator) -> Function | None:
        spec, name, time_s = self._spec, str(stage.attributes.get("function", stage.id)), _time_s(stage)
        if name in self._own:
            return self._own[name]
        law = DefaultLaw(spec.cpu_share, spec.gpu_floor, spec.gpu_constant, spec.gpu_exponent)
        shipped = shipped_function(name, law)
        if time_s is None:
            return shipped
        times = default_times(time_s, law)
        if shipped is not None:
            confirmed = tuple(c for c in shipped.confirmed if c != MEASURED)  # the times are not the fit's
            return replace(shipped, times=times, confirmed=confirmed)
        return Function(name, times, cold_start_s=DEFAULT_COLD_START_S, source="the workflow's own time")


def on_one_vgpu(
    graph: ModelGraph, executor: ExecutorClass, options: CostOptions, own: Mapping[str, Device]
) -> ModelGraph:
    """The workflow with each stage's stated time on ``executor``, one vGPU, as that of any device.

    A time for other hardware is carried over as everywhere (:mod:`nona.cost.stated`); one for any device
    is that at the smallest configuration. ``own`` are the user's devices.

    Raises
    ------
    CostError
        When a stage has times for unknown devices only.

    Examples
    --------
    >>> from nona.hardware.executor import executor_class
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


def own_function(
    name: str, spec: FunctionSpec, space: ConfigurationSpace, read: Callable[[str], bytes], parts: int
) -> Function:
    """A function as the scenario describes it.

    Raises
    ------
    NonaError
        When its network was not measured, or its profile cannot be read or has no time for ``space``.
    """
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
        times = TableTimes({Configuration(r.batch, r.vcpus, r.vgpus): r.time for r in spec.table})
    return Function(name, times, spec.cold_start, input_bytes, source, confirmed, weights, spec.memory)
