"""The options of the commands that size a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nona.cli.options import ListOptions


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
