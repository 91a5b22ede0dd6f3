"""Aquatope: all stages sized offline by Bayesian optimisation.

Source: Rasmussen, Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2 and 4.2;
computed by scikit-learn, which is loaded only when a process is fitted.

Plans are tried one after the other in a small model of the platform; two Gaussian processes, of the
logarithms of cost and latency, say which to try next; the cheapest that was seen to keep the SLO wins.

Source: Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023, as read in its published resource manager; noisy
expected improvement: Letham, Karrer, Ottoni, Bakshy, Bayesian Analysis 2019.

Training: :mod:`~nona.serverless.policies.aquatope`. It happens when the planner is made, and takes
no modelled time.

Source: Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nona.core.arrays import Floats
from nona.core.options import PolicyOption
from nona.core.random_streams import RandomStreams
from nona.core.registry import ChartStyle
from nona.serverless.policies.base import (
    BatchPlan,
    ConfigurationPolicy,
    Place,
    WaitingQueue,
    percentile_setting,
)
from nona.serverless.policies.choices import CarriedPlans, profiled, transfer_s, usable
from nona.serverless.system import LEAST_NOISE, Application, ServerlessSystem


class Process:
    """A posterior over a function on [0, 1]^d.

    Prior: variance · Matérn(5/2, one length for all dimensions), plus white noise; the data are
    standardised first. The constants are those of the greatest likelihood.
    """

    def __init__(self) -> None:
        self._kernel: Any = None
        self._fitted: Any = None
        self._mean, self._scale = 0.0, 1.0

    def fit(self, x: Floats, y: Floats, learn: bool = True) -> None:
        """Condition on ``y`` (n,) observed at ``x`` (n, d); ``learn`` fits the kernel's constants too."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        if self._kernel is None:
            shape = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(1.0, (5e-2, 2e1), nu=2.5)
            self._kernel = shape + WhiteKernel(1e-2, (1e-6, 1.0))
        self._mean, self._scale = float(y.mean()), float(y.std()) or 1.0
        optimizer = "fmin_l_bfgs_b" if learn else None
        process = GaussianProcessRegressor(self._kernel, alpha=1e-10, optimizer=optimizer)
        with warnings.catch_warnings():  # a constant at its bound, as without noise, is no fault
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._fitted = process.fit(x, (y - self._mean) / self._scale)
        self._kernel = self._fitted.kernel_

    def samples(self, x: Floats, count: int, generator: np.random.Generator) -> Floats:
        """(count, n) Functions drawn from the posterior, without observations' noise, at ``x`` (n, d)."""
        mean, covariance = self._fitted.predict(x, return_cov=True)
        covariance = covariance - self._kernel.k2.noise_level * np.eye(len(x))
        drawn = generator.multivariate_normal(
            mean, covariance, size=count, method="eigh", check_valid="ignore"
        )
        return np.asarray(self._mean + self._scale * drawn, dtype=np.float64)


LEAST_USD = 1e-30  # a call that is free has a logarithm too
Choice = tuple[int, ...]
RELEARN = 4  # rounds between two fits of the kernels' constants
NEAR = 0.15  # standard deviation of candidates around the best plan, in parts of a side


class Observation(NamedTuple):
    """A plan that was tried: percentile of its latency (s), US dollars a call."""

    plan: Choice
    latency_s: float
    cost: float


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """Size of the search: random plans, rounds, plans a round, posterior samples, calls per trial."""

    initial: int = 10
    rounds: int = 20
    candidates: int = 3
    samples: int = 32
    calls: int = 20
    percentile: float = 95.0
    raw: int = 128


class Platform:
    """The small model in which plans are tried: full batches, no queues, all input where it is expected.

    A stage takes transfer + time · factor, factor = max(0.1, 1 + noise · z), z standard normal; a call ends
    with its longest path; a job pays its share of the batch's resources for that long.
    """

    def __init__(self, system: ServerlessSystem, application: Application, effort: SearchEffort) -> None:
        self._application, self._effort, self._noise = application, effort, system.noise
        self._time_s = profiled(system)[0][list(application.function)]
        self._transfer_s = np.array([transfer_s(system, application, s) for s in range(application.stages)])
        self._price = system.price_per_s / system.space.batch

    def observe(self, plan: Choice, generator: np.random.Generator) -> Observation:
        """Run some calls under a plan and measure."""
        stages, chosen = np.arange(len(plan)), list(plan)
        drawn = generator.standard_normal((self._effort.calls, len(plan)))
        factor = np.maximum(LEAST_NOISE, 1.0 + self._noise * drawn)
        took = self._transfer_s[stages, chosen] + factor * self._time_s[stages, chosen]
        end = np.zeros_like(took)
        for s, before in enumerate(self._application.dag.predecessors):
            ready = end[:, list(before)].max(axis=1) if before else 0.0
            end[:, s] = ready + took[:, s]
        latency_s = float(np.percentile(end.max(axis=1), self._effort.percentile))
        return Observation(plan, latency_s, float((took * self._price[chosen]).sum(axis=1).mean()))


class PlanCube:
    """Plans as points of [0, 1]^(3S): each side goes through the sizes of one dimension of one stage."""

    def __init__(self, system: ServerlessSystem, application: Application) -> None:
        space = system.space
        columns = np.stack([space.batch, space.vcpus, space.vgpus], axis=1)
        self._sizes = [np.unique(columns[:, d]) for d in range(3)]
        self._last = np.array([len(s) - 1 for s in self._sizes] * application.stages, dtype=np.float64)
        self._rank = np.stack([np.searchsorted(s, columns[:, d]) for d, s in enumerate(self._sizes)], axis=1)
        self._usable = [np.array(usable(system, f)) for f in application.function]
        self._known: list[dict[tuple[int, ...], int]] = [
            {tuple(self._rank[n].tolist()): int(n) for n in numbers} for numbers in self._usable
        ]
        self.dimensions = 3 * application.stages

    def plan(self, x: Floats) -> Choice:
        """Round a point to sizes; where a stage cannot use them, to the nearest that it can."""
        ranks = np.rint(x * self._last).astype(int).reshape(-1, 3).tolist()
        return tuple(self._nearest(s, tuple(row)) for s, row in enumerate(ranks))

    def _nearest(self, stage: int, row: tuple[int, ...]) -> int:
        nearest = self._known[stage].get(row)
        if nearest is None:
            numbers = self._usable[stage]
            nearest = int(numbers[np.abs(self._rank[numbers] - np.array(row)).sum(axis=1).argmin()])
            self._known[stage][row] = nearest
        return nearest

    def point(self, plan: Choice) -> Floats:
        """Return the point that rounds to a plan."""
        return np.asarray(self._rank[list(plan)].ravel() / np.maximum(self._last, 1.0), dtype=np.float64)


def best_seen(seen: Sequence[Observation], slo_s: float) -> Observation:
    """Return the cheapest observation that keeps the SLO; else the fastest."""
    kept = [o for o in seen if o.latency_s <= slo_s]
    if kept:
        return min(kept, key=lambda o: (o.cost, o.latency_s, o.plan))
    return min(seen, key=lambda o: (o.latency_s, o.cost, o.plan))


def improvement(cost: Floats, latency: Floats, slo: float, observed: int, count: int) -> list[int]:
    """Choose candidates to try, by constrained noisy expected improvement, one after the other.

    Formula: mean over samples of max(0, best − cost(x)) where latency(x) ≤ SLO, best being the sample's
    least cost among points that keep the SLO in it: those observed, and the candidates chosen before.
    Where a sample has none, it is the sample's greatest cost.

    ``cost``, ``latency``: (m, n) samples at the observed points, then at the candidates; ``slo`` in the
    latency's unit. Returns at most ``count`` numbers of candidates, which differ.

    >>> cost = np.array([[3.0, 1.0, 2.0, 0.0]]); late = np.array([[0.0, 0.0, 0.0, 9.0]])
    >>> improvement(cost, late, slo=1.0, observed=1, count=2)
    [0, 1]
    """
    kept = latency <= slo
    worst = cost.max(axis=1)
    allowed = np.where(kept, cost, worst[:, None])
    best = allowed[:, :observed].min(axis=1)
    candidates = allowed[:, observed:]
    chosen: list[int] = []
    for _ in range(min(count, candidates.shape[1])):
        gain = np.maximum(0.0, best[:, None] - candidates).mean(axis=0)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        best = np.minimum(best, candidates[:, chosen[-1]])
    return chosen


class Training:
    """One application's training; ``seen`` are all observations, in order."""

    def __init__(
        self,
        system: ServerlessSystem,
        application: Application,
        effort: SearchEffort,
        draws: np.random.Generator,
    ) -> None:
        self._slo_s, self._effort, self._draws = application.slo_s, effort, draws
        self._platform = Platform(system, application, effort)
        self._cube = PlanCube(system, application)
        self._cost, self._latency = Process(), Process()
        self.seen: list[Observation] = []

    def run(self) -> Observation:
        """Try plans and return the best; ends early when there are no plans left to try."""
        for plan in self._fresh(self._uniform(self._effort.initial)):
            self._try(plan)
        for number in range(self._effort.rounds):
            plans = self._fresh(self._points())
            if not plans:
                break
            for plan in self._promising(plans, learn=number % RELEARN == 0):
                self._try(plan)
        return best_seen(self.seen, self._slo_s)

    def _try(self, plan: Choice) -> None:
        self.seen.append(self._platform.observe(plan, self._draws))

    def _uniform(self, count: int) -> Floats:
        return self._draws.random((count, self._cube.dimensions))

    def _points(self) -> Floats:
        """Points all over the cube, and around the best plan so far."""
        near = self._effort.raw // 2
        centre = self._cube.point(best_seen(self.seen, self._slo_s).plan)
        around = centre + NEAR * self._draws.standard_normal((near, self._cube.dimensions))
        return np.vstack([self._uniform(self._effort.raw - near), np.clip(around, 0.0, 1.0)])

    def _fresh(self, points: Floats) -> list[Choice]:
        """Return the plans that points round to, each once, without those tried before."""
        tried = {o.plan for o in self.seen}
        return [p for p in dict.fromkeys(self._cube.plan(x) for x in points) if p not in tried]

    def _promising(self, plans: Sequence[Choice], learn: bool) -> list[Choice]:
        x = np.array([self._cube.point(o.plan) for o in self.seen])
        self._cost.fit(x, np.log([max(o.cost, LEAST_USD) for o in self.seen]), learn)
        self._latency.fit(x, np.log([o.latency_s for o in self.seen]), learn)
        every = np.vstack([x, [self._cube.point(p) for p in plans]])
        cost, latency = (
            process.samples(every, self._effort.samples, self._draws)
            for process in (self._cost, self._latency)
        )
        chosen = improvement(
            np.exp(cost), latency, float(np.log(self._slo_s)), len(x), self._effort.candidates
        )
        return [plans[i] for i in chosen]


class AquatopePlanner:
    """Aquatope for one system; ``trained`` holds what was found best for each application."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, effort: SearchEffort) -> None:
        streams = RandomStreams(system.seed)
        trained: list[Observation] = []
        with threadpool_limits(limits=1):  # small matrices; threads would wait for each other
            for app in system.applications:
                draws = streams.generator("serverless", "aquatope", app.name)
                trained.append(Training(system, app, effort, draws).run())
        self.trained = tuple(trained)
        self._carried = CarriedPlans(system)

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Answer by the carried plan, else by the application's plan."""
        plan = self.trained[ask.application].plan if ask.carried is None else ask.carried
        return self._carried.answer(ask, plan)


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> AquatopePlanner:
    effort = {name: value for name, value in options.items() if name != "late"}
    effort["percentile"] = options["percentile"] or system.profile_percentile
    return AquatopePlanner(system, SearchEffort(**effort))


POLICY = ConfigurationPolicy(
    name="aquatope",
    title="Aquatope",
    summary="Sizes all stages offline, by constrained Bayesian optimisation on two Gaussian processes.",
    source="Zhou, Zhang, Delimitrou, Aquatope, ASPLOS 2023; zzhou612/aquatope",
    adaptation=(
        "Sizes are jobs, vCPUs and vGPUs. Plans are evaluated in a small model (times, transfers and "
        "noise, full batches, no queues), not on a cluster. Latency is a percentile of a few calls. "
        "Expected improvement is maximised over 128 points a round, not by gradients; the processes model "
        "logarithms; no outliers are removed; no plan is tried twice. The predictor of pre-warmed "
        "containers is left out: pre-warming is the platform's. Training takes no modelled time. A plan "
        "that cannot be used is a configuration miss; the nearest configurations are our fall-backs, "
        "Aquatope has none."
    ),
    build=_build,
    settings={
        "initial": PolicyOption(10, "Random plans tried first.", least=1, most=10_000),
        "rounds": PolicyOption(20, "Rounds of optimisation after that.", most=1_000),
        "candidates": PolicyOption(3, "Plans tried in each round.", least=1, most=100),
        "samples": PolicyOption(
            32,
            "Samples from the two processes that estimate the expected improvement.",
            least=1,
            most=10_000,
        ),
        "calls": PolicyOption(20, "Calls that measure a plan's latency and cost.", least=1, most=100_000),
        "percentile": percentile_setting(),
    },
    style=ChartStyle("#e0559a", "longdash", "triangle-up"),
    by_length=True,
)
