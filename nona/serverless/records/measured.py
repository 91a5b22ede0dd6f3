"""What one run measured, as plain numbers; :mod:`~nona.serverless.records.metrics` adds intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.system import HOUR_S, ServerlessSystem
from nona.serverless.records.container_time import ContainerTime, container_time
from nona.serverless.records.leases import hourly_usd, leases, stood
from nona.serverless.records.memory_use import MemoryUse, memory_use
from nona.serverless.records.run import ServerlessRecords
from nona.serverless.records.standing import StandingMeasures, standing_measures
from nona.simulation.statistics.intervals import percentile, without_nan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
PERCENTILES = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True, slots=True)
class CallMeasures:
    """Of measured calls. ``latency_s``: the mean, then the :data:`PERCENTILES`, of completed ones."""

    calls: int
    completed: int
    dropped: int
    hits: int
    cost: float
    latency_s: tuple[float, ...]

    @property
    def hit_rate(self) -> float:
        """Share of the calls that kept the SLO."""
        return ratio(self.hits, self.calls)

    @property
    def cost_per_call(self) -> float:
        """US dollars."""
        return ratio(self.cost, self.calls)


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """Of one run; the fields are those of :class:`~nona.serverless.records.metrics.ServerlessSummary`."""

    all: CallMeasures
    applications: tuple[CallMeasures, ...]
    cost_per_hit: float
    miss_rate: float
    cold_start_rate: float
    locality: float
    search_s: tuple[float, ...]
    steps: float
    vcpu_utilization: float
    vgpu_utilization: float
    stranded_vgpus: float
    mean_batch: float
    forced: float
    rechecks: float
    prewarms: float
    standing: StandingMeasures | None = None
    containers: ContainerTime | None = None
    memory: MemoryUse | None = None
    evictions: float = 0.0

    @property
    def cost_per_call(self) -> float:
        """US dollars, waiting containers included where they are paid for."""
        return ratio(self.all.cost + self.idle_usd, self.all.calls)

    @property
    def idle_usd(self) -> float:
        """US dollars of containers that waited in the window."""
        return 0.0 if self.containers is None else self.containers.idle_usd


def ratio(part: float, whole: float) -> float:
    """``part / whole``, ``nan`` where there is no whole."""
    return float(part) / float(whole) if whole else math.nan


def batch_cost(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """(m,) US dollars of each batch: price of its vCPUs and of the vGPUs that it held · (ended − dispatched).

    A batch in flight has cost what it held until the run stopped. What runs on an instance that stands costs
    nothing by itself.
    """
    if records.instances is not None:
        return np.zeros(len(records.batches.jobs))
    held = leases(records)
    cost: Floats = hourly_usd(system, held) / HOUR_S * (held.to_s - held.from_s)
    return cost


def call_cost(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """(n,) US dollars of each call: over its stages, the batch's cost / the jobs in it.

    Where instances stand: what those of the application cost in the window, in equal parts for its
    measured calls; nothing for other calls.
    """
    calls, standing = records.calls, stood(system, records)
    if standing is not None and records.instances is not None:
        number = len(system.applications)
        total = np.bincount(records.instances.application, weights=standing.cost, minlength=number)
        measured = np.bincount(calls.application[calls.measured], minlength=number)
        return np.where(calls.measured, (total / np.maximum(measured, 1))[calls.application], 0.0)
    share = batch_cost(system, records) / np.maximum(records.batches.jobs, 1)
    served = np.append(share, 0.0)[calls.batch]  # −1, no batch, is the 0 at the end
    return np.asarray(served.sum(axis=1), dtype=np.float64)


def hits(system: ServerlessSystem, records: ServerlessRecords) -> Bools:
    """(n,) Whether each call was complete within its SLO."""
    calls = records.calls
    slo_s = np.array([app.slo_s for app in system.applications])[calls.application]
    found: Bools = calls.completion_s - calls.arrival_s <= slo_s
    return found


def slo_ratios(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """Latency of each measured call over its SLO; ``nan`` where it was not complete."""
    calls = records.calls
    slo_s = np.array([app.slo_s for app in system.applications])[calls.application]
    found: Floats = ((calls.completion_s - calls.arrival_s) / slo_s)[calls.measured]
    return found


def measure(system: ServerlessSystem, records: ServerlessRecords) -> RunMeasures:
    """Everything about one run."""
    calls, of, sums = records.calls, records.batches, records.sums
    cost, hit = call_cost(system, records), hits(system, records)
    lives = records.containers
    waiting = None if lives is None else container_time(system, records, lives)
    memory = None if lives is None or not system.memory else memory_use(system.memory, records, lives)
    everything = _calls(records, cost, hit, calls.measured)
    inside = (of.dispatched_s >= sums.start_s) & (of.dispatched_s <= sums.end_s)
    batches, length_s = int(inside.sum()), sums.end_s - sums.start_s
    entry = np.array([[s in app.entries for s in range(_widest(system))] for app in system.applications])
    inner = inside & ~entry[of.application, of.stage]
    return RunMeasures(
        all=everything,
        applications=tuple(
            _calls(records, cost, hit, calls.measured & (calls.application == a))
            for a in range(len(system.applications))
        ),
        cost_per_hit=ratio(everything.cost + (waiting.idle_usd if waiting else 0.0), everything.hits),
        miss_rate=ratio(sums.misses, sums.planned),
        cold_start_rate=ratio(sums.cold_starts, batches),
        locality=ratio(of.local[inner].sum(), of.jobs[inner].sum()),
        search_s=_mean_and_percentiles(of.search_s[inside]),
        steps=ratio(of.steps[inside].sum(), batches),
        vcpu_utilization=ratio(sums.vcpu_area, length_s * sum(n.vcpus for n in system.invokers)),
        vgpu_utilization=ratio(sums.vgpu_area, length_s * sum(n.gpus * n.vgpus for n in system.invokers)),
        stranded_vgpus=ratio(sums.stranded_area, length_s),
        mean_batch=ratio(of.jobs[inside].sum(), batches),
        forced=ratio(of.forced[inside].sum(), batches),
        rechecks=ratio(sums.rechecks, batches),
        prewarms=ratio(sums.prewarms, batches),
        containers=waiting,
        memory=memory,
        evictions=ratio(memory.evictions, batches) if memory else 0.0,
        standing=standing_measures(system, records),
    )


def _widest(system: ServerlessSystem) -> int:
    return max(app.stages for app in system.applications)


def _calls(records: ServerlessRecords, cost: Floats, hit: Bools, which: Bools) -> CallMeasures:
    calls = records.calls
    latency_s = without_nan((calls.completion_s - calls.arrival_s)[which])
    return CallMeasures(
        calls=int(which.sum()),
        completed=len(latency_s),
        dropped=int(np.count_nonzero(~np.isnan(calls.dropped_s[which]))),
        hits=int(hit[which].sum()),
        cost=float(cost[which].sum()),
        latency_s=_mean_and_percentiles(latency_s),
    )


def _mean_and_percentiles(values: Floats) -> tuple[float, ...]:
    mean = float(values.mean()) if len(values) else math.nan
    return mean, *(percentile(values, percent) for percent in PERCENTILES)
