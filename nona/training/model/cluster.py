"""The GPUs of a training cluster, by type and server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from nona.errors import SimulationError


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``count`` nodes of one region with ``gpus`` GPUs of type ``gpu`` each."""

    gpu: str
    count: int
    gpus: int = 1
    region: str = ""


@dataclass(frozen=True)
class TrainingCluster:
    """Nodes in groups, and what a GPU of each type costs in US dollars an hour.

    >>> cluster = TrainingCluster((NodeGroup("v100", 2, 4), NodeGroup("k80", 1)), {"v100": 2.48})
    >>> cluster.types, cluster.gpus
    (('k80', 'v100'), {'k80': 1, 'v100': 8})
    """

    groups: tuple[NodeGroup, ...]
    prices: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.groups:
            raise SimulationError("Training cluster: it has no GPUs; give at least one server group.")

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of GPUs, in alphabetical order: the columns of every allocation."""
        return tuple(sorted({g.gpu for g in self.groups}))

    @cached_property
    def gpus(self) -> dict[str, int]:
        """GPUs of each type."""
        return {t: sum(g.count * g.gpus for g in self.groups if g.gpu == t) for t in self.types}

    @cached_property
    def nodes(self) -> dict[str, tuple[int, ...]]:
        """GPUs of each node of a type, in the order of the groups."""
        return {
            t: tuple(g.gpus for g in self.groups if g.gpu == t for _ in range(g.count)) for t in self.types
        }
