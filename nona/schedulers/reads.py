"""What each task of a system reads from the tasks before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.system import QueryClass, System


@dataclass(frozen=True, slots=True)
class Reads:
    """The tasks of all Q query classes are numbered through: T of them.

    ``first`` (Q+1,) delimits the tasks of each class, ``inputs`` (T+1,) the tensors that a task reads: of
    ``source``, the number of a task of its query, ``size_bytes`` each.
    """

    first: NDArray[np.int64]
    inputs: NDArray[np.int64]
    source: NDArray[np.int64]
    size_bytes: NDArray[np.float64]


def reads_of(system: System) -> Reads:
    """The tensors that each task reads, by source; a tensor once, however many edges carry it."""
    rows = [sorted(row) for q in system.queries for row in _rows(q)]
    flat = [read for row in rows for read in row]
    return Reads(
        first=np.cumsum([0, *(len(q.tasks) for q in system.queries)]).astype(np.int64),
        inputs=np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64),
        source=np.array([source for source, _, _ in flat], dtype=np.int64),
        size_bytes=np.array([size for _, _, size in flat], dtype=float),
    )


def server_of(executor_server: NDArray[np.int64], places: NDArray[np.int64], place: int) -> int:
    """The server on which the complete task at a place ran; for the compiled engine too."""
    return executor_server[-2 - places[place]]  # type: ignore[no-any-return]


def _rows(query: QueryClass) -> list[set[tuple[int, int, float]]]:
    """For each task: source, tensor and bytes of what it reads."""
    graph = query.tasks
    rows: list[set[tuple[int, int, float]]] = [set() for _ in range(len(graph))]
    columns = (graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_tensor.tolist())
    for source, target, tensor in zip(*columns, strict=True):
        rows[target].add((source, tensor, float(graph.tensor_bytes[tensor])))
    return rows
