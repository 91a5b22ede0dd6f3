"""What was measured of a policy, with intervals over its replications.

Rates are over measured calls that arrived: one that never completed is a miss. Latencies are those of
completed calls. What concerns batches is over those dispatched in the window. An interval is Student's t
over replications; with one replication it has no width (``nan``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.measured import PERCENTILES, RunMeasures, measure, ratio
from nona.serverless.records.overload import judge
from nona.serverless.records.run import ServerlessRecords
from nona.serverless.records.standing import StandingSummary, summarise_standing
from nona.serverless.records.transfers import TransferSummary, summarise_transfers
from nona.simulation.statistics.intervals import Interval, mean_interval

STATES = ("stable", "backlogged", "overloaded")  # from good to bad


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean, and percentiles, each averaged over the replications; ``percentiles[95]`` is p95."""

    mean: Interval
    percentiles: dict[int, float]


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """Of the calls of one application."""

    name: str
    slo_s: float
    calls: int
    slo_hit_rate: Interval
    latency_s: Spread
    cost_per_call_usd: Interval


@dataclass(frozen=True, slots=True)
class ContainerSummary:
    """Of all containers: US dollars a call for executing and for waiting, shares of their time."""

    executing_per_call_usd: Interval
    idle_per_call_usd: Interval
    busy: Interval
    idle: Interval
    starting: Interval


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """Shares of the nodes' memory that containers hold, on average and at most; evictions per batch."""

    mean: Interval
    most: float
    evictions: Interval


@dataclass(frozen=True, slots=True)
class ServerlessSummary:
    """Of one policy.

    Attributes
    ----------
    state, reason
        The worst of the replications, see :mod:`nona.serverless.records.overload`.
    cost_per_call_usd, cost_per_hit_usd
        What the measured calls cost / their number, and / those that kept the SLO; with what containers
        that waited in the window cost, where they are paid for.
    configuration_miss_rate
        Of the batches with a plan made earlier, the share that could not use it; ``None`` if no batch
        had one.
    cold_start_rate
        Cold starts per batch.
    locality
        Share of the jobs of inner stages that found all of their input on their invoker; ``nan`` if there
        were none.
    search_s, steps_mean
        Of a batch's search, as charged.
    vcpu_utilization, vgpu_utilization
        Held / present; above 1 where GPUs are oversubscribed.
    stranded_vgpus
        Mean number of vGPUs that were free but out of reach.
    mean_batch
        Jobs in a batch.
    forced
        Share of the batches on which the smallest configuration was forced.
    rechecks
        Attempts that found no room, per batch.
    prewarms
        Containers started ahead, per batch.
    arrived, completed, dropped, in_flight
        Measured calls of all replications.
    transfers
        Of those that share the network; ``None`` where each takes its time alone.
    containers
        Where the time of containers went; ``None`` where they neither pay for waiting nor need memory.
    memory
        Of nodes; ``None`` where it is no limit.
    standing
        Of the instances that stand; ``None`` for a policy whose batches have leases of their own.
    """

    policy: str
    replications: int
    state: str
    reason: str
    slo_hit_rate: Interval
    cost_per_call_usd: Interval
    cost_per_hit_usd: Interval
    latency_s: Spread
    applications: tuple[ApplicationSummary, ...]
    configuration_miss_rate: Interval | None
    cold_start_rate: Interval
    locality: Interval
    search_s: Spread
    steps_mean: Interval
    vcpu_utilization: Interval
    vgpu_utilization: Interval
    stranded_vgpus: Interval
    mean_batch: Interval
    forced: Interval
    rechecks: Interval
    prewarms: Interval
    arrived: int
    completed: int
    dropped: int
    in_flight: int
    transfers: TransferSummary | None = None
    containers: ContainerSummary | None = None
    memory: MemorySummary | None = None
    standing: StandingSummary | None = None


def summarise(system: ServerlessSystem, records: Sequence[ServerlessRecords]) -> ServerlessSummary:
    """The summary of a policy's replications, of which there is at least one."""
    runs = [measure(system, r) for r in records]
    state, reason = max((judge(r) for r in records), key=lambda found: STATES.index(found[0]))
    mean = _averaging(runs)
    planned = any(r.sums.planned for r in records)
    return ServerlessSummary(
        policy=records[0].policy,
        replications=len(records),
        state=state,
        reason=reason,
        slo_hit_rate=mean(lambda r: r.all.hit_rate),
        cost_per_call_usd=mean(lambda r: r.cost_per_call),
        cost_per_hit_usd=mean(lambda r: r.cost_per_hit),
        latency_s=_spread([r.all.latency_s for r in runs]),
        applications=tuple(_application(system, runs, a) for a in range(len(system.applications))),
        configuration_miss_rate=mean(lambda r: r.miss_rate) if planned else None,
        cold_start_rate=mean(lambda r: r.cold_start_rate),
        locality=mean(lambda r: r.locality),
        search_s=_spread([r.search_s for r in runs]),
        steps_mean=mean(lambda r: r.steps),
        vcpu_utilization=mean(lambda r: r.vcpu_utilization),
        vgpu_utilization=mean(lambda r: r.vgpu_utilization),
        stranded_vgpus=mean(lambda r: r.stranded_vgpus),
        mean_batch=mean(lambda r: r.mean_batch),
        forced=mean(lambda r: r.forced),
        rechecks=mean(lambda r: r.rechecks),
        prewarms=mean(lambda r: r.prewarms),
        arrived=sum(r.all.calls for r in runs),
        completed=sum(r.all.completed for r in runs),
        dropped=sum(r.all.dropped for r in runs),
        in_flight=sum(r.all.calls - r.all.completed - r.all.dropped for r in runs),
        transfers=_transfers(records),
        containers=_containers(runs),
        memory=_memory(runs),
        standing=summarise_standing([r.standing for r in runs if r.standing is not None]),
    )


def _containers(runs: Sequence[RunMeasures]) -> ContainerSummary | None:
    found = [run.containers for run in runs if run.containers is not None]
    if not found:
        return None
    return ContainerSummary(
        executing_per_call_usd=mean_interval([run.all.cost_per_call for run in runs]),
        idle_per_call_usd=mean_interval([ratio(run.idle_usd, run.all.calls) for run in runs]),
        busy=mean_interval([ratio(c.busy_s, c.life_s) for c in found]),
        idle=mean_interval([ratio(c.idle_s, c.life_s) for c in found]),
        starting=mean_interval([ratio(c.starting_s, c.life_s) for c in found]),
    )


def _memory(runs: Sequence[RunMeasures]) -> MemorySummary | None:
    found = [run.memory for run in runs if run.memory is not None]
    if not found:
        return None
    return MemorySummary(
        mean=mean_interval([m.mean for m in found]),
        most=max(m.most for m in found),
        evictions=mean_interval([run.evictions for run in runs]),
    )


def _transfers(records: Sequence[ServerlessRecords]) -> TransferSummary | None:
    used = [r.transfers for r in records if r.transfers is not None]
    if not used:
        return None
    inside = [
        (r.batches.dispatched_s >= r.sums.start_s) & (r.batches.dispatched_s <= r.sums.end_s) for r in records
    ]
    until_s = np.array([r.stopped_s for r in records])
    return summarise_transfers(used, [r.batches.transfer_s for r in records], inside, until_s)


def _averaging(runs: Sequence[RunMeasures]) -> Callable[[Callable[[RunMeasures], float]], Interval]:
    return lambda value: mean_interval([value(run) for run in runs])


def _spread(values: Sequence[tuple[float, ...]]) -> Spread:
    """Each value is a mean, followed by the percentiles."""
    percentiles = {
        percent: mean_interval([v[k] for v in values]).mean for k, percent in enumerate(PERCENTILES, 1)
    }
    return Spread(mean_interval([v[0] for v in values]), percentiles)


def _application(system: ServerlessSystem, runs: Sequence[RunMeasures], number: int) -> ApplicationSummary:
    app, found = system.applications[number], [run.applications[number] for run in runs]
    return ApplicationSummary(
        name=app.name,
        slo_s=app.slo_s,
        calls=int(np.sum([of.calls for of in found])),
        slo_hit_rate=mean_interval([of.hit_rate for of in found]),
        latency_s=_spread([of.latency_s for of in found]),
        cost_per_call_usd=mean_interval([of.cost_per_call for of in found]),
    )
