"""The part on training clusters: jobs, policies, rounds, elastic jobs, switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.values import (
    Bandwidth,
    Bytes,
    Fraction,
    Name,
    Part,
    PositiveSeconds,
    Rate,
    Seconds,
    named_entry,
    named_text,
    quantity,
)
from nona.units import parse_quantity


class ElasticPolicySpec(Part):
    """A policy by name, with its options; in a file also just the name."""

    name: Name
    options: dict[str, Any] = Field(default_factory=dict)


ElasticPolicyEntry = Annotated[ElasticPolicySpec, BeforeValidator(named_entry), PlainSerializer(named_text)]


class ProfilesSpec(Part):
    """The four CSV files of one's own applications; columns as in those that ship."""

    applications: Name = "applications.csv"
    placements: Name = "placements.csv"
    scalability: Name = "scalability.csv"
    epochs: Name = "epochs.csv"


def _workload(value: object) -> object:
    """The number of a workload that ships may be written as one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _number_or_file(value: str) -> str | int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else value


WorkloadName = Annotated[Name, BeforeValidator(_workload), PlainSerializer(_number_or_file)]
MOST_TICK_S, MOST_RESTART_S = 86_400, 3_600
Tick = Annotated[float, *quantity("time"), Field(ge=1, le=MOST_TICK_S)]
Restart = Annotated[float, *quantity("time"), Field(ge=0, le=MOST_RESTART_S)]


class ElasticSpec(Part):
    """Elastic jobs on the cluster's servers, which are nodes that are all alike.

    ``workload``: the number of one that ships (1 to 4), or a CSV file with the columns ``name, arrival_s,
    application, gpus, batch_size``; ``load``: how many times as many jobs, for one that ships.
    ``profiles``: files of one's own applications. Policies are asked once a ``tick``; a job whose GPUs
    change pauses for ``restart``. ``interference``: part of its speed that a job on several nodes loses
    where it shares one with another such job. ``link``: jobs on several nodes exchange their gradients over
    ``cluster.network``, of which ``background.network`` takes its part. Runs of policies that draw random
    numbers: ``simulation.replications``.
    """

    workload: WorkloadName = "1"
    load: Annotated[float, Field(gt=0, le=4)] = 1.0
    profiles: ProfilesSpec | None = None
    tick: Tick = 60.0
    restart: Restart = 30.0
    interference: Fraction = 0.0
    link: bool = False
    policies: Annotated[tuple[ElasticPolicyEntry, ...], Field(min_length=1, max_length=50)] = tuple(
        ElasticPolicySpec(name=n) for n in ("pollux", "optimus", "tiresias")
    )

    @property
    def shipped(self) -> bool:
        """True for a workload that ships.

        >>> ElasticSpec(workload=2).shipped, ElasticSpec(workload="mine.csv").shipped
        (True, False)
        """
        return isinstance(_number_or_file(self.workload), int)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for key in ("tick", "restart"):
            if (value := getattr(self, key)) != int(value):
                raise PydanticCustomError(
                    "training",
                    "elastic: {key} {value} s must be a whole number of seconds; round it",
                    {"key": key, "value": f"{value:g}"},
                )
        if self.shipped and self.profiles is not None:
            raise PydanticCustomError(
                "training",
                "elastic: your own profiles need a workload of your own; name a CSV file, with the "
                "applications by their names in the profiles",
            )
        if self.shipped and self.workload not in {"1", "2", "3", "4"}:
            raise PydanticCustomError(
                "training",
                "elastic: workload {number} does not ship; choose from 1, 2, 3, 4, or name a CSV file",
                {"number": self.workload},
            )
        if not self.shipped and self.load != 1:
            raise PydanticCustomError(
                "training",
                "elastic: load {load} needs a workload that ships, whose hours are known; change the "
                "arrivals in {name}",
                {"load": f"{self.load:g}", "name": repr(self.workload)},
            )
        twice = [name for name, n in Counter(p.name for p in self.policies).items() if n > 1]
        if twice:
            raise PydanticCustomError(
                "training", "elastic: policy {name} is there twice; remove one", {"name": repr(twice[0])}
            )
        return self


def _interval(value: object) -> object:
    if value in INTERVALS:
        return value
    try:
        return parse_quantity(value, "time")  # type: ignore[arg-type]
    except ValueError:
        raise PydanticCustomError(
            "interval",
            "{value} must be 'young', 'daly', 'best' or a time, for example '20 min'",
            {"value": repr(value)},
        ) from None


INTERVALS = ("young", "daly", "best")
LongTime = Annotated[float, *quantity("time"), Field(gt=0, le=1e9)]
Factor = Annotated[float, Field(ge=1, le=100)]


class EstimatorSpec(Part):
    """Rates of jobs on the same GPUs are estimated from a few profiled pairs, until they were measured.

    ``profiled``: share of a new job's pairs that are measured; ``rank``, ``ridge``: of the completion.
    """

    profiled: Annotated[float, *quantity("fraction"), Field(gt=0, le=1)] = 0.2
    rank: Annotated[int, Field(ge=1, le=100)] = 10
    ridge: Annotated[float, Field(gt=0, le=100)] = 0.01


class EstimatesSpec(Part):
    """Policies see users' claims T·e^noise instead of the rates T.

    ``error``: factor by which a claim is off, job by job and type by type, at one standard deviation of its
    logarithm (1: never); ``bias``: the same for a factor that all claims of one user (entity) share.
    ``correct``: rounds measure rates, and claims are corrected; ``prior``: how many measured rounds a claim
    counts for; ``flag``: a job is flagged when its claim is off by more than this factor after 3 rounds.
    """

    error: Factor = 1.5
    bias: Factor = 1.0
    correct: bool = True
    prior: Annotated[float, Field(gt=0, le=1000)] = 1.0
    flag: Annotated[float, Field(gt=1, le=100)] = 1.5


class MovesSpec(Part):
    """The cost of a change of GPUs: a checkpoint is saved, sent and loaded, then the job warms up.

    ``charge``: a policy's new answer is taken only if what it gains within ``horizon`` exceeds the steps that
    its moves lose, and a job that was moved keeps its GPUs until the move is at most the share ``overhead``
    of its time there. ``horizon`` is the least time between two answers if left out.
    """

    save: Bandwidth = 1e9
    network: Bandwidth = 1.25e9
    load: Bandwidth = 1e9
    warmup: Seconds = 10.0
    charge: bool = False
    overhead: Annotated[float, *quantity("fraction"), Field(gt=0, le=1)] = 0.05
    horizon: LongTime | None = None


class FailuresSpec(Part):
    """Nodes fail after exponential times of mean ``mtbf``; a job goes on from its last checkpoint.

    A checkpoint takes ``checkpoint``, a restart ``restart``. ``interval``: seconds of work between two
    checkpoints, or how to choose it: Young's formula, Daly's, or the best by simulation.
    """

    mtbf: LongTime = 7 * 86400.0
    checkpoint: Seconds = 30.0
    restart: Seconds = 60.0
    interval: Annotated[Literal["young", "daly", "best"] | PositiveSeconds, BeforeValidator(_interval)] = (
        "daly"
    )


class RegionsSpec(Part):
    """The server groups (numbers from 0) of each region, and the network between regions.

    A job runs in one region at a time. ``move``: jobs go to another region when the planner says that it
    pays; otherwise its advice is only shown.
    """

    groups: dict[Name, Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]]
    bandwidth: Bandwidth = 125e6
    rtt: Seconds = 0.06
    move: bool = False

    @model_validator(mode="after")
    def _once(self) -> Self:
        numbers = [n for group in self.groups.values() for n in group]
        if not numbers or len(set(numbers)) < len(numbers):
            raise PydanticCustomError(
                "regions", "a server group must be in exactly one region; list each number once"
            )
        return self


LongSeconds = Annotated[float, *quantity("time"), Field(ge=0, le=1e9)]
Positive = Annotated[float, Field(gt=0, le=1e15)]
Price = Annotated[float, Field(ge=0, le=1e6)]


class TrainingJobSpec(Part):
    """A job given in the scenario: by ``model`` from the table of throughputs, or with its own rates.

    ``throughputs``: steps/s of the whole job by type of GPU; for an inference job queries/s of a replica.
    Interactive and inference jobs may have a ``duration`` in place of steps, which for them are seconds.
    Other keys as :class:`nona.training.system.Job` explains them.
    """

    name: Name
    steps: Positive
    model: Name | None = None
    throughputs: dict[Name, Annotated[float, Field(ge=0, le=1e12)]] = Field(default_factory=dict)
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    weight: Positive = 1.0
    slo: LongSeconds | None = None
    arrival: LongSeconds = 0.0
    entity: Annotated[str, Field(max_length=200)] = ""
    kind: Literal["training", "interactive", "inference"] = "training"
    rate: Rate | None = None
    latency_slo: LongSeconds | None = None
    checkpoint: Bytes = 0.0
    region: Annotated[str, Field(max_length=200)] = ""

    @model_validator(mode="before")
    @classmethod
    def _lasts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "duration" not in data:
            return data
        if data.get("kind", "training") == "training" or "steps" in data:
            raise PydanticCustomError(
                "training", "duration is for interactive and inference jobs, in place of steps; give steps"
            )
        try:
            seconds = parse_quantity(data["duration"], "time")
        except ValueError as error:
            raise PydanticCustomError("training", "duration: {why}", {"why": str(error)}) from None
        return {**{k: v for k, v in data.items() if k != "duration"}, "steps": seconds}

    @model_validator(mode="after")
    def _can_run(self) -> Self:
        if self.kind != "interactive" and self.model is None and not self.throughputs:
            raise PydanticCustomError(
                "training", "has neither model nor throughputs, so that nothing says how fast it is; give one"
            )
        if (self.kind == "inference") != (self.rate is not None):
            raise PydanticCustomError(
                "training", "rate (queries per second) and kind 'inference' go together; give both or neither"
            )
        if self.latency_slo is not None and self.kind != "inference":
            raise PydanticCustomError(
                "training", "latency_slo is for jobs of kind 'inference'; use slo for a deadline"
            )
        return self


class GenerateSpec(Part):
    """Jobs drawn as Gavel's generator draws them.

    ``mean_gap`` between arrivals (0: all at the start); ``multi_gpu``: some jobs take 2, 4 or 8 GPUs;
    ``measured``: first and last number of the jobs that metrics count, while others keep arriving.
    """

    jobs: Annotated[int, Field(ge=1, le=100_000)] = 120
    mean_gap: LongSeconds = 600.0
    multi_gpu: bool = False
    weights: bool = False
    slos: bool = False
    measured: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = None

    @model_validator(mode="after")
    def _measures_what_is_drawn(self) -> Self:
        if self.measured is not None and not self.measured[0] <= self.measured[1] < self.jobs:
            first, last = self.measured
            raise PydanticCustomError(
                "training",
                "measured [{first}, {last}] must be the first and last number of some of the {jobs} jobs, "
                "which are counted from 0; change it",
                {"first": first, "last": last, "jobs": self.jobs},
            )
        return self


class EntitySpec(Part):
    """A team: its weight, and whether its jobs share fairly or run first in, first out."""

    weight: Positive = 1.0
    policy: Literal["fairness", "fifo"] = "fairness"


class TrainingPolicySpec(Part):
    """A policy by name, with its options; in a file also just the name."""

    name: Name
    options: dict[str, Any] = Field(default_factory=dict)


TrainingPolicyEntry = Annotated[TrainingPolicySpec, BeforeValidator(named_entry), PlainSerializer(named_text)]


class TrainingSpec(Part):
    """Everything about long jobs on this cluster.

    Jobs are from a ``trace`` (Gavel's format, or CSV), from ``generate``, or in ``jobs``; or they are
    ``elastic``, with policies of their own, and no other key counts; one of the four.
    ``throughputs``: ``gavel`` (measured on K80, P100, V100), ``modelled`` (by the cost layer), or a CSV file.
    ``round`` is how long a job keeps its GPUs, ``reallocation`` the least time between two answers of a
    policy. ``prices``: US dollars per hour of a GPU, by type. ``estimator``, ``estimates``, ``moves``,
    ``failures`` and ``regions`` are switches; without them rates are known, moves are free, nothing fails.
    """

    trace: Name | None = None
    generate: GenerateSpec | None = None
    jobs: Annotated[tuple[TrainingJobSpec, ...], Field(max_length=10_000)] = ()
    elastic: ElasticSpec | None = None
    throughputs: Name = "gavel"
    round: Annotated[float, *quantity("time"), Field(gt=0, le=1e6)] = 360.0
    reallocation: LongSeconds = 1920.0
    space_sharing: bool = False
    entities: dict[Name, EntitySpec] = Field(default_factory=dict, max_length=200)
    prices: dict[Name, Price] = Field(default_factory=dict, max_length=100)
    estimator: EstimatorSpec | None = None
    estimates: EstimatesSpec | None = None
    moves: MovesSpec | None = None
    failures: FailuresSpec | None = None
    regions: RegionsSpec | None = None
    policies: Annotated[tuple[TrainingPolicyEntry, ...], Field(min_length=1, max_length=50)] = tuple(
        TrainingPolicySpec(name=n) for n in ("max-min-fairness", "fifo", "isolated")
    )

    @model_validator(mode="after")
    def _one_source_of_jobs(self) -> Self:
        given = (self.trace, self.generate, self.jobs or None, self.elastic)
        if sum(source is not None for source in given) != 1:
            raise PydanticCustomError(
                "training",
                "jobs are from a trace, from generate, in jobs, or elastic; give exactly one of the four",
            )
        return self

    @property
    def decided_by(self) -> tuple[str, ...]:
        """The names of the policies that decide on these jobs."""
        return tuple(p.name for p in (self.policies if self.elastic is None else self.elastic.policies))

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        counts = Counter(job.name for job in self.jobs)
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            raise PydanticCustomError(
                "training", "two jobs are called {name}; rename one of them", {"name": repr(twice)}
            )
        return self
