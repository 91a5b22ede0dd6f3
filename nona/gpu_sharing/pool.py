"""The interface of every way of sharing an invoker: room, leases, and the speed of leases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nona.gpu_sharing.resources import Configuration


@dataclass(frozen=True, slots=True)
class Lease:
    """Resources that one batch holds.

    ``vgpus``: those that no other batch can hold meanwhile; with fixed MIG slices that is the whole slice,
    which may be larger than what the configuration asks for. ``slots``: bits of the vGPUs (counter), or
    of the memory slices (MIG), that it holds on ``gpu``; 0 where nothing is placed (MPS, time slicing).
    ``setup_s``: seconds until they are ready (a MIG instance has to be made). ``profile``: the MIG
    profile, if any.
    """

    number: int
    gpu: int
    vcpus: int
    vgpus: int
    slots: int = 0
    setup_s: float = 0.0
    profile: str = ""


class Pool(Protocol):
    """The vCPUs and GPUs of one invoker. Times given to one pool never decrease."""

    @property
    def vgpus(self) -> int:
        """vGPUs that may be held at once, all GPUs together; free + held is always this many."""

    @property
    def free_vcpus(self) -> int:
        """vCPUs that no batch holds."""

    @property
    def free_vgpus(self) -> int:
        """vGPUs that no batch holds, all GPUs together (under MPS, of those that may be allocated)."""

    @property
    def stranded(self) -> int:
        """vGPUs that are free but that no batch could get now.

        Without a free vCPU these are all free ones. Otherwise, per GPU: the free ones less the most that
        further leases, of any sizes and placed at will beside what is held, could hold together.
        """

    @property
    def couples(self) -> bool:
        """Whether batches on one GPU slow each other down, so that :meth:`speed` must be asked."""

    def fits(self, configuration: Configuration) -> bool:
        """Whether :meth:`take` would succeed now."""

    def why_not(self, configuration: Configuration) -> str:
        """Why :meth:`take` would fail now, in one clause; empty if it would not."""

    def ready(self, configuration: Configuration) -> bool:
        """Whether :meth:`take` would succeed now without any set-up."""

    def take(self, configuration: Configuration, now_s: float) -> Lease | None:
        """Resources for one batch, or ``None`` when there is no room."""

    def release(self, lease: Lease, now_s: float) -> None:
        """Give a lease back; one that is not held raises :class:`~nona.errors.SimulationError`."""

    def speed(self, lease: Lease, active: tuple[Lease, ...]) -> float:
        """GPU-seconds of its own that a lease does in a second while ``active`` compute on its GPU.

        ``active`` holds the lease itself.
        """

    def may_hold(self, configuration: Configuration) -> tuple[int, ...]:
        """vGPUs that a lease for it may have: its own, or those of the fixed slices that are large enough."""

    def timed_as(self, configuration: Configuration) -> Configuration:
        """The configuration whose GPU time is that of this one alone on the GPU; mostly the same."""

    def crowded(self, configuration: Configuration) -> float:
        """Factor on a batch's GPU time when all that may be handed out of its GPU computes; at least 1."""

    def gpu_factor(self, configuration: Configuration) -> float:
        """Factor on the modelled GPU time of :meth:`timed_as`, which is that of a MIG slice; mostly 1.

        :mod:`nona.serverless.sharing.times` applies both.
        """
