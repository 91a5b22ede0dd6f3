"""The power of choices: each job joins the shortest of d queues drawn at random."""

from __future__ import annotations

import math

from nona.errors import SimulationError
from nona.simulation.theory.inputs import check_positive


def choices_jct_s(rate: float, mean_s: float, choices: int) -> float:
    """Mean time when each job joins the shortest of ``choices`` random queues, for very many queues.

    Formula: E[T] = E[S]·Σ_{i≥1} ρ^((dⁱ−d)/(d−1)), ρ = λE[S], exponential services, in the limit of
    infinitely many queues. For d = 2 the exponents are 2ⁱ−2 = 0, 2, 6, 14, …; for d = 1 they are
    0, 1, 2, …, which is M/M/1. With N queues the mean is greater by a share of the order of 1/N.

    Parameters
    ----------
    rate
        λ, Poisson arrivals *per queue*, 1/s.
    mean_s
        E[S], seconds.
    choices
        d.

    Raises
    ------
    SimulationError
        For a rate or mean that is not above 0, or fewer than one choice.

    Examples
    --------
    >>> round(choices_jct_s(5.0, 0.1, 1), 12), round(choices_jct_s(5.0, 0.1, 2), 6)
    (0.2, 0.126569)
    >>> round(choices_jct_s(0.99, 1.0, 1)), round(choices_jct_s(0.99, 1.0, 2), 3)
    (100, 5.432)

    Source: Vvedenskaya, Dobrushin and Karpelevich, Problems of Information Transmission 1996;
    Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, IEEE TPDS 2001.
    """
    check_positive(rate=rate, mean_s=mean_s)
    if choices < 1:
        raise SimulationError(f"Power of choices: choices={choices} must be at least 1; give a whole number.")
    utilization = rate * mean_s
    if utilization >= 1:
        return math.inf
    if choices == 1:
        return mean_s / (1 - utilization)
    total, exponent = 0.0, 0
    while True:
        term = utilization**exponent
        total += term
        if term < 1e-17 * total:
            return mean_s * total
        exponent = choices * (exponent + 1)  # (dⁱ⁺¹−d)/(d−1) from (dⁱ−d)/(d−1)
