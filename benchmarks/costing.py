"""How long costing takes, and how it grows: ``python -m benchmarks.costing``.

Transformer layers are stacked up to 50,000 operators; the exponent is the slope of log time over
log operators.
"""

from __future__ import annotations

import math
import time

from nona.cost.costing import cost_graph
from nona.cost.options import CostOptions
from nona.graph.model import ModelGraph
from nona.hardware.cluster import Cluster, ServerGroup
from nona.hardware.executor import executor_class
from studies.published_latencies import llama

LAYERS = (50, 200, 800, 1780)


def seconds(graph: ModelGraph) -> float:
    """Best of three."""
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        cost_graph(graph, executor_class("a100-40gb/2g.10gb"), CostOptions(precision="int8"))
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Print the table."""
    rows = []
    for layers in LAYERS:
        graph = llama(f"{layers} layers", tokens=128, layers=layers)
        _ = graph.dag
        rows.append((len(graph.operators), seconds(graph)))
        print(f"{rows[-1][0]:6d} operators costed in {rows[-1][1] * 1e3:7.1f} ms")
    (n0, t0), (n1, t1) = rows[0], rows[-1]
    print(f"growth: operators^{math.log(t1 / t0) / math.log(n1 / n0):.2f}")
    start = time.perf_counter()
    cluster = Cluster((ServerGroup(10_000, gpus=8, mig="3g.20gb, 2g.10gb, 2g.10gb"),))
    print(f"{len(cluster.executors)} executors laid out in {(time.perf_counter() - start) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
