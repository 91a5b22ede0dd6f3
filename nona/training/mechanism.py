"""The mechanism: from shares of time to the jobs and places of the next round.

For row r and type j: X_rj its share, τ_rj the seconds that it ran there since the last reset (plus half a
round), W_j the seconds of all rows together, δ_rj what it is short of over earlier resets. Its priority is
π_rj = X_rj · W_j / τ_rj: the share that it should have over the share that it has (Narayanan et al., OSDI
2020, section 5).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from nona.core.arrays import Floats, Ints

DECIMALS = 6  # of shares: equal jobs get shares that are equal only up to a solver's rounding
CLOCK_DECIMALS = 6  # of times that are compared: the rounding of a clock must not decide who runs
_NOBODY: Ints = np.empty(0, np.int64)
STARVED = 1e9  # priority of a row that has not run, per unit of its share


class RateTable(Protocol):
    """True rates: (M, J) of jobs alone, and (J, 2) of pairs."""

    @property
    def isolated_rates(self) -> Floats:
        """Rates of jobs by themselves."""

    def pair(self, a: int, b: int) -> Floats:
        """Return the rates of two jobs on the same GPUs."""


class Ledger:
    """Rows in order: singles by number, then pairs; later arrivals at the end until the next reset."""

    def __init__(self, rates: RateTable, workers: Ints, round_s: float) -> None:
        self._rates, self._all_workers, self._half = rates, workers, round_s / 2
        self._types = rates.isolated_rates.shape[1]
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
        self.rows = rows
        self.shares = shares
        self.received = np.full((len(rows), self._types), self._half)
        none = np.zeros(self._types)
        self.deficit = np.array([deficits.get(row, none) for row in rows]).reshape(-1, self._types)
        self.known = np.full(len(rows), known)
        self._derive()

    def _derive(self) -> None:
        self.workers = self._all_workers[[row[0] for row in self.rows]] if self.rows else _NOBODY
        self.rates = np.zeros((len(self.rows), self._types, 2))
        for r, row in enumerate(self.rows):
            if len(row) == 1:
                self.rates[r, :, 0] = self._rates.isolated_rates[row[0]]
            else:
                self.rates[r] = self._rates.pair(*row)
        self.fits = self.rates[:, :, 0] > 0

    def reset(self, rows: Iterable[tuple[int, ...]], shares: Floats, since_s: float) -> None:
        """Set the rows and shares of a new allocation; ``since_s`` is the age of the last one in seconds."""
        short = self.deficit + self.shares * since_s - (self.received - self._half)
        deficits = dict(zip(self.rows, short, strict=True))
        rows, rounded = list(rows), np.round(shares, DECIMALS)
        kept = [r for r, row in enumerate(rows) if len(row) == 1 or rounded[r].any()]
        self._place([rows[r] for r in kept], rounded[kept], deficits, known=True)
        self.type_s = np.full(self._types, len(self.rows) * self._half)

    def arrive(self, job: int) -> None:
        """Add a row without a share for a job that arrived."""
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
        """Add the seconds that a row received on GPU type ``kind``."""
        self.received[row, kind] += seconds
        self.type_s[kind] += seconds

    def priorities(self) -> Floats:
        """(R, J) π; 0 where a row has no share or cannot run."""
        received, type_s = np.round(self.received, CLOCK_DECIMALS), np.round(self.type_s, CLOCK_DECIMALS)
        usual = (received > 0) & (type_s > 0)[None, :]
        worth = np.divide(self.shares * type_s, received, out=self.shares * STARVED, where=usual)
        priorities: Floats = np.where(self.fits & (self.shares > 0), worth, 0.0)
        return priorities


class AssignedRow(NamedTuple):
    """A row on a type; ``runs`` is false where it only blocks its GPUs (see ``RunOptions.replay``)."""

    row: int
    kind: int
    runs: bool


def select(
    ledger: Ledger,
    priorities: Floats,
    free: Sequence[int],
    order: Sequence[int],
    *,
    needs_share: bool = False,
    unknown_block: bool = False,
    held: Sequence[tuple[int, int]] = (),
) -> list[AssignedRow]:
    """Type by type in ``order``, rows by (π, δ, X) descending, ties by their place; each job runs once.

    A row is taken if none of its jobs is, the type can run it, and enough GPUs are ``free``. Rows without a
    share run where GPUs are left, unless ``needs_share``. ``held``: (row, type) that keep their GPUs whatever
    their priority, where these are still free.
    """
    taken: set[int] = set()
    chosen: list[AssignedRow] = []
    free = list(free)
    for row, kind in held:
        workers = int(ledger.workers[row])
        if workers <= free[kind] and ledger.fits[row, kind] and taken.isdisjoint(ledger.rows[row]):
            taken.update(ledger.rows[row])
            free[kind] -= workers
            chosen.append(AssignedRow(row, kind, runs=True))
    place, deficit = np.arange(len(ledger.rows)), np.round(ledger.deficit, CLOCK_DECIMALS)
    for kind in order:
        left = free[kind]
        if left <= 0:
            continue
        keys = (place, -ledger.shares[:, kind], -deficit[:, kind], -priorities[:, kind])
        for row in np.lexsort(keys).tolist():
            if left <= 0:
                break
            jobs, workers = ledger.rows[row], int(ledger.workers[row])
            if workers > left or not ledger.fits[row, kind] or not taken.isdisjoint(jobs):
                continue
            if needs_share and priorities[row, kind] <= 0:
                continue
            taken.update(jobs)
            left -= workers
            chosen.append(AssignedRow(row, kind, not unknown_block or bool(ledger.known[row])))
    return chosen


K = TypeVar("K", bound=Hashable)


class TypedGpus:
    """The GPUs of one type, numbered node by node; ``nodes`` are their counts.

    >>> board = TypedGpus((2, 4))
    >>> board.place([("a", 3), ("b", 1)], {})
    {'a': (2, 3, 4), 'b': (5,)}
    """

    def __init__(self, nodes: Sequence[int]) -> None:
        self._node_of = [n for n, count in enumerate(nodes) for _ in range(count)]
        self._count = len(nodes)

    def __len__(self) -> int:
        return len(self._node_of)

    def node(self, gpu: int) -> int:
        """Return the node of a GPU."""
        return self._node_of[gpu]

    def place(
        self,
        rows: Iterable[tuple[K, int]],
        before: Mapping[K, tuple[int, ...]],
        taken: Iterable[int] = (),
        *,
        apart: bool = False,
    ) -> dict[K, tuple[int, ...]]:
        """GPUs for rows of (key, count): rows that can keep theirs do, then larger counts first.

        ``before``: the GPUs of each key in the last round; ``taken``: GPUs that others have; ``apart``: each
        GPU of a row on a different node. The counts fit (with ``apart`` a row that does not is left out).
        """
        free = set(range(len(self._node_of))) - set(taken)
        placed: dict[K, tuple[int, ...]] = {}
        waiting = []
        for key, count in rows:
            mine = before.get(key, ())
            if len(mine) == count and free.issuperset(mine):
                placed[key] = mine
                free.difference_update(mine)
            else:
                waiting.append((key, count))
        waiting.sort(key=lambda entry: -entry[1])
        nodes = self._by_node(free) if waiting else []
        for key, count in waiting:
            if gpus := _spread_gpus(nodes, count) if apart else _packed_gpus(nodes, count):
                placed[key] = gpus
        return placed

    def _by_node(self, free: set[int]) -> list[list[int]]:
        nodes: list[list[int]] = [[] for _ in range(self._count)]
        for gpu in sorted(free):
            nodes[self._node_of[gpu]].append(gpu)
        return nodes


def _packed_gpus(nodes: list[list[int]], count: int) -> tuple[int, ...]:
    """Take GPUs of the tightest node with room; without one, of the emptiest nodes."""
    roomy = [n for n in nodes if len(n) >= count]
    if roomy:
        return _taken(min(roomy, key=len), count)
    gpus: tuple[int, ...] = ()
    while len(gpus) < count:
        node = max(nodes, key=len)
        gpus += _taken(node, min(count - len(gpus), len(node)))
    return tuple(sorted(gpus))


def _spread_gpus(nodes: list[list[int]], count: int) -> tuple[int, ...]:
    """Take one GPU of each of the emptiest nodes; none where there are too few."""
    roomy = sorted((n for n in nodes if n), key=len, reverse=True)[:count]
    return tuple(sorted(gpu for n in roomy for gpu in _taken(n, 1))) if len(roomy) == count else ()


def _taken(node: list[int], count: int) -> tuple[int, ...]:
    gpus = tuple(node[:count])
    del node[:count]
    return gpus
