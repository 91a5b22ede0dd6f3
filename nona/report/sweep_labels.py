"""Labels that would lie over each other, moved apart."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 16.0  # pixels between the middles of two lines of small text


def spread_labels(heights: Sequence[float], gap: float = GAP) -> list[float]:
    """How far each label moves up (pixels), so that none is nearer to another than ``gap``.

    Labels keep their order; a crowd is centred on where it stood.

    >>> spread_labels([100.0, 100.0, 300.0])
    [-8.0, 8.0, 0.0]
    """
    order = sorted(range(len(heights)), key=lambda i: (heights[i], i))
    crowds: list[tuple[float, list[int]]] = []  # (sum of wished bottoms, members), bottom to top
    for i in order:
        crowds.append((heights[i], [i]))
        while len(crowds) > 1 and _top(crowds[-2], gap) + gap > _bottom(crowds[-1]):
            (upper, above), (lower, below) = crowds.pop(), crowds.pop()
            crowds.append((lower + upper - gap * len(below) * len(above), below + above))
    moved = [0.0] * len(heights)
    for crowd in crowds:
        for place, i in enumerate(crowd[1]):
            moved[i] = _bottom(crowd) + gap * place - heights[i]
    return moved


def _bottom(crowd: tuple[float, list[int]]) -> float:
    """Where the lowest label of a crowd stands: the mean of what each member wishes for it."""
    return crowd[0] / len(crowd[1])


def _top(crowd: tuple[float, list[int]], gap: float) -> float:
    return _bottom(crowd) + gap * (len(crowd[1]) - 1)
