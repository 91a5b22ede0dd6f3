"""Jobs drawn at random as Gavel's generator draws them.

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
from math import log
from random import Random

from nona.errors import SimulationError
from nona.training.model.throughputs import Throughputs
from nona.training.workload.trace import TraceJob, reference_rate

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


@dataclass(frozen=True, slots=True)
class Generation:
    """What to draw: ``mean_gap_s`` between arrivals (0: all at the start), see the module for the rest."""

    jobs: int
    mean_gap_s: float
    multi_gpu: bool = False
    weights: bool = False
    slos: bool = False


def generate(
    what: Generation,
    table: Throughputs,
    seed: int,
    replication: int = 0,
    gpus: Mapping[str, int] | None = None,
) -> tuple[TraceJob, ...]:
    """The jobs; equal arguments give equal jobs, and the first jobs of a longer draw are those of a shorter.

    With another table than Gavel's, models are chosen from it, among those that can use so many GPUs; the
    duration is then that on a V100 if the table has a rate for it, else on the fastest GPU. ``gpus`` are the
    numbers of GPUs of a cluster: jobs take at most as many as it has of a type, and models that it cannot run
    are drawn again.

    Raises
    ------
    SimulationError
        When no model of the table runs on a single GPU of the cluster.

    Examples
    --------
    >>> from nona.training.workload.table import shipped_throughputs
    >>> [job.model for job in generate(Generation(2, 600), shipped_throughputs(), seed=0)]
    ['ResNet-18 (batch size 64)', 'Transformer (batch size 16)']
    """
    start = seed + _STRIDE * replication
    on = _Cluster(table, dict.fromkeys(table.provenance, MOST_GPUS) if gpus is None else gpus)
    models = models_of(table)
    if not any(on.runs(model, 1) for model in models):
        raise SimulationError(
            f"Throughputs {table.source!r}: no model runs on a single GPU of {', '.join(on.gpus)}, so that "
            "no jobs can be drawn; choose other GPUs or another table, such as modelled."
        )
    jobs, slos = Random(start + _JOBS), Random(start + _SLOS)
    arrivals = islice(arrival_times(what.mean_gap_s, start), what.jobs)
    return tuple(_job(what, on, models, jobs, slos, arrival_s) for arrival_s in arrivals)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Which models run on how many GPUs."""

    table: Throughputs
    gpus: Mapping[str, int]

    def runs(self, model: str, workers: int) -> bool:
        return any(n >= workers and self.table.rate(g, model, workers) > 0 for g, n in self.gpus.items())


def arrival_times(mean_gap_s: float, seed: int) -> Iterator[float]:
    """0, then gaps −ln(1 − u) · mean; all 0 for a mean of 0."""
    draws, now = Random(seed + _ARRIVALS), 0.0
    while True:
        yield now
        if mean_gap_s > 0:
            now += -log(1.0 - draws.random()) * mean_gap_s


def models_of(table: Throughputs) -> tuple[str, ...]:
    """The models to choose from: Gavel's in its order if the table has them, else all by name."""
    single = {key.model for key in table.alone if key.workers == 1}
    return MODELS if single >= set(MODELS) else tuple(sorted(single))


def _job(
    what: Generation, on: _Cluster, models: Sequence[str], jobs: Random, slos: Random, arrival_s: float
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
