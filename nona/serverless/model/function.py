"""Functions: how long a batch takes in each configuration, by a law or by a table.

The law has a part on the GPU and a part on the CPU, one after the other. With b jobs, v vCPUs, g vGPUs::

    gpu(b, g) = max(floor, k · b / g^α)        cpu(b, v) = b · (serial + parallel / v)

Source of the law's form: fitted to ParvaGPU's measurements on an A100-80GB (Lee et al., SC 2024: 11
networks, five MIG sizes, batches of 1 to 128), mean error of the logarithm 5 to 18 % per network; the
CPU part is Amdahl's law (1967).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import CostError
from nona.gpu_sharing.resources import Configuration
from nona.serverless.model.configuration import ConfigurationSpace

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GpuLaw:
    """max(``floor_s``, ``per_query_s`` · b / g^``exponent``) seconds.

    >>> law = GpuLaw(0.100, floor_s=0.04, exponent=1.0)
    >>> law.seconds(2, 1), law.seconds(1, 7)
    (0.2, 0.04)
    """

    per_query_s: float
    floor_s: float = 0.0
    exponent: float = 0.95

    def seconds(self, batch: int, vgpus: int) -> float:
        """Seconds on the GPU."""
        return max(self.floor_s, self.per_query_s * batch / float(vgpus**self.exponent))


@dataclass(frozen=True, slots=True)
class CpuLaw:
    """b · (``serial_s`` + ``parallel_s`` / v) seconds."""

    parallel_s: float = 0.0
    serial_s: float = 0.0

    def seconds(self, batch: int, vcpus: int) -> float:
        """Seconds on the CPU."""
        return batch * (self.serial_s + self.parallel_s / vcpus)


@dataclass(frozen=True, slots=True)
class LawTimes:
    """Times by the law."""

    gpu: GpuLaw
    cpu: CpuLaw = CpuLaw()

    def seconds(self, space: ConfigurationSpace) -> tuple[Times, Times]:
        """(C,) seconds on the CPU, (C,) seconds on the GPU."""
        cpu = np.array([self.cpu.seconds(c.batch, c.vcpus) for c in space.configurations])
        gpu = np.array([self.gpu.seconds(c.batch, c.vgpus) for c in space.configurations])
        return cpu, gpu


@dataclass(frozen=True)
class TableTimes:
    """Times by a table: configuration → seconds in all, which count as seconds on the GPU.

    A configuration that the table lacks cannot be chosen: its time is infinite.
    """

    rows: Mapping[Configuration, float]

    def seconds(self, space: ConfigurationSpace) -> tuple[Times, Times]:
        """(C,) seconds on the CPU (0), (C,) seconds on the GPU."""
        gpu = np.array([self.rows.get(c, np.inf) for c in space.configurations])
        return np.zeros(len(space)), gpu


@dataclass(frozen=True)
class Function:
    """A function: its times, its cold start (s), the bytes of one job's input.

    ``source`` says where the figures are from; ``confirmed`` names those that a readable text states.
    """

    name: str
    times: LawTimes | TableTimes
    cold_start_s: float = 0.0
    input_bytes: float = 0.0
    source: str = ""
    confirmed: tuple[str, ...] = ()

    def seconds(self, space: ConfigurationSpace) -> tuple[Times, Times]:
        """(C,) seconds on the CPU, (C,) seconds on the GPU.

        Raises
        ------
        CostError
            When the smallest configuration has no time, or a time is not above 0.
        """
        cpu, gpu = self.times.seconds(space)
        total = cpu + gpu
        if not np.isfinite(total[space.smallest]):
            raise CostError(
                f"Function {self.name!r}: its table has no time for the smallest configuration "
                f"({space[space.smallest].text}), on which it must be able to run; add that row."
            )
        if not (total > 0).all():
            raise CostError(
                f"Function {self.name!r}: its times must be above 0; correct the law or the table."
            )
        return cpu, gpu


def default_times(smallest_s: float, gpu_floor: float = 0.4, cpu_share: float = 0.2) -> LawTimes:
    """The law of a function of which only the time at the smallest configuration is known.

    ``cpu_share`` of that time is on the CPU, a tenth of it serial. The rest is max(floor, k) on the GPU,
    where ``gpu_floor`` is floor / k. Both are assumptions. Of the eleven networks that the law was fitted
    to, floor / k is 0.40 to 4.9, in the middle 2.2; 0.40 is that of VGG-16 and VGG-19, which keep a slice
    busy with one query, as functions of 0.1 to 1 s do. Above about 0.8 no slice makes a single query fast
    enough for an SLO of 0.8 times the time at the smallest configuration.

    >>> law = default_times(1.0)
    >>> round(law.cpu.seconds(1, 1) + law.gpu.seconds(1, 1), 12), round(law.gpu.seconds(1, 7), 12)
    (1.0, 0.32)
    >>> default_times(1.0, gpu_floor=2.0).gpu
    GpuLaw(per_query_s=0.4, floor_s=0.8, exponent=0.95)
    """
    cpu, gpu = smallest_s * cpu_share, smallest_s * (1 - cpu_share)
    per_query = gpu / max(1.0, gpu_floor)
    return LawTimes(GpuLaw(per_query, gpu_floor * per_query), CpuLaw(0.9 * cpu, 0.1 * cpu))
