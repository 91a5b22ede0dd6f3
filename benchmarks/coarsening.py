"""What stays together in every sample and in two large networks: ``python -m benchmarks.coarsening``.

Interior tasks before and groups after coarsening on an A100 over 25 and 200 Gbit/s (20 µs latency),
losing nothing and losing at most 5 % of each sub-graph's local time; the bound beside local time.
Then, where exhaustive search can follow, the loss that there really is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from nona.graph.model import ModelGraph
from nona.graph.node_link import from_node_link
from nona.hardware.executor import executor_class
from nona.placement.coarsening import coarsen
from nona.placement.configurations import Shape, shapes_of
from nona.placement.enumeration import candidates
from nona.placement.glue import Coarsening
from nona.placement.messages import Link
from nona.placement.spans import spans
from nona.sources.samples import load_sample, sample_names
from nona.study.models import prepare_model
from studies.networks import encoder_decoder, u_net

LINKS = {gbit: Link(gbit * 1e9 / 8, 20e-6) for gbit in (25, 200)}
SHARES = (0.0, 0.05)
ENUMERATED = 6
GPU = executor_class("a100-40gb")


def graphs() -> Iterator[ModelGraph]:
    """Samples with something to distribute, then networks with one giant interior."""
    for name in sample_names():
        yield load_sample(name)
    for name, document in (
        ("encoder-decoder, 12+12 layers", encoder_decoder(12)),
        ("encoder-decoder, no caches", encoder_decoder(12, cached=False)),
        ("U-Net, 4 levels", u_net(4, 2)),
    ):
        yield from_node_link(document, name)


def shapes(graph: ModelGraph) -> list[Shape]:
    """Sub-graphs with an interior."""
    model = prepare_model(graph, (GPU,))
    return [s for s in shapes_of(model.tasks, model.decomposition.subgraphs, np.ones(1)) if s.m]


def real_loss(shape: Shape, link: Link, c: Coarsening) -> float:
    """Seconds that the groups lose of the best idle span, by exhaustive search."""
    every = candidates(shape, link, shape.m + 2)
    span = spans(every, 0.0, 0.0)[0]
    kept = np.array([c.respects(row) for row in every.labels.tolist()])
    return float(span[kept].min() - span.min())


def row(found: list[Shape], link: Link, share: float) -> tuple[str, float]:
    """One cell of the table, and the CPU seconds that it took."""
    began = time.process_time()
    made = [coarsen(s, link, share=share) for s in found]
    took = time.process_time() - began
    local = sum(s.local_s for s in found)
    lost = sum(c.bound_s(1.0) for c in made) / local if local > 0 else 0.0
    small = [(s, c) for s, c in zip(found, made, strict=True) if s.m <= ENUMERATED]
    real = sum(real_loss(s, link, c) for s, c in small) / local if local > 0 else 0.0
    units = sum(c.interior_units for c in made)
    return f"{units:5d}  bound {100 * lost:5.2f} %  real {100 * real:5.2f} %", took


def main() -> None:
    """Print the table."""
    print("groups that may leave; bound and real loss (interiors of at most 6) in % of local time")
    heads = [f"{gbit} Gbit/s, {100 * share:g} % may be lost" for gbit in LINKS for share in SHARES]
    print(f"{'model':30s} tasks  " + "  ".join(f"{h:36s}" for h in heads))
    total = 0.0
    for graph in graphs():
        found = shapes(graph)
        if not found:
            continue
        cells = []
        for link in LINKS.values():
            for share in SHARES:
                cell, took = row(found, link, share)
                total += took
                cells.append(f"{cell:36s}")
        print(f"{graph.name:30s} {sum(s.m for s in found):5d}  " + "  ".join(cells))
    print(f"coarsening took {total:.2f} s of CPU in all")


if __name__ == "__main__":
    main()
