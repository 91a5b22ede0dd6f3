"""The options of each command: one frozen object per command, made from its command line.

Values are checked and converted; ``None`` or an empty tuple is an option that was not given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nona.cost.options import CostPrecision


@dataclass(frozen=True, kw_only=True)
class AppOptions:
    """``nona app``."""

    scenario: str | None
    port: int
    no_browser: bool
    host: str
    allow_name: tuple[str, ...]
    password_file: Path | None
    set_password: bool
    user_header: str
    proxy: tuple[str, ...]
    no_persist: bool
    store: Path | None
    shared_store: bool


@dataclass(frozen=True, kw_only=True)
class BundleOptions:
    """``nona bundle``."""

    scenario: str
    output: Path


@dataclass(frozen=True, kw_only=True)
class TrainDecimaOptions:
    """``nona train-decima``."""

    output: Path
    hide_link: bool
    iterations: int
    rollouts: int
    jobs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """A command that prints a result as text or, with ``json``, as one JSON object."""

    json: bool


@dataclass(frozen=True, kw_only=True)
class ModelOptions(ListOptions):
    """``nona inspect``: a model, and how it is run."""

    model: str
    device: str
    stack: str
    precision: CostPrecision
    batch: int
    symbol: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class ContractOptions(ModelOptions):
    """``nona contract``: also a rule, and a link in bytes/s and seconds."""

    rule: str
    capacity: float
    latency: float
    share: float


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """``nona measure``."""

    model: str
    output: Path | None
    batches: tuple[int, ...]
    export_profile: Path | None
    threads: int
    symbol: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(ListOptions):
    """``nona place``."""

    scenario: str
    solver: str
    objective: str | None
    html: Path | None


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(ListOptions):
    """``nona simulate``."""

    scenario: str
    scheduler: tuple[str, ...]
    jobs: int | None
    replications: int | None
    precision: str | None
    max_replications: int | None
    warmup: str | int | None
    baseline: str | None
    seed: int | None
    engine: str
    workers: int
    dask: str | None
    records: Path | None
    html: Path | None
    trace: Path | None
    save: str
    store: Path | None


@dataclass(frozen=True, kw_only=True)
class SweepOptions(ListOptions):
    """``nona sweep``."""

    scenario: str
    key: str
    values: str
    second: str | None
    second_values: str | None
    target: float
    scheduler: tuple[str, ...]
    jobs: int | None
    replications: int | None
    seed: int | None
    engine: str
    workers: int
    values_only: bool
    csv: Path | None


@dataclass(frozen=True, kw_only=True)
class ServerlessOptions(ListOptions):
    """``nona serverless``."""

    scenario: str
    policy: tuple[str, ...]
    calls: int | None
    replications: int | None
    seed: int | None
    workers: int
    sharing: tuple[str, ...]
    over: str | None
    values: str | None
    target: float
    values_only: bool
    nodes_for: float | None
    times: tuple[tuple[str, str], ...]
    dag_schedulers: bool
    most: int
    csv: Path | None
    html: Path | None
    trace: Path | None
    records: Path | None


@dataclass(frozen=True, kw_only=True)
class StudyOptions(ListOptions):
    """The options of every ``nona study``."""

    replications: int
    workers: int
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class PaperOptions(StudyOptions):
    """``nona study paper``."""

    jobs: int
    seed: int | None
    engine: str
    csv: Path | None
    html: Path | None


@dataclass(frozen=True, kw_only=True)
class MapOptions(StudyOptions):
    """``nona study prediction``."""

    tasks: int
    seed: int | None
    scenario: tuple[str, ...]
    engine: str


@dataclass(frozen=True, kw_only=True)
class DecisionOptions(StudyOptions):
    """``nona study decisions``; links in Gbit/s."""

    network: tuple[str, ...]
    link: tuple[float, ...]
    full: bool
    jobs: int | None
    most: int
    seed: int
    engine: str
    csv: Path | None


@dataclass(frozen=True, kw_only=True)
class NetworkViewOptions(StudyOptions):
    """``nona study network-views``; without a ``scheduler``: all."""

    jobs: int
    seed: int
    scheduler: tuple[str, ...]
    engine: str
    csv: Path | None


@dataclass(frozen=True, kw_only=True)
class ServerlessStudyOptions(StudyOptions):
    """``nona study serverless``."""

    calls: int
    small: int
    few: int
    seed: int | None
