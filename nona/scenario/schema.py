"""The whole scenario, with its parts on costs and on the workload.

This module holds the schema; :mod:`nona.scenario.file` reads and writes it as YAML or JSON.
Quantities may be strings with a unit or plain SI numbers (seconds, bytes, bytes/s, 1/s).
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import field_validator as _field_validator
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.contraction.rules import DEFAULT_RULE, rule_choices
from nona.scenario.plan import PlanSpec
from nona.scenario.serverless import ServerlessSpec
from nona.scenario.training import TrainingSpec
from nona.scenario.values import (
    Bandwidth,
    Fraction,
    Name,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Precision,
    Rate,
    SchedulerEntry,
    SchedulerSpec,
    Scv,
    Seconds,
    Warmup,
    one_of,
    quantity,
)


class GivenSpec(Part):
    """The device and conditions of the times in a model's file.

    ``device``: on which they hold, in place of what the file says (``any``: the same everywhere);
    ``factors``: how much longer they are on another device, slice or share, in place of the modelled ratio.
    """

    device: Name | None = None
    factors: dict[Name, Annotated[float, Field(gt=0, le=1e6)]] = Field(default_factory=dict, max_length=100)


def _given_entry(value: object) -> object:
    return {"device": value} if isinstance(value, str) else value


class CostSpec(Part):
    """Settings of operator times: software stack, precision, and measured times that win.

    ``given`` (a workload row's model → device, or device and factors) says what the times in its file
    hold for.
    """

    stack: Literal["tensorrt", "cuda-graphs", "onnxruntime", "eager"] = "tensorrt"
    precision: Literal["auto", "model", "fp32", "tf32", "fp16", "fp8", "int8"] = "auto"
    measured: Name | None = None
    given: dict[Name, Annotated[GivenSpec, BeforeValidator(_given_entry)]] = Field(
        default_factory=dict, max_length=500
    )


class ArrivalsSpec(Part):
    """The arrivals of queries; ``trace`` names a CSV file of time stamps or of counts per minute.

    ``scale_to_rate`` stretches the trace to the row's rate; without it the trace keeps its own, times
    ``speed``, which a factor on the load changes. ``start`` and ``length`` choose a window of the trace.
    Rows may divide one trace: each takes a ``share`` of its arrivals at random, no arrival twice, or those
    with ``value`` (by default the row's name) in ``column``. Rows with any of these five keys replay
    the same window in step with one another. ``time`` is the column of arrivals and ``unit`` its unit, where
    the header does not tell them.
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
    time: Name | None = None
    unit: Literal["s", "ms", "us", "ns", "min", "h"] | None = None

    @property
    def clock(self) -> tuple[str, str]:
        """The column of arrivals and its unit; empty where the header tells them."""
        return self.time or "", self.unit or ""

    @property
    def divided(self) -> bool:
        """True where only a window or a part of the trace is replayed."""
        return bool(self.start or self.length or self.share or self.column)

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.process == "trace") != (self.trace is not None):
            raise PydanticCustomError(
                "trace", "process 'trace' and the key 'trace' (a file) go together; give both or neither"
            )
        if self.trace is None and (self.divided or self.value or self.time or self.unit):
            raise PydanticCustomError(
                "trace", "start, length, share, column, value, time and unit are of a trace; give a trace"
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


class ServerGroupSpec(Part):
    """Servers that are all alike; ``mig`` slices each GPU, ``mps`` shares it."""

    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    gpu: Name = "a100-40gb"
    gpus: Annotated[int, Field(ge=1, le=64)] = 1
    vcpus: Annotated[int, Field(ge=1, le=4096)] = 16
    mig: Name | None = None
    mps: Annotated[int, Field(ge=1, le=48)] | None = None


class RacksSpec(Part):
    """Servers stand in racks of ``size``; ``uplink`` is to the core and from it, each by itself."""

    size: Annotated[int, Field(ge=1, le=100_000)]
    uplink: Bandwidth


class NetworkSpec(Part):
    """The shared core; ``nic``: bandwidth of each server's card, in each direction by itself."""

    capacity: Bandwidth = 25e9 / 8
    latency: Seconds = 20e-6
    discipline: Literal["fifo", "processor-sharing"] = "fifo"
    nic: Bandwidth | None = None
    racks: RacksSpec | None = None

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.racks is not None and self.nic is None:
            raise PydanticCustomError(
                "network", "racks without nic would make messages within a rack cross no link; give nic"
            )
        if self.nic is not None and self.discipline != "fifo":
            raise PydanticCustomError(
                "network",
                "discipline 'processor-sharing' is for a single link; use fifo, or leave out nic and racks",
            )
        return self


class ClusterSpec(Part):
    """Servers, the link, and the user's own devices (name → attributes of a device)."""

    servers: Annotated[tuple[ServerGroupSpec, ...], Field(min_length=1, max_length=100)]
    network: NetworkSpec = NetworkSpec()
    devices: dict[Name, dict[str, object]] = Field(default_factory=dict, max_length=100)


class BackgroundCompute(Part):
    """Other work on every executor."""

    utilization: Fraction = 0.0
    mean_service: PositiveSeconds = 5e-3
    scv: Scv = 1.0


class BackgroundNetwork(Part):
    """Other traffic on the link."""

    utilization: Fraction = 0.0
    mean_size: PositiveBytes = 1e6
    scv: Scv = 1.0


class BackgroundSpec(Part):
    """Load that is not ours."""

    compute: BackgroundCompute = BackgroundCompute()
    network: BackgroundNetwork = BackgroundNetwork()


class SimulationSpec(Part):
    """Size of a simulation: jobs measured per run, all models together.

    With a ``precision``, replications go on until the mean JCT of every scheduler is known to that
    relative error, or ``max_replications`` are done; ``replications`` is then the least number.
    """

    jobs: Annotated[int, Field(ge=1, le=100_000_000)] = 20_000
    replications: Annotated[int, Field(ge=1, le=1000)] = 5
    warmup: Warmup = "auto"
    precision: Precision | None = None
    max_replications: Annotated[int, Field(ge=2, le=1000)] = 64


class Scenario(Part):
    """A whole study. Build it with :func:`nona.scenario.file.load_scenario` or by hand.

    ``objective`` is what the placement minimises: the mean JCT, or the probability of missing an SLO (some
    row must have one), both judged by sampled jobs; ``formula`` is the mean JCT by formula alone.
    (``sampled-jct`` in older files is today's ``mean-jct``.)
    ``plan`` asks what to buy so that targets are kept.
    With ``serverless`` the workflows are also applications of batched, sized functions.
    ``models`` holds task graphs inside the scenario (node-link JSON by name), so that a scenario
    made in the browser travels as one file.

    Examples
    --------
    >>> s = Scenario.model_validate({
    ...     "version": 1,
    ...     "cluster": {"servers": [{"count": 8}]},
    ...     "workload": [{"model": "resnet18", "rate": "300/s", "slo": "40 ms"}],
    ... })
    >>> s.workload[0].slo, s.workload[0].label, s.schedulers[0].name
    (0.04, 'resnet18', 'nona')
    """

    version: Literal[1] = 1
    name: Name = "Untitled scenario"
    description: Annotated[str, Field(max_length=4000)] = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    cluster: ClusterSpec
    background: BackgroundSpec = BackgroundSpec()
    workload: Annotated[tuple[WorkloadRow, ...], Field(max_length=500)] = ()
    cost: CostSpec = CostSpec()
    contraction: Annotated[str, one_of(rule_choices)] = DEFAULT_RULE
    objective: Literal["mean-jct", "slo", "formula"] = "mean-jct"
    simulation: SimulationSpec = SimulationSpec()
    schedulers: Annotated[tuple[SchedulerEntry, ...], Field(min_length=1, max_length=50)] = tuple(
        SchedulerSpec(name=n) for n in ("nona", "nona-live", "least-loaded", "spark-fair", "local", "spread")
    )
    serverless: ServerlessSpec | None = None
    training: TrainingSpec | None = None
    plan: PlanSpec | None = None
    models: dict[Name, dict[str, Any]] = Field(default_factory=dict, max_length=100)

    @_field_validator("objective", mode="before")
    @classmethod
    def _older_name(cls, value: Any) -> Any:
        return "mean-jct" if value == "sampled-jct" else value

    @_model_validator(mode="after")
    def _divides_traces(self) -> Self:
        shares: dict[str, float] = {}
        for row in self.workload:
            name = row.arrivals.trace or ""
            shares[name] = shares.get(name, 0.0) + (row.arrivals.share or 0.0)
            if shares[name] > 1 + 1e-9:
                raise PydanticCustomError(
                    "trace",
                    "workload: the shares of the trace {name} add up to {sum}, more than 1; lower them",
                    {"name": repr(name), "sum": f"{shares[name]:g}"},
                )
        return self

    @_model_validator(mode="after")
    def _has_what_it_keeps(self) -> Self:
        if self.objective == "slo" and self.workload and all(row.slo is None for row in self.workload):
            raise PydanticCustomError("objective", "objective 'slo' needs an SLO to keep; give a row an slo")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each row of the workload; a repeated one gets ``#2``, ``#3`` …"""
        seen: dict[str, int] = {}
        names = []
        for row in self.workload:
            seen[row.label] = seen.get(row.label, 0) + 1
            names.append(row.label if seen[row.label] == 1 else f"{row.label} #{seen[row.label]}")
        return tuple(names)
