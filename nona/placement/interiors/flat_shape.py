"""A shape at fixed waits and prices, as plain arrays for compiled searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.shape import Shape
from nona.placement.interiors.prices import Prices
from nona.placement.spans.messages import Link

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Flat(NamedTuple):
    """Nodes 0 (root), 1…m, m+1 (sink); E edges.

    ``into`` and ``out`` list the edges of every node, those of v at ``into_at[v]`` … ``into_at[v+1]``.
    ``link_s`` (E,) are seconds at the link, 0 where nothing crosses it; a message is through after ``own``
    times its own and ``queued`` times those before it in its batch. ``class_s`` (K, m+2).
    """

    m: int
    slots: int
    has_root: bool
    has_sink: bool
    fifo: bool
    time_s: Floats
    class_s: Floats
    source: Ints
    target: Ints
    tensor: Ints
    link_s: Floats
    into_at: Ints
    into: Ints
    out_at: Ints
    out: Ints
    own: float
    queued: float
    latency_s: float
    wait: float
    visit_s: float
    load: float
    square: float
    factor: Floats
    run_s: Floats
    root_s: Floats


def flatten(shape: Shape, link: Link, slots: int, prices: Prices) -> Flat:
    """The arrays of ``shape`` on at most ``slots`` servers."""
    classes = len(prices.blocks.factor)
    into_at, into = _lists(shape.edges_into)
    out_at, out = _lists(shape.edges_of)
    fifo = link.discipline == "fifo"
    return Flat(
        m=shape.m,
        slots=slots,
        has_root=shape.has_root,
        has_sink=shape.has_sink,
        fifo=fifo,
        time_s=np.concatenate([[0.0], shape.mean_s, [0.0]]),
        class_s=np.pad(shape.class_s[:classes].astype(np.float64), ((0, 0), (1, 1))),
        source=shape.source.astype(np.int64),
        target=shape.target.astype(np.int64),
        tensor=shape.tensor.astype(np.int64),
        link_s=shape.size / link.capacity if link.crosses else np.zeros(len(shape.size)),
        into_at=into_at,
        into=into,
        out_at=out_at,
        out=out,
        own=link.capacity / link.speed,
        queued=1.0 if link.route is None else link.route.queued * link.capacity,
        latency_s=link.latency_s if link.crosses else 0.0,
        wait=prices.link_wait if link.crosses or not fifo else 0.0,
        visit_s=prices.server_wait_s,
        load=prices.load,
        square=prices.square,
        factor=prices.blocks.factor.astype(np.float64),
        run_s=prices.blocks.run_s.astype(np.float64),
        root_s=prices.blocks.root_s.astype(np.float64),
    )


def _lists(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    ends = np.cumsum([0, *(len(edges) for edges in lists)]).astype(np.int64)
    return ends, np.array([e for edges in lists for e in edges], dtype=np.int64)
