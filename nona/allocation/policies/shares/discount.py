"""Partial allocation: the product of values is maximised, and everyone pays for what the others lose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.allocation.policies.shares.welfare import Values, with_and_without


@dataclass(frozen=True, eq=False, slots=True)
class Bids:
    """(m, J) rates of jobs that can all run; (m,) sf; t and r of V = θ / (tθ + r); (J,) GPUs."""

    rates: Floats
    workers: Floats
    elapsed: Floats
    left: Floats
    gpus: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Partial:
    """(m, J) shares that maximise Π V_i; (m,) the part of them that each job keeps; ln V and its bound.

    ``mean_log``: mean of ln V_i at the shares before the discount; ``mean_bound``: the bound on it.
    """

    shares: Floats
    kept: Floats
    mean_log: float
    mean_bound: float


def partial_allocation(bids: Bids) -> Partial:
    """x = argmax Π V_i; job i keeps Π_{k≠i} V_k(x) / Π_{k≠i} V_k(best without i) ≤ 1 of its row.

    Equal jobs are one class, which is solved for once; their shares are equal.

    Source: Cole, Gkatzelis and Goel, EC 2013 (Mechanism design for fair division), from memory.
    """
    best = bids.rates.max(axis=1)
    scaled = bids.rates / best[:, None]
    table = np.column_stack([scaled, bids.workers, bids.elapsed, bids.left / best])
    kinds = bids.rates.shape[1]
    found, number, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    values = Values(found[:, :kinds], found[:, kinds], found[:, kinds + 1], found[:, kinds + 2], bids.gpus)
    full, without = with_and_without(values, counts.astype(float))
    others = full.value[0] - values.value(full.shares[0])
    kept = np.exp(np.minimum(0.0, others - without.value))
    jobs = len(number)
    return Partial(
        shares=full.shares[0][number],
        kept=kept[number],
        mean_log=float(full.value[0]) / jobs,
        mean_bound=float(full.bound[0]) / jobs,
    )
