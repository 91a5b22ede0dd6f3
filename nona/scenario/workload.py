"""The workload of a scenario: its rows, and how the queries of a row arrive."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.values import Name, Part, PositiveSeconds, Rate, Scv, Seconds, quantity


class ArrivalsSpec(Part):
    """How queries arrive; ``trace`` names a CSV file of time stamps or of counts per minute.

    ``scale_to_rate`` stretches the trace to the row's rate; without it the trace keeps its own, times
    ``speed``, which a factor on the load changes. ``start`` and ``length`` choose a window of the trace.
    Rows may divide one trace: each takes a ``share`` of its arrivals at random, no arrival twice, or those
    with ``value`` (by default the row's name) in ``column``. Rows with any of the last five keys replay
    the same window in step with one another.
    """

    process: Literal["poisson", "gamma", "deterministic", "mmpp", "trace"] = "poisson"
    cv: Annotated[float, Field(gt=0, le=100)] = 1.0
    burst_factor: Annotated[float, Field(gt=1, le=1000)] = 3.0
    burst_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    burst_mean: PositiveSeconds = 10.0
    trace: Name | None = None
    scale_to_rate: bool = True
    speed: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    start: Seconds = 0.0
    length: PositiveSeconds | None = None
    share: Annotated[float, *quantity("fraction"), Field(gt=0, le=1)] | None = None
    column: Name | None = None
    value: Name | None = None

    @property
    def divided(self) -> bool:
        """Whether only a window or a part of the trace is replayed."""
        return bool(self.start or self.length or self.share or self.column)

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.process == "trace") != (self.trace is not None):
            raise PydanticCustomError(
                "trace", "process 'trace' and the key 'trace' (a CSV file) go together; give both or neither"
            )
        if self.trace is None and (self.divided or self.value):
            raise PydanticCustomError(
                "trace", "start, length, share, column and value choose a part of a trace; give a trace"
            )
        if (self.share and self.column) or (self.value and not self.column):
            raise PydanticCustomError(
                "trace",
                "a row takes a share of a trace, or rows with a value in a column; give one of them",
            )
        if self.process == "mmpp" and self.burst_factor * self.burst_fraction > 1:
            raise PydanticCustomError(
                "mmpp",
                "burst_factor × burst_fraction must be at most 1 (the rest of the time has a rate "
                "of at least 0); make bursts weaker or rarer",
            )
        return self


class WorkloadRow(Part):
    """One class of queries: a model (a sample's name or a file), its rate and its SLO."""

    model: Name
    rate: Rate
    slo: PositiveSeconds | None = None
    name: Name | None = None
    arrivals: ArrivalsSpec = ArrivalsSpec()
    service_scv: Scv = 0.0
    batch: Annotated[int, Field(ge=1, le=4096)] = 1
    symbols: dict[Name, Annotated[int, Field(ge=1, le=10_000_000)]] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name for people: the given one, else the model's without folder and extension."""
        return self.name or PurePath(self.model).stem
