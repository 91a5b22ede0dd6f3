"""A speech encoder–decoder with the layer sizes of Whisper small, in single precision.

Source of the sizes: Radford et al., Robust speech recognition via large-scale weak supervision, ICML 2023,
table 1 (recollected): 12 + 12 layers of width 768; 30 s of audio are 1500 tokens.
"""

from __future__ import annotations

from nona.study.networks.task_graph import SINGLE_FLOPS, NodeLink, TaskGraphBuilder
from nona.study.networks.transformer import attention, encoder, feed_forward

LAYERS, WIDTH, FRAMES, BANDS, VOCABULARY = 12, 768, 1500, 80, 51_865


def whisper_small(tokens: int = 8) -> NodeLink:
    """A pass over 30 s of audio and the first ``tokens`` of the text.

    >>> total_ms = sum(node["compute_ms"] for node in whisper_small()["nodes"])
    >>> 31 < total_ms < 35
    True
    """
    graph = TaskGraphBuilder(flops=SINGLE_FLOPS)
    audio = graph.task("audio", 0, 2 * FRAMES * BANDS)
    x = graph.linear("conv1", 2 * FRAMES, 3 * BANDS, WIDTH, audio)
    x = graph.linear("conv2", FRAMES, 3 * WIDTH, WIDTH, x)
    heard = encoder(graph, "hear", x, LAYERS, FRAMES, WIDTH)
    y = graph.task("text", 0, tokens * WIDTH)
    for layer in range(LAYERS):
        y = attention(graph, f"say{layer}.attend", y, tokens, WIDTH)
        y = attention(graph, f"say{layer}.listen", y, tokens, WIDTH, heard, FRAMES)
        y = feed_forward(graph, f"say{layer}.feed", y, tokens, WIDTH)
    graph.linear("head", tokens, WIDTH, VOCABULARY, y)
    return graph.mapping(
        name="whisper_small", description="Speech encoder–decoder with the layer sizes of Whisper small"
    )
