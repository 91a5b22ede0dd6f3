"""Results on one model: its work, its contraction, its splits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from nona.core.document import Document, Figure, GivenTimes, Optional


class Inspection(Document):
    """Figures of a model on one device.

    ``gmac`` counts the multiply-adds of convolutions and matrix products in 10⁹; ``activation_bytes`` are
    the bytes that operators write, once per tensor; ``total_compute_interval_s`` is where the total lies
    with 90 %, by where its times come from. ``provenance`` is the fraction of the total time by origin;
    ``given`` names the hardware for which the file states times. ``by_part``, not in the JSON: too little of
    the work is counted for a verdict on the model.
    """

    model: str
    device: str
    operators: int
    edges: int
    gmac: float
    gflop: float
    parameters: int
    weight_bytes: float
    activation_bytes: float
    total_compute_s: float
    total_compute_interval_s: tuple[float, float]
    critical_path_s: float
    parallelism: float
    provenance: Mapping[str, float]
    given: GivenTimes
    warnings: tuple[str, ...]
    by_part: bool = Field(default=False, exclude=True)


class BatchFit(Document):
    """s(b) ≈ ``fixed_s`` + ``per_query_s`` · b by least squares; ``error`` is the largest relative one."""

    fixed_s: float
    per_query_s: float
    error: float


class BatchTime(Document):
    """The time of a batch of queries on one executor, and how many an executor serves a second with it.

    ``interval_s``: holds the true time with a probability of 90 %; ``None`` where no time is modelled.
    """

    batch: int
    compute_s: float
    queries_per_s: Figure
    interval_s: tuple[float, float] | None = Optional


class BatchedTimes(Document):
    """The times of a model's batches and the line through them."""

    batches: tuple[BatchTime, ...]
    fit: BatchFit


class ContractionStep(Document):
    """The two tasks ``merged`` became the task ``into``; ``edge`` joined two of their operators."""

    into: str
    merged: tuple[str, str]
    edge: tuple[str, str]
    reason: str


class ListedTask(Document):
    """A task with its operators and its time on one executor."""

    id: str
    operators: tuple[str, ...]
    compute_s: float


class TaskBytes(Document):
    """The bytes of all distinct tensors from one task to another."""

    source: str
    target: str
    bytes: float


class CountedSubgraph(Document):
    """A sub-graph between two tasks with its number of configurations.

    ``root`` and ``sink`` are ``None`` where it begins with the query, or ends with it.
    """

    root: str | None
    sink: str | None
    interior: tuple[str, ...]
    configurations: int


class ContractionReport(Document):
    """Steps, tasks and sub-graphs of a model, contracted by a rule."""

    model: str
    rule: str
    summary: str
    operators: int
    tasks: int
    steps: tuple[ContractionStep, ...]
    task_list: tuple[ListedTask, ...]
    edges: tuple[TaskBytes, ...]
    subgraphs: tuple[CountedSubgraph, ...]


class ConfigurationCounts(Document):
    """The number of configurations of each sub-graph of a model."""

    configurations: tuple[int, ...]
