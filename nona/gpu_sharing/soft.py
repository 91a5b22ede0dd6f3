"""Sharing without isolation: clients under MPS, or in turns, slow each other down."""

from __future__ import annotations

from dataclasses import replace

from nona.gpu_sharing.pool import Configuration, Invoker, Lease, Ledger, Settings, Way
from nona.hardware.mig import board
from nona.registry import Look


class SoftPool(Ledger):
    """Of each GPU ``oversubscription`` · vGPUs, rounded down, may be held, by at most ``clients`` batches.

    A batch goes to the GPU of which least is held, then with fewest clients, then to the first. None gets
    more than one GPU.
    """

    couples = True

    def __init__(self, invoker: Invoker, settings: Settings) -> None:
        self._whole = invoker.vgpus
        self._most = int(settings.oversubscription * invoker.vgpus + 1e-9)
        self._clients = settings.clients
        self._used = [0] * invoker.gpus
        self._batches = [0] * invoker.gpus
        self._factor = _whole_gpu_factor(invoker)
        super().__init__(invoker, self._most * invoker.gpus)

    @property
    def stranded(self) -> int:
        """All free vGPUs where no vCPU is free, else those of GPUs that have all the clients they may."""
        if not self.free_vcpus:
            return self.free_vgpus
        full = (u for u, n in zip(self._used, self._batches, strict=True) if n >= self._clients)
        return sum(self._most - u for u in full)

    def _hand_out(self, gpu: int, configuration: Configuration) -> Lease:
        """A place beside the others."""
        self._used[gpu] += configuration.vgpus
        self._batches[gpu] += 1
        return self._book(gpu, configuration.vcpus, configuration.vgpus)

    def _why_no_gpu(self, vgpus: int) -> str:
        if vgpus > self._whole:
            return f"vGPUs short: a GPU has {self._whole}, {vgpus} needed"
        most = max((self._most - u for u in self._used), default=0)
        if vgpus > most:
            return f"vGPUs short: {most} free on one GPU, {vgpus} needed"
        return f"clients: a GPU with room already has the most, {self._clients}"

    def release(self, lease: Lease, now_s: float) -> None:
        """Give a lease back."""
        self._strike(lease)
        self._used[lease.gpu] -= lease.vgpus
        self._batches[lease.gpu] -= 1

    def gpu_factor(self, configuration: Configuration) -> float:
        """SMs of the whole-board MIG slice / SMs of the GPU, at most 1: MIG mode's loss, not incurred.

        On an A100 98/108. Modelled: that a cap of k/7 of all SMs runs as much faster than a slice of k as
        it has more SMs, floor and all, was not measured.
        """
        return self._factor

    def _gpu_for(self, vgpus: int) -> int:
        best, least = -1, (self._most - vgpus + 1, 0)
        if vgpus > self._whole:
            return best
        for gpu, load in enumerate(zip(self._used, self._batches, strict=True)):
            if load < least and load[1] < self._clients:
                best, least = gpu, load
        return best


class MpsPool(SoftPool):
    """Clients of MPS, each capped to k of the GPU's parts (an active thread percentage).

    Let u be a lease's part of the GPU and Σu the sum over those that compute. Each runs at

        min(1, 1 / (interference · Σu))

    of its speed alone under its cap; one that computes alone, at 1.

    Source of the law: fitted to ParvaGPU's measurements (Lee et al., SC 2024) of two to five like clients
    on an A100-80GB, mean error of the logarithm 0.034; for unlike clients it is an extrapolation, for
    which ``interference`` allows. Here u is the cap, an upper bound of what a client demands.

    Examples
    --------
    >>> from nona.scenario.serverless import SharingSpec
    >>> pool = MpsPool(Invoker(), SharingSpec(mode="mps", oversubscription=2.0))
    >>> both = tuple(pool.take(Configuration(1, 1, 7), 0.0) for _ in range(2))
    >>> pool.speed(both[0], both), pool.speed(both[0], both[:1]), pool.free_vgpus
    (0.5, 1.0, 0)
    """

    def __init__(self, invoker: Invoker, settings: Settings) -> None:
        super().__init__(invoker, settings)
        self._interference = settings.interference

    def crowded(self, configuration: Configuration) -> float:
        """max(1, interference · Σu) with all that may be held; 1 where nothing fits beside it."""
        if self._most <= configuration.vgpus:
            return 1.0
        return max(1.0, self._interference * self._most / self._whole)

    def speed(self, lease: Lease, active: tuple[Lease, ...]) -> float:
        """min(1, 1 / (interference · Σu))."""
        if len(active) < 2:
            return 1.0
        demand = self._interference * sum(a.vgpus for a in active)
        return min(1.0, self._whole / demand)


class TimeSlicingPool(SoftPool):
    """Batches take turns on the whole GPU, each with the weight of its vGPUs.

    A batch's GPU time is that of its jobs with all vGPUs (``timed_as``), of which it does
    weight / Σ weights a second: turns are taken to be short against a batch, and to cost nothing. So the
    GPU is never idle while a batch has work, and alone a batch runs as if it had asked for everything.
    Equal weights are what the driver's own time slices give; others need a token per turn, as in
    FaST-GShare (Gu et al., ICPP 2023).

    Examples
    --------
    >>> from nona.scenario.serverless import SharingSpec
    >>> pool = TimeSlicingPool(Invoker(), SharingSpec(mode="time-slicing"))
    >>> a, b = (pool.take(Configuration(1, 1, g), 0.0) for g in (1, 3))
    >>> pool.speed(a, (a, b)), pool.speed(b, (a, b)), pool.timed_as(Configuration(2, 1, 1)).vgpus
    (0.25, 0.75, 7)
    """

    def crowded(self, configuration: Configuration) -> float:
        """Σ weights / weight with all that may be held."""
        return max(1.0, self._most / configuration.vgpus)

    def speed(self, lease: Lease, active: tuple[Lease, ...]) -> float:
        """Weight / Σ weights."""
        return lease.vgpus / sum(a.vgpus for a in active)

    def timed_as(self, configuration: Configuration) -> Configuration:
        """The same jobs and vCPUs with all vGPUs of a GPU."""
        return replace(configuration, vgpus=self._whole)


def _whole_gpu_factor(invoker: Invoker) -> float:
    if not invoker.board or invoker.sms <= 0:
        return 1.0
    return min(1.0, max(p.sms for p in board(invoker.board).profiles) / invoker.sms)


MPS = Way(
    name="mps",
    title="MPS",
    about="caps on threads; those that compute slow each other down where their caps exceed the GPU",
    make=MpsPool,
    look=Look("#cf7a10", "solid", "diamond"),
    asks=("oversubscription", "interference"),
    oversubscribes=True,
)
TIME_SLICING = Way(
    name="time-slicing",
    title="time slicing",
    about="turns on the whole GPU",
    make=TimeSlicingPool,
    look=Look("#e0559a", "longdash", "triangle-up"),
    oversubscribes=True,
)
