"""Writes every batch down, column by column, and counts what happens in the window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nona.serverless.records.run import Batches, DispatchStory

INTS = ("application", "stage", "invoker", "gpu", "configuration", "jobs", "slots", "local", "steps")
FLOATS = (
    "queued_s",
    "decided_s",
    "dispatched_s",
    "started_s",
    "ended_s",
    "search_s",
    "setup_s",
    "transfer_s",
)
BOOLS = ("cold", "missed", "forced")


class Collector:
    """Batches in order of dispatch, the first stories of the window, and its counts."""

    def __init__(self, start_s: float, end_s: float, stories: int) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in (*INTS, *FLOATS, *BOOLS)}
        self.invoker: list[int] = self.columns["invoker"]
        self.ended_s: list[float] = self.columns["ended_s"]
        self._append = tuple(self.columns[name].append for name in ROW)
        self._window = (start_s, end_s)
        self.stories_left = stories
        self.stories: list[DispatchStory] = []
        self.cold_starts = self.prewarms = self.rechecks = self.misses = self.planned = 0

    def __len__(self) -> int:
        return len(self.invoker)

    def inside(self, now_s: float) -> bool:
        """Whether an instant lies in the window."""
        return self._window[0] <= now_s <= self._window[1]

    def wants_story(self, now_s: float) -> bool:
        """Whether the next batch's story is kept."""
        return self.stories_left > 0 and self.inside(now_s)

    def tell(self, story: DispatchStory) -> None:
        """Keep a story."""
        self.stories.append(story)
        self.stories_left -= 1

    def add(self, row: tuple[Any, ...]) -> None:
        """A batch was dispatched; ``row`` has the fields of :data:`ROW` in their order."""
        for append, value in zip(self._append, row, strict=True):
            append(value)
        self.ended_s.append(math.nan)

    def batches(self) -> Batches:
        """All of them in arrays."""
        kinds = ((INTS, np.int64), (FLOATS, np.float64), (BOOLS, np.bool_))
        arrays: dict[str, Any] = {
            name: np.array(self.columns[name], dtype=kind) for names, kind in kinds for name in names
        }
        return Batches(**arrays)


ROW = (
    "application",
    "stage",
    "invoker",
    "gpu",
    "configuration",
    "jobs",
    "queued_s",
    "decided_s",
    "dispatched_s",
    "started_s",
    "slots",
    "cold",
    "missed",
    "forced",
    "local",
    "search_s",
    "steps",
    "setup_s",
    "transfer_s",
)
