"""Two-tower recommenders: many embedding tables, a tower for users, a tower for items, their product.

Source of the layout: Naumov et al., Deep learning recommendation model for personalization and
recommendation systems, 2019 (recollected); sizes assumed.
"""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder

BATCH, LOOKUPS, WIDTH = 4096, 64, 128
LAYERS = (4096, 2048, 512)


def two_tower(tables: int) -> NodeLink:
    """``tables`` tables, half of each tower, for a batch of 4096 pairs.

    A lookup sums 64 rows of 128 entries for each of the batch: it reads memory and computes next to
    nothing. Where the batch meets is the first matrix of a tower.

    >>> len(two_tower(16)["nodes"])
    26
    """
    graph = TaskGraphBuilder()
    ids = graph.task("request", 0, BATCH * LOOKUPS * 2)
    towers = []
    for side in ("user", "item"):
        own = graph.task(f"{side}.ids", 0, BATCH * LOOKUPS * 2, ids)
        pooled = [
            graph.task(f"{side}.table{t}", 0, BATCH * WIDTH, own, weights=BATCH * LOOKUPS * WIDTH)
            for t in range(tables // 2)
        ]
        x, width = pooled, len(pooled) * WIDTH
        for layer, out in enumerate(LAYERS):
            x = [graph.linear(f"{side}.layer{layer}", BATCH, width, out, *x)]
            width = out
        towers += x
    graph.task("score", 2 * BATCH * LAYERS[-1], BATCH, *towers)
    return graph.mapping(name=f"two_tower_{tables}", description=f"Two towers on {tables} embedding tables")
