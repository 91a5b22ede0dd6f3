"""Second moments of the work that queues at an executor: sinks that find their server still at work run on.

A job's visit to an executor is a run of tasks without queueing in between. A sub-graph that is
all local extends the run of its root to its sink, and so does one whose root's part ends after all
else has arrived: run lengths follow by backward recursion. With x_k,c the probabilities of the
configurations, r_k,c that of the sink running on (:func:`nona.placement.waits.returns.runs_on`), p_k the
root of sub-graph k, and b_k,c = p_k + (first block of the root's part)::

    L_K = p_K,   E L_k  = Σ_c x·(b + r·E L_{k+1})
                 E L_k² = Σ_c x·(b² + r·(2b·E L_{k+1} + E L_{k+1}²))
    M = E L_0² + Σ_k Σ_c x·((1 − r)·E L_{k+1}² + squares of the other blocks)

M is the sum of the squared visits of one job. When task times are drawn with squared coefficient
of variation v, the square of a block gains v·Σ p².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.candidates import Candidates
from nona.placement.waits.returns import runs_on

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blocks:
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


def blocks(candidates: Candidates, busy: float = 0.0) -> Blocks:
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

    def close(label: NDArray[np.int64], where: NDArray[np.bool_]) -> None:
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
    stays = runs_on(candidates, busy, whole)
    return Blocks(root[:, 0], root[:, 1], other[:, 0], other[:, 1], stays)


def blocks_of(candidates: Candidates, busy: float) -> Blocks:
    """The same, computed once for each ``busy``."""
    found = candidates.runs.get(busy)
    if not isinstance(found, Blocks):
        found = candidates.runs[busy] = blocks(candidates, busy)
    return found


@dataclass(frozen=True, eq=False)
class Chain:
    """One query class for one executor class: what the recursion walks along.

    ``cut_s`` (K_cuts,) are the seconds of the cut tasks (0 where virtual); ``blocks[k]`` those of
    the configurations of sub-graph k on executor class ``row``; ``scv`` that of the task times.
    """

    cut_s: Floats
    blocks: Sequence[Blocks]
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

    def gradient(self, x: Sequence[Floats]) -> list[tuple[Floats, float]]:
        """dM/dx for every sub-graph, by one reverse sweep, and a bound for all that are not local.

        The bound is the derivative for a configuration whose blocks take no time.
        """
        result = []
        for k, (b, (y, p, ahead, ahead2)) in enumerate(zip(self.blocks, self.marginals(x), strict=True)):
            mean, square = self._moments(k)
            other = b.other[self.row] + self.scv * b.other_squares[self.row]
            m1 = mean + b.stays * ahead
            m2 = square + b.stays * (2 * mean * ahead + ahead2)
            least = y * p + (1 + self.scv) * p**2 + ahead2
            result.append((y * m1 + m2 + other + (1.0 - b.stays) * ahead2, least))
        return result

    def marginals(self, x: Sequence[Floats]) -> list[tuple[float, float, float, float]]:
        """For every sub-graph what dM/dx needs: (dM/dE L_k, root's seconds, E L_{k+1}, E L²_{k+1}).

        dM/dE L_k² is 1 throughout: a run either goes on, or another begins.
        """
        _, runs = self._forward(x)
        y, result = 0.0, []
        for k, b in enumerate(self.blocks):
            result.append((y, float(self.cut_s[k]), float(runs[k + 1][0]), float(runs[k + 1][1])))
            mean, _ = self._moments(k)
            y = y * float(x[k] @ b.stays) + float(x[k] @ (2 * mean * b.stays))
        return result
