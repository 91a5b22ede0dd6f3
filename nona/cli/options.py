"""The options of each command: one frozen object per command.

Values are checked and converted; ``None`` or an empty tuple is an option that was not given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nona.options import Option

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


@dataclass(frozen=True, kw_only=True)
class CapacityOptions(ListOptions):
    """``nona capacity``; prices by device."""

    scenario: str
    hit: float
    group: int
    gpu: tuple[str, ...]
    price: tuple[tuple[str, float], ...]
    most: int
    scheduler: tuple[str, ...]
    objective: str | None
    simulate: bool


@dataclass(frozen=True, kw_only=True)
class PlanOptions(ListOptions):
    """``nona plan``; offers as ``GPU[:MIG][=PRICE]``, links as ``CAPACITY[=PRICE]``."""

    scenario: str
    offer: tuple[str, ...]
    scheduler: tuple[str, ...]
    link: tuple[str, ...]
    survive: str | None
    growth: str | None
    profile: Path | None
    confidence: float | None
    hit: float | None
    most: int | None
    replications: int | None
    seed: int | None
    workers: int
    dask: str | None
    html: Path | None
    csv: Path | None
    parquet: Path | None
    save: str
    store: Path | None


@dataclass(frozen=True, kw_only=True)
class SavedOptions(ListOptions):
    """What every command has."""

    store: Path | None


@dataclass(frozen=True, kw_only=True)
class SavedListOptions(SavedOptions):
    """``nona saved list``."""

    search: str


@dataclass(frozen=True, kw_only=True)
class SavedItemOptions(SavedOptions):
    """``nona saved show | restore``."""

    item: str


@dataclass(frozen=True, kw_only=True)
class SavedNameOptions(SavedItemOptions):
    """``nona saved rename``."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SavedCopyOptions(SavedItemOptions):
    """``nona saved duplicate``; without a name: that of the item, with ``(copy)``."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SavedNoteOptions(SavedItemOptions):
    """``nona saved note``."""

    note: str


@dataclass(frozen=True, kw_only=True)
class SavedItemsOptions(SavedOptions):
    """``nona saved delete | compare``."""

    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SavedExportOptions(SavedItemsOptions):
    """``nona saved export``; without items: all."""

    output: Path


@dataclass(frozen=True, kw_only=True)
class SavedBundleOptions(SavedItemOptions):
    """``nona saved bundle``."""

    output: Path


@dataclass(frozen=True, kw_only=True)
class SavedImportOptions(SavedOptions):
    """``nona saved import``."""

    file: Path


CHANGE_NOTHING = frozenset({"scenario", "workers", "html", "json", "no_ideal"})


@dataclass(frozen=True, kw_only=True)
class AllocateOptions(ListOptions):
    """``nona training allocate``."""

    file: Path
    policy: str
    space_sharing: bool


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """``nona training generate``."""

    jobs: int
    mean_gap: float
    multi_gpu: bool
    weights: bool
    slos: bool
    seed: int


@dataclass(frozen=True, kw_only=True)
class SimulateTrainingOptions(ListOptions):
    """``nona training simulate``."""

    scenario: str
    policy: tuple[str, ...]
    replications: int | None
    seed: int | None
    workers: int
    no_ideal: bool
    html: Path | None


@dataclass(frozen=True, kw_only=True)
class ElasticOptions(ListOptions):
    """``nona training elastic``; ``None``: as the scenario has it, or as usual."""

    scenario: str | None
    workload: str | None
    profiles: Path | None
    policy: tuple[str, ...]
    nodes: int | None
    gpus: int | None
    tick: int | None
    restart: int | None
    load: float | None
    interference: float | None
    share_nodes: bool
    background: float | None
    capacity: float | None
    discipline: str | None
    settings: tuple[tuple[str, str, Option], ...]
    replications: int | None
    seed: int | None
    workers: int
    html: Path | None


def notes_of(options: SimulateTrainingOptions | ElasticOptions) -> list[str]:
    """What a report says where options changed what the scenario says."""
    values = (value for name, value in vars(options).items() if name not in CHANGE_NOTHING)
    given = any(not (value is None or value is False or value == ()) for value in values)  # 0 is given
    return ["Options of the command came before what the scenario below says."] if given else []


@dataclass(frozen=True, kw_only=True)
class CountedOptions(ListOptions):
    """``nona training counted``."""

    workload: str
    schedule: tuple[str, ...]
    gpus: int
    settings: tuple[tuple[str, str, Option], ...]


@dataclass(frozen=True, kw_only=True)
class ElasticStudyOptions(ListOptions):
    """``nona study elastic``."""

    workload: tuple[int, ...]
    load: tuple[float, ...]
    interference: tuple[float, ...]
    policy: tuple[str, ...]
    generations: int
    replications: int
    seed: int
    workers: int
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class ElasticLinkOptions(ListOptions):
    """``nona study elastic-link``."""

    workload: tuple[int, ...]
    capacity: tuple[float, ...]
    background: float
    policy: tuple[str, ...]
    generations: int
    replications: int
    seed: int
    workers: int
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class EstimatorOptions(ListOptions):
    """``nona study estimator``."""

    replications: int
    seed: int
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class TrainingStudyOptions(ListOptions):
    """``nona study training``; ``load`` in single-GPU jobs per hour."""

    replications: int
    workers: int
    jobs: int
    at_once: int
    gpus: int
    load: tuple[float, ...]
    policy: tuple[str, ...]
    seed: int
    shipped: bool


@dataclass(frozen=True, kw_only=True)
class SwitchesOptions(ListOptions):
    """``nona training switches``."""

    scenario: str
    policy: tuple[str, ...]
    replications: int | None
    seed: int | None
    workers: int


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions(ListOptions):
    """``nona training checkpoints``."""

    scenario: str
