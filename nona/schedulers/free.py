"""Free executors, for the schedulers that pick tasks."""

from __future__ import annotations

from nona.schedulers.base import View


def free_executor(view: View, u: float) -> int:
    """An executor with nothing waiting or running, uniformly by the draw ``u``; −1: there is none."""
    free = 0
    for length in view.queue_length:
        if length == 0:
            free += 1
    if free == 0:
        return -1
    rank = int(u * free)
    for e in range(len(view.queue_length)):
        if view.queue_length[e] == 0:
            if rank == 0:
                return e
            rank -= 1
    return -1
