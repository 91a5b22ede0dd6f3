"""Optimus: every GPU goes where it shortens the time most; also with an eye on the link."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.training.elastic.applications import Counts, Noise, Split, StepTime, TrainingApplication
from nona.training.elastic.policy import (
    ActiveJob,
    BatchAgent,
    ElasticPlanner,
    ElasticPolicy,
    ElasticTraffic,
    FixedBatch,
    GpuCounts,
    TickQuestion,
    compact,
    of_jobs,
    pack,
    place,
)
from nona.training.elastic.system import ElasticCluster, ElasticJob, ElasticSystem, ring_bytes

LEAST_EPOCHS = 3
FLOORS = np.linspace(0.0, 0.99, 34)
"""β2 as parts of the least error."""


class LossCurve(NamedTuple):
    """l(k) = 1/(β0·k + β1) + β2 after epoch k, from 1."""

    beta0: float
    beta1: float
    beta2: float

    def loss(self, epoch: float) -> float:
        """Return the loss at an epoch."""
        return 1.0 / (self.beta0 * epoch + self.beta1) + self.beta2


def fit_curve(errors: Sequence[float]) -> LossCurve | None:
    """Return the curve with the least squares to the errors after each epoch; ``None`` if they do not fall.

    For each of a grid of β2, β0 and β1 are found by non-negative least squares on 1/(l − β2), in which they
    are linear.

    >>> curve = fit_curve([1 / (0.5 * k + 1) for k in range(1, 9)])
    >>> round(curve.beta0, 6), round(curve.beta1, 6), curve.beta2
    (0.5, 1.0, 0.0)

    Source: Peng et al., Optimus, EuroSys 2018, section 3.1 (recollected); the grid is ours.
    """
    values = np.array(errors)
    rows = np.column_stack([np.arange(1.0, len(values) + 1), np.ones(len(values))])
    curve, least = None, math.inf
    for floor in FLOORS * values.min():
        beta0, beta1 = scipy.optimize.nnls(rows, 1.0 / (values - floor))[0]
        if beta0 > 0:
            squares = float(((1.0 / (rows @ (beta0, beta1)) + floor - values) ** 2).sum())
            if squares < least:
                curve, least = LossCurve(float(beta0), float(beta1), float(floor)), squares
    return curve


def remaining_epochs(errors: Sequence[float], declared: int, threshold: float) -> float:
    """Epochs until the error falls by less than ``threshold`` of the first error in an epoch; at least 1.

    −l'(k) = β0/(β0·k + β1)² falls below δ at k = (√(β0/δ) − β1)/β0. Before three epochs, and where the curve
    does not fall, it is what was declared, less the epochs done; never more than twice as many as declared.

    ``errors``: after each epoch so far.
    ``declared``: epochs that the user asks for.

    >>> remaining_epochs([0.9, 0.8], 10, 0.01)
    8.0
    >>> round(remaining_epochs([1 / k for k in range(1, 11)], 40, 0.001), 1)
    21.6
    """
    done = len(errors)
    curve = fit_curve(errors) if done >= LEAST_EPOCHS and min(errors) > 0 else None
    if curve is None:
        return float(max(declared - done, 1))
    end = (math.sqrt(curve.beta0 / (threshold * errors[0])) - curve.beta1) / curve.beta0
    return min(max(end - done, 1.0), float(max(2 * declared - done, 1)))


class GpuShape(NamedTuple):
    """``nodes`` p and ``gpus`` w."""

    nodes: int
    gpus: int


def _row(batch: int, at: GpuShape) -> tuple[float, ...]:
    return (batch / at.gpus, 1.0, at.gpus / at.nodes, float(at.gpus), float(at.nodes))


def fit_step(batch: int, measured_s: Mapping[GpuShape, float]) -> Floats:
    """(5,) θ ≥ 0 of 1/f(p, w) = θ0·B/w + θ1 + θ2·w/p + θ3·w + θ4·p, by non-negative least squares.

    ``batch``: B, samples of a step on all GPUs.
    ``measured_s``: seconds of a step by nodes and GPUs.

    >>> fit_step(100, {GpuShape(1, w): 0.02 * 100 / w + 0.5 for w in (1, 2, 4)}).round(6).tolist()[:2]
    [0.02, 0.5]

    Source: Peng et al., Optimus, EuroSys 2018, section 3.2 (recollected). There p are parameter servers;
    here, where GPUs reduce among themselves, it is the number of nodes (ours).
    """
    rows = np.array([_row(batch, at) for at in measured_s])
    seconds = np.array(list(measured_s.values()))
    # Relative errors count, so that long steps of few GPUs do not decide alone.
    theta: Floats = scipy.optimize.nnls(rows / seconds[:, None], np.ones(len(seconds)))[0]
    return theta


def step_s(params: Floats, batch: int, at: GpuShape) -> float:
    """1/f: seconds of a step."""
    return float(params @ np.array(_row(batch, at)))


TRIED = (1, 2, 4, 8, 16)
"""GPUs on which a job is tried before it starts: five settings, as the paper is recollected."""


class Estimates(ABC):
    """Estimates of all jobs of a run."""

    def agent(self, job: ElasticJob, number: int) -> BatchAgent:
        """Return the agent that runs a job at its user's batch size."""
        return FixedBatch(job)

    def see(self, traffic: ElasticTraffic | None) -> None:  # noqa: B027
        """Take the present state of the link into account; does nothing by default."""

    @abstractmethod
    def left(self, active: ActiveJob) -> float:
        """Return iterations left."""

    @abstractmethod
    def step_s(self, active: ActiveJob, gpus: int) -> float:
        """θ(r): seconds of a step on as few nodes as possible."""


@dataclass
class TrueEstimates(Estimates):
    """True step times and remaining iterations: the oracle of Pollux's public simulator.

    A batch on one GPU always has two parts.
    """

    cluster: ElasticCluster
    _seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def left(self, active: ActiveJob) -> float:
        """Return the job's true number of remaining iterations."""
        return active.job.application.remaining_iterations(active.job.batch, active.epoch)

    def step_s(self, active: ActiveJob, gpus: int) -> float:
        """Return the true seconds of a step on ``gpus`` GPUs."""
        application, batch = active.job.application, active.job.batch
        times_s = self._seconds.setdefault((application.name, batch), [])
        while len(times_s) < gpus:
            times_s.append(self._computed(application, batch, len(times_s) + 1))
        return times_s[gpus - 1]

    def _computed(self, application: TrainingApplication, batch: int, gpus: int) -> float:
        counts = compact(self.cluster, gpus)
        return application.step(counts, application.batches.split(batch, gpus, always_extra=True))[0]


@dataclass
class Measuring(FixedBatch):
    """The batch size that the user chose; keeps the first time of each number of nodes and GPUs."""

    cluster: ElasticCluster
    measured_s: dict[GpuShape, float] = field(default_factory=dict)
    _params: Floats | None = None

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Record the time of a step on these GPUs."""
        at = GpuShape(len(counts), sum(counts))
        if at not in self.measured_s:
            self.measured_s[at] = time.step_s + split.extra * (time.step_s - time.sync_s)
            self._params = None

    def step_s(self, gpus: int) -> float:
        """Seconds of a step by the fitted model; the job is tried on a few GPUs first."""
        if self._params is None:
            self._try()
            self._params = fit_step(self.job.batch, self.measured_s)
        return step_s(self._params, self.job.batch, GpuShape(len(compact(self.cluster, gpus)), gpus))

    def _try(self) -> None:
        application = self.job.application
        most = min(application.most_at(self.job.batch), self.cluster.size)
        for gpus in (tried for tried in TRIED if tried <= most):
            counts = compact(self.cluster, gpus)
            if GpuShape(len(counts), gpus) not in self.measured_s:
                seconds, _ = application.step(counts, self.split(counts))
                self.measured_s[GpuShape(len(counts), gpus)] = seconds


@dataclass
class FittedEstimates(Estimates):
    """Step times by non-negative least squares, remaining epochs by the curve of the errors."""

    cluster: ElasticCluster
    threshold: float
    _agents: dict[int, Measuring] = field(default_factory=dict)
    _left: dict[tuple[int, int], float] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> BatchAgent:
        """Return the agent that fits a job's loss and step times to its measurements."""
        if job.application.error is None:
            raise SimulationError(
                f"Policy 'optimus': application {job.application.name!r} has no errors by epoch, which "
                "fitted=true needs; add the column error to epochs.csv."
            )
        agent = self._agents[number] = Measuring(job, self.cluster)
        return agent

    def left(self, active: ActiveJob) -> float:
        """Forecast at the end of each epoch."""
        key = (active.number, active.epoch)
        if key not in self._left:
            application, batch = active.job.application, active.job.batch
            errors = application.errors(batch, active.epoch) or []
            epochs = remaining_epochs(errors, application.epochs, self.threshold)
            self._left[key] = epochs * application.epoch_iterations(batch)
        return self._left[key]

    def step_s(self, active: ActiveJob, gpus: int) -> float:
        """Return the fitted seconds of a step on ``gpus`` GPUs."""
        return self._agents[active.number].step_s(gpus)


@dataclass
class Optimus(ElasticPlanner):
    """Marginal gains by estimates, every ``every`` ticks; in between all keep what they have.

    ``most_nodes``: no more GPUs than these have, 0: any; ``compact``: jobs move to fewer nodes; ``ahead``: a
    gain is the best mean over the next GPUs, up to those of a node.
    """

    system: ElasticSystem
    estimates: Estimates
    every: int
    most_nodes: int = 0
    compact: bool = False
    ahead: bool = False
    _next_s: float = 0.0

    def agent(self, job: ElasticJob, number: int) -> BatchAgent:
        """Return the agent of a job."""
        return self.estimates.agent(job, number)

    def plan(self, question: TickQuestion) -> GpuCounts:
        """Divide all GPUs again, or keep the present ones."""
        self.estimates.see(question.traffic)
        if question.time_s < self._next_s:
            return GpuCounts({active.number: active.given for active in question.jobs}, {})
        self._next_s = question.time_s + self.every * self.system.tick_s
        return self._divided(question)

    def _divided(self, question: TickQuestion) -> GpuCounts:
        """One GPU each while there are some, then one at a time to the largest gain; few GPUs place first."""
        cluster, jobs = self.system.cluster, question.jobs
        given = [1 if place < cluster.size else 0 for place in range(len(jobs))]
        free = cluster.size - sum(given)
        left = [self.estimates.left(active) for active in jobs]
        gains = [self._gain(active, n, rem, free) for active, n, rem in zip(jobs, given, left, strict=True)]
        last = [0.0] * len(jobs)
        while free and (most := max(gains, default=0.0)) > 0:
            best = gains.index(most)
            given[best], last[best] = given[best] + 1, most
            free -= 1
            gains[best] = self._gain(jobs[best], given[best], left[best], free)
        if self.ahead:
            given = [self._best(active, most) for active, most in zip(jobs, given, strict=True)]
        order = sorted(range(len(jobs)), key=given.__getitem__)
        wanted = {jobs[i].number: given[i] for i in order}
        more = [
            self._gain(active, n, rem, cluster.size - n)
            for active, n, rem in zip(jobs, given, left, strict=True)
        ]
        facts = {
            "seconds that its last GPU saves": of_jobs(jobs, last),
            "iterations left": of_jobs(jobs, left),
        }
        placed = (pack if self.compact else place)(cluster, jobs, wanted)
        return GpuCounts(placed, of_jobs(jobs, more), facts)

    def _gain(self, active: ActiveJob, gpus: int, left: float, free: int) -> float:
        """Seconds that one more GPU saves: (θ(r) − θ(r+1)) · remaining iterations."""
        most = active.job.application.most_at(active.job.batch)
        if self.most_nodes:
            most = min(most, self.most_nodes * self.system.cluster.gpus)
        if not free or not gpus or gpus >= most:
            return 0.0
        now_s, reach = self.estimates.step_s(active, gpus), 1
        if self.ahead:  # the first GPU of a further node may cost, and those after it gain
            reach = min(self.system.cluster.gpus, free, most - gpus)
        return max((now_s - self.estimates.step_s(active, gpus + k)) * left / k for k in range(1, reach + 1))

    def _best(self, active: ActiveJob, most: int) -> int:
        return min(range(1, most + 1), key=lambda gpus: self.estimates.step_s(active, gpus), default=0)


EVERY_TICKS = PolicyOption(
    1,
    "ticks between two divisions of the GPUs; the paper's 10 minutes (recollected) are 10",
    least=1,
    most=10_000,
)


def _build(system: ElasticSystem, options: Mapping[str, Any], _: np.random.Generator) -> Optimus:
    fitted, threshold, every, most, compact = options.values()
    estimates = FittedEstimates(system.cluster, threshold) if fitted else TrueEstimates(system.cluster)
    return Optimus(system, estimates, every, most, compact)


POLICY = ElasticPolicy(
    name="optimus",
    title="Optimus",
    summary="Every GPU goes where it saves the most remaining time.",
    source="Peng et al., Optimus, EuroSys 2018; by default with an oracle, as in Pollux's public simulator "
    "(OSDI 2021); fitted: sections 3.1 and 3.2 (recollected)",
    adaptation="By default true step times and remaining iterations at the user's batch size. Fitted: nodes "
    "stand for parameter servers, and a job is tried on 1, 2, 4, 8 and 16 GPUs before it starts, at no cost.",
    build=_build,
    settings={
        "fitted": PolicyOption(
            False, "fit step times by non-negative least squares, and remaining epochs to the errors so far"
        ),
        "threshold": PolicyOption(
            0.001,
            "fitted: a job is done when its error falls by less than this part of its first error in an "
            "epoch (assumed)",
            least=1e-9,
            most=1.0,
        ),
        "every_ticks": EVERY_TICKS,
        "most_nodes": PolicyOption(
            0, "no more GPUs than so many nodes have: less on the network; 0: any number", most=1024
        ),
        "compact": PolicyOption(
            False, "as few nodes for each job as there is room for, moving jobs to fewer"
        ),
    },
    network_view="N2",
    style=ChartStyle("#c9713a", "dash", "triangle-up"),
    value="seconds that one more GPU would save",
)


@dataclass
class LinkEstimates(TrueEstimates):
    """Known step times, longer by the link's part beyond the measured synchronising.

    The background and the present load of other jobs are known too. Without a link it is ``Known``.
    """

    traffic: ElasticTraffic | None = None
    _link_s: dict[tuple[int, int], float] = field(default_factory=dict)

    def see(self, traffic: ElasticTraffic | None) -> None:
        """Take the present traffic of the link into account."""
        self.traffic = traffic
        self._link_s.clear()

    def step_s(self, active: ActiveJob, gpus: int) -> float:
        """θ(r) with the link as it is now."""
        key = (active.number, gpus)
        if key not in self._link_s:
            self._link_s[key] = self._more(active, gpus)
        return super().step_s(active, gpus) + self._link_s[key]

    def _more(self, active: ActiveJob, gpus: int) -> float:
        application, seen = active.job.application, self.traffic
        counts = compact(self.cluster, gpus)
        if seen is None or len(counts) < 2 or application.parameters is None:
            return 0.0
        others = {n: load for n, load in seen.load.items() if n != active.number}
        moment = sum(load * seen.service_s[n] for n, load in others.items())
        size = ring_bytes(application.parameters, len(counts))
        link_s = seen.link.all_reduce_s(size, len(counts), sum(others.values()), moment)
        _, time = application.step(counts, application.batches.split(active.job.batch, gpus))
        return max(0.0, link_s - time.sync_s)


def _linked(system: ElasticSystem, options: Mapping[str, Any], _: np.random.Generator) -> Optimus:
    return Optimus(system, LinkEstimates(system.cluster), options["every_ticks"], compact=True, ahead=True)


LINKED = ElasticPolicy(
    name="optimus-link",
    title="Optimus, seeing the link",
    summary="Every GPU goes where it saves the most remaining time, with what the link costs now.",
    source="Optimus (EuroSys 2018) as above; what it sees is ours",
    adaptation="Ours: the oracle's step times include an all-reduce over the link at its present load. "
    "Gains look ahead to a full node, and jobs move to fewer nodes.",
    build=_linked,
    settings={"every_ticks": EVERY_TICKS},
    network_view="N4",
    style=ChartStyle("#b8860b", "solid", "triangle-right"),
    value="seconds that one more GPU would save",
)
