"""Fork-join: a job splits over parallel queues and is complete when its last part is."""

from __future__ import annotations

import math

from nona.errors import SimulationError
from nona.simulation.theory.inputs import check_positive
from nona.simulation.theory.single import mm1_jct_s


def fork_join_two_jct_s(rate: float, mean_s: float) -> float:
    """Mean time of a job that forks to two exponential single-server queues and joins: exact.

    Formula: T = (12−ρ)/8 · 1/(μ−λ), ρ = λ/μ. Raises as :func:`mm1_jct_s`.

    >>> round(fork_join_two_jct_s(4.0, 0.1), 6)
    0.241667

    Source: Flatto and Hahn, SIAM J. Applied Mathematics 1984; Nelson and Tantawi, Approximate Analysis
    of Fork/Join Synchronization in Parallel Queues, IEEE Trans. Computers 1988.
    """
    return (12 - rate * mean_s) / 8 * mm1_jct_s(rate, mean_s)


def fork_join_bounds_s(rate: float, mean_s: float, branches: int) -> tuple[float, float]:
    """Bounds for the mean time of a job that forks to K exponential single-server queues and joins.

    Upper: H_K/(μ−λ), H_K = 1 + 1/2 + … + 1/K: the branches share their arrivals, so their times are
    associated and their maximum is less than that of independent ones. Lower: the same queues with
    evenly spaced arrivals, H_K/(μ(1−σ)) with σ = exp(−(1−σ)/ρ); and no less than a job of two
    branches. One branch: both are exact.

    Raises
    ------
    SimulationError
        For a rate or mean that is not above 0, or fewer than one branch.

    Examples
    --------
    >>> low, high = fork_join_bounds_s(4.0, 0.1, 2)
    >>> round(low, 4), round(high, 4)
    (0.2417, 0.25)

    Source: Nelson and Tantawi, IEEE Trans. Computers 1988; Baccelli, Makowski and Shwartz, The
    Fork-Join Queue and Related Systems, Advances in Applied Probability 1989.
    """
    check_positive(rate=rate, mean_s=mean_s)
    if branches < 1:
        raise SimulationError(f"Fork-join: branches={branches} must be at least 1; give a whole number.")
    single = mm1_jct_s(rate, mean_s)
    if branches == 1 or math.isinf(single):
        return single, single
    harmonic = sum(1 / k for k in range(1, branches + 1))
    evenly = harmonic * mean_s / (1 - _dm1_root(rate * mean_s))
    return max(evenly, fork_join_two_jct_s(rate, mean_s)), harmonic * single


def _dm1_root(utilization: float) -> float:
    """σ in (0, 1) with σ = exp(−(1−σ)/ρ), by bisection to the last bit that matters."""
    low, high = 0.0, 1.0 - 1e-12
    for _ in range(200):
        middle = (low + high) / 2
        if math.exp(-(1 - middle) / utilization) > middle:
            low = middle
        else:
            high = middle
    return low
