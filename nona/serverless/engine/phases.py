"""GPU phases that slow each other down: progress at speeds that change whenever a batch comes or goes.

Every batch has ``left_s`` seconds of its own work; while a set of batches computes on one GPU each does
``speed`` of them a second, so that its end is now + left_s / speed until the set changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from nona.gpu_sharing.pool import Pool
from nona.serverless.engine.events import Running


class SharedGpus:
    """The batches in their GPU phase, by (invoker, GPU)."""

    def __init__(self, pools: list[Pool]) -> None:
        self._pools = pools
        self._active: dict[tuple[int, int], list[Running]] = {}

    def enter(self, batch: Running, now_s: float) -> Iterable[Running]:
        """A batch begins its GPU phase; returns the batches whose ends have moved, with their new ends."""
        active = self._active.setdefault((batch.invoker, batch.lease.gpu), [])
        self._advance(active, now_s)
        batch.since_s = now_s
        active.append(batch)
        active.sort(key=_by_number)
        return self._again(active, now_s)

    def leave(self, batch: Running, now_s: float) -> Iterable[Running]:
        """A batch ends; returns the others whose ends have moved."""
        active = self._active[batch.invoker, batch.lease.gpu]
        active.remove(batch)
        self._advance(active, now_s)
        return self._again(active, now_s)

    def _advance(self, active: list[Running], now_s: float) -> None:
        for batch in active:
            batch.left_s = max(0.0, batch.left_s - batch.speed * (now_s - batch.since_s))
            batch.since_s = now_s

    def _again(self, active: list[Running], now_s: float) -> list[Running]:
        leases = tuple(b.lease for b in active)
        moved = []
        for batch in active:
            speed = self._pools[batch.invoker].speed(batch.lease, leases)
            if speed == batch.speed and batch.version:
                continue  # its end stands
            batch.speed = speed
            batch.version += 1
            batch.end_s = now_s + batch.left_s / speed
            moved.append(batch)
        return moved


def _by_number(batch: Running) -> int:
    return batch.number
