"""Whether a new allocation is worth its moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.training.policies.problem import Floats

_STARVED = 1e-9


@dataclass(frozen=True, slots=True)
class Worth:
    """Within the horizon: normalised work that the new allocation gains, and what its moves lose."""

    gained: float
    lost: float
    feeds: bool

    @property
    def take(self) -> bool:
        """Whether to take the new one: it gains more than it loses, or gives time to a job that had none."""
        return self.feeds or self.gained > self.lost


def changed_share(old: Floats, new: Floats) -> Floats:
    """(m,) share of its time that a job spends on other GPUs: ½ Σ_j |x'_ij − x_ij| + ½ |Σ_j (x'_ij − x_ij)|.

    >>> changed_share(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.0, 1.0]])).tolist()
    [0.5, 1.0]
    """
    change = new - old
    found: Floats = 0.5 * np.abs(change).sum(axis=1) + 0.5 * np.abs(change.sum(axis=1))
    return found


def worth(old: Floats, new: Floats, rates: Floats, normal: Floats, cost_s: Floats, horizon_s: float) -> Worth:
    """Compare two allocations of the same jobs within the horizon H.

    gained = H · Σ_i (thr'_i − thr_i)/n_i; lost = Σ_i c_i · d_i · T_i/n_i with d_i of :func:`changed_share`
    and T_i = thr'_i / Σ_j x'_ij the rate while it runs. Jobs that had no time lose nothing: they have no
    GPUs to move from.

    Parameters
    ----------
    old, new
        (m, J) shares of time x, x'; zero rows for jobs that the old one does not know.
    rates, normal, cost_s
        (m, J) T_ij; (m,) n_i, steps/s that count as 1 (an equal share); (m,) c_i, seconds of a move.

    Examples
    --------
    >>> one = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> w = worth(*one, np.array([[4.0, 5.0]]), np.array([1.0]), np.array([60.0]), 360.0)
    >>> w.gained, w.lost, w.take
    (360.0, 300.0, True)
    """
    before, after = (old * rates).sum(axis=1), (new * rates).sum(axis=1)
    time, had = new.sum(axis=1), old.sum(axis=1) > _STARVED
    running = np.divide(after, time, out=np.zeros_like(after), where=time > _STARVED)
    lost = np.where(had, cost_s * changed_share(old, new) * running / normal, 0.0)
    feeds = bool((~had & (time > _STARVED)).any())
    return Worth(float(horizon_s * ((after - before) / normal).sum()), float(lost.sum()), feeds)
