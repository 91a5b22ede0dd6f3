"""The cluster as schedulers of flows see it, and what they learn of the flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Round
from nona.schedulers.queues.least_loaded import works_of
from nona.system import System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHORTEST_S = 1e-12  # of a query, so that its rate is finite


@dataclass(frozen=True, eq=False, slots=True)
class FlowCluster:
    """Q flows on E executors of K classes.

    ``rates`` (Q, K): modelled queries/s on one executor of each class, 0 where it cannot hold the model;
    ``executor_class`` (E,); ``counts`` (K,) executors of each class.
    """

    flows: tuple[str, ...]
    classes: tuple[str, ...]
    executor_class: Ints
    counts: Ints
    rates: Floats


def cluster_of(system: System) -> FlowCluster:
    """The cluster of a system.

    Raises
    ------
    PlacementError
        When a model fits no executor.
    """
    works = works_of(system)
    work_s = works.work_s.reshape(len(system.queries), works.classes)
    return FlowCluster(
        flows=tuple(q.name for q in system.queries),
        classes=system.class_names,
        executor_class=system.executor_class.astype(np.int64),
        counts=system.class_counts.astype(np.int64),
        rates=1.0 / np.maximum(work_s, SHORTEST_S),
    )


class Known(NamedTuple):
    """``expected`` (Q,): queries that the next round is expected to bring; ``rates`` (Q, K): queries/s on one
    executor of each class."""

    expected: Floats
    rates: Floats


def learned(of: FlowCluster, before: Known | None, seen: Round) -> Known:
    """What is known after a round: half of what was known, half of what was measured.

    Rates start as modelled and change where queries were completed (T ← ½T + ½ measured, Gavel's rule on
    hardware); what is expected starts as the first round's queries.
    """
    if before is None:
        before = Known(seen.offered.astype(float), of.rates)
    ran = (seen.completed > 0) & (seen.service_s > 0)
    measured = np.divide(seen.completed, seen.service_s, out=before.rates.copy(), where=ran)
    return Known(0.5 * before.expected + 0.5 * seen.offered, 0.5 * before.rates + 0.5 * measured)
