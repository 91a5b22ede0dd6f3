"""Claims corrected by what rounds measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

ROUNDS = 3
"""After so many measured rounds a wrong claim is flagged."""


def corrected_rate(claim: float, bias: float, measured_sum: float, rounds: float, prior: float) -> float:
    """T = (n₀ · claim · e^b + Σ measured) / (n₀ + n).

    n₀: ``prior``, how many measured rounds a claim counts for; b: the user's bias, as a logarithm.

    >>> corrected_rate(20.0, 0.0, 0.0, 0, 1.0), corrected_rate(20.0, 0.0, 30.0, 3, 1.0)
    (20.0, 12.5)
    """
    return (prior * claim * math.exp(bias) + measured_sum) / (prior + rounds)


def user_bias(errors: Iterable[float]) -> float:
    """b: the median of e = ln(measured / claimed) of a user's jobs; 0 without any.

    >>> user_bias([0.1, 0.4, 3.0]), user_bias([])
    (0.4, 0.0)
    """
    found = list(errors)
    return median(found) if found else 0.0


def is_flagged(error: float, rounds: float, factor: float = 1.5) -> bool:
    """Whether a claim is so wrong that its user should hear of it: |e| > ln(factor) after 3 rounds.

    >>> is_flagged(0.5, 3), is_flagged(0.5, 2), is_flagged(0.3, 9)
    (True, False, False)
    """
    return rounds >= ROUNDS and abs(error) > math.log(factor)


@dataclass(slots=True)
class Measured:
    """Rounds that a job ran on one type of GPU: how many, and the sum of their measured rates."""

    rounds: float = 0.0
    total: float = 0.0


@dataclass(eq=False, slots=True)
class ClaimBook:
    """Claims of all jobs, and what was measured; with ``correct`` rates are corrected by it.

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
    measured: dict[tuple[str, str], Measured] = field(default_factory=dict)
    _types: dict[str, set[str]] = field(default_factory=dict)
    _jobs: dict[str, set[str]] = field(default_factory=dict)

    def claim(self, job: str, user: str, rates: dict[str, float]) -> None:
        """A job arrives with its user's claims."""
        self.users[job] = user
        self.claims.update({(job, gpu): rate for gpu, rate in rates.items()})

    def measure(self, job: str, gpu: str, rate: float, rounds: float = 1.0) -> None:
        """The job ran on a type for some rounds (a part of one counts as such) at a mean rate."""
        entry = self.measured.setdefault((job, gpu), Measured())
        entry.rounds += rounds
        entry.total += rate * rounds
        self._types.setdefault(job, set()).add(gpu)
        self._jobs.setdefault(self.users[job], set()).add(job)

    def error(self, job: str) -> tuple[float, float]:
        """e of a job, the mean of ln(measured / claimed) over its measured rounds, and these rounds."""
        total, rounds = 0.0, 0.0
        for gpu in sorted(self._types.get(job, ())):
            seen, claim = self.measured[job, gpu], self.claims[job, gpu]
            if seen.total > 0 and claim > 0:
                total += seen.rounds * math.log(seen.total / seen.rounds / claim)
                rounds += seen.rounds
        return (total / rounds if rounds else 0.0), rounds

    def bias(self, user: str) -> float:
        """b of a user, over the jobs of which something was measured."""
        return user_bias(self.error(job)[0] for job in sorted(self._jobs.get(user, ())))

    def rate(self, job: str, gpu: str) -> float:
        """What a policy sees: the claim, or the corrected rate; a claim of 0 stays 0."""
        claim = self.claims[job, gpu]
        if not self.correct or claim <= 0:
            return claim
        seen = self.measured.get((job, gpu), Measured())
        return corrected_rate(claim, self.bias(self.users[job]), seen.total, seen.rounds, self.prior)

    def flagged(self) -> tuple[str, ...]:
        """Jobs whose claims are off by more than the factor, by name."""
        return tuple(job for job in sorted(self._types) if is_flagged(*self.error(job), self.flag))
