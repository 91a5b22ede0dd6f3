"""Writes every batch down, column by column, and counts what happens in the window."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.serverless.records.run import Batches, DispatchStory


class Dispatched(NamedTuple):
    """A batch that was sent off; fields as :class:`~nona.serverless.records.run.Batches` has them."""

    application: int
    stage: int
    invoker: int
    gpu: int
    configuration: int
    jobs: int
    queued_s: float
    decided_s: float
    dispatched_s: float
    started_s: float
    slots: int
    cold: bool
    missed: bool
    forced: bool
    local: int
    search_s: float
    steps: int
    setup_s: float
    transfer_s: float


class Collector:
    """Batches in order of dispatch, the first stories of the window, and its counts."""

    def __init__(self, start_s: float, end_s: float, stories: int) -> None:
        self._batches: list[Dispatched] = []
        self.invoker: list[int] = []
        self.ended_s: list[float] = []
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

    def add(self, batch: Dispatched) -> None:
        """A batch was dispatched."""
        self._batches.append(batch)
        self.invoker.append(batch.invoker)
        self.ended_s.append(math.nan)

    def fetched(self, number: int, started_s: float, transfer_s: float) -> None:
        """A batch whose transfer shares links has its inputs: its times are known now."""
        self._batches[number] = self._batches[number]._replace(started_s=started_s, transfer_s=transfer_s)

    def batches(self) -> Batches:
        """All of them in arrays."""
        of = self._batches
        return Batches(
            application=_ints(b.application for b in of),
            stage=_ints(b.stage for b in of),
            invoker=_ints(self.invoker),
            gpu=_ints(b.gpu for b in of),
            configuration=_ints(b.configuration for b in of),
            jobs=_ints(b.jobs for b in of),
            queued_s=_floats(b.queued_s for b in of),
            decided_s=_floats(b.decided_s for b in of),
            dispatched_s=_floats(b.dispatched_s for b in of),
            started_s=_floats(b.started_s for b in of),
            ended_s=_floats(self.ended_s),
            slots=_ints(b.slots for b in of),
            cold=_bools(b.cold for b in of),
            missed=_bools(b.missed for b in of),
            forced=_bools(b.forced for b in of),
            local=_ints(b.local for b in of),
            search_s=_floats(b.search_s for b in of),
            steps=_ints(b.steps for b in of),
            setup_s=_floats(b.setup_s for b in of),
            transfer_s=_floats(b.transfer_s for b in of),
        )


def _ints(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)


def _bools(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(values, dtype=np.bool_)
