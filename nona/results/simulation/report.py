"""The report on a simulation: for each scheduler its completion times, rates, loads and state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from nona.results.document import Document, Figure, Interval
from nona.results.estimate import Estimate, OffRange
from nona.results.simulation.differences import Difference
from nona.results.simulation.hits import HitsOverTime

PartName = Literal["compute", "transfer", "link_wait", "server_wait", "own_wait"]
State = Literal["stable", "backlogged", "overloaded"]
"""Whether a scheduler had a steady state; ``backlogged``: it had, but ended with many jobs waiting."""


class Percentile(Document):
    """A percentile of the JCT (seconds); if its value or its interval is withheld, the reason."""

    value_s: Figure
    ci95: Interval
    withheld: str | None
    interval_withheld: str | None

    @property
    def as_mean(self) -> Estimate:
        """Value and interval, without the reasons."""
        return Estimate(mean=self.value_s, ci95=self.ci95)


class Jct(Estimate):
    """Completion times of jobs, seconds; ``jobs`` were completed.

    ``percentiles`` is p50, p95, p99 → value with interval; ``p50``, … hold the values alone. ``p99_reliable``
    says that neither the value nor the interval of the 99th percentile is withheld.
    """

    p50: Figure
    p95: Figure
    p99: Figure
    percentiles: Mapping[str, Percentile]
    p99_reliable: bool
    jobs: int


class Parts(Document):
    """Mean parts of the JCT, seconds; they add up to its mean.

    ``own_wait``: waits for executors while they run other tasks of the same job; ``server_wait``: the others.
    """

    compute: Figure
    transfer: Figure
    link_wait: Figure
    server_wait: Figure
    own_wait: Figure = None

    def by_name(self) -> dict[PartName, float | None]:
        """The parts under their names."""
        return {
            "compute": self.compute,
            "transfer": self.transfer,
            "link_wait": self.link_wait,
            "server_wait": self.server_wait,
            "own_wait": self.own_wait,
        }


class ModelResult(Document):
    """Jobs of one model under one scheduler: mean JCT (seconds), parts, percentiles, SLO hits."""

    jct_s: Figure
    jct_ci95: Interval
    parts_s: Parts
    jct_p50_s: Figure
    jct_p95_s: Figure
    jct_p99_s: Figure
    percentiles: Mapping[str, Percentile]
    slo_s: Figure
    slo_hit_rate: Figure

    @property
    def jct(self) -> Estimate:
        """Mean JCT with its interval."""
        return Estimate(mean=self.jct_s, ci95=self.jct_ci95)


class JobCounts(Document):
    """Measured jobs of all replications."""

    arrived: int
    completed: int
    in_flight: int


class Resources(Document):
    """Shares of capacity: of the executors (``compute``) and of the busiest link (``network``)."""

    compute: Figure
    network: Figure


class SchedulerResult(Document):
    """All replications of one scheduler.

    ``utilization`` was measured, ``offered`` is the mean load that jobs and background bring;
    ``links`` is the utilisation of the busiest links, where there are several.
    """

    jct_s: Jct
    parts_s: Parts
    models: Mapping[str, ModelResult]
    slo_hit_rate: Estimate
    jobs: JobCounts
    utilization: Resources
    offered: Resources
    little_s: Figure
    links: Mapping[str, Figure]
    state: State
    state_reason: str
    replications: int
    decisions: Literal["machine code", "python"]

    @property
    def overloaded(self) -> bool:
        """Whether there is no steady state, hence no mean."""
        return self.state == "overloaded"


Schedulers = Mapping[str, SchedulerResult]


class PilotCut(Document):
    """Jobs that MSER-5 cuts from a scheduler's pilot runs; whether these were too short to tell."""

    jobs: int
    too_short: bool


class WarmupReport(Document):
    """The jobs left out at the start of every run, and how their number was found."""

    rule: str
    jobs: int
    schedulers: Mapping[str, PilotCut]
    too_short: tuple[str, ...]


class PrecisionReport(Document):
    """The relative precision of the means that was asked for, and whether it was reached."""

    target: float
    bound: float
    replications: int
    reached: bool
    relative_half_width: Mapping[str, Figure]
    not_reached: tuple[str, ...]
    overloaded: tuple[str, ...]


class SimulationReport(Document):
    """All schedulers of one simulation; ``seconds`` on the clock.

    ``checks`` says for each property whether it held in every run of every scheduler; ``warmup`` and
    ``precision`` are ``None`` where they are not known. ``slo_over_time`` is empty where no job has an SLO.
    """

    engine: str
    seconds: float
    schedulers: Schedulers
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    warmup: WarmupReport | None
    precision: PrecisionReport | None
    slo_over_time: HitsOverTime = Field(default_factory=dict)


class ComparedReport(SimulationReport):
    """A report with every scheduler's difference from ``baseline``: what ``nona simulate`` gives.

    ``off`` is scheduler → the range of its mean if modelled times are off; ``advice`` says who wins and why,
    and what it would take for another to win.
    """

    baseline: str | None
    differences: Mapping[str, Difference]
    off: Mapping[str, OffRange] = Field(default_factory=dict)
    advice: tuple[str, ...] = ()
