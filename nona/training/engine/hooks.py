"""What may intervene in a run: rates that policies believe, moves, failures. Nothing does by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.training.model.rates import Rates
from nona.training.model.state import State


class Stretch(NamedTuple):
    """A job's time on GPUs in one round: ``nodes`` are (type, node) of its GPUs; ``rate``: true steps/s."""

    job: int
    kind: int
    nodes: tuple[tuple[int, int], ...]
    start_s: float
    end_s: float
    rate: float
    remaining: float
    moved_from: int | None
    paused: bool


class Outcome(NamedTuple):
    """Steps done (less than 0 where a failure undid earlier ones), when it ended, and steps lost."""

    steps: float
    end_s: float
    lost_steps: float


class Hooks:
    """No intervention; extensions override what they need. One object serves one run."""

    def begin(self, rates: Rates, state: State) -> None:
        """A run begins; ``rates`` are its true rates, which may be limited, ``state`` is only to be read."""

    def arrived(self, job: int, now_s: float) -> None:
        """A job arrives."""

    def believed(self, jobs: Sequence[int], rates: Floats) -> Floats:
        """(m, J) the rates that the policy sees, given the true ones."""
        return rates

    def believed_pairs(self, jobs: Sequence[int], pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """(p, J, 2) the rates of pairs that the policy sees; ``pairs`` are job numbers."""
        return rates

    def choose(self, problem: Problem, new: Allocation) -> Allocation:
        """The allocation to follow; the last one is ``problem.carried``."""
        return new

    def held(
        self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float
    ) -> Sequence[tuple[int, int]]:
        """(row, type) that keep their GPUs in the round that begins; ``rows`` of jobs with their shares."""
        return ()

    def run(self, stretch: Stretch) -> Outcome | None:
        """What the job does in its time; ``None``: it runs undisturbed."""
        return None

    def measured(self, job: int, kind: int, partner: int | None, rate: float, partner_rate: float) -> None:
        """A round ended: a job ran on a type, alone or beside a partner, at these rates."""

    def completed(self, job: int, now_s: float) -> None:
        """A job is complete."""


NO_HOOKS = Hooks()
