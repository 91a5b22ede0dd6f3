"""Random interiors with all that can occur, made without contraction, and all configurations of them."""

import numpy as np
from hypothesis import strategies as st

from nona.queries.placement.configurations import SubgraphShape, set_partitions
from nona.queries.placement.messages import PlacementLink


def shape_of(times, edges, tensor=None, size=None, root=True, sink=True):
    """Tasks 1, 2, … between root 0 and the sink; each edge has a tensor of 1 byte of its own unless told."""
    source, target = (np.array([e[i] for e in edges], dtype=np.int64) for i in (0, 1))
    tensor = np.arange(len(edges)) if tensor is None else np.array(tensor)
    times, size = np.array(times, dtype=float), np.ones(len(edges)) if size is None else np.array(size)
    return SubgraphShape(root, sink, times[None], times, source, target, tensor, size)


def drawn_shape(seed, m, *, root=True, sink=True, dense=0.35, light=0.4):
    """An interior with dependencies, tensors that several read, skips, equal and zero times and sizes.

    ``dense`` is the chance of an edge between two tasks, ``light`` that of a task next to nothing.
    """
    rng = np.random.default_rng(seed)
    edges, tensors, sizes = {}, {}, {}

    def join(u, v):
        name = "shared" if rng.random() < 0.5 else f"to {v}"
        t = tensors.setdefault((u, name), len(tensors))
        edges[u, v, t] = sizes.setdefault(t, float(rng.choice([0.0, 0.25, 1.0, 2.0, 5.0])))

    for v in range(1, m + 1):
        above = [u for u in range(1, v) if rng.random() < dense]
        if root and (not above or rng.random() < 0.3):
            above.append(0)
        for u in above:
            join(u, v)
    if sink:
        ends = {u for u, _, _ in edges}
        for u in range(1, m + 1):
            if u not in ends or rng.random() < 0.15:
                join(u, m + 1)
        if root and rng.random() < 0.4:
            join(0, m + 1)
    listed = sorted(edges)
    time = rng.choice([1.0, 2.0, 3.0, 4.5], m) * np.where(
        rng.random(m) < light, 0.1 * rng.integers(0, 3, m), 1
    )
    tensor = np.array([e[2] for e in listed], dtype=np.int64)
    return shape_of(time, listed, tensor, [edges[e] for e in listed], root, sink)


def shapes(most, **more):
    """A strategy: shapes of up to so many tasks."""
    ends = {"root": st.booleans(), "sink": st.booleans()}
    return st.builds(drawn_shape, st.integers(0, 10**6), st.integers(1, most), **ends, **more)


def links(capacities, latencies, **more):
    disciplines = st.sampled_from(["fifo", "processor-sharing"])
    return st.builds(
        PlacementLink, st.sampled_from(capacities), st.sampled_from(latencies), disciplines, **more
    )


def everything(shape):
    """Every relative placement of interior and sink, also those that leave the root or the sink alone.

    There are Bell(m+2) of them, Bell(m+1) where the sink is virtual, as it then stays with the root.
    """
    rows = [p[1:] for p in set_partitions(shape.m + (2 if shape.has_sink else 1))]
    return np.array([r if shape.has_sink else (*r, 0) for r in rows], dtype=np.int64)
