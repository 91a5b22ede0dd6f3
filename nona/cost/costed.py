"""The costed graph: what every operator of a model does, and how long it takes on one device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from nona.graph.model import ModelGraph

Provenance = Literal["measured", "calibrated", "modelled", "given"]


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Work and time of one operator for one query.

    ``flops`` counts a multiply-add as two; ``macs`` are multiply-adds of convolutions and matrix
    products only, as the literature counts them. ``read_bytes`` and ``write_bytes`` are
    activations; ``weight_bytes`` are the parameters that this operator reads.
    ``provenance`` says where ``compute_s`` comes from (``given``: stated in the model file);
    ``given_on`` the executor class that a stated time holds for (``"*"``: any), which was carried over
    where it is another than the one costed; empty for a modelled time.
    """

    id: str
    kind: str
    flops: float
    macs: float
    read_bytes: float
    write_bytes: float
    weight_bytes: float
    compute_s: float
    provenance: Provenance
    given_on: str = ""


@dataclass(frozen=True)
class CostedGraph:
    """A model graph with a cost for every operator, on one device.

    ``costs`` follows the order of ``graph.operators``. ``warnings`` holds a line for each kind of
    operator whose work is unknown.
    """

    graph: ModelGraph
    device: str
    costs: tuple[OperatorCost, ...]
    warnings: tuple[str, ...] = ()

    @cached_property
    def compute_s(self) -> tuple[float, ...]:
        """Seconds of each operator, in the order of ``graph.operators``."""
        return tuple(c.compute_s for c in self.costs)

    @property
    def total_compute_s(self) -> float:
        """T₁: seconds of all operators one after the other."""
        return sum(self.compute_s)

    @cached_property
    def critical_path_s(self) -> float:
        """T∞: seconds of the longest chain of dependent operators."""
        return self.graph.dag.critical_path(self.compute_s)[0]

    @property
    def parallelism(self) -> float:
        """T₁/T∞: the most that splitting one query can gain; 1 when nothing takes time."""
        return self.total_compute_s / self.critical_path_s if self.critical_path_s > 0 else 1.0
