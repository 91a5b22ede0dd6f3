"""A placement: configurations with probabilities, by indices of tasks, and its figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from nona.core.arrays import Floats
from nona.models.decomposition import SubGraph
from nona.queries.placement.results import CertifiedOptimum, Prediction, SimulatedPlacement


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
        """True where everything stays on the root's server."""
        return len(self.parts) <= (self.root_part == 0) and self.sink_part in (-1, self.root_part)

    @property
    def sink_moves(self) -> bool:
        """True where the sink runs on another server than the root."""
        return self.sink_part not in (-1, self.root_part)


@dataclass(frozen=True, eq=False)
class SubGraphPlacement:
    """A probability for each configuration of one sub-graph (those of probability 0 left out)."""

    subgraph: SubGraph
    configurations: tuple[Configuration, ...]
    probabilities: Floats


# ``queries[j][k]``: the configurations of sub-graph k of query class j with their probabilities.
Queries = tuple[tuple[SubGraphPlacement, ...], ...]


Objective = Literal["mean-jct", "slo", "formula"]


@dataclass(frozen=True, eq=False)
class Placement:
    """A placement of every query class with its prediction.

    ``queries[j][k]`` belongs to sub-graph k of query class j. ``prediction`` is the formula's for this one.
    ``objective``: what it was chosen for. ``origin``: ``formula``, the name of a preset, ``expert``, ``move``
    or ``mixture`` (:mod:`nona.queries.placement.proposals`).
    ``formula``: objective and certified bound of the formula's optimum; ``None`` where it was not solved.
    ``simulated``: simulated figures; ``None`` until they are made.
    ``notes`` says in words what was restricted or assumed.
    ``class_shares`` (J, K) is the probability that a server drawn for query class j, its home or that
    of a part, is of executor class k; ``None``: every executor is drawn alike.
    """

    queries: Queries
    prediction: Prediction
    origin: str
    seconds: float
    notes: tuple[str, ...] = ()
    class_shares: Floats | None = None
    formula: CertifiedOptimum | None = None
    simulated: SimulatedPlacement | None = None
    objective: Objective = "formula"

    @property
    def objective_s(self) -> float:
        """Mean JCT in seconds: simulated, or the formula's as long as it is not; ``inf`` without any."""
        if self.simulated is None:
            return self.prediction.mean_s
        return math.inf if self.simulated.mean is None else self.simulated.mean
