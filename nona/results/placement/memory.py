"""Weights that executors hold under a placement, and the total of the replicas, in bytes."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from nona.results.document import Document, Figure


class ClassMemory(Document):
    """What one executor of a class holds: model → weights; ``memory_bytes`` is ``None`` if unknown."""

    executor_class: str = Field(validation_alias="class", serialization_alias="class")
    executors: int
    memory_bytes: Figure
    weights_bytes: Mapping[str, float]
    resident_bytes: float
    free_bytes: Figure


class ModelMemory(Document):
    """The weights of one model, and how many executors hold them; a whole 0 where it states none."""

    weight_bytes: int | float
    replicas: int
    replicas_bytes: int | float


class MemoryReport(Document):
    """Weights by executor class and by model, and the total over the cluster."""

    classes: tuple[ClassMemory, ...]
    models: Mapping[str, ModelMemory]
    replicas_bytes: float
