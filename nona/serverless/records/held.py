"""What batches held of their GPUs, from the records of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nona.gpu_sharing.registry import WAYS
from nona.serverless.model.system import ServerlessSystem

MOST_SLOTS = 63


class Held(Protocol):
    """Leases: (m,) numbers of invokers and configurations, and bits of slots."""

    @property
    def invoker(self) -> NDArray[np.int64]:
        """Where."""

    @property
    def configuration(self) -> NDArray[np.int64]:
        """What was asked for."""

    @property
    def slots(self) -> NDArray[np.int64]:
        """What of the GPU is held."""


def held_vgpus(system: ServerlessSystem, batches: Held) -> NDArray[np.int64]:
    """(m,) vGPUs that each batch held: what its configuration says, or all of its fixed slice."""
    held = system.space.vgpus[batches.configuration]
    if not WAYS.find(system.sharing.mode).fixed_layout:
        return held
    sizes = np.zeros((len(system.invokers), MOST_SLOTS), dtype=np.int64)
    for number, node in enumerate(system.invokers):
        if node.layout is not None:
            for piece, profile in zip(node.layout.slices, node.layout.profiles, strict=True):
                sizes[number, piece.start] = profile.compute_slices
    starts = np.log2(np.maximum(batches.slots & -batches.slots, 1)).astype(np.int64)
    found: NDArray[np.int64] = sizes[batches.invoker, starts]
    return found


def slot_runs(slots: int) -> Sequence[tuple[int, int]]:
    """(first, length) of each run of neighbouring bits.

    >>> slot_runs(0b1101100)
    [(2, 2), (5, 2)]
    """
    return list(_runs(slots))


def _runs(slots: int) -> Iterator[tuple[int, int]]:
    at = 0
    while slots >> at:
        rest = slots >> at
        at += (rest & -rest).bit_length() - 1
        length = (~(slots >> at) & (slots >> at) + 1).bit_length() - 1
        yield at, length
        at += length
