"""The options of the commands on training clusters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nona.cli.options import ListOptions
from nona.options import Option

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
