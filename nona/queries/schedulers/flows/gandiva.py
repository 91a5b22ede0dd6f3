"""``gandiva``: equal parts; query classes share theirs on trial, and part when slower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from nona.allocation.problem import PreviousAllocation
from nona.core.arrays import Floats
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.flows.allotter import (
    ExecutorClaims,
    RoundQuestion,
    claims_of,
    flow_scheduler,
    single_claims,
)


class PackingTrial(NamedTuple):
    """What was tried.

    ``rows``: which flows shared in the last round; ``alone`` (Q,): slowdown of each flow in the last round in
    which it had a row of its own, ``nan`` before.
    """

    rows: tuple[tuple[int, ...], ...]
    alone: Floats


@dataclass(frozen=True, slots=True)
class AskGandiva:
    """Asks the training policy, with measured slowdowns in place of profiled rates of pairs."""

    seed: int

    def __call__(self, question: RoundQuestion, memory: PackingTrial | None) -> tuple[ExecutorClaims, Any]:
        """Return the claims of the next round, and what it tries."""
        from nona.allocation.registry import get_policy  # programs take a while to import

        trial = _with_slowdowns(question, memory)
        if not len(question.active):
            return single_claims(0.0 * question.cluster.rates), PackingTrial((), trial.alone)
        problem, order = question.problem(*_pairs(question, trial))
        allocation = get_policy("gandiva").prepare({"seed": self.seed})(problem)
        claims = claims_of(question, allocation, order)
        return claims, PackingTrial(
            tuple(row for row, x in zip(claims.rows, claims.executors, strict=True) if x.any()), trial.alone
        )


def _with_slowdowns(question: RoundQuestion, memory: PackingTrial | None) -> PackingTrial:
    """Return the memory with the last round's slowdowns of flows that had a row of their own."""
    slowdown = question.last_round.slowdown
    if memory is None:
        return PackingTrial((), np.full(len(slowdown), np.nan))
    alone = memory.alone.copy()
    for row in memory.rows:
        if len(row) == 1 and np.isfinite(slowdown[row[0]]):
            alone[row[0]] = slowdown[row[0]]
    return PackingTrial(memory.rows, alone)


def _pairs(question: RoundQuestion, trial: PackingTrial) -> tuple[Any, Any, PreviousAllocation]:
    """All pairs of active flows, what they gain, and the last rows, as the training policy wants them.

    A pair's rate over that alone is slowdown alone over slowdown now, halved and divided by the number of
    types, so that the policy's sum over both flows and all types is the mean over both: 1 or more if they
    did not get slower together. Unmeasured counts as unchanged.
    """
    active = question.active
    place = {int(flow): i for i, flow in enumerate(active)}
    faster = trial.alone / question.last_round.slowdown
    faster = np.where(np.isfinite(faster), faster, 1.0)[active]
    alone, _ = question.problem()
    types = alone.rates.shape[1]
    pairs = np.array(list(combinations(range(len(active)), 2)), np.int64).reshape(-1, 2)
    rates = alone.rates[pairs].transpose(0, 2, 1) * faster[pairs][:, None, :] / (2.0 * types)
    rows = tuple(tuple(place[i] for i in row) for row in trial.rows if all(i in place for i in row))
    return pairs, rates, PreviousAllocation(rows, np.zeros((len(rows), types)))


def _policy(options: Mapping[str, Any]) -> AskGandiva:
    return AskGandiva(options["seed"])


SCHEDULER = flow_scheduler(
    _policy,
    {"seed": PolicyOption(0, "seed of the pairs that are tried")},
    name="gandiva",
    network_view=NetworkView.N2,
    summary="Gives query classes equal parts, tries pairs on common executors, undoes those that got slower.",
    source=(
        "Xiao et al.: Gandiva: Introspective Cluster Scheduling for Deep Learning, OSDI 2018 "
        "(recollected), as the public simulator of Gavel has it"
    ),
    adaptation=(
        "A pair of classes has one part for both, as in that simulator. It stays while their "
        "slowdown, seconds in the system over seconds of service, is on average no worse than "
        "each had alone. Migration for locality has no counterpart."
    ),
    look=ChartStyle("#0f8a6a", "dash", "square-cross"),
)
