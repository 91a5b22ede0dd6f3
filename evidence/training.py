"""The study of training policies, beside published numbers.

Every variant of a replication gets the same jobs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from evidence import policy_results as studies
from evidence.provenance import OnProgress, check_least, measured, origin, rounded_result
from nona.allocation.registry import get_policy
from nona.core.errors import SimulationError
from nona.core.experiments import do_nothing
from nona.queries.workflows.shipped import choice
from nona.scenario.training import GenerateSpec
from nona.training.generated_jobs import generate
from nona.training.job_files import trace_jobs
from nona.training.metrics import mean_of as mean_known
from nona.training.metrics import measure
from nona.training.results import TrainingPolicyResult
from nona.training.rounds import RoundOptions, simulate_training
from nona.training.system import NodeGroup, TrainingCluster, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

SINGLE, MULTI = "single-GPU", "multi-GPU"
MODES = (SINGLE, MULTI)


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy, with or without space sharing; ``single_only``: it cannot place jobs with several GPUs."""

    policy: str
    packed: bool = False
    single_only: bool = False

    @property
    def name(self) -> str:
        return f"{self.policy}, packed" if self.packed else self.policy

    def takes(self, mode: str) -> bool:
        return mode == SINGLE or not self.single_only


OVER_LOAD = (
    Variant("max-min-fairness-agnostic"),
    Variant("gandiva", packed=True),
    Variant("allox", single_only=True),
    Variant("max-min-fairness"),
    Variant("max-min-fairness", packed=True),
    Variant("finish-time-fairness-agnostic"),
    Variant("finish-time-fairness"),
)
AT_ONCE = (
    Variant("fifo-agnostic"),
    Variant("fifo"),
    Variant("gandiva", packed=True),
    Variant("max-min-fairness"),
    Variant("makespan"),
    Variant("makespan", packed=True),
)

TYPES = ("k80", "p100", "v100")
USUAL_GPUS = 36  # of each type, to which loads refer
PER_NODE = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """``per_hour`` on 36 GPUs of each type; 0: all jobs at the start. ``measured``: numbers of jobs."""

    variant: Variant
    mode: str
    per_hour: float
    jobs: int
    measured: tuple[int, int]
    gpus: int
    seed: int


def system_of(piece: Piece, replication: int) -> TrainingSystem:
    """The cluster and the jobs of a piece: these depend on seed and replication, not on the variant."""
    table = shipped_throughputs()
    gap_s = 3600 * USUAL_GPUS / (piece.per_hour * piece.gpus) if piece.per_hour else 0.0
    what = GenerateSpec(jobs=piece.jobs, mean_gap=gap_s, multi_gpu=piece.mode == MULTI)
    counts = dict.fromkeys(TYPES, piece.gpus)
    jobs = trace_jobs(generate(what, table, piece.seed, replication, counts), table)
    groups = [NodeGroup(t, n, size) for t in TYPES for n, size in _nodes(piece.gpus)]
    return TrainingSystem(
        cluster=TrainingCluster(tuple(groups)),
        jobs=jobs,
        throughputs=table,
        measured=piece.measured,
        seed=piece.seed,
        space_sharing=piece.variant.packed,
    )


def _nodes(gpus: int) -> list[tuple[int, int]]:
    parts = [(gpus // PER_NODE, PER_NODE), (1, gpus % PER_NODE)]
    return [(count, size) for count, size in parts if count and size]


def run_piece(piece: Piece, replication: int) -> TrainingPolicyResult:
    """Simulate it to the end of its last job."""
    system = system_of(piece, replication)
    options = {"space_sharing": True} if piece.variant.packed else {}
    policy = get_policy(piece.variant.policy)
    return measure(system, simulate_training(system, policy, options, RoundOptions(replication=replication)))


def _outcome(run: tuple[Piece, int]) -> TrainingPolicyResult:
    return run_piece(*run)


DIGITS = 6
MEASURED = (0.3, 0.7)  # the jobs that are measured, as parts of all
WORKERS = {SINGLE: 1.0, MULTI: 1.9}  # mean GPUs of a job


@dataclass(frozen=True, slots=True)
class StudySettings:
    """Size of the study.

    ``jobs`` arrive, of which those in the middle are measured; ``at_once`` are there at the start in the
    part on makespan. ``gpus``: of each type. ``loads``: single-GPU jobs per hour on 36 GPUs of each type;
    jobs with several GPUs arrive less often, by their mean of 1.9 GPUs. ``policies``: only these;
    all if empty.
    """

    jobs: int = choice(1000, "jobs that arrive per run", least=1)
    at_once: int = choice(700, "jobs present at the start, for the makespan", least=1)
    gpus: int = choice(USUAL_GPUS, "GPUs of each type", least=1)
    loads: tuple[float, ...] = choice(
        (2.0, 4.0, 6.0, 8.0),
        "single-GPU jobs per hour on 36 GPUs of each type, fewer with fewer GPUs; repeat for several",
        option="load",
        metavar="JOBS",
    )
    policies: tuple[str, ...] = choice(
        (), "only this one; repeat for several", option="policy", of="training policy", metavar="P"
    )
    replications: int = choice(3, "independent runs of each point", least=1)
    seed: int = choice(0, "seed of all runs")

    def __post_init__(self) -> None:
        check_least(self)
        if not self.loads or min(self.loads) <= 0:
            raise SimulationError(f"Study: loads={list(self.loads)} must be numbers above 0; change them.")

    @property
    def measured(self) -> tuple[int, int]:
        """First and last number of the measured jobs.

        >>> StudySettings(jobs=1000).measured
        (300, 699)
        """
        low, high = (round(part * self.jobs) for part in MEASURED)
        return low, max(low, high - 1)

    def wanted(self, variants: tuple[Variant, ...]) -> list[Variant]:
        return [v for v in variants if not self.policies or v.policy in self.policies]


def training_study(
    settings: StudySettings | None = None,
    *,
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> studies.TrainingStudy:
    """Run the study."""
    chosen, begin = settings or StudySettings(), time.perf_counter()
    over, once = _over_load(chosen), _at_once(chosen)
    pieces = (*over, *once)
    each = chosen.replications
    runs = [(piece, replication) for piece in pieces for replication in range(each)]
    outcomes = measured(
        runs, _outcome, lambda run: f"{run[0].variant.name}, {run[0].mode}", workers, on_progress
    )
    points = [_point(piece, outcomes[k * each : (k + 1) * each]) for k, piece in enumerate(pieces)]
    return rounded_result(
        studies.TrainingStudy.from_fields(
            chosen,
            **origin("training", chosen),
            loads=tuple(points[: len(over)]),
            makespans=tuple(points[len(over) :]),
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


def _over_load(chosen: StudySettings) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            variant=variant,
            mode=mode,
            per_hour=round(load / WORKERS[mode], 3),
            jobs=chosen.jobs,
            measured=chosen.measured,
            gpus=chosen.gpus,
            seed=chosen.seed,
        )
        for mode in MODES
        for variant in chosen.wanted(OVER_LOAD)
        if variant.takes(mode)
        for load in chosen.loads
    )


def _at_once(chosen: StudySettings) -> tuple[Piece, ...]:
    everyone = (0, chosen.at_once - 1)
    return tuple(
        Piece(variant, mode, 0.0, chosen.at_once, everyone, chosen.gpus, chosen.seed)
        for mode in MODES
        for variant in chosen.wanted(AT_ONCE)
    )


def _point(piece: Piece, outcomes: list[TrainingPolicyResult]) -> studies.StudyPoint:
    return studies.StudyPoint(
        mode=piece.mode,
        variant=piece.variant.name,
        per_hour=piece.per_hour,
        jcts_s=tuple(o.jct_s.mean for o in outcomes),
        makespans_s=tuple(o.makespan_s for o in outcomes),
        utilization=mean_known(o.utilization for o in outcomes),
        decision_s=mean_known(o.decision_s for o in outcomes),
    )
