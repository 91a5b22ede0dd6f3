"""Results of serverless simulations: what each policy did, reports, nodes needed."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SerializerFunctionWrapHandler, field_serializer, field_validator, model_serializer

from nona.core.document import (
    Document,
    Estimate,
    Figure,
    Interval,
    Optional,
    OptionalNames,
    OptionalRuns,
    RunValues,
    Verdict,
)
from nona.core.options import Options
from nona.queries.sweeps.results import SweepRequest, Unit


class Spread(Document):
    """Mean and percentiles of a quantity."""

    mean: Figure
    p5: Figure
    p25: Figure
    p50: Figure
    p75: Figure
    p95: Figure
    p99: Figure


class Latency(Spread, Estimate):
    """Mean with its interval, and percentiles, of a latency in seconds."""


class Utilization(Document):
    """Held / present, of vCPUs and of vGPUs; above 1 where GPUs are oversubscribed."""

    vcpu: Figure
    vgpu: Figure


class CallCounts(Document):
    """Measured calls of all replications."""

    arrived: int
    completed: int
    in_flight: int
    dropped: int = 0


class ApplicationOutcome(Document):
    """The calls of one application under a policy. Times in seconds."""

    slo_s: float
    calls: int
    slo_hit_rate: Figure
    slo_hit_ci95: Interval
    latency_s: Spread
    cost_per_call_usd: Figure


class StandingOutcome(Document):
    """The instances that stand, of one run on average.

    ``instances``: how many stood; ``starts``: how many were started in the window; ``busy_share`` and
    ``idle_share``: the parts of their cost for the time with a batch, and for the rest.
    """

    instances: Figure
    starts: Figure
    busy_share: Figure
    idle_share: Figure


OPTIONAL = (
    "transfers",
    "containers",
    "memory",
    "standing",
)  # not in the JSON where they are not modelled


class TransferOutcome(Document):
    """Transfers over a network that they share: seconds, and how many of them it would not take alone.

    ``utilization`` of the core, and of the busiest link, which is named; background included.
    """

    mean_s: Estimate
    wait_s: Estimate
    core_utilization: Figure
    busiest_link: str
    busiest_utilization: Figure


class ContainerOutcome(Document):
    """Containers, where these are recorded: US dollars a call, and shares of their time.

    ``starting`` holds cold starts and starts ahead. The two costs add up to the policy's cost per call; that
    of an application is of executing alone.
    """

    executing_per_call_usd: Estimate
    idle_per_call_usd: Estimate
    busy: Figure
    idle: Figure
    starting: Figure


class MemoryOutcome(Document):
    """Shares of the nodes' memory that containers hold: on average, and the most of any node at any time.

    ``evictions``: containers that were removed to make room, per batch.
    """

    mean: Figure
    most: Figure
    evictions: Estimate


class ServerlessPolicyResult(Document):
    """One policy; its state is the worst of the replications, see :mod:`nona.serverless.metrics`.

    ``cost_per_call_usd``, ``cost_per_hit_usd``: what the measured calls cost / their number, and / those that
        kept the SLO; with what containers that waited in the window cost, where they are paid for.
    ``configuration_miss_rate``: of the batches with a plan made earlier, the share that could not use it;
        ``None`` if none had one.
    ``cold_start_rate``, ``rechecks``, ``prewarms``: cold starts, attempts that found no room, and containers
        started ahead, per batch.
    ``locality``: share of the jobs of inner stages that found all of their input on their invoker.
    ``search_s``, ``steps_mean``: of a batch's search, as charged.
    ``stranded_vgpus``: mean number of vGPUs that were free but out of reach.
    ``mean_batch``, ``forced``: jobs in a batch, and the share of batches on which the smallest configuration
        was forced.
    ``transfers``, ``containers``, ``memory``, ``standing``: ``None`` where each transfer takes its time
        alone, where containers neither pay for waiting nor need memory, where that is no limit, where batches
        have leases of their own.
    ``runs``: hit rate, cost per call and mean latency of each replication.
    """

    state: str
    state_reason: str
    replications: int
    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    cost_per_hit_usd: Estimate
    latency_s: Latency
    applications: Mapping[str, ApplicationOutcome]
    configuration_miss_rate: Estimate | None
    cold_start_rate: Figure
    locality: Figure
    search_s: Spread
    steps_mean: Figure
    utilization: Utilization
    stranded_vgpus: Figure
    mean_batch: Figure
    forced: Figure
    rechecks: Figure
    prewarms: Figure
    calls: CallCounts
    standing: StandingOutcome | None = None
    transfers: TransferOutcome | None = None
    containers: ContainerOutcome | None = None
    memory: MemoryOutcome | None = None
    runs: RunValues = OptionalRuns

    @model_serializer(mode="wrap")
    def _without_what_was_not_modelled(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        fields: dict[str, object] = write(self)
        return {key: value for key, value in fields.items() if value is not None or key not in OPTIONAL}


NOT_COMPUTED: Mapping[str, str | None] = {"cost_per_call_usd": None, "how": "not computed"}


class Oracle(Document):
    """The least that calls can cost, in US dollars, under any policy.

    ``cost_per_call_usd`` with every SLO kept that can be; ``most_hits`` is that share; ``curve`` (share of
    SLOs kept, US dollars a call) from none to that share; ``how`` says what was relaxed.
    """

    cost_per_call_usd: Figure
    cost_per_hit_usd: Figure
    most_hits: float
    curve: tuple[tuple[float, float], ...]
    how: str


class RunSetting(Document):
    """Setting of a run. ``warmup``: calls before the measured ones; ``options``: those of each policy.

    ``least_nodes``: so many any policy needs; ``None``, and not in the JSON, where there are as many.
    """

    name: str
    calls: int
    warmup: int
    replications: int
    seed: int
    sharing: str
    nodes: int
    configurations: int
    options: Mapping[str, Options]
    notes: tuple[str, ...]
    least_nodes: int | None = None

    @model_serializer(mode="wrap")
    def _without_enough(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        row: dict[str, object] = write(self)
        return {key: value for key, value in row.items() if key != "least_nodes" or value is not None}


class ServerlessReport(Document):
    """All policies of one simulation. ``seconds`` is what it took; intervals are at 95 %.

    ``checks`` says of each self-check whether it held in every run of every policy; ``failed_checks`` are
    those that did not, in words. ``oracle`` is ``None`` where it was not asked for. ``level``: policies whose
    share of SLOs kept, paired by replication, does not differ clearly from that of the best.
    """

    policies: Mapping[str, ServerlessPolicyResult]
    oracle: Oracle | None
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: RunSetting
    level: tuple[str, ...] = OptionalNames

    @field_validator("oracle", mode="before")
    @classmethod
    def _read_oracle(cls, value: object) -> object:
        return None if value == NOT_COMPUTED else value

    @field_serializer("oracle", mode="wrap")
    def _write_oracle(self, value: Oracle | None, write: SerializerFunctionWrapHandler) -> object:
        return dict(NOT_COMPUTED) if value is None else write(value)


class SharingReport(Document):
    """The same workload under several ways of sharing GPUs: name of the way → report."""

    sharing: Mapping[str, ServerlessReport]


class WaysReport(Document):
    """One policy under every way of sharing GPUs: name of the way → report."""

    policy: str
    reports: Mapping[str, ServerlessReport]


class TriedNodes(Document):
    """One number of nodes: hit rate, runs, verdict, and the cluster's price, US dollars an hour.

    ``held_usd_hour`` is what batches held, at the same prices: a cluster is paid for whether used or not.
    """

    nodes: int
    slo_hit_rate: Estimate
    replications: int
    verdict: Verdict
    usd_hour: float
    held_usd_hour: Figure


class NodesFor(Document):
    """The fewest nodes under one policy, ``None`` where there are none; ``tried`` in order of count."""

    found: TriedNodes | None
    tried: tuple[TriedNodes, ...]


MOST_NODES = 256


class NodesRequest(Document):
    """The fewest nodes up to ``most`` that keep ``target`` of the SLOs, under each policy.

    ``calls`` per run; ``first`` replications of each count, and at most so many where the verdict is open.
    """

    target: float
    policies: tuple[str, ...]
    calls: int = 2000
    first: int = 4
    replications: int = 16
    most: int = MOST_NODES


class NodesSetting(Document):
    """Setting of a run: the scenario's name and seed, measured calls of each run."""

    calls: int
    seed: int
    name: str


class NodesReport(Document):
    """The share of SLOs to keep, the largest number of nodes that was allowed, and every policy's answer.

    ``ended_early_s``: seconds after which the search was cancelled, with the policies that it had answered.
    """

    target: float
    most: int
    policies: Mapping[str, NodesFor]
    setting: NodesSetting
    ended_early_s: Figure = Optional


class OverPoint(Document):
    """One policy at one value.

    ``goodput_per_s``: calls that kept their SLO, per second of the measured window.
    ``verdict``: whether the target is kept, by the sequential test. Intervals are at 95 % over
        ``replications``.
    ``warmup``: calls before the measured ones.
    """

    value: float
    slo_hit_rate: Estimate
    goodput_per_s: Estimate
    cost_per_call_usd: Estimate
    cost_per_hit_usd: Estimate
    utilization: Utilization
    cold_start_rate: Figure
    warmup: int
    replications: int
    verdict: Verdict
    state: str


class Knee(Document):
    """The point where a policy ceases to keep the target, or begins to.

    ``kept`` is the last value at which it was found kept, ``missed`` the nearest one beyond at which it was
    found missed: the knee lies between them. Either is ``None`` where no such value was found.
    """

    kept: Figure
    missed: Figure


class PolicyOver(Document):
    """One policy: its points by ascending value, and its knees."""

    points: tuple[OverPoint, ...]
    knees: tuple[Knee, ...]


CALLS = 1500
FIRST_REPLICATIONS, MOST_REPLICATIONS = 4, 8


class OverRequest(SweepRequest):
    """Policies (as ``schedulers``) over one number, in runs of ``jobs`` calls.

    ``replications`` of each point at first, and at most ``most`` where the verdict on the target is open.
    ``edges``: bisect for the knees, to the share ``close`` of their value. ``extend``: go on beyond the
    values, by factors of two, until each policy has kept and missed the target.
    """

    jobs: int = CALLS
    replications: int = FIRST_REPLICATIONS
    most: int = MOST_REPLICATIONS
    extend: bool = False
    close: float = 0.05


class OverSetting(Document):
    """Setting of a sweep: name and seed of the scenario, measured calls of a run, replications at most."""

    name: str
    seed: int
    calls: int
    replications: int


class OverReport(Document):
    """All policies over the values of the number ``key``.

    ``values`` are those asked for; policies have more points near their knees. ``target``: share of SLOs to
    keep. ``now``: the number as it stands in the scenario.
    """

    key: str
    label: str
    unit: Unit
    now: float
    values: tuple[float, ...]
    target: float
    policies: Mapping[str, PolicyOver]
    setting: OverSetting
    seconds: float
