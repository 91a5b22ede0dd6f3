"""A plain diffusion U-Net: residual blocks with a time step and attention to a text, joined by skips."""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder, compute_bound


def u_net(levels: int, blocks: int, *, channels: int = 128, side: int = 64) -> NodeLink:
    """A diffusion U-Net: ``blocks`` residual blocks a level, each with the time's and the text's input.

    Sources: the image, the time step, the text. Skips join every block of the way down with its
    fellow on the way up.
    """
    g = compute_bound()
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


def _block(g: TaskGraphBuilder, name: str, x: str, time: str, text: str, c: int, pixels: int) -> str:
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
