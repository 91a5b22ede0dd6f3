"""The part of a scenario that has elastic training jobs: their workload, profiles, policies and ticks."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.values import Fraction, Name, Part, named_entry, named_text, quantity


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
        """Whether the workload is one that ships.

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
