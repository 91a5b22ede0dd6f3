"""The report on a simulation: schedulers, differences, hits, certainty, comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

from pydantic import Field, model_validator

from nona.core.document import (
    Document,
    ErrorRange,
    Estimate,
    Figure,
    Interval,
    Optional,
    Percentile,
    read_without,
)

Verdict = Literal["faster", "slower", "not told apart", "overloaded"]


class PairedMean(Estimate):
    """A mean difference, and what pairing gained.

    See :class:`nona.core.statistics.PairedDifference`.
    """

    variance_reduction: Figure
    correlation: Figure


class Difference(Document):
    """A scheduler minus a baseline: mean JCT (seconds) and SLO hit rate, at 95 %.

    ``variance_reduction`` and ``correlation`` are those of the JCT; ``relative`` is its difference over
    the baseline's mean.
    """

    jct_s: Estimate
    variance_reduction: Figure
    correlation: Figure
    relative: Figure
    verdict: Verdict
    slo_hit_rate: PairedMean | None
    replications: int


Differences = Mapping[str, Mapping[str, Difference]]
"""Baseline → scheduler → its difference."""


class HitWindow(Document):
    """Jobs with an SLO that arrived from ``start_s`` to ``end_s`` after the first measured one.

    ``hits`` of the ``jobs`` were completed within their SLO; ``hit_rate`` is unknown where there are none.
    """

    start_s: float
    end_s: float
    jobs: int
    hits: int
    hit_rate: Figure


HitsOverTime = Mapping[str, tuple[HitWindow, ...]]
"""Scheduler → the windows of its first run."""

PartName = Literal["compute", "transfer", "link_wait", "server_wait", "own_wait", "fill_wait"]
State = Literal["stable", "backlogged", "overloaded"]
"""The steady state of a scheduler; ``backlogged``: there is one, but many jobs wait at the end."""


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


class CompletionParts(Document):
    """Mean parts of the JCT, seconds; they add up to its mean.

    ``own_wait``: waits for executors while they run other tasks of the same job; ``fill_wait``: while they
    stand idle until the batch may start (where executors batch); ``server_wait``: the others.
    """

    compute: Figure
    transfer: Figure
    link_wait: Figure
    server_wait: Figure
    own_wait: Figure = None
    fill_wait: Figure = Optional

    def by_name(self) -> dict[PartName, float | None]:
        """Return the parts under their names."""
        return {
            "compute": self.compute,
            "transfer": self.transfer,
            "link_wait": self.link_wait,
            "server_wait": self.server_wait,
            "own_wait": self.own_wait,
            "fill_wait": self.fill_wait,
        }


class BatchSteps(Document):
    """Steps of executors that batch: members of a step, on average and by size as shares of all steps.

    ``fill_wait_s`` is the mean time of a job that it waits for a batch to fill while the executor is idle.
    """

    mean_size: Figure
    sizes: Mapping[int, float]
    fill_wait_s: Figure


class ClosedLoop(Document):
    """Users who each send again ``think_s`` after the end of a query, and the queries that come of it.

    ``per_s``: queries per second of all users. ``alone_s``: time of a query of one user alone on idle
    executors, without transfers.
    """

    users: int
    think_s: float
    per_s: Estimate
    alone_s: Figure


class ModelResult(Document):
    """Jobs of one model under one scheduler: mean JCT (seconds), parts, percentiles, SLO hits."""

    _earlier = model_validator(mode="before")(read_without("dropped"))
    jct_s: Figure
    jct_ci95: Interval
    parts_s: CompletionParts
    jct_p50_s: Figure
    jct_p95_s: Figure
    jct_p99_s: Figure
    percentiles: Mapping[str, Percentile]
    slo_s: Figure
    slo_hit_rate: Figure
    batches: BatchSteps | None = Optional
    loop: ClosedLoop | None = Optional

    @property
    def jct(self) -> Estimate:
        """The mean JCT with its interval."""
        return Estimate(mean=self.jct_s, ci95=self.jct_ci95)


class StageLoad(Document):
    """The load of a stage with ``instances`` of its own, on ``gpus`` (numbers of executors) or the host.

    ``alone_s``: seconds of one query. ``load``: the part of its GPUs or processes that it needs in full
    batches.
    """

    row: str
    stage: str
    instances: int
    gpus: tuple[int, ...]
    alone_s: float
    load: float


class JobCounts(Document):
    """Measured jobs of all replications."""

    _earlier = model_validator(mode="before")(read_without("dropped"))
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
    parts_s: CompletionParts
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
    batches: BatchSteps | None = Optional

    @property
    def overloaded(self) -> bool:
        """True where there is no steady state, hence no mean."""
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
    """The relative precision of the means that was asked for, and whether it was reached.

    ``target``: greatest relative error γ of a mean; ``bound``: γ/(1+γ): the half-width of an interval over
        its mean may be at most this.
    ``relative_half_width``: scheduler → half-width / mean of its JCT; ``None`` without a mean to speak of.
    ``not_reached``: schedulers above the bound; ``overloaded``: those without a steady state, of which
        nothing is asked.
    """

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
    ``precision`` are ``None`` where they are not known. ``slo_over_time`` is empty where no job has an SLO,
    ``stages`` where none has instances of its own.
    """

    engine: str
    seconds: float
    schedulers: Schedulers
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    warmup: WarmupReport | None
    precision: PrecisionReport | None
    slo_over_time: HitsOverTime = Field(default_factory=dict)
    stages: tuple[StageLoad, ...] = Field(default=(), exclude_if=lambda stages: not stages)


class ComparedReport(SimulationReport):
    """A report with every scheduler's difference from ``baseline``: what ``nona simulate`` gives.

    ``off`` is scheduler → the range of its mean if modelled times are off; ``advice`` says who wins and why,
    and what it would take for another to win.
    """

    baseline: str | None
    differences: Mapping[str, Difference]
    off: Mapping[str, ErrorRange] = Field(default_factory=dict)
    advice: tuple[str, ...] = ()


Bottleneck = Literal["executors", "link"]


class MeanConfidence(Document):
    """One scheduler's figures, seconds and shares; ``None`` where there is none.

    ``prediction`` is ``"none"`` where theory has no formula for the scheduler, ``"overloaded"`` where
    it says that there is no steady state. ``error`` is predicted over simulated mean, less 1;
    ``explained`` whether it lies within the interval of the simulation; ``reason`` explains the state.
    """

    scheduler: str
    state: State
    reason: str
    prediction: Literal["none", "overloaded", "formula"]
    predicted_s: Figure
    jct_s: Estimate
    relative_half_width: Figure
    error: Figure
    explained: bool | None
    little_s: Figure
    little_error: Figure
    idle_s: Figure
    over_idle: Figure
    load: Figure
    bottleneck: Bottleneck
    replications: int


Measure = Literal["jct_s", "slo_hit_rate", "compute", "network"]
MEASURES: tuple[Measure, ...] = ("jct_s", "slo_hit_rate", "compute", "network")
T = TypeVar("T")


class ByMeasure(Document, Generic[T]):
    """Something for each measure: mean JCT (seconds), SLO hit rate, utilisation of executors and link."""

    jct_s: T
    slo_hit_rate: T
    compute: T
    network: T

    def value(self, measure: Measure) -> T:
        """Return the value for one measure."""
        every: dict[Measure, T] = {
            "jct_s": self.jct_s,
            "slo_hit_rate": self.slo_hit_rate,
            "compute": self.compute,
            "network": self.network,
        }
        return every[measure]


class MeasureChange(Document):
    """A measure in the baseline and now; ``clear``: the interval of the change excludes 0."""

    old: Estimate
    new: Estimate
    change: Estimate
    clear: bool


ReplicationMeans = ByMeasure[tuple[Figure, ...]]
"""Each measure's mean in every replication; ``None`` where it has none."""
Changes = ByMeasure[MeasureChange]


class QuickAnswer(Document):
    """Every scheduler's figures so far.

    ``predicted`` as in a simulation's outcome; ``jobs`` are measured per run; ``failed`` is scheduler →
    why it cannot run.
    """

    predicted: Mapping[str, Figure]
    report: SimulationReport
    replications: int
    jobs: int
    engine: str
    failed: Mapping[str, str]
