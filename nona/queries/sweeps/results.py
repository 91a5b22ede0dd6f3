"""Results of a sweep: every scheduler at every value of one number, or of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.core.document import Document, Estimate, Figure, OptionalNames, RunResult
from nona.queries.results import Resources, State

Unit = Literal["fraction", "bandwidth", "time", "size", "rate", "count", "factor", "number"]
"""The dimension of a swept number; values are in SI units."""


TARGET = 0.99
"""Share of the SLOs to keep where none is asked for."""


class SweptPoint(Document):
    """One scheduler at one value.

    ``means_s`` and ``hits`` are mean JCT and SLO hit rate of each replication. ``predicted_s`` is the
    formula's mean JCT, ``None`` where it has no steady state; ``error`` is its relative error. ``ratio`` is
    the mean JCT over that of the reference at the same value, paired by replication.
    """

    value: float
    state: State
    state_reason: str
    replications: int
    jct_s: Estimate
    means_s: tuple[Figure, ...]
    slo_hit_rate: Estimate
    utilization: Resources
    predicted_s: Figure
    error: Figure
    ratio: Estimate
    has_formula: bool
    hits: tuple[Figure, ...] = OptionalNames

    @property
    def steady(self) -> bool:
        """True where there is a steady state; a backlog at the end does not count against it."""
        return self.state != "overloaded"

    @property
    def kept(self) -> float | None:
        """The share of SLOs kept: none without a steady state, also where it was not even simulated."""
        return self.slo_hit_rate.mean if self.steady else 0.0


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


class ServersNeeded(Document):
    """The fewest servers with which a scheduler keeps the target at one value of the swept number.

    ``now`` is the scenario's count, with which it misses the target there; ``servers`` is ``None`` where
    ``most`` were too few. All counts were simulated.
    """

    scheduler: str
    value: float
    now: int
    servers: int | None
    most: int


class SweepReport(Document):
    """A sweep, whole or so far.

    ``key``, ``label`` and ``unit`` are those of the swept number. ``values`` are those at which every
    scheduler is simulated; curves may hold more, near edges and bends. ``slo_s`` is the SLO that all
    classes share, if they do. ``target`` is the share of SLOs to keep; ``needed``, in a sweep of the load,
    says with how many servers. Ratios are to the scheduler ``reference``.
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
    target: float = TARGET
    needed: tuple[ServersNeeded, ...] = ()


class SweepRequest(Document):
    """A sweep: the key of the ``number``, its ``values``, the schedulers, the runs at each value.

    ``edges``: look for each scheduler's edges of stability and for bends between the values. ``target``:
    the share of SLOs to keep.
    """

    number: str
    values: tuple[float, ...]
    schedulers: tuple[str, ...]
    jobs: int
    replications: int
    edges: bool = True
    target: float = TARGET


class SweepOutcome(SweepReport, RunResult):
    """A sweep with the settings that it was asked for with; ``ended_early_s``: when it was cancelled (s)."""

    settings: SweepRequest
    ended_early_s: Figure = None


class GridRow(Document):
    """A sweep of the first number at one ``value`` of the second."""

    value: float
    sweep: SweepReport


class SweepGrid(Document):
    """A sweep of two numbers, whole or so far.

    ``key``, ``label``, ``unit`` and ``values`` are those of the second number; ``rows`` holds a sweep of
    the first for each of its values that was reached, ascending.
    """

    key: str
    label: str
    unit: Unit
    values: tuple[float, ...]
    rows: tuple[GridRow, ...]
    complete: bool
    seconds: float


class GridRequest(Document):
    """A sweep in two numbers: a sweep of the first at each of ``values`` of the ``second``."""

    sweep: SweepRequest
    second: str
    values: tuple[float, ...]


class GridOutcome(SweepGrid, RunResult):
    """A sweep of two numbers, as :class:`SweepOutcome`."""

    settings: GridRequest
    ended_early_s: Figure = None
