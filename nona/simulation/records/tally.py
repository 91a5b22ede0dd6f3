"""Sums over all measured jobs of a run, whether or not they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.sketch import QuantileSketch

# What a job completion time consists of, in the order of every array of parts.
# Waits at servers are split: while the executor runs another task of the same job, and all others.
PARTS = ("compute", "transfer", "link_wait", "server_wait", "own_wait")
ROUNDING = 1e-7  # relative: what a completion time may be off, as a difference of two late instants


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums by query class, each of length Q (parts: Q × 5), over the measured jobs.

    ``arrived`` and ``completed`` count jobs; ``hits`` those within their SLO (0 without one);
    ``total_s`` and ``squares_s2`` are Σ JCT and Σ JCT² of the completed ones, ``parts_s`` the sums
    of their :data:`PARTS`, ``sketches`` their distributions.
    """

    arrived: NDArray[np.int64]
    completed: NDArray[np.int64]
    hits: NDArray[np.int64]
    total_s: NDArray[np.float64]
    squares_s2: NDArray[np.float64]
    parts_s: NDArray[np.float64]
    sketches: tuple[QuantileSketch, ...]

    @staticmethod
    def empty(classes: int) -> Tally:
        """The tally of no jobs.

        >>> Tally.empty(2).mean_s.tolist()
        [nan, nan]
        """
        whole = np.zeros(classes, dtype=np.int64)
        real = np.zeros(classes)
        none = (QuantileSketch(),) * classes
        return Tally(whole, whole, whole, real, real, np.zeros((classes, len(PARTS))), none)

    @property
    def mean_s(self) -> NDArray[np.float64]:
        """(Q,) Mean JCT of each class; ``nan`` where no job is complete."""
        with np.errstate(invalid="ignore"):
            mean: NDArray[np.float64] = self.total_s / self.completed
        return mean

    @property
    def mean_parts_s(self) -> NDArray[np.float64]:
        """(Q, 5) Mean parts of each class; ``nan`` where no job is complete."""
        with np.errstate(invalid="ignore"):
            mean: NDArray[np.float64] = self.parts_s / self.completed[:, None]
        return mean

    def sketch(self) -> QuantileSketch:
        """The distribution of the JCT of all classes together."""
        total = QuantileSketch()
        for one in self.sketches:
            total = total.merged(one)
        return total

    def merged(self, other: Tally) -> Tally:
        """The sums of both."""
        return Tally(
            self.arrived + other.arrived,
            self.completed + other.completed,
            self.hits + other.hits,
            self.total_s + other.total_s,
            self.squares_s2 + other.squares_s2,
            self.parts_s + other.parts_s,
            tuple(a.merged(b) for a, b in zip(self.sketches, other.sketches, strict=True)),
        )


def in_time(times_s: NDArray[np.float64], bound_s: float | NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which times are at most the bound, where none is late by rounding alone.

    >>> took_s = np.array([3.12, 3.121]) - 3.1
    >>> (took_s <= 0.02).tolist(), in_time(took_s, 0.02).tolist()
    ([False, False], [True, False])
    """
    found: NDArray[np.bool_] = times_s <= bound_s * (1 + ROUNDING)
    return found


def tally_of(
    query: NDArray[np.int64],
    jct_s: NDArray[np.float64],
    parts_s: NDArray[np.float64],
    slo_s: Sequence[float | None],
) -> Tally:
    """The tally of jobs given one by one.

    Parameters
    ----------
    query, jct_s : (n,)
        Class and completion time of each; ``nan`` where it is not complete.
    parts_s : (n, 5)
        Parts of the completion times.
    slo_s
        Of each class, or none.

    Examples
    --------
    >>> t = tally_of(np.array([0, 0]), np.array([1.0, np.nan]), np.zeros((2, 5)), [1.0])
    >>> t.arrived.tolist(), t.completed.tolist(), t.hits.tolist()
    ([2], [1], [1])
    """
    classes = len(slo_s)
    limit = np.array([-np.inf if s is None else s for s in slo_s])
    done = ~np.isnan(jct_s)
    of, jct, parts = query[done], jct_s[done], parts_s[done]

    def count(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(values, minlength=classes).astype(np.int64)

    def total(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(of, weights=weights, minlength=classes).astype(np.float64)

    return Tally(
        arrived=count(query),
        completed=count(of),
        hits=count(of[in_time(jct, limit[of])]),
        total_s=total(jct),
        squares_s2=total(jct * jct),
        parts_s=np.stack([total(parts[:, k]) for k in range(len(PARTS))], axis=1),
        sketches=tuple(QuantileSketch().added(jct[of == q]) for q in range(classes)),
    )
