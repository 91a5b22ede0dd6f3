"""Applications: workflows of functions with an end-to-end SLO."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.graph.dag import Dag
from nona.system import Arrivals


@dataclass(frozen=True, eq=False)
class Application:
    """One workflow; S stages, numbered in a topological order.

    Attributes
    ----------
    stage_names
        Names of the stages; they differ.
    function : (S,)
        Number of each stage's function in the system.
    dag
        Its nodes are the stages; every arc goes to a later stage.
    input_bytes : (S,)
        Bytes of one job that a stage fetches, from the invokers of its predecessors in equal parts; an
        entry stage fetches them from outside.
    slo_s
        Seconds from a call's arrival to the end of its last stage.
    rate
        Calls per second.

    Raises
    ------
    SimulationError
        For arrays that do not fit, or an SLO or rate that is not above 0.
    """

    name: str
    stage_names: tuple[str, ...]
    function: tuple[int, ...]
    dag: Dag
    input_bytes: tuple[float, ...]
    slo_s: float
    rate: float
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        if not self.stage_names or not (
            len(self.stage_names) == len(self.function) == len(self.dag) == len(self.input_bytes)
        ):
            raise SimulationError(f"Application {self.name!r}: stages, functions and inputs must be as many.")
        if any(u >= v for u, v in self.dag.edges()):
            raise SimulationError(
                f"Application {self.name!r}: stages must be in topological order; sort them."
            )
        for what, value in (("slo_s", self.slo_s), ("rate", self.rate)):
            if not (np.isfinite(value) and value > 0):
                raise SimulationError(
                    f"Application {self.name!r}: {what}={value} must be above 0; change it."
                )

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.function)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Stages without predecessor."""
        return tuple(s for s in range(self.stages) if not self.dag.predecessors[s])

    @cached_property
    def is_chain(self) -> bool:
        """Whether every stage follows the one before it and no other."""
        return all(self.dag.predecessors[s] == ((s - 1,) if s else ()) for s in range(self.stages))

    def longest_s(self, stage_s: NDArray[np.float64]) -> float:
        """Seconds along the longest path when stage s takes ``stage_s[s]``."""
        return self.dag.critical_path(stage_s.tolist())[0]
