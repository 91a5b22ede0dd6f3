"""The interface of a policy: its question, its answer, its declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any, Literal, Protocol

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.options import Options
from nona.core.registry import Strategy


@dataclass(frozen=True, slots=True)
class EntityShare:
    """A team: its weight, and the rule by which its jobs divide its share."""

    name: str
    weight: float = 1.0
    policy: Literal["fairness", "fifo"] = "fairness"


@dataclass(frozen=True, slots=True)
class PreviousAllocation:
    """The previous answer, for policies that keep jobs on their GPUs; rows without jobs that left.

    ``rows``: numbers of jobs, as the new problem numbers them; ``shares``: (rows, J).
    """

    rows: tuple[tuple[int, ...], ...]
    shares: Floats


@dataclass(frozen=True, eq=False, slots=True)
class AllocationProblem:
    """m jobs that share N_j GPUs of each of J types. Jobs are in order of their numbers (arrival).

    ``types``, ``gpus``: (J,) names in alphabetical order; N_j, all above 0.
    ``names``: (m,) names of the jobs.
    ``workers``, ``weights``: (m,) sf_i, GPUs at a time; w_i.
    ``rates``: (m, J) T_ij, steps/s of the whole job alone; 0: cannot run there.
    ``remaining``: (m,) rem_i, steps left.
    ``elapsed_s``: (m,) t_i, seconds since its arrival.
    ``isolated_s``: (m,) C_i, seconds that the steps done so far would have taken on an equal share (state of
        ρ).
    ``slo_s``: (m,) seconds left until its deadline; NaN: none.
    ``entities``, ``entity``: the teams; (m,) number of each job's team, −1: none.
    ``prices``: (J,) US dollars per hour of a GPU.
    ``pairs``, ``pair_rates``: (p, 2) numbers of jobs that may share GPUs (equal sf); (p, J, 2) steps/s of
        both.
    ``carried``, ``seed``: the previous answer; what random draws depend on besides the policy's own options.
    """

    types: tuple[str, ...]
    gpus: Floats
    names: tuple[str, ...]
    workers: Floats
    weights: Floats
    rates: Floats
    remaining: Floats
    elapsed_s: Floats
    isolated_s: Floats
    slo_s: Floats
    prices: Floats
    entities: tuple[EntityShare, ...] = ()
    entity: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    pairs: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))
    pair_rates: Floats = field(default_factory=lambda: np.empty((0, 0, 2)))
    carried: PreviousAllocation | None = None
    seed: int = 0

    @property
    def jobs(self) -> int:
        """The number m of jobs."""
        return len(self.names)


@dataclass(frozen=True, eq=False, slots=True)
class Allocation:
    """An answer: shares of time.

    ``rows``: numbers of the jobs of each row: singles first, by number, then pairs.
    ``shares``: (rows, J) x, within [0, 1].
    ``objective``, ``bound``: value of the policy's objective at ``shares`` and the dual's bound on every
        allocation's; NaN for a policy that optimises nothing.
    ``warnings``: what could not be done, in sentences (an SLO that no allocation keeps).
    """

    rows: tuple[tuple[int, ...], ...]
    shares: Floats
    objective: float = nan
    bound: float = nan
    warnings: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """|objective − bound| / max(1e-12, |bound|); NaN where nothing is optimised."""
        return abs(self.objective - self.bound) / max(1e-12, abs(self.bound))


class Allocator(Protocol):
    """A policy with its options; keeps nothing between questions: equal problems have equal answers."""

    def __call__(self, problem: AllocationProblem) -> Allocation:
        """Shares of time for the problem's jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationPolicy(Strategy):
    """A policy's declaration.

    ``build`` gives the allocator under checked options. ``objective`` says what ``Allocation.objective`` is,
    with its unit; "" where nothing is optimised.
    ``heterogeneous``: whether it knows that types differ; its rounds then look at types in a fixed order.
    ``space_sharing``: whether it can put two jobs on the same GPUs (option ``space_sharing``).
    ``needs_share``: whether rounds leave GPUs idle rather than give them to a job without a share.
    ``needs_steps``: the jobs whose remaining steps it uses (NaN where they are unknown). ``needs_prices``:
    whether it uses prices.
    """

    build: Callable[[Mapping[str, Any]], Allocator]
    objective: str = ""
    heterogeneous: bool = True
    space_sharing: bool = False
    needs_share: bool = False
    needs_steps: Literal["", "all jobs", "all jobs with an SLO"] = ""
    needs_prices: bool = False

    def prepare(self, options: Options) -> Allocator:
        """Return the allocator; raises :class:`~nona.core.errors.SimulationError` for a wrong option."""
        return self.build(self.chosen(options))
