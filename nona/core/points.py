"""Replications of simulated points, each run once: what sweeps, knees, counts of nodes and plans read.

A point is a way of running a scenario (a scheduler, a policy) at a value of it. Its replications are numbered
from 0 on, and each has random numbers of its own; so a later look adds to those of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

At = TypeVar("At")
Run = TypeVar("Run")


@dataclass(frozen=True, slots=True)
class Missing(Generic[At]):
    """Replications of a point that are not known yet: ``count`` from number ``first`` on."""

    at: At
    first: int
    count: int


class PointCache(Generic[At, Run]):
    """The replications of every point so far.

    ``ended`` says of a run that its point needs no more: it has no steady state, or cannot run.

    >>> points, asked = PointCache[str, int](lambda run: run < 0), []
    >>> def simulate(missing):
    ...     asked.extend(missing)
    ...     return [tuple(range(m.first, m.first + m.count)) for m in missing]
    >>> points.extend({"a": 2}, simulate), points.extend({"a": 3, "b": 1}, simulate)
    (None, None)
    >>> points.runs("a"), points.runs("b"), [(m.at, m.first, m.count) for m in asked]
    ((0, 1, 2), (0,), [('a', 0, 2), ('a', 2, 1), ('b', 0, 1)])
    """

    def __init__(self, ended: Callable[[Run], bool]) -> None:
        self._ended = ended
        self._runs: dict[At, tuple[Run, ...]] = {}

    def runs(self, at: At) -> tuple[Run, ...]:
        """Return the replications of a point so far, in order."""
        return self._runs.get(at, ())

    def ended(self, at: At) -> bool:
        """Whether a replication shows that the point needs no more."""
        return any(map(self._ended, self.runs(at)))

    def extend(
        self,
        wanted: Mapping[At, int],
        simulate: Callable[[Sequence[Missing[At]]], Sequence[tuple[Run, ...]]],
    ) -> None:
        """Have ``wanted`` replications of each point in all; ``simulate`` runs those that are missing."""
        missing = [
            Missing(at, known, count - known)
            for at, count in wanted.items()
            if count > (known := len(self.runs(at))) and not self.ended(at)
        ]
        for one, runs in zip(missing, simulate(missing) if missing else (), strict=True):
            self._runs[one.at] = (*self.runs(one.at), *runs)

    def forget(self, ats: Iterable[At]) -> None:
        """Release the replications of points: they may be large."""
        for at in ats:
            self._runs.pop(at, None)
