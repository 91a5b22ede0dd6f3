"""The cost formula of a fused kernel, and the time of a message on an idle link.

F is the kernel's FLOPs, Q the bytes it moves, P the device's dense peak (FLOP/s) at the precision
in use, B its memory bandwidth (bytes/s), t₀ the overhead of a kernel, e_c and e_m the fractions
of peak and bandwidth that kernels reach.

Source: the roofline model (Williams, Waterman and Patterson 2009), with overhead and
efficiencies. At batch 1 the plain roofline is optimistic by about 3 (see evidence/notebook/validation.md).

The affine model fits NCCL between nodes within 2 to 5 % and inside a node within 3 to 11 %
(microsoft/vidur profiles; see ``nona/cluster/hardware/data/links.csv``). Waiting is not in it: that is
the placement's and the simulation's part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from nona.cluster.hardware.device import Precision
from nona.cluster.hardware.executor import ExecutorClass
from nona.models.cost.options import Calibration, calibration, slice_constant


@dataclass(frozen=True)
class Roofline:
    """The formula with its constants, for one executor class under one software stack.

    A kernel computes its outputs in tiles, one on each SM at a time: one that has fewer tiles than there are
    SMs leaves the rest idle. A MIG slice has its part of the SMs and of the bandwidth, and the same overhead;
    small kernels fill it better, and large ones run at f^α of the whole device's speed, f its part of the
    SMs. α and the size of a tile are in ``data/slices.csv``. Shares under MPS are taken as linear: 1/k of
    SMs and bandwidth.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> whole = Roofline(executor_class("a100-40gb"), "tensorrt")
    >>> f"{whole.work_s(312e9, 0, 'fp16'):.6f}"  # 1 ms at the peak, 1/0.67 ms at e_c
    '0.001493'
    >>> whole.constants.launch_s
    2.7e-06
    """

    executor: ExecutorClass
    stack: str

    @cached_property
    def constants(self) -> Calibration:
        """t₀, e_c and e_m of the whole device."""
        return calibration(self.executor.device, self.stack)

    def _gain(self, fraction: float) -> float:
        """Return the factor by which a MIG slice of this size speeds up large kernels; 1 for a whole GPU."""
        if self.executor.mig is None:
            return 1.0
        return float((fraction * self.executor.mps) ** (slice_constant("speed_exponent") - 1))

    def _filled(self, outputs: float) -> float:
        """q: the speed of a kernel with so many outputs over that of one that fills as many SMs of a GPU."""
        fraction = self.executor.compute_fraction
        sms = self.executor.device.sms * fraction * self.executor.mps
        tiles = max(outputs / slice_constant("tile_outputs"), 1.0)
        return min(self._gain(fraction), tiles / sms) if sms > 0 else self._gain(fraction)

    def work_s(
        self, flops: float, traffic_bytes: float, precision: Precision, outputs: float = math.inf
    ) -> float:
        """max(F / (q·e_c·P), Q / (e_m·B)): the time without overhead, seconds.

        ``outputs`` are the numbers that the kernel computes, infinite for one that fills any GPU.
        """
        executor, constants = self.executor, self.constants
        compute = flops / (self._filled(outputs) * constants.compute_efficiency * executor.peak(precision))
        wide = executor.bandwidth * self._gain(executor.bandwidth_fraction)
        return max(compute, traffic_bytes / (constants.memory_efficiency * wide))


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
