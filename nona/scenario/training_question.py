"""The file of ``nona training allocate``: one question to a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from nona.scenario.file import parse_part, scenario_text
from nona.scenario.training import EntitySpec, LongSeconds, Positive, Price
from nona.scenario.values import Name, ScenarioPart, field

Throughput = Annotated[float, Field(ge=0, le=1e12)]
Gpus = Annotated[int, Field(ge=0, le=1_000_000)]
WHAT = "Question"


class QuestionJob(ScenarioPart):
    """A job at this moment."""

    name: Name = field(..., "Name", "Unique among the jobs.")
    throughputs: dict[Name, Throughput] = field(
        ..., "Throughputs", "Steps/s of the whole job by type of GPU; a type that is left out cannot run it."
    )
    workers: int = field(1, "GPUs", "That the job takes at a time.", ge=1, le=1024)
    weight: Positive = field(1.0, "Weight", "A job of weight 2 deserves twice the share.")
    remaining_steps: Positive | None = field(
        None, "Steps left", "Needed by policies that look at the time left.", none="not known"
    )
    slo: LongSeconds | None = field(
        None, "Deadline", "Seconds from its admission to its deadline.", none="none"
    )
    elapsed: LongSeconds = field(0.0, "Elapsed", "Seconds since its admission.")
    isolated_elapsed: LongSeconds = field(
        0.0,
        "Elapsed alone",
        "Seconds that its steps so far would have taken on an equal share of the cluster.",
    )
    entity: str = field("", "Team", "One of the entities.", max_length=200)


class QuestionPair(ScenarioPart):
    """Two jobs on the same GPUs."""

    jobs: tuple[Name, Name] = field(..., "Jobs", "Names of the two.")
    throughputs: dict[Name, tuple[Throughput, Throughput]] = field(
        ..., "Throughputs", "Steps/s of the first and of the second, by type of GPU."
    )


class QuestionSpec(ScenarioPart):
    """GPUs and the jobs that share them."""

    workers: dict[Name, Gpus] = field(..., "GPUs", "How many there are of each type.")
    jobs: tuple[QuestionJob, ...] = field(
        ..., "Jobs", "That share the GPUs now.", min_length=1, max_length=100_000
    )
    entities: dict[Name, EntitySpec] = field({}, "Teams", "By name.", max_length=10_000)
    prices: dict[Name, Price] = field({}, "Prices", "US dollars per hour of a GPU, by type.", max_length=100)
    pairs: tuple[QuestionPair, ...] = field((), "Pairs", "Jobs that may share GPUs.", max_length=5_000_000)

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

    Raises ``ScenarioError`` with all that is wrong at once.

    >>> parse_question(b"{workers: {v100: 1}, jobs: [{name: a, throughputs: {v100: 2}}]}").jobs[0].workers
    1
    """
    return parse_part(scenario_text(data, name, WHAT), QuestionSpec, WHAT)
