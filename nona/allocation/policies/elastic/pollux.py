"""Pollux: the harmonic mean of the jobs' speed-ups is as large as possible."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.elastic.handing import hand_out
from nona.allocation.policies.problem import Floats, Ints

LEAST = 1e-3  # added to a speed-up, as in the public code, so that one of 0 has a value


def fairest_goodputs(most: Floats, rates: Floats, workers: Ints) -> Ints:
    """(m, J) Workers that maximise [mean 1/(s + 0.001)]⁻¹ over the jobs' speed-ups s.

    s is the goodput over that on an equal part of all workers; the goodput is the throughput up to
    ``most``, i.e. with a statistical efficiency of 1 (Qiao et al., OSDI 2021, section 4.2, with power −1).
    The public code searches by a genetic algorithm; handing out one by one is exact for one type, as
    1/(s + 0.001) is convex in the workers.

    Parameters
    ----------
    most
        (m,) steps/s that a job can use; ∞: any.
    rates, workers
        As of :func:`~nona.allocation.policies.elastic.handing.hand_out`.

    Examples
    --------
    >>> fairest_goodputs(np.array([np.inf, np.inf]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[3, 3]]
    >>> fairest_goodputs(np.array([1.0, np.inf]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[1, 5]]
    """
    equal = rates @ (workers / max(len(rates), 1))
    unit = np.where(equal > 0, equal, 1.0)[:, None]

    def unfairness(throughputs: Floats) -> Floats:
        found: Floats = 1.0 / (np.minimum(throughputs, most[:, None]) / unit + LEAST)
        return found

    return hand_out(rates, workers, lambda has, after: unfairness(has) - unfairness(after))
