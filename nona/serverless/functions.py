"""Functions: how long a batch takes in each configuration; those that ship.

The law has a part on the GPU and a part on the CPU, one after the other. With b jobs, v vCPUs, g vGPUs::

    gpu(b, g) = max(floor, (constant + k · b) / g^α)        cpu(b, v) = b · (serial + parallel / v)

Source of the law's form: ours, fitted to ParvaGPU's measurements on an A100-80GB (Lee et al., SC 2024: 11
networks, five MIG sizes, batches of 1 to 32), mean error 1.8 to 6.8 % per network; the CPU part is
Amdahl's law (1967).

Of ESG's, times at the smallest configuration (1 vCPU, 1 vGPU, batch 1) are published, seen in a summary of
the paper; cold starts, input sizes and networks are recollected; how times scale is our law
(:func:`~nona.serverless.functions.default_times`). Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024.

Of the networks, the law of GPU times is fitted to measurements (``evidence/serverless_fits.py``). They have
no part on the CPU, as none was measured apart. Cold starts are assumed; the input is one image or text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.cluster.hardware.table_file import Row, shipped_table
from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.arrays import Floats, Ints
from nona.core.errors import CostError, SimulationError
from nona.models.cost.options import PER_QUERY


@dataclass(frozen=True)
class ConfigurationSpace:
    """All configurations, each once, in increasing order of (batch, vCPUs, vGPUs); C of them.

    Raises ``SimulationError`` for an empty space or a size below 1.

    >>> space = grid([1, 2], [1], [1, 7])
    >>> len(space), space[0], space.vgpus.tolist(), space.smallest
    (4, BatchConfiguration(batch=1, vcpus=1, vgpus=1), [1, 7, 1, 7], 0)
    """

    configurations: tuple[BatchConfiguration, ...]

    def __post_init__(self) -> None:
        if not self.configurations:
            raise SimulationError("Configurations: there are none; give at least one.")
        for c in self.configurations:
            if min(c.batch, c.vcpus, c.vgpus) < 1:
                raise SimulationError(f"Configuration {c.text}: every size must be at least 1; raise it.")
        if list(self.configurations) != sorted(set(self.configurations)):
            raise SimulationError("Configurations: they must be sorted and differ; use grid().")

    def __len__(self) -> int:
        return len(self.configurations)

    def __getitem__(self, number: int) -> BatchConfiguration:
        return self.configurations[number]

    @cached_property
    def batch(self) -> Ints:
        """(C,) Jobs in a batch."""
        return np.array([c.batch for c in self.configurations], dtype=np.int64)

    @cached_property
    def vcpus(self) -> Ints:
        """(C,) vCPUs."""
        return np.array([c.vcpus for c in self.configurations], dtype=np.int64)

    @cached_property
    def vgpus(self) -> Ints:
        """(C,) vGPUs."""
        return np.array([c.vgpus for c in self.configurations], dtype=np.int64)

    @property
    def smallest(self) -> int:
        """Number of the smallest configuration, which comes first."""
        return 0

    @cached_property
    def number(self) -> dict[BatchConfiguration, int]:
        """Map each configuration to its index."""
        return {c: i for i, c in enumerate(self.configurations)}


def grid(batch: Sequence[int], vcpus: Sequence[int], vgpus: Sequence[int]) -> ConfigurationSpace:
    """Every combination of the sizes given."""
    every = {BatchConfiguration(b, v, g) for b in batch for v in vcpus for g in vgpus}
    return ConfigurationSpace(tuple(sorted(every)))


EXPONENT = 0.94  # of the default law


@dataclass(frozen=True, slots=True)
class GpuLaw:
    """max(``floor_s``, (``constant_s`` + ``per_query_s`` · b) / g^``exponent``) seconds.

    ``floor_s`` is what the host needs to start the kernels, however large the slice; ``constant_s`` is what
    a batch needs whatever its size (weights are read once).

    >>> law = GpuLaw(0.100, floor_s=0.04, constant_s=0.05, exponent=1.0)
    >>> law.seconds(2, 1), law.seconds(1, 7)
    (0.25, 0.04)
    """

    per_query_s: float
    floor_s: float = 0.0
    constant_s: float = 0.0
    exponent: float = EXPONENT

    def seconds(self, batch: int, vgpus: int) -> float:
        """Return the GPU's seconds for a batch on ``vgpus`` vGPUs."""
        return max(self.floor_s, (self.constant_s + self.per_query_s * batch) / float(vgpus**self.exponent))

    def scaled(self, factor: float) -> GpuLaw:
        """Return the law of ``factor`` times the seconds.

        >>> GpuLaw(2.0, floor_s=1.0).scaled(0.5)
        GpuLaw(per_query_s=1.0, floor_s=0.5, constant_s=0.0, exponent=0.94)
        """
        return GpuLaw(
            factor * self.per_query_s, factor * self.floor_s, factor * self.constant_s, self.exponent
        )


@dataclass(frozen=True, slots=True)
class CpuLaw:
    """b · (``serial_s`` + ``parallel_s`` / v) seconds."""

    parallel_s: float = 0.0
    serial_s: float = 0.0

    def seconds(self, batch: int, vcpus: int) -> float:
        """Return the CPU's seconds for a batch on ``vcpus`` vCPUs."""
        return batch * (self.serial_s + self.parallel_s / vcpus)


@dataclass(frozen=True, slots=True)
class LawTimes:
    """Times by the law."""

    gpu: GpuLaw
    cpu: CpuLaw = CpuLaw()

    def seconds(self, space: ConfigurationSpace) -> tuple[Floats, Floats]:
        """(C,) seconds on the CPU, (C,) seconds on the GPU."""
        cpu = np.array([self.cpu.seconds(c.batch, c.vcpus) for c in space.configurations])
        gpu = np.array([self.gpu.seconds(c.batch, c.vgpus) for c in space.configurations])
        return cpu, gpu


@dataclass(frozen=True)
class TableTimes:
    """Times by a table: configuration → seconds in all, which count as seconds on the GPU.

    A configuration that the table lacks cannot be chosen: its time is infinite.
    """

    rows: Mapping[BatchConfiguration, float]

    def seconds(self, space: ConfigurationSpace) -> tuple[Floats, Floats]:
        """(C,) seconds on the CPU (0), (C,) seconds on the GPU."""
        gpu = np.array([self.rows.get(c, np.inf) for c in space.configurations])
        return np.zeros(len(space)), gpu


@dataclass(frozen=True)
class Function:
    """A function: its times, its cold start (s), the bytes of one job's input.

    ``weight_bytes``: of its network, ``memory_bytes``: of a container in all; ``None`` where not known.
    ``source`` says where the figures are from; ``confirmed`` names those that a readable text states.
    """

    name: str
    times: LawTimes | TableTimes
    cold_start_s: float = 0.0
    input_bytes: float = 0.0
    source: str = ""
    confirmed: tuple[str, ...] = ()
    weight_bytes: float | None = None
    memory_bytes: float | None = None

    def seconds(self, space: ConfigurationSpace) -> tuple[Floats, Floats]:
        """(C,) seconds on the CPU, (C,) seconds on the GPU.

        Raises ``CostError`` when the smallest configuration has no time, or a time is not above 0.
        """
        cpu, gpu = self.times.seconds(space)
        total = cpu + gpu
        if not np.isfinite(total[space.smallest]):
            raise CostError(
                f"Function {self.name!r}: its table has no time for the smallest configuration "
                f"({space[space.smallest].text}); add that row, or let serverless.configurations begin at "
                "measured sizes."
            )
        if not (total > 0).all():
            raise CostError(
                f"Function {self.name!r}: its times must be above 0; correct the law or the table."
            )
        return cpu, gpu


@dataclass(frozen=True, slots=True)
class DefaultLaw:
    """The law of a function of which only the time at the smallest configuration is known.

    ``cpu_share`` of that time is on the CPU, a tenth of it serial. The GPU needs the rest, of which
    ``constant`` does not grow with the batch, and never less than ``floor`` of it, however many vGPUs::

        gpu(b, g) = (1 - cpu_share) · T · max(floor, (constant + (1 - constant) · b) / g^exponent)

    The shape is that of VGG-16 and VGG-19 in the fits: they keep one slice busy with one query, as functions
    of 0.1 to 1 s do. That a function is like them is an assumption, and so is ``cpu_share``. In the eleven
    fits the constant is 0.17 to 0.75, and the floor 0.19 to 3.0: where it is above 1, the smallest
    configuration takes the floor. Above about 0.8 no slice makes a single query fast enough for an SLO of
    0.8 times the time at the smallest configuration.
    """

    cpu_share: float = 0.2
    floor: float = 0.19
    constant: float = 1 - PER_QUERY
    exponent: float = EXPONENT


DEFAULT_LAW = DefaultLaw()


def default_times(smallest_s: float, law: DefaultLaw = DEFAULT_LAW) -> LawTimes:
    """Return the default law of a function that takes ``smallest_s`` at the smallest configuration.

    >>> times = default_times(1.0)
    >>> round(times.cpu.seconds(1, 1) + times.gpu.seconds(1, 1), 12), round(times.gpu.seconds(1, 7), 12)
    (1.0, 0.152)
    >>> default_times(1.0, DefaultLaw(floor=2.0, constant=0.5)).gpu
    GpuLaw(per_query_s=0.2, floor_s=0.8, constant_s=0.2, exponent=0.94)
    """
    cpu, gpu = smallest_s * law.cpu_share, smallest_s * (1 - law.cpu_share)
    one = gpu / max(1.0, law.floor)
    gpu_law = GpuLaw((1 - law.constant) * one, law.floor * one, law.constant * one, law.exponent)
    return LawTimes(gpu_law, CpuLaw(0.9 * cpu, 0.1 * cpu))


TABLE = ("nona.serverless", "data/functions.csv")
MEASURED = "measured"
WEIGHT_BYTES = 4.0  # of a parameter, in single precision, as was measured


def beside_times(name: str) -> dict[str, float]:
    """Return the cold start (s) and input (bytes) of a shipped function that gets other times; else nothing.

    >>> beside_times("deblur"), beside_times("mine")
    ({'cold_start': 22.343, 'input': 1100000.0}, {})
    """
    shipped = shipped_function(name)
    return {} if shipped is None else {"cold_start": shipped.cold_start_s, "input": shipped.input_bytes}


def network_names() -> tuple[str, ...]:
    """Names of the measured networks.

    >>> len(network_names())
    11
    """
    return tuple(row["function"] for row in shipped_table(*TABLE) if row["exponent"])


def network_law(name: str) -> GpuLaw:
    """Return the law fitted to the measurements of the network ``name``.

    >>> round(1e3 * network_law("vgg16").seconds(1, 1), 1)
    8.0
    """
    return _law(_network_row(name))


def shipped_network(name: str) -> Function:
    """Return the measured network ``name`` as a function.

    Raises ``CostError`` when it was not measured.
    """
    row = _network_row(name)
    return Function(
        name,
        LawTimes(_law(row)),
        cold_start_s=float(row["cold_start_ms"]) / 1000,
        input_bytes=float(row["input_bytes"]),
        source=f"{row['source']}; law's mean error {100 * float(row['error']):.1f} %",
        confirmed=(MEASURED,),
        weight_bytes=WEIGHT_BYTES * float(row["parameters"]),
    )


def shipped_function(name: str, law: DefaultLaw = DEFAULT_LAW) -> Function | None:
    """Return the shipped function ``name``.

    ESG's with times by the default law. ``None`` where there is none.

    >>> shipped_function("deblur").cold_start_s, shipped_function("bert").confirmed
    (22.343, ('measured',))
    """
    if name in network_names():
        return shipped_network(name)
    row = next((row for row in shipped_table(*TABLE) if row["function"] == name), None)
    if row is None:
        return None
    return Function(
        name,
        default_times(float(row["smallest_ms"]) / 1000, law),
        cold_start_s=float(row["cold_start_ms"]) / 1000,
        input_bytes=float(row["input_bytes"]),
        source=f"{row['source']}, {row['network']}",
        confirmed=tuple(row["confirmed"].split()),
    )


def _network_row(name: str) -> Row:
    for row in shipped_table(*TABLE):
        if row["function"] == name and row["exponent"]:
            return row
    raise CostError(f"Network {name!r}: it is not a measured one; use {', '.join(network_names())}.")


def _law(row: Row) -> GpuLaw:
    return GpuLaw(
        float(row["per_query_ms"]) / 1e3,
        float(row["floor_ms"]) / 1e3,
        float(row["constant_ms"]) / 1e3,
        float(row["exponent"]),
    )
