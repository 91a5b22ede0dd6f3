"""Parts of a row of the workload: how its queries or requests arrive, and how executors batch them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.core.units import parse_quantity
from nona.models.cost.options import PER_QUERY
from nona.scenario.values import Name, PositiveSeconds, ScenarioPart, Seconds, Share, field


class ArrivalsSpec(ScenarioPart):
    """The arrivals of one class of queries."""

    process: Literal["poisson", "gamma", "deterministic", "mmpp", "trace"] = field(
        "poisson",
        "Arrivals",
        "How queries arrive: at random, in bursts, evenly, or as in a trace.",
        choices={
            "poisson": "Poisson",
            "gamma": "Gamma (bursty or regular)",
            "deterministic": "Deterministic",
            "mmpp": "Markov-modulated (bursts)",
        },
    )
    cv: float = field(
        1.0, "CV of the gaps", "1: Poisson; above 1: bursts.", when=("process", ["gamma"]), gt=0, le=100
    )
    burst_factor: Annotated[float, Field(gt=1, le=1000)] = field(
        3.0, "Burst factor", "Rate during a burst over the mean rate.", when=("process", ["mmpp"])
    )
    burst_fraction: float = field(
        0.1, "Share of time in bursts", "The rest has a lower rate.", when=("process", ["mmpp"]), gt=0, lt=1
    )
    burst_mean: PositiveSeconds = field(
        10.0, "Mean length of a burst", "For example 10 s.", when=("process", ["mmpp"])
    )
    trace: Name | None = field(
        None, "Trace", "CSV file of instants or of counts per minute.", when=("process", ["trace"])
    )
    scale_to_rate: bool = field(
        True,
        "Speed of the trace",
        "Stretched to the row's rate, or its own: then the rate of the trace applies, not the row's.",
        choices={False: "its own", True: "stretched to the rate"},
    )
    speed: Annotated[float, Field(gt=0, le=1e6)] = field(
        1.0,
        "Times as fast",
        "2: twice as many arrivals a second, also of a factor on the load. Rows of one trace stay in step "
        "at equal speeds.",
        when=("scale_to_rate", [False]),
    )
    start: Seconds = field(0.0, "Start in the trace", "Where the window begins, from the trace's first row.")
    length: PositiveSeconds | None = field(
        None,
        "Length",
        "Of the window that is replayed again and again; beyond the trace's end nothing arrives.",
        none="to its end",
    )
    share: Annotated[Share, Field(gt=0, le=1)] | None = field(
        None,
        "Share",
        "Of the trace's arrivals, at random; rows with shares of one trace take none twice, and their "
        "shares add up to at most 1.",
        none="all",
    )
    column: Name | None = field(None, "Column", "The column that divides the trace.", none="all rows")
    value: Name | None = field(
        None, "Value", "The row replays the arrivals that have it in the column.", none="the row's name"
    )
    time: Name | None = field(
        None, "Column of instants", "Where the header does not tell it.", none="by the header"
    )
    unit: Literal["s", "ms", "us", "ns", "min", "h"] | None = field(
        None, "Unit of instants", "Where the header does not tell it.", none="by the header"
    )

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
                "burst_factor × burst_fraction must be at most 1 (the rest of the time has a rate of at "
                "least 0); make bursts weaker or rarer",
            )
        return self


BatchRule = Literal["greedy", "delay", "triton", "static"]
_BatchSize = Annotated[int, Field(ge=1, le=1024)]
_BatchSizes = Annotated[tuple[_BatchSize, ...], Field(max_length=64)]


class BatchingSpec(ScenarioPart):
    """How an executor takes several queries of a row together, in one step."""

    max_batch: _BatchSize = field(
        8, "Largest batch", "Queries whose equal tasks an executor runs as one, at most. 1: no batching."
    )
    rule: BatchRule | None = field(
        None,
        "Rule",
        "When an idle executor starts a batch. Greedy: at once. Delay: when full, or after the delay of its "
        "oldest member. Triton: also at preferred sizes. Static: when full.",
        choices={
            None: "automatic",
            "greedy": "greedy",
            "delay": "full or delayed",
            "triton": "full, delayed or preferred",
            "static": "full",
        },
        none="delay where one is given, else greedy",
    )
    delay: Seconds = field(
        0.0,
        "Longest delay",
        "How long the first query of a batch waits for others at most, e.g. 2 ms; longer: larger batches.",
    )
    preferred: _BatchSizes = field(
        (),
        "Preferred sizes",
        "Batches of these sizes start at once.",
        none="full batches",
        when=("rule", ["triton"]),
    )
    form_ahead: int = field(
        0,
        "Formed ahead",
        "Batches that may be formed while the executor is busy; Triton forms up to 2.",
        when=("rule", ["triton"]),
        ge=0,
        le=2,
    )
    allowed: _BatchSizes = field(
        (),
        "Allowed sizes",
        "A batch is filled up to the next of these, and takes its time.",
        none="all sizes",
    )
    per_query: Annotated[Share, Field(ge=0, le=1)] = field(
        PER_QUERY,
        "Share that each query adds",
        "Of the time of one query, where a file gives nothing but that: a batch of b takes 1 − p + p·b times "
        "as long. The default is that of serverless functions.",
    )

    @property
    def starts(self) -> BatchRule:
        """The rule that holds."""
        return self.rule or ("delay" if self.delay > 0 else "greedy")

    @property
    def largest(self) -> int:
        """The most queries for which there must be a time: the largest batch, filled up."""
        return min((size for size in self.allowed if size >= self.max_batch), default=self.max_batch)

    @property
    def without_effect(self) -> list[str]:
        """A line for each key that is given and does not count."""
        if self.rule == "triton":
            return []
        given = [name for name in ("preferred", "form_ahead") if getattr(self, name)]
        lines = [f"{name} counts under the rule triton, not {self.starts}; leave it out" for name in given]
        if self.delay > 0 and self.rule in ("greedy", "static"):
            lines.append(f"a delay does not count under the rule {self.rule}; leave one of them out")
        return lines

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        most, allowed = self.max_batch, self.allowed
        if max(self.preferred, default=0) > most:
            raise PydanticCustomError(
                "batching",
                "preferred {sizes} has sizes above max_batch {most}, which no batch has; leave them out, or "
                "raise max_batch to {top}",
                {"sizes": list(self.preferred), "most": most, "top": max(self.preferred)},
            )
        if allowed and 1 not in allowed:
            raise PydanticCustomError(
                "batching", "allowed {sizes} must have 1, for a query alone; add it", {"sizes": list(allowed)}
            )
        if allowed and max(allowed) < most:
            raise PydanticCustomError(
                "batching",
                "allowed {sizes} must reach max_batch {most}, or larger batches have no time; add {most}, or "
                "lower max_batch to {top}",
                {"sizes": list(allowed), "most": most, "top": max(allowed)},
            )
        return self


def _batching(value: object) -> object:
    """Return a row's batching, which a file may turn off by ``off`` (in YAML 1.1 ``false``)."""
    return {"max_batch": 1} if value is False or value == "off" else value


Batches = Annotated[BatchingSpec, BeforeValidator(_batching)]

MOST_GPUS = 64  # of a server
_Gpus = Annotated[tuple[Annotated[int, Field(ge=0, lt=MOST_GPUS)], ...], Field(max_length=MOST_GPUS)]
_Speed = Annotated[float, Field(gt=0, le=1)]
MOST_INSTANCES = 64


def _speeds(value: object) -> object:
    """Return speeds; measured times of a query beside 0, 1, … others, as 5 ms, 8.2 ms, become t(1)/t(j).

    >>> _speeds("1, 0.61"), _speeds(["5 ms", "8.2 ms"]), _speeds([1, 0.5])
    ([1.0, 0.61], [1.0, 0.6098], [1, 0.5])
    """
    parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not any(isinstance(part, str) for part in parts):
        return parts
    try:
        return [float(part) for part in parts]
    except ValueError:
        pass  # not numbers alone: times with their units
    try:
        times_s = [parse_quantity(part, "time") for part in parts]
    except ValueError as error:
        raise PydanticCustomError("speed", "{why}", {"why": str(error)}) from None
    if min(times_s) <= 0 or not all(str(part).strip()[-1:].isalpha() for part in parts):
        raise PydanticCustomError(
            "speed", "times {times} must be above 0, each with its unit", {"times": str(value)}
        )
    return [round(times_s[0] / time_s, 4) for time_s in times_s]


class InstancesSpec(ScenarioPart):
    """Tasks that run at once on a GPU or a slice, without limits between them."""

    most: int = field(
        2,
        "Concurrent tasks",
        "Tasks that run at once on each GPU or slice; more wait in one queue.",
        ge=1,
        le=MOST_INSTANCES,
    )
    speed: Annotated[tuple[_Speed, ...], BeforeValidator(_speeds), Field(max_length=MOST_INSTANCES)] = field(
        (),
        "Speed beside others",
        "Speed of each task while 1, 2, … run on the GPU, such as 1, 0.61. Or measured times of a query "
        "then, such as 5 ms, 8.2 ms. With more tasks than listed, the GPU's total speed stays the same.",
        none="1, 1/2, 1/3, …: the GPU divides its time",
    )

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        speeds = list(self.speed)
        if speeds and speeds[0] != 1:
            raise PydanticCustomError(
                "instances",
                "speed {speed} must begin with 1, that of a task alone; add it",
                {"speed": speeds},
            )
        if speeds != sorted(speeds, reverse=True):
            raise PydanticCustomError(
                "instances",
                "speed {speed} must not grow with the tasks that run; order it from high to low",
                {"speed": speeds},
            )
        return self


class PlacesSpec(ScenarioPart):
    """Instances of a stage on the servers of one group."""

    group: int = field(0, "Server group", "Its number in cluster.servers, from 0.", ge=0, lt=100)
    count: int = field(1, "Instances", "On each GPU or slice of the group.", ge=1, le=MOST_INSTANCES)
    gpus: _Gpus = field((), "On GPUs", "Their numbers in each server, from 0.", none="all")


class StageSpec(ScenarioPart):
    """Where a task of the model runs: in instances of its own, or in processes of the host."""

    instances: Annotated[tuple[PlacesSpec, ...], Field(max_length=100)] = field(
        (),
        "Own instances",
        "They take tasks from one queue on each server; without them the GPUs' own queues.",
    )
    batching: Batches | None = field(
        None, "Own batching", "How its instances run several queries as one.", none="that of the row"
    )
    cpu: Annotated[int, Field(ge=1, le=4096)] | None = field(
        None,
        "Processes",
        "Of the host, on each server, which hold no GPU; the task takes its time in the file.",
        none="runs on GPUs",
    )

    @property
    def has_pool(self) -> bool:
        """True where the task runs in instances or processes of its own."""
        return bool(self.instances) or self.cpu is not None

    def instances_on(self, group: int, gpu: int) -> int:
        """Return the instances on a GPU, by its number in each server of a group."""
        return sum(p.count for p in self.instances if p.group == group and (not p.gpus or gpu in p.gpus))

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.cpu is not None and self.instances:
            raise PydanticCustomError(
                "stage", "cpu puts the task on the host, instances put it on GPUs; leave one of them out"
            )
        named: set[tuple[int, int]] = set()
        for places in self.instances:
            gpus = [(places.group, gpu) for gpu in places.gpus or range(MOST_GPUS)]
            if len(set(gpus)) < len(gpus) or named & set(gpus):
                raise PydanticCustomError(
                    "stage",
                    "instances name a GPU of group {group} twice; add up their counts",
                    {"group": places.group},
                )
            named.update(gpus)
        return self
