"""The result of a coarsening: groups of nodes that stay together, reasons, and the possible loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EDGE, BLOCK, SOURCE = "edge", "block", "source"


@dataclass(frozen=True, slots=True)
class Glue:
    """One step: ``target`` stays on the server of ``source``; both are nodes of the shape.

    Attributes
    ----------
    kind
        ``"edge"``: cutting the edge takes too long by itself. ``"block"``: ``target`` is too short
        to be worth a message. ``"source"``: so is ``source``, which has no inputs.
    work_s
        Compute on the longest way through the edge; of a short task, its own.
    transfer_s
        Seconds of the message on an idle link, waits that are certain included; of a short task, of
        its cheapest tensor.
    against_s
        What these are compared with: for an edge the whole interior on one server; for a short task
        the most that is lost, by its whole block.
    """

    source: int
    target: int
    kind: str
    work_s: float
    transfer_s: float
    against_s: float


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Groups of the nodes 0 (root), 1…m, m+1 (sink) of a shape, each group on one server.

    The optimum over the configurations that respect the groups is at most that over all, plus
    :meth:`bound_s`, whatever the waits and the prices of the link are (at or above those that
    :func:`~nona.placement.coarsening.coarsen` was given). Its value is exact, as groups are no
    tasks: every task keeps its time, its place in the order, and its messages.

    Attributes
    ----------
    group : (m+2,)
        Group of every node: the number of its first node.
    steps
        How the groups came about.
    loss_s, load_loss_s, square_loss_s2
        The most by which the span, the link seconds of a query and its squared batches may grow.
    most_s
        Bounds the loss whatever the prices: local time less what every configuration takes.
    """

    group: NDArray[np.int64]
    steps: tuple[Glue, ...]
    loss_s: float
    load_loss_s: float
    square_loss_s2: float
    most_s: float

    @property
    def exact(self) -> bool:
        """Whether nothing is lost, whatever the prices."""
        return self.most_s <= 0 or max(self.loss_s, self.load_loss_s, self.square_loss_s2) <= 0

    def bound_s(self, load_price: float = 0.0, square_price: float = 0.0) -> float:
        """The most that is lost of span + load_price·load + square_price·square, in seconds."""
        if self.exact:
            return 0.0
        priced = self.loss_s
        for price, loss in ((load_price, self.load_loss_s), (square_price, self.square_loss_s2)):
            priced += price * loss if loss > 0 else 0.0
        return min(priced, self.most_s) if math.isfinite(priced) else self.most_s

    @property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """The groups that can leave the root's server, as nodes; the sink's is one unless it is glued."""
        found: dict[int, list[int]] = {}
        for v, g in enumerate(self.group.tolist()):
            found.setdefault(g, []).append(v)
        return tuple(tuple(nodes) for g, nodes in found.items() if g != 0)

    @property
    def interior_units(self) -> int:
        """Groups of interior tasks that stay neither with the root nor with the sink for sure."""
        sink = len(self.group) - 1
        return sum(sink not in unit for unit in self.units)

    def respects(self, labels: Sequence[int]) -> bool:
        """Whether a row of labels (interior tasks, then the sink) keeps every group together."""
        place = [0, *labels]
        return all(place[v] == place[g] for v, g in enumerate(self.group.tolist()))

    def labels(self, places: Sequence[int]) -> list[int]:
        """The row of labels with unit i of :attr:`units` on server ``places[i]``.

        >>> c = Coarsening(np.array([0, 0, 2, 2]), (), 0.0, 0.0, 0.0, 0.0)
        >>> c.units, c.labels([1])
        (((2, 3),), [0, 1, 1])
        """
        row = [0] * len(self.group)
        for unit, place in zip(self.units, places, strict=True):
            for v in unit:
                row[v] = place
        return row[1:]
