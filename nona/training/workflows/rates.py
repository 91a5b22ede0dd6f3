"""The jobs of a scenario and their rates: from a table, modelled, or their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath

from nona.cluster.hardware.device import Device, devices, user_devices
from nona.cluster.hardware.executor import make_executor_class as whole
from nona.core.errors import NonaError, ScenarioError, suggestion
from nona.core.rows import MOST_PROBLEMS
from nona.models.cost.costing import cost_graph
from nona.models.cost.options import MOST_QUERIES, CostOptions
from nona.models.cost.stated import carried
from nona.models.graph.model import ModelGraph
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.training import GAVEL, MODELLED, TrainingJobSpec, TrainingSpec, batch_of, with_batch
from nona.training.generated_jobs import generate
from nona.training.job_files import is_trace, read_job_table, read_trace, trace_jobs
from nona.training.system import AloneKey, Provenance, Throughputs, TrainingCluster, TrainingJob
from nona.training.throughput_table import (
    STACK,
    TrainingStep,
    read_throughputs,
    shipped_throughputs,
    training_step,
)


@dataclass(frozen=True, slots=True)
class GivenJob:
    """A job as it is given: ``rates`` by GPU if it has its own; ``place`` is where a user reads of it."""

    job: TrainingJob
    place: str
    rates: Mapping[str, float] = field(default_factory=dict)


def given_jobs(
    scenario: Scenario,
    spec: TrainingSpec,
    sources: Sources,
    table: Throughputs,
    gpus: Mapping[str, int],
    replication: int,
) -> tuple[GivenJob, ...]:
    """Return the jobs in order of arrival. Another ``replication`` draws others.

    Jobs that are given stay the same.

    ``gpus`` of each type bound what is drawn.
    """
    if spec.trace is not None:
        name = PurePath(spec.trace).name
        data = sources.read(spec.trace)
        jobs = (
            trace_jobs(read_trace(data, name), table, name) if is_trace(name) else read_job_table(data, name)
        )
        return tuple(GivenJob(job, f"Trace {name!r}, job {job.name!r}") for job in jobs)
    if spec.generate is not None:
        drawn = generate(spec.generate, table, scenario.seed, replication, gpus)
        return tuple(GivenJob(j, f"training.generate, job {j.name}") for j in trace_jobs(drawn, table))
    listed = [
        GivenJob(_listed(job), f"training.jobs[{i}]", job.throughputs) for i, job in enumerate(spec.jobs)
    ]
    return tuple(sorted(listed, key=lambda given: given.job.arrival_s))


def _listed(job: TrainingJobSpec) -> TrainingJob:
    return TrainingJob(
        name=job.name,
        model=job.model or job.name,
        steps=job.steps,
        workers=job.workers,
        weight=job.weight,
        slo_s=job.slo,
        arrival_s=job.arrival,
        entity=job.entity,
        kind=job.kind,
        rate=job.rate or 0.0,
        latency_slo_s=job.latency_slo,
        checkpoint_bytes=job.checkpoint,
        region=job.region,
    )


DEFAULT_BATCH = 32
"""Examples per GPU and step of a model whose name has no batch size."""

DRAWN: Mapping[str, tuple[int, ...]] = {
    "resnet18": (32, 64, 128, 256),
    "resnet50": (16, 32, 64),
    "mobilenet_v2": (32, 64, 128),
    "vit_b_16": (8, 16, 32),
    "bert_base": (2, 4, 8),
    "gpt2": (1, 2),
}
"""Shipped models and batch sizes that a generator chooses from where rates are modelled."""


@dataclass(frozen=True)
class ModelledRates:
    """Rates by :mod:`nona.training.throughput_table` on the GPUs of one scenario.

    GPUs of one server reduce over their peer link (the host's where there is none), those of several over the
    servers' cards, or the core's link where cards have no bandwidth of their own.
    """

    scenario: Scenario
    sources: Sources
    devices: Mapping[str, Device]
    cluster: TrainingCluster
    _steps: dict[tuple[str, str], TrainingStep] = field(default_factory=dict)
    _graphs: dict[str, ModelGraph] = field(default_factory=dict)

    def rate(self, gpu: str, name: str, workers: int, spread: bool = False) -> float:
        """Steps/s of ``workers`` GPUs; 0 where a step does not fit the memory of a GPU."""
        device = self.devices[gpu]
        step = self._step(device, name)
        if step.memory_bytes > device.memory_bytes:
            return 0.0
        network = self.scenario.cluster.network
        across = network.nic or network.capacity
        inside = device.peer_bandwidth or device.host_bandwidth or across
        if workers > max(self.cluster.nodes[gpu]) or spread:
            return step.steps_per_s(workers, min(inside, across), network.latency)
        return step.steps_per_s(workers, inside, 0.0)

    def graph(self, model: str) -> ModelGraph:
        """Return the graph of a model, read once."""
        if model not in self._graphs:
            self._graphs[model] = self.sources.model(model, inline=self.scenario.models)
        return self._graphs[model]

    def queries_per_s(self, gpu: str, model: str) -> float:
        """1 / the time of one query by the cost layer, at the scenario's stack and precision."""
        base, batch = batch_of(model)
        cost = self.scenario.cost
        options = CostOptions(cost.stack, cost.precision, batch or 1)
        seconds = cost_graph(self.graph(base), whole(self.devices[gpu]), options).total_compute_s
        return (batch or 1) / seconds if seconds > 0 else 0.0

    def ratio(self, name: str, source: Device, target: Device) -> float | None:
        """Speed on ``target`` over that on ``source`` of a model that is a sample; ``None`` for others."""
        model, batch = batch_of(name)
        sample = _SAMPLES.get(model)
        if sample is None:
            return None
        steps = (self._step(device, with_batch(sample, batch)) for device in (source, target))
        slow, fast = (step.steps_per_s(1, math.inf, 0.0) for step in steps)
        return fast / slow

    def _step(self, device: Device, name: str) -> TrainingStep:
        key = device.name, name
        if key not in self._steps:
            model, batch = batch_of(name)
            if (batch or 1) > MOST_QUERIES:
                raise ScenarioError(
                    [f"Model {name!r}: a batch of {batch} is larger than {MOST_QUERIES}; make it smaller."]
                )
            options = CostOptions(STACK, self.scenario.cost.precision, batch or DEFAULT_BATCH)
            self._steps[key] = training_step(self.graph(model), device, options)
        return self._steps[key]


# Models of Gavel's table that are samples here.
_SAMPLES = {"ResNet-18": "resnet18", "ResNet-50": "resnet50"}


def drawn_models() -> tuple[str, ...]:
    """Names of the models that a generator chooses from where rates are modelled.

    >>> drawn_models()[:2]
    ('resnet18 (batch size 32)', 'resnet18 (batch size 64)')
    """
    return tuple(with_batch(model, batch) for model, batches in DRAWN.items() for batch in batches)


SIZES = (1, 2, 4, 8)
"""Numbers of GPUs that generated jobs may take."""


def base_table(spec: TrainingSpec, sources: Sources, modelled: ModelledRates) -> Throughputs:
    """Return the table that the scenario names; where rates are modelled, that of the models to draw from."""
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


def with_all_types(table: Throughputs, modelled: ModelledRates) -> tuple[Throughputs, dict[str, str]]:
    """Return the table with rates on every type, and each type that was added → the type it is from.

    A type that the table does not have takes the rates of the one that is nearest in speed, times what the
    cost layer says of both: of the model where it is a sample, else of peak and bandwidth (their geometric
    mean). They are *modelled*. Types stay without rates where no type of the table is a known device.
    """
    cost, own = modelled.scenario.cost, user_devices(modelled.scenario.cluster.devices)
    options = CostOptions(STACK, cost.precision)
    here = {**devices(), **own}
    sources = [gpu for gpu in table.provenance if gpu in here]
    missing = [gpu for gpu in modelled.cluster.types if gpu not in table.provenance]
    carried_from: dict[str, str] = {}
    for gpu in missing if sources else ():
        ratio = {s: 1 / carried(None, whole(here[s]), whole(here[gpu]), options) for s in sources}
        source = min(sources, key=lambda s: abs(math.log(ratio[s])))
        names = {key.model for key in (*table.alone, *table.spread) if key.gpu == source}
        names |= {name for key in table.pairs if key.gpu == source for name in (key.model, key.partner)}
        ratios = {name: modelled.ratio(name, here[source], here[gpu]) for name in names}
        speed = {name: ratio[source] if r is None else r for name, r in ratios.items()}
        table = _with_type(table, gpu, source, speed)
        carried_from[gpu] = source
    return table, carried_from


def drawn_from(table: Throughputs, modelled: ModelledRates) -> Throughputs:
    """Return the table from which jobs are drawn; rates that it lacks are modelled."""
    measured = set(modelled.cluster.types) & set(table.provenance)
    return table if measured else with_all_types(table, modelled)[0]


def _with_type(table: Throughputs, gpu: str, source: str, speed: Mapping[str, float]) -> Throughputs:
    """Return the table with ``gpu``, whose rates are those of ``source`` times ``speed`` of the model."""
    alone, spread = (
        {**rates, **{k._replace(gpu=gpu): r * speed[k.model] for k, r in rates.items() if k.gpu == source}}
        for rates in (table.alone, table.spread)
    )
    pairs = {
        k._replace(gpu=gpu): (own * speed[k.model], other * speed[k.partner])
        for k, (own, other) in table.pairs.items()
        if k.gpu == source
    }
    provenance: dict[str, Provenance] = {**table.provenance, gpu: "modelled"}
    return replace(table, alone=alone, spread=spread, pairs={**table.pairs, **pairs}, provenance=provenance)


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
        """The table, with the rates of jobs that have their own."""
        if not self.own:
            return self.table
        return replace(
            self.table, alone={**self.table.alone, **self.own}, spread={**self.table.spread, **self.spread}
        )

    def enter(self, given: GivenJob) -> TrainingJob:
        """Return the job, under a model of its own where it has its own rates.

        A problem if it can run nowhere.
        """
        job = given.job
        if job.kind == "interactive":
            return self._training_job(given)
        if given.rates:
            return self._with_rates(job, given.rates, given.place)
        if job.timed_on:
            return self._timed(job, given.place)
        if self.table.source == MODELLED:
            self._model(job, given.place)
        self._check(job, given.place)
        return job

    def _with_rates(self, job: TrainingJob, rates: Mapping[str, float], place: str) -> TrainingJob:
        model = job.model if job.model == job.name else f"{job.model} of {job.name}"
        job = replace(job, model=f"{model} (own rates)" if model in self._models else model)
        self.own.update({AloneKey(gpu, job.model, job.workers): r for gpu, r in rates.items() if r > 0})
        self._check(job, place, own=True)
        return job

    def hold(self, job: TrainingJob, gpu: str) -> TrainingJob:
        """Return a job that holds its GPUs of one type: a second of its time is a step."""
        return self._with_rates(job, {gpu: 1.0}, f"Job {job.name!r}")

    def _timed(self, job: TrainingJob, place: str) -> TrainingJob:
        """Convert a job whose hours are stated for one GPU: other GPUs scale by the model's speed.

        By the table where it has rates of the model on both, else by the cost layer: of the model where it
        is a sample, else of peak and bandwidth (their geometric mean).
        """
        here = {**devices(), **self.modelled.devices}
        if (source := here.get(job.timed_on)) is None:
            self._refuse(f"{place}: gpu={job.timed_on!r} is no GPU; {suggestion(job.timed_on, here)}.")
            return job
        options = CostOptions(STACK, self.modelled.scenario.cost.precision)

        def speed(gpu: str) -> float:
            before, after = (self.table.rate(g, job.model, job.workers) for g in (job.timed_on, gpu))
            if gpu == job.timed_on or (before > 0 and after > 0):
                return 1.0 if gpu == job.timed_on else after / before
            modelled = self.modelled.ratio(job.model, source, here[gpu])
            return modelled or 1 / carried(None, whole(source), whole(here[gpu]), options)

        return self._with_rates(job, {gpu: speed(gpu) for gpu in self.cluster.types}, place)

    def _training_job(self, given: GivenJob) -> TrainingJob:
        job, types = given.job, self.cluster.types
        if given.rates:
            usable = [gpu for gpu in types if given.rates.get(gpu, 0.0) > 0]
        else:
            usable = [gpu for gpu in types if self.table.rate(gpu, job.model, job.workers) > 0] or list(types)
        return self._with_rates(job, dict.fromkeys(usable, 1.0), given.place)

    def _model(self, job: TrainingJob, place: str) -> None:
        for gpu in self.cluster.types:
            key = AloneKey(gpu, job.model, job.workers)
            if key in self.own or key in self.table.alone:
                continue
            try:
                rate = self.modelled.rate(*key)
            except NonaError as error:
                self._refuse(f"{place}: {error}")
                return
            if rate > 0:
                self.own[key] = rate
                self.spread[key] = self.modelled.rate(*key, spread=True)

    @cached_property
    def _models(self) -> tuple[str, ...]:
        return tuple(sorted({key.model for key in self.table.alone}))

    def _check(self, job: TrainingJob, place: str, own: bool = False) -> None:
        usable = [gpu for gpu in self.cluster.types if self._rate(gpu, job) > 0]
        if not usable:
            several = f" with {job.workers} GPUs" if job.workers > 1 else ""
            reason = f"{job.model[:80]!r} has no rate on {' or '.join(self.cluster.types)}{several}"
            self._refuse(f"{place}: {reason}; {self._remedy(job.model, own)}.")
        elif all(self.cluster.gpus[gpu] < job.workers for gpu in usable):
            most = max(self.cluster.gpus[gpu] for gpu in usable)
            self._refuse(
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
        return f"{suggestion(model, self._models)}, or another table of throughputs"

    def _rate(self, gpu: str, job: TrainingJob) -> float:
        return self.own.get(AloneKey(gpu, job.model, job.workers)) or self.table.rate(
            gpu, job.model, job.workers
        )

    def _refuse(self, problem: str) -> None:
        if len(self.problems) <= MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise the problems as one ``ScenarioError``, if there are some."""
        if self.problems:
            more = len(self.problems) > MOST_PROBLEMS
            last_line = ["training: further jobs cannot run; correct these first."] if more else []
            raise ScenarioError([*self.problems[:MOST_PROBLEMS], *last_line])
