"""Maximal free rectangles: which room is left on a GPU whose parts are shares of time by shares of SMs.

A rectangle is free if nothing placed overlaps it, and maximal if no free rectangle contains it. Sides are
whole numbers of units.

Source: Gu et al., FaST-GShare, ICPP 2023 (node selection), after Jylänki, A Thousand Ways to Pack the Bin,
2010 (MAXRECTS, best-area fit).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.errors import SimulationError


class Rectangle(NamedTuple):
    """Lower left corner and sides."""

    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> int:
        """Width · height."""
        return self.width * self.height

    def holds(self, other: Rectangle) -> bool:
        """Whether ``other`` lies inside."""
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.x + other.width <= self.x + self.width
            and other.y + other.height <= self.y + self.height
        )

    def without(self, other: Rectangle) -> tuple[Rectangle, ...]:
        """The maximal rectangles of what is left of this one beside ``other``; itself if they are apart."""
        x, y, w, h = self
        right, top = other.x + other.width, other.y + other.height
        if other.x >= x + w or right <= x or other.y >= y + h or top <= y:
            return (self,)
        pieces = (
            Rectangle(x, y, other.x - x, h),
            Rectangle(right, y, x + w - right, h),
            Rectangle(x, y, w, other.y - y),
            Rectangle(x, top, w, y + h - top),
        )
        return tuple(p for p in pieces if p.width > 0 and p.height > 0)


class FreeRectangles:
    """One GPU of ``width`` units of time by ``height`` units of SMs.

    Examples
    --------
    >>> gpu = FreeRectangles(100, 7)
    >>> pod = gpu.place(50, 4)
    >>> pod, gpu.free
    (Rectangle(x=0, y=0, width=50, height=4), (Rectangle(x=0, y=4, width=100, height=3), \
Rectangle(x=50, y=0, width=50, height=7)))
    >>> gpu.release(pod); gpu.free
    (Rectangle(x=0, y=0, width=100, height=7),)
    """

    def __init__(self, width: int, height: int) -> None:
        if min(width, height) < 1:
            raise SimulationError(f"Rectangles: {width} by {height} holds nothing; give sides of at least 1.")
        self._whole = Rectangle(0, 0, width, height)
        self._used: list[Rectangle] = []
        self.free: tuple[Rectangle, ...] = (self._whole,)

    @property
    def used(self) -> tuple[Rectangle, ...]:
        """What is placed, in order of placing."""
        return tuple(self._used)

    @property
    def free_area(self) -> int:
        """Units that nothing is placed on."""
        return self._whole.area - sum(r.area for r in self._used)

    def best(self, width: int, height: int) -> Rectangle | None:
        """The free rectangle that a pod of these sides fills best: the least area left, then lower left."""
        fitting = [r for r in self.free if r.width >= width and r.height >= height]
        return min(fitting, key=lambda r: (r.area, r), default=None)

    def place(self, width: int, height: int) -> Rectangle | None:
        """Put a pod into the lower left corner of its best free rectangle; ``None`` when none holds it."""
        if min(width, height) < 1:
            raise SimulationError(f"Rectangles: a pod of {width} by {height} is empty; give sides above 0.")
        room = self.best(width, height)
        if room is None:
            return None
        pod = Rectangle(room.x, room.y, width, height)
        self._used.append(pod)
        self.free = _maximal([piece for r in self.free for piece in r.without(pod)])
        return pod

    def release(self, pod: Rectangle) -> None:
        """Take a pod away and find the free rectangles again.

        Raises
        ------
        SimulationError
            When it is not placed here.
        """
        if pod not in self._used:
            raise SimulationError(f"Rectangles: {tuple(pod)} is not placed here; release what place() gave.")
        self._used.remove(pod)
        free: tuple[Rectangle, ...] = (self._whole,)
        for other in self._used:
            free = _maximal([piece for r in free for piece in r.without(other)])
        self.free = free


def _maximal(pieces: Sequence[Rectangle]) -> tuple[Rectangle, ...]:
    """Those that no other one holds, each once, in order."""
    distinct = sorted(set(pieces))
    return tuple(r for r in distinct if not any(o != r and o.holds(r) for o in distinct))


def best_fit(gpus: Sequence[FreeRectangles], width: int, height: int) -> int | None:
    """The GPU for a pod: one in use before an empty one, then the best-filled rectangle, then the first.

    >>> gpus = [FreeRectangles(100, 7), FreeRectangles(100, 7)]
    >>> _ = gpus[1].place(100, 3)
    >>> best_fit(gpus, 100, 4), best_fit(gpus, 100, 5), best_fit(gpus, 100, 8)
    (1, 0, None)
    """
    rooms = ((i, gpu.used, gpu.best(width, height)) for i, gpu in enumerate(gpus))
    fitting = [(not used, room.area, i) for i, used, room in rooms if room is not None]
    return min(fitting)[2] if fitting else None
