"""The report on a simulated training cluster."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import Option
from nona.results.document import Document, Figure, Interval
from nona.results.training.extensions import ExtensionFindings


class JctSummary(Document):
    """Job completion times, in seconds, over the measured jobs of all replications."""

    mean: Figure
    ci95: Interval
    p50: Figure
    p95: Figure
    p99: Figure


class RhoSummary(Document):
    """Finish-time fairness: JCT over the JCT on an equal share of the cluster."""

    mean: Figure
    worst: Figure


class JobOutcome(Document):
    """One job of the first replication; ``jct_s`` is ``None`` while it is not complete.

    ``measured``: whether it is among the jobs that the figures of its policy are of.
    """

    name: str
    model: str
    kind: str
    entity: str
    workers: int
    measured: bool
    arrival_s: float
    jct_s: Figure
    rho: Figure
    slo_s: Figure
    met: bool | None
    cost_usd: Figure
    preemptions: int
    moves: int


class PolicyOutcome(Document):
    """What one policy did to the measured jobs. Times in seconds; ``cost_usd`` per replication.

    ``slo_hit_rate`` is ``None`` where no job has a deadline. ``received_error`` is the mean over jobs of
    |time received − X|, as a share of the time that a job was there. ``decision_s``: seconds of one answer,
    mean and most. ``ideal_jct_s``: mean JCT where shares of time are given exactly (fluid), or ``None``.
    ``lost_steps_share``: work lost to failures and moves, over the work done. ``extensions``: what switches
    did in the first replication; ``None`` where all are off.
    """

    jct_s: JctSummary
    makespan_s: Figure
    utilization: Figure
    rho: RhoSummary
    cost_usd: Figure
    slo_hit_rate: Figure
    preemptions: float
    moves: float
    decisions: int
    decision_s: Figure
    decision_most_s: Figure
    worst_gap: Figure
    received_error: Figure
    ideal_jct_s: Figure
    lost_steps_share: Figure
    warnings: tuple[str, ...]
    jobs: tuple[JobOutcome, ...]
    extensions: ExtensionFindings | None = None

    @property
    def measured(self) -> list[JobOutcome]:
        """The measured jobs of the first replication."""
        return [job for job in self.jobs if job.measured]


class TrainingSetting(Document):
    """What was run."""

    name: str
    jobs: int
    measured: tuple[int, int]
    replications: int
    seed: int
    round_s: float
    reallocation_s: float
    gpus: Mapping[str, int]
    throughputs: str
    options: Mapping[str, Mapping[str, Option]]
    notes: tuple[str, ...]


class TrainingReport(Document):
    """All policies of one simulation; ``checks``: whether each self-check held in every run."""

    policies: Mapping[str, PolicyOutcome]
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: TrainingSetting
