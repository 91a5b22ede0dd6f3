"""Results on what to buy: the fewest servers, and a plan with its options and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from nona.results.document import About, Document, Estimate, Figure, Optional, Outcome, Verdict

Method = Literal["prediction", "simulation"]


class ServerCount(Document):
    """One number of servers: the share of missed SLOs of the model that misses most, with its standard error.

    ``worst`` is that model; ``miss_of_all`` the share over the jobs of all models with an SLO. ``miss`` is
    ``None`` where there is no steady state; ``simulated_hit_rate`` is the share that the worst model keeps,
    where it was simulated.
    """

    servers: int
    miss: Figure
    error: float
    simulated_hit_rate: Estimate | None = None
    worst: str = ""
    miss_of_all: Figure = None


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

    ``predicted`` is that number of servers, by the ``method`` named, ``one_fewer`` one less, where that is
    not 0; ``tried`` are all that were looked at, ascending. ``cost`` is that of all servers of the cluster
    then, in the unit of the prices; ``None`` without them. ``least_miss`` is the share of SLOs that is missed
    on any number of servers, as the longest chain alone takes longer; ``no_room`` says why the weights fit on
    none, and is empty where they do. ``if_times_off`` is ``None`` where no time is modelled. Not
    ``finished``: the search ended, or goes on, with more numbers to try; ``servers`` is then ``None``.
    """

    gpu: str
    scheduler: str
    method: Method
    servers: int | None
    predicted: ServerCount | None
    one_fewer: ServerCount | None
    cost: Figure
    tried: tuple[ServerCount, ...]
    least_miss: float = 0.0
    no_room: str = ""
    if_times_off: CountRange | None = None
    finished: bool = True


class CapacityReport(Document):
    """The fewest servers that keep a share of the SLOs, for each device and scheduler.

    ``best`` is the device, ``best_scheduler`` the scheduler of the cheapest answer, or without prices of the
    one with the fewest servers; ``group`` is the index in ``cluster.servers``, ``most`` the largest number
    of servers that was allowed. ``ended_early_s``: seconds after which the search was cancelled, with what
    was known until then.
    """

    target_hit_rate: float
    group: int
    most: int
    best: str | None
    best_scheduler: str | None
    devices: tuple[DeviceCapacity, ...]
    ended_early_s: Figure = None

    @property
    def found(self) -> DeviceCapacity | None:
        """The answer that ``best`` names."""
        named = (self.best, self.best_scheduler)
        return next((d for d in self.devices if (d.gpu, d.scheduler) == named), None)


By = Literal["simulation", "load", "idle", "memory", "no placement", "prediction"]
"""The evidence of a verdict; ``prediction``: not simulated yet."""


class PlanTarget(Document):
    """At least ``share`` of the jobs of ``model`` within ``within_s`` seconds; ``text``: as it was asked."""

    model: str
    share: float
    within_s: float
    text: str


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

    ``link`` in bytes/s. ``shares``: of the jobs within the bound, for each target. ``by``: what the verdict
    rests on, ``reason`` in words. ``predicted`` is the least predicted share of hits over what its target
    asks for: above 1 all targets are predicted to hold. ``headroom`` is the largest factor on the traffic
    that was seen to keep all targets. ``needed``: replications that an open verdict would take if shares
    stayed as they are. ``batch`` and ``delay_s``: the largest batch and its delay, where they are on
    offer, and ``batches`` in words.
    Energy is that of the GPUs,
    known where their watts, idle and busy, are.
    """

    servers: tuple[PlanServers, ...]
    scheduler: str
    link: float
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
    energy_kwh_per_million: Figure = None
    co2_kg_per_million: Figure = None
    needed: int | None = None
    batch: int | None = Optional
    delay_s: Figure = Optional
    batches: str | None = Optional

    @property
    def way(self) -> str:
        """The scheduler, with the batches where several are on offer."""
        return f"{self.scheduler}{f' with {self.batches}' if self.batches else ''}"


class PlanCost(Document):
    """A part of what an option costs per hour."""

    part: str
    per_hour: float


class PlanAnswer(Document):
    """The cheapest option that keeps: its index, costs, headroom, and the month in which growth uses it up.

    ``breaks_at`` counts months from now; ``None`` without growth. ``costs``: by servers, link, data moved.
    """

    option: int
    cost_per_hour: float
    cost_per_million: float
    headroom: Figure
    breaks_at: int | None
    costs: tuple[PlanCost, ...] = ()


class PlanChain(Document):
    """The counts of one kind of server, with others fixed, under one scheduler and link: what was settled.

    Counts below ``lowest`` are ruled out by bounds. ``missed`` is the largest count that misses or is open:
    fewer servers of the kind are taken to miss too. ``kept`` is the least count that keeps. ``settled``:
    nothing cheaper than the answer is left to look at.
    """

    gpu: str
    mig: str | None
    scheduler: str
    link: float
    others: tuple[PlanServers, ...]
    lowest: int
    missed: int | None
    kept: int | None
    settled: bool


class PlanLoad(Document):
    """The answer with ``factor`` times the traffic; ``shares`` are those of :class:`PlanOption`."""

    factor: float
    verdict: Verdict
    models: Mapping[str, PlanModel]
    cost_per_million: float
    shares: tuple[Estimate, ...] = ()


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
    evidence: tuple[PlanChain, ...]
    curve: tuple[PlanLoad, ...] = ()
    failures: tuple[PlanFailure, ...] = ()
    prices: tuple[str, ...] = ()
    week: PlanWeek | None = None
    work: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)

    @property
    def best(self) -> PlanOption | None:
        return None if self.answer is None else self.options[self.answer.option]


class PlanOutcome(Outcome):
    """A plan as it is shown, exported and saved: its report, its provenance, the models of its workload.

    ``ended_early_s``: when somebody cancelled the search.
    """

    report: PlanReport
    models: tuple[str, ...]
    ended_early_s: Figure = None


class HeldTarget(Document):
    """A target on the cluster as it stands.

    ``share`` is that of the jobs within the bound; ``time_s`` the time within which as many of them are
    complete as the target asks for. The ``verdict`` on the cluster is made of these.
    """

    target: PlanTarget
    share: Estimate
    time_s: Estimate
    verdict: Verdict


class HoldsReport(Document):
    """The output of ``nona plan --present --json``: does the cluster hold under one scheduler?

    ``option`` is the cluster with the verdict on all targets together; its costs are of no meaning unless
    ``priced``. ``headroom`` is the largest factor on the traffic that was seen to keep all targets, below 1
    where the present traffic is too much; ``breaks_at`` counts the months until growth passes it. ``curve``
    are the factors that were simulated. ``complete``: the questions after more traffic and failures were
    answered.
    """

    option: PlanOption
    targets: tuple[HeldTarget, ...]
    headroom: Figure
    growth: float
    breaks_at: int | None
    curve: tuple[PlanLoad, ...]
    failures: tuple[PlanFailure, ...]
    priced: bool
    currency: str
    confidence: float
    complete: bool
    seconds: float


class HoldsOutcome(Document):
    """The same with its provenance; ``ended_early_s``: when somebody cancelled it."""

    about: About
    report: HoldsReport
    ended_early_s: Figure = None
