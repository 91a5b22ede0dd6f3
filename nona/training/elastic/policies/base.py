"""What a policy for elastic jobs is, what it is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nona.look import Look
from nona.options import Options
from nona.training.elastic.applications.application import Noise
from nona.training.elastic.applications.batches import Split
from nona.training.elastic.applications.times import Counts, StepTime
from nona.training.elastic.model.given import Given
from nona.training.elastic.model.link import Link
from nona.training.elastic.model.system import ElasticJob, ElasticSystem


@dataclass(frozen=True, slots=True)
class Active:
    """A job that came and is not complete, as a policy sees it.

    ``epoch`` from 0; ``given`` its GPUs now; ``gpu_s`` GPU-seconds that it had; ``restarts`` after its first
    start; ``age_s`` since its arrival.
    """

    number: int
    job: ElasticJob
    epoch: int
    given: Given
    gpu_s: float
    restarts: int
    age_s: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """The link, and by job its utilisation and the seconds that one of its messages takes alone."""

    link: Link
    load: Mapping[int, float]
    service_s: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Question:
    """Who shall have which GPUs during the next tick? ``jobs`` are in order of arrival.

    ``traffic``: on the link during the last tick; only for policies of network view N4.
    """

    time_s: float
    jobs: tuple[Active, ...]
    traffic: Traffic | None = None


def of_jobs(jobs: Iterable[Active], values: Iterable[float]) -> dict[int, float]:
    """Values in the order of jobs, by the jobs' numbers."""
    return {active.number: float(value) for active, value in zip(jobs, values, strict=True)}


@dataclass(frozen=True, slots=True)
class Answer:
    """GPUs by the job's number, in the order of giving; others get none. ``values``: why, by job.

    ``facts``: what else the policy knew of jobs: what a figure is → job → figure.
    """

    given: Mapping[int, Given]
    values: Mapping[int, float]
    facts: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def facts_of(self, job: int) -> dict[str, float]:
        """What else the policy knew of one job."""
        return {what: of[job] for what, of in self.facts.items() if job in of}


class Agent(Protocol):
    """Chooses the batch size of one job, and sees what is measured of it."""

    def split(self, counts: Counts) -> Split:
        """The batch on these GPUs; asked when they change, and after each tick and epoch."""

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """What a step took, and the gradient's noise."""


class Planner(Protocol):
    """A policy in one run; may remember what it was asked before."""

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Who chooses the job's batch size."""

    def plan(self, question: Question) -> Answer:
        """The GPUs of every job."""


@dataclass(frozen=True, slots=True)
class ElasticPolicy:
    """A policy's declaration.

    ``summary``, ``source``, ``adaptation``: what it does, where it is from, what was changed or assumed.
    ``tuned_by_user``: whether it takes GPUs or batch sizes that the user chose. ``value``: what
    ``Answer.values`` are; "" where it gives none. ``drawn``: whether it draws random numbers. ``prepare``
    makes the planner of a run and refuses options that are not in ``defaults``; its generator belongs to
    the run.
    """

    name: str
    title: str
    summary: str
    source: str
    adaptation: str
    prepare: Callable[[ElasticSystem, Options, np.random.Generator], Planner]
    defaults: Options
    option_help: Mapping[str, str]
    network_view: str
    tuned_by_user: bool
    look: Look
    value: str = ""
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class FixedBatch:
    """The batch size that the user chose, divided evenly."""

    job: ElasticJob

    def split(self, counts: Counts) -> Split:
        """B as it is, whatever the placement."""
        return self.job.application.batches.split(self.job.batch, sum(counts))

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Nothing is learnt."""
