"""Small systems of which one can say what must happen, and planners that do as they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.scenario.serverless import ContainersSpec, TransferSpec
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, grid
from nona.serverless.policies.base import Ask, Place, Plan, Policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import Application, ServerlessSystem
from nona.system import Arrivals

NO_TRANSFER = TransferSpec(local_latency=0, remote_latency=0)
WARM = ContainersSpec(warm=48, prewarm="none", keep_alive=1e6)


def function(name: str, gpu_s: float, cpu_s: float = 0.0, cold_s: float = 5.0) -> Function:
    """Seconds on the GPU a job, whatever its size, and on one vCPU."""
    return Function(name, LawTimes(GpuLaw(gpu_s, exponent=0.0), CpuLaw(cpu_s)), cold_start_s=cold_s)


def trace(*times_s: float) -> Arrivals:
    """Calls at these instants, the first at 0; then again from the start, much later."""
    return Arrivals("trace", times_s=(*times_s, times_s[-1] + 1e6), scale_to_rate=False)


def one_application(
    functions: Sequence[Function],
    edges: Sequence[tuple[int, int]] = (),
    arrivals: Arrivals | None = None,
    rate: float = 1.0,
    slo_s: float = 100.0,
    input_bytes: Sequence[float] = (),
    **others: Any,
) -> ServerlessSystem:
    """Stage s runs function s; one invoker with much of everything unless told."""
    n = len(functions)
    app = Application(
        "app",
        tuple(f"s{k}" for k in range(n)),
        tuple(range(n)),
        Dag.from_edges(n, edges),
        tuple(input_bytes) or (0.0,) * n,
        slo_s,
        rate,
        arrivals or Arrivals(),
    )
    usual: dict[str, Any] = {
        "space": grid([1], [1], [1]),
        "invokers": (Invoker(vcpus=48, gpus=8),),
        "transfer": NO_TRANSFER,
        "containers": WARM,
    }
    return ServerlessSystem(functions=tuple(functions), applications=(app,), **{**usual, **others})


class Told:
    """A planner that answers with what a function of the question says."""

    place: Place | None = None

    def __init__(self, answer: Callable[[Ask], Plan]) -> None:
        self.plan = answer


def told(answer: Callable[[Ask], Plan]) -> Policy:
    """A policy of that planner."""
    return Policy("told", "Told", "", "", "", lambda system, options: Told(answer), {}, {})


SMALLEST = told(lambda ask: Plan((0,)))


def run(
    system: ServerlessSystem, calls: int, policy: Policy = SMALLEST, warmup: int = 0, **others: Any
) -> ServerlessRecords:
    """A run without warm-up unless told."""
    return simulate_serverless(system, policy, {}, RunOptions(calls=calls, warmup=warmup, **others))


def latencies(records: ServerlessRecords) -> list[float]:
    """Of the measured calls."""
    calls = records.calls
    found: list[float] = (calls.completion_s - calls.arrival_s)[calls.measured].tolist()
    return found


def measured_latency(records: ServerlessRecords) -> float:
    """Mean over the measured calls."""
    return float(np.mean(latencies(records)))
