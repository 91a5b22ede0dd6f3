"""Layers of generated networks as tasks: times and bytes from layer sizes.

A task of F floating-point operations that moves B bytes between the GPU and its memory takes
LAUNCH_S + max(F / FLOPS, B / BYTES_PER_S) seconds: the roofline. B counts weights, inputs and output, 2
bytes an entry. The constants are assumptions of the order of an A100-40GB's: of its 312 TFLOP/s in half
precision and 1.56 TB/s about 38 % and 77 %, which large matrix products and long reads reach.

Source of the roofline: Williams, Waterman and Patterson, Roofline: an insightful visual performance model
for multicore architectures, Communications of the ACM 52, 2009. Peaks: NVIDIA A100 data sheet.
"""

from __future__ import annotations

import math
from typing import TypedDict

FLOPS = 1.2e14  # half precision
SINGLE_FLOPS = 1.2e13  # single precision: 62 % of 19.5 TFLOP/s
BYTES_PER_S = 1.2e12
LAUNCH_S = 4e-6
ENTRY_BYTES = 2
DEVICE = "a100-40gb"


class Node(TypedDict):
    """A task of node-link data and its time."""

    id: str
    compute_ms: float


class Edge(TypedDict):
    """A read of a tensor, which has the name of the task that makes it."""

    source: str
    target: str
    bytes: int
    tensor: str


class NodeLink(TypedDict):
    """Directed node-link data, as a scenario's key ``models`` takes it; ``graph`` says what it is."""

    directed: bool
    graph: dict[str, str]
    nodes: list[Node]
    edges: list[Edge]


class TaskGraphBuilder:
    """Collects tasks and tensors; every task has one output, read by all that name it as input.

    ``flops`` and ``bytes_per_s`` are what the device does in a second; with ``bytes_per_s`` infinite
    only arithmetic takes time.

    >>> graph = TaskGraphBuilder()
    >>> a = graph.task("a", 0, 1000)
    >>> b = graph.linear("b", 512, 1024, 1024, a)
    >>> mapping = graph.mapping()
    >>> [round(node["compute_ms"], 4) for node in mapping["nodes"]], mapping["edges"][0]["bytes"]
    ([0.004, 0.0129], 2000)
    """

    def __init__(self, flops: float = FLOPS, bytes_per_s: float = BYTES_PER_S) -> None:
        self._flops, self._bytes_per_s = flops, bytes_per_s
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._entries: dict[str, float] = {}

    def task(self, name: str, flop: float, entries: float, *inputs: str, weights: float = 0.0) -> str:
        """Return a task of ``flop`` operations with an output of ``entries``.

        ``weights``: entries it reads besides.

        Returns its name. ``inputs`` are names of tasks that were added before.
        """
        sources = tuple(dict.fromkeys(inputs))
        moved = weights + entries + sum(self._entries[s] for s in sources)
        seconds = LAUNCH_S + max(flop / self._flops, ENTRY_BYTES * moved / self._bytes_per_s)
        self._nodes.append({"id": name, "compute_ms": 1e3 * seconds})
        for source in sources:
            size = round(ENTRY_BYTES * self._entries[source])
            self._edges.append({"source": source, "target": name, "bytes": size, "tensor": source})
        self._entries[name] = entries
        return name

    def linear(self, name: str, tokens: float, width: float, out: float, *inputs: str) -> str:
        """A product of ``tokens`` × ``width`` with a ``width`` × ``out`` matrix: 2·tokens·width·out FLOP."""
        return self.task(name, 2 * tokens * width * out, tokens * out, *inputs, weights=width * out)

    def convolution(
        self, name: str, side: float, channels: float, out: float, *inputs: str, k: int = 3
    ) -> str:
        """Return a k × k convolution onto a square of ``side`` pixels: 2·k²·channels·out·side² FLOP."""
        pixels = side * side
        return self.task(
            name, 2 * k * k * channels * out * pixels, out * pixels, *inputs, weights=k * k * channels * out
        )

    def mapping(self, **about: str) -> NodeLink:
        """Directed node-link data; ``about`` says what it is (``name``, ``description``)."""
        return {
            "directed": True,
            "graph": {**about, "device": DEVICE},
            "nodes": self._nodes,
            "edges": self._edges,
        }


def compute_bound() -> TaskGraphBuilder:
    """A builder in which only matrix products take time: element-wise work is fused with its neighbours."""
    return TaskGraphBuilder(bytes_per_s=math.inf)


def attention(
    graph: TaskGraphBuilder, name: str, x: str, tokens: int, width: int, memory: str = "", seen: int = 0
) -> str:
    """Norm, queries, keys, values, scores, their mix, and the sum with ``x``; returns the last task.

    ``memory``: the task whose ``seen`` tokens it attends to, ``x`` itself if there is none.
    """
    norm = graph.task(f"{name}.norm", 0, tokens * width, x)
    read, keys = (memory, seen) if memory else (norm, tokens)
    q = graph.linear(f"{name}.q", tokens, width, width, norm)
    k = graph.linear(f"{name}.k", keys, width, width, read)
    v = graph.linear(f"{name}.v", keys, width, width, read)
    scores = graph.task(f"{name}.scores", 2 * tokens * keys * width, tokens * keys, q, k)
    mixed = graph.task(f"{name}.mix", 2 * tokens * keys * width, tokens * width, scores, v)
    return graph.linear(f"{name}.sum", tokens, width, width, mixed, x)


def feed_forward(graph: TaskGraphBuilder, name: str, x: str, tokens: int, width: int) -> str:
    """Norm, a layer of four times the width, and the sum with ``x``."""
    norm = graph.task(f"{name}.norm", 0, tokens * width, x)
    wide = graph.linear(f"{name}.wide", tokens, width, 4 * width, norm)
    return graph.linear(f"{name}.sum", tokens, 4 * width, width, wide, x)


def encoder(graph: TaskGraphBuilder, name: str, x: str, layers: int, tokens: int, width: int) -> str:
    """``layers`` of attention and feed-forward."""
    for layer in range(layers):
        x = attention(graph, f"{name}{layer}.attend", x, tokens, width)
        x = feed_forward(graph, f"{name}{layer}.feed", x, tokens, width)
    return x
