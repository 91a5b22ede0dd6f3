"""Results of training, in rounds and elastic: outcomes of policies, reports, what the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from nona.core.document import Document, Estimate, Figure, Interval, OptionalNames, RunResult
from nona.core.options import Option


class MoveAdvice(Document):
    """The planner on moving a job to another region at ``time_s``.

    ``rate`` and ``other_rate``: steps/s here and there; ``move_s`` g; ``horizon_s`` H, how long it would
    stay; ``gain_steps`` within H; ``least_stay_s`` H*: a longer stay pays; ``moved``: whether it went.
    """

    time_s: float
    job: str
    here: str
    there: str
    rate: float
    other_rate: float
    move_s: float
    horizon_s: float
    gain_steps: float
    least_stay_s: Figure
    moved: bool


class ExtensionFindings(Document):
    """One policy's first replication.

    ``failures``, ``restart_s``, ``checkpoint_s``, ``move_s``: failures that struck jobs; their seconds on
        GPUs for restarts, checkpoints and moves.
    ``undone_share``: steps that failures undid, over the steps done.
    ``answers``, ``declined``: how often a policy answered; answers not followed because their moves cost more
        than they gain.
    ``claim_error_first``, ``claim_error_last``: mean |ln(believed rate / true rate)| at the first answer and
        the last one; ``None`` without claims.
    ``flagged``: jobs whose claims rounds showed to be wrong.
    ``pair_error_first``, ``pair_error_last``: mean |estimated − true| / true of pair rates at the first
        answer and the last one that had pairs; ``None`` without an estimator.
    ``region_moves``, ``advice``: jobs that changed region; the planner's rows, latest last.
    """

    failures: int = 0
    restart_s: float = 0.0
    checkpoint_s: float = 0.0
    move_s: float = 0.0
    undone_share: Figure = None
    answers: int = 0
    declined: int = 0
    claim_error_first: Figure = None
    claim_error_last: Figure = None
    flagged: tuple[str, ...] = ()
    pair_error_first: Figure = None
    pair_error_last: Figure = None
    region_moves: int = 0
    advice: tuple[MoveAdvice, ...] = ()


class JctSummary(Document):
    """Job completion times, in seconds, over the measured jobs of all replications.

    ``percentiles``: those at 0, 1, … 100 %, as p50, p95 and p99: of each replication, and then their means.
    ``runs``: the mean of each replication.
    """

    mean: Figure
    ci95: Interval
    p50: Figure
    p95: Figure
    p99: Figure
    percentiles: tuple[Figure, ...] = ()
    runs: tuple[Figure, ...] = OptionalNames

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval, if anything is drawn."""
        drawn = self.ci95 is not None and self.ci95[0] < self.ci95[1]
        return Estimate(mean=self.mean, ci95=self.ci95 if drawn else None)


class JobResult(Protocol):
    """A job of the first replication under a policy; times in seconds."""

    @property
    def name(self) -> str:
        """Name of the job."""

    @property
    def jct_s(self) -> float | None:
        """Its completion time."""

    @property
    def rho(self) -> float | None:
        """Its finish-time fairness."""


class PolicyResult(Protocol):
    """A policy's figures that both engines have; ``measured`` are the jobs that they are of."""

    @property
    def jct_s(self) -> JctSummary:
        """Completion times of all."""

    @property
    def measured(self) -> Sequence[JobResult]:
        """The jobs that figures are of."""

    @property
    def mean_rho(self) -> float | None:
        """Mean finish-time fairness."""

    @property
    def worst_rho(self) -> float | None:
        """The largest of it."""


P = TypeVar("P")
S = TypeVar("S")


class Report(Document, Generic[P, S]):
    """All policies of one simulation; ``checks``: whether each self-check held in every run.

    ``level``: policies whose mean JCT, paired by replication, does not differ clearly from the shortest.
    """

    policies: Mapping[str, P]
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: S
    level: tuple[str, ...] = OptionalNames


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


class TrainingPolicyResult(Document):
    """The outcome of one policy for the measured jobs. Times in seconds; ``cost_usd`` per replication.

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

    @property
    def mean_rho(self) -> float | None:
        """Over all replications."""
        return self.rho.mean

    @property
    def worst_rho(self) -> float | None:
        """Of all replications."""
        return self.rho.worst


class TrainingSetting(Document):
    """Setting of a run; ``modelled``: types of GPU whose rates are carried over from another type."""

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
    modelled: tuple[str, ...] = ()


class TrainingReport(Report[TrainingPolicyResult, TrainingSetting]):
    """The report on jobs in rounds."""


class GpuInterval(Document):
    """A job on GPUs of one type from ``start_s`` to ``end_s``; consecutive rounds there are one stay.

    ``jobs`` has two numbers where two jobs share the GPUs; ``gpus`` are numbers within the type.
    """

    jobs: tuple[int, ...]
    gpu: str
    gpus: tuple[int, ...]
    start_s: float
    end_s: float


class PriorityRow(Document):
    """The reason why a row ran, or did not, on a type in a round: π = X · W / τ and what decided.

    ``share`` X, ``received_s`` τ, ``type_s`` W, ``deficit_s`` δ; ``why`` in words.
    """

    jobs: tuple[int, ...]
    gpu: str
    share: float
    received_s: float
    type_s: float
    priority: float
    deficit_s: float
    ran: bool
    why: str


class RoundFacts(Document):
    """One round: when, how many jobs ran and waited, and the priorities (empty where not kept)."""

    number: int
    start_s: float
    end_s: float
    running: int
    waiting: int
    priorities: tuple[PriorityRow, ...]


class TimeShares(Document):
    """A job's mean share of time on each type while it was there: what was planned, what it received."""

    job: int
    planned: Mapping[str, float]
    received: Mapping[str, float]


class PolicyTrace(Document):
    """One policy's first replication, round by round."""

    stays: tuple[GpuInterval, ...]
    rounds: tuple[RoundFacts, ...]
    received: tuple[TimeShares, ...]


class TrainingOutcome(RunResult):
    """The report with its provenance and, per policy, what happened; ``job_names`` by number."""

    report: TrainingReport
    job_names: tuple[str, ...]
    types: Mapping[str, int]
    traces: Mapping[str, PolicyTrace]


class RunMoment(NamedTuple):
    """A run at one time; ``mean_jct_s`` of completed jobs. Elastic: GPUs in use, goodput in jobs per hour."""

    time_s: float
    running: int
    waiting: int
    mean_jct_s: float | None
    used: int = 0
    goodput: float = 0.0


class PolicyProgress(Document):
    """A policy so far: a row of ``curve`` for each report, the latest last."""

    curve: tuple[RunMoment, ...] = ()
    completed: int = 0


class LivePolicies(Document):
    """Policies in order, so far; ``focus``: the one whose GPUs are drawn."""

    order: tuple[str, ...]
    policies: Mapping[str, PolicyProgress]
    focus: str


class TrainingLive(LivePolicies):
    """``stays`` are the latest ones of the policy ``focus``."""

    types: Mapping[str, int]
    stays: tuple[GpuInterval, ...]


class AllocatedRow(Document):
    """The share of time that a job, or a pair on the same GPUs, has on each type."""

    jobs: tuple[str, ...]
    shares: Mapping[str, float]


class AllocateReport(Document):
    """An allocation; ``throughputs`` are steps/s of each job; ``gap`` is relative to the dual's bound."""

    policy: str
    objective: Figure
    bound: Figure
    gap: Figure
    allocation: tuple[AllocatedRow, ...]
    throughputs: Mapping[str, float]
    warnings: tuple[str, ...]
    seconds: float


class OneMoreRow(Document):
    """A cluster with one more GPU of type ``gpu``; "": the cluster as it is.

    ``price_hour``: US dollars per hour of that GPU, ``None`` where no price is known.
    """

    gpu: str
    price_hour: Figure
    mean_jct_s: Figure
    ci95: Interval
    makespan_s: Figure
    worst_rho: Figure
    cost_usd: Figure


class OneMoreReport(Document):
    """One policy on the cluster as it is (``base``) and with one more GPU of each type.

    ``modelled``: types of GPU whose rates are carried over from another type.
    """

    policy: str
    gpus: Mapping[str, int]
    base: OneMoreRow
    rows: tuple[OneMoreRow, ...]
    modelled: tuple[str, ...] = ()


class SwitchRow(Document):
    """A policy under one setting of one switch, all others off.

    ``added_s``: mean JCT minus that with all switches off, over the same jobs and random numbers.
    """

    setting: str
    policy: str
    jct_s: Estimate
    added_s: Estimate
    moves: float
    lost_steps_share: Figure
    findings: ExtensionFindings | None


class SwitchesReport(Document):
    """All settings; the first one is with all switches off. ``failed_checks`` of all runs."""

    scenario: str
    replications: int
    rows: tuple[SwitchRow, ...]
    failed_checks: tuple[str, ...]
    seconds: float


class IntervalRow(Document):
    """One way to choose the interval, for jobs on ``nodes`` nodes, one of which fails every ``mtbf_s``.

    ``formula``: wall seconds per second of work by the model; ``simulated``: the same by simulation.
    """

    nodes: int
    jobs: int
    mtbf_s: float
    method: str
    interval_s: float
    formula: float
    simulated: Estimate


class CheckpointReport(Document):
    """``checkpoint_s`` and ``restart_s`` of the scenario; rows by number of nodes."""

    scenario: str
    mtbf_s: float
    checkpoint_s: float
    restart_s: float
    failures: int
    replications: int
    rows: tuple[IntervalRow, ...]
