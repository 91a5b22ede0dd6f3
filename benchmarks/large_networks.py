"""Task graphs of large networks with one giant interior: encoder–decoders and U-Nets, made by rule.

Times and bytes follow the sizes of the layers: a product of n tokens with a d × e matrix takes
2·n·d·e/FLOPS seconds and at least ``LAUNCH_S``; tensors are 2 bytes an entry. ``FLOPS`` and
``LAUNCH_S`` are assumptions of the order of an A100's; the graphs are instances for the placement
solver, not models of any one network.
"""

from __future__ import annotations

from typing import Any

FLOPS = 1.2e14
LAUNCH_S = 4e-6
_BYTES = 2


class _Graph:
    """Nodes and edges in the mapping that a scenario takes."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.out: dict[str, int] = {}

    def task(self, name: str, flop: float, entries: float, *inputs: str) -> str:
        """A task with one output tensor of ``entries``, read by all that name it as input."""
        self.nodes.append({"id": name, "compute_ms": 1e3 * (LAUNCH_S + flop / FLOPS)})
        self.out[name] = round(_BYTES * entries)
        for source in dict.fromkeys(inputs):
            self.edges.append({"source": source, "target": name, "bytes": self.out[source], "tensor": source})
        return name

    def mapping(self) -> dict[str, Any]:
        """Directed node-link data."""
        return {"directed": True, "nodes": self.nodes, "edges": self.edges}


def encoder_decoder(
    layers: int, *, width: int = 1024, tokens: int = 512, experts: int = 0, cached: bool = True
) -> dict[str, Any]:
    """An encoder–decoder transformer of ``layers`` + ``layers`` layers, two sources and many sinks.

    With ``cached`` every decoder layer reads a cache of keys and values (sources of the graph) and
    hands out the longer one (sinks); ``experts`` > 0 makes the feed-forward a mixture of so many.
    """
    g, n, d = _Graph(), tokens, width
    x = g.task("embed", 0, n * d)
    for i in range(layers):
        x = _attention(g, f"enc{i}", x, x, n, d, None)
        x = _feed_forward(g, f"enc{i}", x, n, d, experts)
    y = g.task("embed_out", 0, n * d)
    for i in range(layers):
        y = _attention(g, f"dec{i}", y, y, n, d, g.task(f"cache{i}", 0, 2 * n * d) if cached else None)
        y = _attention(g, f"cross{i}", y, x, n, d, None)
        y = _feed_forward(g, f"dec{i}", y, n, d, experts)
    g.task("head", 2 * n * d * 8 * d, n * 8, y)
    return g.mapping()


def _attention(g: _Graph, name: str, x: str, memory: str, n: int, d: int, cache: str | None) -> str:
    norm = g.task(f"{name}.norm", 0, n * d, x)
    seen = norm if memory == x else memory
    q = g.task(f"{name}.q", 2 * n * d * d, n * d, norm)
    k = g.task(f"{name}.k", 2 * n * d * d, n * d, seen)
    v = g.task(f"{name}.v", 2 * n * d * d, n * d, seen)
    if cache:
        k = g.task(f"{name}.keys", 0, n * d, k, cache)
        v = g.task(f"{name}.values", 0, n * d, v, cache)
        g.task(f"{name}.present", 0, 2 * n * d, k, v)
    s = g.task(f"{name}.scores", 2 * n * n * d, n * n, q, k)
    o = g.task(f"{name}.mix", 2 * n * n * d, n * d, s, v)
    return g.task(f"{name}.add", 2 * n * d * d, n * d, o, x)


def _feed_forward(g: _Graph, name: str, x: str, n: int, d: int, experts: int) -> str:
    norm = g.task(f"{name}.norm2", 0, n * d, x)
    parts = []
    for e in range(max(experts, 1)):
        gate = g.task(f"{name}.gate{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        up = g.task(f"{name}.up{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        parts.append(g.task(f"{name}.down{e}", 2 * n * d * 4 * d, n * d, gate, up))
    return g.task(f"{name}.out", 0, n * d, x, *parts)


def u_net(levels: int, blocks: int, *, channels: int = 128, side: int = 64) -> dict[str, Any]:
    """A diffusion U-Net: ``blocks`` residual blocks a level, each with the time's and the text's input.

    Sources: the image, the time step, the text. Skips join every block of the way down with its
    fellow on the way up.
    """
    g = _Graph()
    time = g.task("time", 2 * channels * channels * 16, 4 * channels)
    text = g.task("text", 0, 77 * 768)
    x = g.task("image", 2 * 9 * 4 * channels * side * side, channels * side * side)
    skips = []
    for level in range(levels):
        c, pixels = channels * 2**level, (side >> level) ** 2
        for b in range(blocks):
            x = _block(g, f"down{level}.{b}", x, time, text, c, pixels)
            skips.append(x)
        x = g.task(f"down{level}.pool", 2 * 9 * c * 2 * c * pixels / 4, 2 * c * pixels / 4, x)
    for level in reversed(range(levels)):
        c, pixels = channels * 2**level, (side >> level) ** 2
        x = g.task(f"up{level}.grow", 2 * 9 * 2 * c * c * pixels, c * pixels, x)
        for b in range(blocks):
            joined = g.task(f"up{level}.{b}.join", 0, 2 * c * pixels, x, skips.pop())
            x = _block(g, f"up{level}.{b}", joined, time, text, c, pixels)
    g.task("noise", 2 * 9 * channels * 4 * side * side, 4 * side * side, x)
    return g.mapping()


def _block(g: _Graph, name: str, x: str, time: str, text: str, c: int, pixels: int) -> str:
    a = g.task(f"{name}.conv1", 2 * 9 * c * c * pixels, c * pixels, x)
    t = g.task(f"{name}.time", 2 * 4 * c * c, c, time)
    b = g.task(f"{name}.conv2", 2 * 9 * c * c * pixels, c * pixels, a, t)
    skip = g.task(f"{name}.match", 2 * c * c * pixels, c * pixels, x)
    r = g.task(f"{name}.sum", 0, c * pixels, b, skip)
    q = g.task(f"{name}.q", 2 * c * c * pixels, c * pixels, r)
    k = g.task(f"{name}.k", 2 * 77 * 768 * c, 77 * c, text)
    v = g.task(f"{name}.v", 2 * 77 * 768 * c, 77 * c, text)
    s = g.task(f"{name}.scores", 2 * 77 * c * pixels, 77 * pixels, q, k)
    return g.task(f"{name}.mix", 2 * 77 * c * pixels + 2 * c * c * pixels, c * pixels, s, v, r)
