"""Switches of a training cluster, off by default: estimator, claims, moves, failures, regions."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.values import Bandwidth, Name, Part, PositiveSeconds, Seconds, quantity
from nona.units import parse_quantity


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
    """What a change of GPUs costs: a checkpoint is saved, sent and loaded, then the job warms up.

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
    """Which server groups (numbers from 0) are in which region, and the network between regions.

    A job runs in one region at a time. ``move``: jobs go to another region when the planner says that it
    pays; otherwise its advice is only shown.
    """

    groups: dict[Name, Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]]
    bandwidth: Bandwidth = 125e6
    rtt: Seconds = 0.06
    move: bool = False

    @_model_validator(mode="after")
    def _once(self) -> Self:
        numbers = [n for group in self.groups.values() for n in group]
        if not numbers or len(set(numbers)) < len(numbers):
            raise PydanticCustomError(
                "regions", "a server group must be in exactly one region; list each number once"
            )
        return self
