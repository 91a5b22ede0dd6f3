"""The part on training clusters: jobs, policies, rounds, elastic jobs, switches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from nona.core.units import parse_quantity
from nona.scenario.values import (
    Bandwidth,
    Bytes,
    Fraction,
    Name,
    NamedEntries,
    PositiveSeconds,
    Rate,
    ScenarioPart,
    Seconds,
    Share,
    Time,
    field,
    named,
    quantity,
)

GAVEL, MODELLED = "gavel", "modelled"
TABLES = (GAVEL, MODELLED)
_BATCHED = re.compile(r"(.+) \(batch size (\d{1,6})\)")


def batch_of(name: str) -> tuple[str, int | None]:
    """Return a model's own name and its batch size, ``None`` where the name has none.

    >>> batch_of("resnet50 (batch size 64)"), batch_of("A3C")
    (('resnet50', 64), ('A3C', None))
    """
    match = _BATCHED.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def with_batch(model: str, batch: int | str | None) -> str:
    """Return the name of a model at a batch size.

    >>> with_batch("LM", 5), with_batch("A3C", None), with_batch("A3C", "")
    ('LM (batch size 5)', 'A3C', 'A3C')
    """
    return f"{model} (batch size {batch})" if batch else model


class ProfilesSpec(ScenarioPart):
    """The four CSV files of one's own applications; columns as in those that ship."""

    applications: Name = field("applications.csv", "Applications", "The file of applications.")
    placements: Name = field("placements.csv", "Placements", "The file of times by placement.")
    scalability: Name = field("scalability.csv", "Scalability", "The file of times by nodes and GPUs.")
    epochs: Name = field("epochs.csv", "Epochs", "The file of epochs by batch size.")


def _workload(value: object) -> object:
    """Return the number of a workload that ships may be written as one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _number_or_file(value: str) -> str | int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else value


WorkloadName = Annotated[Name, BeforeValidator(_workload), PlainSerializer(_number_or_file)]
MOST_TICK_S, MOST_RESTART_S = 86_400, 3_600


class ElasticSpec(ScenarioPart):
    """Elastic jobs on the cluster's servers, which are nodes that are all alike."""

    workload: WorkloadName = field(
        "1",
        "Workload",
        "1 to 4: 160 jobs in 8 hours, as measured for Pollux. Or a CSV file with name, arrival_s, "
        "application, gpus, batch_size, the last two as users ask for them.",
    )
    load: Annotated[float, Field(gt=0, le=4)] = field(
        1.0,
        "Relative load",
        "Factor on the number of jobs in the same hours. Below 1, jobs are left out evenly; above 1, jobs of "
        "the next workloads are added.",
    )
    profiles: ProfilesSpec | None = field(
        None, "Profiles", "Files of your own applications.", none="the six applications that ship"
    )
    tick: Time = field(60.0, "Tick", "How often policies are asked.", ge=1, le=MOST_TICK_S)
    restart: Annotated[Time, Field(ge=0, le=MOST_RESTART_S)] = field(
        30.0, "Restart", "How long a job pauses before it starts, and when its GPUs change."
    )
    interference: Fraction = field(
        0.0,
        "Interference",
        "Speed that a job on several nodes loses if it shares a node with another such job.",
    )
    link: bool = field(
        False,
        "Gradients cross the link",
        "Off: synchronising takes as long as measured. On: jobs on several nodes exchange their gradients "
        "over the link that all servers share, and wait for each other and for background traffic.",
    )
    policies: NamedEntries = named(
        "Policies",
        "Every policy that is chosen gets the same jobs. Pollux takes about a minute, the others seconds.",
        "pollux optimus tiresias",
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
Interval = Annotated[Literal["young", "daly", "best"] | PositiveSeconds, BeforeValidator(_interval)]
LongTime = Annotated[float, *quantity("time"), Field(gt=0, le=1e9)]
Factor = Annotated[float, Field(ge=1, le=100)]


class EstimatorSpec(ScenarioPart):
    """Rates of jobs on the same GPUs are estimated from a few profiled pairs, until they were measured."""

    profiled: Annotated[Share, Field(gt=0, le=1)] = field(
        0.2, "Profiled pairs", "Share of a new job's pairs that are measured before it starts, such as 20 %."
    )
    rank: int = field(10, "Rank", "Rank of the matrix completion.", ge=1, le=100)
    ridge: float = field(0.01, "Ridge", "Weight of the ridge penalty in the matrix completion.", gt=0, le=100)


class EstimatesSpec(ScenarioPart):
    """Policies see users' claims T·e^noise instead of the rates T."""

    error: Factor = field(
        1.5,
        "Error, factor",
        "Factor by which a claim is off, job by job and type by type, at one standard deviation of its "
        "logarithm; 1: never.",
    )
    bias: Factor = field(
        1.0,
        "Bias of a user, factor",
        "The same for a factor that all claims of one user (team) share; 1: none.",
    )
    correct: bool = field(
        True,
        "Claims are corrected",
        "Rounds measure rates, and claims are corrected by them. Off: policies believe the claims.",
    )
    prior: Annotated[float, Field(gt=0, le=1000)] = field(
        1.0,
        "Weight of a claim, rounds",
        "How many measured rounds a claim counts for, where claims are corrected.",
    )
    flag: Annotated[float, Field(gt=1, le=100)] = field(
        1.5,
        "Flag above, factor",
        "A job is flagged when its claim is off by more than this factor after 3 rounds.",
    )


class MovesSpec(ScenarioPart):
    """The cost of a change of GPUs: a checkpoint is saved, sent and loaded, then the job warms up."""

    save: Bandwidth = field(1e9, "Saving", "Bandwidth at which a checkpoint is saved.")
    network: Bandwidth = field(1.25e9, "Sending", "Bandwidth at which a checkpoint is sent.")
    load: Bandwidth = field(1e9, "Loading", "Bandwidth at which a checkpoint is loaded.")
    warmup: Seconds = field(10.0, "Warm-up", "Time from a loaded checkpoint to the first step.")
    charge: bool = field(
        False,
        "Policies are charged for moves",
        "A new allocation is used only if it gains more steps within the horizon than its moves lose. A "
        "moved job keeps its GPUs for a while.",
    )
    overhead: Annotated[Share, Field(gt=0, le=1)] = field(
        0.05,
        "Overhead",
        "Largest share of a job's time on its GPUs that a move may take, such as 5 %.",
        when=("charge", [True]),
    )
    horizon: LongTime | None = field(
        None,
        "Horizon",
        "Time within which a new allocation must pay off.",
        when=("charge", [True]),
        none="the time between two allocations",
    )


class FailuresSpec(ScenarioPart):
    """Nodes fail after exponential times; a job goes on from its last checkpoint."""

    mtbf: LongTime = field(7 * 86400.0, "Mean time between failures", "Of one node; exponential.")
    checkpoint: Seconds = field(30.0, "Checkpoint takes", "Time to save one checkpoint.")
    restart: Seconds = field(60.0, "Restart takes", "Time from a failure until work goes on.")
    interval: Interval = field(
        "daly",
        "Checkpoint interval",
        "Work between two checkpoints: by a formula, the best by simulation, or a time such as 20 min.",
        choices={"daly": "Daly's formula", "young": "Young's formula", "best": "best by simulation"},
    )


class RegionsSpec(ScenarioPart):
    """Regions of the servers, far apart; a job runs in one at a time."""

    groups: dict[Name, Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]] = field(
        ..., "Regions", "By name: the numbers (from 0) of its groups of servers."
    )
    bandwidth: Bandwidth = field(125e6, "Bandwidth between regions", "Of a move between two.")
    rtt: Seconds = field(0.06, "RTT between regions", "Round-trip time, added to each move.")
    move: bool = field(
        False,
        "Jobs move between regions",
        "Jobs go to another region when the planner finds that more is gained before the next change than "
        "the move costs. Off: its advice is only shown.",
    )

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


class TrainingJobSpec(ScenarioPart):
    """A job given in the scenario."""

    name: Name = field(..., "Name", "Unique among the jobs.")
    steps: Positive = field(
        ...,
        "Steps",
        "That the job takes. Interactive and inference jobs may have a duration instead, in seconds.",
    )
    model: Name | None = field(None, "Model", "Of the table of throughputs.", none="its own throughputs")
    throughputs: dict[Name, Annotated[float, Field(ge=0, le=1e12)]] = field(
        {},
        "Throughputs",
        "Steps/s of the whole job by type of GPU; for an inference job queries/s of a replica.",
    )
    workers: int = field(1, "GPUs", "That the job takes at a time.", ge=1, le=1024)
    weight: Positive = field(1.0, "Weight", "A job of weight 2 deserves twice the share.")
    slo: LongSeconds | None = field(None, "Deadline", "From its admission to its end.", none="none")
    arrival: LongSeconds = field(0.0, "Arrival", "From the start of the run.")
    entity: str = field("", "Team", "One of the entities.", max_length=200)
    kind: Literal["training", "interactive", "inference"] = field(
        "training",
        "Kind",
        "Interactive jobs hold their GPUs to their end; inference jobs serve queries on replicas.",
    )
    rate: Rate | None = field(None, "Queries", "Per second, of an inference job.", none="no inference job")
    latency_slo: LongSeconds | None = field(None, "SLO of queries", "Of an inference job.", none="none")
    checkpoint: Bytes = field(0.0, "Checkpoint", "Size of what a move saves and sends; 0: moves are free.")
    region: str = field("", "Region", "Where its data are; empty: anywhere.", max_length=200)

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


class GenerateSpec(ScenarioPart):
    """Jobs drawn as Gavel's generator draws them."""

    jobs: int = field(120, "Jobs", "How many jobs arrive in each run.", ge=1, le=100_000)
    mean_gap: LongSeconds = field(
        600.0,
        "Mean gap",
        "Mean time from an arrival to the next (exponential); 0 s: all jobs are there at the start.",
    )
    multi_gpu: bool = field(False, "Multi-GPU jobs", "30 % of the jobs take 2, 4 or 8 GPUs at a time.")
    weights: bool = field(False, "Weights", "A fifth of the jobs has weight 5, the others 1.")
    slos: bool = field(
        False, "Deadlines", "Each job has an SLO of 1.2, 2 or 10 times its duration on a V100."
    )
    measured: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = field(
        None,
        "Measured jobs",
        "First and last number of the jobs that count, such as 100 to 200. The others only add load.",
        none="all",
    )

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


class EntitySpec(ScenarioPart):
    """A team."""

    weight: Positive = field(1.0, "Weight", "A team of weight 2 deserves twice the share.")
    policy: Literal["fairness", "fifo"] = field(
        "fairness", "Its jobs", "Share fairly, or run first in, first out."
    )


class TrainingSpec(ScenarioPart):
    """Everything about long jobs on this cluster."""

    trace: Name | None = field(
        None,
        "Trace",
        "Gavel's format: ten columns with tabs between them, a line for each job. CSV: a first line with "
        "the names of the columns: name, hours, gpu, workers, arrival; or model and steps for hours and gpu.",
        none="jobs from elsewhere",
    )
    generate: GenerateSpec | None = field(
        None, "Generator", "Draws jobs as Gavel's does.", none="jobs from elsewhere"
    )
    jobs: tuple[TrainingJobSpec, ...] = field((), "Jobs", "Listed in the scenario.", max_length=10_000)
    elastic: ElasticSpec | None = field(
        None,
        "Elastic jobs",
        "With policies of their own; no other key counts then.",
        none="jobs of fixed size",
    )
    throughputs: Name = field(
        "gavel",
        "Throughputs",
        "Steps per second of each job on each type. Measured by Gavel's authors on K80, P100 and V100, "
        "modelled by the cost layer, or in a CSV file.",
        choices={"gavel": "measured (Gavel)", "modelled": "modelled"},
    )
    round: Annotated[Time, Field(gt=0, le=1e6)] = field(
        360.0, "Round", "How long a job keeps its GPUs before the next choice. Gavel: 6 minutes."
    )
    reallocation: LongSeconds = field(
        1920.0, "Reallocation", "The least time between two allocations of a policy. Gavel: 32 minutes."
    )
    space_sharing: bool = field(
        False, "Space sharing", "Two jobs may use the same GPU, where their pair was measured."
    )
    entities: dict[Name, EntitySpec] = field({}, "Teams", "By name.", max_length=200)
    prices: dict[Name, Price] = field(
        {}, "Price, $/h", "US dollars an hour for one GPU of a type, in every group.", max_length=100
    )
    estimator: EstimatorSpec | None = field(
        None,
        "Estimated pairs",
        "Rates of two jobs on one GPU are estimated from a few profiled pairs. For space sharing.",
        none="rates are known",
    )
    estimates: EstimatesSpec | None = field(
        None,
        "Users' estimates",
        "Policies see the rates that users claim, which are wrong by a factor.",
        none="rates are known",
    )
    moves: MovesSpec | None = field(
        None,
        "Moves cost time",
        "A change of GPUs saves, sends and loads a checkpoint.",
        none="moves are free",
    )
    failures: FailuresSpec | None = field(
        None, "Failures", "Nodes fail; jobs go on from their last checkpoint.", none="nothing fails"
    )
    regions: RegionsSpec | None = field(
        None, "Regions", "Server groups are far apart; moves between them are slow.", none="one region"
    )
    policies: NamedEntries = named(
        "Policies",
        "Every policy that is chosen gets the same jobs on the same GPUs.",
        "max-min-fairness fifo isolated",
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
