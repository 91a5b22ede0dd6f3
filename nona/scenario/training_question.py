"""The file of ``nona training allocate``: one question to a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.file import parse_part, scenario_text
from nona.scenario.training import EntitySpec, LongSeconds, Positive, Price
from nona.scenario.values import Name, Part

Throughput = Annotated[float, Field(ge=0, le=1e12)]
Gpus = Annotated[int, Field(ge=0, le=1_000_000)]
WHAT = "Question"


class QuestionJob(Part):
    """A job at this moment.

    ``throughputs``: steps/s of the whole job by type of GPU; a type that is left out cannot run it.
    ``remaining_steps`` is needed by policies that look at the time left. ``slo``: seconds from its admission
    to its deadline; ``elapsed``: seconds since its admission; ``isolated_elapsed``: seconds that its steps so
    far would have taken on an equal share of the cluster.
    """

    name: Name
    throughputs: dict[Name, Throughput]
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    weight: Positive = 1.0
    remaining_steps: Positive | None = None
    slo: LongSeconds | None = None
    elapsed: LongSeconds = 0.0
    isolated_elapsed: LongSeconds = 0.0
    entity: Annotated[str, Field(max_length=200)] = ""


class QuestionPair(Part):
    """Two jobs on the same GPUs: steps/s of the first and of the second, by type of GPU."""

    jobs: tuple[Name, Name]
    throughputs: dict[Name, tuple[Throughput, Throughput]]


class QuestionSpec(Part):
    """GPUs by type (``workers``), the jobs that share them, teams, prices in US dollars per hour, pairs."""

    workers: dict[Name, Gpus]
    jobs: Annotated[tuple[QuestionJob, ...], Field(min_length=1, max_length=100_000)]
    entities: dict[Name, EntitySpec] = Field(default_factory=dict, max_length=10_000)
    prices: dict[Name, Price] = Field(default_factory=dict, max_length=100)
    pairs: Annotated[tuple[QuestionPair, ...], Field(max_length=5_000_000)] = ()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        if problems := list(self._problems()):
            raise PydanticCustomError("training", "{text}", {"text": "; ".join(problems)})
        return self

    def _problems(self) -> Iterator[str]:
        if not any(self.workers.values()):
            yield "workers has no GPUs; give at least one type a count of 1"
        workers_of: dict[str, int] = {}
        for job in self.jobs:
            if job.name in workers_of:
                yield f"job {job.name!r} is there twice; rename one"
            workers_of[job.name] = job.workers
            if self.entities and job.entity and job.entity not in self.entities:
                yield f"job {job.name!r}: entity {job.entity!r} is not in entities; add it there"
        for a, b in (pair.jobs for pair in self.pairs):
            for name in dict.fromkeys((a, b)):
                if name not in workers_of:
                    yield f"pair ({a}, {b}): job {name!r} is not in jobs; correct the name"
            if a == b:
                yield f"pair ({a}, {b}): a job cannot share GPUs with itself; name two jobs"
            elif workers_of.get(a, 1) != workers_of.get(b, 1) and {a, b} <= workers_of.keys():
                yield f"pair ({a}, {b}): the jobs have unequal workers; pair jobs with equally many"


def parse_question(data: bytes, name: str = "file") -> QuestionSpec:
    """Read a question from the bytes of a YAML or JSON file called ``name``.

    Raises
    ------
    ScenarioError
        All that is wrong at once.

    Examples
    --------
    >>> parse_question(b"{workers: {v100: 1}, jobs: [{name: a, throughputs: {v100: 2}}]}").jobs[0].workers
    1
    """
    return parse_part(scenario_text(data, name, WHAT), QuestionSpec, WHAT)
