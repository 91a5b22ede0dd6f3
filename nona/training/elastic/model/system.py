"""Elastic jobs on nodes with several GPUs each."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import SimulationError
from nona.scenario.training_elastic import MOST_RESTART_S, MOST_TICK_S
from nona.training.elastic.applications.application import Application
from nona.training.elastic.model.link import Link


@dataclass(frozen=True, slots=True)
class ElasticJob:
    """``gpus`` and ``batch`` are what its user asks for; policies that choose them do not look."""

    name: str
    arrival_s: float
    application: Application
    gpus: int
    batch: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """``nodes`` nodes with ``gpus`` GPUs of one type each.

    >>> Cluster(16, 4).size
    64
    """

    nodes: int = 16
    gpus: int = 4

    @property
    def size(self) -> int:
        """GPUs in all."""
        return self.nodes * self.gpus


@dataclass(frozen=True)
class ElasticSystem:
    """Jobs in order of arrival; their places are their numbers.

    Attributes
    ----------
    tick_s
        How often a policy is asked.
    restart_s
        How long a job pauses when its GPUs change, and before it starts.
    interference
        Share of its speed that a job on several nodes loses while it shares a node with another such job.
    link
        What all-reduce between nodes crosses; ``None``: as fast as when it was measured.
    seed
        Of policies that draw random numbers.

    Raises
    ------
    SimulationError
        For no job, jobs out of order, two of one name, a job that can never run, or a figure out of range.
    """

    cluster: Cluster
    jobs: tuple[ElasticJob, ...]
    tick_s: int = 60
    restart_s: int = 30
    interference: float = 0.0
    seed: int = 0
    source: str = ""
    link: Link | None = None

    def __post_init__(self) -> None:
        if not self.jobs:
            raise SimulationError("Elastic training: there are no jobs; give a workload.")
        arrivals = [job.arrival_s for job in self.jobs]
        if arrivals != sorted(arrivals):
            raise SimulationError("Elastic training: jobs are not in order of arrival; sort them.")
        names = {job.name for job in self.jobs}
        if len(names) < len(self.jobs):
            raise SimulationError("Elastic training: two jobs have one name; rename one.")
        self._refuse_times()
        for job in self.jobs:
            if not 1 <= job.gpus <= self.cluster.size:
                raise SimulationError(
                    f"Elastic training: job {job.name!r} asks for {job.gpus} GPUs of {self.cluster.size}; "
                    f"ask for 1 to {self.cluster.size}."
                )
            if self.link and job.application.parameters is None and job.application.most_gpus != 1:
                raise SimulationError(
                    f"Elastic training: application {job.application.name!r} has no number of parameters, "
                    "which a link needs; add the column parameters to applications.csv."
                )

    def _refuse_times(self) -> None:
        """Longer pauses would have jobs change GPUs for weeks, and hardly train."""
        if not 1 <= self.tick_s <= MOST_TICK_S:
            raise SimulationError(
                f"Elastic training: tick {self.tick_s} s must be from 1 to {MOST_TICK_S} s; change it."
            )
        if not 0 <= self.restart_s <= MOST_RESTART_S:
            raise SimulationError(
                f"Elastic training: restart {self.restart_s} s must be from 0 to {MOST_RESTART_S} s; "
                "change it."
            )
        if not 0 <= self.interference < 1:
            raise SimulationError(
                f"Elastic training: interference {self.interference:g} must be at least 0 and below 1; "
                "change it."
            )
