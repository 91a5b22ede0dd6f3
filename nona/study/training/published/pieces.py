"""The study's unit of work: one variant on one draw of jobs, in any process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.registry import get_policy
from nona.experiments.pool import Key
from nona.study.training.published.variants import MULTI, Variant
from nona.training.engine.options import RunOptions
from nona.training.engine.run import simulate_training
from nona.training.model.cluster import NodeGroup, TrainingCluster
from nona.training.model.system import TrainingSystem
from nona.training.workload.generator import Generation, generate
from nona.training.workload.table import shipped_throughputs
from nona.training.workload.trace import trace_jobs

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean JCT of the measured jobs, makespan, share of GPU time booked, seconds per answer."""

    jct_s: float
    makespan_s: float
    utilization: float
    decision_s: float


@dataclass(frozen=True, slots=True)
class Pieces:
    """What every process gets once; keys are (number of the piece, replication)."""

    pieces: tuple[Piece, ...]
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[str], None] | None) -> Outcome:
        """One piece, one replication: jobs depend on seed and replication, not on the variant."""
        piece, replication = self.pieces[key[0]], key[1]
        found = run_piece(piece, replication)
        if on_progress is not None:
            on_progress(f"{piece.variant.name}, {piece.mode}")
        return found


def system_of(piece: Piece, replication: int) -> TrainingSystem:
    """The cluster and the jobs of a piece."""
    table = shipped_throughputs()
    gap_s = 3600 * USUAL_GPUS / (piece.per_hour * piece.gpus) if piece.per_hour else 0.0
    what = Generation(piece.jobs, gap_s, multi_gpu=piece.mode == MULTI)
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
    """(count, GPUs) of nodes with four GPUs each, and one with the rest."""
    parts = [(gpus // PER_NODE, PER_NODE), (1, gpus % PER_NODE)]
    return [(count, size) for count, size in parts if count and size]


def run_piece(piece: Piece, replication: int) -> Outcome:
    """Simulate it to the end of its last job."""
    system = system_of(piece, replication)
    options = {"space_sharing": True} if piece.variant.packed else {}
    records = simulate_training(
        system, get_policy(piece.variant.policy), options, RunOptions(replication=replication)
    )
    first, last = system.window
    jcts = (records.completion_s - records.arrival_s)[first : last + 1]
    capacity = records.end_s * sum(system.cluster.gpus.values())
    return Outcome(
        jct_s=float(jcts.mean()),
        makespan_s=float(np.max(records.completion_s)),
        utilization=float(records.booked_s.sum()) / capacity if capacity else 0.0,
        decision_s=float(records.decision_s.mean()) if records.decision_s.size else 0.0,
    )
