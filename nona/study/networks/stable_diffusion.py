"""The U-Net of a latent diffusion model, with the layer sizes of Stable Diffusion 1.5, in single precision.

Latents of 64 × 64; levels of 320, 640, 1280 and 1280 channels,
two residual blocks each on the way down and three on the way up, transformers with attention to 77 tokens
of text on all but the deepest level, skips from every block down to its fellow up.

Source of the sizes: Rombach et al., High-resolution image synthesis with latent diffusion models, CVPR 2022,
and the model's published configuration (recollected). Tasks are coarser than the operators of an exporter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nona.study.networks.task_graph import SINGLE_FLOPS, NodeLink, TaskGraphBuilder

LEVELS = (320, 640, 1280, 1280)
TEXT_TOKENS, TEXT_WIDTH, TIME_WIDTH = 77, 768, 1280


def stable_diffusion_u_net(side: int = 64) -> NodeLink:
    """One denoising step on latents of ``side`` × ``side``.

    >>> total_ms = sum(node["compute_ms"] for node in stable_diffusion_u_net()["nodes"])
    >>> 65 < total_ms < 90
    True
    """
    net = _UNet(TaskGraphBuilder(flops=SINGLE_FLOPS))
    graph = net.graph
    net.time = graph.linear("time", 1, TIME_WIDTH, TIME_WIDTH)
    net.text = graph.task("text", 0, TEXT_TOKENS * TEXT_WIDTH)
    x = graph.convolution("conv_in", side, 4, LEVELS[0], graph.task("latents", 0, 4 * side * side))
    skips, width = [(x, LEVELS[0])], LEVELS[0]
    for level, channels in enumerate(LEVELS):
        for block in range(2):
            x = net.block(f"down{level}.{block}", x, side >> level, width, channels, level < 3)
            width = channels
            skips.append((x, width))
        if level < 3:
            x = graph.convolution(f"down{level}.halve", side >> (level + 1), width, width, x)
            skips.append((x, width))
    x = net.block("middle.0", x, side >> 3, width, width, True)
    x = net.block("middle.1", x, side >> 3, width, width, False)
    for level in reversed(range(len(LEVELS))):
        for block in range(3):
            skip, joined = skips.pop()
            x = graph.task(f"up{level}.{block}.join", 0, (width + joined) * (side >> level) ** 2, x, skip)
            x = net.block(f"up{level}.{block}", x, side >> level, width + joined, LEVELS[level], level < 3)
            width = LEVELS[level]
        if level > 0:
            x = graph.convolution(f"up{level}.double", side >> (level - 1), width, width, x)
    graph.convolution("conv_out", side, width, 4, x)
    return graph.mapping(
        name="stable_diffusion_u_net",
        description="U-Net with the layer sizes of Stable Diffusion 1.5, one denoising step",
    )


@dataclass
class _UNet:
    """The graph with the names of its time step and its text."""

    graph: TaskGraphBuilder
    time: str = field(default="")
    text: str = field(default="")

    def block(self, name: str, x: str, side: int, channels: int, out: int, attends: bool) -> str:
        """A residual block with the time step added, and a transformer where it ``attends``."""
        pixels = side * side
        first = self.graph.convolution(f"{name}.conv1", side, channels, out, x)
        time = self.graph.linear(f"{name}.time", 1, TIME_WIDTH, out, self.time)
        second = self.graph.convolution(f"{name}.conv2", side, out, out, first, time)
        skip = x
        if channels != out:
            skip = self.graph.linear(f"{name}.match", pixels, channels, out, x)
        done = self.graph.task(f"{name}.sum", 0, out * pixels, second, skip)
        return self.transformer(name, done, side, out) if attends else done

    def transformer(self, name: str, x: str, side: int, width: int) -> str:
        """Attention to the image itself, to the text, and a gated feed-forward of four times the width."""
        graph, pixels = self.graph, side * side
        y = graph.linear(f"{name}.in", pixels, width, width, x)
        own = [graph.linear(f"{name}.own.{part}", pixels, width, width, y) for part in ("q", "k", "v")]
        seen = graph.task(f"{name}.own.mix", 4 * pixels * pixels * width, pixels * width, *own)
        y = graph.linear(f"{name}.own.out", pixels, width, width, seen, y)
        q = graph.linear(f"{name}.text.q", pixels, width, width, y)
        k = graph.linear(f"{name}.text.k", TEXT_TOKENS, TEXT_WIDTH, width, self.text)
        v = graph.linear(f"{name}.text.v", TEXT_TOKENS, TEXT_WIDTH, width, self.text)
        seen = graph.task(f"{name}.text.mix", 4 * pixels * TEXT_TOKENS * width, pixels * width, q, k, v)
        y = graph.linear(f"{name}.text.out", pixels, width, width, seen, y)
        gate = graph.linear(f"{name}.gate", pixels, width, 4 * width, y)
        up = graph.linear(f"{name}.up", pixels, width, 4 * width, y)
        y = graph.linear(f"{name}.down", pixels, 4 * width, width, gate, up, y)
        return graph.linear(f"{name}.out", pixels, width, width, y, x)
