"""Strategy-proof: the largest product of throughputs, of which each job keeps a part."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.problem import Allocation, Problem
from nona.allocation.policies.shares.discount import Bids, partial_allocation
from nona.look import Look
from nona.options import Options, check_known


def _allocate(problem: Problem) -> Allocation:
    able = problem.rates.max(axis=1, initial=0.0) > 0
    rows = tuple((i,) for i in range(problem.jobs))
    shares = np.zeros(problem.rates.shape)
    if not able.any():
        return Allocation(rows, shares)
    ones = np.ones(int(able.sum()))
    scale = problem.rates[able].max(axis=1)
    bids = Bids(problem.rates[able], problem.workers[able], 0 * ones, ones * scale, problem.gpus)
    found = partial_allocation(bids)
    shares[able] = found.shares * found.kept[:, None]
    unit = float(np.log(scale).mean())
    return Allocation(
        rows,
        shares,
        objective=float(np.exp(found.mean_log + unit)),
        bound=float(np.exp(found.mean_bound + unit)),
        details={"least_kept": float(found.kept.min())},
    )


def _prepare(options: Options) -> Allocator:
    check_known("Policy 'strategy-proof'", options, ())
    return _allocate


POLICY = Policy(
    name="strategy-proof",
    title="Strategy-proof",
    summary="Maximises the product of throughputs; jobs keep a part, so that none gains by false rates.",
    source="Narayanan et al., OSDI 2020 (Gavel); mechanism of Cole, Gkatzelis and Goel, EC 2013, from memory",
    adaptation="The objective is stated before the discount. Jobs that no type can run are left out.",
    prepare=_prepare,
    defaults={},
    option_help={},
    objective="geometric mean of throughputs before the discount, steps/s",
    look=Look("#8b3fd9", "longdash", "circle-cross"),
)
