"""Transformer blocks with mixtures of experts of one total size, divided into 8 to 64 experts.

Source of the sizes: Jiang et al., Mixtral of experts, 2024 (8 experts of width 14336 beside a width of 4096,
two for each token); that many small experts keep the total: Dai et al., DeepSeekMoE, ACL 2024 (recollected).
"""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder
from nona.study.networks.transformer import attention

WIDTH, HIDDEN, SHARE = 4096, 8 * 14_336, 0.25


def mixture_of_experts(experts: int, layers: int = 1, tokens: int = 512) -> NodeLink:
    """``layers`` of attention, router and ``experts``, each token visiting a quarter of them.

    An expert gathers its share of the tokens, multiplies them with three matrices (gate, up, down), and
    all meet in a weighted sum. All experts together have the same weights and work for any number.

    >>> [len(mixture_of_experts(e)["nodes"]) for e in (8, 16)]
    [44, 76]
    """
    graph = TaskGraphBuilder()
    x = graph.task("embed", 0, tokens * WIDTH)
    hidden, routed = HIDDEN / experts, SHARE * tokens
    for layer in range(layers):
        x = attention(graph, f"attend{layer}", x, tokens, WIDTH)
        norm = graph.task(f"norm{layer}", 0, tokens * WIDTH, x)
        route = graph.linear(f"route{layer}", tokens, WIDTH, experts, norm)
        found = []
        for e in range(experts):
            name = f"expert{layer}.{e}"
            taken = graph.task(f"{name}.gather", 0, routed * WIDTH, norm, route)
            gate = graph.linear(f"{name}.gate", routed, WIDTH, hidden, taken)
            up = graph.linear(f"{name}.up", routed, WIDTH, hidden, taken)
            found.append(graph.linear(f"{name}.down", routed, hidden, WIDTH, gate, up))
        x = graph.task(f"sum{layer}", 0, tokens * WIDTH, x, route, *found)
    graph.linear("head", 1, WIDTH, 32_000, x)
    return graph.mapping(
        name=f"mixture_{experts}", description=f"{layers} transformer block(s) with {experts} experts each"
    )
