"""How long one answer of a policy of training clusters takes, and how that grows with the jobs.

Prints milliseconds of each policy that solves linear programs, on three types of GPU for 32 to 1,024 jobs,
and the exponent p of the fit time = c·mᵖ; then seconds of max-min fairness with space sharing, where every
two jobs may be paired, to 2,048 jobs. Times are of the CPU (one thread, so other load on the machine counts
little), the best of three answers, of one where it takes longer than a second.
Run with ``OMP_NUM_THREADS=1 python -m benchmarks.training_allocation``; ``--short`` stops at 512 in pairs.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from nona.allocation.problem import Allocation, Problem
from nona.allocation.registry import get_policy

POLICIES = (
    *("max-min-fairness", "max-min-fairness-agnostic", "makespan", "finish-time-fairness"),
    *("finish-time-fairness-agnostic", "cost", "cost-slo", "sum-of-throughputs"),
)
SIZES = (32, 64, 128, 256, 512, 1024)
PAIRED = (128, 256, 512, 1024, 2048)
REPEATS = 3
KINDS = 26  # of jobs; Gavel's table has as many


def question(jobs: int, seed: int = 0, paired: bool = False) -> Problem:
    """Jobs of 26 kinds with 1, 2 or 4 workers (1 in pairs), a sixth as many GPUs of each of three types."""
    rng = np.random.default_rng(seed)
    rates = (rng.lognormal(size=(KINDS, 3)) * np.array([1.0, 3.0, 5.0]))[rng.integers(0, KINDS, jobs)]
    if paired:
        rates = rates * rng.uniform(0.9, 1.1, rates.shape)  # no two jobs are equal
    a, b = np.triu_indices(jobs, 1) if paired else (np.empty(0, np.int64), np.empty(0, np.int64))
    beside = rng.uniform(0.3, 0.9, (len(a), 3, 2)) * np.stack([rates[a], rates[b]], axis=2)
    slos = np.where(rng.random(jobs) < 0.5, rng.exponential(3e5, jobs), np.nan)
    return Problem(
        types=("k80", "p100", "v100"),
        gpus=np.full(3, jobs // 6 + 1.0),
        names=tuple(map(str, range(jobs))),
        workers=np.ones(jobs) if paired else rng.choice([1.0, 1.0, 2.0, 4.0], jobs),
        weights=rng.choice([1.0, 1.0, 5.0], jobs),
        rates=rates,
        remaining=rng.lognormal(9, 1.5, jobs),
        elapsed_s=rng.exponential(20_000, jobs),
        isolated_s=rng.exponential(15_000, jobs),
        slo_s=slos,
        prices=np.array([0.45, 1.46, 2.48]),
        pairs=np.stack([a, b], axis=1),
        pair_rates=beside,
    )


def timed(name: str, asked: Problem, space_sharing: bool = False) -> tuple[float, Allocation]:
    """CPU seconds of the quickest of several answers, and the answer."""
    policy = get_policy(name)
    allocate = policy.prepare({**policy.defaults, **({"space_sharing": True} if space_sharing else {})})
    best = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        found = allocate(asked)
        best = min(best, time.process_time() - started)
        if best > 1:
            break
    return best, found


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of log seconds over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    """Print all tables."""
    print("milliseconds of one answer, three types of GPU")
    print(f"{'policy':<30}" + "".join(f"{m:>8}" for m in SIZES) + "  exponent  worst gap")
    for name in POLICIES:
        found = [timed(name, question(m)) for m in SIZES]
        seconds = [s for s, _ in found]
        cells = "".join(f"{1e3 * s:8.1f}" for s in seconds)
        gap = max(a.gap for _, a in found)
        print(f"{name:<30}{cells}  {exponent(SIZES, seconds):8.2f}  {gap:9.1e}", flush=True)
    sizes = PAIRED[:3] if "--short" in sys.argv else PAIRED
    print("\nmax-min-fairness with space sharing: seconds of one answer")
    seconds = []
    for m in sizes:
        s, answer = timed("max-min-fairness", question(m, paired=True), space_sharing=True)
        seconds.append(s)
        print(f"{m:>6} jobs {len(answer.rows):>7} rows {s:8.2f} s  gap {answer.gap:.1e}", flush=True)
    print(f"exponent {exponent(sizes, seconds):.2f}")


if __name__ == "__main__":
    main()
