"""The uncertainty of a simulated mean beside prediction, idle bound and Little's law."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.simulation.report import State

Bottleneck = Literal["executors", "link"]


class Sureness(Document):
    """One scheduler's figures, seconds and shares; ``None`` where there is none.

    ``prediction`` is ``"none"`` where theory has no formula for the scheduler, ``"overloaded"`` where
    it says that there is no steady state. ``error`` is predicted over simulated mean, less 1;
    ``explained`` whether it lies within the interval of the simulation; ``reason`` explains the state.
    """

    scheduler: str
    state: State
    reason: str
    prediction: Literal["none", "overloaded", "formula"]
    predicted_s: Figure
    jct_s: Estimate
    relative_half_width: Figure
    error: Figure
    explained: bool | None
    little_s: Figure
    little_error: Figure
    idle_s: Figure
    over_idle: Figure
    load: Figure
    bottleneck: Bottleneck
    replications: int
