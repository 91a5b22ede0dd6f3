"""A sweep: every scheduler at every value of a number, its edges of stability, its ratio to one of them."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure, Interval


class Estimate(Document):
    """A mean and its 95 % interval; ``None`` where it is not known."""

    mean: Figure
    ci95: Interval


class Busy(Document):
    """Shares of time in use: executors, and the busiest link."""

    compute: Figure
    network: Figure


class SweepPoint(Document):
    """A scheduler at one value: JCT (s), its mean in each replication, prediction, ratio to the reference."""

    value: float
    state: str
    state_reason: str
    replications: int
    jct_s: Estimate
    means_s: tuple[Figure, ...]
    slo_hit_rate: Estimate
    utilization: Busy
    predicted_s: Figure
    error: Figure
    ratio: Estimate
    has_formula: bool


class SweepEdge(Document):
    """Neighbouring values, one stable and one overloaded."""

    stable: float
    overloaded: float


class FormulaPoint(Document):
    """The formula's mean JCT (s) at a value; ``None``: no steady state."""

    value: float
    jct_s: Figure


class SweepCurve(Document):
    """A scheduler: its points and edges in the simulation, and by the formula where there is one."""

    points: tuple[SweepPoint, ...]
    edges: tuple[SweepEdge, ...]
    formula: tuple[FormulaPoint, ...] | None
    formula_edges: tuple[SweepEdge, ...]


class SweepReport(Document):
    """A sweep: the swept number, its values, the size of the runs, and a curve for each scheduler."""

    key: str
    label: str
    unit: str
    values: tuple[float, ...]
    jobs: int
    replications: int
    slo_s: Figure
    reference: str
    engine: str
    stage: str
    complete: bool
    seconds: float
    schedulers: Mapping[str, SweepCurve]
