"""Layers of transformers as tasks, for the networks that consist of them."""

from __future__ import annotations

from nona.study.networks.task_graph import TaskGraphBuilder


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
