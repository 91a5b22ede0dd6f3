"""Profiles of applications in CSV: the six measured for Pollux, and a user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeVar

import numpy as np

from nona.core.errors import ScenarioError
from nona.core.rows import TableRow, TextTable
from nona.training.elastic.applications import (
    BatchSizes,
    Counts,
    MeasuredTimes,
    StepTimesOfApplication,
    TrainingApplication,
)

MOST_ROWS = 200_000
MOST_BATCH = 10**9
MOST_EPOCHS = 10_000
MOST_GPUS = 1024
MOST_PARAMETERS = 10**13
MOST_SECONDS = 1e6
MOST_FIGURE = 1e300


class ProfileFiles(NamedTuple):
    """The four files of profiles. Columns as in ``applications.csv`` and so on, which ship."""

    applications: bytes
    placements: bytes
    scalability: bytes
    epochs: bytes


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "applications": (
        *("application", "task", "epochs", "least_batch", "most_batch", "least_local", "most_local"),
        *("fixed_batch", "most_gpus"),
    ),
    "placements": ("application", "placement", "local_bsz", "step_s", "sync_s"),
    "scalability": ("application", "num_nodes", "num_replicas", "local_bsz", "step_s", "sync_s"),
    "epochs": ("application", "batch_size", "progress", "iteration", "grad_sqr", "grad_var"),
}
_OPTIONAL = {"applications": ("checked", "parameters"), "epochs": ("error",)}
R = TypeVar("R")


def _counts(line: TableRow) -> Counts:
    text = line.cell("placement")
    if not (text.isascii() and text.isdigit() and len(text) <= 64 and "0" not in text):
        line.add(
            f"placement={text[:40]!r} must be one digit from 1 to 9 for each node, its GPUs; correct it."
        )
        return (1,)
    return tuple(int(digit) for digit in text)


def _times(line: TableRow) -> tuple[float, float]:
    step, sync = line.value("step_s", MOST_SECONDS), line.value("sync_s", MOST_SECONDS)
    if not 0 < step > sync:
        line.add(f"step_s={step:g} must be above sync_s={sync:g}; correct it.")
    return step, sync


class _Limits(NamedTuple):
    task: str
    epochs: int
    batches: BatchSizes
    fixed_batch: int | None
    most_gpus: int | None
    parameters: int | None


def read_applications(tables: ProfileFiles, what: str) -> dict[str, TrainingApplication]:
    """Applications by name.

    ``tables``: ``applications`` states limits; ``placements`` has step times by placement (one digit of GPUs
        for each node), ``scalability`` those on many nodes (may have no rows), ``epochs`` one row for each
        epoch at each batch size, in order; their ``error`` on a validation set may be left out.
    ``what``: names the profiles in errors.
    """
    limits = dict(_rows(tables.applications, "applications", what, _limits))
    placed = _grouped(_rows(tables.placements, "placements", what, _placed))
    scaled = _grouped(_rows(tables.scalability, "scalability", what, _scaled))
    epochs = _grouped(_rows(tables.epochs, "epochs", what, _epoch))
    if unknown := sorted({*placed, *scaled, *epochs} - limits.keys()):
        raise ScenarioError([f"{what}: application {unknown[0]!r} has no limits; add it to applications."])
    return {
        name: _application(name, of, placed.get(name, []), scaled.get(name, []), epochs.get(name, []), what)
        for name, of in limits.items()
    }


def _rows(data: bytes, table: str, what: str, read: Callable[[TableRow], R]) -> list[R]:
    return TextTable(data, f"{what}, {table}.csv", MOST_ROWS).read(
        COLUMNS[table], _OPTIONAL.get(table, ()), read
    )


def _grouped(rows: Sequence[tuple[str, R]]) -> dict[str, list[R]]:
    groups: dict[str, list[R]] = {}
    for name, row in rows:
        groups.setdefault(name, []).append(row)
    return groups


def _limits(line: TableRow) -> tuple[str, _Limits]:
    batches = BatchSizes(*(line.whole(key, MOST_BATCH) for key in COLUMNS["applications"][3:7]))
    if batches.least > batches.most or batches.least_local > batches.most_local:
        line.add("the least batch sizes must not be above the most; correct them.")
    most_of = {"fixed_batch": MOST_BATCH, "most_gpus": MOST_GPUS, "parameters": MOST_PARAMETERS}
    fixed, most, parameters = (line.whole(k, n) if line.cell(k) else None for k, n in most_of.items())
    limits = _Limits(line.name("task"), line.whole("epochs", MOST_EPOCHS), batches, fixed, most, parameters)
    return line.name("application"), limits


def _placed(line: TableRow) -> tuple[str, tuple[Counts, int, float, float]]:
    return line.name("application"), (_counts(line), line.whole("local_bsz", MOST_BATCH), *_times(line))


def _scaled(line: TableRow) -> tuple[str, tuple[float, ...]]:
    at = (line.whole("num_nodes", MOST_GPUS), line.whole("num_replicas", MOST_GPUS))
    return line.name("application"), (*at, line.whole("local_bsz", MOST_BATCH), *_times(line))


def _epoch(line: TableRow) -> tuple[str, tuple[int, tuple[float, ...]]]:
    error = ("error",) if "error" in line.cells else ()
    figures = tuple(line.value(key, MOST_FIGURE) for key in (*COLUMNS["epochs"][2:], *error))
    return line.name("application"), (line.whole("batch_size", MOST_BATCH), figures)


def _application(
    name: str,
    of: _Limits,
    placed: Sequence[tuple[Counts, int, float, float]],
    scaled: Sequence[tuple[float, ...]],
    epochs: Sequence[tuple[int, tuple[float, ...]]],
    what: str,
) -> TrainingApplication:
    by_size: dict[int, list[tuple[float, ...]]] = {}
    for size, figures in epochs:
        by_size.setdefault(size, []).append(figures)
    sizes = sorted(by_size)
    if not placed or not sizes or any(len(by_size[size]) < of.epochs for size in sizes):
        raise ScenarioError(
            [
                f"{what}: application {name!r} needs step times, and {of.epochs} epochs at each batch size; "
                "add rows to placements.csv and epochs.csv."
            ]
        )
    table = np.array([by_size[size][: of.epochs] for size in sizes])
    if not (np.diff(table[:, :, :2], axis=1, prepend=0.0) > 0).all():
        raise ScenarioError(
            [f"{what}: application {name!r}: progress and iteration must grow from 0 on; correct them."]
        )
    if not (table[:, :, 2:4].sum(axis=2) > 0).all():
        raise ScenarioError(
            [f"{what}: application {name!r}: grad_sqr and grad_var must not both be 0; correct an epoch."]
        )
    progress, iterations, square, variance, *error = np.moveaxis(table, 2, 0)
    times = StepTimesOfApplication(name, _measured(placed), np.array(scaled, float).reshape(-1, 5))
    return TrainingApplication(
        *(name, of.task, of.epochs, of.batches, times, np.array(sizes)),
        *(progress, iterations, square, variance, of.fixed_batch, of.most_gpus),
        error=error[0] if error else None,
        parameters=of.parameters,
    )


def _measured(rows: Sequence[tuple[Counts, int, float, float]]) -> dict[Counts, MeasuredTimes]:
    by_counts: dict[Counts, list[tuple[float, ...]]] = {}
    for counts, *figures in rows:
        by_counts.setdefault(counts, []).append(tuple(figures))
    arrays = {counts: np.array(sorted(figures), float) for counts, figures in by_counts.items()}
    return {counts: MeasuredTimes(table[:, 0], table[:, 1:]) for counts, table in arrays.items()}


SOURCE = "Pollux (Qiao et al., OSDI 2021), public simulator, petuum/adaptdl c793c70"


@cache
def shipped_applications() -> Mapping[str, TrainingApplication]:
    """Six applications by name, measured on nodes with four NVIDIA T4 each.

    >>> sorted(shipped_applications())
    ['bert', 'cifar10', 'deepspeech2', 'imagenet', 'ncf', 'yolov3']
    >>> shipped_applications()["bert"].times.step_time((1,), 4).step_s
    0.45532355
    """
    folder = files("nona.training.elastic").joinpath("data")
    tables = ProfileFiles(*(folder.joinpath(f"{name}.csv").read_bytes() for name in ProfileFiles._fields))
    return read_applications(tables, SOURCE)
