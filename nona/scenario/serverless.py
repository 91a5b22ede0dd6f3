"""The part on serverless workflows: functions, sharing, prices, dispatch, policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import ScenarioError
from nona.core.registry import Registry
from nona.models.cost.options import PER_QUERY
from nona.scenario.values import (
    Bandwidth,
    Bytes,
    Name,
    NamedEntries,
    PositiveBytes,
    PositiveSeconds,
    ScenarioPart,
    Seconds,
    Share,
    field,
    named,
    one_of,
)


@dataclass(frozen=True, slots=True)
class LateRule:
    """A rule for jobs that no configuration of their policy keeps in time.

    ``name``, ``title``, ``about``: as in the scenario file; what people read; what is done, in one clause.
    ``fastest``: true if such jobs get the fastest configuration instead of the cheapest.
    ``drops``: true if calls that cannot be in time any more leave the platform unserved.
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
            "a call that cannot meet its SLO even without waiting is dropped and counts as a miss; others "
            "run in the fastest configuration",
            fastest=True,
            drops=True,
        ),
    ),
    ScenarioError,
)
FORMERLY = {"cheapest": "keep"}


def _by_present_name(value: object) -> object:
    """Return a rule's present name for a former one; anything else as it is.

    >>> _by_present_name("cheapest"), _by_present_name("drop")
    ('keep', 'drop')
    """
    return FORMERLY.get(value, value) if isinstance(value, str) else value


MOST_CONFIGURATIONS = 4096
Exponent = Annotated[float, Field(ge=0, le=2)]
Whole = Annotated[int, Field(ge=1, le=4096)]
Sizes = Annotated[tuple[Whole, ...], Field(min_length=1, max_length=64)]


class GpuLawSpec(ScenarioPart):
    """Seconds on the GPU at batch b and g vGPUs.

    max(``floor``, (``constant`` + ``per_query`` · b) / g^``exponent``).
    """

    per_query: PositiveSeconds = field(..., "Per query", "Time that each query of a batch adds, on one vGPU.")
    floor: Seconds = field(0.0, "Floor", "The least time, with any number of vGPUs.")
    constant: Seconds = field(0.0, "Constant", "Time that does not grow with the batch.")
    exponent: Exponent = field(0.94, "Exponent", "1: twice the vGPUs, half the time; 0: more never help.")


class CpuLawSpec(ScenarioPart):
    """Seconds on the CPU at batch b and v vCPUs: b · (``serial`` + ``parallel`` / v)."""

    parallel: Seconds = field(0.0, "Parallel", "Time of a query that more vCPUs shorten.")
    serial: Seconds = field(0.0, "Serial", "Time of a query that more vCPUs do not shorten.")


class TimeRow(ScenarioPart):
    """A row of a table of times."""

    batch: Whole = field(..., "Batch", "Jobs of the batch.")
    vcpus: Whole = field(..., "vCPUs", "That the batch gets.")
    vgpus: Whole = field(..., "vGPUs", "That the batch gets.")
    time: PositiveSeconds = field(..., "Time", "That it takes in all.")


class FunctionSpec(ScenarioPart):
    """A function; its times are by one of ``gpu``, ``table``, ``network`` and ``profile``."""

    gpu: GpuLawSpec | None = field(None, "Time on the GPU", "By a law.", none="not by a law")
    network: Name | None = field(
        None, "Network", "The times are those of a measured network.", none="of no network"
    )
    profile: Name | None = field(None, "Profile", "CSV file of measured times.", none="no file")
    cpu: CpuLawSpec = field(CpuLawSpec(), "Time on the CPU", "Beside a law on the GPU, or a network.")
    table: tuple[TimeRow, ...] = field((), "Table", "Times by configuration.", max_length=10_000)
    cold_start: Seconds = field(5.0, "Cold start", "Until a new container is ready. 5 s: assumed.")
    input: Bytes = field(
        0.0,
        "Input",
        "Bytes that a call fetches before it runs, where the function begins a workflow; others fetch the "
        "tensors of their edges.",
    )
    memory: PositiveBytes | None = field(
        None, "Memory", "Of a container.", none="the network's weights and the overhead, else the platform's"
    )
    source: str = field("", "Source", "Of the times, for people.", max_length=400)

    @_model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [self.gpu is not None, bool(self.table), self.network is not None, self.profile is not None]
        if sum(given) != 1:
            raise PydanticCustomError(
                "function",
                "a function's times are by one of gpu (a law), table, network and profile (a file); {n} are "
                "given, keep one",
                {"n": sum(given)},
            )
        if self.cpu != CpuLawSpec() and (self.table or self.profile is not None):
            raise PydanticCustomError(
                "function", "a table or a profile has the times in all; leave cpu out, or give a law"
            )
        return self


class ConfigurationsSpec(ScenarioPart):
    """The configurations of a batch: every combination of the three."""

    batch: Sizes = field((1, 2, 3, 4, 6, 8, 12, 16), "Batch sizes", "Jobs that a batch may hold.")
    vcpus: Sizes = field((1, 2, 3, 4, 6, 8, 12, 16), "vCPUs", "vCPUs that a batch may get.")
    vgpus: Sizes = field((1, 2, 4, 7), "vGPUs", "vGPUs that a batch may get; MIG has 1, 2, 3, 4, 7.")

    @_model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (n := len(self.batch) * len(self.vcpus) * len(self.vgpus)) > MOST_CONFIGURATIONS:
            raise PydanticCustomError(
                "configurations",
                "{n} combinations are more than {most}; name fewer sizes",
                {"n": n, "most": MOST_CONFIGURATIONS},
            )
        return self


def _policy_field(name: str) -> tuple[str, Any]:
    return "mode", lambda: [mode.name for mode in SHARING_MODES.values() if name in mode.requires]


class SharingSpec(ScenarioPart):
    """The sharing of a GPU."""

    mode: Annotated[str, one_of(lambda: SHARING_MODES)] = field(
        "mig-counter",
        "GPU sharing",
        " ".join(
            [
                "How functions share a GPU.",
                *(f"{mode.title}: {mode.about}." for mode in SHARING_MODES.values()),
            ]
        ),
        choices=lambda: {mode.name: mode.title for mode in SHARING_MODES.values()},
    )
    reconfiguration: Seconds = field(
        2.0,
        "Time to create a slice",
        "Seconds to create a slice of another size while its place is idle. Assumed.",
        when=_policy_field("reconfiguration"),
    )
    oversubscription: Annotated[float, Field(ge=1, le=48)] = field(
        1.0,
        "Oversubscription",
        "How many times the GPU's threads may be allocated. 1: the caps fit, and no client is slowed down. "
        "Above 1 clients slow each other down.",
        when=_policy_field("oversubscription"),
    )
    interference: Annotated[float, Field(ge=1, le=100)] = field(
        1.0,
        "Interference",
        "Factor on the clients' demand when they slow each other down; 1: as for equal networks on an A100. "
        "Assumed for different networks.",
        when=_policy_field("interference"),
    )
    clients: int = field(48, "Clients", "MPS clients of a GPU at most. 48: NVIDIA's limit.", ge=1, le=48)


class ServerlessPricesSpec(ScenarioPart):
    """US dollars an hour, and as of when."""

    vcpu_hour: Annotated[float, Field(ge=0, le=1e6)] = field(
        0.034,
        "vCPU-hour, US$",
        "US dollars per hour for a held vCPU. Recollected from the ESG paper, not confirmed.",
    )
    vgpu_hour: Annotated[float, Field(ge=0, le=1e6)] = field(
        0.67,
        "vGPU-hour, US$",
        "US dollars per hour for a held vGPU (a seventh of a GPU). Recollected, not confirmed.",
    )
    dated: str = field(
        "recollected from the ESG paper (2024), not confirmed",
        "As of",
        "A note on the prices.",
        max_length=200,
    )


class TransferSpec(ScenarioPart):
    """Seconds to fetch an input: latency + bytes / bandwidth, from the same invoker or from another."""

    remote: Literal["alone", "network"] = field(
        "alone",
        "Transfers",
        "Alone: latency + bytes / bandwidth, undisturbed by others. Shared: first come, first served "
        "over the core, and over network cards and racks where the cluster has them, with the background on "
        "the network.",
        choices={"alone": "take their time alone", "network": "share the cluster's network"},
    )
    local_latency: Seconds = field(0.5e-3, "Local latency", "Of an input on the same node. Assumed.")
    local_bandwidth: Bandwidth = field(10e9, "Local fetch", "Bandwidth on the same node. Assumed.")
    remote_latency: Seconds = field(
        5e-3, "Remote latency", "Of an input from another node. Assumed.", when=("remote", ["alone"])
    )
    remote_bandwidth: Bandwidth = field(
        10e9 / 8,
        "Remote fetch",
        "Bandwidth to fetch a stage's input from another node. Assumed: 10 Gbit/s.",
        when=("remote", ["alone"]),
    )


class MemorySpec(ScenarioPart):
    """Memory of nodes, which containers hold from their start to their end."""

    limit: Literal["none", "gpus", "node"] = field(
        "none",
        "Memory of a node",
        "Containers hold memory while they exist. To make room for a new one, the node removes idle ones, "
        "the least recently used first; if that is not enough, the batch waits.",
        choices={"none": "holds all containers", "gpus": "is that of its GPUs", "node": "is given"},
    )
    node: PositiveBytes = field(
        40e9, "Memory per node", "Bytes that containers share on a node.", when=("limit", ["node"])
    )
    container: PositiveBytes = field(
        2e9,
        "Container, need unknown",
        "Memory of a container whose function states neither memory nor weights. Assumed.",
        when=("limit", ["gpus", "node"]),
    )
    overhead: Bytes = field(
        0.5e9,
        "Besides weights",
        "In addition to the weights of a network: context, libraries. Assumed.",
        when=("limit", ["gpus", "node"]),
    )


class ContainersSpec(ScenarioPart):
    """Containers of a function on a node."""

    warm: Annotated[int, Field(ge=0, le=48)] = field(
        7,
        "Warm at the start",
        "Idle containers of every function on every node at the start; 0: everything starts cold. 7: as "
        "many as run at once on a GPU in seven parts, as after a busy hour.",
    )
    prewarm: Literal["none", "spare", "ewma"] = field(
        "spare",
        "Pre-warming",
        "Spare: start one more when too few are idle. EWMA: start one in time for the next call predicted "
        "from past gaps (recollected from ESG).",
        choices={"none": "none", "spare": "keep a spare one", "ewma": "by predicted gaps (EWMA)"},
    )
    spare: Annotated[int, Field(ge=1, le=48)] = field(
        1, "Spare containers", "Idle containers to keep per function.", when=("prewarm", ["spare"])
    )
    ewma_weight: Annotated[float, Field(gt=0, le=1)] = field(
        0.2,
        "EWMA weight",
        "Weight of the latest gap in the average: a higher weight follows changes faster.",
        when=("prewarm", ["ewma"]),
    )
    keep_alive: Seconds = field(
        600.0, "Keep alive", "How long an idle container is kept. 10 minutes: recollected from ESG."
    )


Place = Literal["predecessor", "home", "warm", "walk", "most-free"]
_WALK = (
    "Home: OpenWhisk's invoker for the function. Predecessor: the node of the previous stage, where its "
    "output is local. Warm: a node with an idle container. Walk: from home in steps coprime to the number "
    "of nodes."
)


def _orders(*orders: tuple[Place, ...]) -> dict[tuple[Place, ...], str]:
    return {order: ", ".join(order).replace("-", " ") for order in orders}


class DispatchSpec(ScenarioPart):
    """The choice of an invoker for a batch, and what happens when none has room."""

    first: tuple[Literal["home", "warm", "walk", "most-free"], ...] = field(
        ("home", "warm", "walk", "most-free"),
        "First function to",
        f"Nodes tried for a workflow's first function, in order. {_WALK}",
        choices=_orders(
            ("home", "warm", "walk", "most-free"), ("home", "walk"), ("warm", "most-free"), ("most-free",)
        ),
    )
    later: tuple[Place, ...] = field(
        ("predecessor", "warm", "walk", "most-free"),
        "Later functions to",
        f"Nodes tried for the later functions, in order. {_WALK}",
        choices=_orders(
            ("predecessor", "warm", "walk", "most-free"),
            ("home", "warm", "walk", "most-free"),
            ("warm", "most-free"),
            ("most-free",),
        ),
    )
    rechecks: Annotated[int, Field(ge=1, le=1_000_000)] = field(
        50, "Rechecks", "After this many tries without room the smallest configuration is forced. Assumed."
    )
    blocking: bool = field(
        False,
        "A search takes time",
        "What waits for a search: its own queue, or all queues of the controller.",
        choices={False: "of its queue only", True: "of the whole controller"},
    )
    partial: bool = field(
        False,
        "Batches too large are",
        "Configurations with a batch larger than the queue: skip them, or run them partly full.",
        choices={False: "left out", True: "run as they are"},
    )
    order: Literal["round-robin", "least-slack"] = field(
        "round-robin",
        "Queues in",
        "Which queue is served first when several may be (the paper is silent).",
        choices={"round-robin": "round robin", "least-slack": "least slack first"},
    )
    late: Annotated[str, one_of(lambda: LATE), BeforeValidator(_by_present_name)] = field(
        "keep",
        "Late calls are",
        "Jobs that no configuration keeps in time: "
        + " ".join(f"{rule.title}: {rule.about}." for rule in LATE.values())
        + " A policy's own option late takes precedence. No source says what ESG does.",
        choices=lambda: {rule.name: rule.title for rule in LATE.values()},
    )
    ready_first: bool = field(
        True, "Ready slices first", "Look first at nodes that need not make a MIG slice for a configuration."
    )


class IntervalSpec(ScenarioPart):
    """Calls of all applications together come at gaps drawn uniformly from ``least`` to ``most``."""

    least: Seconds = field(..., "Shortest gap", "The shortest time from a call to the next.")
    most: PositiveSeconds = field(..., "Longest gap", "The longest time from a call to the next.")

    @_model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.most:
            raise PydanticCustomError("interval", "least must be at most most; swap them")
        return self

    @property
    def rate(self) -> float:
        """Calls a second of all applications together."""
        return 2 / (self.least + self.most)


class ServerlessSpec(ScenarioPart):
    """Everything that makes the workload's workflows serverless applications.

    A function of which only the time T at the smallest configuration is known takes on the GPU
    (1 - ``cpu_share``) · T · max(``gpu_floor``, (``gpu_constant`` + (1 - ``gpu_constant``) · b) /
    g^``gpu_exponent``).
    """

    functions: dict[Name, FunctionSpec] = field(
        {}, "Functions", "Your own, by name; others are shipped, or take the default law.", max_length=200
    )
    models: Literal["whole", "tasks"] = field(
        "whole", "Networks", "A network in the workload is one function, or one for each task where sensible."
    )
    configurations: ConfigurationsSpec = field(
        ConfigurationsSpec(), "Configurations", "Of a batch: every combination of the three. Assumed."
    )
    gpu_floor: Annotated[float, Field(ge=0, le=20)] = field(
        0.19, "Floor", "The least GPU time with any number of vGPUs, over that at one vGPU and batch 1."
    )
    gpu_constant: float = field(
        1 - PER_QUERY,
        "Constant",
        "Part of the GPU time at batch 1 that does not grow with the batch.",
        ge=0,
        lt=1,
    )
    gpu_exponent: Exponent = field(
        0.94, "Exponent", "1: twice the vGPUs, half the time; 0: more vGPUs never help."
    )
    cpu_share: Annotated[float, Field(ge=0, lt=1)] = field(
        0.2,
        "CPU share",
        "Part of the time at the smallest configuration that runs on the CPU, a tenth of it serial. No "
        "source says how much; assumed.",
    )
    sharing: SharingSpec = field(SharingSpec(), "GPU sharing", "How functions share a GPU.")
    prices: ServerlessPricesSpec = field(ServerlessPricesSpec(), "Prices", "Of what batches hold.")
    idle_cost: Annotated[Share, Field(ge=0, le=1)] = field(
        0.0,
        "Idle containers pay",
        "What an idle container pays, of the price of the vCPUs and vGPUs of its last batch (of the "
        "smallest configuration before its first). It holds none of these, so many warm containers may cost "
        "more than the nodes. 0 %: only batches are paid for. Assumed.",
    )
    transfer: TransferSpec = field(TransferSpec(), "Transfers", "How inputs reach a node.")
    containers: ContainersSpec = field(
        ContainersSpec(), "Cold starts", "Containers of each function on each node."
    )
    memory: MemorySpec = field(MemorySpec(), "Memory of nodes", "Which containers hold.")
    dispatch: DispatchSpec = field(DispatchSpec(), "Dispatch", "Where batches run, and in which order.")
    noise: Annotated[float, Field(ge=0, le=1)] = field(
        0.1, "Noise", "Standard deviation of the factor on every time (Gaussian: recollected; 0.1: assumed)."
    )
    profile_percentile: Annotated[float, Field(ge=1, le=99.99)] = field(
        95.0,
        "Percentile of profiles",
        "Policies plan with this percentile of the noisy time. 95: Orion's own.",
    )
    slo_factor: Annotated[float, Field(gt=0, le=100)] | None = field(
        None,
        "SLO factor",
        "Every workflow's SLO is this many times its L: the workflow's time with every function at batch 1, "
        "1 vCPU, 1 vGPU. Above 1: relaxed.",
        none="each row's own SLO",
    )
    interval: IntervalSpec | None = field(
        None,
        "Load",
        "Gaps between calls of all workflows together, drawn uniformly; each call is of one row, drawn in "
        "proportion to the rates.",
        none="each row's own rate and arrivals",
    )
    policies: NamedEntries = named(
        "Policies",
        "The policies that choose the configurations. All get the same calls and the same noise.",
        "esg infless fast-gshare orion aquatope",
    )
