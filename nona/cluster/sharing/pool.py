"""Interface of all ways of sharing GPUs: configurations, states of a GPU, parts of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from nona.cluster.hardware.mig import MigLayout
from nona.core.registry import ChartStyle


@dataclass(frozen=True, slots=True)
class Invoker:
    """A worker node: vCPUs, and GPUs of ``vgpus`` each.

    ``board`` is the MIG board, empty for a GPU that MIG cannot slice; ``layout`` what a fixed layout
    holds on each GPU; ``sms`` the multiprocessors of a GPU without MIG, 0 when unknown.
    """

    vcpus: int = 16
    gpus: int = 1
    vgpus: int = 7
    board: str = "a100-40gb"
    layout: MigLayout | None = None
    sms: int = 0


@dataclass(frozen=True, slots=True, order=True)
class BatchConfiguration:
    """One choice for a batch.

    >>> BatchConfiguration(4, 2, 1).text
    '4 jobs, 2 vCPUs, 1 vGPU'
    """

    batch: int
    vcpus: int
    vgpus: int

    @property
    def text(self) -> str:
        """The configuration in words: ``2 jobs, 4 vCPUs, 1 vGPU``."""
        parts = ((self.batch, "job"), (self.vcpus, "vCPU"), (self.vgpus, "vGPU"))
        return ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in parts)


State = TypeVar("State", bound=Hashable)


class GpuPart(NamedTuple, Generic[State]):
    """A part of a GPU that one batch can get.

    ``after``: the GPU's state with it.
    ``vgpus``: those that no other batch can hold meanwhile; with fixed MIG slices that is the whole slice,
        which may be larger than what the configuration asks for.
    ``slots``: bits of the vGPUs (counter; −1 for the lowest that are free), or of the memory slices (MIG);
        0 where nothing is placed (MPS, time slicing).
    ``setup_s``: seconds until they are ready (a MIG instance has to be made); ``profile``: of MIG, if any.
    ``rank``: of several GPUs that with the lowest rank gives, then the first.
    ``key``: a number up to 63 by which the part is given back.
    """

    after: State
    vgpus: int
    slots: int = 0
    setup_s: float = 0.0
    profile: str = ""
    rank: int = 0
    key: int = 0


class Gpu(ABC, Generic[State]):
    """The rules of a way of sharing for one GPU, which goes from state to state as parts come and go.

    ``vgpus``: that may be held at once; free + held is always this many.
    ``whole``: vGPUs of the GPU itself.
    ``empty``: the state in which nothing is held.
    ``couples``: true where batches on one GPU slow each other down.
    """

    couples = False
    whole: int
    vgpus: int
    empty: State

    @abstractmethod
    def part(self, state: State, vgpus: int) -> GpuPart[State] | None:
        """Return the part for a batch that asks for so many vGPUs, ``None`` where there is no room."""

    @abstractmethod
    def release(self, state: State, key: int) -> State:
        """Return the state after the lease ``key`` was given back."""

    @abstractmethod
    def free(self, state: State) -> int:
        """Return the vGPUs that no batch holds (under MPS, of those that may be allocated)."""

    @abstractmethod
    def stranded(self, state: State) -> int:
        """Return the free vGPUs less the most that further leases, of any sizes and places, could hold."""

    def speed(self, vgpus: int, active: int) -> float:
        """GPU-seconds of its own that a part of ``vgpus`` does in a second.

        ``active``: vGPUs of all parts that compute on the GPU, this one's among them.
        """
        return 1.0

    def may_hold(self, configuration: BatchConfiguration) -> tuple[int, ...]:
        """Return the vGPUs that a lease may have: its own, or those of large enough fixed slices."""
        return (configuration.vgpus,)

    def timed_as(self, configuration: BatchConfiguration) -> BatchConfiguration:
        """Return the configuration to which the GPU time of this one is charged; mostly the same."""
        return configuration

    def crowded(self, configuration: BatchConfiguration) -> float:
        """Factor on a batch's GPU time when all that may be handed out of its GPU computes; at least 1."""
        return 1.0

    @property
    def gpu_factor(self) -> float:
        """Factor on the modelled GPU time of :meth:`timed_as`, which is that of a MIG slice; mostly 1.

        :mod:`nona.serverless.sharing` applies both.
        """
        return 1.0


class Settings(Protocol):
    """A scenario's choice of a way, with the settings of all ways; each way reads its own."""

    @property
    def mode(self) -> str:
        """Name of the way."""

    @property
    def reconfiguration(self) -> float:
        """Seconds until a slice of another size is ready."""

    @property
    def oversubscription(self) -> float:
        """The number of times that the GPU may be allocated."""

    @property
    def interference(self) -> float:
        """Factor on the demand of batches that slow each other down."""

    @property
    def clients(self) -> int:
        """Most batches on one GPU at once."""


@dataclass(frozen=True, slots=True)
class SharingMode:
    """A way's declaration.

    ``name``: as in the scenario file.
    ``title``, ``about``: name for people, and a description in one clause.
    ``make``: ``(invoker, settings) -> Gpu``: the rules for a GPU of an invoker; raises
        :class:`~nona.core.errors.SimulationError` when its GPUs cannot be shared that way.
    ``look``: on charts; without one it gets a spare look.
    ``asks``: those of :class:`Settings` that the app asks for.
    ``sliced``: True if a batch holds memory slices of a MIG board.
    ``sets_up``: True if a slice may have to be made first, in ``reconfiguration`` seconds.
    ``fixed_layout``: True if batches hold the slices of the servers' own layout, which every server must then
        have.
    ``oversubscribes``: True if up to ``oversubscription`` of a GPU may be held at once.
    """

    name: str
    title: str
    about: str
    make: Callable[[Invoker, Settings], Gpu[Any]]
    style: ChartStyle | None = None
    requires: tuple[str, ...] = ()
    sliced: bool = False
    sets_up: bool = False
    fixed_layout: bool = False
    oversubscribes: bool = False
