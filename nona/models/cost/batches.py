"""Times of batches: what an executor takes for b queries of a model that run as one, by b.

Weights are read once; FLOPs and the bytes of activations are b times those of one query. s(b) is what
:func:`~nona.models.cost.costing.cost_graph` says at b = 1, 2, 4, … and at batches that were measured or
given; it is linear between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from nona.cluster.hardware.device import Device
from nona.cluster.hardware.executor import ExecutorClass
from nona.core.arrays import Floats
from nona.models.cost.costed import CostedGraph
from nona.models.cost.costing import cost_graph
from nona.models.cost.measured import ANY, MeasuredTable
from nona.models.cost.options import CostOptions
from nona.models.graph.model import Edge, ModelGraph
from nona.models.results import BatchFit


def batch_sizes(largest: int) -> tuple[int, ...]:
    """Powers of two up to ``largest``, and that.

    >>> batch_sizes(6)
    (1, 2, 4, 6)
    """
    return tuple(sorted({largest, *(2**k for k in range(largest.bit_length()))}))


def cost_batches(
    graph: ModelGraph,
    executor: ExecutorClass,
    options: CostOptions,
    largest: int,
    measured: MeasuredTable | None = None,
    own: Mapping[str, Device] | None = None,
) -> dict[int, CostedGraph]:
    """Cost batches of 1 to ``largest`` queries at :func:`batch_sizes` and at those that are timed.

    The arguments are those of :func:`~nona.models.cost.costing.cost_graph`, which says what they are and
    raises.
    """
    rows = measured.rows if measured is not None and largest > 1 else ()
    timed = {row.batch for row in rows if row.model in (ANY, graph.name)}
    timed |= {inputs for operator in graph.operators for inputs, _ in operator.batch_s}
    corners = {size for inputs in timed for size in (inputs // options.batch, -(-inputs // options.batch))}
    sizes = {*batch_sizes(largest), *(size for size in corners if 1 < size < largest)}
    return {
        size: cost_graph(graph, executor, replace(options, members=size), measured, own)
        for size in sorted(sizes)
    }


def at_every_batch(sizes: Sequence[int], seconds: ArrayLike) -> Floats:
    """(B, …) Seconds of 1, …, B queries, linear between ``sizes``, of which B is the last.

    >>> at_every_batch((1, 2, 4), (1.0, 1.5, 2.5)).tolist()
    [1.0, 1.5, 2.0, 2.5]
    """
    points = np.asarray(seconds, dtype=float)
    columns = points.reshape(len(sizes), -1).T
    batches = np.arange(1, sizes[-1] + 1)
    every = np.array([np.interp(batches, sizes, column) for column in columns]).T
    return every.reshape(len(batches), *points.shape[1:])


def padded(batch_s: Floats, allowed: Sequence[int], largest: int) -> Floats:
    """(``largest``, …) Seconds of a batch that is filled up to the next of the ``allowed`` sizes; none: all.

    >>> padded(np.array([1.0, 2.0, 3.0, 4.0]), (1, 4), 3).tolist()
    [1.0, 4.0, 4.0]
    """
    sizes = np.sort(allowed or range(1, largest + 1))
    taken = sizes[np.searchsorted(sizes, np.arange(1, largest + 1))]
    filled: Floats = batch_s[taken - 1]
    return filled


def fit_batches(sizes: ArrayLike, seconds: ArrayLike) -> BatchFit:
    """Fit a line to the seconds at ``sizes`` by least squares.

    >>> fit_batches((1, 2, 3), (3.0, 4.0, 5.0))
    BatchFit(fixed_s=2.0, per_query_s=1.0, error=0.0)
    """
    b, s = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    spread = b - b.mean()
    slope = float(spread @ s / (spread @ spread)) if len(b) > 1 else 0.0
    fixed = float(s.mean() - slope * b.mean())
    off = np.abs(fixed + slope * b - s)
    error = float(np.max(off[s > 0] / s[s > 0], initial=0.0))
    return BatchFit(fixed_s=fixed, per_query_s=slope, error=error)


def activation_bytes(costed: CostedGraph, edges: Sequence[Edge]) -> float:
    """Return the most bytes of activations that are alive at once while the operators run in their order.

    ``edges`` are those of the graph at the precision and batch costed. What an operator reads and writes is
    alive while it runs.
    """
    own = [cost.read_bytes + cost.write_bytes for cost in costed.costs]
    return float(np.maximum(_alive_bytes(costed, edges), own).max())


def _alive_bytes(costed: CostedGraph, edges: Sequence[Edge]) -> Floats:
    """Bytes of tensors from the operator that makes them to the last that reads them."""
    index = costed.graph.index
    last: dict[tuple[int, str], tuple[int, float]] = {}
    for edge in edges:
        tensor = index[edge.source], edge.tensor
        until, size = last.get(tensor, (0, 0.0))
        last[tensor] = max(until, index[edge.target]), max(size, edge.size_bytes)
    change = np.zeros(len(index) + 1)
    for (source, _), (until, size) in last.items():
        change[source] += size
        change[until + 1] -= size
    alive: Floats = np.cumsum(change)[:-1]
    return alive
