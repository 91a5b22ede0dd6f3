"""What flows should have: executors of each class for a flow, or for flows that share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Allocation
from nona.schedulers.flows.cluster import Floats, Ints
from nona.schedulers.flows.question import Question

DECIMALS = 6  # equal flows get claims that are equal only up to a solver's rounding


@dataclass(frozen=True, eq=False, slots=True)
class Claims:
    """``rows``: numbers of the flows of each row; ``executors`` (rows, K): how many they should have of each
    class, on average over rounds."""

    rows: tuple[tuple[int, ...], ...]
    executors: Floats


def single_claims(executors: Floats) -> Claims:
    """Claims (Q, K) of flows that share with none."""
    return Claims(tuple((i,) for i in range(len(executors))), executors)


def claims_of(question: Question, found: Allocation, order: Ints) -> Claims:
    """The claims that an allocation for ``question.problem()`` stands for: x·N executors."""
    active, counts = question.active, question.of.counts
    executors = np.zeros((len(found.rows), len(counts)))
    executors[:, order] = found.shares * counts.sum()
    return Claims(tuple(tuple(int(active[i]) for i in row) for row in found.rows), executors)


def within_needs(question: Question, claims: Claims) -> Claims:
    """The claims, each cut to what the row's flows need, and to classes that one of them can use.

    What is cut off is not lost: all flows may use it. (A policy for training gives a job all that it is due,
    as a job can always use it; a flow without queries cannot.)
    """
    rates, executors = question.known.rates, np.zeros(claims.executors.shape)
    for r, row in enumerate(claims.rows):
        flows = np.array(row)
        claim = np.where((rates[flows] > 0).any(axis=0), claims.executors[r], 0.0)
        throughputs = rates[flows] @ claim
        if (throughputs > 0).any():
            with np.errstate(divide="ignore"):
                part = float((question.needs[flows] / throughputs).sum())
            executors[r] = claim * min(1.0, part)
    return Claims(claims.rows, executors.round(DECIMALS))
