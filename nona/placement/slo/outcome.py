"""What a search by sampled completion times has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Objective = Literal["mean-jct", "sampled-jct", "slo"]
OBJECTIVES: tuple[Objective, ...] = ("mean-jct", "sampled-jct", "slo")


@dataclass(frozen=True, slots=True)
class Sampled:
    """The figures of a search, all predicted: ``value`` is what was made small.

    Attributes
    ----------
    objective
        ``slo``: value is the probability of missing the SLO, over the jobs that have one;
        ``sampled-jct``: the mean completion time of the mix, seconds.
    value, error
        Of the placement, on samples that the search has not seen, and the standard error.
    bound
        No placement has a smaller value; ``nan`` where no bound is known. It is no certificate: the
        placement may be far above it.
    certified_value
        Of the placement with the least mean by formula, on the same samples.
    gain, gain_error
        How much smaller ``value`` is, and the standard error of that, pair by pair.
    queries
        The value of each query class; ``None`` for those that do not count.
    evaluations, samples
        Placements predicted in the search; jobs walked of each class for the figures here.
    settled
        Whether the search ended because no move was better by more than the sampling error.
    """

    objective: Objective
    value: float
    error: float
    bound: float
    certified_value: float
    gain: float
    gain_error: float
    queries: tuple[float | None, ...]
    evaluations: int
    samples: int
    settled: bool
