"""The part of a scenario that makes its cluster a training cluster: jobs, throughputs, policies, rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.training_elastic import ElasticSpec
from nona.scenario.training_extensions import (
    EstimatesSpec,
    EstimatorSpec,
    FailuresSpec,
    MovesSpec,
    RegionsSpec,
)
from nona.scenario.values import (
    Bytes,
    Name,
    Part,
    Rate,
    named_entry,
    named_text,
    quantity,
)
from nona.units import parse_quantity

LongSeconds = Annotated[float, *quantity("time"), Field(ge=0, le=1e9)]
Positive = Annotated[float, Field(gt=0, le=1e15)]
Price = Annotated[float, Field(ge=0, le=1e6)]


class TrainingJobSpec(Part):
    """A job given in the scenario: by ``model`` from the table of throughputs, or with its own rates.

    ``throughputs``: steps/s of the whole job by type of GPU; for an inference job queries/s of a replica.
    Interactive and inference jobs may have a ``duration`` in place of steps, which for them are seconds.
    Other keys as :class:`nona.training.model.job.Job` explains them.
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

    @_model_validator(mode="before")
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

    @_model_validator(mode="after")
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

    @_model_validator(mode="after")
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

    @_model_validator(mode="after")
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

    @_model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        counts = Counter(job.name for job in self.jobs)
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            raise PydanticCustomError(
                "training", "two jobs are called {name}; rename one of them", {"name": repr(twice)}
            )
        return self
