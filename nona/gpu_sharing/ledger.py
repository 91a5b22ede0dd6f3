"""What all pools keep: free vCPUs and vGPUs, and the leases that are held."""

from __future__ import annotations

from abc import ABC, abstractmethod

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Lease
from nona.gpu_sharing.resources import Configuration, Invoker


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
        """Whether the vCPUs are free, and a GPU takes the vGPUs."""
        return configuration.vcpus <= self.free_vcpus and self._gpu_for(configuration.vgpus) >= 0

    def ready(self, configuration: Configuration) -> bool:
        """Whether it fits: no set-up is ever needed."""
        return self.fits(configuration)

    def why_not(self, configuration: Configuration) -> str:
        """What is short, vCPUs first; nothing where it fits."""
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
        """What is short, in words."""

    def speed(self, lease: Lease, active: tuple[Lease, ...]) -> float:
        """1: no other batch slows it down."""
        return 1.0

    def may_hold(self, configuration: Configuration) -> tuple[int, ...]:
        """As many as it asks for."""
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
