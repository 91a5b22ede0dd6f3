"""A job of a training cluster."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from nona.errors import SimulationError

JobKind = Literal["training", "interactive", "inference"]


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as it arrives.

    Attributes
    ----------
    name
        Unique in its workload.
    model
        What it trains, as the table of throughputs names it: ``ResNet-50 (batch size 64)``.
    steps
        Steps in all; for an interactive job seconds of use, for an inference job seconds of service.
    workers
        GPUs that it takes at a time (the scale factor); for an inference job its replicas.
    weight, entity
        Its weight within its entity, and the entity's name ("": none).
    slo_s
        Seconds after its admission by which it should be complete; ``None``: no deadline.
    arrival_s
        When it arrives.
    kind
        ``interactive`` jobs hold their GPUs from their first use to their end; ``inference`` jobs hold one
        GPU on each of ``workers`` different servers.
    rate
        Queries per second of an inference job.
    latency_slo_s
        Latency that an inference job's queries have to keep; ``None``: none.
    checkpoint_bytes
        Size of what is saved and moved; 0: moves are free.
    region
        Where its data are ("": anywhere).
    """

    name: str
    model: str
    steps: float
    workers: int = 1
    weight: float = 1.0
    slo_s: float | None = None
    arrival_s: float = 0.0
    entity: str = ""
    kind: JobKind = "training"
    rate: float = 0.0
    latency_slo_s: float | None = None
    checkpoint_bytes: float = 0.0
    region: str = ""

    def __post_init__(self) -> None:
        positive = {"steps": self.steps, "workers": self.workers, "weight": self.weight}
        for key, value in positive.items():
            if not (isfinite(value) and value > 0):
                raise SimulationError(f"Job {self.name!r}: {key}={value!r} must be above 0; raise it.")
        if not (isfinite(self.arrival_s) and self.arrival_s >= 0):
            raise SimulationError(
                f"Job {self.name!r}: arrival_s={self.arrival_s!r} must be at least 0; raise it."
            )
