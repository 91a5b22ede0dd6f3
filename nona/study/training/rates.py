"""The rates of a scenario's jobs: those of a table, modelled ones, and the jobs' own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath

from nona.errors import NonaError, ScenarioError
from nona.scenario.training import TrainingSpec
from nona.sources.lookup import Sources
from nona.sources.near import instead
from nona.study.training.jobs import GivenJob
from nona.study.training.modelled import ModelledRates, drawn_models
from nona.training.model.cluster import TrainingCluster
from nona.training.model.job import Job
from nona.training.model.throughputs import AloneKey, Provenance, Throughputs
from nona.training.workload.rows import MOST_PROBLEMS
from nona.training.workload.table import GAVEL, MODELLED, read_throughputs, shipped_throughputs

SIZES = (1, 2, 4, 8)
"""Numbers of GPUs that generated jobs may take."""


def base_table(spec: TrainingSpec, sources: Sources, modelled: ModelledRates) -> Throughputs:
    """The table that the scenario names; where rates are modelled, that of the models to draw from.

    Raises
    ------
    NonaError
        When the file cannot be read: all that is wrong with it.
    """
    if spec.throughputs == GAVEL:
        return shipped_throughputs()
    if spec.throughputs != MODELLED:
        return read_throughputs(sources.read(spec.throughputs), PurePath(spec.throughputs).name)
    provenance: dict[str, Provenance] = dict.fromkeys(modelled.cluster.types, "modelled")
    empty = Throughputs({}, provenance=provenance, source=MODELLED)
    if spec.generate is None:
        return empty
    sizes = SIZES if spec.generate.multi_gpu else SIZES[:1]
    drawn = [(gpu, model, size) for gpu in provenance for model in drawn_models() for size in sizes]
    alone = {AloneKey(*key): rate for key in drawn if (rate := modelled.rate(*key)) > 0}
    spread = {AloneKey(*key): modelled.rate(*key, spread=True) for key in alone if key.workers > 1}
    return replace(empty, alone=alone, spread=spread)


@dataclass(frozen=True)
class RateBook:
    """Rates of jobs as they are entered, over a ``table``; :meth:`throughputs` holds them all."""

    table: Throughputs
    modelled: ModelledRates
    cluster: TrainingCluster
    own: dict[AloneKey, float] = field(default_factory=dict)
    spread: dict[AloneKey, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def throughputs(self) -> Throughputs:
        """The table with what jobs have of their own."""
        if not self.own:
            return self.table
        return replace(
            self.table, alone={**self.table.alone, **self.own}, spread={**self.table.spread, **self.spread}
        )

    def enter(self, given: GivenJob) -> Job:
        """The job, under a model of its own where it has its own rates; a problem if it can run nowhere."""
        job = given.job
        if job.kind == "interactive":
            return self._held(given)
        if given.rates:
            return self._with_rates(job, given.rates, given.place)
        if self.table.source == MODELLED:
            self._model(job, given.place)
        self._check(job, given.place)
        return job

    def _with_rates(self, job: Job, rates: Mapping[str, float], place: str) -> Job:
        model = job.model if job.model == job.name else f"{job.model} of {job.name}"
        job = replace(job, model=f"{model} (own rates)" if model in self._models else model)
        self.own.update({AloneKey(gpu, job.model, job.workers): r for gpu, r in rates.items() if r > 0})
        self._check(job, place, own=True)
        return job

    def hold(self, job: Job, gpu: str) -> Job:
        """A job that holds its GPUs of one type: a second of its time is a step."""
        return self._with_rates(job, {gpu: 1.0}, f"Job {job.name!r}")

    def _held(self, given: GivenJob) -> Job:
        """An interactive job: a second of its use is a step, on every GPU that it may take."""
        job, types = given.job, self.cluster.types
        if given.rates:
            usable = [gpu for gpu in types if given.rates.get(gpu, 0.0) > 0]
        else:
            usable = [gpu for gpu in types if self.table.rate(gpu, job.model, job.workers) > 0] or list(types)
        return self._with_rates(job, dict.fromkeys(usable, 1.0), given.place)

    def _model(self, job: Job, place: str) -> None:
        """Enter the modelled rates of a job's model on so many GPUs."""
        for gpu in self.cluster.types:
            key = AloneKey(gpu, job.model, job.workers)
            if key in self.own or key in self.table.alone:
                continue
            try:
                rate = self.modelled.rate(*key)
            except NonaError as error:
                self._tell(f"{place}: {error}")
                return
            if rate > 0:
                self.own[key] = rate
                self.spread[key] = self.modelled.rate(*key, spread=True)

    @cached_property
    def _models(self) -> tuple[str, ...]:
        return tuple(sorted({key.model for key in self.table.alone}))

    def _check(self, job: Job, place: str, own: bool = False) -> None:
        """Tell if no type of GPU can run the job: too few GPUs, or no rate."""
        usable = [gpu for gpu in self.cluster.types if self._rate(gpu, job) > 0]
        if not usable:
            several = f" with {job.workers} GPUs" if job.workers > 1 else ""
            told = f"{job.model[:80]!r} has no rate on {' or '.join(self.cluster.types)}{several}"
            self._tell(f"{place}: {told}; {self._remedy(job.model, own)}.")
        elif all(self.cluster.gpus[gpu] < job.workers for gpu in usable):
            most = max(self.cluster.gpus[gpu] for gpu in usable)
            self._tell(
                f"{place}: workers={job.workers} is more than the {most} GPUs of a type that can run it; "
                "lower it or add servers."
            )

    def _remedy(self, model: str, own: bool) -> str:
        if own:
            return "give a rate above 0 for one of them"
        if self.table.source == MODELLED:
            return "a step does not fit their memory: lower the batch size or add larger GPUs"
        if model in self._models:
            return "add GPUs that can run it"
        return f"{instead(model, self._models)}, or another table of throughputs"

    def _rate(self, gpu: str, job: Job) -> float:
        return self.own.get(AloneKey(gpu, job.model, job.workers)) or self.table.rate(
            gpu, job.model, job.workers
        )

    def _tell(self, problem: str) -> None:
        if len(self.problems) <= MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise the problems of all jobs at once."""
        if self.problems:
            more = len(self.problems) > MOST_PROBLEMS
            told = ["training: further jobs cannot run; correct these first."] if more else []
            raise ScenarioError([*self.problems[:MOST_PROBLEMS], *told])
