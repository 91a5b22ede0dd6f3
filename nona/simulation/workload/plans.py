"""A query class as the engine's inner loop wants it: nested lists, nothing to compute."""

from __future__ import annotations

from dataclasses import dataclass

from nona.contraction.task_graph import TaskGraph
from nona.errors import SimulationError

MAX_TASKS = 1 << 20  # of a query: the event key of a task holds its number in 20 bits


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a task makes and others read.

    ``numbers[i]`` is the number of the input (tensor, ``targets[i]``) among all inputs of the
    graph, in order of tensor, then target: the place of a message in the order of its job.
    ``only`` is the target where there is just one, else −1.
    """

    tensor: int
    size_bytes: float
    work_s: float
    targets: tuple[int, ...]
    numbers: tuple[int, ...]
    only: int


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Tables of one query class.

    ``times[c][t]``: modelled seconds of task t on executor class c. ``inputs[t]``: tensors that t
    reads, ``predecessors[t]`` the number of tasks that make them, ``successors[t]`` the tasks that
    read from t. ``reads[t]`` holds, for each input, the output that it is, t's place in it,
    and the task that makes it; ``makers[t]`` those tasks alone. ``numbered`` holds the output and
    its task for each input by its number, ``readers`` the task that reads it.
    """

    tasks: int
    times: list[list[float]]
    sources: tuple[int, ...]
    inputs: list[int]
    predecessors: list[int]
    successors: list[tuple[int, ...]]
    outputs: list[tuple[Output, ...]]
    reads: list[tuple[tuple[Output, int, int], ...]]
    makers: list[tuple[int, ...]]
    numbered: list[tuple[Output, int]]
    readers: list[int]


def make_plan(graph: TaskGraph, capacity: float) -> QueryPlan:
    """Tables of ``graph`` on a link of ``capacity`` (bytes/s)."""
    n = len(graph)
    inputs = sorted(
        set(
            zip(
                graph.edge_tensor.tolist(),
                graph.edge_target.tolist(),
                graph.edge_source.tolist(),
                strict=True,
            )
        )
    )
    if not 0 < n < MAX_TASKS or len(inputs) >= MAX_TASKS:
        raise SimulationError(
            f"Query {graph.name!r}: {n} tasks with {len(inputs)} inputs; there must be at least one task, "
            f"and fewer than {MAX_TASKS} of each; contract the graph further."
        )
    by_tensor: dict[int, list[tuple[int, int, int]]] = {}
    for number, (tensor, target, source) in enumerate(inputs):
        by_tensor.setdefault(tensor, []).append((target, number, source))
    outputs: list[list[Output]] = [[] for _ in range(n)]
    reads: list[list[tuple[Output, int, int]]] = [[] for _ in range(n)]
    numbered: list[tuple[Output, int]] = []
    for tensor, uses in by_tensor.items():
        size = float(graph.tensor_bytes[tensor])
        source = uses[0][2]
        targets, numbers = tuple(u[0] for u in uses), tuple(u[1] for u in uses)
        only = targets[0] if len(targets) == 1 else -1
        output = Output(tensor, size, size / capacity, targets, numbers, only)
        outputs[source].append(output)
        for place, (target, _, _) in enumerate(uses):
            reads[target].append((output, place, source))
            numbered.append((output, source))
    return QueryPlan(
        tasks=n,
        times=graph.compute_s.tolist(),
        sources=tuple(t for t in range(n) if not reads[t]),
        inputs=[len(r) for r in reads],
        predecessors=[len(p) for p in graph.dag.predecessors],
        successors=list(graph.dag.successors),
        outputs=[tuple(o) for o in outputs],
        reads=[tuple(r) for r in reads],
        makers=[tuple(source for _, _, source in r) for r in reads],
        numbered=numbered,
        readers=[target for _, target, _ in inputs],
    )
