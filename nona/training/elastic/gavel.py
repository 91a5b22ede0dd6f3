"""Gavel's policies on elastic jobs: shares of time, enforced in rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nona.allocation.problem import AllocationProblem
from nona.allocation.registry import POLICIES
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.training.elastic import policy
from nona.training.elastic.system import ElasticSystem
from nona.training.mechanism import Ledger, select

CHOICES = (
    *("max-min-fairness", "finish-time-fairness", "makespan", "sum-of-throughputs"),
    *("strategy-proof", "themis-auction", "isolated", "proportional"),
)
"""Those that make sense with one type of GPU and without prices, teams and pairs."""
EDGE_S = 1e-6


@dataclass(frozen=True)
class _IsolatedRates:
    """(M, 1) steps per second of each job on the GPUs that it asks for."""

    isolated_rates: Floats

    def pair(self, a: int, b: int) -> Floats:
        return np.zeros((1, 2))


@dataclass
class Gavel(policy.ElasticPlanner):
    """A round lasts ``round_s``; the policy is asked when jobs came or left, at most every ``gap_s``."""

    system: ElasticSystem
    name: str
    round_s: float
    gap_s: float
    rates: Floats
    ledger: Ledger
    _next_s: float = 0.0
    _solved_s: float | None = None
    _present: frozenset[int] = frozenset()
    _dirty: bool = False
    _isolated_s: dict[int, float] = field(default_factory=dict)
    _left: dict[int, float] = field(default_factory=dict)
    _equal: dict[int, float] = field(default_factory=dict)

    def plan(self, question: policy.TickQuestion) -> policy.GpuCounts:
        """Answer: between rounds all jobs keep their GPUs, and new ones wait."""
        if question.time_s < self._next_s - EDGE_S:
            return policy.GpuCounts({active.number: active.given for active in question.jobs}, {})
        self._next_s = question.time_s + self.round_s
        self._follow(question)
        if self._dirty and (
            self._solved_s is None or question.time_s - self._solved_s >= self.gap_s - EDGE_S
        ):
            self._solve(question)
        chosen = select(self.ledger, self.ledger.priorities(), [self.system.cluster.size], [0])
        runs = [self.ledger.rows[c.row][0] for c in chosen]
        shares = (float(share) for share in self.ledger.shares[:, 0])
        values = {row[0]: share for row, share in zip(self.ledger.rows, shares, strict=True)}
        for c in chosen:
            self.ledger.book(c.row, 0, self.round_s)
        wanted = {n: self.system.jobs[n].gpus for n in runs}
        return policy.GpuCounts(policy.place(self.system.cluster, question.jobs, wanted), values)

    def _follow(self, question: policy.TickQuestion) -> None:
        present = frozenset(active.number for active in question.jobs)
        if gone := self._present - present:
            self.ledger.leave(set(gone))
        came = [active.number for active in question.jobs if active.number not in self._present]
        for n in came:
            self.ledger.arrive(n)
        self._dirty |= bool(gone or came)
        self._present = present

    def _solve(self, question: policy.TickQuestion) -> None:
        problem = self._problem(question.jobs)
        answer = POLICIES[self.name].prepare({})(problem)
        numbers = [active.number for active in question.jobs]
        since = 0.0 if self._solved_s is None else question.time_s - self._solved_s
        self.ledger.reset((tuple(numbers[i] for i in row) for row in answer.rows), answer.shares, since)
        self._solved_s, self._dirty = question.time_s, False

    def _problem(self, jobs: Sequence[policy.ActiveJob]) -> AllocationProblem:
        numbers = [active.number for active in jobs]
        rates = self.rates[numbers]
        left = np.array([_left(active) for active in jobs])
        self._count(numbers, left)
        workers = np.array([active.job.gpus for active in jobs], float)
        size = float(self.system.cluster.size)
        equal = rates[:, 0] * size / np.maximum(len(jobs) * workers, size)
        self._left = dict(zip(numbers, left.tolist(), strict=True))
        self._equal = dict(zip(numbers, equal.tolist(), strict=True))
        return AllocationProblem(
            types=("gpu",),
            gpus=np.array([size]),
            names=tuple(active.job.name for active in jobs),
            workers=workers,
            weights=np.ones(len(jobs)),
            rates=rates,
            remaining=left,
            elapsed_s=np.array([active.age_s for active in jobs]),
            isolated_s=np.array([self._isolated_s.get(n, 0.0) for n in numbers]),
            slo_s=np.full(len(jobs), np.nan),
            prices=np.ones(1),
            entity=np.full(len(jobs), -1),
            seed=self.system.seed,
        )

    def _count(self, numbers: Sequence[int], left: Floats) -> None:
        """Add to C_i the seconds that the work since the last answer takes on an equal share."""
        for n, now in zip(numbers, left.tolist(), strict=True):
            if n in self._left:
                done = self._left[n] - now
                self._isolated_s[n] = self._isolated_s.get(n, 0.0) + done / self._equal[n]


def _left(active: policy.ActiveJob) -> float:
    return active.job.application.remaining_iterations(active.job.batch, active.epoch)


def _build(system: ElasticSystem, options: Mapping[str, Any], _: np.random.Generator) -> Gavel:
    round_s = float(options["round_ticks"] * system.tick_s)
    if round_s <= system.restart_s:
        ticks = system.restart_s // system.tick_s + 1
        raise SimulationError(
            f"Policy 'gavel': option round_ticks={options['round_ticks']} makes rounds of {round_s:g} s, but "
            f"a restart takes {system.restart_s} s, so no job trains; set it to {ticks} or more."
        )
    rates = np.array([[1.0 / policy.step_alone_s(system.cluster, job)] for job in system.jobs])
    workers = np.array([job.gpus for job in system.jobs])
    ledger = Ledger(_IsolatedRates(rates), workers, round_s)
    return Gavel(system, options["policy"], round_s, options["reallocation_s"], rates, ledger)


POLICY = policy.ElasticPolicy(
    name="gavel",
    title="Gavel",
    summary="Shares of time by one of Gavel's policies, in rounds, with the GPUs that users ask for.",
    source="Narayanan et al., Gavel, OSDI 2020, sections 4 and 5, and its public simulator",
    adaptation="One type of GPU; a job's rate is that of the GPUs it asks for on as few nodes as possible. "
    "Remaining steps are known by whole epochs; a restart costs what it costs here.",
    build=_build,
    settings={
        "policy": PolicyOption("max-min-fairness", f"one of {', '.join(CHOICES)}", words=CHOICES),
        "round_ticks": PolicyOption(6, "ticks of a round; Gavel's 360 s are 6", least=1, most=10_000),
        "reallocation_s": PolicyOption(1920.0, "least time between two answers of the policy"),
    },
    network_view="N0",
    style=ChartStyle("#1f6fd0", "dot", "square-x"),
    value="share of time",
)
