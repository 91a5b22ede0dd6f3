"""The part that asks what to buy: targets, offers, prices, growth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from nona.errors import ScenarioError
from nona.planning.prices import PriceKind, growth_per_month, growth_text, per_hour
from nona.scenario.values import (
    Bandwidth,
    Name,
    Part,
    PositiveSeconds,
    SchedulerEntry,
    SchedulerSpec,
    Seconds,
    quantity,
)


def _read(parse: Callable[[object], float]) -> BeforeValidator:
    def read(value: object) -> float:
        try:
            return parse(value)
        except ScenarioError as error:
            raise PydanticCustomError("plan", "{why}", {"why": str(error).removesuffix(".")}) from None

    return BeforeValidator(read)


PerHour = Annotated[float, _read(per_hour)]
Growth = Annotated[float, _read(growth_per_month), PlainSerializer(growth_text, return_type=str)]
Part01 = Annotated[float, *quantity("fraction"), Field(gt=0, lt=1)]


def offer_entry(value: object) -> object:
    """An offer as a file may write it: ``GPU[:MIG][=PRICE]``, or its keys.

    >>> offer_entry("a100-40gb:3g+2g+2g=1.29")
    {'gpu': 'a100-40gb', 'mig': '3g+2g+2g', 'price': '1.29'}
    >>> offer_entry("l4")
    {'gpu': 'l4'}
    """
    if not isinstance(value, str):
        return value
    what, priced, price = value.partition("=")
    gpu, sliced, mig = what.partition(":")
    return {"gpu": gpu.strip()} | _after(sliced, "mig", mig) | _after(priced, "price", price)


def _link_entry(value: object) -> object:
    """A link as a file may write it: ``CAPACITY[=PRICE]``, or its keys.

    >>> _link_entry("100 Gbit/s=400/month")
    {'capacity': '100 Gbit/s', 'price': '400/month'}
    >>> _link_entry("25 Gbit/s")
    {'capacity': '25 Gbit/s'}
    """
    if not isinstance(value, str):
        return value
    capacity, priced, price = value.partition("=")
    return {"capacity": capacity.strip()} | _after(priced, "price", price)


def _after(sign: str, key: str, text: str) -> dict[str, str]:
    """Return the entry after a sign; an empty text after it stays, to be refused."""
    return {key: text.strip()} if sign else {}


class OfferSpec(Part):
    """Servers on offer: a GPU, how each is sliced (``all``: every maximal layout), its price per hour.

    ``gpus`` per server; ``most`` servers of them can be had.
    """

    gpu: Name
    mig: Name | None = None
    price: PerHour | None = None
    gpus: Annotated[int, Field(ge=1, le=64)] = 1
    vcpus: Annotated[int, Field(ge=1, le=4096)] = 16
    mps: Annotated[int, Field(ge=1, le=48)] | None = None
    most: Annotated[int, Field(ge=1, le=100_000)] | None = None


class TargetSpec(Part):
    """Targets of one model: a share of hits of its SLO, percentiles below bounds; all must hold.

    Without any of them nothing is asked of the model.
    """

    hit: Part01 | None = None
    p50: PositiveSeconds | None = None
    p95: PositiveSeconds | None = None
    p99: PositiveSeconds | None = None


class LinkOfferSpec(Part):
    """A link on offer: the capacity of the shared core, and its price per hour."""

    capacity: Bandwidth
    price: PerHour = 0.0


class WattsSpec(Part):
    """The power of a GPU in watts, idle and busy."""

    idle: Annotated[float, Field(ge=0, le=1e6)]
    busy: Annotated[float, Field(ge=0, le=1e6)]

    @model_validator(mode="after")
    def _busy_draws_no_less(self) -> Self:
        if self.busy < self.idle:
            raise PydanticCustomError(
                "plan",
                "a GPU that draws {idle} W idle and {busy} W busy: busy must be at least idle; exchange them",
                {"idle": f"{self.idle:g}", "busy": f"{self.busy:g}"},
            )
        return self


class PricesSpec(Part):
    """Prices per hour of a GPU by name, of a server beside its GPUs, and per GB moved over the link.

    ``kind``: which shipped prices hold for a GPU without one. ``watts`` by GPU, where the shipped list has
    none or another; ``co2_kg_per_kwh`` of the electricity.
    """

    kind: PriceKind = "on-demand"
    currency: Name = "USD"
    gpus: dict[Name, PerHour] = Field(default_factory=dict, max_length=100)
    server: PerHour = 0.0
    gb: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    watts: dict[Name, WattsSpec] = Field(default_factory=dict, max_length=100)
    co2_kg_per_kwh: Annotated[float, Field(ge=0, le=100)] | None = None


Survival = Literal["nothing", "server", "rack"]
"""The largest failure with which the targets must hold."""


class PlanSpec(Part):
    """A purchase plan. ``hit`` is the target of every model with an SLO that ``targets`` does not name.

    ``offers`` empty: what the cluster has now. ``mixed``: also some servers of one offer and some of
    another. ``survive``: the targets must also hold without any one server, or any one rack.
    ``growth``: of the traffic. ``profile``: a CSV file with the traffic by hour of the week;
    ``startup``: how long a server takes to start.
    ``confidence``: of each verdict. ``most``: servers of each offer. ``replications``: at most, of each
    option.
    """

    hit: Part01 = 0.99
    targets: dict[Name, TargetSpec] = Field(default_factory=dict, max_length=500)
    offers: Annotated[
        tuple[Annotated[OfferSpec, BeforeValidator(offer_entry)], ...], Field(max_length=50)
    ] = ()
    schedulers: Annotated[tuple[SchedulerEntry, ...], Field(min_length=1, max_length=50)] = tuple(
        SchedulerSpec(name=name) for name in ("least-loaded", "nona")
    )
    links: Annotated[
        tuple[Annotated[LinkOfferSpec, BeforeValidator(_link_entry)], ...], Field(max_length=10)
    ] = ()
    prices: PricesSpec = PricesSpec()
    mixed: bool = True
    survive: Survival = "nothing"
    growth: Growth = 0.0
    profile: Name | None = None
    startup: Seconds = 300.0
    confidence: Annotated[float, *quantity("fraction"), Field(ge=0.5, lt=1)] = 0.95
    most: Annotated[int, Field(ge=1, le=100_000)] = 256
    replications: Annotated[int, Field(ge=4, le=4096)] = 256
