"""A training cluster with its jobs: GPUs by type and server, jobs, throughputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Literal, NamedTuple

import numpy as np

from nona.allocation.problem import EntityShare
from nona.core.arrays import Bools
from nona.core.errors import SimulationError
from nona.scenario.training import EstimatesSpec, EstimatorSpec, FailuresSpec, MovesSpec, RegionsSpec

Provenance = Literal["measured", "modelled", "given"]


class AloneKey(NamedTuple):
    """A model on ``workers`` GPUs of type ``gpu``."""

    gpu: str
    model: str
    workers: int


class PairKey(NamedTuple):
    """Two models, each with ``workers`` workers, on the same GPUs of type ``gpu``."""

    gpu: str
    model: str
    partner: str
    workers: int


@dataclass(frozen=True)
class Throughputs:
    """A table of rates.

    ``alone``: steps/s; ``spread``: the same where the GPUs are on different servers; ``pairs``: (own,
    partner's) steps/s. What is not in it cannot run: 0. ``provenance`` says where rates are from, by GPU.

    >>> table = Throughputs({AloneKey("v100", "A3C", 1): 9.0})
    >>> table.rate("v100", "A3C", 1), table.rate("k80", "A3C", 1), table.pair("v100", "A3C", "A3C", 1)
    (9.0, 0.0, (0.0, 0.0))
    """

    alone: Mapping[AloneKey, float]
    pairs: Mapping[PairKey, tuple[float, float]] = field(default_factory=dict)
    spread: Mapping[AloneKey, float] = field(default_factory=dict)
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    source: str = ""

    def rate(self, gpu: str, model: str, workers: int) -> float:
        """Return steps per second alone, all GPUs on as few servers as possible."""
        return self.alone.get(AloneKey(gpu, model, workers), 0.0)

    def pair(self, gpu: str, model: str, partner: str, workers: int) -> tuple[float, float]:
        """Return the steps per second of both when they share GPUs, in either order of the table."""
        if (rates := self.pairs.get(PairKey(gpu, model, partner, workers))) is not None:
            return rates
        own, other = self.pairs.get(PairKey(gpu, partner, model, workers), (0.0, 0.0))
        return other, own


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``count`` nodes of one region with ``gpus`` GPUs of type ``gpu`` each."""

    gpu: str
    count: int
    gpus: int = 1
    region: str = ""


@dataclass(frozen=True)
class TrainingCluster:
    """Nodes in groups, and the price of a GPU of each type in US dollars an hour.

    >>> cluster = TrainingCluster((NodeGroup("v100", 2, 4), NodeGroup("k80", 1)), {"v100": 2.48})
    >>> cluster.types, cluster.gpus
    (('k80', 'v100'), {'k80': 1, 'v100': 8})
    """

    groups: tuple[NodeGroup, ...]
    prices: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.groups:
            raise SimulationError("Training cluster: it has no GPUs; give at least one server group.")

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of GPUs, in alphabetical order: the columns of every allocation."""
        return tuple(sorted({g.gpu for g in self.groups}))

    @cached_property
    def gpus(self) -> dict[str, int]:
        """GPUs of each type."""
        return {t: sum(g.count * g.gpus for g in self.groups if g.gpu == t) for t in self.types}

    @cached_property
    def nodes(self) -> dict[str, tuple[int, ...]]:
        """GPUs of each node of a type, in the order of the groups."""
        return {
            t: tuple(g.gpus for g in self.groups if g.gpu == t for _ in range(g.count)) for t in self.types
        }


JobKind = Literal["training", "interactive", "inference"]


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """One job, as it arrives.

    ``name``: unique in its workload.
    ``model``: what it trains, as the table of throughputs names it: ``ResNet-50 (batch size 64)``.
    ``steps``: steps in all; for an interactive job seconds of use, for an inference job seconds of service.
    ``workers``: GPUs that it takes at a time (the scale factor); for an inference job its replicas.
    ``weight``, ``entity``: its weight within its entity, and the entity's name ("": none).
    ``slo_s``: seconds after its admission by which it should be complete; ``None``: no deadline.
    ``arrival_s``: when it arrives.
    ``kind``: ``interactive`` jobs hold their GPUs from their first use to their end; ``inference`` jobs hold
        one GPU on each of ``workers`` different servers.
    ``rate``: queries per second of an inference job.
    ``latency_slo_s``: latency that an inference job's queries have to keep; ``None``: none.
    ``checkpoint_bytes``: size of what is saved and moved; 0: moves are free.
    ``region``: where its data are ("": anywhere).
    ``timed_on``: the GPU on which a step takes a second, for a job whose length is stated as hours there.
    """

    name: str
    model: str
    steps: float
    workers: int = 1
    weight: float = 1.0
    slo_s: float | None = None
    arrival_s: float = 0.0
    entity: str = ""
    kind: JobKind = "training"
    rate: float = 0.0
    latency_slo_s: float | None = None
    checkpoint_bytes: float = 0.0
    region: str = ""
    timed_on: str = ""

    def __post_init__(self) -> None:
        positive = {"steps": self.steps, "workers": self.workers, "weight": self.weight}
        for key, value in positive.items():
            if not (isfinite(value) and value > 0):
                raise SimulationError(f"Job {self.name!r}: {key}={value!r} must be above 0; raise it.")
        if not (isfinite(self.arrival_s) and self.arrival_s >= 0):
            raise SimulationError(
                f"Job {self.name!r}: arrival_s={self.arrival_s!r} must be at least 0; raise it."
            )


@dataclass(frozen=True)
class TrainingSystem:
    """``jobs`` are in order of arrival; their places are their numbers.

    ``measured``: first and last number of the jobs that metrics count; ``None``: all. ``round_s`` is how
    long a job keeps its GPUs, ``reallocation_s`` the least time between two answers of a policy. The
    switches ``estimator`` to ``regions`` are off where they are ``None``; ``notes`` say what was assumed,
    ``modelled`` names types of GPU whose rates are carried over from another type.
    """

    cluster: TrainingCluster
    jobs: tuple[TrainingJob, ...]
    throughputs: Throughputs
    entities: tuple[EntityShare, ...] = ()
    round_s: float = 360.0
    reallocation_s: float = 1920.0
    measured: tuple[int, int] | None = None
    seed: int = 0
    space_sharing: bool = False
    estimator: EstimatorSpec | None = None
    estimates: EstimatesSpec | None = None
    moves: MovesSpec | None = None
    failures: FailuresSpec | None = None
    regions: RegionsSpec | None = None
    notes: tuple[str, ...] = ()
    modelled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.jobs:
            raise SimulationError("Training: there are no jobs; give a trace, a generator or jobs.")
        arrivals = [job.arrival_s for job in self.jobs]
        if arrivals != sorted(arrivals):
            raise SimulationError("Training: jobs are not in order of arrival; sort them.")
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            twice = next(n for i, n in enumerate(names) if n in names[:i])
            raise SimulationError(f"Training: job name {twice!r} is given twice; rename one.")

    @cached_property
    def window(self) -> tuple[int, int]:
        """First and last number of the measured jobs."""
        last = len(self.jobs) - 1
        return (0, last) if self.measured is None else (self.measured[0], min(self.measured[1], last))

    @cached_property
    def counted(self) -> Bools:
        """(M,) Whether a job counts in the figures: the training jobs among the measured ones."""
        first, last = self.window
        return np.array([first <= n <= last and job.kind == "training" for n, job in enumerate(self.jobs)])
