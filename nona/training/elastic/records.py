"""Records of a run: the GPUs of each job, checks, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.checks import Check
from nona.core.errors import SimulationError
from nona.training.elastic.policy import compact
from nona.training.elastic.results import ElasticJobOutcome, ElasticOutcome
from nona.training.elastic.system import ElasticJob, ElasticSystem, NodeShares, size_of
from nona.training.metrics import jct_of


@dataclass(frozen=True, slots=True)
class GpuChange:
    """From ``time_s`` on a job has these GPUs. ``value``: the policy's figure on it, or ``None``.

    ``facts``: what else the policy knew of it.
    """

    time_s: float
    job: int
    given: NodeShares
    value: float | None
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class TickRows:
    """(P,) one row for each job with GPUs at the end of each tick.

    ``batch`` in samples; ``progress`` in epochs, done in all.
    """

    time_s: Floats
    job: Ints
    gpus: Ints
    batch: Ints
    progress: Floats


@dataclass(frozen=True, eq=False, slots=True)
class ElasticRecords:
    """A run. Jobs by number (M), ticks in order (K).

    ``arrival_s``, ``completion_s``: (M,) seconds.
    ``gpu_s``, ``paused_gpu_s``, ``link_gpu_s``: (M,) GPU-seconds until completion, and those of them in
        pauses after changes and waiting for the link.
    ``restarts``, ``epochs``: (M,) starts after the first one; epochs done.
    ``tick_s``, ``running``, ``waiting``: (K,) the end of each tick; jobs with GPUs and without from then on.
    """

    policy: str
    arrival_s: Floats
    completion_s: Floats
    gpu_s: Floats
    paused_gpu_s: Floats
    link_gpu_s: Floats
    restarts: Ints
    epochs: Ints
    tick_s: Floats
    running: Ints
    waiting: Ints
    changes: tuple[GpuChange, ...]
    points: TickRows

    @property
    def jct_s(self) -> Floats:
        """(n,) seconds from arrival to completion."""
        jct_s: Floats = self.completion_s - self.arrival_s
        return jct_s


TOLERANCE = 1e-9


def elastic_checks(system: ElasticSystem, records: ElasticRecords) -> tuple[Check, ...]:
    """All checks of one run."""
    return (
        _capacity(system, records),
        _booked(records),
        _causality(records),
        _epochs(system, records),
        _little(system, records),
    )


def _capacity(system: ElasticSystem, records: ElasticRecords) -> Check:
    used = np.zeros(system.cluster.nodes, np.int64)
    had: dict[int, NodeShares] = {}
    most = 0
    for at in sorted({change.time_s for change in records.changes}):
        for change in (c for c in records.changes if c.time_s == at):
            for share in had.get(change.job, ()):
                used[share.node] -= share.gpus
            for share in change.given:
                used[share.node] += share.gpus
            had[change.job] = change.given
        most = max(most, int(used.max()))
    ok = most <= system.cluster.gpus
    return Check("allocation within capacity", ok, f"at most {most} of {system.cluster.gpus} GPUs of a node")


def _booked(records: ElasticRecords) -> Check:
    gpu_s = np.zeros(len(records.gpu_s))
    since: dict[int, tuple[float, int]] = {}
    for change in records.changes:
        start, gpus = since.get(change.job, (change.time_s, 0))
        end = min(change.time_s, float(records.completion_s[change.job]))
        gpu_s[change.job] += gpus * (end - start)
        since[change.job] = (change.time_s, size_of(change.given))
    error = float(np.abs(gpu_s - records.gpu_s).max())
    ok = error <= TOLERANCE * float(records.gpu_s.max())
    return Check("busy time = booked time", ok, f"GPU-seconds of a job differ by {error:.2g} at most")


def _causality(records: ElasticRecords) -> Check:
    early = sum(c.time_s < records.arrival_s[c.job] for c in records.changes)
    late = sum(c.time_s >= records.completion_s[c.job] for c in records.changes if c.given)
    text = f"{early} changes before the arrival, {late} after the completion"
    return Check("no run before arrival, none after completion", not early and not late, text)


def _epochs(system: ElasticSystem, records: ElasticRecords) -> Check:
    asked = np.array([job.application.epochs for job in system.jobs])
    points = records.points
    order = np.lexsort((points.time_s, points.job))
    same = np.diff(points.job[order]) == 0
    lost = int((np.diff(points.progress[order])[same] < 0).sum())
    wrong = int((records.epochs != asked).sum())
    return Check(
        "epochs done = epochs asked",
        not wrong and not lost,
        f"{wrong} jobs differ; progress fell {lost} times",
    )


def _little(system: ElasticSystem, records: ElasticRecords) -> Check:
    """Jobs in the system, summed over ticks, are the ticks that jobs were there (Little's law).

    A completion that was rounded down to the start of a tick is seen at its end: one tick more.
    """
    tick = float(system.tick_s)
    first = np.ceil(np.maximum(records.arrival_s, tick) / tick)
    last = np.ceil(records.completion_s / tick)
    counted = int((records.running + records.waiting).sum())
    there = int((last - first).sum())
    ok = 0 <= counted - there <= int((records.completion_s % tick == 0).sum())
    return Check("Little's law", ok, f"{counted} jobs at ticks, {there} ticks of jobs")


def measure_elastic(system: ElasticSystem, records: ElasticRecords) -> ElasticOutcome:
    """Return the figures of one run, in which all jobs are complete."""
    makespan_s = float(records.completion_s.max() - records.arrival_s.min())
    used = float(records.gpu_s.sum())
    waited_s, rho = _waited_s(records), _fairness(system, records)
    with_gpus_s = float(records.jct_s.sum()) - sum(waited_s)
    return ElasticOutcome(
        jct_s=jct_of(records.jct_s),
        published_s=None,
        makespan_s=makespan_s,
        utilization=used / (system.cluster.size * makespan_s),
        restarts=float(np.mean(records.restarts)),
        paused_share=float(records.paused_gpu_s.sum()) / used,
        waited_s=sum(waited_s) / len(waited_s),
        mean_gpus=used / with_gpus_s if with_gpus_s else 0.0,
        efficiency=_efficiency(system, records.points),
        link_share=float(records.link_gpu_s.sum()) / used,
        replications=1,
        jobs=tuple(
            ElasticJobOutcome.from_fields(
                job,
                application=job.application.name,
                jct_s=float(records.jct_s[n]),
                waited_s=waited_s[n],
                gpu_s=float(records.gpu_s[n]),
                restarts=int(records.restarts[n]),
                rho=rho[n],
            )
            for n, job in enumerate(system.jobs)
        ),
    )


def _waited_s(records: ElasticRecords) -> list[float]:
    waited = [0.0] * len(records.arrival_s)
    since: dict[int, float] = dict(enumerate(records.arrival_s.tolist()))
    for change in records.changes:
        if not change.given:
            since.setdefault(change.job, change.time_s)
        elif (begin := since.pop(change.job, None)) is not None:
            waited[change.job] += change.time_s - begin
    return waited


def _efficiency(system: ElasticSystem, points: TickRows) -> float:
    efficiencies = dict[tuple[int, int, int], float]()
    keys = list(
        zip(points.job.tolist(), points.batch.tolist(), points.progress.astype(int).tolist(), strict=True)
    )
    for job, batch, epoch in set(keys):
        efficiencies[job, batch, epoch] = efficiency_of(system.jobs[job], batch, epoch)
    return float(np.average([efficiencies[key] for key in keys], weights=points.gpus))


def efficiency_of(job: ElasticJob, batch: int, epoch: int) -> float:
    """Statistical efficiency: progress of a sample over that of one at the smallest batch size.

    gain(B/B₀) / (B/B₀), at most 1. Source: Qiao et al., Pollux, OSDI 2021, section 3.
    """
    application = job.application
    scale = batch / application.batches.least
    return application.noise(batch, min(epoch, application.epochs - 1)).gain(scale) / scale


def _fairness(system: ElasticSystem, records: ElasticRecords) -> list[float | None]:
    """ρ of each job; ``None`` where profiles do not say how fast it is on its share.

    ρ = JCT / T_share. The share is ⌊GPUs / mean number of jobs that were there with it⌋, at least 1, at most
    what the job's batch can use; T_share: one restart, then all epochs on these GPUs alone, on as few nodes
    as possible, with the user's batch size.

    Source: Mahajan et al., Themis, NSDI 2020, section 3 (recollected); the share as whole GPUs is ours.
    """
    there = (records.running + records.waiting).astype(float)
    times_alone_s: dict[tuple[str, int, int], float | None] = {}
    rhos: list[float | None] = []
    for n, job in enumerate(system.jobs):
        arrival_s, completion_s = records.arrival_s[n], records.completion_s[n]
        within = (records.tick_s >= arrival_s) & (records.tick_s < completion_s)
        others = float(there[within].mean()) if within.any() else 1.0
        share = int(system.cluster.size / max(others, 1.0))
        gpus = max(1, min(share, job.application.most_at(job.batch)))
        key = (job.application.name, job.batch, gpus)
        if key not in times_alone_s:
            times_alone_s[key] = _alone_s(system, job, gpus)
        alone_s = times_alone_s[key]
        rhos.append(None if alone_s is None else float(completion_s - arrival_s) / alone_s)
    return rhos


def _alone_s(system: ElasticSystem, job: ElasticJob, gpus: int) -> float | None:
    application, counts = job.application, compact(system.cluster, gpus)
    split = application.batches.split(job.batch, gpus)
    steps = np.diff(application.ends, prepend=0.0)
    try:
        rates = [application.rate(counts, split, epoch) for epoch in range(application.epochs)]
    except SimulationError:
        return None
    return system.restart_s + float((steps / np.array(rates)).sum())
