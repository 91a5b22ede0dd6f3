"""Random small interiors with everything that can occur, and all of their configurations."""

from __future__ import annotations

import numpy as np

from nona.placement.configurations import Labels, Shape, canonical, set_partitions
from nona.placement.interiors.prices import BlockPrice, Prices
from nona.placement.messages import Link


def random_shape(rng: np.random.Generator, m: int, classes: int = 1) -> Shape:
    """Virtual or real root and sink, shared tensors, tensors of no bytes, skips from root to sink."""
    root, sink = rng.random() < 0.7, rng.random() < 0.7
    inner = [(u, v) for v in range(2, m + 1) for u in range(1, v) if rng.random() < 0.35]
    first = [v for v in range(1, m + 1) if all(e[1] != v for e in inner)]
    last = [v for v in range(1, m + 1) if all(e[0] != v for e in inner)]
    pairs = list(inner)
    if root:
        pairs += [(0, v) for v in range(1, m + 1) if v in first or rng.random() < 0.2]
    if sink:
        pairs += [(v, m + 1) for v in range(1, m + 1) if v in last or rng.random() < 0.2]
    if root and sink and rng.random() < 0.2:
        pairs.append((0, m + 1))
    named = sorted((u, 0 if rng.random() < 0.4 else v, v) for u, v in pairs)  # 0: the shared tensor of u
    tensors = {key: i for i, key in enumerate(dict.fromkeys(e[:2] for e in named))}
    size = rng.integers(0, 5, len(tensors)).astype(float)
    tensor = np.array([tensors[e[:2]] for e in named], dtype=np.int64)
    times = np.outer((1.0, 1.6)[:classes], rng.uniform(0, 2, m))
    return Shape(
        has_root=root,
        has_sink=sink,
        class_s=times,
        mean_s=times.mean(axis=0),
        source=np.array([e[0] for e in named], dtype=np.int64),
        target=np.array([e[2] for e in named], dtype=np.int64),
        tensor=tensor,
        size=size[tensor],
    )


def random_case(seed: int, most: int = 6) -> tuple[Shape, Link, int, Prices]:
    """A shape, a link, a number of servers, and waits and prices, some of them 0."""
    rng = np.random.default_rng(seed)
    m, classes = int(rng.integers(1, most + 1)), int(rng.integers(1, 3))
    shape = random_shape(rng, m, classes)
    discipline = "fifo" if rng.random() < 0.6 else "processor-sharing"
    link = Link(float(rng.choice([1.0, 3.0, 30.0])), float(rng.choice([0.0, 0.1])), discipline)
    scv = float(rng.choice([0.0, 0.5]))
    factor, run, root, square = (rng.uniform(0, 1, classes) for _ in range(4))
    # No run ahead of the sink: searches take it that only the local configuration goes on with that.
    blocks = BlockPrice(factor, run, root, np.zeros(classes), square, scv)
    prices = Prices(
        link_wait=float(rng.choice([0.0, 0.3])),
        server_wait_s=float(rng.choice([0.0, 0.4, 3.0])),
        load=float(rng.choice([0.0, 0.5, 3.0])),
        square=float(rng.choice([0.0, 0.2])),
        blocks=blocks if rng.random() < 0.6 else BlockPrice(),
    )
    return shape, link, int(rng.integers(2, 9)), prices


def every_configuration(shape: Shape, slots: int) -> Labels:
    """All labels of tasks and sink on at most ``slots`` servers, the root's empty or not."""
    rows = {(0,) * (shape.m + 1)}
    for part in set_partitions(shape.m + 1, slots):
        for sink in range(max(part) + 1) if shape.has_sink else (0,):
            rows.add(canonical([*part[1:], sink]))
    return np.array(sorted(rows), dtype=np.int64)
