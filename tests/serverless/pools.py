"""The vCPUs and GPUs of one invoker, lease by lease: the oracle of the engine's arrays."""

from dataclasses import dataclass
from typing import Any

from nona.cluster.sharing.pool import BatchConfiguration, Gpu, GpuPart, Invoker, Settings
from nona.cluster.sharing.registry import make_gpu
from nona.core.errors import SimulationError


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


class Pool:
    """The vCPUs and GPUs of one invoker, and the leases on them.

    The engine keeps the same in arrays; this one judges it.

    >>> from nona.cluster.sharing.slices import CountedGpu
    >>> pool = Pool(Invoker(vcpus=4, gpus=1, vgpus=7), CountedGpu(7))
    >>> lease = pool.take(BatchConfiguration(1, 2, 5))
    >>> bin(lease.slots), pool.free_vcpus, pool.free_vgpus
    ('0b11111', 2, 2)
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

    def fits(self, configuration: BatchConfiguration) -> bool:
        """Return whether :meth:`take` would succeed now."""
        return self._choose(configuration) is not None

    def ready(self, configuration: BatchConfiguration) -> bool:
        """Return whether :meth:`take` would succeed now without any set-up."""
        chosen = self._choose(configuration)
        return chosen is not None and chosen[1].setup_s == 0

    def take(self, configuration: BatchConfiguration) -> Lease | None:
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
        """Give a lease back; one that is not held raises :class:`~nona.core.errors.SimulationError`."""
        if lease not in self._leases:
            raise SimulationError(
                f"Lease {lease.number}: the invoker does not hold it; release each lease once, where it "
                "was taken."
            )
        self.states[lease.gpu] = self.gpu.release(self.states[lease.gpu], self._leases.pop(lease))
        self._slots[lease.gpu] |= lease.slots
        self.free_vcpus += lease.vcpus
        self.free_vgpus += lease.vgpus

    def _choose(self, configuration: BatchConfiguration) -> tuple[int, GpuPart[Any]] | None:
        if configuration.vcpus > self.free_vcpus:
            return None
        parts = [(n, self.gpu.part(state, configuration.vgpus)) for n, state in enumerate(self.states)]
        return min(((n, p) for n, p in parts if p), key=lambda own: (own[1].rank, own[0]), default=None)


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


def make_pool(invoker: Invoker, settings: Settings) -> Pool:
    """An empty pool of one invoker."""
    return Pool(invoker, make_gpu(invoker, settings))
