"""Image, sound and text, each in a tower of its own, joined by a transformer over all their tokens."""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder
from nona.study.networks.transformer import encoder

TOWERS = {"vision": (577, 1024, 6), "audio": (750, 768, 6), "text": (256, 768, 4)}  # tokens, width, layers
FUSED, KEPT, WIDTH = 4, 96, 1024  # layers; tokens that each tower hands over; width


def multimodal(batch: int = 4) -> NodeLink:
    """Three towers side by side for a ``batch`` of clips, each pooled to 96 tokens, and four layers on all.

    >>> {node["id"].rstrip("0123456789.") for node in multimodal()["nodes"]} >= {"clip", "fuse", "answer"}
    True
    """
    graph = TaskGraphBuilder()
    clip = graph.task("clip", 0, batch * 3 * 336 * 336)
    pooled = []
    for name, (tokens, width, layers) in TOWERS.items():
        x = graph.linear(f"{name}.embed", batch * tokens, width, width, clip)
        x = encoder(graph, f"{name}.", x, layers, batch * tokens, width)
        pooled.append(graph.linear(f"{name}.pool", batch * KEPT, width, WIDTH, x))
    tokens = batch * KEPT * len(pooled)
    x = graph.task("fuse", 0, tokens * WIDTH, *pooled)
    x = encoder(graph, "fused", x, FUSED, tokens, WIDTH)
    graph.linear("answer", batch, WIDTH, 32_000, x)
    return graph.mapping(
        name="multimodal", description="Vision, audio and text towers with a joint transformer"
    )
