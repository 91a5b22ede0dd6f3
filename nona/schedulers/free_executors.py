"""Common parts of the schedulers that pick tasks: free executors, decisions without tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.placement.result import Placement
from nona.schedulers.base import Prepared, Ready, View
from nona.system import System


class NoTables(NamedTuple):
    """A scheduler decides from what is ready and free alone; the field is not used."""

    unused: int = 0


@dataclass(frozen=True, slots=True)
class WithoutTables:
    """Prepares the scheduler ``name``: no tables; one draw per decision."""

    name: str

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        return Prepared(NoTables(), 1)


def free_executor(view: View, u: float) -> int:
    """An executor with nothing waiting or running, uniformly by the draw ``u``; −1: there is none."""
    free = np.flatnonzero(view.queue_length == 0)
    if len(free) == 0:
        return -1
    return int(free[int(u * len(free))])


def home_or_free(view: View, ready: Ready, best: int, u: float, out: NDArray[Any]) -> bool:
    """Pick the ready task ``best``: where its last predecessor ran, if that is free, else as
    :func:`free_executor` draws. Whether there is such an executor."""
    executor = ready.home[best]
    if executor < 0 or view.queue_length[executor] != 0:
        executor = free_executor(view, u)
    if executor < 0:
        return False
    out[0] = best
    out[1] = executor
    return True
