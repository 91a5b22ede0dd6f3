"""How a run is made, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``replication``: which random numbers; ``trace_rounds``: rounds whose priorities are kept.

    ``replay`` repeats what the public simulator of Gavel does at the edges: with nothing running, waiting
    jobs sleep until the next arrival, which is booked as execution; a reset at time 0 does not count as one;
    a job that arrived since the last answer blocks GPUs without running; a round gives whole steps.
    """

    replication: int = 0
    trace_rounds: int = 0
    replay: bool = False


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """A run so far: share of the jobs complete, the clock, JCTs since the last report, and who is where.

    ``placed``: (numbers of the jobs, type, GPUs, start, end) of the round.
    """

    policy: str
    replication: int
    fraction: float
    time_s: float
    running: int
    waiting: int
    jcts_s: tuple[float, ...]
    placed: tuple[tuple[tuple[int, ...], int, tuple[int, ...], float, float], ...]


OnProgress = Callable[[TrainingProgress], None]
