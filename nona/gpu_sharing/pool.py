"""Interface of all ways of sharing GPUs: configurations, states of a GPU, leases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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
        parts = ((self.batch, "job"), (self.vcpus, "vCPU"), (self.vgpus, "vGPU"))
        return ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in parts)


@dataclass(frozen=True, slots=True)
class Lease:
    """Resources that one batch holds.

    ``vgpus``: those that no other batch can hold meanwhile; with fixed MIG slices that is the whole slice,
        which may be larger than what the configuration asks for.
    ``slots``: bits of the vGPUs (counter), or of the memory slices (MIG), that it holds on ``gpu``; 0 where
        nothing is placed (MPS, time slicing).
    ``setup_s``: seconds until they are ready (a MIG instance has to be made).
    ``profile``: the MIG profile, if any.
    """

    number: int
    gpu: int
    vcpus: int
    vgpus: int
    slots: int = 0
    setup_s: float = 0.0
    profile: str = ""


State = TypeVar("State", bound=Hashable)


class Part(NamedTuple, Generic[State]):
    """A part of a GPU that one batch can get.

    ``after``: the GPU's state with it; ``vgpus``, ``slots``, ``setup_s``, ``profile``: as of :class:`Lease`,
    ``slots`` −1 for the lowest that are free; ``rank``: of several GPUs that with the lowest rank gives,
    then the first; ``key``: a number up to 63 by which the part is given back.
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
    def part(self, state: State, vgpus: int) -> Part[State] | None:
        """The part for a batch that asks for so many vGPUs, ``None`` where there is no room."""

    @abstractmethod
    def without(self, state: State, key: int) -> State:
        """The state after the part of ``key`` was given back."""

    @abstractmethod
    def free(self, state: State) -> int:
        """vGPUs that no batch holds (under MPS, of those that may be allocated)."""

    @abstractmethod
    def stranded(self, state: State) -> int:
        """The free ones less the most that further parts, of any sizes and placed at will, could hold."""

    @abstractmethod
    def why_not(self, states: Sequence[State], vgpus: int) -> str:
        """Name what is short where none of the GPUs in these states has room, in one clause."""

    def speed(self, vgpus: int, active: int) -> float:
        """GPU-seconds of its own that a part of ``vgpus`` does in a second.

        ``active``: vGPUs of all parts that compute on the GPU, this one's among them.
        """
        return 1.0

    def may_hold(self, configuration: Configuration) -> tuple[int, ...]:
        """vGPUs that a lease for it may have: its own, or those of the fixed slices that are large enough."""
        return (configuration.vgpus,)

    def timed_as(self, configuration: Configuration) -> Configuration:
        """The configuration whose GPU time is that of this one alone on the GPU; mostly the same."""
        return configuration

    def crowded(self, configuration: Configuration) -> float:
        """Factor on a batch's GPU time when all that may be handed out of its GPU computes; at least 1."""
        return 1.0

    @property
    def gpu_factor(self) -> float:
        """Factor on the modelled GPU time of :meth:`timed_as`, which is that of a MIG slice; mostly 1.

        :mod:`nona.serverless.sharing` applies both.
        """
        return 1.0


class Pool:
    """The vCPUs and GPUs of one invoker, and the leases on them.

    The engine keeps the same in arrays; this one is for a few batches, and judges the engine.

    >>> from nona.gpu_sharing.slices import CountedGpu
    >>> pool = Pool(Invoker(vcpus=4, gpus=1, vgpus=7), CountedGpu(7))
    >>> lease = pool.take(Configuration(1, 2, 5))
    >>> bin(lease.slots), pool.free_vcpus, pool.free_vgpus
    ('0b11111', 2, 2)
    >>> pool.why_not(Configuration(1, 1, 3))
    'vGPUs short: 2 free on one GPU, 3 needed'
    """

    def __init__(self, invoker: Invoker, gpu: Gpu[Any]) -> None:
        self.gpu, self.free_vcpus = gpu, invoker.vcpus
        self.vgpus = self.free_vgpus = gpu.vgpus * invoker.gpus
        self.states = [gpu.empty] * invoker.gpus
        self._slots = [(1 << gpu.whole) - 1] * invoker.gpus
        self._leases: dict[Lease, int] = {}  # with the keys of their parts
        self._given = 0

    @property
    def stranded(self) -> int:
        """vGPUs that are free but that no batch could get now; without a free vCPU, all free ones."""
        return sum(map(self.gpu.stranded, self.states)) if self.free_vcpus else self.free_vgpus

    def fits(self, configuration: Configuration) -> bool:
        """Return whether :meth:`take` would succeed now."""
        return self._choose(configuration) is not None

    def ready(self, configuration: Configuration) -> bool:
        """Return whether :meth:`take` would succeed now without any set-up."""
        chosen = self._choose(configuration)
        return chosen is not None and chosen[1].setup_s == 0

    def why_not(self, configuration: Configuration) -> str:
        """Name the reason why :meth:`take` would fail now, in one clause; empty if it would not."""
        if self.fits(configuration):
            return ""
        return why_no_room(self.gpu, self.free_vcpus, self.states, configuration)

    def take(self, configuration: Configuration) -> Lease | None:
        """Resources for one batch, or ``None`` where there is no room."""
        chosen = self._choose(configuration)
        if chosen is None:
            return None
        gpu, part = chosen
        slots = part.slots if part.slots >= 0 else lowest_bits(self._slots[gpu], part.vgpus)
        self._slots[gpu] &= ~slots
        self.states[gpu] = part.after
        self.free_vcpus -= configuration.vcpus
        self.free_vgpus -= part.vgpus
        lease = Lease(self._given, gpu, configuration.vcpus, part.vgpus, slots, part.setup_s, part.profile)
        self._leases[lease] = part.key
        self._given += 1
        return lease

    def release(self, lease: Lease) -> None:
        """Give a lease back; one that is not held raises :class:`~nona.errors.SimulationError`."""
        if lease not in self._leases:
            raise SimulationError(
                f"Lease {lease.number}: the invoker does not hold it; release each lease once, where it "
                "was taken."
            )
        self.states[lease.gpu] = self.gpu.without(self.states[lease.gpu], self._leases.pop(lease))
        self._slots[lease.gpu] |= lease.slots
        self.free_vcpus += lease.vcpus
        self.free_vgpus += lease.vgpus

    def _choose(self, configuration: Configuration) -> tuple[int, Part[Any]] | None:
        if configuration.vcpus > self.free_vcpus:
            return None
        parts = [(n, self.gpu.part(state, configuration.vgpus)) for n, state in enumerate(self.states)]
        return min(((n, p) for n, p in parts if p), key=lambda own: (own[1].rank, own[0]), default=None)


def why_no_room(
    gpu: Gpu[State], free_vcpus: int, states: Sequence[State], configuration: Configuration
) -> str:
    """Name what an invoker lacks for a configuration that it has no room for, vCPUs first."""
    if configuration.vcpus > free_vcpus:
        return f"vCPUs short: {free_vcpus} free, {configuration.vcpus} needed"
    return gpu.why_not(states, configuration.vgpus)


def few_vgpus(most: int, vgpus: int) -> str:
    """In words, that vGPUs are short."""
    return f"vGPUs short: {most} free on one GPU, {vgpus} needed"


def lowest_bits(mask: int, count: int) -> int:
    """The ``count`` lowest bits that are set in ``mask``.

    >>> bin(lowest_bits(0b1101100, 3))
    '0b101100'
    """
    bits = 0
    for _ in range(count):
        low = mask & -mask
        bits |= low
        mask ^= low
    return bits


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

    ``name``: as in the scenario file.
    ``title``, ``about``: name for people, and a description in one clause.
    ``make``: ``(invoker, settings) -> Gpu``: the rules for a GPU of an invoker; raises
        :class:`~nona.errors.SimulationError` when its GPUs cannot be shared that way.
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
    look: Look | None = None
    asks: tuple[str, ...] = ()
    sliced: bool = False
    sets_up: bool = False
    fixed_layout: bool = False
    oversubscribes: bool = False
