"""vGPUs as a number that is free, as ESG counts them.

Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024 ("up to 7 vGPUs").
"""

from __future__ import annotations

from nona.gpu_sharing.pool import Configuration, Invoker, Lease, Ledger, Way, few_vcpus
from nona.registry import Look


class CounterPool(Ledger):
    """A batch gets any free vGPUs of one GPU: of the fullest GPU that has enough, then the first.

    Examples
    --------
    >>> pool = CounterPool(Invoker(vcpus=4, gpus=1, vgpus=7))
    >>> lease = pool.take(Configuration(1, 2, 5), 0.0)
    >>> bin(lease.slots), pool.free_vcpus, pool.free_vgpus
    ('0b11111', 2, 2)
    >>> pool.why_not(Configuration(1, 1, 3))
    'vGPUs short: 2 free on one GPU, 3 needed'
    """

    def __init__(self, invoker: Invoker) -> None:
        super().__init__(invoker, invoker.gpus * invoker.vgpus)
        self._free = [invoker.vgpus] * invoker.gpus
        self._slots = [(1 << invoker.vgpus) - 1] * invoker.gpus
        self._most = invoker.vgpus if invoker.gpus else 0

    @property
    def stranded(self) -> int:
        """All free vGPUs where no vCPU is free, else none: every free one fits some batch."""
        return 0 if self.free_vcpus else self.free_vgpus

    def _gpu_for(self, vgpus: int) -> int:
        """The fullest GPU that has enough."""
        if vgpus > self._most:
            return -1
        free = self._free
        return 0 if len(free) == 1 else min((f, n) for n, f in enumerate(free) if f >= vgpus)[1]

    def _hand_out(self, gpu: int, configuration: Configuration) -> Lease:
        """The lowest free slots."""
        vgpus = configuration.vgpus
        slots = _lowest_bits(self._slots[gpu], vgpus)
        self._slots[gpu] ^= slots
        self._free[gpu] -= vgpus
        self._most = max(self._free)
        return self._book(gpu, configuration.vcpus, vgpus, slots)

    def _why_no_gpu(self, vgpus: int) -> str:
        return _few(self._most, vgpus)

    def release(self, lease: Lease, now_s: float) -> None:
        """Give a lease back."""
        self._strike(lease)
        self._slots[lease.gpu] |= lease.slots
        self._free[lease.gpu] += lease.vgpus
        self._most = max(self._free)


def shortage(free_vcpus: int, most_vgpus: int, configuration: Configuration) -> str:
    """Name the resource that an invoker lacks for a configuration; ``most_vgpus`` are free on one GPU.

    >>> shortage(4, 2, Configuration(1, 1, 3)), shortage(4, 2, Configuration(1, 1, 1))
    ('vGPUs short: 2 free on one GPU, 3 needed', '')
    """
    if configuration.vcpus > free_vcpus:
        return few_vcpus(free_vcpus, configuration.vcpus)
    return "" if configuration.vgpus <= most_vgpus else _few(most_vgpus, configuration.vgpus)


def _few(most: int, vgpus: int) -> str:
    return f"vGPUs short: {most} free on one GPU, {vgpus} needed"


def _lowest_bits(mask: int, count: int) -> int:
    """The ``count`` lowest bits that are set in ``mask``.

    >>> bin(_lowest_bits(0b1101100, 3))
    '0b101100'
    """
    bits = 0
    for _ in range(count):
        low = mask & -mask
        bits |= low
        mask ^= low
    return bits


WAY = Way(
    name="mig-counter",
    title="MIG, counted",
    about="any free vGPUs",
    make=lambda invoker, settings: CounterPool(invoker),
    look=Look("#6366f1", "solid", "circle"),
)
