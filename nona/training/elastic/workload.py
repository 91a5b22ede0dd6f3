"""Workloads of elastic jobs in CSV, and what the authors' simulator gave."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from nona.core.errors import SimulationError
from nona.core.rows import TableRow, TextTable
from nona.training.elastic.applications import TrainingApplication
from nona.training.elastic.profiles import shipped_applications
from nona.training.elastic.system import ElasticJob

COLUMNS = ("name", "arrival_s", "application", "gpus", "batch_size")
MOST_JOBS = 10_000
MOST_SECONDS = 1e9
MOST_GPUS = 1024
SHIPPED = (1, 2, 3, 4)
"""Numbers of the workloads that ship."""


@cache
def shipped_workload(number: int) -> tuple[ElasticJob, ...]:
    """One of the four workloads of 160 jobs that ship.

    >>> shipped_workload(1)[0].name, len(shipped_workload(1))
    ('cifar10-0', 160)
    """
    if number not in SHIPPED:
        choices = ", ".join(map(str, SHIPPED))
        raise SimulationError(f"Workload {number} does not ship; choose from {choices}.")
    data = files("nona.training.elastic").joinpath("data/workloads.csv").read_text(encoding="utf-8")
    rows = (line.partition(",") for line in data.splitlines())
    own = "\n".join(rest for first, _, rest in rows if first in ("workload", str(number)))
    return read_workload(own.encode(), f"Workload {number}", shipped_applications())


def read_workload(
    data: bytes, what: str, applications: Mapping[str, TrainingApplication]
) -> tuple[ElasticJob, ...]:
    """Jobs from CSV with the columns ``name, arrival_s, application, gpus, batch_size``, by arrival.

    Jobs of one time stay in the order of the file.
    """
    table = TextTable(data, what, MOST_JOBS)
    nothing = "it has no jobs; give at least one row."
    jobs = table.read(COLUMNS, (), lambda line: _job(line, applications), nothing)
    return tuple(sorted(jobs, key=lambda job: job.arrival_s))


def _job(line: TableRow, applications: Mapping[str, TrainingApplication]) -> ElasticJob | None:
    name, arrival_s = line.name("name"), line.value("arrival_s", MOST_SECONDS)
    gpus = line.whole("gpus", MOST_GPUS)
    if (application := applications.get(line.cell("application"))) is None:
        names = ", ".join(applications)
        line.add(f"application={line.cell('application')[:40]!r} is not known; choose from {names}.")
        return None
    batches = application.batches
    batch = line.whole("batch_size", batches.most, batches.least)
    if not line.wrong and gpus * batches.least_local > batch:
        line.add(
            f"gpus={gpus} need a batch of at least {gpus * batches.least_local} samples, not {batch}; "
            "ask for fewer GPUs."
        )
    return ElasticJob(name, arrival_s, application, gpus, batch)


def at_load(number: int, load: float) -> tuple[ElasticJob, ...]:
    """``load`` times as many jobs as a shipped workload has, in the same eight hours.

    Below 1 jobs are left out evenly; above 1 those of the next workloads (after the fourth the first) come
    beside its own, named ``w2-…``. A job belongs to the part p that is not whole if ⌊(i + 1)p⌋ > ⌊ip⌋.

    >>> [len(at_load(1, load)) for load in (0.5, 1, 1.5, 2)]
    [80, 160, 240, 320]
    """
    if not 0 < load <= len(SHIPPED):
        raise SimulationError(f"Load {load:g} must be above 0 and at most {len(SHIPPED)}; 1 is as measured.")
    chosen: list[ElasticJob] = []
    for more in range(math.ceil(load)):
        own = (number - 1 + more) % len(SHIPPED) + 1
        part = min(load - more, 1.0)
        jobs = [job for i, job in enumerate(shipped_workload(own)) if int((i + 1) * part) > int(i * part)]
        chosen += jobs if not more else [replace(job, name=f"w{own}-{job.name}") for job in jobs]
    if not chosen:
        whole = len(shipped_workload(number))
        raise SimulationError(
            f"Load {load:g} leaves none of the {whole} jobs of workload {number}; raise it to {1 / whole:g} "
            "or more."
        )
    return tuple(sorted(chosen, key=lambda job: job.arrival_s))


class PublishedRun(NamedTuple):
    """A published run; ``workload`` 0: the mean over the authors' eight workloads."""

    policy: str
    load: float
    interference: float
    avoid: bool
    workload: int


@cache
def published() -> dict[PublishedRun, float]:
    """Mean JCT in seconds by case.

    >>> published()[PublishedRun("tiresias", 1.0, 0.0, True, 1)]
    2473.65
    """
    text = files("nona.training.elastic").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        PublishedRun(
            row["policy"],
            float(row["load"]),
            float(row["interference"]),
            row["avoid"] == "1",
            0 if row["workload"] == "mean" else int(row["workload"]),
        ): float(row["mean_jct_s"])
        for row in csv.DictReader(text.splitlines())
    }
