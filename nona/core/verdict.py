"""Test sequentially whether an option keeps its targets, misses one, or needs more replications.

A target asks that a share p of jobs within a bound is at least p₀. Replications r = 1…n give N_r jobs, of
which H_r are within the bound. Jobs of one run depend on each other (late jobs come in bursts), replications
do not. So the counts are divided by the design effect φ, and limits for binomial counts follow::

    φ  = max over levels of max(1, Σ_r (E_r − N_r q)² / (N_r q (1−q)) / (n−1)),    q = ΣE_r/ΣN_r
    N* = N/φ · (z(1−α)/t(n−1, 1−α))²,    H* = N* · ΣH_r/ΣN_r
    lower = Beta⁻¹(α; H*, N*−H*+1),      upper = Beta⁻¹(1−α; H*+1, N*−H*)

E_r counts jobs beyond a level: the bound, or, where a smaller share of the jobs than f(1−p₀) is beyond it,
the time that f(1−p₀) of all jobs exceed, for each f of :data:`LEVELS`. So φ is that of the hypothesis p = p₀
also where hardly a job was late, and a few lucky replications without a late job do not pass for certainty;
the largest counts, as a φ that is small by luck goes with a share that is high by luck. N* pays for having
estimated φ from n replications.

*keeps*: every target's lower limit is at least its p₀, each at α. Calling an option kept wrongly means that
one target that it misses was found kept, so α holds for all targets together (intersection–union test).
*misses*: some target's upper limit is below its p₀, each at α/m for m targets (Bonferroni). Looks: each
look doubles the replications, and of L looks that are planned, look l may spend α(√t_l − √t_(l−1)), with
t_l = 2^(l−L) and t_0 = 0. These add up to α, so a verdict that is given as soon as it stands is wrong with
probability at most α. No look spends more than :data:`SHOWN`, the error of each end of the 95 % interval that
stands beside a verdict: where that interval holds the target, the verdict is open and asks for more runs.

A target for a mean time has Student's one-sided limits over the means of the replications, at these errors.

Sources: Rao and Scott, A simple method for the analysis of clustered binary data, Biometrics 48, 1992 (φ);
Korn and Graubard, Confidence intervals for proportions with small expected number of positive counts
estimated from survey data, Survey Methodology 24, 1998 (N*, limits after Clopper and Pearson, 1934);
Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24, 1982 (all targets);
Kim and DeMets, Design and analysis of group sequential tests based on the type I error spending rate
function, Biometrika 74, 1987 (spending by a power of t; here looks are added up without their correlation,
which errs on the safe side). The limits at each look are approximate, by large samples.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from nona.core.arrays import Floats
from nona.core.count_search import run_search
from nona.core.document import UNKNOWN, Estimate, Verdict
from nona.core.errors import SimulationError

LEVELS = (1.0, 2.0, 4.0)
SHOWN = 0.025  # error of each end of an interval that is shown
FIRST = 4  # replications at the first look; each further look doubles them
_MOST_DOUBLINGS = 24


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Jobs and hits of one target in independent replications, one entry for each.

    ``late`` counts the jobs beyond each level at which φ is judged (see the module); without it, those that
    are no hits.

    Raises ``SimulationError`` when the three are not of one length, or more jobs hit than arrived.
    """

    arrived: tuple[int, ...]
    hits: tuple[int, ...]
    late: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if {len(each) for each in (self.hits, *self.late)} != {len(self.arrived)}:
            raise SimulationError(
                "Counts: arrived, hits and late must be of one length; give one each a run."
            )
        if any(not 0 <= h <= n for n, h in zip(self.arrived, self.hits, strict=True)):
            raise SimulationError("Counts: hits must lie between 0 and the jobs that arrived; correct them.")

    @property
    def share(self) -> float:
        """ΣH/ΣN; ``nan`` without jobs."""
        jobs = sum(self.arrived)
        return sum(self.hits) / jobs if jobs else float("nan")

    @property
    def design_effect(self) -> float:
        """φ: variance between replications over that of independent jobs, at least 1."""
        n = np.array(self.arrived, dtype=float)
        missed = n - np.array(self.hits, dtype=float)
        levels = [np.array(late, dtype=float) for late in self.late] or [missed]
        return max(1.0, *(_dispersion(n, late) for late in levels))


@dataclass(frozen=True, slots=True)
class Means:
    """Mean times of the jobs of one target, seconds, one for each independent replication.

    ``inf`` where a job was not completed.
    """

    times_s: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over replications; ``nan`` without any."""
        return float(np.mean(self.times_s)) if self.times_s else float("nan")


Evidence = HitCounts | Means


def _dispersion(n: Floats, events: Floats) -> float:
    used = n > 0
    n, events = n[used], events[used]
    if len(n) < 2:
        return 1.0
    q = float(events.sum() / n.sum())
    if not 0 < q < 1:
        return 1.0
    return float(((events - n * q) ** 2 / (n * q * (1 - q))).sum() / (len(n) - 1))


@dataclass(frozen=True, slots=True)
class OneSidedLimits:
    """One-sided limits of a share or a mean, each at the error that was asked for."""

    lower: float
    upper: float


def spent(alpha: float, look: int, looks: int) -> float:
    """Return the part of error α for look l = 1 … L: α(√2^(l−L) − √2^(l−1−L)), without the minus at l = 1.

    >>> [round(spent(0.05, look, 3), 4) for look in (1, 2, 3)]
    [0.025, 0.0104, 0.0146]
    """
    before = 0.0 if look == 1 else 2 ** ((look - 1 - looks) / 2)
    return float(alpha * (2 ** ((look - looks) / 2) - before))


def limits(seen: Evidence, alpha: float, times: int = 1) -> OneSidedLimits:
    """Lower and upper limit of the share of hits, or of the mean, each wrong with probability ``alpha``.

    One replication alone says nothing about the design effect: then the limits are 0 and 1, of a mean 0 and
    ``inf``. ``times``: those of so many times as many replications, if nothing else changed.

    >>> found = limits(HitCounts((1000,) * 4, (990, 991, 989, 990)), 0.025)
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.9836, 0.9944)
    """
    if isinstance(seen, Means):
        return _mean_limits(seen, alpha, times)
    n = times * sum(1 for jobs in seen.arrived if jobs)
    if n < 2 * times:
        return OneSidedLimits(0.0, 1.0)
    shrink = (float(scipy.special.ndtri(1 - alpha)) / float(scipy.special.stdtrit(n - 1, 1 - alpha))) ** 2
    return _beta_limits(seen.share, times * sum(seen.arrived) / seen.design_effect * shrink, alpha)


def _mean_limits(seen: Means, alpha: float, times: int) -> OneSidedLimits:
    n = len(seen.times_s)
    if n < 2 or not np.isfinite(seen.times_s).all():
        return OneSidedLimits(0.0, float("inf"))
    factor = float(scipy.special.stdtrit(n * times - 1, 1 - alpha)) / (n * times) ** 0.5
    half = factor * float(np.std(seen.times_s, ddof=1))
    return OneSidedLimits(seen.mean - half, seen.mean + half)


def _beta_limits(share: float, jobs: float, alpha: float) -> OneSidedLimits:
    hits = share * jobs
    lower = float(scipy.special.betaincinv(hits, jobs - hits + 1, alpha)) if hits > 0 else 0.0
    upper = float(scipy.special.betaincinv(hits + 1, jobs - hits, 1 - alpha)) if hits < jobs else 1.0
    return OneSidedLimits(lower, upper)


def verdict(
    evidence: Sequence[Evidence], asked: Sequence[float], alpha: float, look: int, looks: int
) -> Verdict:
    """Decide whether all targets are kept, at look ``look`` of ``looks`` planned ones, with error ``alpha``.

    ``evidence``, ``asked``: of each target: what was seen, and the share p₀ or the mean that it asks for.

    >>> seen = HitCounts((1000,) * 4, (990, 991, 989, 990))
    >>> verdict([seen], [0.95], 0.05, 1, 5), verdict([seen, seen], [0.95, 0.999], 0.05, 1, 5)
    ('keeps', 'misses')
    >>> verdict([seen], [0.99], 0.05, 1, 5)
    'open'
    """
    return of_all(verdicts(evidence, asked, alpha, look, looks))


def of_all(each: Sequence[Verdict]) -> Verdict:
    """Return the verdict on all targets together."""
    return "misses" if "misses" in each else "open" if "open" in each else "keeps"


def verdicts(
    evidence: Sequence[Evidence], asked: Sequence[float], alpha: float, look: int, looks: int
) -> tuple[Verdict, ...]:
    """Decide each target, at the errors at which it counts in :func:`verdict` on all of them."""
    return _verdicts(evidence, asked, _error(alpha, look, looks))


def _error(alpha: float, look: int, looks: int) -> float:
    return min(spent(alpha, look, looks), SHOWN)


def _verdicts(
    evidence: Sequence[Evidence], asked: Sequence[float], error: float, times: int = 1
) -> tuple[Verdict, ...]:
    def one(seen: Evidence, wanted: float) -> Verdict:
        alone, among = limits(seen, error, times), limits(seen, error / len(asked), times)
        if isinstance(seen, Means):
            return "misses" if among.lower > wanted else "keeps" if alone.upper <= wanted else "open"
        return "misses" if among.upper < wanted else "keeps" if alone.lower >= wanted else "open"

    return tuple(one(seen, wanted) for seen, wanted in zip(evidence, asked, strict=True))


def replications_at(look: int, first: int = FIRST) -> int:
    """Replications that look l = 1, 2, … has: first · 2^(l−1).

    >>> [replications_at(look) for look in (1, 2, 3, 4)]
    [4, 8, 16, 32]
    """
    return int(first * 2 ** (look - 1))


def looks_within(most: int, first: int = FIRST) -> int:
    """Return the number of looks with at most ``most`` replications, at least one.

    >>> looks_within(64), looks_within(5), looks_within(1)
    (5, 1, 1)
    """
    return max(1, (max(most, first) // first).bit_length())


def replications_needed(evidence: Sequence[Evidence], asked: Sequence[float], alpha: float) -> int | None:
    """Replications after which an open verdict would stand if shares and φ stayed as they are.

    It is the last look of a test that is planned with so many. ``None`` where it would not stand with 2^23
    times as many: then a share is as good as equal to its target.
    """
    n = max(map(replications_of, evidence))
    if n < 2:
        return None
    for more in range(1, _MOST_DOUBLINGS):
        times = int(2**more)
        looks = looks_within(n * times)
        if of_all(_verdicts(evidence, asked, _error(alpha, looks, looks), times)) != "open":
            return n * times
    return None


def replications_of(seen: Evidence) -> int:
    """How many replications there are."""
    return len(seen.times_s) if isinstance(seen, Means) else len(seen.arrived)


def hit_counts(runs: Sequence[ArrayLike], share: float) -> HitCounts:
    """Return the counts of a target that asks for ``share``, from the jobs of every run.

    ``runs``: for each replication its jobs' times over their bounds; ``inf`` or ``nan`` for unfinished ones.
    Jobs of several models may stand together: each time is divided by its own bound.

    >>> found = hit_counts([[0.5, 0.9, 1.2, float("nan")], [0.4, 0.6, 0.7, 0.8]], 0.5)
    >>> found.hits, found.late[0]
    ((2, 4), (3, 1))
    """
    ratios = [_finished(run) for run in runs]
    whole = np.concatenate(ratios)
    levels = [level_of(whole, min(1.0, factor * (1 - share))) for factor in LEVELS]
    return HitCounts(
        tuple(len(r) for r in ratios),
        tuple(int(np.count_nonzero(r <= 1)) for r in ratios),
        tuple(tuple(int(np.count_nonzero(r > level)) for r in ratios) for level in levels),
    )


def _finished(run: ArrayLike) -> Floats:
    ratios: Floats = np.asarray(run, dtype=float)
    return np.where(np.isnan(ratios), np.inf, ratios)


def level_of(ratios: Floats, beyond: float) -> float:
    """Return the bound itself, or the smaller factor on it that a share ``beyond`` of the jobs exceeds."""
    return min(1.0, float(np.quantile(ratios, 1 - beyond, method="lower"))) if len(ratios) else 1.0


BEYOND = 10  # jobs, at least, beyond the nearest level at which an interval judges the design effect


def estimate_of(seen: Evidence, error: float = SHOWN) -> Estimate:
    """Return a share or a mean with its interval, each of whose ends is wrong with probability ``error``.

    Unknown without jobs; without an interval for one replication.
    """
    value = seen.mean if isinstance(seen, Means) else seen.share
    if not np.isfinite(value):
        return UNKNOWN
    ends = limits(seen, error)
    return Estimate(mean=value, ci95=(ends.lower, ends.upper) if replications_of(seen) > 1 else None)


def share_within(runs: Sequence[ArrayLike], sections: int = 1) -> Estimate:
    """Return the share of jobs within their bounds, with its interval at 95 % as of :func:`limits`.

    ``runs``: as for :func:`counted`, each in order of arrival; one alone is cut into so many ``sections``.

    Student's interval over the shares of few replications is too narrow near 1: of 400 intervals for the
    truth in M/M/1 and M/D/1, from five runs each, it covered 371 to 384 at 99 % and 301 to 343 at 99.9 %,
    this one 386 to 392 and 384 to 398.

    >>> found = share_within([[0.5] * 990 + [2.0] * 10] * 4)
    >>> found.mean, round(found.ci95[0], 3), round(found.ci95[1], 3)
    (0.99, 0.984, 0.994)
    """
    ratios = [_finished(run) for run in runs]
    jobs = sum(map(len, ratios))
    if not jobs:
        return UNKNOWN
    if len(ratios) == 1:
        ratios = np.array_split(ratios[0], min(sections, jobs))
    late = sum(int(np.count_nonzero(of > 1)) for of in ratios)
    return estimate_of(hit_counts(ratios, 1 - max(late, min(BEYOND, jobs)) / jobs))


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TestResult(Generic[R]):
    """The verdict, the looks it took, and the result that it rests on."""

    verdict: Verdict
    looks: int
    result: R


def looks_of(
    judge: Callable[[R, int, int], Verdict], most: int, first: int = FIRST
) -> Generator[int, R, TestResult[R]]:
    """Yield the number of replications that each look of one test wants, and receive their result.

    So one test can be run alone (:func:`settle`), and several side by side, their replications in parallel.
    Parameters are those of :func:`settle`.
    """
    look, looks = 1, looks_within(most, first)
    while True:
        result = yield min(replications_at(look, first), most)
        decision = judge(result, look, looks)
        if decision != "open" or look == looks:
            return TestResult(decision, look, result)
        look += 1


def settle(
    simulate: Callable[[int], R],
    judge: Callable[[R, int, int], Verdict],
    most: int,
    first: int = FIRST,
) -> TestResult[R]:
    """Simulate ``first`` replications, then 2, 4, … times as many, until a verdict stands or ``most`` are.

    ``simulate``: the result of that many replications, those of the look before among them. ``judge``: the
    verdict at look l of L (:func:`nona.core.verdict.verdict`).

    >>> settle(lambda n: n, lambda n, look, looks: "keeps" if n >= 8 else "open", 64)
    TestResult(verdict='keeps', looks=2, result=8)
    """
    return run_search(looks_of(judge, most, first), simulate)
