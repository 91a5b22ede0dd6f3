"""The decision of a learned scheduler: the pair of task and executor of highest score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Ready, View
from nona.schedulers.learned.choose import Learned, candidates, one_of


def decide(now: float, view: View, ready: Ready, tables: Learned, u: Any, out: NDArray[Any]) -> bool:
    """The pair of highest score. A task whose best executor is busy waits for it, and the next best task
    is looked at; when all that are ready wait, nothing is picked."""
    found = candidates(now, view, ready, tables)
    held = np.zeros(ready.n, dtype=np.int64)
    while True:
        best = -1
        for c in range(len(found.entry)):
            if not held[found.entry[c]] and (best < 0 or found.score[c] > found.score[best]):
                best = c
        if best < 0:
            return False
        if view.queue_length[found.executor[best]] == 0:
            out[0] = found.entry[best]
            out[1] = one_of(view, ready, tables, found, best, u[0])
            return True
        held[found.entry[best]] = 1
