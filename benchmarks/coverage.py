"""How often nominal 95 % intervals cover a truth that is known: AR(1) and M/M/1, 1,000 experiments.

Run with ``python -m benchmarks.coverage [EXPERIMENTS]``. Each method gets runs of the length that
is stated; in the last table runs are too short on purpose, to show what happens then. The sojourn
times of M/M/1 come from Lindley's recursion, solved for all customers at once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from nona.planning.verdict import share_within
from nona.results.document import Estimate
from nona.simulation.steady_state import mser
from nona.simulation.summary import next_count, precision_of
from nona.statistics import (
    Interval,
    mean_interval,
    overlapping_batch_means,
    paired_difference,
    percentile_interval,
)

Array = NDArray[np.float64]
Generator = np.random.Generator
PHI = 0.9


def ar1(random: Generator, replications: int, n: int, start: float | None = None) -> Array:
    """x_{i+1} = φ·xᵢ + noise, of mean 0; from its stationary distribution, or from ``start``."""
    noise = random.normal(size=(replications, n))
    if start is None:
        noise[:, 0] /= math.sqrt(1 - PHI**2)
    else:
        noise[:, 0] = start
    return np.asarray(lfilter([1.0], [1.0, -PHI], noise, axis=1))


def mm1(
    random: Generator, replications: int, n: int, load: float, empty: bool = False, mean: float = 1.0
) -> Array:
    """Sojourn times at arrival rate ``load``: Wᵢ = Uᵢ − min over k ≤ i of Uₖ, Uᵢ = Σ (service − gap).

    The first customer's wait is drawn from the stationary distribution for ``mean`` service 1, or is
    0 if the queue starts ``empty``.
    """
    service = random.exponential(mean, (replications, n))
    gap = random.exponential(1 / load, (replications, n))
    first = np.where(random.random(replications) < load, random.exponential(1 / (1 - load), replications), 0)
    walk = np.cumsum(service - gap, axis=1)[:, :-1]
    walk = np.concatenate([np.zeros((replications, 1)), walk], axis=1)
    start = np.zeros(replications) if empty else first
    lowest = np.minimum.accumulate(walk, axis=1)
    return walk - np.minimum(lowest, -start[:, None]) + service


def after_warmup(runs: Array) -> Interval:
    """MSER-5 on one run, then overlapping batch means on what is left."""
    return overlapping_batch_means(runs[0, mser(runs[0]).jobs :])


def replicated_after_warmup(runs: Array) -> Interval:
    """MSER-5 on a pilot of 5 runs averaged, then the mean over the other runs."""
    cut = mser(runs[:5].mean(axis=0)).jobs
    return mean_interval(runs[5:, cut:].mean(axis=1))


def sequential(target: float, runs: Array) -> Interval:
    """Replications until the relative half-width is reached."""
    means, n = runs.mean(axis=1), 10
    while True:
        found = precision_of({"": means[:n]}, target, ())
        if not found.not_reached or n == len(means):
            return mean_interval(means[:n])
        n = next_count(found, len(means))


def over_runs(runs: Array) -> Interval:
    """Student's t over replications."""
    return mean_interval(runs.mean(axis=1))


def one_run(runs: Array) -> Interval:
    """Overlapping batch means."""
    return overlapping_batch_means(runs[0])


def two_queues(random: Generator) -> Array:
    """Five runs at service 1, and the same customers at service 0.9: rows 0–4 and 5–9."""
    seed = int(random.integers(2**32))
    slow = mm1(np.random.default_rng(seed), 5, 5_300, 0.5, empty=True)
    fast = mm1(np.random.default_rng(seed), 5, 5_300, 0.5, empty=True, mean=0.9)
    return np.concatenate([slow, fast])[:, 300:]


def pairs(runs: Array) -> Interval:
    """The paired difference of the first five and the last five."""
    return paired_difference(runs[:5].mean(axis=1), runs[5:].mean(axis=1)).difference


Method = Callable[[Array], Interval | Estimate]
Model = Callable[[Generator], Array]


def quantile(percent: float) -> Method:
    """The interval of a percentile; none where it is withheld."""
    return lambda runs: percentile_interval(list(runs), percent).as_mean


def in_time(bound: float) -> Method:
    """The interval of the share of jobs within a bound."""
    return lambda runs: share_within(list(runs / bound), sections=20)


def honest() -> Iterator[tuple[str, Model, Method, float]]:
    """(what, model, method, truth) with runs long enough for what is asked."""
    yield "AR(1) 0.9: t, 5 runs of 1,000", partial(ar1, replications=5, n=1000), over_runs, 0.0
    yield "AR(1) 0.9: batches, 1 run of 10,000", partial(ar1, replications=1, n=10_000), one_run, 0.0
    biased = partial(ar1, replications=1, n=10_000, start=30.0)
    yield "AR(1) 0.9 from 30: MSER-5, batches, 10,000", biased, after_warmup, 0.0
    several = partial(ar1, replications=10, n=1000, start=30.0)
    yield "AR(1) 0.9 from 30: MSER-5 on 5, t on 5 runs", several, replicated_after_warmup, 0.0
    for load, n, long in ((0.5, 10_000, 100_000), (0.8, 20_000, 400_000)):
        name, truth = f"M/M/1 {load}", 1 / (1 - load)
        runs = partial(mm1, replications=5, n=n, load=load)
        run = partial(mm1, replications=1, n=long, load=load)
        yield f"{name}: t, 5 runs of {n:,}", runs, over_runs, truth
        yield f"{name}: batches, 1 run of {long:,}", run, one_run, truth
        empty = partial(run, empty=True)
        yield f"{name} from empty: MSER-5, batches, {long:,}", empty, after_warmup, truth
        for percent in (50, 95, 99):
            at = -math.log(1 - percent / 100) * truth
            yield f"{name}: p{percent}, t, 5 runs of {n:,}", runs, quantile(percent), at
            yield f"{name}: p{percent}, sections, 1 run of {long:,}", run, quantile(percent), at
    many = partial(mm1, replications=100, n=5_000, load=0.5)
    yield "M/M/1 0.5: precision 0.03, runs of 5,000", many, partial(sequential, 0.03), 2.0
    yield "M/M/1 0.5 less one of service 0.9: paired, 5 runs", two_queues, pairs, 2 - 1 / (1 / 0.9 - 0.5)


def shares() -> Iterator[tuple[str, Model, Method, float]]:
    """Shares of jobs in time near 1: their intervals may cover more often."""
    for share in (0.95, 0.99, 0.999):
        for runs in (5, 1):
            model = partial(mm1, replications=runs, n=20_000, load=0.7)
            what = f"M/M/1 0.7: {share:.1%} in time, {runs} × 20,000"
            yield what, model, in_time(-math.log(1 - share) / 0.3), share


def short() -> Iterator[tuple[str, Model, Method, float]]:
    """Runs that are too short for their correlation: intervals that promise too much."""
    run = partial(mm1, replications=1, n=5_000, load=0.9)
    yield "M/M/1 0.9: batches, 1 run of 5,000", run, one_run, 10.0
    empty = partial(mm1, replications=5, n=500, load=0.9, empty=True)
    yield "M/M/1 0.9 from empty: t, 5 runs of 500", empty, over_runs, 10.0
    runs = partial(mm1, replications=5, n=10_000, load=0.9)
    yield "M/M/1 0.9: p99, t, 5 runs of 10,000", runs, quantile(99), math.log(100) * 10


def covered(
    model: Model, method: Method, truth: float, experiments: int, seed: int
) -> tuple[int, int, float]:
    """(intervals given, those that cover, mean half-width: relative unless the truth is 0)."""
    random = np.random.default_rng(seed)
    found = [method(model(random)) for _ in range(experiments)]
    given = [i for i in found if i.half_width is not None and not math.isnan(i.half_width)]
    width = sum(i.half_width or 0.0 for i in given) / max(1, len(given))
    return len(given), sum(i.covers(truth) for i in given), width / (truth or 1.0)


def show(cases: Iterator[tuple[str, Model, Method, float]], experiments: int, most: float = 0.97) -> int:
    """Print one line per case; returns how many cover in less than 93 % or more than ``most``."""
    print(f"{'':52}{'given':>7}{'covered':>10}{'half-width':>12}")
    outside = 0
    for seed, (what, model, method, truth) in enumerate(cases):
        given, hits, width = covered(model, method, truth, experiments, seed)
        share = hits / given if given else math.nan
        outside += not 0.93 <= share <= most
        print(f"{what:52}{given:7}{share:10.1%}{width:12.3f}", flush=True)
    return outside


def main() -> int:
    """Print both tables; the exit status counts the honest cases outside 93–97 %."""
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"Nominal 95 %, {experiments} experiments; 'given': those in which there is an interval")
    outside = show(honest(), experiments)
    outside += show(shares(), experiments, 1.0)
    print(f"Outside 93–97 %, of shares below 93 %: {outside}\n\nToo short on purpose")
    show(short(), experiments)
    return outside


if __name__ == "__main__":
    sys.exit(main())
