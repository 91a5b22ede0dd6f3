"""A floor under the mean completion time that no queueing formula enters: work that is conserved.

Count all work that has been drawn for an executor and is not done, from the moment at which its job
arrives, though the job may bring it later. Servers are drawn without a look at the queues, so that is the
work of a queue with Poisson batches, one for every job and executor, and it falls no faster than one
second a second: on average it is at least that of the M/G/1 queue with these batches. It is also the sum
over all tasks of rate times work times time until they start (and half their square), and
a task starts early enough for all that follows it. ``docs/joins.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.configurations.labels import to_labels
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.waits.queueing import second_moment
from nona.system import QueryClass, System

Floats = NDArray[np.float64]
Placed = Sequence[SubGraphPlacement]


def conserved_floor_s(system: System, queries: Sequence[Placed] | None = None) -> float:
    """A bound from below on the mean JCT of a placement, or of all of them, seconds.

    Formula: with y the mean work of a job on each executor, Y = E Σ y², q = Σ p_v² over its tasks, v their
    squared coefficient of variation, ρ and ρ_b the utilisation of an executor by all and by its
    background of rate β and E[b²], N executors, and K = Σ_v p_v (p_v + longest chain behind v)::

        Σ_j λ_j P_j T_j ≥ Σ_j λ_j (max(K_j, (Y_j + q_j)/2) − (1 + v_j) q_j/2) + N (1 − ρ_b) U − N β E[b²]/2
        U = (Σ_j λ_j (Y_j + v_j q_j) / N + β E[b²]) / (2 (1 − ρ))

    The mean is the least that this allows with every T_j at least its longest chain.

    Parameters
    ----------
    queries
        The placement; by default the floor holds for all, a job's work being parted among all executors.

    Notes
    -----
    It is a theorem for Poisson arrivals and any order of service; where there are several executor classes
    or arrivals are not Poisson, only the longest chains count.

    Examples
    --------
    One task of 1 s on one executor that is busy half of the time: M/D/1.

    >>> from nona.contraction.task_graph import TaskGraph
    >>> from nona.decomposition.dominators import decompose
    >>> from nona.system import Stream
    >>> tasks = TaskGraph.from_edges("one", [1.0])
    >>> query = QueryClass("q", tasks, decompose(tasks.dag), 0.5)
    >>> zero = np.zeros(1, dtype=np.int64)
    >>> conserved_floor_s(System(zero, zero, ("gpu",), 1e9, 0.0, "fifo", Stream(), Stream(), (query,)))
    1.5
    """
    rate = np.array([q.rate for q in system.queries])
    if not rate.sum() > 0.0:
        return 0.0
    times = [q.tasks.compute_s.min(axis=0) for q in system.queries]
    behind = [_behind(q, p) for q, p in zip(system.queries, times, strict=True)]
    longest = np.array([float((p + b).max()) for p, b in zip(times, behind, strict=True)])
    base = float(rate @ longest / rate.sum())
    poisson = all(q.arrivals.process == "poisson" for q in system.queries)
    work = np.array([p.sum() for p in times])
    stream, number = system.background_compute, system.executors
    spare = 1.0 - stream.rate * stream.mean - float(rate @ work) / number
    if len(system.class_names) > 1 or not poisson or spare <= 0.0:
        return base
    more = _conserved(system, queries, times, behind, spare) - float(rate * work @ longest)
    return base + max(float(more), 0.0) / float(rate.sum() * work.max())


def _conserved(
    system: System,
    queries: Sequence[Placed] | None,
    times: Sequence[Floats],
    behind: Sequence[Floats],
    spare: float,
) -> float:
    """The right side of the formula: what Σ λ P T is at least; ``spare`` is 1 − ρ."""
    stream, number = system.background_compute, system.executors
    moment = stream.rate * second_moment(stream)
    total, batches = -0.5 * number * moment, 0.0
    for j, (q, p) in enumerate(zip(system.queries, times, strict=True)):
        single = float((p**2).sum())
        y = p.sum() ** 2 / number  # the least there is, all executors having an equal part
        if queries is not None:
            y = max(y, _squares(q, queries[j], p))
        after = max(float(p @ (p + behind[j])), 0.5 * (y + single))
        total += float(q.rate) * (after - 0.5 * (1.0 + q.service_scv) * single)
        batches += float(q.rate) * (y + q.service_scv * single) / number
    return total + number * (1.0 - stream.rate * stream.mean) * (batches + moment) / (2.0 * spare)


def _behind(q: QueryClass, p: Floats) -> Floats:
    """(T,) Seconds of the longest chain behind each task."""
    behind = np.zeros(len(p))
    for v in reversed(q.tasks.dag.topological_order()):
        behind[v] = max((p[w] + behind[w] for w in q.tasks.dag.successors[v]), default=0.0)
    return behind


def _squares(q: QueryClass, placed: Placed, p: Floats) -> float:
    """E Σ y² of the mean work y of a job on each executor; parts of several sub-graphs are on several.

    Along the sub-graphs the work on the root's executor is known by its first two moments.
    """
    cuts = q.decomposition.cuts
    first = float(p[cuts[0]]) if cuts[0] != VIRTUAL else 0.0
    mean, square, total = first, first**2, 0.0
    for s, sink in zip(placed, cuts[1:], strict=True):
        ahead = float(p[sink]) if sink != VIRTUAL else 0.0
        mean_next = square_next = 0.0
        for c, share in zip(s.configurations, np.asarray(s.probabilities).tolist(), strict=True):
            labels = to_labels(c, s.subgraph.interior)
            held: dict[int, float] = {}
            for v, at in zip(s.subgraph.interior, labels, strict=False):
                held[at] = held.get(at, 0.0) + float(p[v])
            root, home = held.pop(0, 0.0), labels[-1]
            run = square + 2.0 * mean * root + root**2
            if home == 0:
                more = root + ahead
                mean_next += share * (mean + more)
                square_next += share * (square + 2.0 * mean * more + more**2)
            else:
                more = held.pop(home, 0.0) + ahead
                mean_next, square_next = mean_next + share * more, square_next + share * more**2
                total += share * run
            total += share * sum(w**2 for w in held.values())
        mean, square = mean_next, square_next
    return total + square
