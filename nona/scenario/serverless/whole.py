"""The serverless part of a scenario as a whole, with its policies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from nona.scenario.serverless.functions import ConfigurationsSpec, Exponent, FunctionSpec
from nona.scenario.serverless.platform import (
    ContainersSpec,
    DispatchSpec,
    IntervalSpec,
    MemorySpec,
    PricesSpec,
    SharingSpec,
    TransferSpec,
)
from nona.scenario.values import Name, Part, named_entry, named_text, quantity


class PolicySpec(Part):
    """A configuration policy by name, with its options; in a file also just the name."""

    name: Name
    options: dict[str, Any] = Field(default_factory=dict)


PolicyEntry = Annotated[PolicySpec, BeforeValidator(named_entry), PlainSerializer(named_text)]


class ServerlessSpec(Part):
    """Everything that makes the workload's workflows serverless applications.

    ``functions`` are the user's own, by name; shipped ones are known as well, and a workflow's node that
    names none gets the default law around its own time. ``slo_factor`` times the time at the smallest
    configuration is every application's SLO, in place of its row's. ``interval`` replaces the rows'
    arrivals: each call is of one row, drawn in proportion to the rates. ``noise`` is the standard
    deviation of the factor on every time; policies plan with the ``profile_percentile`` of it. A network in
    the workload is one function, or with ``models: tasks`` one for each of its tasks, where that is sensible.

    ``idle_cost`` is the share of the price of vCPUs and vGPUs that a container pays while it waits for a
    batch: of those of the batch that it had last, or of the smallest configuration if it had none.

    ``cpu_share``, ``gpu_floor``, ``gpu_constant`` and ``gpu_exponent`` are of the default law. A function
    of which only the time T at the smallest configuration is known takes on the GPU (1 - ``cpu_share``) · T ·
    max(``gpu_floor``, (``gpu_constant`` + (1 - ``gpu_constant``) · b) / g^``gpu_exponent``).
    """

    functions: dict[Name, FunctionSpec] = Field(default_factory=dict, max_length=200)
    models: Literal["whole", "tasks"] = "whole"
    configurations: ConfigurationsSpec = ConfigurationsSpec()
    gpu_floor: Annotated[float, Field(ge=0, le=20)] = 0.19
    gpu_constant: Annotated[float, Field(ge=0, lt=1)] = 0.55
    gpu_exponent: Exponent = 0.94
    cpu_share: Annotated[float, Field(ge=0, lt=1)] = 0.2
    sharing: SharingSpec = SharingSpec()
    prices: PricesSpec = PricesSpec()
    idle_cost: Annotated[float, *quantity("fraction"), Field(ge=0, le=1)] = 0.0
    transfer: TransferSpec = TransferSpec()
    containers: ContainersSpec = ContainersSpec()
    memory: MemorySpec = MemorySpec()
    dispatch: DispatchSpec = DispatchSpec()
    noise: Annotated[float, Field(ge=0, le=1)] = 0.1
    profile_percentile: Annotated[float, Field(ge=1, le=99.99)] = 95.0
    slo_factor: Annotated[float, Field(gt=0, le=100)] | None = None
    interval: IntervalSpec | None = None
    policies: Annotated[tuple[PolicyEntry, ...], Field(min_length=1, max_length=50)] = tuple(
        PolicySpec(name=n) for n in ("esg", "infless", "fast-gshare", "orion", "aquatope")
    )
