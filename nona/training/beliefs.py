"""Rates as a policy believes them: users' claims, corrected, and estimated pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from statistics import median

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.training.pair_estimator import CompletionOptions, PairEstimates, reference_of
from nona.training.system import TrainingJob, TrainingSystem


def user_of(job: TrainingJob) -> str:
    """Whose claims are wrong alike: the job's entity; without one, the job's own.

    >>> user_of(TrainingJob("a", "A3C", 1, entity="vision")), user_of(TrainingJob("a", "A3C", 1))
    ('entity vision', 'job a')
    """
    return f"entity {job.entity}" if job.entity else f"job {job.name}"


@dataclass(frozen=True, slots=True)
class RateClaims:
    """Claimed rates T · e^(s z + b z').

    ``error`` e^s and ``bias`` e^b: factors at one standard deviation; z is of the job and type of GPU, z'
    of the user. Draws depend on names only, not on the order of questions.

    >>> RateClaims(1.0, 1.0, RandomStreams(1)).factor(TrainingJob("a", "A3C", 1), "v100")
    1.0
    """

    error: float
    bias: float
    streams: RandomStreams

    def __post_init__(self) -> None:
        for key, value in (("error", self.error), ("bias", self.bias)):
            if not (math.isfinite(value) and value >= 1):
                raise SimulationError(f"Estimates: {key}={value!r} is a factor of at least 1; raise it.")

    def factor(self, job: TrainingJob, gpu: str) -> float:
        """Return the factor by which a user misstates a job's rate on a GPU type."""
        own = self.streams.generator("claim", job.name, gpu).standard_normal()
        shared = self.streams.generator("claims of", user_of(job)).standard_normal()
        return math.exp(math.log(self.error) * own + math.log(self.bias) * shared)


ROUNDS = 3
"""After so many measured rounds a wrong claim is flagged."""


def _corrected_rate(claim: float, bias: float, measured_sum: float, rounds: float, prior: float) -> float:
    """T = (n₀ · claim · e^b + Σ measured) / (n₀ + n).

    n₀: ``prior``, how many measured rounds a claim counts for; b: the user's bias, as a logarithm.

    >>> _corrected_rate(20.0, 0.0, 0.0, 0, 1.0), _corrected_rate(20.0, 0.0, 30.0, 3, 1.0)
    (20.0, 12.5)
    """
    return (prior * claim * math.exp(bias) + measured_sum) / (prior + rounds)


def _user_bias(errors: Iterable[float]) -> float:
    """b: the median of e = ln(measured / claimed) of a user's jobs; 0 without any.

    >>> _user_bias([0.1, 0.4, 3.0]), _user_bias([])
    (0.4, 0.0)
    """
    logs = list(errors)
    return median(logs) if logs else 0.0


def _is_flagged(error: float, rounds: float, factor: float = 1.5) -> bool:
    """Return whether a claim is so wrong that it is reported to its user: |e| > ln(factor) after 3 rounds.

    >>> _is_flagged(0.5, 3), _is_flagged(0.5, 2), _is_flagged(0.3, 9)
    (True, False, False)
    """
    return rounds >= ROUNDS and abs(error) > math.log(factor)


@dataclass(slots=True)
class MeasuredRates:
    """Rounds that a job ran on one type of GPU: how many, and the sum of their measured rates."""

    rounds: float = 0.0
    total: float = 0.0


@dataclass(eq=False, slots=True)
class ClaimBook:
    """Claims of all jobs, and their measurements; with ``correct``, rates are corrected by these.

    Keys are (job, type of GPU); ``users`` gives each job's user.

    >>> book = ClaimBook(prior=1.0)
    >>> book.claim("a", "anna", {"v100": 20.0, "k80": 8.0})
    >>> book.measure("a", "v100", 10.0)
    >>> book.rate("a", "v100"), round(book.rate("a", "k80"), 9)
    (10.0, 4.0)
    """

    prior: float
    correct: bool = True
    flag: float = 1.5
    claims: dict[tuple[str, str], float] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    measured: dict[tuple[str, str], MeasuredRates] = field(default_factory=dict)
    _types: dict[str, set[str]] = field(default_factory=dict)
    _jobs: dict[str, set[str]] = field(default_factory=dict)

    def claim(self, job: str, user: str, rates: dict[str, float]) -> None:
        """Record the rates (steps/s) that a user claims for a job, by GPU type."""
        self.users[job] = user
        self.claims.update({(job, gpu): rate for gpu, rate in rates.items()})

    def measure(self, job: str, gpu: str, rate: float, rounds: float = 1.0) -> None:
        """Record that a job ran on a type for some rounds (or a part of one) at a mean rate."""
        entry = self.measured.setdefault((job, gpu), MeasuredRates())
        entry.rounds += rounds
        entry.total += rate * rounds
        self._types.setdefault(job, set()).add(gpu)
        self._jobs.setdefault(self.users[job], set()).add(job)

    def error(self, job: str) -> tuple[float, float]:
        """E of a job, the mean of ln(measured / claimed) over its measured rounds, and these rounds."""
        total, rounds = 0.0, 0.0
        for gpu in sorted(self._types.get(job, ())):
            seen, claim = self.measured[job, gpu], self.claims[job, gpu]
            if seen.total > 0 and claim > 0:
                total += seen.rounds * math.log(seen.total / seen.rounds / claim)
                rounds += seen.rounds
        return (total / rounds if rounds else 0.0), rounds

    def bias(self, user: str) -> float:
        """B of a user, over the jobs of which something was measured."""
        return _user_bias(self.error(job)[0] for job in sorted(self._jobs.get(user, ())))

    def rate(self, job: str, gpu: str) -> float:
        """Return the rate that a policy sees: the claim, or the corrected rate; a claim of 0 stays 0."""
        claim = self.claims[job, gpu]
        if not self.correct or claim <= 0:
            return claim
        seen = self.measured.get((job, gpu), MeasuredRates())
        return _corrected_rate(claim, self.bias(self.users[job]), seen.total, seen.rounds, self.prior)

    def flagged(self) -> tuple[str, ...]:
        """List the jobs whose claims are too far from what was measured."""
        return tuple(job for job in sorted(self._types) if _is_flagged(*self.error(job), self.flag))


class ClaimedRates:
    """Users' claims on their jobs, corrected by measurements of rounds."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        spec = system.estimates
        if spec is None:
            raise ValueError("estimates")
        self._system, self._types = system, system.cluster.types
        self._claims = RateClaims(spec.error, spec.bias, streams)
        self.book = ClaimBook(spec.prior, spec.correct, spec.flag)
        self.errors: list[float] = []

    def rates(self, jobs: Sequence[int], true: Floats) -> Floats:
        """(m, J) believed rates; 0 where the true one is 0."""
        believed = np.zeros_like(true)
        for r, job in enumerate(jobs):
            self._claim(job)
            name = self._system.jobs[job].name
            for j in np.flatnonzero(true[r]).tolist():
                believed[r, j] = self.book.rate(name, self._types[j])
        able = true > 0
        if able.any():
            self.errors.append(float(np.abs(np.log(believed[able] / true[able])).mean()))
        return believed

    def _claim(self, number: int) -> None:
        job = self._system.jobs[number]
        if job.name in self.book.users:
            return
        rates = {t: self._system.throughputs.rate(t, job.model, job.workers) for t in self._types}
        claims = {t: rate * self._claims.factor(job, t) for t, rate in rates.items() if rate > 0}
        self.book.claim(job.name, user_of(job), claims)

    def pairs(self, pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """(p, J, 2) rates of pairs, each scaled as the job's claimed rate alone is."""
        believed = rates.copy()
        factors = {job: self._factors(job) for job in {job for pair in pairs for job in pair}}
        for p, (a, b) in enumerate(pairs):
            believed[p, :, 0] *= factors[a]
            believed[p, :, 1] *= factors[b]
        return believed

    def _factors(self, number: int) -> Floats:
        """(J,) believed over true rates of a job alone; 1 where it cannot run."""
        self._claim(number)
        job = self._system.jobs[number]
        factors = np.ones(len(self._types))
        for j, gpu in enumerate(self._types):
            true = self._system.throughputs.rate(gpu, job.model, job.workers)
            if true > 0:
                factors[j] = self.book.rate(job.name, gpu) / true
        return factors

    def measured(self, number: int, kind: int, rate: float) -> None:
        """Record a job's measured rate (steps/s) on GPU type ``kind``."""
        self._claim(number)
        self.book.measure(self._system.jobs[number].name, self._types[kind], rate)


class EstimatedPairs:
    """Rates of pairs of jobs of one worker by the estimator, until such a pair has run."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        spec = system.estimator
        if spec is None:
            raise ValueError("estimator")
        self._types = system.cluster.types
        reference = reference_of(system.throughputs, self._types)
        how = CompletionOptions(spec.rank, spec.ridge)
        self._estimates = PairEstimates(system.throughputs, reference, spec.profiled, how, streams)
        numbers = {m: i for i, m in enumerate(reference.models)}
        self._kind = np.array([numbers.get(j.model, -1) if j.workers == 1 else -1 for j in system.jobs])
        self._models = reference.models
        self._rates: Floats = np.full((len(numbers), len(numbers), len(self._types), 2), nan)
        self.errors: list[float] = []

    def rates(self, pairs: Sequence[tuple[int, int]], true: Floats) -> Floats:
        """(p, J, 2) believed rates; 0 where the true ones are 0, for what does not fit is known at once."""
        if not len(pairs):
            return true
        kinds = self._kind[np.asarray(pairs, np.int64)]
        usable = (kinds >= 0).all(axis=1)
        for a, b in np.unique(kinds[usable], axis=0).tolist():
            self._fill(a, b)
        believed = true.copy()
        believed[usable] = self._rates[kinds[usable, 0], kinds[usable, 1]]
        believed[true <= 0] = 0.0
        able = true > 0
        if able.any():
            self.errors.append(float((np.abs(believed[able] - true[able]) / true[able]).mean()))
        return believed

    def _fill(self, a: int, b: int) -> None:
        if np.isnan(self._rates[a, b, 0, 0]):
            for j, gpu in enumerate(self._types):
                pair = self._estimates.pair(gpu, self._models[a], self._models[b])
                self._rates[a, b, j], self._rates[b, a, j] = pair, pair[::-1]

    def ran(self, first: int, second: int) -> None:
        """Two jobs ran on the same GPUs: from now on the truth is believed of their models."""
        a, b = self._kind[first], self._kind[second]
        if min(a, b) >= 0:
            self._estimates.ran(self._models[a], self._models[b])
            self._rates[a, b] = self._rates[b, a] = nan
