"""The part on serverless workflows: functions, sharing, prices, dispatch, policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.errors import ScenarioError
from nona.gpu_sharing.registry import WAYS
from nona.registry import Registry
from nona.scenario.values import (
    Bandwidth,
    Bytes,
    Name,
    Part,
    PositiveBytes,
    PositiveSeconds,
    Seconds,
    named_entry,
    named_text,
    one_of,
    quantity,
)


@dataclass(frozen=True, slots=True)
class LateRule:
    """A rule for jobs that no configuration of their policy keeps in time.

    Attributes
    ----------
    name, title, about
        As in the scenario file; what people read; what is done, in one clause.
    fastest
        True if such jobs get the fastest configuration instead of the cheapest.
    drops
        True if calls that cannot be in time any more leave the platform unserved.
    """

    name: str
    title: str
    about: str
    fastest: bool = False
    drops: bool = False


LATE: Registry[LateRule] = Registry(
    "Rule for late calls",
    (
        LateRule("keep", "kept, as cheap as possible", "they are served in the cheapest configuration"),
        LateRule("fastest", "served as fast as possible", "they are served in the fastest one", fastest=True),
        LateRule(
            "drop",
            "dropped",
            "a call that cannot end within its SLO even in the fastest configurations, without waiting, is "
            "not served and counts as a miss; others that are late are served in the fastest one",
            fastest=True,
            drops=True,
        ),
    ),
    ScenarioError,
)
FORMERLY = {"cheapest": "keep"}


def _by_present_name(value: object) -> object:
    """A rule's present name for a former one; anything else as it is.

    >>> _by_present_name("cheapest"), _by_present_name("drop")
    ('keep', 'drop')
    """
    return FORMERLY.get(value, value) if isinstance(value, str) else value


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
    """The configurations of a batch: every combination of the three."""

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


class SharingSpec(Part):
    """The sharing of a GPU: ``mode`` names one of :data:`nona.gpu_sharing.registry.WAYS`.

    ``mig-counter``: vGPUs are a number that is free; ``mig-geometry``: they are MIG slices at legal places,
    created in ``reconfiguration`` seconds; ``mig-fixed``: the slices of the servers' ``mig``, never
    changed; ``mps``: caps on threads, which may add up to ``oversubscription`` of the GPU, and slow each
    other down by ``interference`` times their demand; ``time-slicing``: turns in proportion to vGPUs.
    """

    mode: Annotated[str, one_of(lambda: WAYS)] = "mig-counter"
    reconfiguration: Seconds = 2.0
    oversubscription: Annotated[float, Field(ge=1, le=48)] = 1.0
    interference: Annotated[float, Field(ge=1, le=100)] = 1.0
    clients: Annotated[int, Field(ge=1, le=48)] = 48


class PricesSpec(Part):
    """US dollars an hour of one vCPU and of one vGPU, and as of when."""

    vcpu_hour: Annotated[float, Field(ge=0, le=1e6)] = 0.034
    vgpu_hour: Annotated[float, Field(ge=0, le=1e6)] = 0.67
    dated: Annotated[str, Field(max_length=200)] = "recollected from the ESG paper (2024), not confirmed"


class TransferSpec(Part):
    """Seconds to fetch an input: latency + bytes / bandwidth, from the same invoker or from another.

    ``remote``: ``alone`` takes so long whatever else is on its way; ``network`` sends what comes from another
    invoker, or from outside, over the cluster's network (its capacity, cards, racks and latency, in place of
    ``remote_latency`` and ``remote_bandwidth``), first come, first served among all transfers and the
    background of the network.
    """

    remote: Literal["alone", "network"] = "alone"
    local_latency: Seconds = 0.5e-3
    local_bandwidth: Bandwidth = 10e9
    remote_latency: Seconds = 5e-3
    remote_bandwidth: Bandwidth = 10e9 / 8


class MemorySpec(Part):
    """Memory of nodes, which containers hold from their start to their end.

    ``limit``: ``none``; ``gpus``: that of a node's GPUs together; ``node``: ``node`` bytes each. A container
    needs its function's ``memory``; else its network's weights and ``overhead``; else, where they are not
    known, ``container``. For one that does not fit, idle ones of the node go, the least recently used first.
    """

    limit: Literal["none", "gpus", "node"] = "none"
    node: PositiveBytes = 40e9
    container: PositiveBytes = 2e9
    overhead: Bytes = 0.5e9


class ContainersSpec(Part):
    """Containers of a function on an invoker.

    ``warm``: that many are there at the start (7: as many as run at once on a GPU in seven parts, which is
    where a busy hour leads). ``prewarm``: ``none``; ``spare`` starts one more whenever
    fewer than ``spare`` are idle; ``ewma`` starts one in time for the next call as predicted from the
    exponentially weighted mean of gaps. An idle container is kept for ``keep_alive``.
    """

    warm: Annotated[int, Field(ge=0, le=48)] = 7
    prewarm: Literal["none", "spare", "ewma"] = "spare"
    spare: Annotated[int, Field(ge=1, le=48)] = 1
    ewma_weight: Annotated[float, Field(gt=0, le=1)] = 0.2
    keep_alive: Seconds = 600.0


class DispatchSpec(Part):
    """The choice of an invoker for a batch, and what happens when none has room.

    ``first`` and ``later`` are tried in their order, for an application's entry function and for others.
    After ``rechecks`` times without room the smallest configuration is forced. With ``blocking`` the
    controller plans one queue at a time. A batch smaller than its configuration's runs as it is with
    ``partial`` (else that configuration is left out). ``late``: what becomes of jobs that no
    configuration keeps in time, one of :data:`nona.scenario.serverless.LATE`; a policy's option of that name
    comes before it. ``ready_first``: for each configuration the rules first look at
    invokers that need not make a MIG slice for it.
    """

    first: tuple[Literal["home", "warm", "walk", "most-free"], ...] = ("home", "warm", "walk", "most-free")
    later: tuple[Literal["predecessor", "home", "warm", "walk", "most-free"], ...] = (
        "predecessor",
        "warm",
        "walk",
        "most-free",
    )
    rechecks: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    blocking: bool = False
    partial: bool = False
    order: Literal["round-robin", "least-slack"] = "round-robin"
    late: Annotated[str, one_of(lambda: LATE), BeforeValidator(_by_present_name)] = "keep"
    ready_first: bool = True


class IntervalSpec(Part):
    """Calls of all applications together come at gaps drawn uniformly from ``least`` to ``most``."""

    least: Seconds
    most: PositiveSeconds

    @_model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.most:
            raise PydanticCustomError("interval", "least must be at most most; swap them")
        return self

    @property
    def rate(self) -> float:
        """Calls a second of all applications together."""
        return 2 / (self.least + self.most)


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
