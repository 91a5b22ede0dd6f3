"""Configurations of a sub-graph, and the probability of each in a placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import SubGraph


@dataclass(frozen=True, slots=True)
class Configuration:
    """A relative placement of a sub-graph's interior.

    ``parts`` partitions the interior (task indices, each part in topological order, parts ordered
    by their first task). ``root_part`` is the index of the part on the root's server,
    ``sink_part`` of the part on the sink's server. Every other part goes to a server of its own,
    drawn uniformly among the others. ``root_part`` −1: no part stays with the root; ``sink_part``
    −1: the sink stays on the root's server, as it does when both are equal (an empty interior has
    no parts and −1, −1).

    >>> Configuration(((1,), (2,)), 0, 0).is_local, Configuration(((1, 2),), 0, 0).is_local
    (False, True)
    """

    parts: tuple[tuple[int, ...], ...]
    root_part: int
    sink_part: int

    @property
    def is_local(self) -> bool:
        """Whether everything stays on the root's server."""
        return len(self.parts) <= (self.root_part == 0) and self.sink_part in (-1, self.root_part)

    @property
    def sink_moves(self) -> bool:
        """Whether the sink runs on another server than the root."""
        return self.sink_part not in (-1, self.root_part)


@dataclass(frozen=True, eq=False)
class SubGraphPlacement:
    """A probability for each configuration of one sub-graph (those of probability 0 left out)."""

    subgraph: SubGraph
    configurations: tuple[Configuration, ...]
    probabilities: NDArray[np.float64]


# ``queries[j][k]``: the configurations of sub-graph k of query class j with their probabilities.
Queries = tuple[tuple[SubGraphPlacement, ...], ...]
