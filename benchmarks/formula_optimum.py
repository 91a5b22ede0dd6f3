"""The certified optimum of the formula: times and gaps of larger systems.

Run ``python -m benchmarks.formula_optimum``. Ratios are measured in one run; absolute times
depend on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition, SubGraph
from nona.queries.placement.configurations import SubgraphShape, set_partitions
from nona.queries.placement.fixed import local_placement
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.model import build_model
from nona.queries.placement.result import Placement
from nona.queries.placement.solve import solve
from nona.queries.placement.solver.descent import descend_from_starts
from nona.queries.placement.solver.parametric import solve_parametric
from nona.queries.placement.solver.problem import build_problem, groups_of
from nona.queries.system import BackgroundStream, QueryClass, System
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path

Floats = NDArray[np.float64]
CAPACITY = 3.125e9


def fork_joins(rng: np.random.Generator, widths: list[int], rate: float, name: str) -> QueryClass:
    """A chain of fork-joins: branches of 0.2–2 ms, tensors of 0.05–1 MB."""
    compute: list[float] = [2e-4]
    rows: list[tuple[int, int, int]] = []
    sizes: list[float] = []
    subgraphs, cuts, root = [], [0], 0
    for width in widths:
        interior = tuple(range(root + 1, root + 1 + width))
        sink = root + width + 1
        compute += [*rng.uniform(2e-4, 2e-3, width), 2e-4]
        sizes.append(float(rng.uniform(5e4, 1e6)))
        shared = len(sizes) - 1
        rows += [(root, v, shared) for v in interior]
        for v in interior:
            sizes.append(float(rng.uniform(5e4, 1e6)))
            rows.append((v, sink, len(sizes) - 1))
        subgraphs.append(SubGraph(root, sink, interior))
        cuts.append(sink)
        root = sink
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    origin = {t: u for u, _, t in rows}
    tasks = TaskGraph(
        name=name,
        task_ids=tuple(map(str, range(len(compute)))),
        compute_s=np.array([compute]),
        weight_bytes=np.zeros(len(compute)),
        edge_source=table[:, 0].copy(),
        edge_target=table[:, 1].copy(),
        edge_tensor=table[:, 2].copy(),
        tensor_source=np.array([origin[t] for t in range(len(sizes))], dtype=np.int64),
        tensor_bytes=np.array(sizes),
    )
    return QueryClass(name, tasks, Decomposition(tuple(cuts), tuple(subgraphs)), rate)


def make_system(widths: list[list[int]], *, servers: int = 80, load: float = 0.4, seed: int = 0) -> System:
    """One query class for each list of widths; together they load the executors to ``load``."""
    rng = np.random.default_rng(seed)
    queries = [fork_joins(rng, w, 1.0, f"m{i}") for i, w in enumerate(widths)]
    work = sum(float(q.tasks.compute_s.sum()) for q in queries)
    rate = load * servers / work
    return System(
        executor_server=np.arange(servers),
        executor_class=np.zeros(servers, dtype=np.int64),
        class_names=("gpu",),
        capacity=CAPACITY * servers / 2,
        latency_s=2e-5,
        discipline="fifo",
        background_compute=BackgroundStream(20.0, 0.005, 1.0),
        background_network=BackgroundStream(0.3 * CAPACITY * servers / 2 / 1e6, 1e6, 1.0),
        queries=tuple(QueryClass(q.name, q.tasks, q.decomposition, rate) for q in queries),
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds (the better of two runs) and result."""
    best, result = np.inf, None
    for _ in range(2):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


def gap_of(placement: Placement) -> str:
    """The certified gap of a formula's optimum, as text."""
    return "none" if placement.formula is None else f"{placement.formula.gap:.1e}"


def partitions_only(shape: SubgraphShape, link: PlacementLink) -> ShapeCandidates:
    """The partitions of the interior, the first part with root and sink: Bell(m) configurations."""
    rows = [(*p, 0) for p in set_partitions(shape.m)]
    return ShapeCandidates(shape, np.array(rows, dtype=np.int64), link)


def large_instances() -> None:
    """Five models; 50 models with 877 configurations; the number of servers."""
    shipped = prepare(load_scenario(scenario_path("five_models_80_servers"))).system
    seconds, placement = timed(partial(solve, shipped))
    print(f"five models of the paper, as shipped: {seconds:.2f} s, gap {gap_of(placement)}")
    five = make_system([[], [2, 2, 2], [], [], [4, 2] * 12])
    seconds, placement = timed(partial(solve, five))
    print(f"five synthetic models, 24 sub-graphs in one: {seconds:.2f} s, gap {gap_of(placement)}")
    system = make_system([[7]] * 50)
    model = build_model(system, partitions_only)
    sizes = [len(c) for row in model.candidates for c in row]
    seconds, end = timed(lambda: descend_from_starts(model, 2e-5))
    local = local_placement(system).prediction.jct_s
    print(
        f"{len(sizes)} models × {sizes[0]} configurations: {seconds:.2f} s, gap {end.certified.gap:.1e}, "
        f"{end.value_s / local:.3f} of the local placement's JCT"
    )
    problem = build_problem(model, groups_of(model), 1e-3)
    seconds, once = timed(partial(solve_parametric, problem, gap=1e-4))
    print(f"  one certified solve at constant server wait: {seconds:.2f} s, gap {once.gap:.1e}")
    first = 0.0
    for servers in (8, 80, 800, 8000):
        seconds, placement = timed(partial(solve, make_system([[2, 2], [4], [3]], servers=servers, load=0.2)))
        first = first or seconds
        print(f"{servers:5d} servers: {seconds:.3f} s, {seconds / first:.2f} of the time with 8")


def main() -> None:
    """Print the table."""
    large_instances()


if __name__ == "__main__":
    main()
