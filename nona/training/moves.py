"""The cost of a job's change of GPUs, and whether an answer is worth its moves."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from nona.allocation.problem import Allocation, AllocationProblem
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.scenario.training import MovesSpec
from nona.training.question import JobInterval
from nona.training.system import TrainingJob

BYTES = 4
"""Per value: single precision."""


class CheckpointSize(NamedTuple):
    """Parameters, values that the optimiser keeps for each, and where the numbers are from."""

    parameters: float
    optimizer_values: int
    source: str
    checked: str

    @property
    def size_bytes(self) -> float:
        """4 · P · (1 + k): the weights and k values of the optimiser per weight."""
        return BYTES * self.parameters * (1 + self.optimizer_values)


@cache
def shipped_sizes() -> Mapping[str, CheckpointSize]:
    """Sizes by model without its batch size; most are recollected or assumed, as each row says.

    >>> round(shipped_sizes()["ResNet-50"].size_bytes / 1e6)
    204
    """
    text = files("nona.training").joinpath("data/checkpoints.csv").read_text(encoding="utf-8")
    return {
        row["model"]: CheckpointSize(
            float(row["parameters"]),
            int(row["optimizer_values"]),
            row["source"],
            row["checked"],
        )
        for row in csv.DictReader(text.splitlines())
    }


def checkpoint_bytes(job: TrainingJob) -> float:
    """Return the job's own size; without one its model's; 0 where neither is known.

    >>> [round(checkpoint_bytes(TrainingJob("a", model, 1)) / 1e6, 2) for model in ("A3C", "mine")]
    [7.08, 0.0]
    """
    if job.checkpoint_bytes > 0:
        return job.checkpoint_bytes
    model_size = shipped_sizes().get(job.model.split(" (")[0])
    return model_size.size_bytes if model_size else 0.0


def move_s(spec: MovesSpec, checkpoint_bytes: float) -> float:
    """C = V/b_save + V/b_net + V/b_load + warm-up, for a checkpoint of V bytes.

    >>> move_s(MovesSpec(save=1e9, network=1.25e9, load=1e9, warmup=10), 5e9)
    24.0
    """
    return checkpoint_bytes * (1 / spec.save + 1 / spec.network + 1 / spec.load) + spec.warmup


def least_round_s(cost_s: float, overhead: float) -> float:
    """R ≥ c/ε: rounds so long that a move in each of them costs at most the share ε of the time.

    >>> least_round_s(24.0, 0.05)
    480.0
    """
    if not 0 < overhead <= 1:
        raise SimulationError(f"Moves: overhead={overhead!r} must be above 0 and at most 1; change it.")
    return cost_s / overhead


_STARVED = 1e-9


@dataclass(frozen=True, slots=True)
class MoveGain:
    """Within the horizon: normalised work that the new allocation gains, and what its moves lose."""

    gained: float
    lost: float
    feeds: bool

    @property
    def is_worthwhile(self) -> bool:
        """True where the new answer gains more than it loses, or gives time to a job that had none."""
        return self.feeds or self.gained > self.lost


def changed_share(old: Floats, new: Floats) -> Floats:
    """(m,) share of its time that a job spends on other GPUs: ½ Σ_j |x'_ij − x_ij| + ½ |Σ_j (x'_ij − x_ij)|.

    >>> changed_share(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.0, 1.0]])).tolist()
    [0.5, 1.0]
    """
    change = new - old
    share: Floats = 0.5 * np.abs(change).sum(axis=1) + 0.5 * np.abs(change.sum(axis=1))
    return share


def move_gain(
    old: tuple[Floats, Floats],
    new: tuple[Floats, Floats],
    normal: Floats,
    cost_s: Floats,
    horizon_s: float,
) -> MoveGain:
    """Compare two allocations of the same jobs within the horizon H.

    gained = H · Σ_i (thr'_i − thr_i)/n_i; lost = Σ_i c_i · d_i · T_i/n_i with d_i of :func:`changed_share`
    and T_i = thr'_i / Σ_j x'_ij the rate while it runs. Jobs that had no time lose nothing: they have no
    GPUs to move from.

    ``old``, ``new``: (m, J) shares of a job's time x by type, and (m,) thr in steps/s; zeros for jobs without
        time.
    ``normal``, ``cost_s``: (m,) n_i, steps/s that count as 1 (an equal share); (m,) c_i, seconds of a move.

    >>> before, after = (np.array([[1.0, 0.0]]), np.array([4.0])), (np.array([[0.0, 1.0]]), np.array([5.0]))
    >>> w = move_gain(before, after, np.array([1.0]), np.array([60.0]), 360.0)
    >>> w.gained, w.lost, w.is_worthwhile
    (360.0, 300.0, True)
    """
    (old_time, before), (new_time, after) = old, new
    time, had = new_time.sum(axis=1), old_time.sum(axis=1) > _STARVED
    running = np.divide(after, time, out=np.zeros_like(after), where=time > _STARVED)
    lost = np.where(had, cost_s * changed_share(old_time, new_time) * running, 0.0)
    able = normal > 0
    gained = horizon_s * (after - before)[able] / normal[able]
    feeds = bool((~had & (time > _STARVED)).any())
    return MoveGain(float(gained.sum()), float((lost[able] / normal[able]).sum()), feeds)


_SLACK = 1e-6


def _by_job(problem: AllocationProblem, answer: Allocation) -> tuple[Floats, Floats]:
    """(m, J) share of time of each job by type, and (m,) its throughput, over single rows and pairs."""
    time, rate = np.zeros_like(problem.rates), np.zeros(problem.jobs)
    number = {(int(a), int(b)): p for p, (a, b) in enumerate(problem.pairs)}
    for row, shares in zip(answer.rows, answer.shares, strict=True):
        for place, job in enumerate(row):
            time[job] += shares
            if len(row) == 1:
                rate[job] += shares @ problem.rates[job]
            else:
                a, b = row
                pair = number.get((a, b), number.get((b, a)))
                first = pair is not None and int(problem.pairs[pair, 0]) == a
                rate[job] += shares @ problem.pair_rates[pair, :, place if first else 1 - place]
    return time, rate


def fits(problem: AllocationProblem, answer: Allocation) -> bool:
    """Return whether the answer keeps within the GPUs: Σ sf x ≤ N for each type."""
    workers = np.array([problem.workers[row[0]] for row in answer.rows])
    return bool((workers @ answer.shares <= problem.gpus * (1 + _SLACK) + _SLACK).all())


class Charger:
    """``move_s`` gives the seconds of a job's move; ``horizon_s``: how long an answer is assumed to hold."""

    def __init__(self, numbers: Mapping[str, int], move_s: Callable[[int], float], horizon_s: float) -> None:
        self._numbers, self._move_s, self._horizon_s = numbers, move_s, horizon_s
        self.answers = self.declined = 0

    def choose(self, problem: AllocationProblem, new: Allocation) -> Allocation:
        """Return the new answer, or the old one where its moves lose more than it gains."""
        self.answers += 1
        if problem.carried is None or not problem.carried.rows:
            return new
        old = Allocation(problem.carried.rows, problem.carried.shares)
        if not fits(problem, old):
            return new
        cost_s = np.array([self._move_s(self._numbers[name]) for name in problem.names])
        normal = problem.rates @ problem.gpus / problem.gpus.sum()
        verdict = move_gain(_by_job(problem, old), _by_job(problem, new), normal, cost_s, self._horizon_s)
        if verdict.is_worthwhile:
            return new
        self.declined += 1
        return old


class MoveBudget:
    """R ≥ c/ε: a move of c seconds is at most the share ε of the time until the next one.

    A row keeps its GPUs while it has a share there; then others wait at most c/ε longer.
    """

    def __init__(self, move_s: Callable[[int], float], overhead: float) -> None:
        self._move_s, self._overhead = move_s, overhead
        self._since: dict[int, float] = {}
        self._ran: dict[tuple[int, ...], int] = {}

    def starts(self, stretch: JobInterval) -> None:
        """Record since when a job holds its GPUs."""
        if stretch.job not in self._since or stretch.moved_from is not None or stretch.paused:
            self._since[stretch.job] = stretch.start_s

    def ran(self, row: tuple[int, ...], kind: int) -> None:
        """Record the GPU type on which a row ran last."""
        self._ran[row] = kind

    def kept_rows(
        self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float
    ) -> list[tuple[int, int]]:
        """(row, type) of rows that ran in the last round, have a share there, and owe for a move."""
        last, self._ran = self._ran, {}
        owing = []
        for number, row in enumerate(rows):
            kind = last.get(row)
            if kind is not None and shares[number, kind] > 0 and any(self._owes(j, now_s) for j in row):
                owing.append((number, kind))
        return owing

    def _owes(self, job: int, now_s: float) -> bool:
        return now_s - self._since[job] < least_round_s(self._move_s(job), self._overhead)
