"""The cost formula of a fused kernel, and the time of a message on an idle link.

F is the kernel's FLOPs, Q the bytes it moves, P the device's dense peak (FLOP/s) at the precision
in use, B its memory bandwidth (bytes/s), t₀ the overhead of a kernel, e_c and e_m the fractions
of peak and bandwidth that kernels reach.

Source: the roofline model (Williams, Waterman and Patterson 2009), with overhead and
efficiencies. At batch 1 the plain roofline is optimistic by about 3 (see docs/validation.md).

The affine model fits NCCL between nodes within 2 to 5 % and inside a node within 3 to 11 %
(microsoft/vidur profiles; see ``nona/hardware/data/links.csv``). Waiting is not in it: that is
the placement's and the simulation's part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from nona.cost.options import Calibration, calibration, slice_constant
from nona.errors import CostError
from nona.hardware.device import Precision
from nona.hardware.executor import ExecutorClass


@dataclass(frozen=True)
class Roofline:
    """The formula with its constants, for one executor class under one software stack.

    A MIG slice has its part f of the SMs and m of the bandwidth, and the same overhead. A kernel that
    fills the whole GPU takes f^−α of the time for its products there, and f^(1−α)/m for its bytes. One that
    does not loses less: it fills the part q of the SMs, one for each tile of its outputs, or for each piece
    of its bytes, and no slice with that many SMs slows it down. α and both sizes are in
    ``data/slices.csv``. Shares under MPS are taken as linear: 1/k of SMs and bandwidth.

    Examples
    --------
    >>> from nona.hardware.executor import executor_class
    >>> whole = Roofline(executor_class("a100-40gb"), "tensorrt")
    >>> f"{whole.kernel_s(312e9, 0, 'fp16'):.6f}"  # 1 ms at the peak, 1/0.67 ms at e_c
    '0.001495'
    >>> whole.kernel_s(0, 0, "fp16")
    2.7e-06
    """

    executor: ExecutorClass
    stack: str

    @cached_property
    def constants(self) -> Calibration:
        """t₀, e_c and e_m of the whole device."""
        return calibration(self.executor.device, self.stack)

    def work_s(
        self, flops: float, traffic_bytes: float, precision: Precision, outputs: float = math.inf
    ) -> float:
        """max(F / (e_c·P), Q / (e_m·B)): the time without overhead, seconds.

        ``outputs`` are the numbers that the kernel computes; infinite: one that fills any GPU.
        """
        device, clients = self.executor.device, self.executor.mps
        compute = clients * flops / (self.constants.compute_efficiency * device.peak(precision))
        memory = clients * traffic_bytes / (self.constants.memory_efficiency * device.bandwidth)
        if self.executor.mig is None:
            return max(compute, memory)
        sms = self.executor.compute_fraction * clients
        gain = sms ** (1 - slice_constant("speed_exponent"))
        tiles, pieces = 1.0, 1.0
        if math.isfinite(outputs):
            tiles = min(1.0, max(outputs / slice_constant("tile_outputs"), 1.0) / device.sms)
            pieces = min(1.0, max(traffic_bytes / slice_constant("piece_bytes"), 1.0) / device.sms)
        slower = max(1.0, tiles * gain / sms)
        thinner = max(1.0, pieces * gain / (self.executor.bandwidth_fraction * clients))
        return float(max(compute * slower, memory * thinner))

    def kernel_s(
        self, flops: float, traffic_bytes: float, precision: Precision, outputs: float = math.inf
    ) -> float:
        """Seconds of one kernel, overhead included."""
        return self.constants.launch_s + self.work_s(flops, traffic_bytes, precision, outputs)


def given_slowdown(executor: ExecutorClass) -> float:
    """How much longer a task takes here than on the whole device when only that time is known.

    Formula: f^(−γ), f the fraction of SMs, γ = 0.5. Without the task's work nothing better can be
    said: at batch 1 published slowdowns of a 1/7 slice lie between 1.4 (γ = 0.18) and 5.4
    (γ = 0.85); see ``data/slices.csv``.

    >>> from nona.hardware.executor import executor_class
    >>> given_slowdown(executor_class("a100-40gb")), given_slowdown(executor_class("t4/mps-1of4"))
    (1.0, 2.0)
    """
    return float(executor.compute_fraction ** -slice_constant("given_exponent"))


class Channel(Protocol):
    """What a transfer needs: :class:`nona.hardware.cluster.Network` and ``catalogue.Link`` are such."""

    @property
    def capacity(self) -> float: ...
    @property
    def latency_s(self) -> float: ...


def transfer_s(size_bytes: float, channel: Channel) -> float:
    """Seconds from sending to arrival when nothing else is sent.

    Raises
    ------
    CostError
        For a size that is negative or not finite.

    >>> from nona.hardware.cluster import Network
    >>> transfer_s(1e6, Network(capacity=1e9, latency_s=20e-6))
    0.00102
    """
    if not (math.isfinite(size_bytes) and size_bytes >= 0):
        raise CostError(f"Transfer of {size_bytes} bytes: the size must be finite and at least 0.")
    return size_bytes / channel.capacity + channel.latency_s
