"""Encoder–decoder transformers with one giant interior.

A product of n tokens with a d × e matrix takes 2·n·d·e FLOP; norms and sums are fused with their
neighbours and take a launch each.
"""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder, compute_bound


def encoder_decoder(
    layers: int, *, width: int = 1024, tokens: int = 512, experts: int = 0, cached: bool = True
) -> NodeLink:
    """An encoder–decoder transformer of ``layers`` + ``layers`` layers, two sources and many sinks.

    With ``cached`` every decoder layer reads a cache of keys and values (sources of the graph) and
    hands out the longer one (sinks); ``experts`` > 0 makes the feed-forward a mixture of so many.
    """
    g, n, d = compute_bound(), tokens, width
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


def _attention(g: TaskGraphBuilder, name: str, x: str, memory: str, n: int, d: int, cache: str | None) -> str:
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


def _feed_forward(g: TaskGraphBuilder, name: str, x: str, n: int, d: int, experts: int) -> str:
    norm = g.task(f"{name}.norm2", 0, n * d, x)
    parts = []
    for e in range(max(experts, 1)):
        gate = g.task(f"{name}.gate{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        up = g.task(f"{name}.up{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        parts.append(g.task(f"{name}.down{e}", 2 * n * d * 4 * d, n * d, gate, up))
    return g.task(f"{name}.out", 0, n * d, x, *parts)
