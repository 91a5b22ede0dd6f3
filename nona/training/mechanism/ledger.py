"""The rows that may run, what each should have and what it has received: the state behind priorities.

For row r and type j: X_rj its share, τ_rj the seconds that it ran there since the last reset (plus half a
round), W_j the seconds of all rows together, δ_rj what it is short of over earlier resets. Its priority is
π_rj = X_rj · W_j / τ_rj: the share that it should have over the share that it has (Narayanan et al., OSDI
2020, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from nona.allocation.policies.problem import Floats, Ints

DECIMALS = 6  # of shares: equal jobs get shares that are equal only up to a solver's rounding
CLOCK_DECIMALS = 6  # of times that are compared: the rounding of a clock must not decide who runs
_NOBODY: Ints = np.empty(0, np.int64)
STARVED = 1e9  # priority of a row that has not run, per unit of its share


class RateTable(Protocol):
    """True rates: (M, J) of jobs alone, and (J, 2) of pairs."""

    @property
    def alone(self) -> Floats:
        """Of jobs by themselves."""

    def pair(self, a: int, b: int) -> Floats:
        """The rates of two jobs on the same GPUs."""


class Ledger:
    """Rows in order: singles by number, then pairs; later arrivals at the end until the next reset."""

    def __init__(self, rates: RateTable, workers: Ints, round_s: float) -> None:
        self._rates, self._all_workers, self._half = rates, workers, round_s / 2
        self._types = rates.alone.shape[1]
        self.type_s = np.zeros(self._types)  # W
        self._place([], np.empty((0, self._types)), {}, known=True)

    def _place(
        self,
        rows: list[tuple[int, ...]],
        shares: Floats,
        deficits: dict[tuple[int, ...], Floats],
        *,
        known: bool,
    ) -> None:
        """Set the rows; τ begins at half a round."""
        self.rows = rows
        self.shares = shares
        self.received = np.full((len(rows), self._types), self._half)
        none = np.zeros(self._types)
        self.deficit = np.array([deficits.get(row, none) for row in rows]).reshape(-1, self._types)
        self.known = np.full(len(rows), known)
        self._derive()

    def _derive(self) -> None:
        """What follows from which rows there are."""
        self.workers = self._all_workers[[row[0] for row in self.rows]] if self.rows else _NOBODY
        self.rates = np.zeros((len(self.rows), self._types, 2))
        for r, row in enumerate(self.rows):
            if len(row) == 1:
                self.rates[r, :, 0] = self._rates.alone[row[0]]
            else:
                self.rates[r] = self._rates.pair(*row)
        self.fits = self.rates[:, :, 0] > 0

    def reset(self, rows: Iterable[tuple[int, ...]], shares: Floats, since_s: float) -> None:
        """A new answer, ``since_s`` after the last one."""
        short = self.deficit + self.shares * since_s - (self.received - self._half)
        deficits = dict(zip(self.rows, short, strict=True))
        rows, rounded = list(rows), np.round(shares, DECIMALS)
        kept = [r for r, row in enumerate(rows) if len(row) == 1 or rounded[r].any()]
        self._place([rows[r] for r in kept], rounded[kept], deficits, known=True)
        self.type_s = np.full(self._types, len(self.rows) * self._half)

    def arrive(self, job: int) -> None:
        """A job without a share until the next reset."""
        self.rows.append((job,))
        self.shares = np.concatenate([self.shares, np.zeros((1, self._types))])
        self.received = np.concatenate([self.received, np.full((1, self._types), self._half)])
        self.deficit = np.concatenate([self.deficit, np.zeros((1, self._types))])
        self.known = np.append(self.known, False)
        self._derive()

    def leave(self, jobs: set[int]) -> None:
        """Rows of these jobs go; W stays."""
        kept = [r for r, row in enumerate(self.rows) if jobs.isdisjoint(row)]
        self.rows = [self.rows[r] for r in kept]
        self.shares, self.received = self.shares[kept], self.received[kept]
        self.deficit, self.known = self.deficit[kept], self.known[kept]
        self._derive()

    def book(self, row: int, kind: int, seconds: float) -> None:
        """A row ran on a type."""
        self.received[row, kind] += seconds
        self.type_s[kind] += seconds

    def priorities(self) -> Floats:
        """(R, J) π; 0 where a row has no share or cannot run."""
        received, type_s = np.round(self.received, CLOCK_DECIMALS), np.round(self.type_s, CLOCK_DECIMALS)
        usual = (received > 0) & (type_s > 0)[None, :]
        worth = np.divide(self.shares * type_s, received, out=self.shares * STARVED, where=usual)
        found: Floats = np.where(self.fits & (self.shares > 0), worth, 0.0)
        return found
