"""The cost formula of a fused kernel.

F is the kernel's FLOPs, P the device's dense peak (FLOP/s) at the precision in use, B its memory bandwidth
(bytes/s), t₀ the time that any kernel takes, e_c and e_m the fractions of peak and bandwidth that kernels of
its kind reach.

Source: the roofline model (Williams, Waterman and Patterson 2009), with overhead, efficiencies, and the
second-level cache as a second roof (Ilic, Pratas and Sousa 2014, "Cache-aware roofline model"). Constants are
in ``data/efficiencies.csv`` and ``data/stacks.csv``; evidence/notebook/validation.md shows how far they hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from nona.cluster.hardware.device import Precision
from nona.cluster.hardware.executor import ExecutorClass
from nona.models.cost.options import Calibration, KernelKind, calibration, kernel_constant, slice_constant


@dataclass(frozen=True, slots=True)
class KernelLoad:
    """What a kernel does.

    ``outputs``: numbers that it computes, infinite for one that fills any GPU. ``weights_stay``: whether
    weights are in the cache still when the next query comes. ``runs``: kernels that it stands for: a
    library's convolution in half precision changes the order of channels before and after.
    """

    kind: KernelKind
    flops: float
    weight_bytes: float
    activation_bytes: float
    precision: Precision
    outputs: float = math.inf
    weights_stay: bool = False
    runs: int = 1


@dataclass(frozen=True)
class Roofline:
    """The formula with its constants, for one executor class under one software stack.

    A kernel computes its outputs in tiles, one on each SM at a time, wave after wave; one that has fewer
    tiles than there are SMs takes smaller ones, and fills the SMs in part. A MIG slice has its part of the
    SMs, the bandwidth and the cache, and the same overhead; kernels on it run at f^α of the whole device's
    speed, f its part of the SMs (``data/slices.csv``). Shares under MPS are taken as linear: 1/k of SMs and
    bandwidth.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> whole = Roofline(executor_class("a100-40gb"), "tensorrt")
    >>> ms = 1e3 * whole.work_s(KernelLoad("product", 312e9, 0, 0, "fp16"))  # 1 ms at the peak
    >>> round(ms * whole.constants.efficiency("product", "fp16"), 6)
    1.0
    """

    executor: ExecutorClass
    stack: str

    @cached_property
    def constants(self) -> Calibration:
        """t₀, e_c and e_m of the whole device."""
        return calibration(self.executor.device, self.stack)

    @cached_property
    def cache_bytes(self) -> float:
        """Bytes of second-level cache; MPS clients share that of their GPU or slice."""
        return self.executor.device.l2_bytes * self.executor.bandwidth_fraction * self.executor.mps

    def speed(self, kind: KernelKind, precision: Precision) -> float:
        """FLOP/s that a large kernel of this kind reaches."""
        peak = self.executor.peak(precision) * self._gain(self.executor.compute_fraction)
        return peak * self.constants.efficiency(kind, precision)

    @cached_property
    def bandwidth(self) -> float:
        """Bytes/s to memory that kernels reach."""
        wide = self.executor.bandwidth * self._gain(self.executor.bandwidth_fraction)
        return wide * self.constants.memory_efficiency

    def _gain(self, fraction: float) -> float:
        """Return the factor by which a MIG slice of this size speeds up kernels; 1 for a whole GPU."""
        if self.executor.mig is None:
            return 1.0
        return float((fraction * self.executor.mps) ** (slice_constant("speed_exponent") - 1))

    def _filled(self, outputs: float) -> float:
        """q: the speed of a kernel with so many outputs over that of one that fills the SMs throughout."""
        executor = self.executor
        sms = executor.device.sms * executor.compute_fraction * executor.mps
        if sms <= 0 or math.isinf(outputs):
            return 1.0
        waves = max(outputs / kernel_constant("any", "tile_outputs"), 1.0) / sms
        return waves / math.ceil(waves) if waves >= 1 else float(waves ** kernel_constant("any", "fill"))

    def work_s(self, load: KernelLoad) -> float:
        """max(F/(q·e_c·P), Q_m/(e_m·B), A/R): the time without overhead, seconds.

        Of A bytes of activations and W of weights, the working set, the part that the cache holds is not
        fetched from memory: Q_m = W + A·(1 − C/(W + A)), without W where all weights of the network stay. R
        is what the SMs take in, so many bytes each a cycle.
        """
        executor = self.executor
        compute = load.flops / (self._filled(load.outputs) * self.speed(load.kind, load.precision))
        moved, weights = load.activation_bytes, 0.0 if load.weights_stay else load.weight_bytes
        held = min(1.0, self.cache_bytes / max(moved + load.weight_bytes, 1.0))
        memory = (weights + moved * (1 - held)) / self.bandwidth
        device = executor.device
        rate = (
            kernel_constant("any", "bytes_per_cycle") * device.clock * device.sms * executor.compute_fraction
        )
        return max(compute, memory, moved / rate if rate > 0 else 0.0)

    def total_s(self, load: KernelLoad) -> float:
        """Time with t₀ of each of its runs, or what the host needs to start them where that is longer."""
        device_s = load.runs * self.constants.launch_s + self.work_s(load)
        return max(device_s, self.constants.host_s)


def given_slowdown(executor: ExecutorClass) -> float:
    """Estimate how much longer a task takes here than on the whole device, from that time alone.

    Formula: f^(−γ), f the fraction of SMs, γ = 0.5. Without the task's work nothing better can be
    said: at batch 1 published slowdowns of a 1/7 slice lie between 1.4 (γ = 0.18) and 5.4
    (γ = 0.85); see ``data/slices.csv``.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> given_slowdown(executor_class("a100-40gb")), given_slowdown(executor_class("t4/mps-1of4"))
    (1.0, 2.0)
    """
    return float(executor.compute_fraction ** -slice_constant("given_exponent"))
