"""Replications of simulated points, each run once: what sweeps, knees, counts of nodes and plans read.

A point is a way of running a scenario (a scheduler, a policy) at a value of it. Its replications are numbered
from 0 on, and each has random numbers of its own; so a later look adds to those of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Point = TypeVar("Point")
Run = TypeVar("Run")


@dataclass(frozen=True, slots=True)
class MissingRuns(Generic[Point]):
    """Replications of a point that are not known yet: ``count`` from number ``first`` on."""

    point: Point
    first: int
    count: int


class PointCache(Generic[Point, Run]):
    """The replications of every point so far.

    ``ended`` says of a run that its point needs no more: it has no steady state, or cannot run.

    >>> points, asked = PointCache[str, int](lambda run: run < 0), []
    >>> def simulate(missing):
    ...     asked.extend(missing)
    ...     return [tuple(range(m.first, m.first + m.count)) for m in missing]
    >>> points.extend({"a": 2}, simulate), points.extend({"a": 3, "b": 1}, simulate)
    (None, None)
    >>> points.runs("a"), points.runs("b"), [(m.point, m.first, m.count) for m in asked]
    ((0, 1, 2), (0,), [('a', 0, 2), ('a', 2, 1), ('b', 0, 1)])
    """

    def __init__(self, ended: Callable[[Run], bool]) -> None:
        self._ended = ended
        self._runs: dict[Point, tuple[Run, ...]] = {}

    def runs(self, at: Point) -> tuple[Run, ...]:
        """Return the replications of a point so far, in order."""
        return self._runs.get(at, ())

    def is_complete(self, at: Point) -> bool:
        """Whether a replication shows that the point needs no more."""
        return any(map(self._ended, self.runs(at)))

    def extend(
        self,
        wanted: Mapping[Point, int],
        simulate: Callable[[Sequence[MissingRuns[Point]]], Sequence[tuple[Run, ...]]],
    ) -> None:
        """Have ``wanted`` replications of each point in all; ``simulate`` runs those that are missing."""
        missing = [
            MissingRuns(at, known, count - known)
            for at, count in wanted.items()
            if count > (known := len(self.runs(at))) and not self.is_complete(at)
        ]
        for one, runs in zip(missing, simulate(missing) if missing else (), strict=True):
            self._runs[one.point] = (*self.runs(one.point), *runs)

    def forget(self, ats: Iterable[Point]) -> None:
        """Release the replications of points: they may be large."""
        for at in ats:
            self._runs.pop(at, None)
