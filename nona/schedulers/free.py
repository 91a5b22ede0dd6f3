"""Free executors, for the schedulers that pick tasks."""

from __future__ import annotations

import numpy as np

from nona.schedulers.base import View


def free_executor(view: View, u: float) -> int:
    """An executor with nothing waiting or running, uniformly by the draw ``u``; −1: there is none."""
    free = np.flatnonzero(view.queue_length == 0)
    if len(free) == 0:
        return -1
    return int(free[int(u * len(free))])
