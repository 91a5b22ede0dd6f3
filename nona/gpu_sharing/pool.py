"""Interface of all ways of sharing GPUs: configurations, pools, leases, rooms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nona.errors import SimulationError
from nona.hardware.mig import MigLayout
from nona.registry import Look


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
class Configuration:
    """One choice for a batch.

    >>> Configuration(4, 2, 1).text
    '4 jobs, 2 vCPUs, 1 vGPU'
    """

    batch: int
    vcpus: int
    vgpus: int

    @property
    def text(self) -> str:
        """The configuration as text."""
        parts = ((self.batch, "job"), (self.vcpus, "vCPU"), (self.vgpus, "vGPU"))
        return ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in parts)


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
        """True where batches on one GPU slow each other down, so that :meth:`speed` must be asked."""

    def fits(self, configuration: Configuration) -> bool:
        """Return whether :meth:`take` would succeed now."""

    def why_not(self, configuration: Configuration) -> str:
        """Name the reason why :meth:`take` would fail now, in one clause; empty if it would not."""

    def ready(self, configuration: Configuration) -> bool:
        """Return whether :meth:`take` would succeed now without any set-up."""

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

        :mod:`nona.serverless.sharing` applies both.
        """


class Ledger(ABC):
    """The base of all pools: counts, leases by number, and the usual answers.

    A pool without coupling runs every lease at speed 1, and times a configuration as itself. What a pool
    adds: which GPU takes so many vGPUs (:meth:`_gpu_for`, −1: none), what it hands out there
    (:meth:`_hand_out`), and why no GPU takes them (:meth:`_why_no_gpu`).
    """

    couples = False

    def __init__(self, invoker: Invoker, vgpus: int) -> None:
        self.vcpus = invoker.vcpus
        self.vgpus = vgpus
        self.free_vcpus = invoker.vcpus
        self.free_vgpus = vgpus
        self._held: dict[int, Lease] = {}
        self._leases = 0

    @property
    def held(self) -> tuple[Lease, ...]:
        """The leases that are held, oldest first."""
        return tuple(self._held.values())

    def fits(self, configuration: Configuration) -> bool:
        """Return whether the vCPUs are free, and a GPU takes the vGPUs."""
        return configuration.vcpus <= self.free_vcpus and self._gpu_for(configuration.vgpus) >= 0

    def ready(self, configuration: Configuration) -> bool:
        """Return whether the configuration fits; set-up is never needed."""
        return self.fits(configuration)

    def why_not(self, configuration: Configuration) -> str:
        """Name the resource that is short, vCPUs first; empty where the configuration fits."""
        if configuration.vcpus > self.free_vcpus:
            return few_vcpus(self.free_vcpus, configuration.vcpus)
        if self._gpu_for(configuration.vgpus) >= 0:
            return ""
        return self._why_no_gpu(configuration.vgpus)

    def take(self, configuration: Configuration, now_s: float) -> Lease | None:
        """A lease on the GPU that takes it, or ``None``."""
        if configuration.vcpus > self.free_vcpus:
            return None
        gpu = self._gpu_for(configuration.vgpus)
        return None if gpu < 0 else self._hand_out(gpu, configuration)

    @abstractmethod
    def _gpu_for(self, vgpus: int) -> int:
        """The GPU that takes so many vGPUs; −1: none."""

    @abstractmethod
    def _hand_out(self, gpu: int, configuration: Configuration) -> Lease:
        """A lease on ``gpu``, which :meth:`_gpu_for` has named."""

    @abstractmethod
    def _why_no_gpu(self, vgpus: int) -> str:
        """Name the resource of the GPUs that is short."""

    def speed(self, lease: Lease, active: tuple[Lease, ...]) -> float:
        """1: no other batch slows it down."""
        return 1.0

    def may_hold(self, configuration: Configuration) -> tuple[int, ...]:
        """Return the vGPUs of the configuration: leases are never larger."""
        return (configuration.vgpus,)

    def timed_as(self, configuration: Configuration) -> Configuration:
        """The configuration itself."""
        return configuration

    def crowded(self, configuration: Configuration) -> float:
        """1: no other batch slows it down."""
        return 1.0

    def gpu_factor(self, configuration: Configuration) -> float:
        """1: the modelled time is that of a slice."""
        return 1.0

    def _book(
        self, gpu: int, vcpus: int, vgpus: int, slots: int = 0, setup_s: float = 0.0, profile: str = ""
    ) -> Lease:
        lease = Lease(self._leases, gpu, vcpus, vgpus, slots, setup_s, profile)
        self._leases += 1
        self._held[lease.number] = lease
        self.free_vcpus -= vcpus
        self.free_vgpus -= vgpus
        return lease

    def _strike(self, lease: Lease) -> None:
        if self._held.get(lease.number) != lease:
            raise SimulationError(
                f"Lease {lease.number}: the invoker does not hold it; release each lease once, where it "
                "was taken."
            )
        del self._held[lease.number]
        self.free_vcpus += lease.vcpus
        self.free_vgpus += lease.vgpus


def few_vcpus(free: int, needed: int) -> str:
    """In words, that vCPUs are short."""
    return f"vCPUs short: {free} free, {needed} needed"


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
class Way:
    """A way's declaration.

    Attributes
    ----------
    name
        As in the scenario file.
    title, about
        Name for people, and a description in one clause.
    make
        ``(invoker, settings) -> Pool``: an empty pool of one invoker; raises
        :class:`~nona.errors.SimulationError` when its GPUs cannot be shared that way.
    look
        On charts; without one it gets a spare look.
    asks
        Those of :class:`Settings` that the app asks for.
    sliced
        True if a batch holds memory slices of a MIG board.
    sets_up
        True if a slice may have to be made first, in ``reconfiguration`` seconds.
    fixed_layout
        True if batches hold the slices of the servers' own layout, which every server must then have.
    oversubscribes
        True if up to ``oversubscription`` of a GPU may be held at once.
    """

    name: str
    title: str
    about: str
    make: Callable[[Invoker, Settings], Pool]
    look: Look | None = None
    asks: tuple[str, ...] = ()
    sliced: bool = False
    sets_up: bool = False
    fixed_layout: bool = False
    oversubscribes: bool = False
