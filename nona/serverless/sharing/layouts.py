"""What the GPUs of an invoker held over time, as rectangles: from the batches of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.hardware.geometry import board
from nona.serverless.records import Batches, ServerlessRecords
from nona.serverless.system import Invoker, ServerlessSystem

MOST_SLOTS = 63


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Slots ``slot`` to ``slot`` + ``height`` − 1 of a GPU, held by a batch for a time.

    ``ready_s``: when the batch had its slice, container and input and began to compute; ``to_s``: its
    end, or that of the picture if it was in flight. ``profile``: of the MIG slice, else empty.
    """

    gpu: int
    slot: int
    height: int
    from_s: float
    ready_s: float
    to_s: float
    profile: str
    application: int
    stage: int
    batch: int


def layout_rectangles(
    system: ServerlessSystem, records: ServerlessRecords, invoker: int, start_s: float, end_s: float
) -> tuple[Rectangle, ...]:
    """The batches that one invoker ran between two instants, in order of dispatch, cut at the instants.

    Slots are memory slices for MIG slices, else vGPUs. Counted vGPUs need not lie together: then a batch
    has a rectangle for each run of neighbours. Where nothing is placed (MPS, turns), batches are put on
    the lowest lanes next to each other that are free until they end.

    Raises
    ------
    SimulationError
        For an invoker that the system does not have.
    """
    if not 0 <= invoker < len(system.invokers):
        raise SimulationError(f"Invoker {invoker}: there are {len(system.invokers)}; choose one from 0 on.")
    node, b = system.invokers[invoker], records.batches
    ended_s = np.where(np.isnan(b.ended_s), end_s, b.ended_s)
    shown = np.flatnonzero((b.invoker == invoker) & (b.dispatched_s < end_s) & (ended_s > start_s))
    lanes = [_Lanes() for _ in range(node.gpus)]
    found = []
    for k in shown.tolist():
        vgpus, slots, gpu = int(system.space.vgpus[b.configuration[k]]), int(b.slots[k]), int(b.gpu[k])
        begin, end = float(b.dispatched_s[k]), float(ended_s[k])
        where = slot_runs(slots) if slots else [(lanes[gpu].place(begin, end, vgpus), vgpus)]
        begin, end = max(begin, start_s), min(end, end_s)
        ready = min(max(float(b.started_s[k]), begin), end)
        profile = _profile(system.sharing.mode, node, vgpus, slots)
        what = (profile, int(b.application[k]), int(b.stage[k]), k)
        found += [Rectangle(gpu, slot, height, begin, ready, end, *what) for slot, height in where]
    return tuple(found)


def held_vgpus(system: ServerlessSystem, batches: Batches) -> NDArray[np.int64]:
    """(m,) vGPUs that each batch held: what its configuration says, or all of its fixed slice."""
    held = system.space.vgpus[batches.configuration]
    if system.sharing.mode != "mig-fixed":
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


class _Lanes:
    """When each lane of a GPU is free again."""

    def __init__(self) -> None:
        self._free_s: list[float] = []

    def place(self, begin_s: float, end_s: float, height: int) -> int:
        free_s, at = self._free_s, 0
        while any(s > begin_s for s in free_s[at : at + height]):
            at += 1
        free_s += [0.0] * (at + height - len(free_s))
        free_s[at : at + height] = [end_s] * height
        return at


def _profile(mode: str, node: Invoker, vgpus: int, slots: int) -> str:
    if mode == "mig-fixed" and node.layout is not None:
        start = (slots & -slots).bit_length() - 1
        return next((s.profile for s in node.layout.slices if s.start == start), "")
    if mode == "mig-geometry":
        profiles = board(node.board).profiles
        return next((p.name for p in profiles if p.standard and p.compute_slices == vgpus), "")
    return ""
