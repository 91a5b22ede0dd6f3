"""The whole scenario, with its parts on costs and on the workload.

This module holds the schema; :mod:`nona.scenario.file` reads and writes it as YAML or JSON.
Quantities may be strings with a unit or plain SI numbers (seconds, bytes, bytes/s, 1/s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import field_validator as _field_validator
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.models.contraction.rules import DEFAULT_RULE, RULES
from nona.scenario.cluster import ClusterSpec
from nona.scenario.language import LanguageRow, moved_apart, unserved
from nona.scenario.plan import PlanSpec
from nona.scenario.rows import ArrivalsSpec, Batches, BatchingSpec, StageSpec
from nona.scenario.serverless import ServerlessSpec
from nona.scenario.training import TrainingSpec
from nona.scenario.values import (
    Fraction,
    Name,
    NamedEntries,
    PositiveBytes,
    PositiveSeconds,
    Rate,
    ScenarioPart,
    Scv,
    Seconds,
    Share,
    Warmup,
    field,
    named,
    one_of,
)


class GivenSpec(ScenarioPart):
    """The device and conditions of the times in a model's file."""

    device: Name | None = field(
        None, "Device", "On which the times hold; any: the same everywhere.", none="as the file says"
    )
    factors: dict[Name, Annotated[float, Field(gt=0, le=1e6)]] = field(
        {},
        "Factors",
        "How much longer the times are on another device, slice or share; without one, the modelled ratio.",
        max_length=100,
    )


def _given_entry(value: object) -> object:
    return {"device": value} if isinstance(value, str) else value


class CostSpec(ScenarioPart):
    """Settings of operator times."""

    stack: Literal["tensorrt", "cuda-graphs", "onnxruntime", "eager"] = field(
        "tensorrt",
        "Software stack",
        "What runs the operators; it sets launch costs, fusion, and whether fp32 runs in TF32.",
    )
    precision: Literal["auto", "model", "fp32", "tf32", "fp16", "fp8", "int8", "int4"] = field(
        "auto",
        "Precision",
        "auto: fp32 runs in TF32 where that is the default of stack and GPU, else in full. fp16, fp8 and "
        "int8 need an engine that was built for them. Fewer bits: fewer bytes, faster products. "
        "int4: weights of language models only.",
        choices={
            "auto": "as the stack does by default",
            "model": "as in the file",
            "fp32": "all in fp32",
            "tf32": "TF32",
        },
    )
    measured: Name | None = field(
        None, "Measured times", "CSV file of operators' times of a busy GPU; they replace modelled ones."
    )
    given: dict[Name, Annotated[GivenSpec, BeforeValidator(_given_entry)]] = field(
        {},
        "Times in files",
        "By the row's model: the device, or device and factors, for which the times in its file hold.",
        max_length=500,
    )


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels, a repeated one with ``#2``, ``#3`` … at its end."""
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        names.append(label if seen[label] == 1 else f"{label} #{seen[label]}")
    return tuple(names)


class WorkloadRow(ScenarioPart):
    """One class of queries: a model, its rate and its SLO."""

    model: Name = field(
        ..., "Model", "What these queries run: a sample's name, or a file beside the scenario."
    )
    rate: Rate = field(
        0.0, "Rate", "Mean queries per second, e.g. 300/s; more load, longer waits. Or give a concurrency."
    )
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = field(
        None,
        "Users",
        "Closed loop in place of a rate: so many users, who each send again when their query is done.",
        none="open loop",
    )
    think: Seconds = field(0.0, "Pause of users", "From the end of a query to the next one, e.g. 1 s.")
    slo: PositiveSeconds | None = field(
        None,
        "SLO",
        "Longest response time allowed, e.g. 40 ms. SLO hits count jobs within it.",
        none="none",
    )
    name: Name | None = field(
        None, "Name", "For people, and for this row's random numbers.", none="the model's"
    )
    arrivals: ArrivalsSpec = field(ArrivalsSpec(), "Arrivals", "How the queries of this row arrive.")
    service_scv: Scv = field(
        0.0,
        "SCV of service times",
        "0: every task takes its modelled time; 1: exponential; else gamma. Higher means longer waits.",
    )
    batch: int = field(
        1,
        "Batch",
        "Inputs that each query brings, computed together as one. A batch of b queries has b times as many.",
        ge=1,
        le=4096,
    )
    batching: Batches | None = field(
        None,
        "Own batching",
        "How executors run several queries of this row as one; off: they do not.",
        none="as the scenario says for all rows",
    )
    symbols: dict[Name, Annotated[int, Field(ge=1, le=10_000_000)]] = field(
        {}, "Sizes", "Of the model's symbolic dimensions, by name."
    )
    stages: dict[Name, StageSpec] = field(
        {},
        "Stages",
        "By task of the model: instances or processes of its own. The model is not contracted then.",
        max_length=500,
    )
    queue: Literal["model", "executor"] | None = field(
        None,
        "Queue",
        "One queue for the model on each server, shared by its instances on all GPUs, as in Triton. Or one "
        "for each executor, for all models.",
        choices={None: "automatic", "model": "of the model", "executor": "of the executor"},
        none="of the model with stages or the rule triton, else of the executor",
    )

    @_model_validator(mode="before")
    @classmethod
    def _without_no_rate(cls, value: object) -> object:
        """Leave out the rate that a row of users has when it is written."""
        if isinstance(value, Mapping) and value.get("concurrency") and value.get("rate") in (0, "0/s", None):
            return {key: given for key, given in value.items() if key != "rate"}
        return value

    @_model_validator(mode="after")
    def _arrives(self) -> Self:
        if self.concurrency is None and "rate" not in self.model_fields_set:
            raise PydanticCustomError("row", "rate is missing; give for example 300/s, or a concurrency")
        if self.concurrency is not None and self.rate:
            raise PydanticCustomError("row", "rate opens the loop, concurrency closes it; leave one out")
        if self.concurrency is not None and self.arrivals != ArrivalsSpec():
            raise PydanticCustomError(
                "row",
                "arrivals do not count with a concurrency, queries come when others end; leave them out",
            )
        if self.concurrency is None and self.think:
            raise PydanticCustomError(
                "row", "think is the pause of users; give a concurrency, or leave it out"
            )
        return self

    @property
    def label(self) -> str:
        """Name for people: the given one, else the model's without folder and extension."""
        return self.name or PurePath(self.model).stem

    @property
    def load_text(self) -> str:
        """The rate, or the number of users, for people."""
        return f"{self.rate:.4g}/s" if self.concurrency is None else f"{self.concurrency:,} users"


class BackgroundCompute(ScenarioPart):
    """Other work on every executor."""

    utilization: Fraction = field(
        0.0, "Executors busy", "Share of every executor's time that background work takes."
    )
    mean_service: PositiveSeconds = field(
        5e-3, "Mean service", "Mean run time of one background task, e.g. 5 ms."
    )
    scv: Scv = field(1.0, "SCV of service", "0 constant, 1 exponential; higher means longer waits.")


class BackgroundNetwork(ScenarioPart):
    """Other traffic on the link."""

    utilization: Fraction = field(
        0.0, "Link busy", "Share of every link's capacity that background traffic takes."
    )
    mean_size: PositiveBytes = field(1e6, "Mean message", "Mean size of one background message, e.g. 1 MB.")
    scv: Scv = field(1.0, "SCV of message size", "0 constant, 1 exponential; higher means longer waits.")


class BackgroundSpec(ScenarioPart):
    """Load that is not ours."""

    compute: BackgroundCompute = field(
        BackgroundCompute(), "Background on executors", "Other work on every executor; Poisson arrivals."
    )
    network: BackgroundNetwork = field(
        BackgroundNetwork(), "Background on the network", "Other traffic on every link; Poisson arrivals."
    )


class SimulationSpec(ScenarioPart):
    """Size of a simulation."""

    jobs: Annotated[int, Field(ge=1, le=100_000_000)] = field(
        20_000,
        "Jobs measured per run",
        "Of all models together, after the warm-up. More jobs give narrower intervals.",
    )
    replications: Annotated[int, Field(ge=1, le=1000)] = field(
        5,
        "Replications",
        "Independent runs of each scheduler or policy; 2 or more give intervals. With a precision, the "
        "least number.",
    )
    warmup: Warmup = field(
        "auto",
        "Warm-up",
        "Jobs left out at the start, the same for all schedulers. Automatic: a fifth of the jobs, at least "
        "1,000; MSER-5 finds where the start-up ends, on five pilot runs of each scheduler.",
        choices={"auto": "automatic", "mser": "MSER-5, on pilot runs"},
    )
    precision: Annotated[Share, Field(gt=0, le=0.5)] | None = field(
        None,
        "Precision of the means",
        "Adds replications until every mean JCT has this relative precision, e.g. 2 %.",
        none="the stated number of replications",
    )
    max_replications: int = field(
        64, "Replications at most", "With a precision: where adding replications ends.", ge=2, le=1000
    )


class Scenario(ScenarioPart):
    """A scenario: the cluster, its workload, and the questions about both.

    Build it with :func:`nona.scenario.file.load_scenario` or by hand.

    >>> s = Scenario.model_validate({
    ...     "version": 1,
    ...     "cluster": {"servers": [{"count": 8}]},
    ...     "workload": [{"model": "resnet18", "rate": "300/s", "slo": "40 ms"}],
    ... })
    >>> s.workload[0].slo, s.workload[0].label, s.schedulers[0].name
    (0.04, 'resnet18', 'nona')
    """

    version: Literal[1] = field(1, "Version", "Of the format of scenarios.")
    name: Name = field("Untitled scenario", "Scenario", "The name used in files, reports and links.")
    description: str = field("", "Description", "For people; nothing depends on it.", max_length=4000)
    seed: int = field(0, "Seed", "The same seed gives the same result, bit for bit.", ge=0, lt=2**63)
    cluster: ClusterSpec = field(..., "Cluster", "Servers, network, own devices.")
    background: BackgroundSpec = field(
        BackgroundSpec(), "Background load", "Work and traffic of others, on every executor and link."
    )
    workload: tuple[WorkloadRow, ...] = field(
        (), "Workload", "Classes of queries: models with rate and SLO.", max_length=500
    )
    language: tuple[LanguageRow, ...] = field(
        (),
        "Language models",
        "Classes of requests that engines serve token by token. In a file they stand in workload.",
        max_length=500,
    )
    batching: Batches | None = field(
        None,
        "Batching",
        "How executors run several queries of a row as one, for rows that do not say it themselves.",
        none="one query at a time",
    )
    cost: CostSpec = field(CostSpec(), "Times", "How the models run, and measured times that win.")
    contraction: Annotated[str, one_of(lambda: tuple(RULES))] = field(
        DEFAULT_RULE,
        "Rule",
        "When two operators may become one task.",
        choices=lambda: {name: name for name in RULES},
    )
    objective: Literal["mean-jct", "slo", "formula"] = field(
        "mean-jct",
        "Objective",
        "What the placement minimises. The first two are simulated (slo: some row must have one). The "
        "formula is the paper's problem: mean waits, solved to a certified gap; where several answers are "
        "awaited together it is optimistic.",
        choices={
            "mean-jct": "Mean response time",
            "slo": "Missed SLOs",
            "formula": "Mean response time, by formula alone",
        },
    )
    simulation: SimulationSpec = field(SimulationSpec(), "Simulation", "How much is simulated.")
    schedulers: NamedEntries = named(
        "Schedulers",
        "All get the same jobs: the same arrivals, the same service times.",
        "nona nona-live least-loaded spark-fair local spread",
    )
    routers: NamedEntries = named(
        "Routers",
        "To which engine a request goes. All get the same requests. In a file they stand in schedulers.",
        "round-robin least-kv",
    )
    serverless: ServerlessSpec | None = field(
        None,
        "Serverless",
        "Makes the workflows applications of batched, sized functions.",
        none="no such part",
    )
    training: TrainingSpec | None = field(None, "Training", "Long jobs on this cluster.", none="no such part")
    plan: PlanSpec | None = field(
        None, "Plan", "Asks what to buy so that targets are kept.", none="no such part"
    )
    models: dict[Name, dict[str, Any]] = field(
        {}, "Models", "Task graphs inside the scenario, node-link JSON by name.", max_length=100
    )

    @_model_validator(mode="before")
    @classmethod
    def _from_file(cls, data: Any) -> Any:
        return moved_apart(data) if isinstance(data, Mapping) else data

    @_field_validator("objective", mode="before")
    @classmethod
    def _older_name(cls, value: Any) -> Any:
        return "mean-jct" if value == "sampled-jct" else value  # as older files call it

    @_model_validator(mode="after")
    def _has_groups_of_stages(self) -> Self:
        groups = self.cluster.servers
        for number, row in enumerate(self.workload):
            for name, stage in row.stages.items():
                for places in stage.instances:
                    where = f"workload[{number}].stages[{name!r}]: group {places.group}"
                    if places.group >= len(groups):
                        problem = f"does not exist; give a number from 0 to {len(groups) - 1}"
                    elif groups[places.group].engine:
                        problem = "has an engine, which runs no tasks; name a group without one"
                    elif max(places.gpus, default=0) >= groups[places.group].gpus:
                        most = groups[places.group].gpus - 1
                        problem = f"has no GPU {max(places.gpus)}; give numbers from 0 to {most}"
                    else:
                        continue
                    raise PydanticCustomError(
                        "stage", "{where} {problem}", {"where": where, "problem": problem}
                    )
        return self

    @_model_validator(mode="after")
    def _four_bits(self) -> Self:
        if self.cost.precision == "int4" and (self.workload or self.training is not None):
            raise PydanticCustomError(
                "precision",
                "cost.precision: int4 holds for language models only, and others run here; give int8 or fp8, "
                "or a config.json with its quantization_config",
            )
        return self

    @_model_validator(mode="after")
    def _divides_traces(self) -> Self:
        shares: dict[str, float] = {}
        for row in self.rows:
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
    def _users_fill_their_batches(self) -> Self:
        for number, row in enumerate(self.workload):
            own = [self.batching_of(row), *(stage.batching for stage in row.stages.values())]
            full = any(spec is not None and spec.starts == "static" and spec.max_batch > 1 for spec in own)
            if row.concurrency is not None and full:
                raise PydanticCustomError(
                    "batching",
                    "workload[{number}]: users in a closed loop may never fill the batches of rule static; "
                    "choose greedy or a delay, or a rate instead of concurrency",
                    {"number": number},
                )
        return self

    @_model_validator(mode="after")
    def _has_what_it_keeps(self) -> Self:
        if self.objective == "slo" and self.workload and all(row.slo is None for row in self.workload):
            raise PydanticCustomError("objective", "objective 'slo' needs an SLO to keep; give a row an slo")
        return self

    @_model_validator(mode="after")
    def _has_servers_for_all(self) -> Self:
        engines = [group.engine for group in self.cluster.servers]
        problem = unserved(self.language, engines)
        if self.workload and None not in engines:
            problem = (
                f"cluster.servers: every group has an engine, which runs no tasks of {self.labels[0]!r}; add "
                "a group without one"
            )
        for number, row in enumerate(self.language, len(self.workload)):
            if row.after is not None and row.after not in self.labels:
                problem = (
                    f"workload[{number}].after: {row.after!r} is no row of tasks; name one of "
                    f"{', '.join(self.labels)}"
                    if self.workload
                    else f"workload[{number}].after: there is no row of tasks; add one, or give a rate"
                )
        for part in ("serverless", "training"):
            if getattr(self, part) is not None and any(engines):
                problem = f"{part}: it cannot share a cluster with engines yet; give it a scenario of its own"
        if problem:
            raise PydanticCustomError("placed", "{problem}", {"problem": problem})
        return self

    def batching_of(self, row: WorkloadRow) -> BatchingSpec | None:
        """How executors batch the queries of a row; ``None`` where they run one at a time."""
        spec = row.batching or self.batching
        return None if spec is None or spec.max_batch == 1 else spec

    def has_pools(self, row: WorkloadRow) -> bool:
        """Return whether the row's queries run in instances of their own, not in those of all models."""
        if row.stages:
            return any(spec.has_pool for spec in row.stages.values())
        spec = self.batching_of(row)
        triton = spec is not None and spec.rule == "triton"
        return row.queue == "model" or (row.queue is None and triton)

    def with_batches(self, size: int, delay: float | None) -> Self:
        """Return the scenario with all rows in batches of at most ``size``, and with this delay if any."""
        rows = []
        for row in self.workload:
            spec = row.batching or self.batching or BatchingSpec()
            sizes = tuple(b for b in spec.preferred if b <= size)
            allowed = spec.allowed if max(spec.allowed, default=0) >= size else ()
            changes: dict[str, object] = {"max_batch": size, "preferred": sizes, "allowed": allowed}
            changes |= {} if delay is None else {"delay": delay}
            rows.append(row.model_copy(update={"batching": spec.model_copy(update=changes)}))
        return self.model_copy(update={"workload": tuple(rows)})

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each row of the workload; a repeated one ends in ``#2``, ``#3`` and so on."""
        return self._labels[: len(self.workload)]

    def bounds_of(self, row: int) -> dict[str, float]:
        """Return the bounds on the times of a row's queries: its SLO, and the plan's targets, by name."""
        slo, label = self.workload[row].slo, self.labels[row]
        own = self.plan.targets.get(label) if self.plan else None
        return ({} if slo is None else {"SLO": slo}) | (own.bounds if own else {})

    @property
    def rows(self) -> tuple[WorkloadRow | LanguageRow, ...]:
        """All rows as a written file has them: those of language models last."""
        return (*self.workload, *self.language)

    @property
    def language_labels(self) -> tuple[str, ...]:
        """A name for each row of requests to language models, unlike those of the others."""
        return self._labels[len(self.workload) :]

    @property
    def _labels(self) -> tuple[str, ...]:
        return numbered([row.label for row in self.rows])
