"""Measures: of one run, whether it was steady, and with intervals over runs.

The window is cut into 20 stretches of equally many arrivals; n₀ … n₂₀ calls are open at their ends. A run
is *overloaded* when more than 2 % of the measured calls were still open when it was cut off, or when the
number grew, by more than 2 % of the calls that arrived, and steadily: its mean change is above 4 standard
errors. (A call that is dropped is open no more.) It is *backlogged*
when it ends with more open than usual (the median) by more than 5 % of the calls, and by more than
4 · √(1 + usual). Otherwise *stable*. These are the rules of
:mod:`nona.queries.simulation.steady_state` for jobs.

Rates are over measured calls that arrived: one that never completed is a miss. Latencies are those of
completed calls. What concerns batches is over those dispatched in the window. An interval is Student's t
over replications; with one replication it has no width (``nan``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Bools, Floats
from nona.core.statistics import Interval, mean_interval, percentile, without_nan
from nona.core.verdict import HitCounts, estimate_of, share_within
from nona.queries.simulation.sizes import MARKS
from nona.queries.simulation.steady_state import BACKLOG, MATERIAL, SIGNIFICANT, UNUSUAL, part_run
from nona.serverless import occupation
from nona.serverless import results as serverless
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import HOUR_S, ServerlessSystem

PERCENTILES = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True, slots=True)
class CallMeasures:
    """Measures of calls. ``latency_s``: the mean, then the :data:`PERCENTILES`, of completed ones."""

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


@dataclass(frozen=True, eq=False, slots=True)
class RunMeasures:
    """Measures of one run, with the fields of :class:`~nona.serverless.results.ServerlessPolicyResult`.

    ``ratios``: latency over SLO of each measured call (``nan``: not complete), ``window_s`` seconds of
    these after ``warmup`` calls.
    """

    state: str
    state_reason: str
    ratios: Floats
    window_s: float
    warmup: int
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
    containers: occupation.ContainerTime | None = None
    memory: occupation.MemoryUse | None = None
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
    batch_leases = occupation.leases(records)
    cost: Floats = (
        occupation.hourly_usd(system, batch_leases) / HOUR_S * (batch_leases.to_s - batch_leases.from_s)
    )
    return cost


def call_cost(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """(n,) US dollars of each call: over its stages, the batch's cost / the jobs in it.

    Where instances stand: what those of the application cost in the window, in equal parts for its
    measured calls; nothing for other calls.
    """
    calls, standing = records.calls, occupation.instance_cost(system, records)
    if standing is not None and records.instances is not None:
        number = len(system.applications)
        total = np.bincount(records.instances.application, weights=standing.cost, minlength=number)
        measured = np.bincount(calls.application[calls.measured], minlength=number)
        return np.where(calls.measured, (total / np.maximum(measured, 1))[calls.application], 0.0)
    share = batch_cost(system, records) / np.maximum(records.batches.jobs, 1)
    served = np.append(share, 0.0)[calls.batch]  # −1, no batch, is the 0 at the end
    return np.asarray(served.sum(axis=1), dtype=np.float64)


def hits(system: ServerlessSystem, records: ServerlessRecords) -> Bools:
    """Return, by call (n,), whether it was complete within its SLO."""
    calls = records.calls
    slo_s = np.array([app.slo_s for app in system.applications])[calls.application]
    on_time: Bools = calls.completion_s - calls.arrival_s <= slo_s
    return on_time


def slo_ratios(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """Latency of each measured call over its SLO; ``nan`` where it was not complete."""
    calls = records.calls
    slo_s = np.array([app.slo_s for app in system.applications])[calls.application]
    ratios: Floats = ((calls.completion_s - calls.arrival_s) / slo_s)[calls.measured]
    return ratios


def measure(system: ServerlessSystem, records: ServerlessRecords) -> RunMeasures:
    """Everything about one run."""
    calls, of, sums = records.calls, records.batches, records.sums
    cost, hit = call_cost(system, records), hits(system, records)
    lives = records.containers
    waiting = None if lives is None else occupation.container_time(system, records, lives)
    memory = (
        None if lives is None or not system.memory else occupation.memory_use(system.memory, records, lives)
    )
    everything = _calls(records, cost, hit, calls.measured)
    inside = _in_window(records)
    batches, length_s = int(inside.sum()), sums.end_s - sums.start_s
    entry = np.array([[s in app.entries for s in range(_widest(system))] for app in system.applications])
    inner = inside & ~entry[of.application, of.stage]
    state, why = judge(system, records)
    return RunMeasures(
        state=state,
        state_reason=why,
        ratios=slo_ratios(system, records),
        window_s=length_s,
        warmup=int(calls.measured.argmax()),
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


def _open_calls(records: ServerlessRecords) -> Floats:
    """(21,) Calls that are open when the measured calls at the marks have just arrived."""
    calls = records.calls
    measured = np.flatnonzero(calls.measured)
    steps = np.arange(MARKS + 1)
    marks = measured[0] + (2 * steps * (len(measured) - 1) + MARKS) // (2 * MARKS)
    end_s = ended_s(records)
    ends = np.sort(end_s[~np.isnan(end_s)])
    gone = np.searchsorted(ends, calls.arrival_s[marks], side="right")
    return np.asarray(marks + 1 - gone, dtype=np.float64)


def ended_s(records: ServerlessRecords) -> Floats:
    """Return the time (n,) at which each call was complete or dropped; ``nan`` while it is open."""
    calls = records.calls
    return np.where(np.isnan(calls.completion_s), calls.dropped_s, calls.completion_s)


def judge(system: ServerlessSystem, records: ServerlessRecords) -> tuple[str, str]:
    """(state, why when it is not stable) of a run; see the head of this module.

    A run over part of a cycle of the load is backlogged where others are overloaded, as
    :func:`nona.queries.simulation.steady_state.judge` says.
    """
    calls = records.calls
    count = int(calls.measured.sum())
    unfinished = int(np.isnan(ended_s(records)[calls.measured]).sum())
    open_at = _open_calls(records)
    there, usual = float(open_at[-1]), float(np.median(open_at))
    classes = [] if system.interval else [(app.arrivals, app.rate) for app in system.applications]
    part = part_run(classes, records.sums.end_s - records.sums.start_s, "calls")
    if unfinished > MATERIAL * count:
        return "backlogged" if part else "overloaded", (
            f"{unfinished} of {count} measured calls were not complete when the run was cut off"
            f"{f': {part}' if part else '; add nodes or lower the rates'}."
        )
    change = np.diff(open_at)
    mean, error = float(change.mean()), float(change.std(ddof=1)) / len(change) ** 0.5
    growing = mean * len(change) > MATERIAL * count and mean > SIGNIFICANT * error
    if growing and part:
        return "backlogged", f"{there:.0f} calls were open at the end of the window: {part}."
    if growing:
        return "overloaded", (
            f"The number of open calls kept growing, from {open_at[0]:.0f} to {open_at[-1]:.0f}; add "
            "nodes or lower the rates."
        )
    if there - usual > max(BACKLOG * count, UNUSUAL * (1 + usual) ** 0.5):
        return "backlogged", (
            f"{there:.0f} calls were open at the end of the window, usually {usual:.0f}; "
            f"{part or 'measure more calls'}."
        )
    return "stable", ""


STATES = ("stable", "backlogged", "overloaded")  # from good to bad


def summarise(
    system: ServerlessSystem, records: Sequence[ServerlessRecords]
) -> serverless.ServerlessPolicyResult:
    """Return the outcome of a policy's replications, of which there is at least one.

    The state is the worst of the replications; a mean is that of the replications.
    """
    runs = [measure(system, r) for r in records]
    worst = max(runs, key=lambda run: STATES.index(run.state))
    planned = any(r.sums.planned for r in records)

    def mean(value: Callable[[RunMeasures], float]) -> Interval:
        return mean_interval([value(run) for run in runs])

    latency = [r.all.latency_s for r in runs]
    return serverless.ServerlessPolicyResult(
        state=worst.state,
        state_reason=worst.state_reason,
        replications=len(records),
        slo_hit_rate=share_within([r.ratios for r in runs]),
        cost_per_call_usd=mean(lambda r: r.cost_per_call).estimate,
        cost_per_hit_usd=mean(lambda r: r.cost_per_hit).estimate,
        latency_s=serverless.Latency(ci95=mean(lambda r: r.all.latency_s[0]).ends, **dict(_spread(latency))),
        applications={
            app.name: _application(app.slo_s, [run.applications[k] for run in runs])
            for k, app in enumerate(system.applications)
        },
        configuration_miss_rate=mean(lambda r: r.miss_rate).rate if planned else None,
        cold_start_rate=mean(lambda r: r.cold_start_rate).mean,
        locality=mean(lambda r: r.locality).mean,
        search_s=_spread([r.search_s for r in runs]),
        steps_mean=mean(lambda r: r.steps).mean,
        utilization=serverless.Utilization(
            vcpu=mean(lambda r: r.vcpu_utilization).mean, vgpu=mean(lambda r: r.vgpu_utilization).mean
        ),
        stranded_vgpus=mean(lambda r: r.stranded_vgpus).mean,
        mean_batch=mean(lambda r: r.mean_batch).mean,
        forced=mean(lambda r: r.forced).mean,
        rechecks=mean(lambda r: r.rechecks).mean,
        prewarms=mean(lambda r: r.prewarms).mean,
        calls=_counts(runs),
        transfers=_transfers(records),
        containers=_containers(runs),
        memory=_memory(runs),
        standing=occupation.standing_outcome(system, records),
        runs={
            "slo_hit_rate": tuple(r.all.hit_rate for r in runs),
            "cost_per_call_usd": tuple(r.cost_per_call for r in runs),
            "latency_s": tuple(r.all.latency_s[0] for r in runs),
        },
    )


def _counts(runs: Sequence[RunMeasures]) -> serverless.CallCounts:
    counts = [(run.all.calls, run.all.completed, run.all.dropped) for run in runs]
    arrived, completed, dropped = map(sum, zip(*counts, strict=True))
    return serverless.CallCounts(
        arrived=arrived, completed=completed, in_flight=arrived - completed - dropped, dropped=dropped
    )


def _containers(runs: Sequence[RunMeasures]) -> serverless.ContainerOutcome | None:
    containers = [run.containers for run in runs if run.containers is not None]
    if not containers:
        return None
    return serverless.ContainerOutcome(
        executing_per_call_usd=mean_interval([run.all.cost_per_call for run in runs]).estimate,
        idle_per_call_usd=mean_interval([ratio(run.idle_usd, run.all.calls) for run in runs]).estimate,
        busy=mean_interval([ratio(c.busy_s, c.life_s) for c in containers]).mean,
        idle=mean_interval([ratio(c.idle_s, c.life_s) for c in containers]).mean,
        starting=mean_interval([ratio(c.starting_s, c.life_s) for c in containers]).mean,
    )


def _memory(runs: Sequence[RunMeasures]) -> serverless.MemoryOutcome | None:
    memory = [run.memory for run in runs if run.memory is not None]
    if not memory:
        return None
    return serverless.MemoryOutcome(
        mean=mean_interval([m.mean for m in memory]).mean,
        most=max(m.most for m in memory),
        evictions=mean_interval([run.evictions for run in runs]).estimate,
    )


def _transfers(records: Sequence[ServerlessRecords]) -> serverless.TransferOutcome | None:
    used = [r.transfers for r in records if r.transfers is not None]
    if not used:
        return None
    means, waits = [], []
    for run, of in zip(used, records, strict=True):
        seconds = of.batches.transfer_s
        which = _in_window(of) & run.complete & ~np.isnan(run.alone_s)
        means.append(float(seconds[which].mean()) if which.any() else np.nan)
        waits.append(float((seconds - run.alone_s)[which].mean()) if which.any() else np.nan)
    shares = np.mean([run.busy_s / of.stopped_s for run, of in zip(used, records, strict=True)], axis=0)
    busiest = int(shares.argmax())
    return serverless.TransferOutcome(
        mean_s=mean_interval(means).estimate,
        wait_s=mean_interval(waits).estimate,
        core_utilization=float(shares[0]),
        busiest_link=used[0].links[busiest],
        busiest_utilization=float(shares[busiest]),
    )


def _in_window(records: ServerlessRecords) -> Bools:
    at_s, sums = records.batches.dispatched_s, records.sums
    return np.asarray((at_s >= sums.start_s) & (at_s <= sums.end_s))


def _spread(values: Sequence[tuple[float, ...]]) -> serverless.Spread:
    """Each value is a mean, followed by the percentiles; each is averaged over the replications."""
    mean, *percentiles = (mean_interval(column).mean for column in zip(*values, strict=True))
    return serverless.Spread(mean=mean, **{f"p{p}": v for p, v in zip(PERCENTILES, percentiles, strict=True)})


def _application(slo_s: float, runs: Sequence[CallMeasures]) -> serverless.ApplicationOutcome:
    rate = estimate_of(HitCounts(tuple(of.calls for of in runs), tuple(of.hits for of in runs)))
    return serverless.ApplicationOutcome(
        slo_s=slo_s,
        calls=sum(of.calls for of in runs),
        slo_hit_rate=rate.mean,
        slo_hit_ci95=rate.ci95,
        latency_s=_spread([of.latency_s for of in runs]),
        cost_per_call_usd=mean_interval([of.cost_per_call for of in runs]).mean,
    )
