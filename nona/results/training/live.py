"""A simulated training cluster while it runs."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.training.outcome import Stay


class PolicySoFar(Document):
    """A policy so far: the curve (simulated seconds, mean JCT of completed jobs), jobs by state."""

    curve: tuple[tuple[float, float], ...]
    mean_jct_s: Figure
    completed: int
    running: int
    waiting: int
    time_s: float


class TrainingLive(Document):
    """All that is known so far; ``stays`` are the latest ones of the policy ``focus``."""

    order: tuple[str, ...]
    policies: Mapping[str, PolicySoFar]
    types: Mapping[str, int]
    focus: str
    stays: tuple[Stay, ...]
