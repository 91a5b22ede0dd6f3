"""A round of a scheduler of flows: what it is asked, its claims, the executors held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from nona.allocation.problem import Allocation, AllocationProblem, PreviousAllocation
from nona.core.arrays import Bools, Floats, Ints
from nona.core.options import Option, PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import Allotment, NetworkView, RoundInput, Scheduler, SchedulerTables
from nona.queries.schedulers.least_loaded import decide, executor_works, works_of
from nona.queries.system import System

SHORTEST_S = 1e-12  # of a query, so that its rate is finite


@dataclass(frozen=True, eq=False, slots=True)
class FlowCluster:
    """Q flows on E executors of K classes.

    ``rates`` (Q, K): modelled queries/s on one executor of each class, 0 where it cannot hold the model;
    ``executor_class`` (E,); ``counts`` (K,) executors of each class.
    """

    flows: tuple[str, ...]
    classes: tuple[str, ...]
    executor_class: Ints
    counts: Ints
    rates: Floats


def _cluster_of(system: System) -> FlowCluster:
    works = works_of(system)
    work_s = works.work_s.reshape(len(system.queries), works.classes)
    return FlowCluster(
        flows=tuple(q.name for q in system.queries),
        classes=system.class_names,
        executor_class=system.executor_class.astype(np.int64),
        counts=system.class_counts.astype(np.int64),
        rates=1.0 / np.maximum(work_s, SHORTEST_S),
    )


class FlowKnowledge(NamedTuple):
    """What a policy is asked in a round.

    ``expected`` (Q,): queries that the next round is expected to bring; ``rates`` (Q, K): queries/s on one
    executor of each class.
    """

    expected: Floats
    rates: Floats


def learned(of: FlowCluster, before: FlowKnowledge | None, seen: RoundInput) -> FlowKnowledge:
    """Update expectations and rates after a round: half of the old, half of the measured.

    Rates start as modelled and change where queries were completed (T ← ½T + ½ measured, Gavel's rule on
    hardware); what is expected starts as the first round's queries.
    """
    if before is None:
        before = FlowKnowledge(seen.offered.astype(float), of.rates)
    ran = (seen.completed > 0) & (seen.service_s > 0)
    measured = np.divide(seen.completed, seen.service_s, out=before.rates.copy(), where=ran)
    return FlowKnowledge(0.5 * before.expected + 0.5 * seen.offered, 0.5 * before.rates + 0.5 * measured)


IDLE = 1e-3  # queries in a round: a flow that expects fewer has no work


@dataclass(frozen=True, eq=False, slots=True)
class RoundQuestion:
    """One round's question.

    ``of``, ``known``, ``seen``: the cluster, what is known of the flows, and what was seen in the last round.
    ``owned``: (Q,) executors that each flow had for itself in the last round; before the first, all.
    """

    cluster: FlowCluster
    knowledge: FlowKnowledge
    last_round: RoundInput
    owned: Ints

    @property
    def remaining(self) -> Floats:
        """(Q,) Queries in the system and expected: the work of the next round."""
        return self.last_round.open + self.knowledge.expected

    @property
    def needs(self) -> Floats:
        """(Q,) Queries/s that would do this work within the round."""
        return self.remaining / self.last_round.length_s

    @property
    def active(self) -> Ints:
        """Numbers of the flows that have work; the others claim nothing."""
        return np.flatnonzero(self.remaining >= IDLE)

    def problem(
        self,
        pairs: Ints | None = None,
        pair_rates: Floats | None = None,
        carried: PreviousAllocation | None = None,
    ) -> tuple[AllocationProblem, Ints]:
        """Return the problem of the active flows, and the class numbers of its types.

        A flow is a job on all N executors at once, so that x_ij·N is the number of executors of type j that
        it gets, its throughput is the sum of their rates, and Σ_j x_ij ≤ 1 says nothing. Its steps left are
        the work of the next round. It has been there as long as its present queries have been on average,
        open / offered rate (Little), and did nothing yet.
        """
        order = np.array([k for _, k in sorted((name, k) for k, name in enumerate(self.cluster.classes))])
        order, active = order[self.cluster.counts[order] > 0], self.active
        total, none = float(self.cluster.counts.sum()), np.zeros(len(active))
        rate = self.knowledge.expected[active] / self.last_round.length_s
        since_s = np.divide(self.last_round.open[active], rate, out=none.copy(), where=rate > 0)
        problem = AllocationProblem(
            types=tuple(f"{self.cluster.classes[k]}#{k}" for k in order),
            gpus=self.cluster.counts[order].astype(float),
            names=tuple(f"{self.cluster.flows[i]}#{i}" for i in active),
            workers=np.full(len(active), total),
            weights=np.ones(len(active)),
            rates=total * self.knowledge.rates[np.ix_(active, order)],
            remaining=self.remaining[active],
            elapsed_s=np.minimum(since_s, self.last_round.now_s),
            isolated_s=none,
            slo_s=np.full(len(active), np.nan),
            prices=np.ones(len(order)),
            pairs=np.empty((0, 2), np.int64) if pairs is None else pairs,
            pair_rates=np.empty((0, len(order), 2)) if pair_rates is None else pair_rates,
            carried=carried,
        )
        return problem, order


DECIMALS = 6  # equal flows get claims that are equal only up to a solver's rounding


@dataclass(frozen=True, eq=False, slots=True)
class ExecutorClaims:
    """What a policy claims.

    ``rows``: numbers of the flows of each row; ``executors`` (rows, K): how many they should have of each
    class, on average over rounds.
    """

    rows: tuple[tuple[int, ...], ...]
    executors: Floats


def single_claims(executors: Floats) -> ExecutorClaims:
    """Claims (Q, K) of flows that share with none."""
    return ExecutorClaims(tuple((i,) for i in range(len(executors))), executors)


def claims_of(question: RoundQuestion, allocation: Allocation, order: Ints) -> ExecutorClaims:
    """Return the claims that an allocation for ``question.problem()`` stands for: x·N executors."""
    active, counts = question.active, question.cluster.counts
    executors = np.zeros((len(allocation.rows), len(counts)))
    executors[:, order] = allocation.shares * counts.sum()
    return ExecutorClaims(tuple(tuple(int(active[i]) for i in row) for row in allocation.rows), executors)


def within_needs(question: RoundQuestion, claims: ExecutorClaims) -> ExecutorClaims:
    """Return the claims, each cut to what the row's flows need, and to classes that one of them can use.

    All flows may use the part that is cut off. (A policy for training gives a job all that it is due, as a
    job can always use it; a flow without queries cannot.)
    """
    rates, executors = question.knowledge.rates, np.zeros(claims.executors.shape)
    for r, row in enumerate(claims.rows):
        flows = np.array(row)
        claim = np.where((rates[flows] > 0).any(axis=0), claims.executors[r], 0.0)
        throughputs = rates[flows] @ claim
        if (throughputs > 0).any():
            with np.errstate(divide="ignore"):
                part = float((question.needs[flows] / throughputs).sum())
            executors[r] = claim * min(1.0, part)
    return ExecutorClaims(claims.rows, executors.round(DECIMALS))


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """Asks the policy ``name`` of :mod:`nona.allocation` where two flows or more have work."""

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __call__(self, question: RoundQuestion, memory: Any) -> tuple[ExecutorClaims, Any]:
        """Return the policy's claims, and the memory as it is."""
        from nona.allocation.registry import get_policy  # programs take a while to import

        if len(question.active) < 2:  # there is nothing to divide: all flows may use all executors
            return single_claims(0.0 * question.cluster.rates), None
        problem, order = question.problem()
        allocation = get_policy(self.name).prepare(self.options)(problem)
        return claims_of(question, allocation, order), None


ALL: tuple[int, ...] = ()  # the row of executors that all flows share


@dataclass(frozen=True, eq=False, slots=True)
class Holdings:
    """The rows of flows and their executors.

    ``rows``: the flows of each row, the last is :data:`ALL`; ``owner`` (E,): the row that holds each
    executor; ``short`` (rows, K): executors that a row should have had more, over all rounds.
    """

    rows: tuple[tuple[int, ...], ...]
    owner: Ints
    short: Floats


def hold(of: FlowCluster, claims: ExecutorClaims, before: Holdings | None) -> Holdings:
    """Return the holdings of the next round.

    Of each class, one executor after the other goes to the row that is short of most, the first of equals.
    Unclaimed executors are shared by all flows. A row keeps what it had as far as possible; other executors
    change hands in order of their numbers.
    """
    rows = (*claims.rows, ALL)
    left = of.counts - claims.executors.sum(axis=0)
    short = np.vstack([claims.executors, np.maximum(left, 0.0)])
    had = np.full(len(of.executor_class), -1)
    if before is not None:
        place = {row: r for r, row in enumerate(rows)}
        for r, row in enumerate(before.rows):
            if row in place:
                short[place[row]] += before.short[r]
                had[before.owner == r] = place[row]
    owner = np.full(len(had), -1)
    for k, count in enumerate(of.counts):
        number = np.zeros(len(rows), np.int64)
        for _ in range(count):
            most = int(np.argmax(short[:, k]))
            number[most] += 1
            short[most, k] -= 1.0
        _assign(owner, had, np.flatnonzero(of.executor_class == k), number)
    return Holdings(rows, owner, short.round(9))


def _assign(owner: Ints, had: Ints, executors: Ints, number: Ints) -> None:
    missing = number.copy()
    for r in range(len(number)):
        kept = executors[had[executors] == r][: number[r]]
        owner[kept] = r
        missing[r] -= len(kept)
    free = executors[owner[executors] < 0]
    owner[free] = np.repeat(np.arange(len(number)), missing)


def sets_of(of: FlowCluster, holdings: Holdings) -> Bools:
    """(Q, E) Executors that each flow may use: those of its rows, and those that all share."""
    sets = np.zeros((len(of.rates), len(holdings.owner)), dtype=np.bool_)
    for r, row in enumerate(holdings.rows):
        flows = list(row) if row != ALL else list(range(len(sets)))
        sets[flows] |= holdings.owner == r
    return sets


def owned(of: FlowCluster, holdings: Holdings | None) -> Ints:
    """(Q,) Executors of the rows of each flow; all before the first round."""
    if holdings is None:
        return np.full(len(of.rates), int(of.counts.sum()))
    counts = np.bincount(holdings.owner, minlength=len(holdings.rows))
    executors = np.zeros(len(of.rates), np.int64)
    for row, count in zip(holdings.rows, counts, strict=True):
        executors[list(row)] += count
    return executors


#: What is the same in all adaptations, for people.
_SHARED = (
    " A flow is one query class; a query goes whole to the least loaded executor of its flow's set, and "
    "running work stays. Steps left are the queries that wait and those expected in a round (option "
    "round_s, 1 s by default). Rates start as modelled; every round they move halfway to the measured "
    "rate. Claims are cut to what that work needs, and rounded to whole executors by deficit. Every flow "
    "may use what is left."
)


class FlowPolicy(Protocol):
    """A policy of flows. It keeps nothing: what it wants to remember it gives back."""

    def __call__(self, question: RoundQuestion, memory: Any) -> tuple[ExecutorClaims, Any]:
        """Claims for the next round, and the next memory; the first is ``None``."""


class Memory(NamedTuple):
    """The state that a round passes to the next."""

    knowledge: FlowKnowledge
    holdings: Holdings
    policy: Any


@dataclass(frozen=True, eq=False, slots=True)
class Allotter:
    """An :data:`~nona.queries.schedulers.base.Allocate` by the policy ``ask``."""

    cluster: FlowCluster
    policy: FlowPolicy

    def __call__(self, seen: RoundInput, memory: Memory | None) -> Allotment:
        """Return the executors of each flow for the next round."""
        estimates = learned(self.cluster, memory.knowledge if memory else None, seen)
        before = memory.holdings if memory else None
        question = RoundQuestion(self.cluster, estimates, seen, owned(self.cluster, before))
        claims, policy = self.policy(question, memory.policy if memory else None)
        holdings = hold(self.cluster, within_needs(question, claims), before)
        return Allotment(sets_of(self.cluster, holdings), Memory(estimates, holdings, policy))


_ROUND = PolicyOption(1.0, "seconds between two divisions of the executors", least=1e-3)


@dataclass(frozen=True, slots=True)
class _Build:
    """Prepares rounds in which ``ask`` of the checked options is asked; raises where a model fits nowhere."""

    policy: Callable[[Mapping[str, Any]], FlowPolicy]

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        allotter = Allotter(_cluster_of(system), self.policy(options))
        return SchedulerTables(executor_works(system), 1, round_s=options["round_s"], allocate=allotter)


def flow_scheduler(
    ask: Callable[[Mapping[str, Any]], FlowPolicy],
    settings: Mapping[str, PolicyOption] = MappingProxyType({}),
    *,
    name: str,
    network_view: NetworkView,
    summary: str,
    source: str,
    adaptation: str,
    look: ChartStyle,
) -> Scheduler:
    """Declare a scheduler that divides the executors among flows; ``ask`` makes of options what divides."""
    return Scheduler(
        name=name,
        kind="allocate",
        family="allocation",
        network_view=network_view,
        summary=summary,
        source=source,
        adaptation=adaptation + _SHARED,
        decide=decide,
        build=_Build(ask),
        settings={**settings, "round_s": _ROUND},
        reads_queues=True,
        takes_lists=True,
        style=look,
    )
