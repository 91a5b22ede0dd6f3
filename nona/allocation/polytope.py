"""The allocations that a cluster can give, as sparse matrices, and pairs worth a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nona.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Polytope:
    """F = {x ≥ 0: Σ_r sf_r x_rj ≤ N_j for each type j, Σ of the rows with job i ≤ 1 for each job i}.

    A *row* is a job alone or a pair on the same GPUs. A variable is a row on a type on which all its jobs
    can run (rate above 0); others have share 0 and no variable.

    ``rows``: numbers of the jobs of each row: all singles, then pairs.
    ``gpus``: (J,) N_j.
    ``jobs``: m.
    ``row``, ``column``: (n,) row and type of each variable, in order of rows, then types.
    ``workers``: (n,) sf of the variable's row.
    ``first``, ``second``: (n,) the row's jobs; ``second`` is −1 for a single.
    ``rate``, ``partner_rate``: (n,) steps/s of the first and of the second job; the latter 0 for a single.
    """

    rows: tuple[tuple[int, ...], ...]
    gpus: Floats
    jobs: int
    row: Ints
    column: Ints
    workers: Floats
    first: Ints
    second: Ints
    rate: Floats
    partner_rate: Floats

    @property
    def variables(self) -> int:
        """The number n of columns."""
        return len(self.row)

    @property
    def paired(self) -> bool:
        """True where there are rows of two jobs."""
        return len(self.rows) > self.jobs

    @property
    def able(self) -> Bools:
        """By job (m,), true where it can run at all."""
        able = np.zeros(self.jobs, np.bool_)
        able[self.first] = True
        return able

    def throughput_matrix(self) -> scipy.sparse.csr_array:
        """(m, n) whose product with x is thr_i = Σ T·x over the rows with job i, in steps/s."""
        return self._per_job(self.rate, self.partner_rate)

    def limit_matrix(self) -> scipy.sparse.csr_array:
        """(J + m, n) whose product with x is at most :attr:`limits`: GPUs by type, then time by job."""
        ones = np.ones(self.variables)
        n, kinds = self.variables, len(self.gpus)
        gpus = scipy.sparse.csr_array((self.workers, (self.column, np.arange(n))), shape=(kinds, n))
        time = self._per_job(ones, ones)
        return scipy.sparse.csr_array(scipy.sparse.vstack([gpus, time], format="csr"))

    @property
    def limits(self) -> Floats:
        """(J + m,) N_j, then 1 for each job."""
        return np.concatenate([self.gpus, np.ones(self.jobs)])

    def shares(self, x: Floats) -> Floats:
        """(rows, J) the variables' values by row and type, clipped to [0, 1]."""
        shares = np.zeros((len(self.rows), len(self.gpus)))
        shares[self.row, self.column] = np.clip(x, 0.0, 1.0)
        return shares

    def throughputs(self, x: Floats) -> Floats:
        """(m,) thr_i in steps/s."""
        total = np.bincount(self.first, self.rate * x, self.jobs).astype(np.float64)
        two = self.second >= 0
        if two.any():
            total += np.bincount(self.second[two], (self.partner_rate * x)[two], self.jobs)
        return total

    def _per_job(self, own: Floats, other: Floats) -> scipy.sparse.csr_array:
        two = np.flatnonzero(self.second >= 0)
        rows = np.concatenate([self.first, self.second[two]])
        columns = np.concatenate([np.arange(self.variables), two])
        values = np.concatenate([own, other[two]])
        return scipy.sparse.csr_array((values, (rows, columns)), shape=(self.jobs, self.variables))


def polytope(
    gpus: Floats,
    workers: Floats,
    rates: Floats,
    pairs: Ints | None = None,
    pair_rates: Floats | None = None,
) -> Polytope:
    """F for m jobs with (m,) ``workers`` and (m, J) ``rates``; with (p, 2) ``pairs`` a row for each too.

    >>> two = polytope(np.array([1.0, 1.0]), np.ones(2), np.array([[4.0, 1.0], [2.0, 0.0]]))
    >>> two.rows, two.row.tolist(), two.column.tolist()
    (((0,), (1,)), [0, 0, 1], [0, 1, 0])
    """
    m = len(workers)
    some = np.empty((0, 2), np.int64) if pairs is None else pairs
    beside = np.zeros((0, len(gpus), 2)) if pair_rates is None else pair_rates
    own = np.concatenate([rates, beside[:, :, 0]])
    other = np.concatenate([np.zeros_like(rates), beside[:, :, 1]])
    first = np.concatenate([np.arange(m), some[:, 0]])
    second = np.concatenate([np.full(m, -1, np.int64), some[:, 1]])
    row, column = np.nonzero((own > 0) & ((other > 0) | (second < 0)[:, None]))
    return Polytope(
        rows=(*((i,) for i in range(m)), *((int(a), int(b)) for a, b in some)),
        gpus=np.asarray(gpus, np.float64),
        jobs=m,
        row=row,
        column=column,
        workers=np.asarray(workers, np.float64)[first[row]],
        first=first[row],
        second=second[row],
        rate=own[row, column],
        partner_rate=other[row, column],
    )


PARTNERS = 8


def _combined_rates(rates: Floats, pairs: Ints, pair_rates: Floats) -> Floats:
    """(p, J) Σ over the two jobs of rate beside the other / rate alone; 0 where one cannot run.

    >>> _combined_rates(np.array([[2.0], [4.0]]), np.array([[0, 1]]), np.array([[[1.5, 2.0]]]))
    array([[1.25]])
    """
    alone = np.moveaxis(rates[pairs], 1, 2)
    part = np.divide(pair_rates, alone, out=np.zeros_like(pair_rates), where=alone > 0)
    return np.where((part > 0).all(axis=2), part.sum(axis=2), 0.0)


def worthwhile_pairs(
    rates: Floats, workers: Floats, pairs: Ints, pair_rates: Floats, partners: int = PARTNERS
) -> tuple[Ints, Floats]:
    """Return the pairs that get a row, and their rates, 0 on types where they gain nothing.

    A pair is kept on a type only where its combined rate exceeds 1: otherwise both jobs reach the same
    throughputs one after the other in no more GPU time, so nothing is lost. Of these pairs each job proposes
    the ``partners`` best ones by combined rate on their best type (ties: lower numbers first), and what no
    job proposes is left out: this bounds the rows by (1 + partners)·m and may cost some throughput.
    Both jobs of a pair need equally many workers; others are left out too.

    >>> rates, two = np.array([[2.0], [4.0], [4.0]]), np.array([[0, 1], [1, 2]])
    >>> worthwhile_pairs(rates, np.ones(3), two, np.array([[[1.5, 2.0]], [[2.0, 2.0]]]))[0]
    array([[0, 1]])
    """
    gain = _combined_rates(rates, pairs, pair_rates)
    best = gain.max(axis=1, initial=0.0)
    useful = (best > 1) & (workers[pairs[:, 0]] == workers[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])
    pairs, pair_rates, gain, best = pairs[useful], pair_rates[useful], gain[useful], best[useful]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -best))
    keep = _proposed(pairs[order], partners)
    chosen = np.sort(order[keep])
    return pairs[chosen], np.where((gain[chosen] > 1)[:, :, None], pair_rates[chosen], 0.0)


def _proposed(pairs: Ints, partners: int) -> Bools:
    """Return, by pair, best first, whether it is among the first ``partners`` of one of its jobs."""
    jobs = pairs.ravel()
    order = np.argsort(jobs, kind="stable")
    ordered = jobs[order]
    first = np.searchsorted(ordered, ordered)
    rank = np.empty(len(jobs), np.int64)
    rank[order] = np.arange(len(jobs)) - first
    two = rank.reshape(-1, 2) < partners
    return two[:, 0] | two[:, 1]
