"""A scheduler that binds every task of a class to an executor given beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Scheduler, View
from nona.system import System


class Places(NamedTuple):
    """``executor`` (N,): where each task goes, class after class; ``first`` (Q+1,): where a class begins."""

    executor: NDArray[np.int64]
    first: NDArray[np.int64]


def decide(now: float, query: int, view: View, tables: Places, u: Any, out: Any) -> None:
    """Task i of the class goes to the i-th executor of its row."""
    begin = tables.first[query]
    for i in range(tables.first[query + 1] - begin):
        out[i] = tables.executor[begin + i]


@dataclass(frozen=True, slots=True)
class _Rows:
    """``prepare`` of a bound scheduler; a class, not a closure, so that it can go to another process."""

    executors: tuple[tuple[int, ...], ...]

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        first = np.cumsum([0, *map(len, self.executors)], dtype=np.int64)
        return Prepared(
            Places(np.concatenate([np.array(r, dtype=np.int64) for r in self.executors]), first), 0
        )


def bind_to(*executors: Sequence[int]) -> Scheduler:
    """A scheduler that binds task i of every job of class q to ``executors[q][i]``.

    >>> bind_to([0, 1], [1]).name
    'bound'
    """
    return Scheduler(
        name="bound",
        kind="bind",
        network_view=NetworkView.N0,
        summary="Each task of a class on an executor given beforehand.",
        source="Ours, to build systems known to queueing theory",
        adaptation="Not available to scenarios.",
        decide=decide,
        prepare=_Rows(tuple(tuple(r) for r in executors)),
        takes_lists=True,
    )
