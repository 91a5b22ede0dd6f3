"""The options of ``nona training …``, one class a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nona.cli.options import ListOptions


@dataclass(frozen=True, kw_only=True)
class AllocateOptions(ListOptions):
    """``nona training allocate``."""

    file: Path
    policy: str
    space_sharing: bool


@dataclass(frozen=True, kw_only=True)
class SimulateTrainingOptions(ListOptions):
    """``nona training simulate``."""

    scenario: str
    policy: tuple[str, ...]
    replications: int | None
    seed: int | None
    workers: int
    no_ideal: bool


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """``nona training generate``."""

    jobs: int
    mean_gap: float
    multi_gpu: bool
    weights: bool
    slos: bool
    seed: int
