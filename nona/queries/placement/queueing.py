"""Mean waits in queues, and the load and waits of executors whose visits run on.

A task whose last input was made on its own executor runs on without queueing. So the sink of a
configuration that sends parts away but keeps one with the root, and itself, queues again only if some
output comes back after that part has ended. Otherwise the run of the root goes on, and is as long as if
nothing had been sent away.

A job's visit to an executor is a run of tasks without queueing in between. A sub-graph that is
all local extends the run of its root to its sink, and so does one whose root's part ends after all
else has arrived: run lengths follow by backward recursion. With x_k,c the probabilities of the
configurations, r_k,c that of the sink running on (:func:`nona.queries.placement.queueing._runs_on`), p_k the
root of sub-graph k, and b_k,c = p_k + (first block of the root's part)::

    L_K = p_K,   E L_k  = Σ_c x·(b + r·E L_{k+1})
                 E L_k² = Σ_c x·(b² + r·(2b·E L_{k+1} + E L_{k+1}²))
    M = E L_0² + Σ_k Σ_c x·((1 − r)·E L_{k+1}² + squares of the other blocks)

M is the sum of the squared visits of one job. When task times are drawn with squared coefficient
of variation v, the square of a block gains v·Σ p².

Every server drawn for a job of query class j, its home and that of each part, is of executor class k
with probability s_jk, uniform within the class. With n_k executors, λ_j the rate, w_jk the seconds of
all tasks and M_jk the sum of the squared visits of one job on class k
(:mod:`nona.queries.placement.queueing`)::

    ρ_k = ρ_background + Σ_j λ_j s_jk w_jk / n_k
    W_k = ((λE[S²])_background + Σ_j λ_j s_jk M_jk / n_k) / (2(1 − ρ_k))
    W^j = Σ_k s_jk W_k                  mean wait of a visit of class j

A uniform draw over all executors is s_jk = n_k/n. Then ρ_k is the same whatever the placement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.core.queueing import fifo_wait_s
from nona.models.decomposition import VIRTUAL
from nona.queries.placement.messages import ShapeCandidates
from nona.queries.placement.spans import ends
from nona.queries.system import BackgroundStream, System


def second_moment(stream: BackgroundStream) -> float:
    """E[S²] = mean²·(1 + scv) of a background stream's service (s², or bytes² for the link).

    >>> second_moment(BackgroundStream(rate=10.0, mean=0.02, scv=1.0))
    0.0008
    """
    return stream.mean**2 * (1.0 + stream.scv)


def _runs_on(candidates: ShapeCandidates, busy: float, whole: Bools) -> Floats:
    """(n,) Probability r that the sink runs on after the work on the root's server.

    Formula: 1 where all is local; (1 − ρ)^k where the sink is on the root's server, the root's part is
    one block that ends no sooner, on an idle cluster, than the outputs of the k other servers arrive;
    else 0. With probability 1 − ρ a part finds its executor idle (Poisson arrivals see time averages);
    where one is busy, its wait is taken to be longer than the time to spare. Waits at the link, far
    shorter than those at servers, are left out.

    ``busy``: ρ, utilisation of the executors. ``whole`` (n,): whether the root's part runs without queueing
    in between.

    A branch of 2 ms is away while one of 10 ms stays; then the other way round:

    >>> from nona.models.contraction.task_graph import TaskGraph
    >>> from nona.models.decomposition import SubGraph
    >>> from nona.queries.placement.messages import PlacementLink
    >>> from nona.queries.placement.configurations import shape_of
    >>> arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    >>> tasks = TaskGraph.from_edges("fork", [0.001, 0.002, 0.010, 0.001], arcs)
    >>> shape = shape_of(tasks, SubGraph(0, 3, (1, 2)), np.ones(1))
    >>> both = ShapeCandidates(shape, np.array([[1, 0, 0], [0, 1, 0]]), PlacementLink(1e9, 0.0))
    >>> _runs_on(both, 0.25, np.ones(2, dtype=bool)).tolist()
    [0.75, 0.0]
    """
    shape, stays = candidates.shape, candidates.local.astype(float)
    at_home = candidates.labels[:, : shape.m] == 0
    rows = np.flatnonzero(
        whole & ~candidates.local & (candidates.labels[:, -1] == 0) & at_home.any(axis=1) & shape.has_sink
    )
    if not len(rows) or busy >= 1.0:
        return stays
    done = ends(candidates, rows)
    home = np.where(at_home[rows].T, done[1:], -np.inf).max(axis=0)
    back = np.zeros(len(rows))
    for edge in shape.edges_into[shape.m + 1]:
        arrival = done[shape.source[edge]] + candidates.messages.through_s[edge, rows]
        back = np.maximum(back, np.where(candidates.messages.remote[edge, rows], arrival, 0.0))
    in_time = rows[back <= home]
    stays[in_time] = (1.0 - busy) ** candidates.labels[in_time].max(axis=1)
    return stays


@dataclass(frozen=True, eq=False)
class WorkBlocks:
    """Blocks of n configurations on K executor classes: work that runs without queueing.

    ``root`` and ``root_squares`` (K, n) are Σp and Σp² of the block that follows the root on its
    executor; ``other`` and ``other_squares`` are Σ(Σp)² and Σp² over all other blocks; ``stays``
    (n,) is the probability r that the sink runs on after the root's block, 1 where all is local.
    """

    root: Floats
    root_squares: Floats
    other: Floats
    other_squares: Floats
    stays: Floats


def blocks(candidates: ShapeCandidates, busy: float = 0.0) -> WorkBlocks:
    """Blocks of every configuration; ``busy`` is the probability that an executor is.

    A part is one block, cut before every task that has an input from another server other than
    the root's (its own part being away from the root, the first task's input does not cut).
    """
    shape, labels = candidates.shape, candidates.labels.T
    classes, n = len(shape.class_s), labels.shape[1]
    servers = int(labels.max(initial=0)) + 1
    columns = np.arange(n)
    current = np.zeros((classes, 2, servers, n))  # Σp and Σp² of the open block of each server
    on_root = np.zeros((servers, n), dtype=bool)
    on_root[0] = True
    root, other = np.zeros((classes, 2, n)), np.zeros((classes, 2, n))

    def close(label: Ints, where: Bools) -> None:
        block, first = current[:, :, label, columns], on_root[label, columns]
        root[:] += np.where(where & first, block, 0.0)
        squared = np.stack([block[:, 0] ** 2, block[:, 1]], axis=1)
        other[:] += np.where(where & ~first, squared, 0.0)
        current[:, :, label, columns] = np.where(where, 0.0, block)
        on_root[label, columns] &= ~where

    for v in range(1, shape.m + 1):
        label = labels[v - 1]
        cut = np.zeros(n, dtype=bool)
        for edge in shape.edges_into[v]:
            if shape.source[edge] > 0:
                cut |= candidates.messages.remote[edge]
        close(label, cut)
        time = shape.class_s[:, v - 1, None]
        current[:, 0, label, columns] += time
        current[:, 1, label, columns] += time**2
    whole = on_root[0].copy()
    for server in range(servers):
        close(np.full(n, server), np.ones(n, dtype=bool))
    stays = _runs_on(candidates, busy, whole)
    return WorkBlocks(root[:, 0], root[:, 1], other[:, 0], other[:, 1], stays)


def blocks_of(candidates: ShapeCandidates, busy: float) -> WorkBlocks:
    """Return the blocks, computed once for each ``busy``."""
    kept = candidates.runs.get(busy)
    if not isinstance(kept, WorkBlocks):
        kept = candidates.runs[busy] = blocks(candidates, busy)
    return kept


@dataclass(frozen=True, eq=False)
class ClassRecursion:
    """One query class on one executor class, as the recursion walks along it.

    ``cut_s`` (K_cuts,) are the seconds of the cut tasks (0 where virtual); ``blocks[k]`` those of
    the configurations of sub-graph k on executor class ``row``; ``scv`` that of the task times.
    """

    cut_s: Floats
    blocks: Sequence[WorkBlocks]
    row: int
    scv: float

    def _moments(self, k: int) -> tuple[Floats, Floats]:
        """Mean and second moment of root and its block, (n,) each."""
        b, p = self.blocks[k], self.cut_s[k]
        mean = p + b.root[self.row]
        return mean, mean**2 + self.scv * (p**2 + b.root_squares[self.row])

    @cached_property
    def columns(self) -> tuple[tuple[list[float], list[float], list[float], list[float]], ...]:
        """For each sub-graph: mean, second moment, r and other blocks of every configuration."""
        rows = []
        for k, b in enumerate(self.blocks):
            mean, square = self._moments(k)
            other = b.other[self.row] + self.scv * b.other_squares[self.row]
            rows.append((mean.tolist(), square.tolist(), b.stays.tolist(), other.tolist()))
        return tuple(rows)

    def squares(self, x: Sequence[Floats], only: Sequence[int] | None = None) -> float:
        """M: mean sum of squared visits of one job, s².

        ``only`` may say which configuration has all the probability, −1 where several share it: then
        plain numbers, the same to the last bit, spare the price of short arrays.
        """
        return self._forward(x)[0] if only is None else self._squares(x, only)

    def _squares(self, x: Sequence[Floats], only: Sequence[int]) -> float:
        last = float(self.cut_s[-1])
        ahead, ahead2, total = last, last**2 * (1 + self.scv), 0.0
        for k in range(len(self.blocks) - 1, -1, -1):
            if only[k] < 0:
                b = self.blocks[k]
                mean, square = self._moments(k)
                m1 = mean + b.stays * ahead
                m2 = square + b.stays * (2 * mean * ahead + ahead2)
                other = b.other[self.row] + self.scv * b.other_squares[self.row]
                total += float(x[k] @ (other + (1.0 - b.stays) * ahead2))
                ahead, ahead2 = float(x[k] @ m1), float(x[k] @ m2)
                continue
            means, squares, stays, others = self.columns[k]
            i = only[k]
            own, r = means[i], stays[i]
            total += others[i] + (1.0 - r) * ahead2
            ahead, ahead2 = own + r * ahead, squares[i] + r * (2 * own * ahead + ahead2)
        return total + ahead2

    def _forward(self, x: Sequence[Floats]) -> tuple[float, list[tuple[float, float]]]:
        last = self.cut_s[-1]
        runs = [(last, last**2 * (1 + self.scv))]  # (E L, E L²) of sub-graph K, K−1, …
        total = 0.0
        for k in range(len(self.blocks) - 1, -1, -1):
            b, (ahead, ahead2) = self.blocks[k], runs[-1]
            mean, square = self._moments(k)
            m1 = mean + b.stays * ahead
            m2 = square + b.stays * (2 * mean * ahead + ahead2)
            other = b.other[self.row] + self.scv * b.other_squares[self.row]
            total += float(x[k] @ (other + (1.0 - b.stays) * ahead2))
            runs.append((float(x[k] @ m1), float(x[k] @ m2)))
        return total + runs[-1][1], runs[::-1]

    def gradient(self, x: Sequence[Floats]) -> list[Floats]:
        """dM/dx for every sub-graph, by one reverse sweep.

        y is dM/dE L_k; dM/dE L_k² is 1 throughout: a run either goes on, or another begins.
        """
        _, runs = self._forward(x)
        y, result = 0.0, []
        for k, b in enumerate(self.blocks):
            ahead, ahead2 = runs[k + 1]
            mean, square = self._moments(k)
            other = b.other[self.row] + self.scv * b.other_squares[self.row]
            m1 = mean + b.stays * ahead
            m2 = square + b.stays * (2 * mean * ahead + ahead2)
            result.append(y * m1 + m2 + other + (1.0 - b.stays) * ahead2)
            y = y * float(x[k] @ b.stays) + float(x[k] @ (2 * mean * b.stays))
        return result


Probabilities = Sequence[Sequence[Floats]]


@dataclass(frozen=True, eq=False)
class Servers:
    """The executors under given shares.

    ``shares`` (J, K): probability that a server drawn for query class j is of executor class k. ``blocks``:
    ``blocks[j][k]``: blocks of the candidates of sub-graph k of query class j.
    """

    system: System
    shares: Floats
    blocks: tuple[tuple[WorkBlocks, ...], ...]

    @cached_property
    def arrivals(self) -> Floats:
        """(J, K) Jobs of each query class per second and executor, as if they stayed where they began."""
        rates = np.array([q.rate for q in self.system.queries])
        counts = self.system.class_counts
        per_executor = np.divide(self.shares, counts, out=np.zeros(self.shares.shape), where=counts > 0)
        result: Floats = rates[:, None] * per_executor
        return result

    @cached_property
    def utilization(self) -> Floats:
        """(K,) ρ of an executor of each class, background included."""
        stream = self.system.background_compute
        result: Floats = stream.rate * stream.mean + (self.arrivals * self.work_s).sum(axis=0)
        return result

    @cached_property
    def work_s(self) -> Floats:
        """(J, K) Seconds of all tasks of a query class on each executor class."""
        if not self.system.queries:
            return np.zeros((0, len(self.system.class_names)))
        return np.array([q.load_s.sum(axis=1) for q in self.system.queries])

    @cached_property
    def chains(self) -> tuple[tuple[ClassRecursion, ...], ...]:
        """``chains[k][j]``: the run-length recursion of query class j on executor class k."""
        return tuple(
            tuple(
                ClassRecursion(
                    cut_times(self.system, j, q.tasks.compute_s[k]), self.blocks[j], k, q.service_scv
                )
                for j, q in enumerate(self.system.queries)
            )
            for k in range(len(self.system.class_names))
        )

    def waits_s(self, squares: Floats) -> Floats:
        """(K,) W_k for the mean squared visits ``squares`` (J, K) of one job, s²; unknown with batches."""
        if self.system.beyond_formula:
            return np.full(len(self.utilization), math.nan)
        stream = self.system.background_compute
        moments = stream.rate * second_moment(stream) + (self.arrivals * squares).sum(axis=0)
        return np.array(
            [fifo_wait_s(rho, m) for rho, m in zip(self.utilization.tolist(), moments.tolist(), strict=True)]
        )

    def squares(self, x: Probabilities, only: Sequence[Sequence[int]]) -> Floats:
        """(J, K) M_jk: mean sum of the squared visits of one job, s²; 0 where it never runs."""
        result = np.zeros(self.shares.shape)
        for k, row in enumerate(self.chains):
            for j, chain in enumerate(row):
                if self.arrivals[j, k] > 0:
                    result[j, k] = chain.squares(x[j], only[j])
        return result

    def seen_s(self, waits: Floats) -> Floats:
        """Return the mean wait (J,) of a visit by query class, Σ_k s_jk W_k, given the waits (K,)."""
        result: Floats = np.where(self.shares > 0, self.shares * np.where(self.shares > 0, waits, 0.0), 0.0)
        return np.asarray(result.sum(axis=1), dtype=float)

    def gradient(self, x: Probabilities, visits: Floats) -> list[list[Floats]]:
        """Σ_j ``visits``_j·dW^j/dx for every sub-graph.

        dW_k/dM_jk = λ_j s_jk/(n_k·2(1 − ρ_k)), and Σ_j visits_j s_jk is what a second of W_k costs.
        """
        price = (visits @ self.shares) / (2.0 * (1.0 - self.utilization))
        factors = self.arrivals * price
        result = [[np.zeros(len(p)) for p in row] for row in x]
        for k, row in enumerate(self.chains):
            for j, chain in enumerate(row):
                factor = float(factors[j, k])
                if factor > 0:
                    slopes = chain.gradient(x[j])
                    result[j] = [a + factor * b for a, b in zip(result[j], slopes, strict=True)]
        return result


def cut_times(system: System, j: int, times: Floats) -> Floats:
    """Seconds of the cut tasks of query class ``j`` out of ``times`` (T,); 0 where virtual."""
    return np.array([times[t] if t != VIRTUAL else 0.0 for t in system.queries[j].decomposition.cuts])
