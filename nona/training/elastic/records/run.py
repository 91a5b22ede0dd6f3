"""The records of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nona.allocation.policies.problem import Floats, Ints
from nona.training.elastic.model.given import Given


@dataclass(frozen=True, slots=True)
class Change:
    """From ``time_s`` on a job has these GPUs. ``value``: the policy's figure on it, or ``None``.

    ``facts``: what else the policy knew of it.
    """

    time_s: float
    job: int
    given: Given
    value: float | None
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Points:
    """(P,) one row for each job with GPUs at the end of each tick.

    ``batch`` in samples; ``progress`` in epochs, done in all.
    """

    time_s: Floats
    job: Ints
    gpus: Ints
    batch: Ints
    progress: Floats


@dataclass(frozen=True, eq=False, slots=True)
class ElasticRecords:
    """A run. Jobs by number (M), ticks in order (K).

    Attributes
    ----------
    arrival_s, completion_s
        (M,) seconds.
    gpu_s, paused_gpu_s, link_gpu_s
        (M,) GPU-seconds until completion, and those of them in pauses after changes and waiting for the link.
    restarts, epochs
        (M,) starts after the first one; epochs done.
    tick_s, running, waiting
        (K,) the end of each tick; jobs with GPUs and without from then on.
    """

    policy: str
    arrival_s: Floats
    completion_s: Floats
    gpu_s: Floats
    paused_gpu_s: Floats
    link_gpu_s: Floats
    restarts: Ints
    epochs: Ints
    tick_s: Floats
    running: Ints
    waiting: Ints
    changes: tuple[Change, ...]
    points: Points

    @property
    def jct_s(self) -> Floats:
        """(M,) completion − arrival."""
        found: Floats = self.completion_s - self.arrival_s
        return found
