"""What one policy, or one scheduler in place of a policy, did in one setting."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SerializerFunctionWrapHandler, model_serializer

from nona.results.document import Document, Figure, Interval
from nona.results.estimate import Estimate
from nona.results.serverless.values import Latency, Spread, Tail, TailLatency


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


class PolicyOutcome(Document):
    """One policy; fields as :class:`nona.serverless.records.metrics.ServerlessSummary` explains them.

    ``configuration_miss_rate`` is ``None`` where no batch had a plan made earlier, ``transfers``
    where each takes its time alone, ``containers`` where they neither pay for waiting nor
    need memory, ``memory`` where that is no limit, ``standing`` where batches have leases of their own.
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

    @model_serializer(mode="wrap")
    def _without_what_was_not_modelled(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        found: dict[str, object] = write(self)
        return {key: value for key, value in found.items() if value is not None or key not in OPTIONAL}


class SchedulerApplication(Document):
    """The calls of one application under a DAG scheduler. Times in seconds."""

    slo_s: float | None
    slo_hit_rate: Figure
    latency_s: Tail


class SchedulerOutcome(Document):
    """A DAG scheduler on the same workflows; what has no meaning there is ``None``.

    ``batch`` is the size of every batch; ``left_out`` says what is not simulated.
    """

    kind: str
    batch: int
    left_out: str
    state: str
    state_reason: str
    replications: int
    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    cost_per_hit_usd: Estimate
    latency_s: TailLatency
    applications: Mapping[str, SchedulerApplication]
    configuration_miss_rate: Estimate | None
    cold_start_rate: Figure
    locality: Figure
    search_s: Spread | None
    mean_batch: Figure
    utilization: Utilization
    calls: CallCounts


Outcome = PolicyOutcome | SchedulerOutcome
"""What charts and tables of hits and costs show."""
