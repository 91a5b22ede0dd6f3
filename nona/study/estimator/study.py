"""Error of the throughput estimator: every model of the shipped table in turn is a new job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

import nona
from nona.random_streams import RandomStreams
from nona.report.means import mean_of
from nona.results.estimate import UNKNOWN
from nona.results.studies.estimator import EstimatorAbout, EstimatorPoint, EstimatorStudy, Way
from nona.simulation.statistics.intervals import mean_interval
from nona.study.provenance import now_text
from nona.training.estimator.completion import Completion, Floats
from nona.training.estimator.pairs import matched
from nona.training.estimator.reference import Reference, profiled, reference_of
from nona.training.workload.table import shipped_throughputs

GAVEL_STOP = 1e-3
"""Where the public program stops: after two or three sweeps on this table."""

Tell = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class EstimatorSettings:
    """Shares of entries that are profiled, and how often each model is profiled at each of them."""

    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
    stops: tuple[float, ...] = (GAVEL_STOP, Completion().tolerance)
    replications: int = 5
    seed: int = 0


def estimator_study(settings: EstimatorSettings, on_progress: Tell | None = None) -> EstimatorStudy:
    """Profile, complete, match; compare with the measured rows and with estimates that need no profile."""
    started = time.perf_counter()
    table = shipped_throughputs()
    types = tuple(sorted({key.gpu for key in table.alone}))
    reference = reference_of(table, types)
    cases = [(r, stop, p) for r in ("known", "new") for stop in settings.stops for p in settings.shares]
    points = []
    for number, (kind, stop, share) in enumerate(cases):
        if on_progress is not None:
            on_progress(number / len(cases), f"{share:.0%} profiled")
        points.append(_point(reference, "known" if kind == "known" else "new", stop, share, settings))
    about = EstimatorAbout(
        command=f"nona study estimator --replications {settings.replications} --seed {settings.seed}",
        version=nona.__version__,
        made=now_text(),
        replications=settings.replications,
        seed=settings.seed,
        seconds=time.perf_counter() - started,
        table=table.source,
        models=len(reference.models),
        types=types,
    )
    return EstimatorStudy(about=about, points=tuple(points))


def _point(
    reference: Reference,
    kind: Literal["known", "new"],
    stop: float,
    share: float,
    settings: EstimatorSettings,
) -> EstimatorPoint:
    """All models, ``replications`` times; one value of each mean per replication."""
    how, errors, found = Completion(tolerance=stop), [], []
    for replication in range(settings.replications):
        streams = RandomStreams(settings.seed, replication)
        tried = list(_models(reference, kind, share, how, streams))
        errors.append({way: float(np.mean([e[way] for e, _ in tried])) for way in tried[0][0]})
        found.append(float(np.mean([hit for _, hit in tried])))
    means = {way: mean_of(mean_interval([e[way] for e in errors])) for way in errors[0]}
    hits = mean_of(mean_interval(found)) if kind == "known" else UNKNOWN
    return EstimatorPoint(profiled=share, reference=kind, stop=stop, errors=means, found=hits)


def _models(
    whole: Reference, kind: str, share: float, how: Completion, streams: RandomStreams
) -> Iterator[tuple[dict[Way, float], bool]]:
    """Errors of each model as the new job, and whether it was recognised."""
    for number, model in enumerate(whole.models):
        reference, truth = whole, whole.kept[number]
        if kind == "new":
            others = [b for b in range(len(whole.models)) if b != number]
            columns = [whole.column(j, b) for j in range(len(whole.types)) for b in others]
            reference, truth = whole.without(number), truth[columns]
        known = profiled(truth, share, streams.generator("profiled", model))
        generator = streams.generator("completion", model)
        match, row = matched(truth, known, reference, how, generator)
        yield _errors(reference.kept, match, row, truth), kind == "known" and match == number


def _errors(rows: Floats, match: int, row: Floats, truth: Floats) -> dict[Way, float]:
    distances = np.abs(rows - truth).mean(axis=1)
    return {
        "match": float(distances[match]),
        "completed": float(np.abs(row - truth).mean()),
        "table-mean": float(np.abs(rows.mean(axis=0) - truth).mean()),
        "random-reference": float(distances.mean()),
        "nearest": float(distances.min()),
    }
