"""The part that asks what to buy: targets, offers, prices, growth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from nona.cluster.hardware.mig import gpu_layouts
from nona.cluster.prices import USD_PER_KWH, PriceKind, growth_per_month, growth_text, per_hour
from nona.core.errors import HardwareError, ScenarioError
from nona.core.units import format_time, parse_quantity
from nona.scenario.language import EngineOfferSpec
from nona.scenario.values import (
    Layouts,
    Name,
    NamedEntries,
    PositiveSeconds,
    ScenarioPart,
    Seconds,
    Share,
    field,
    named,
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
Part01 = Annotated[Share, Field(gt=0, lt=1)]


def offer_entry(value: object) -> object:
    """Return an offer as a file may write it: ``GPU[:MIG][=PRICE]``, or its keys.

    >>> offer_entry("a100-40gb:3g+2g+2g=1.29")
    {'gpu': 'a100-40gb', 'mig': '3g+2g+2g', 'price': '1.29'}
    >>> offer_entry("l4"), offer_entry("a100-40gb/3g")
    ({'gpu': 'l4'}, {'gpu': 'a100-40gb', 'mig': '3g'})
    """
    if not isinstance(value, str):
        return value
    what, priced, price = value.partition("=")
    gpu, sliced, mig = what.replace("/", ":", 1).partition(":")
    return {"gpu": gpu.strip()} | _signed_entry(sliced, "mig", mig) | _signed_entry(priced, "price", price)


def _batch_entry(value: object) -> object:
    """Batches as a file may write them: ``SIZE[:DELAY]``, or their keys.

    >>> _batch_entry("8:2 ms"), _batch_entry(4)
    ({'size': '8', 'delay': '2 ms'}, {'size': 4})
    """
    if isinstance(value, int):
        return {"size": value}
    if not isinstance(value, str):
        return value
    size, delayed, delay = value.partition(":")
    return {"size": size.strip()} | _signed_entry(delayed, "delay", delay)


def _batch_entries(value: object) -> object:
    """Return the entries of ``1,4,8`` each by itself."""
    if not isinstance(value, list | tuple):
        return value
    return [part for each in value for part in (each.split(",") if isinstance(each, str) else [each])]


def _signed_entry(sign: str, key: str, text: str) -> dict[str, str]:
    """Return the entry after a sign; an empty text after it stays, to be refused."""
    return {key: text.strip()} if sign else {}


class OfferSpec(ScenarioPart):
    """Servers on offer."""

    gpu: Name = field(..., "GPU", "The GPU of these servers.")
    mig: Layouts | None = field(
        None,
        "Sliced",
        "MIG slices of every GPU, or a list with those of each. Every layout (all): all maximal ones are "
        "tried, which takes longer.",
        none="whole",
    )
    price: PerHour | None = field(
        None,
        "Price",
        "Per GPU and hour, or 900/month, or 30000/3years: bought and written off.",
        none="the price of the list under Prices",
    )
    gpus: int = field(1, "GPUs each", "GPUs of a server; the price is of one GPU.", ge=1, le=64)
    vcpus: int = field(16, "vCPUs each", "Virtual CPUs of a server.", ge=1, le=4096)
    mps: Annotated[int, Field(ge=1, le=48)] | None = field(
        None, "MPS clients per GPU", "Processes that share each GPU; each is an executor.", none="not shared"
    )
    most: Annotated[int, Field(ge=1, le=100_000)] | None = field(
        None, "At most", "Servers of this kind that can be had.", none="as many as the search allows"
    )

    @model_validator(mode="after")
    def _one_layout_for_each_gpu(self) -> Self:
        try:
            gpu_layouts(self.mig, self.gpus)
        except HardwareError as error:
            raise PydanticCustomError("layouts", "{why}", {"why": str(error).removesuffix(".")}) from None
        return self


PERCENTS = (50, 95, 99)


NOT_ASKED = "not asked"


def _hit(value: object) -> object:
    """Accept a share of the jobs, or that none is asked; errors have the rule of :data:`Part01` as well."""
    if value == NOT_ASKED:
        return value
    try:
        share = parse_quantity(value, "fraction")  # type: ignore[arg-type]
    except ValueError as error:
        share, why = None, str(error)
    else:
        why = f"{value!r} must lie between 0 % and 100 %"
    if share is None or not 0 < share < 1:
        raise PydanticCustomError("plan", "{why}; or write: not asked", {"why": why})
    return share


Hit = Annotated[Literal["not asked"] | float, BeforeValidator(_hit)]


def _of_requests(statistic: str, time: str, what: str) -> Any:
    title = f"{time} {statistic} at most"
    return field(None, title, f"{what}; of rows with llm.", none=NOT_ASKED)


class TargetSpec(ScenarioPart):
    """Targets of one model: all must hold, and its SLO unless that is not asked."""

    hit: Hit | None = field(None, "Within the SLO", "Share of its jobs, or: not asked.", none="overall share")
    mean: PositiveSeconds | None = field(None, "Mean at most", "The mean time of its jobs.", none=NOT_ASKED)
    p50: PositiveSeconds | None = field(None, "p50 at most", "Half of its jobs take less.", none=NOT_ASKED)
    p95: PositiveSeconds | None = field(None, "p95 at most", "95 % of its jobs take less.", none=NOT_ASKED)
    p99: PositiveSeconds | None = field(None, "p99 at most", "99 % of its jobs take less.", none=NOT_ASKED)
    ttft_mean: PositiveSeconds | None = _of_requests("mean", "TTFT", "The mean of its first tokens")
    ttft_p50: PositiveSeconds | None = _of_requests("p50", "TTFT", "Half of its first tokens take less")
    ttft_p95: PositiveSeconds | None = _of_requests("p95", "TTFT", "95 % of its first tokens take less")
    ttft_p99: PositiveSeconds | None = _of_requests("p99", "TTFT", "99 % of its first tokens take less")
    tpot_mean: PositiveSeconds | None = _of_requests("mean", "TPOT", "Mean time per further token")
    tpot_p50: PositiveSeconds | None = _of_requests(
        "p50", "TPOT", "Per further token half of its requests take less"
    )
    tpot_p95: PositiveSeconds | None = _of_requests(
        "p95", "TPOT", "Per further token 95 % of its requests take less"
    )
    tpot_p99: PositiveSeconds | None = _of_requests(
        "p99", "TPOT", "Per further token 99 % of its requests take less"
    )

    def share(self, of_all: float) -> float | None:
        """Return the share of jobs asked within the SLO, else ``of_all``; ``None`` where none is asked."""
        return None if self.hit == NOT_ASKED else of_all if self.hit is None else float(self.hit)

    @property
    def of_requests(self) -> bool:
        """True where a time is bounded that only requests of language models have."""
        return any(
            getattr(self, name) for name in type(self).model_fields if name.startswith(("ttft_", "tpot_"))
        )

    @property
    def bounds(self) -> dict[str, float]:
        """``mean``, ``p95``, … → the bound that is asked for it of whole jobs."""
        mean = {} if self.mean is None else {"mean": self.mean}
        return mean | {f"p{percent}": bound for percent, bound in self.percentiles().items()}

    def percentiles(self, time: Literal["", "ttft_", "tpot_"] = "") -> dict[int, float]:
        """Percent → the bound that is asked for it, of whole jobs or of a time of requests."""
        bounds = {percent: getattr(self, f"{time}p{percent}") for percent in PERCENTS}
        return {percent: bound for percent, bound in bounds.items() if bound is not None}


class BatchOfferSpec(ScenarioPart):
    """Batches that executors may take, in place of those of the workload's rows."""

    size: int = field(..., "Largest batch", "Queries in a batch, at most; 1: one at a time.", ge=1, le=1024)
    delay: Seconds | None = field(
        None, "Longest delay", "How long the first of a batch waits.", none="that of the row"
    )

    @property
    def text(self) -> str:
        """The batches for people.

        >>> BatchOfferSpec(size=4).text, BatchOfferSpec(size=1).text
        ('batches of 4', 'no batches')
        """
        if self.size == 1:
            return "no batches"
        delay = "" if self.delay is None else f" after at most {format_time(self.delay)}"
        return f"batches of {self.size}{delay}"


class PricesSpec(ScenarioPart):
    """Prices of servers and traffic."""

    kind: PriceKind = field(
        "on-demand",
        "Shipped prices",
        "Holds for GPUs without a price of their own. Reserved: for months to years. Bought: the GPU alone, "
        f"written off over three years, with power at its limit for ${USD_PER_KWH} per kWh.",
        choices={"on-demand": "Cloud, on demand", "reserved": "Cloud, reserved", "bought": "Bought"},
    )
    currency: Name = field("USD", "Currency", "A label only: nothing is converted.")
    gpus: dict[Name, PerHour] = field({}, "GPUs", "Price per hour of a GPU, by name.", max_length=100)
    server: PerHour = field(
        0.0, "Beside the GPUs", "Per server and hour, for all but its GPUs: power, rack, administration."
    )
    gb: float = field(0.0, "Per GB moved", "Over the shared link.", ge=0, le=1e6)


Survival = Literal["nothing", "server", "rack"]


class PlanSpec(ScenarioPart):
    """A purchase plan."""

    hit: Part01 = field(
        0.99,
        "Within the SLO",
        "Share of the jobs of each model with an SLO, unless the model has a target of its own.",
    )
    targets: dict[Name, TargetSpec] = field(
        {}, "Targets of single models", "By the row's name; all of them must hold.", max_length=500
    )
    offers: tuple[Annotated[OfferSpec, BeforeValidator(offer_entry)], ...] = field(
        (),
        "On offer",
        "Servers that can be bought, e.g. a100-40gb:3g+2g+2g=1.29, l4=900/month or h100=30000/3years; MIG "
        "all: every maximal layout. Without any: what the cluster has.",
        max_length=50,
    )
    group: Annotated[int, Field(ge=0, le=100)] | None = field(
        None,
        "Servers to count",
        "Only this entry of the cluster's servers, 0 for the first; the others stay. What is on offer then "
        "takes its place, without any its own GPU. Each scheduler and offer gets its fewest servers.",
        none="all: the cheapest cluster of what is on offer",
    )
    schedulers: NamedEntries = named(
        "Schedulers",
        "Every one is tried on every offer: a scheduler can be worth more than a server.",
        "least-loaded nona",
    )
    batches: Annotated[
        tuple[Annotated[BatchOfferSpec, BeforeValidator(_batch_entry)], ...], BeforeValidator(_batch_entries)
    ] = field(
        (),
        "Batches",
        "Largest batches to choose from, of all rows, e.g. 1, 4 or 8:2 ms with a delay. Without any: as the "
        "rows say.",
        max_length=10,
    )
    engines: tuple[EngineOfferSpec, ...] = field(
        (),
        "Roles and settings of engines",
        "To choose from for rows of language models, e.g. {budget: 2048}, {scheduler: sglang} or {roles: "
        "apart}; what is not given is the default. Without any: those of the cluster's engines.",
        max_length=10,
    )
    prices: PricesSpec = field(PricesSpec(), "Prices", "What an option costs.")
    mixed: bool = field(True, "Mixed clusters", "Also combines servers of two offers.")
    survive: Survival = field(
        "nothing",
        "Must survive",
        "All targets must also hold while any one server, or any one rack, is down. A rack needs racks in "
        "the cluster.",
        choices={"server": "a server", "rack": "a rack"},
    )
    growth: Growth = field(
        0.0,
        "Growth",
        "Of the traffic, e.g. 8%/month. The answer names the month that passes what was simulated.",
    )
    profile: Name | None = field(
        None,
        "Traffic over the week",
        "CSV file with the traffic by hour. The plan is sized for the busiest hour; beside it stands a "
        "schedule of servers by hour.",
        none="steady all week",
    )
    startup: Seconds = field(
        300.0,
        "A server starts in",
        "How long a server takes until it serves; a schedule by hour pays for this time. 5 minutes: assumed.",
    )
    confidence: Annotated[Share, Field(ge=0.5, lt=1)] = field(
        0.95, "Confidence", "Of each verdict: at 95 %, at most one verdict of twenty is wrong. See Evidence."
    )
    most: int = field(
        256, "Servers of an offer, at most", "For offers without a number of their own.", ge=1, le=100_000
    )
    replications: Annotated[int, Field(ge=4, le=4096)] = field(
        256, "Runs of an option, at most", "More runs decide options that lie close to a target."
    )
