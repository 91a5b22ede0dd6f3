"""How contraction and decomposition grow with the operators, for every rule.

Prints milliseconds for each shipped model, then seconds for synthetic networks of 3,125 to 50,000
operators, and the exponent p of the fit time = c·nᵖ: 1 is linear. Times are of the CPU (one thread,
so other load on the machine counts little), the best of three runs, the rules in turn.
Run with ``python -m benchmarks.contraction_growth``.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from pathlib import Path

from nona.contraction.contracted import ContractedGraph
from nona.contraction.rules import RULES, contract
from nona.decomposition import decompose
from nona.graph.model import Edge, ModelGraph, Operator
from nona.graph.readers import read_model

SIZES = (3_125, 6_250, 12_500, 25_000, 50_000)
REPEATS = 3
SAMPLES = Path(__file__).parents[1] / "sample_models"


class Builder:
    """Operators in order, with one output tensor each, of random size."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inputs: list[tuple[int, ...]] = []
        self.sizes: list[float] = []

    def add(self, *inputs: int) -> int:
        """An operator that reads from the given ones; the result is its number."""
        self.inputs.append(inputs)
        self.sizes.append(float(self.rng.choice((64, 128, 256, 512))) * 1e3)
        return len(self.inputs) - 1

    def chain(self, source: int, length: int) -> int:
        """``length`` operators one after the other."""
        for _ in range(length):
            source = self.add(source)
        return source

    def graph(self, name: str) -> ModelGraph:
        """The model graph so far."""
        operators = tuple(Operator(f"{name}/{i}") for i in range(len(self.inputs)))
        arcs = sorted((u, v) for v, us in enumerate(self.inputs) for u in set(us))
        edges = tuple(Edge(operators[u].id, operators[v].id, f"t{u}", self.sizes[u]) for u, v in arcs)
        return ModelGraph(name, operators, edges)


def transformer(n: int) -> ModelGraph:
    """Layers with separate Q, K and V, two residuals, and a mask that every layer reads."""
    net = Builder(1)
    last = net.add()
    mask = net.chain(last, 2)
    while len(net.inputs) < n:
        norm = net.chain(last, 3)
        query, key, value = (net.chain(norm, 3) for _ in range(3))
        scores = net.chain(net.add(net.chain(net.add(query, key), 1), mask), 1)
        last = net.add(last, net.chain(net.add(scores, value), 3))
        last = net.add(last, net.chain(last, 6))
    return net.graph("transformer")


def branches(n: int) -> ModelGraph:
    """Inception blocks of four branches, a projection diamond or an identity skip in between."""
    net = Builder(2)
    last = net.add()
    while len(net.inputs) < n:
        last = net.add(*(net.chain(last, net.rng.randint(2, 6)) for _ in range(4)))
        shortcut = last if net.rng.random() < 0.5 else net.chain(last, 2)
        last = net.add(net.chain(last, 6), shortcut)
    return net.graph("branches")


def dense(n: int) -> ModelGraph:
    """Dense blocks: each layer reads from the last eight, and one end reads from every block."""
    net = Builder(3)
    recent, blocks = [net.add()], []
    while len(net.inputs) < n:
        recent = [*recent, net.chain(net.add(*recent), 3)][-8:]
        if len(net.inputs) % 50 < 4:
            recent = [net.add(*recent)]
            blocks.append(recent[0])
    net.add(*blocks, recent[-1])
    return net.graph("dense")


def wide(n: int) -> ModelGraph:
    """Layers of 64 experts between a router and a sum, with a residual around them."""
    net = Builder(4)
    last = net.add()
    while len(net.inputs) < n:
        router = net.chain(last, 2)
        last = net.add(last, *(net.chain(router, 3) for _ in range(64)))
    return net.graph("experts")


def nested(n: int) -> ModelGraph:
    """U-Nets one after the other: down and up 32 levels, with a skip and two branches at each."""
    net = Builder(5)
    last = net.add()
    while len(net.inputs) < n:
        downs = []
        for _ in range(32):
            last = net.add(net.chain(last, 2), net.chain(last, 2))
            downs.append(last)
        for skip in reversed(downs):
            last = net.add(net.chain(last, 2), skip)
    return net.graph("u-nets")


NETWORKS: tuple[Callable[[int], ModelGraph], ...] = (transformer, branches, dense, wide, nested)


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Slope of log time over log size by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def timed(graph: ModelGraph) -> tuple[dict[str, float], dict[str, int]]:
    """Best CPU seconds of each rule and of the decomposition, and the numbers of tasks."""
    graph.dag  # noqa: B018 - made once, as every page does
    best: dict[str, float] = {}
    done: dict[str, ContractedGraph] = {}
    for _ in range(REPEATS):
        for rule in RULES:
            start = time.process_time()
            done[rule] = contract(graph, rule)
            best[rule] = min(best.get(rule, math.inf), time.process_time() - start)
        dag = done["direct"].dag
        start = time.process_time()
        decompose(dag)
        best["dominators"] = min(best.get("dominators", math.inf), time.process_time() - start)
    return best, {rule: len(c.tasks) for rule, c in done.items()}


def main() -> None:
    """Print both tables."""
    columns = [*RULES, "dominators"]
    head = "".join(f"{c:>12}" for c in columns)
    print(f"{'model, ms':<16}{'operators':>10}{head}   tasks by rule")
    for path in sorted(SAMPLES.glob("*.onnx")):
        graph = read_model(path.read_bytes(), path.name, guarded=False)
        best, tasks = timed(graph)
        row = "".join(f"{best[c] * 1e3:>12.1f}" for c in columns)
        print(f"{path.stem:<16}{len(graph.operators):>10}{row}   {tuple(tasks.values())}")
    print(f"\n{'network, s':<16}{'operators':>10}{head}   tasks by rule")
    for make in NETWORKS:
        results = []
        for n in SIZES:
            graph = make(n)
            best, tasks = timed(graph)
            results.append(best)
            row = "".join(f"{best[c]:>12.3f}" for c in columns)
            print(f"{graph.name:<16}{len(graph.operators):>10}{row}   {tuple(tasks.values())}", flush=True)
        fits = "".join(f"{exponent(SIZES, [r[c] for r in results]):>12.2f}" for c in columns)
        print(f"{'exponent p':<26}{fits}")


if __name__ == "__main__":
    main()
