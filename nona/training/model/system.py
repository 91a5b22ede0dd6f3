"""A training cluster with its jobs: all that a run depends on, besides the policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from nona.allocation.policies.problem import EntityShare
from nona.errors import SimulationError
from nona.scenario.training_extensions import (
    EstimatesSpec,
    EstimatorSpec,
    FailuresSpec,
    MovesSpec,
    RegionsSpec,
)
from nona.training.model.cluster import TrainingCluster
from nona.training.model.job import Job
from nona.training.model.throughputs import Throughputs


@dataclass(frozen=True)
class TrainingSystem:
    """``jobs`` are in order of arrival; their places are their numbers.

    ``measured``: first and last number of the jobs that metrics count; ``None``: all. ``round_s`` is how
    long a job keeps its GPUs, ``reallocation_s`` the least time between two answers of a policy. The
    switches ``estimator`` to ``regions`` are off where they are ``None``; ``notes`` say what was assumed.

    Raises
    ------
    SimulationError
        For no job, jobs out of order, or two of one name.
    """

    cluster: TrainingCluster
    jobs: tuple[Job, ...]
    throughputs: Throughputs
    entities: tuple[EntityShare, ...] = ()
    round_s: float = 360.0
    reallocation_s: float = 1920.0
    measured: tuple[int, int] | None = None
    seed: int = 0
    space_sharing: bool = False
    estimator: EstimatorSpec | None = None
    estimates: EstimatesSpec | None = None
    moves: MovesSpec | None = None
    failures: FailuresSpec | None = None
    regions: RegionsSpec | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.jobs:
            raise SimulationError("Training: there are no jobs; give a trace, a generator or jobs.")
        arrivals = [job.arrival_s for job in self.jobs]
        if arrivals != sorted(arrivals):
            raise SimulationError("Training: jobs are not in order of arrival; sort them.")
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            twice = next(n for i, n in enumerate(names) if n in names[:i])
            raise SimulationError(f"Training: job name {twice!r} is given twice; rename one.")

    @cached_property
    def window(self) -> tuple[int, int]:
        """First and last number of the measured jobs."""
        last = len(self.jobs) - 1
        return (0, last) if self.measured is None else (self.measured[0], min(self.measured[1], last))
