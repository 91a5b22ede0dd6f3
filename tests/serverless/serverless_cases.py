"""Small systems of which one can say what must happen, planners that do as told, views of a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial

import numpy as np
from hypothesis import strategies as st

from nona.cluster.sharing.pool import Invoker
from nona.models.graph.dag import Dag
from nona.scenario.arrivals import Arrivals
from nona.scenario.serverless import ContainersSpec, TransferSpec
from nona.serverless.engine.arrays import make_run
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, TableTimes, default_times, grid
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy, Place
from nona.serverless.system import Application, ServerlessSystem

NO_TRANSFER = TransferSpec(local_latency=0, remote_latency=0)
WARM = ContainersSpec(warm=48, prewarm="none", keep_alive=1e6)


def function(name, gpu_s, cpu_s=0.0, cold_s=5.0):
    """Seconds on the GPU a job, whatever its size, and on one vCPU."""
    return Function(name, LawTimes(GpuLaw(gpu_s, exponent=0.0), CpuLaw(cpu_s)), cold_start_s=cold_s)


def trace(*times_s):
    """Calls at these instants, the first at 0; then again from the start, much later."""
    return Arrivals("trace", times_s=(*times_s, times_s[-1] + 1e6), scale_to_rate=False)


def one_application(functions, edges=(), arrivals=None, rate=1.0, slo_s=100.0, input_bytes=(), **others):
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
    usual = {
        "space": grid([1], [1], [1]),
        "invokers": (Invoker(vcpus=48, gpus=8),),
        "transfer": NO_TRANSFER,
        "containers": WARM,
    }
    return ServerlessSystem(functions=tuple(functions), applications=(app,), **{**usual, **others})


class Told:
    place: Place | None = None

    def __init__(self, answer):
        self.plan = answer


def told(answer):
    return ConfigurationPolicy(
        name="told", summary="", source="", adaptation="", build=lambda system, options: Told(answer)
    )


SMALLEST = told(lambda ask: BatchPlan((0,)))


def run(system, calls, policy=SMALLEST, warmup=0, **others):
    """A run without warm-up unless told."""
    return simulate_serverless(system, policy, {}, PlatformRunOptions(calls=calls, warmup=warmup, **others))


def interpreted(system):
    """A run before its first event, for the loop's functions as plain Python: records by attribute."""
    state = make_run(system, PlatformRunOptions(calls=100, warmup=0), False, None).state
    rows = {n: a.view(np.recarray) for n, a in state._asdict().items() if a.dtype.names}
    return state._replace(**rows)


def assert_equal(one, other, but=("seconds",), where="records"):
    """Everything, to the bit, but the fields of these names."""
    if is_dataclass(one):
        for name in (f.name for f in fields(one) if f.name not in but):
            assert_equal(getattr(one, name), getattr(other, name), but, f"{where}.{name}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        np.testing.assert_array_equal(one, other, err_msg=where)
    else:
        assert one == other, where


def latencies(records):
    calls = records.calls
    return (calls.completion_s - calls.arrival_s)[calls.measured].tolist()


def measured_latency(records):
    return float(np.mean(latencies(records)))


CHAIN = ((0, 1), (1, 2))
DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))
SPACE = grid([1, 2, 4], [1, 2, 4], [1, 2, 7])


def workflow_system(smallest_s, edges=(), *, input_bytes=0.0, **rest):
    """One application of stages with these times at the smallest configuration, by the default law."""
    functions = [Function(f"f{i}", default_times(t)) for i, t in enumerate(smallest_s)]
    usual = {"space": SPACE, "containers": ContainersSpec(), "noise": 0.0, "invokers": (Invoker(),) * 3}
    usual |= {"slo_s": 1.0, "rate": 5.0, "input_bytes": (input_bytes,) * len(functions)}
    return one_application(functions, edges, **usual | rest)


def table_system(seconds, *, slo_s, space):
    """One stage whose configurations take these seconds, in their order."""
    times = TableTimes(dict(zip(space.configurations, seconds, strict=True)))
    usual = {"containers": ContainersSpec(), "invokers": (Invoker(),), "rate": 5.0}
    return one_application([Function("f", times)], slo_s=slo_s, space=space, **usual)


@dataclass
class CountedView:
    """A cluster whose room is what is free; ``refused`` (invoker, configuration) pairs have none."""

    system: ServerlessSystem
    free_vcpus: Sequence[int]
    free_vgpus: Sequence[int]
    refused: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def fits(self, invoker, configuration):
        """By counts, and unless refused."""
        wanted = self.system.space[configuration]
        room = wanted.vcpus <= self.free_vcpus[invoker] and wanted.vgpus <= self.free_vgpus[invoker]
        return room and (invoker, configuration) not in self.refused

    def ready(self, invoker, configuration):
        """Whether it fits; on an even invoker a slice would have to be made first."""
        return invoker % 2 == 1 and self.fits(invoker, configuration)


def views(system):
    """Any room on the system's invokers, refusals included."""
    n, size = len(system.invokers), len(system.space)
    return st.builds(
        partial(CountedView, system),
        st.lists(st.integers(0, 16), min_size=n, max_size=n),
        st.lists(st.integers(0, 7), min_size=n, max_size=n),
        st.frozensets(st.tuples(st.integers(0, n - 1), st.integers(0, size - 1)), max_size=40),
    )


@st.composite
def dags(draw, most=7):
    """DAGs of up to ``most`` stages, of several entries and exits, connected or not."""
    n = draw(st.integers(1, most))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return Dag.from_edges(n, draw(st.lists(st.sampled_from(pairs), max_size=12)) if pairs else [])
