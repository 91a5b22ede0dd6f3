"""Small systems, asks and cluster views for the tests of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import strategies as st

from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.scenario.serverless import TransferSpec
from nona.serverless.functions import ConfigurationSpace, Function, TableTimes, default_times, grid
from nona.serverless.system import Application, ServerlessSystem

CHAIN = ((0, 1), (1, 2))
DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))
NO_TRANSFER = TransferSpec(local_latency=0, remote_latency=0)
SPACE = grid([1, 2, 4], [1, 2, 4], [1, 2, 7])


def workflow_system(
    smallest_s: Sequence[float],
    edges: Sequence[tuple[int, int]] = (),
    *,
    slo_s: float = 1.0,
    space: ConfigurationSpace = SPACE,
    input_bytes: float = 0.0,
    **rest: Any,
) -> ServerlessSystem:
    """One application of stages with these times at the smallest configuration, by the default law."""
    n = len(smallest_s)
    functions = tuple(Function(f"f{i}", default_times(t)) for i, t in enumerate(smallest_s))
    names = tuple(f"s{i}" for i in range(n))
    application = Application(
        "app", names, tuple(range(n)), Dag.from_edges(n, edges), (input_bytes,) * n, slo_s, 5.0
    )
    settings = {"transfer": NO_TRANSFER, "noise": 0.0, "invokers": (Invoker(),) * 3, **rest}
    return ServerlessSystem(space=space, functions=functions, applications=(application,), **settings)


def table_system(seconds: Sequence[float], *, slo_s: float, space: ConfigurationSpace) -> ServerlessSystem:
    """One stage whose configurations take these seconds, in their order."""
    times = TableTimes(dict(zip(space.configurations, seconds, strict=True)))
    application = Application("app", ("s0",), (0,), Dag.from_edges(1, []), (0.0,), slo_s, 5.0)
    return ServerlessSystem(
        space, (Function("f", times),), (application,), (Invoker(),), transfer=NO_TRANSFER
    )


@dataclass
class CountedView:
    """A cluster whose room is what is free; ``refused`` (invoker, configuration) pairs have none."""

    system: ServerlessSystem
    free_vcpus: Sequence[int]
    free_vgpus: Sequence[int]
    refused: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def fits(self, invoker: int, configuration: int) -> bool:
        """By counts, and unless refused."""
        wanted = self.system.space[configuration]
        room = wanted.vcpus <= self.free_vcpus[invoker] and wanted.vgpus <= self.free_vgpus[invoker]
        return room and (invoker, configuration) not in self.refused

    def ready(self, invoker: int, configuration: int) -> bool:
        """Whether it fits; on an even invoker a slice would have to be made first."""
        return invoker % 2 == 1 and self.fits(invoker, configuration)


def views(system: ServerlessSystem) -> st.SearchStrategy[CountedView]:
    """Any room on the system's invokers, refusals included."""
    n, size = len(system.invokers), len(system.space)
    return st.builds(
        partial(CountedView, system),
        st.lists(st.integers(0, 16), min_size=n, max_size=n),
        st.lists(st.integers(0, 7), min_size=n, max_size=n),
        st.frozensets(st.tuples(st.integers(0, n - 1), st.integers(0, size - 1)), max_size=40),
    )


@st.composite
def dags(draw: st.DrawFn, most: int = 7) -> Dag:
    """DAGs of up to ``most`` stages, of several entries and exits, connected or not."""
    n = draw(st.integers(1, most))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return Dag.from_edges(n, draw(st.lists(st.sampled_from(pairs), max_size=12)) if pairs else [])
