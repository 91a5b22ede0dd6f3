"""Configurations that were evaluated before: what they send and how they run is worked out once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.labels import to_labels
from nona.placement.configurations.shape import Shape
from nona.placement.formula.model import shapes
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link
from nona.placement.waits.link_route import link_of
from nona.system import System

MOST = 20_000  # placements of a sub-graph that are kept


class Known:
    """Candidates of one system whose servers are drawn by ``shares`` (J, K).

    Sub-graphs that are equal to the last bit, with equal configurations, share one object, within a
    placement and from one placement to the next. A search asks for hundreds of placements that differ in
    a few sub-graphs. Nothing here depends on the waits, so the values are those without it.
    """

    def __init__(self, system: System, shares: NDArray[np.float64] | None = None) -> None:
        self.system, self.shares = system, shares
        self._placed: dict[tuple[int, int, int], tuple[SubGraphPlacement, Candidates]] = {}
        self._made: dict[tuple[int, bytes], Candidates] = {}

    @cached_property
    def link(self) -> Link:
        """The link as the placement sees it."""
        return link_of(self.system, self.shares)

    @cached_property
    def shapes(self) -> tuple[tuple[Shape, ...], ...]:
        """Shapes of the sub-graphs of every query class; equal ones are one object."""
        seen: dict[bytes, Shape] = {}
        rows = shapes(self.system, self.shares)
        return tuple(tuple(seen.setdefault(_content(s), s) for s in row) for row in rows)

    def candidates(self, query: int, number: int, placed: SubGraphPlacement) -> Candidates:
        """The configurations of ``placed`` for sub-graph ``number`` of class ``query``."""
        key = (query, number, id(placed))
        found = self._placed.get(key)
        if found is None:
            if len(self._placed) >= MOST:
                self._placed.clear()
                self._made.clear()
            found = self._placed[key] = placed, self._candidates(self.shapes[query][number], placed)
        return found[1]

    def _candidates(self, shape: Shape, placed: SubGraphPlacement) -> Candidates:
        rows = [to_labels(c, placed.subgraph.interior) for c in placed.configurations]
        labels = np.array(rows, dtype=np.int64)
        key = (id(shape), labels.tobytes())
        if key not in self._made:
            self._made[key] = Candidates(shape, labels, self.link)
        return self._made[key]


def _content(shape: Shape) -> bytes:
    """Equal for shapes of equal content, to the last bit."""
    flags = np.array([shape.has_root, shape.has_sink, *shape.class_s.shape, len(shape.source)])
    arrays = (shape.class_s, shape.mean_s, shape.source, shape.target, shape.tensor, shape.size)
    return b"".join(np.ascontiguousarray(a).tobytes() for a in (flags.astype(np.int64), *arrays))
