"""Functions of a serverless scenario: their times and what a batch may be given."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.values import Bytes, Name, Part, PositiveBytes, PositiveSeconds, Seconds

MOST_CONFIGURATIONS = 4096
Exponent = Annotated[float, Field(ge=0, le=2)]
Whole = Annotated[int, Field(ge=1, le=4096)]
Sizes = Annotated[tuple[Whole, ...], Field(min_length=1, max_length=64)]


class GpuLawSpec(Part):
    """Seconds on the GPU at batch b and g vGPUs.

    max(``floor``, (``constant`` + ``per_query`` · b) / g^``exponent``).
    """

    per_query: PositiveSeconds
    floor: Seconds = 0.0
    constant: Seconds = 0.0
    exponent: Exponent = 0.94


class CpuLawSpec(Part):
    """Seconds on the CPU at batch b and v vCPUs: b · (``serial`` + ``parallel`` / v)."""

    parallel: Seconds = 0.0
    serial: Seconds = 0.0


class TimeRow(Part):
    """A row of a table of times: one configuration, and the seconds that it takes in all."""

    batch: Whole
    vcpus: Whole
    vgpus: Whole
    time: PositiveSeconds


class FunctionSpec(Part):
    """A function: its times, its cold start, its input, the memory of a container (see :class:`MemorySpec`).

    The times are by law (``gpu``, and ``cpu``), by ``table``, those of a measured ``network`` (and
    ``cpu``), or from a file of measured times (``profile``).
    """

    gpu: GpuLawSpec | None = None
    network: Name | None = None
    profile: Name | None = None
    cpu: CpuLawSpec = CpuLawSpec()
    table: Annotated[tuple[TimeRow, ...], Field(max_length=10_000)] = ()
    cold_start: Seconds = 5.0
    input: Bytes = 0.0
    memory: PositiveBytes | None = None
    source: Annotated[str, Field(max_length=400)] = ""

    @_model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [self.gpu is not None, bool(self.table), self.network is not None, self.profile is not None]
        if sum(given) != 1:
            raise PydanticCustomError(
                "function",
                "a function's times are by one of gpu (a law), table, network and profile (a file); "
                "{n} are given, keep one",
                {"n": sum(given)},
            )
        if self.cpu != CpuLawSpec() and (self.table or self.profile is not None):
            raise PydanticCustomError(
                "function", "a table or a profile has the times in all; leave cpu out, or give a law"
            )
        return self


class ConfigurationsSpec(Part):
    """What a batch may be given: every combination of the three."""

    batch: Sizes = (1, 2, 3, 4, 6, 8, 12, 16)
    vcpus: Sizes = (1, 2, 3, 4, 6, 8, 12, 16)
    vgpus: Sizes = (1, 2, 4, 7)

    @_model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (n := len(self.batch) * len(self.vcpus) * len(self.vgpus)) > MOST_CONFIGURATIONS:
            raise PydanticCustomError(
                "configurations",
                "{n} combinations are more than {most}; name fewer sizes",
                {"n": n, "most": MOST_CONFIGURATIONS},
            )
        return self
