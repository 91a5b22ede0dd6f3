"""A whole text-to-image query: text encoders, denoising steps with guidance, the decoder."""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder

LATENT, PIXELS = 4 * 64 * 64, 3 * 512 * 512
TEXT = 77 * 768
TEXT_FLOP, STEP_FLOP, DECODE_FLOP = 1.3e10, 8e11, 2.5e12  # CLIP's text encoder; a U-Net; a VAE's decoder
TEXT_WEIGHTS, STEP_WEIGHTS, DECODE_WEIGHTS = 1.23e8, 8.6e8, 5e7


def diffusion_loop(steps: int) -> NodeLink:
    """``steps`` of denoising, each a conditional and an unconditional pass beside one another.

    Every step reads both encoded texts, so that no task but the first separates the graph.

    >>> len(diffusion_loop(4)["nodes"])
    17
    """
    graph = TaskGraphBuilder()
    prompt = graph.task("prompt", 0, 77)
    texts = [
        graph.task(f"{kind}.text", TEXT_FLOP, TEXT, prompt, weights=TEXT_WEIGHTS)
        for kind in ("with", "without")
    ]
    x = graph.task("noise", 0, LATENT, prompt)
    for step in range(steps):
        guesses = [
            graph.task(f"{kind}.step{step}", STEP_FLOP, LATENT, x, text, weights=STEP_WEIGHTS)
            for kind, text in zip(("with", "without"), texts, strict=True)
        ]
        x = graph.task(f"guide{step}", 0, LATENT, x, *guesses)
    graph.task("decode", DECODE_FLOP, PIXELS, x, weights=DECODE_WEIGHTS)
    return graph.mapping(
        name=f"diffusion_{steps}",
        description=f"Text to image in {steps} guided steps, with encoder and decoder",
    )
