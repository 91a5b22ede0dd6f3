"""Gandiva: time is shared equally; pairs are tried at random and kept while they pay."""

from __future__ import annotations

from functools import partial
from zlib import crc32

import numpy as np

from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.core.arrays import Floats
from nona.core.options import PolicyOption
from nona.core.random_streams import RandomStreams
from nona.core.registry import ChartStyle

Pair = tuple[int, int]


def _gains(problem: AllocationProblem) -> dict[Pair, float]:
    """Σ over types and both jobs of T_pair / T_alone for each pair; 0 if a rate is 0."""
    gains = {}
    for (a, b), both in zip(problem.pairs.tolist(), problem.pair_rates, strict=True):
        alone = np.stack([problem.rates[a], problem.rates[b]], axis=1)
        runs = bool((alone > 0).all() and (both > 0).all())
        gains[a, b] = float((both / alone).sum()) if runs else 0.0
    return gains


def _pairs(problem: AllocationProblem, seed: int) -> list[Pair]:
    """Return the pairs of the previous answer that paid, and new ones drawn from the other jobs.

    There are as many tries as other jobs. A try fails when the two cannot share GPUs, or when they are a
    pair that was given up just now.
    """
    gains = _gains(problem)
    before = [(min(r), max(r)) for r in (problem.carried.rows if problem.carried else ()) if len(r) == 2]
    kept = [pair for pair in before if gains.get(pair, 0.0) >= 1.0]
    gone = set(before) - set(kept)
    rest = [i for i in range(problem.jobs) if not any(i in pair for pair in kept)]
    state = str(crc32(np.concatenate([problem.remaining, problem.elapsed_s]).tobytes()))
    draw = RandomStreams(seed).generator("gandiva", str(problem.seed), state)
    for _ in range(len(rest)):
        if len(rest) < 2:
            break
        a, b = sorted(int(i) for i in draw.choice(rest, size=2, replace=False))
        if (a, b) in gains and (a, b) not in gone:
            kept.append((a, b))
            rest = [i for i in rest if i not in (a, b)]
    return sorted(kept)


def _shares(problem: AllocationProblem, workers: Floats) -> Floats:
    """Return x = N_j / (c · sf) for c combinations, each row divided by its sum if that is above 1."""
    shares: Floats = problem.gpus[None, :] / (len(workers) * workers[:, None])
    whole_time: Floats = np.maximum(1.0, shares.sum(axis=1, keepdims=True))
    return shares / whole_time


def _allocate(problem: AllocationProblem, seed: int, pack: bool) -> Allocation:
    crowded = problem.workers.sum() > problem.gpus.sum()
    pairs = _pairs(problem, seed) if pack and crowded else []
    paired = {i for pair in pairs for i in pair}
    single = np.array([i not in paired for i in range(problem.jobs)])
    first = np.array([a for a, _ in pairs], dtype=np.int64)
    runs = np.concatenate([problem.workers[single], problem.workers[first]])
    run_shares = _shares(problem, runs) if runs.size else np.zeros((0, len(problem.types)))
    shares = np.zeros((problem.jobs + len(pairs), len(problem.types)))
    shares[np.flatnonzero(single)] = run_shares[: int(single.sum())]
    shares[problem.jobs :] = run_shares[int(single.sum()) :]
    return Allocation((*((i,) for i in range(problem.jobs)), *pairs), shares)


POLICY = AllocationPolicy(
    name="gandiva",
    title="Gandiva",
    summary="Shares time equally and tries pairs of jobs on the same GPUs at random, keeping those that pay.",
    source="Xiao et al., OSDI 2018 (Gandiva), as the public simulator of Gavel has it",
    adaptation="Pairs are tried only when jobs ask for more GPUs than there are. A pair stays while the sum "
    "of T_pair / T_alone over types and both jobs is at least 1, the public code's rule. A pair that was "
    "given up just now is not drawn again at once. Rounds look at types in a fixed order, as in that code; "
    "migration for locality is left to them.",
    build=lambda options: partial(_allocate, seed=options["seed"], pack=options["space_sharing"]),
    settings={
        "space_sharing": PolicyOption(True, "whether jobs may be paired"),
        "seed": PolicyOption(0, "seed of the pairs that are tried"),
    },
    space_sharing=True,
    style=ChartStyle("#0f8a6a", "dash", "square-cross"),
)
