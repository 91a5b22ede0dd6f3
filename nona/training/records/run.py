"""What one run of one policy leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.allocation.policies.problem import Floats, Ints


@dataclass(frozen=True, slots=True)
class Placed:
    """Jobs (two where they share) on GPUs of a type, in round ``round``, from its start to ``end_s``."""

    round: int
    jobs: tuple[int, ...]
    kind: int
    gpus: tuple[int, ...]
    end_s: float


@dataclass(frozen=True, slots=True)
class Held:
    """An interactive or inference job on its GPUs of a type."""

    job: int
    kind: int
    gpus: tuple[int, ...]
    start_s: float
    end_s: float


@dataclass(frozen=True, eq=False)
class Weighed:
    """The ledger of a round whose priorities are kept: rows, X, τ, W, π, δ, and which (row, type) ran."""

    round: int
    rows: tuple[tuple[int, ...], ...]
    shares: Floats
    received: Floats
    type_s: Floats
    priorities: Floats
    deficits: Floats
    ran: frozenset[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class TrainingRecords:
    """A run. Jobs by number (M), types by place (J), rounds in order; times in seconds.

    Attributes
    ----------
    arrival_s, admitted_s, completion_s
        (M,) when a job came, the start of its first round, its end; NaN: not complete.
    asked, done, lost
        (M,) steps in all, steps done, steps that failures or moves undid.
    isolated_s
        (M,) seconds that the steps done would have taken on an equal share of the cluster.
    busy_s
        (M, J) seconds that a job was on GPUs of a type, not times its workers.
    booked_s
        (J,) GPU-seconds of each type; a pair counts once.
    planned_s, received_s, present_s
        (M, J) Σ X · time, (M, J) seconds on GPUs, and (M,) seconds that a job was there, all since its first
        allocation.
    preemptions, moves
        (M,) rounds in which it paused, or changed its GPUs.
    round_start_s, round_end_s, running, waiting
        (K,) of each round.
    placed, held
        Who ran where; jobs that hold their GPUs.
    weighed
        Priorities of the first rounds, where they were asked for.
    decision_s, gaps
        Of each answer of the policy: seconds, and its gap to the dual's bound (NaN: none).
    end_s
        When the last round ended.
    """

    policy: str
    types: tuple[str, ...]
    arrival_s: Floats
    admitted_s: Floats
    completion_s: Floats
    asked: Floats
    done: Floats
    lost: Floats
    isolated_s: Floats
    busy_s: Floats
    booked_s: Floats
    planned_s: Floats
    received_s: Floats
    present_s: Floats
    preemptions: Ints
    moves: Ints
    round_start_s: Floats
    round_end_s: Floats
    running: Ints
    waiting: Ints
    placed: tuple[Placed, ...]
    held: tuple[Held, ...]
    weighed: tuple[Weighed, ...]
    decision_s: Floats
    gaps: Floats
    warnings: tuple[str, ...]
    end_s: float
    extras: dict[str, float] = field(default_factory=dict)

    @property
    def jct_s(self) -> Floats:
        """(M,) completion − arrival; NaN where a job is not complete."""
        found: Floats = self.completion_s - self.arrival_s
        return found

    @property
    def complete(self) -> bool:
        """Whether all jobs are."""
        return not bool(np.isnan(self.completion_s).any())
