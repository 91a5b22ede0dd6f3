"""What splitting a query could gain at the very most: nobody else on the cluster, every wait is zero.

For a sub-graph three times stand side by side, from the end of its root to the start of its sink:

* ``local_s`` = Σ p(v), its interior on one server, one task after the other;
* ``critical_s`` = the longest chain of p(v), the bound when messages cost nothing;
* ``best_s`` = min over configurations c of span(c) with W_n = W_c = 0: transfers over the idle link
  count, waits do not. (Equations 10 and 11 of the project page, nona.csail.mit.edu, without waits.)

critical_s ≤ best_s ≤ local_s, and no load makes any of them shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import Decomposition, SubGraph
from nona.placement.configurations.shape import Shape, shapes_of
from nona.placement.enumeration.considered import candidates
from nona.placement.spans.longest_paths import spans
from nona.placement.spans.messages import Link


@dataclass(frozen=True, slots=True)
class IdleSpan:
    """The three times of a sub-graph in seconds, and the bytes of the tensors into and out of it.

    ``exhaustive`` is False where configurations were left out, so that ``best_s`` may be too long.
    """

    subgraph: SubGraph
    local_s: float
    critical_s: float
    best_s: float
    border_bytes: float
    exhaustive: bool = True


def idle_spans(
    tasks: TaskGraph,
    decomposition: Decomposition,
    link: Link,
    servers: int,
    executor_class: int = 0,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[IdleSpan, ...]:
    """The spans of every sub-graph with an interior, on an idle cluster of ``servers`` servers.

    ``on_progress`` is called with the share of the sub-graphs that is done; equal ones are evaluated once.

    Examples
    --------
    >>> from nona.decomposition.dominators import decompose
    >>> arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    >>> tasks = TaskGraph.from_edges("slides", [0.002, 0.010, 0.008, 0.002], arcs)
    >>> found = idle_spans(tasks, decompose(tasks.dag), Link(1e9, 0.0), 2)[0]
    >>> [round(1e3 * s, 6) for s in (found.local_s, found.critical_s, found.best_s)]
    [18.0, 10.0, 10.0]
    >>> found.border_bytes
    4000000.0
    """
    inner = tuple(s for s in decomposition.subgraphs if s.interior)
    weights = np.zeros(len(tasks.compute_s))
    weights[executor_class] = 1.0
    known: dict[bytes, tuple[float, bool]] = {}
    found = []
    for number, (subgraph, shape) in enumerate(zip(inner, shapes_of(tasks, inner, weights), strict=True)):
        if shape.signature not in known:
            considered = candidates(shape, link, servers)
            shortest = min(float(spans(considered, 0.0, 0.0)[0].min()), shape.local_s)
            known[shape.signature] = shortest, considered.exhaustive
        best_s, exhaustive = known[shape.signature]
        found.append(
            IdleSpan(subgraph, shape.local_s, shape.critical_s, best_s, _border_bytes(shape), exhaustive)
        )
        if on_progress:
            on_progress((number + 1) / len(inner))
    return tuple(found)


def _border_bytes(shape: Shape) -> float:
    """Bytes of the distinct tensors that enter the interior from its root or leave it for its sink."""
    crossing = (shape.source == 0) | (shape.target == shape.m + 1)
    _, first = np.unique(shape.tensor[crossing], return_index=True)
    return float(shape.size[crossing][first].sum())
