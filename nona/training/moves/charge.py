"""Whether a new allocation is worth its moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Floats

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


def worth(
    old: tuple[Floats, Floats],
    new: tuple[Floats, Floats],
    normal: Floats,
    cost_s: Floats,
    horizon_s: float,
) -> Worth:
    """Compare two allocations of the same jobs within the horizon H.

    gained = H · Σ_i (thr'_i − thr_i)/n_i; lost = Σ_i c_i · d_i · T_i/n_i with d_i of :func:`changed_share`
    and T_i = thr'_i / Σ_j x'_ij the rate while it runs. Jobs that had no time lose nothing: they have no
    GPUs to move from.

    Parameters
    ----------
    old, new
        (m, J) shares of a job's time x by type, and (m,) thr in steps/s; zeros for jobs without time.
    normal, cost_s
        (m,) n_i, steps/s that count as 1 (an equal share); (m,) c_i, seconds of a move.

    Examples
    --------
    >>> before, after = (np.array([[1.0, 0.0]]), np.array([4.0])), (np.array([[0.0, 1.0]]), np.array([5.0]))
    >>> w = worth(before, after, np.array([1.0]), np.array([60.0]), 360.0)
    >>> w.gained, w.lost, w.take
    (360.0, 300.0, True)
    """
    (old_time, before), (new_time, after) = old, new
    time, had = new_time.sum(axis=1), old_time.sum(axis=1) > _STARVED
    running = np.divide(after, time, out=np.zeros_like(after), where=time > _STARVED)
    lost = np.where(had, cost_s * changed_share(old_time, new_time) * running, 0.0)
    able = normal > 0
    gained = horizon_s * (after - before)[able] / normal[able]
    feeds = bool((~had & (time > _STARVED)).any())
    return Worth(float(gained.sum()), float((lost[able] / normal[able]).sum()), feeds)
