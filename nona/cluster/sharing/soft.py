"""Sharing without isolation: clients under MPS, or in turns, slow each other down."""

from __future__ import annotations

from dataclasses import replace

from nona.cluster.hardware.mig import board
from nona.cluster.sharing.pool import BatchConfiguration, Gpu, GpuPart, Invoker, Settings, SharingMode
from nona.core.registry import ChartStyle


class SoftGpu(Gpu[tuple[int, int]]):
    """Of each GPU ``oversubscription`` · vGPUs, rounded down, may be held, by at most ``clients`` batches.

    A batch goes to the GPU of which least is held, then with fewest clients, then to the first. None gets
    more than one GPU. A state is (vGPUs held, batches).
    """

    couples = True
    empty = (0, 0)

    def __init__(self, invoker: Invoker, settings: Settings) -> None:
        self.whole = invoker.vgpus
        self.vgpus = int(settings.oversubscription * invoker.vgpus + 1e-9)
        self._clients = settings.clients
        self._factor = _whole_gpu_factor(invoker)

    def part(self, state: tuple[int, int], vgpus: int) -> GpuPart[tuple[int, int]] | None:
        """Return a place beside the others."""
        used, batches = state
        if vgpus > min(self.whole, self.vgpus - used) or batches >= self._clients:
            return None
        rank = used * (self._clients + 1) + batches
        return GpuPart((used + vgpus, batches + 1), vgpus, rank=rank, key=vgpus)

    def release(self, state: tuple[int, int], key: int) -> tuple[int, int]:
        """Return a client less."""
        return state[0] - key, state[1] - 1

    def free(self, state: tuple[int, int]) -> int:
        """Return the vGPUs that may still be allocated."""
        return self.vgpus - state[0]

    def stranded(self, state: tuple[int, int]) -> int:
        """Return the free ones where the GPU has all the clients it may."""
        return self.free(state) if state[1] >= self._clients else 0

    @property
    def gpu_factor(self) -> float:
        """SMs of the whole-board MIG slice / SMs of the GPU, at most 1: MIG mode's loss, not incurred.

        On an A100 98/108. Modelled: that a cap of k/7 of all SMs runs as much faster than a slice of k as
        it has more SMs, floor and all, was not measured.
        """
        return self._factor


class MpsGpu(SoftGpu):
    """Clients of MPS, each capped to k of the GPU's parts (an active thread percentage).

    Let u be a lease's part of the GPU and Σu the sum over those that compute. Each runs at

        min(1, 1 / (interference · Σu))

    of its speed alone under its cap; one that computes alone, at 1.

    Source of the law: fitted to ParvaGPU's measurements (Lee et al., SC 2024) of two to five like clients
    on an A100-80GB, mean error of the logarithm 0.034; for unlike clients it is an extrapolation, for
    which ``interference`` allows. Here u is the cap, an upper bound of what a client demands.

    >>> from nona.scenario.serverless import SharingSpec
    >>> gpu = MpsGpu(Invoker(), SharingSpec(mode="mps", oversubscription=2.0))
    >>> gpu.speed(7, 14), gpu.speed(7, 7), gpu.free((14, 2))
    (0.5, 1.0, 0)
    """

    def __init__(self, invoker: Invoker, settings: Settings) -> None:
        super().__init__(invoker, settings)
        self._interference = settings.interference

    def crowded(self, configuration: BatchConfiguration) -> float:
        """max(1, interference · Σu) with all that may be held; 1 where nothing fits beside it."""
        if self.vgpus <= configuration.vgpus:
            return 1.0
        return max(1.0, self._interference * self.vgpus / self.whole)

    def speed(self, vgpus: int, active: int) -> float:
        """min(1, 1 / (interference · Σu))."""
        return 1.0 if active == vgpus else min(1.0, self.whole / (self._interference * active))


class TimeSlicedGpu(SoftGpu):
    """Batches take turns on the whole GPU, each with the weight of its vGPUs.

    A batch's GPU time is that of its jobs with all vGPUs (``timed_as``), of which it does
    weight / Σ weights a second: turns are taken to be short against a batch, and to cost nothing. So the
    GPU is never idle while a batch has work, and alone a batch runs as if it had asked for everything.
    Equal weights are what the driver's own time slices give; others need a token per turn, as in
    FaST-GShare (Gu et al., ICPP 2023).

    >>> from nona.scenario.serverless import SharingSpec
    >>> gpu = TimeSlicedGpu(Invoker(), SharingSpec(mode="time-slicing"))
    >>> gpu.speed(1, 4), gpu.speed(3, 4), gpu.timed_as(BatchConfiguration(2, 1, 1)).vgpus
    (0.25, 0.75, 7)
    """

    def crowded(self, configuration: BatchConfiguration) -> float:
        """Σ weights / weight with all that may be held."""
        return max(1.0, self.vgpus / configuration.vgpus)

    def speed(self, vgpus: int, active: int) -> float:
        """Weight / Σ weights."""
        return vgpus / active

    def timed_as(self, configuration: BatchConfiguration) -> BatchConfiguration:
        """Return the same jobs and vCPUs with all vGPUs of a GPU."""
        return replace(configuration, vgpus=self.whole)


def _whole_gpu_factor(invoker: Invoker) -> float:
    if not invoker.board or invoker.sms <= 0:
        return 1.0
    return min(1.0, max(p.sms for p in board(invoker.board).profiles) / invoker.sms)


MPS = SharingMode(
    name="mps",
    title="MPS",
    about="caps on threads; those that compute slow each other down where their caps exceed the GPU",
    make=MpsGpu,
    style=ChartStyle("#cf7a10", "solid", "diamond"),
    requires=("oversubscription", "interference"),
    oversubscribes=True,
)
TIME_SLICING = SharingMode(
    name="time-slicing",
    title="time slicing",
    about="turns on the whole GPU",
    make=TimeSlicedGpu,
    style=ChartStyle("#e0559a", "longdash", "triangle-up"),
    oversubscribes=True,
)
