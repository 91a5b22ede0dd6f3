"""Which pairs of jobs are worth a row of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.allocation.programs.polytope import Floats, Ints

PARTNERS = 8


def combined_rates(rates: Floats, pairs: Ints, pair_rates: Floats) -> Floats:
    """(p, J) Σ over the two jobs of rate beside the other / rate alone; 0 where one cannot run.

    >>> combined_rates(np.array([[2.0], [4.0]]), np.array([[0, 1]]), np.array([[[1.5, 2.0]]]))
    array([[1.25]])
    """
    alone = np.moveaxis(rates[pairs], 1, 2)
    part = np.divide(pair_rates, alone, out=np.zeros_like(pair_rates), where=alone > 0)
    return np.where((part > 0).all(axis=2), part.sum(axis=2), 0.0)


def worthwhile_pairs(
    rates: Floats, workers: Floats, pairs: Ints, pair_rates: Floats, partners: int = PARTNERS
) -> tuple[Ints, Floats]:
    """The pairs that get a row, and their rates, 0 on types where they gain nothing.

    A pair is kept on a type only where its combined rate exceeds 1: otherwise both jobs reach the same
    throughputs one after the other in no more GPU time, so nothing is lost. Of these pairs each job proposes
    the ``partners`` best ones by combined rate on their best type (ties: lower numbers first), and what no
    job proposes is left out: this bounds the rows by (1 + partners)·m and may cost some throughput.
    Both jobs of a pair need equally many workers; others are left out too.

    >>> rates, two = np.array([[2.0], [4.0], [4.0]]), np.array([[0, 1], [1, 2]])
    >>> worthwhile_pairs(rates, np.ones(3), two, np.array([[[1.5, 2.0]], [[2.0, 2.0]]]))[0]
    array([[0, 1]])
    """
    gain = combined_rates(rates, pairs, pair_rates)
    best = gain.max(axis=1, initial=0.0)
    useful = (best > 1) & (workers[pairs[:, 0]] == workers[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])
    pairs, pair_rates, gain, best = pairs[useful], pair_rates[useful], gain[useful], best[useful]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -best))
    keep = _proposed(pairs[order], partners)
    chosen = np.sort(order[keep])
    return pairs[chosen], np.where((gain[chosen] > 1)[:, :, None], pair_rates[chosen], 0.0)


def _proposed(pairs: Ints, partners: int) -> NDArray[np.bool_]:
    """Whether each pair, best first, is among the first ``partners`` of one of its jobs."""
    jobs = pairs.ravel()
    order = np.argsort(jobs, kind="stable")
    ordered = jobs[order]
    first = np.searchsorted(ordered, ordered)
    rank = np.empty(len(jobs), np.int64)
    rank[order] = np.arange(len(jobs)) - first
    two = rank.reshape(-1, 2) < partners
    return two[:, 0] | two[:, 1]
