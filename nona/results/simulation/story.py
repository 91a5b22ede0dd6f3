"""The network story: at each load of the link, one query placed in three ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.results.document import Document, Figure


class StoryBlock(Document):
    """A task or a message on its lane; asked for, started and ended, in milliseconds."""

    lane: str
    what: Literal["task", "message"]
    label: str
    asked_ms: float
    start_ms: float
    end_ms: float


class StoryChart(Document):
    """One strategy: predicted and simulated mean JCT with its half-width, one typical job in blocks."""

    predicted_ms: Figure
    mean_ms: float
    half_ms: Figure
    jct_ms: float
    servers: int
    blocks: tuple[StoryBlock, ...]


class StoryLoad(Document):
    """All strategies with the share ``load`` of the link taken by others, and the finding."""

    load: float
    runs: Mapping[str, StoryChart]
    headline: str


class Story(Document):
    """The loads so far; splitting pays up to the load ``limit`` (``None``: always); ``jobs`` per run."""

    points: tuple[StoryLoad, ...]
    limit: Figure
    jobs: int
