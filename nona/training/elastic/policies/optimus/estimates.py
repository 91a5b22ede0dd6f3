"""What Optimus believes of a job: seconds of a step by GPUs, and iterations left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from nona.allocation.policies.problem import Floats
from nona.errors import SimulationError
from nona.training.elastic.applications.application import Application, Noise
from nona.training.elastic.applications.batches import Split
from nona.training.elastic.applications.times import Counts, StepTime
from nona.training.elastic.model.system import Cluster, ElasticJob
from nona.training.elastic.policies.base import Active, Agent, FixedBatch
from nona.training.elastic.policies.optimus.convergence import remaining_epochs
from nona.training.elastic.policies.optimus.step_time import Shape, fit_step, step_s
from nona.training.elastic.policies.placing import compact

TRIED = (1, 2, 4, 8, 16)
"""GPUs on which a job is tried before it starts: five settings, as the paper is recollected."""


class Estimates(Protocol):
    """Of all jobs of a run."""

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Who sees what is measured of a job."""

    def left(self, active: Active) -> float:
        """Iterations left."""

    def step_s(self, active: Active, gpus: int) -> float:
        """θ(r): seconds of a step on as few nodes as possible."""


@dataclass(frozen=True)
class Known:
    """True step times and remaining iterations: the oracle of Pollux's public simulator.

    A batch on one GPU always has two parts.
    """

    cluster: Cluster
    _seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return FixedBatch(job)

    def left(self, active: Active) -> float:
        """By whole epochs."""
        return active.job.application.remaining_iterations(active.job.batch, active.epoch)

    def step_s(self, active: Active, gpus: int) -> float:
        """Known after the first question."""
        application, batch = active.job.application, active.job.batch
        known = self._seconds.setdefault((application.name, batch), [])
        while len(known) < gpus:
            known.append(self._computed(application, batch, len(known) + 1))
        return known[gpus - 1]

    def _computed(self, application: Application, batch: int, gpus: int) -> float:
        counts = compact(self.cluster, gpus)
        return application.step(counts, application.batches.split(batch, gpus, always_extra=True))[0]


@dataclass(slots=True)
class Measuring:
    """The batch size that the user chose; keeps the first time of each number of nodes and GPUs."""

    job: ElasticJob
    cluster: Cluster
    measured_s: dict[Shape, float] = field(default_factory=dict)
    _params: Floats | None = None

    def split(self, counts: Counts) -> Split:
        """B as it is, whatever the placement."""
        return self.job.application.batches.split(self.job.batch, sum(counts))

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Keep the time if it is the first of its kind."""
        at = Shape(len(counts), sum(counts))
        if at not in self.measured_s:
            self.measured_s[at] = time.step_s + split.extra * (time.step_s - time.sync_s)
            self._params = None

    def step_s(self, gpus: int) -> float:
        """Seconds of a step by the fitted model; the job is tried on a few GPUs first."""
        if self._params is None:
            self._try()
            self._params = fit_step(self.job.batch, self.measured_s)
        return step_s(self._params, self.job.batch, Shape(len(compact(self.cluster, gpus)), gpus))

    def _try(self) -> None:
        application = self.job.application
        most = min(application.most_at(self.job.batch), self.cluster.size)
        for gpus in (tried for tried in TRIED if tried <= most):
            counts = compact(self.cluster, gpus)
            if Shape(len(counts), gpus) not in self.measured_s:
                seconds, _ = application.step(counts, self.split(counts))
                self.measured_s[Shape(len(counts), gpus)] = seconds


@dataclass(frozen=True)
class Fitted:
    """Step times by non-negative least squares, remaining epochs by the curve of the errors."""

    cluster: Cluster
    threshold: float
    _agents: dict[int, Measuring] = field(default_factory=dict)
    _left: dict[tuple[int, int], float] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """One that keeps what is measured."""
        if job.application.error is None:
            raise SimulationError(
                f"Policy 'optimus': application {job.application.name!r} has no errors by epoch, which "
                "fitted=true needs; add the column error to epochs.csv."
            )
        found = self._agents[number] = Measuring(job, self.cluster)
        return found

    def left(self, active: Active) -> float:
        """Forecast at the end of each epoch."""
        key = (active.number, active.epoch)
        if key not in self._left:
            application, batch = active.job.application, active.job.batch
            errors = application.errors(batch, active.epoch) or []
            epochs = remaining_epochs(errors, application.epochs, self.threshold)
            self._left[key] = epochs * application.epoch_iterations(batch)
        return self._left[key]

    def step_s(self, active: Active, gpus: int) -> float:
        """By the job's own measurements."""
        return self._agents[active.number].step_s(gpus)
