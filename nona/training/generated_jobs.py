"""Jobs drawn as Gavel's generator draws them, and replicas of inference jobs.

Sizes: 2 GPUs with probability .1, 4 with .15, 8 with .05, else 1. Durations on a V100: 10^u minutes with u
uniform on [1.5, 3] with probability .8, else on [3, 4]. Models are uniform. Weights: 5 with probability .2,
else 1. SLOs: 1.2, 2 or 10 times the duration with probabilities .33, .34 and .33. Arrivals are a Poisson
process that starts with a job at 0. With Gavel's table the draws are those of its program, number by number
(Python's ``random.Random``, three streams from one seed). Source: Narayanan et al., OSDI 2020, and its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf, log
from random import Random

from nona.core.errors import SimulationError
from nona.scenario.training import GenerateSpec
from nona.training.job_files import TraceJob, reference_rate
from nona.training.system import Throughputs

MODELS = (
    *(f"ResNet-18 (batch size {b})" for b in (16, 32, 64, 128, 256)),
    *(f"ResNet-50 (batch size {b})" for b in (16, 32, 64, 128)),
    *(f"Transformer (batch size {b})" for b in (16, 32, 64, 128, 256)),
    *(f"LM (batch size {b})" for b in (5, 10, 20, 40, 80)),
    *(f"Recommendation (batch size {b})" for b in (512, 1024, 2048, 4096, 8192)),
    *("A3C", "CycleGAN"),
)
"""Gavel's models in the order in which its generator chooses; the first 19 can use several GPUs."""

HEAVY = 5.0
MOST_GPUS = 8
_JOBS, _ARRIVALS, _SLOS = 2, 3, 6  # what is added to the seed
_STRIDE = 1_000_003  # between the seeds of replications


def generate(
    what: GenerateSpec,
    table: Throughputs,
    seed: int,
    replication: int = 0,
    gpus: Mapping[str, int] | None = None,
) -> tuple[TraceJob, ...]:
    """Return the jobs; equal arguments give equal jobs, a longer draw begins with those of a shorter.

    With another table than Gavel's, models are chosen from it, among those that can use so many GPUs; the
    duration is then that on a V100 if the table has a rate for it, else on the fastest GPU. ``gpus`` are the
    numbers of GPUs of a cluster: jobs take at most as many as it has of a type, and models that it cannot run
    are drawn again.

    >>> from nona.training.throughput_table import shipped_throughputs
    >>> [job.model for job in generate(GenerateSpec(jobs=2), shipped_throughputs(), seed=0)]
    ['ResNet-18 (batch size 64)', 'Transformer (batch size 16)']
    """
    start = seed + _STRIDE * replication
    on = _Cluster(table, dict.fromkeys(table.provenance, MOST_GPUS) if gpus is None else gpus)
    models = models_of(table)
    if not any(on.runs(model, 1) for model in models):
        raise SimulationError(
            f"Throughputs {table.source!r}: no model runs on a single GPU of {', '.join(on.gpus)}; choose "
            "other GPUs or another table, such as modelled."
        )
    jobs, slos = Random(start + _JOBS), Random(start + _SLOS)
    arrivals = islice(_arrival_times(what.mean_gap, start), what.jobs)
    return tuple(_job(what, on, models, jobs, slos, arrival_s) for arrival_s in arrivals)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Models and the numbers of GPUs on which they run."""

    table: Throughputs
    gpus: Mapping[str, int]

    def runs(self, model: str, workers: int) -> bool:
        return any(n >= workers and self.table.rate(g, model, workers) > 0 for g, n in self.gpus.items())


def _arrival_times(mean_gap_s: float, seed: int) -> Iterator[float]:
    """0, then gaps −ln(1 − u) · mean; all 0 for a mean of 0."""
    draws, now = Random(seed + _ARRIVALS), 0.0
    while True:
        yield now
        if mean_gap_s > 0:
            now += -log(1.0 - draws.random()) * mean_gap_s


def models_of(table: Throughputs) -> tuple[str, ...]:
    """Return the models to choose from: Gavel's in its order if the table has them, else all by name."""
    single = {key.model for key in table.alone if key.workers == 1}
    return MODELS if single >= set(MODELS) else tuple(sorted(single))


def _job(
    what: GenerateSpec, on: _Cluster, models: Sequence[str], jobs: Random, slos: Random, arrival_s: float
) -> TraceJob:
    workers = _size(jobs.uniform(0, 1)) if what.multi_gpu else _ignored(jobs.uniform(0, 1))
    long = jobs.random() >= 0.8
    duration_s = 60 * 10 ** (jobs.uniform(3, 4) if long else jobs.uniform(1.5, 3))
    model = jobs.choice(models)
    while not any(on.runs(m, workers) for m in models):
        workers //= 2
    while not on.runs(model, workers):
        model = jobs.choice(models)
    steps = duration_s * reference_rate(on.table, model, workers)
    weight = HEAVY if what.weights and jobs.uniform(0, 1) <= 0.2 else 1.0
    factor = _slo(slos.uniform(0, 1)) if what.slos else None
    return TraceJob(model, steps, workers, weight, factor, arrival_s)


def _size(u: float) -> int:
    if u >= 0.95:
        return 8
    if u >= 0.8:
        return 4
    return 2 if u >= 0.7 else 1


def _ignored(_: float) -> int:
    """One GPU; the draw is made all the same, as Gavel's program makes it."""
    return 1


def _slo(u: float) -> float:
    if u < 0.33:
        return 1.2
    return 2.0 if u < 0.67 else 10.0


MOST_LOAD = 0.8
"""ρ_max: the part of a replica's throughput that queries may use."""
SLO_SHARE = 0.95
"""The part of queries that has to keep the SLO."""


def replica_capacity(throughput: float, slo_s: float | None) -> float:
    """Return queries per second that a replica may get: min(ρ_max·μ, μ − ln(1/(1−p))/SLO), at least 0.

    The second holds the share p of response times within the SLO if they are exponential with rate μ − λ, as
    in M/M/1: P(T > t) = e^{−(μ−λ)t}. Replicas share queries in proportion to their capacity.

    >>> replica_capacity(10, None), round(replica_capacity(10, 1.0), 3), replica_capacity(10, 0.1)
    (8.0, 7.004, 0.0)
    """
    by_slo = inf if slo_s is None else throughput - log(1 / (1 - SLO_SHARE)) / slo_s if slo_s > 0 else 0.0
    return max(0.0, min(MOST_LOAD * throughput, by_slo))


def choose_replicas(
    rate: float,
    replicas: int,
    capacity: Mapping[str, float],
    servers: Mapping[str, int],
    prices: Mapping[str, float],
) -> dict[str, int] | None:
    """GPU → replicas, ``replicas`` in all, at most one per server, that serve ``rate`` at the least cost.

    Σ capacity_j·y_j ≥ rate, Σ y_j = replicas, y_j ≤ servers_j; the least Σ price_j·y_j, and among equals the
    least capacity. ``None`` where there is none. Exact: a search over y, cut where the rest cannot serve.

    >>> choose_replicas(12, 3, {"k80": 2, "v100": 8}, {"k80": 5, "v100": 5}, {"k80": 0.5, "v100": 2.5})
    {'k80': 2, 'v100': 1}
    """
    usable = sorted(
        (g for g in capacity if capacity[g] > 0 and servers.get(g, 0)), key=lambda g: -capacity[g]
    )
    best: tuple[float, float, dict[str, int]] | None = None

    def search(
        place: int, left: int, need: float, cost: float, served: float, chosen: dict[str, int]
    ) -> None:
        nonlocal best
        if left == 0:
            if need <= 1e-9 * rate and (best is None or (cost, served) < best[:2]):
                best = (cost, served, dict(chosen))
            return
        if place == len(usable) or need > left * capacity[usable[place]] * (1 + 1e-12):
            return
        gpu = usable[place]
        for count in range(min(left, servers[gpu]), -1, -1):
            more = {**chosen, gpu: count} if count else chosen
            paid, now = cost + count * prices.get(gpu, 0.0), served + count * capacity[gpu]
            search(place + 1, left - count, need - count * capacity[gpu], paid, now, more)

    search(0, replicas, rate, 0.0, 0.0, {})
    return None if best is None else dict(sorted(best[2].items()))
