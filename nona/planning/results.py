"""Results on what to buy: a plan with its options and evidence, and the fewest servers of one group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from nona.core.document import Document, Estimate, Figure, Optional, RunResult, Verdict, read_without


class ServerCount(Document):
    """One number of servers: its verdict with the reason, and the share of SLOs that the worst model misses.

    ``worst`` is that model, ``error`` the standard error, ``simulated_hit_rate`` the share that it keeps;
    ``miss`` is ``None`` where bounds rule the number out.
    """

    servers: int
    verdict: Verdict
    reason: str
    miss: Figure
    error: float
    simulated_hit_rate: Estimate | None
    worst: str


class CountRange(Document):
    """The fewest servers if all modelled times are at the lower or at the upper end of their intervals.

    ``level`` is that of the intervals. ``high`` is ``None`` where the SLOs are then out of reach: no number
    of servers that was tried keeps them; so is ``low``.
    """

    low: int | None
    high: int | None
    level: float


class DeviceCapacity(Document):
    """The fewest servers with one device under one scheduler, ``None`` where none that was tried suffices.

    ``predicted`` is that number of servers with its evidence, ``one_fewer`` one less, where that was looked
    at; ``tried`` are all that were, ascending. ``cost`` is that of all servers of the cluster then, per hour;
    ``None`` where a price is not known. ``if_times_off`` is ``None`` where no time is modelled. Not
    ``finished``: the search ended with more numbers to try; ``servers`` is then ``None``.
    """

    gpu: str
    scheduler: str
    method: Literal["simulation"]
    servers: int | None
    predicted: ServerCount | None
    one_fewer: ServerCount | None
    cost: Figure
    tried: tuple[ServerCount, ...]
    if_times_off: CountRange | None
    finished: bool


class CapacityReport(Document):
    """The output of ``nona capacity --json``: a plan in which one group of servers grows.

    ``best`` is the device, ``best_scheduler`` the scheduler of the cheapest answer, of equal ones that with
    the fewest servers; ``group`` is the index in ``cluster.servers``, ``most`` the largest number of servers
    that was allowed.
    """

    target_hit_rate: float
    group: int
    most: int
    best: str | None
    best_scheduler: str | None
    devices: tuple[DeviceCapacity, ...]


By = Literal["simulation", "load", "idle", "memory", "no placement", "prediction"]
"""The evidence of a verdict; ``prediction``: not simulated yet."""


class PlanTarget(Document):
    """At least ``share`` of the jobs of ``model`` within ``within_s`` seconds; ``text``: as it was asked.

    ``share`` is ``None`` where the mean of their times is asked to be within that.
    """

    model: str
    share: Figure
    within_s: float
    text: str

    def used(self, seen: float) -> float:
        """Return the part used of what the target allows, above 1 where it is missed.

        Formula: (1 − h)/(1 − h₀) for a share h of which h₀ is asked; mean/bound for a mean, in seconds.
        """
        return seen / self.within_s if self.share is None else (1 - seen) / (1 - self.share)

    def used_of(self, seen: Estimate) -> Estimate:
        """:meth:`used` of an estimate and of its interval."""
        mean = None if seen.mean is None else self.used(seen.mean)
        if seen.ci95 is None:
            return Estimate(mean=mean, ci95=None)
        low, high = sorted(self.used(end) for end in seen.ci95)
        return Estimate(mean=mean, ci95=(low, high))


class PlanServers(Document):
    """``count`` servers that are alike: ``mig`` slices each of their GPUs, ``price`` is of one per hour."""

    count: int
    gpu: str
    mig: str | None
    gpus: int = 1
    vcpus: int = 16
    mps: int | None = None
    price: float = 0.0


class PlanModel(Document):
    """One model on one option: the share of its jobs within its SLO, and p99; unknown before simulation."""

    hit_rate: Estimate
    p99_s: Figure


class PlanOption(Document):
    """A purchase option, and whether it keeps all targets.

    ``shares``: of the jobs within the bound, for each target; for one
    of the mean that mean, in seconds. ``by``: what the verdict
    rests on, ``reason`` in words. ``predicted`` is the least predicted share of hits over what its target
    asks for: above 1 all targets are predicted to hold. ``headroom`` is the largest factor on the traffic
    that was seen to keep all targets. ``needed``: replications that an open verdict would take if shares
    stayed as they are. ``batch`` and ``delay_s``: the largest batch and its delay, where they are on
    offer, and ``batches`` in words. ``grown``: its servers of the group that grows, where one does.
    """

    _earlier = model_validator(mode="before")(
        read_without("link", "energy_kwh_per_million", "co2_kg_per_million")
    )
    servers: tuple[PlanServers, ...]
    scheduler: str
    verdict: Verdict
    cost_per_hour: float
    models: Mapping[str, PlanModel]
    headroom: Figure
    replications: int
    looks: int
    by: By
    reason: str
    shares: tuple[Estimate, ...] = ()
    cost_per_million: Figure = None
    predicted: Figure
    utilization: Figure = None
    needed: int | None = None
    batch: int | None = Optional
    delay_s: Figure = Optional
    batches: str | None = Optional
    grown: PlanServers | None = Optional

    @property
    def scheduler_text(self) -> str:
        """The scheduler, with the batches where several are on offer."""
        return f"{self.scheduler}{f' with {self.batches}' if self.batches else ''}"

    def belongs_to(self, series: PlanSeries) -> bool:
        """Whether it is one of a series' counts, where one group grows."""
        grown, own = self.grown, (series.gpu, series.mig, series.scheduler)
        return grown is not None and (grown.gpu, grown.mig, self.scheduler_text) == own


class PlanCost(Document):
    """A part of what an option costs per hour."""

    part: str
    per_hour: float


class PlanAnswer(Document):
    """The cheapest option that keeps: its index, costs, headroom, and the month in which growth uses it up.

    ``full_at``: the factor on the traffic that fills the executors, beyond which nothing keeps. ``breaks_at``
    counts months from now; ``None`` without growth. ``costs``: by servers, data moved.
    """

    option: int
    cost_per_hour: float
    cost_per_million: float
    headroom: Figure
    full_at: Figure = None
    breaks_at: int | None
    costs: tuple[PlanCost, ...] = ()


class PlanSeries(Document):
    """The counts of one kind of server, with others fixed, under one scheduler: what was settled.

    Counts below ``lowest`` are ruled out by bounds. ``missed`` is the largest count that misses or is open:
    fewer servers of the kind are taken to miss too. ``kept`` is the least count that keeps. ``settled``:
    nothing cheaper than the answer is left to look at. ``if_times_off`` is known where one group grows and
    some times are modelled.
    """

    _earlier = model_validator(mode="before")(read_without("link"))
    gpu: str
    mig: str | None
    scheduler: str
    others: tuple[PlanServers, ...]
    lowest: int
    missed: int | None
    kept: int | None
    settled: bool
    if_times_off: CountRange | None = Optional


class PlanLoad(Document):
    """The answer with ``factor`` times the traffic, after ``replications`` of it.

    ``shares`` are those of :class:`PlanOption`.
    """

    factor: float
    verdict: Verdict
    models: Mapping[str, PlanModel]
    cost_per_million: float
    shares: tuple[Estimate, ...] = ()
    replications: int = 0


class PlanFailure(Document):
    """The answer with servers missing: ``lost`` in words, and whether the rest keeps all targets.

    ``shares`` are those of :class:`PlanOption`; empty where bounds rule the rest out.
    """

    lost: str
    servers: tuple[PlanServers, ...]
    verdict: Verdict
    shares: tuple[Estimate, ...] = ()


class PlanWeek(Document):
    """The week by hour: traffic, servers of the offer that varies, and the cost of both ways per week.

    ``factors`` are on the scenario's traffic, ``peak`` the largest, for which the answer is sized.
    ``constant_cost``: the answer all week; ``schedule_cost``: ``servers`` by hour, with ``startup_s`` paid
    for each that starts.
    """

    factors: tuple[float, ...]
    peak: float
    gpu: str
    mig: str | None
    servers: tuple[int, ...]
    startup_s: float
    constant_cost: float
    schedule_cost: float


class PlanReport(Document):
    """The output of ``nona plan --json``.

    ``present``: the cluster as it is, under the scheduler with which it does best; ``None`` where one of its
        GPUs has no price.
    ``cheaper_open``: options that are cheaper than the answer and open.
    ``complete``: the search came to its end. ``curve`` and ``failures`` are of the answer.
    ``work``: model → kind of executor → seconds of all tasks of a query there.
    ``group``: the entry of the cluster's servers that grows, where one does.
    """

    answer: PlanAnswer | None
    options: tuple[PlanOption, ...]
    present: PlanOption | None = None
    confidence: float
    seconds: float
    currency: str
    targets: tuple[PlanTarget, ...]
    growth: float
    complete: bool
    cheaper_open: tuple[int, ...]
    evidence: tuple[PlanSeries, ...]
    curve: tuple[PlanLoad, ...] = ()
    failures: tuple[PlanFailure, ...] = ()
    prices: tuple[str, ...] = ()
    week: PlanWeek | None = None
    work: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    group: int | None = Optional

    @property
    def best(self) -> PlanOption | None:
        """The option that the plan recommends; ``None`` where there is none."""
        return None if self.answer is None else self.options[self.answer.option]


class PlanOutcome(RunResult):
    """A plan as it is shown, exported and saved: its report, its provenance, the models of its workload.

    ``ended_early_s``: seconds after which the search was cancelled.
    """

    report: PlanReport
    models: tuple[str, ...]
    ended_early_s: Figure = None


class TargetOutcome(Document):
    """A target on the cluster as it stands.

    ``share`` is that of the jobs within the bound; ``time_s`` the time within which as many of them are
    complete as the target asks for, or their mean where that is asked. The ``verdict`` on the cluster is made
    of these.
    """

    target: PlanTarget
    share: Estimate
    time_s: Estimate
    verdict: Verdict


class HoldsReport(Document):
    """The output of ``nona plan --present --json``: whether the cluster holds under one scheduler.

    ``option`` is the cluster with the verdict on all targets together; its costs are of no meaning unless
    ``priced``. ``headroom`` is the largest factor on the traffic that was seen to keep all targets, below 1
    where the present traffic is too much, ``full_at`` that which fills the executors; ``breaks_at`` counts
    the months until growth passes it. ``curve`` are the factors that were simulated. ``complete``: the
    questions after more traffic and failures were answered.
    """

    option: PlanOption
    targets: tuple[TargetOutcome, ...]
    headroom: Figure
    full_at: Figure = None
    growth: float
    breaks_at: int | None
    curve: tuple[PlanLoad, ...]
    failures: tuple[PlanFailure, ...]
    priced: bool
    currency: str
    confidence: float
    complete: bool
    seconds: float


class HoldsOutcome(RunResult):
    """The report with its provenance; ``ended_early_s``: seconds after which it was cancelled."""

    report: HoldsReport
    ended_early_s: Figure = None
