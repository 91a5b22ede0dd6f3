"""Results of a sweep: every scheduler at every value of one number of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.simulation.report import State

Unit = Literal["fraction", "bandwidth", "time", "size", "rate", "count", "factor", "number"]
"""What a swept number counts; values are in SI units."""


class SweptUtilization(Document):
    """Mean utilisation of the executors, and of the busiest link."""

    compute: Figure
    network: Figure


class SweptPoint(Document):
    """One scheduler at one value.

    ``means_s`` is the mean JCT of each replication. ``predicted_s`` is the formula's mean JCT, ``None``
    where it has no steady state; ``error`` is its relative error. ``ratio`` is the mean JCT over that of
    the reference at the same value, paired by replication.
    """

    value: float
    state: State
    state_reason: str
    replications: int
    jct_s: Estimate
    means_s: tuple[Figure, ...]
    slo_hit_rate: Estimate
    utilization: SweptUtilization
    predicted_s: Figure
    error: Figure
    ratio: Estimate
    has_formula: bool

    @property
    def steady(self) -> bool:
        """Whether there is a steady state; a backlog at the end does not count against it."""
        return self.state != "overloaded"


class SweptEdge(Document):
    """Two neighbouring values, one with a steady state and one without."""

    stable: float
    overloaded: float


class FormulaPoint(Document):
    """The formula's mean JCT at one value; ``None`` where it has no steady state."""

    value: float
    jct_s: Figure


class SweptCurve(Document):
    """One scheduler: its points by ascending value, its edges of stability, and the same by formula.

    ``formula`` is ``None`` for schedulers that have none.
    """

    points: tuple[SweptPoint, ...]
    edges: tuple[SweptEdge, ...]
    formula: tuple[FormulaPoint, ...] | None
    formula_edges: tuple[SweptEdge, ...]


class SweepReport(Document):
    """A sweep, whole or so far.

    ``key``, ``label`` and ``unit`` are those of the swept number. ``values`` are those at which every
    scheduler is simulated; curves may hold more, near edges and bends. ``slo_s`` is the SLO that all
    classes share, if they do. Ratios are to the scheduler ``reference``.
    """

    key: str
    label: str
    unit: Unit
    values: tuple[float, ...]
    jobs: int
    replications: int
    slo_s: Figure
    reference: str
    engine: str
    stage: str
    complete: bool
    seconds: float
    schedulers: Mapping[str, SweptCurve]


class SweepRequest(Document):
    """What is swept: the key of the ``number``, its ``values``, the schedulers, the runs at each value.

    ``edges``: look for each scheduler's edges of stability and for bends between the values.
    """

    number: str
    values: tuple[float, ...]
    schedulers: tuple[str, ...]
    jobs: int
    replications: int
    edges: bool


class SweepOutcome(SweepReport):
    """A sweep with the settings that it was asked for with."""

    settings: SweepRequest
