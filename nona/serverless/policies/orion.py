"""Orion: all stages sized at once, so that a percentile keeps the SLO.

Source: Mahgoub et al., Orion, OSDI 2022, as read in its published modeller: all sizes start at their
least, every round evaluates each function one size larger, and the smallest 95th percentile goes on.

The search (:mod:`~nona.serverless.policies.orion`) takes modelled time, for which every call waits
that is planned; its plan is carried along and never changed.

Source: Mahgoub et al., Orion, OSDI 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from math import fsum, inf, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.serverless.policies.base import (
    BatchPlan,
    ConfigurationPolicy,
    Place,
    WaitingQueue,
    percentile_setting,
)
from nona.serverless.policies.choices import CarriedPlans, profiled, transfer_s, usable
from nona.serverless.system import Application, ServerlessSystem

State = tuple[int, ...]


class SizedPlan(NamedTuple):
    """A plan: configurations, one per stage; its latency's percentile; US dollars a call; neighbours seen."""

    state: State
    latency_s: float
    cost: float
    steps: int


class LatencyModel:
    """Latency and cost of an application's plans, full batches being served without waiting.

    Each stage takes its configuration's time, times 1 + noise · z, z standard normal and independent,
    after the transfer of its inputs. A sum of stages is normal: mean and variance add up. Of branches that
    join, the one with the largest percentile goes on: a path maximum, which is below the maximum's own
    percentile.
    """

    def __init__(self, system: ServerlessSystem, application: Application, percentile: float = 95.0) -> None:
        self.application = application
        self._z = NormalDist().inv_cdf(percentile / 100)
        self._before = application.dag.predecessors
        all_s, cost = profiled(system)
        time_s = [all_s[f] for f in application.function]
        self._mean = [(t + transfer_s(system, application, s)).tolist() for s, t in enumerate(time_s)]
        finite = [np.where(np.isfinite(t), t, 0.0) for t in time_s]  # what cannot run has an infinite mean
        self._variance = [((system.noise * t) ** 2).tolist() for t in finite]
        self._cost: list[list[float]] = [cost[f].tolist() for f in application.function]

    def latency_s(self, state: State) -> float:
        """Percentile of the end-to-end latency, in seconds."""
        means: list[float] = []
        variances: list[float] = []
        worst = 0.0
        for s, chosen in enumerate(state):
            mean, variance, late = 0.0, 0.0, -inf
            for u in self._before[s]:
                if (at := means[u] + self._z * sqrt(variances[u])) > late:
                    mean, variance, late = means[u], variances[u], at
            means.append(mean + self._mean[s][chosen])
            variances.append(variance + self._variance[s][chosen])
            worst = max(worst, means[s] + self._z * sqrt(variances[s]))
        return worst

    def cost(self, state: State) -> float:
        """US dollars a call."""
        return fsum(self._cost[s][chosen] for s, chosen in enumerate(state))


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a search, and its priority.

    ``cutoff_s`` seconds at ``step_s`` seconds per evaluated neighbour; ``rounds`` states taken up;
    ``priority``: ``latency`` or ``cost``.
    """

    cutoff_s: float = 0.1
    step_s: float = 1e-3
    rounds: int = 10_000
    priority: str = "latency"

    def out_of_time(self, steps: int) -> bool:
        """Return whether the time for one more neighbour has run out."""
        return (steps + 1) * self.step_s > self.cutoff_s * (1 + 1e-9)  # as many as fit, after rounding


def steps_up(system: ServerlessSystem, function: int) -> dict[int, tuple[int, ...]]:
    """Usable configuration → its next larger ones: more jobs, more vCPUs, more vGPUs, where there are any."""
    numbers, space = usable(system, function), system.space
    rows = {n: (space[n].batch, space[n].vcpus, space[n].vgpus) for n in numbers}
    number_of = {row: n for n, row in rows.items()}
    sizes = [sorted({row[d] for row in rows.values()}) for d in range(3)]

    def above(row: tuple[int, int, int], d: int) -> int | None:
        larger = ((*row[:d], x, *row[d + 1 :]) for x in sizes[d] if x > row[d])
        return next((number_of[r] for r in larger if r in number_of), None)

    return {n: tuple(m for d in range(3) if (m := above(row, d)) is not None) for n, row in rows.items()}


def search(system: ServerlessSystem, model: LatencyModel, limits: SearchLimits) -> SizedPlan:
    """Best first from every stage at the smallest configuration.

    The state with the best priority is taken up: if it keeps the SLO it is the plan, else every neighbour
    (one stage, one size, one step up) is evaluated. On a cut-off the best so far is the plan: the cheapest
    state seen that keeps the SLO, else the fastest seen. Ties: the other of cost and latency, then the state.
    """
    return _Search(system, model, limits).run()


class _Search:
    def __init__(self, system: ServerlessSystem, model: LatencyModel, limits: SearchLimits) -> None:
        self._model, self._limits = model, limits
        self._slo_s = model.application.slo_s
        ladder = {f: steps_up(system, f) for f in set(model.application.function)}
        self._ladders = [ladder[f] for f in model.application.function]
        self._by_cost = limits.priority == "cost"
        start: State = (system.space.smallest,) * model.application.stages
        self._heap: list[tuple[float, float, State]] = []
        self._seen = {start}
        self._steps = 0
        self._best = self._evaluate(start)

    def run(self) -> SizedPlan:
        """Take up states until one keeps the SLO, none is left, or a limit is reached."""
        for _ in range(self._limits.rounds):
            if not self._heap:
                break
            first, second, state = heappop(self._heap)
            cost, latency_s = (first, second) if self._by_cost else (second, first)
            if latency_s <= self._slo_s:
                return SizedPlan(state, latency_s, cost, self._steps)
            if not self._expand(state):
                break
        state = self._best[-1]
        return SizedPlan(state, self._model.latency_s(state), self._model.cost(state), self._steps)

    def _expand(self, state: State) -> bool:
        """Evaluate the neighbours not seen before; return whether there was time for all of them."""
        for s, chosen in enumerate(state):
            for larger in self._ladders[s][chosen]:
                neighbour = (*state[:s], larger, *state[s + 1 :])
                if neighbour in self._seen:
                    continue
                if self._limits.out_of_time(self._steps):
                    return False
                self._seen.add(neighbour)
                self._steps += 1
                self._best = min(self._best, self._evaluate(neighbour))
        return True

    def _evaluate(self, state: State) -> tuple[bool, float, float, State]:
        latency_s, cost = self._model.latency_s(state), self._model.cost(state)
        heappush(self._heap, (cost, latency_s, state) if self._by_cost else (latency_s, cost, state))
        if latency_s > self._slo_s:
            return True, latency_s, cost, state
        return False, cost, latency_s, state


#: Seconds of one core to convolve the latency distributions of three to five stages in bins of 1 ms.
STEP_S = 1e-3


class OrionPlanner:
    """Orion for one system; ``found`` holds what the search found for each application."""

    place: Place | None = None

    def __init__(self, system: ServerlessSystem, aim: float, limits: SearchLimits) -> None:
        self.sized: tuple[SizedPlan, ...] = tuple(
            search(system, LatencyModel(system, app, aim), limits) for app in system.applications
        )
        self._search_s = [min(f.steps * limits.step_s, limits.cutoff_s) for f in self.sized]
        self._carried = CarriedPlans(system)

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Answer by the carried plan, else by the application's, for which the search is charged."""
        planned = self.sized[ask.application]
        state = planned.state if ask.carried is None else ask.carried
        return self._carried.answer(ask, state, self._search_s[ask.application], planned.steps)


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> OrionPlanner:
    limits = SearchLimits(options["cutoff_s"], options["step_s"], options["rounds"], options["priority"])
    return OrionPlanner(system, options["percentile"] or system.profile_percentile, limits)


POLICY = ConfigurationPolicy(
    name="orion",
    title="Orion",
    summary="Sizes all stages once, by best-first search on the latency's 95th percentile, with a cut-off.",
    source="Mahgoub et al., Orion, OSDI 2022; icanforce/Orion-OSDI22",
    adaptation=(
        "Sizes are jobs, vCPUs and vGPUs instead of memory. Latencies follow normal instead of measured "
        "distributions, and batches count as full. The search is best first over all visited states, "
        "whereas the code continues only from the last one. The cut-off (recollected: 0.1 s) and the time "
        "per evaluated neighbour are options. That time is assumed: the convolution of latency distributions "
        "on one core. The modelled time is charged to every call that is planned. After a cut-off the best "
        "so far is used. Bundling is left out, pre-warming is the platform's. A plan that cannot be used "
        "is a configuration miss; the nearest configurations are our fall-backs, Orion has none."
    ),
    build=_build,
    settings={
        "cutoff_s": PolicyOption(0.1, "Modelled seconds after which the search stops with the best so far."),
        "step_s": PolicyOption(STEP_S, "Modelled seconds to evaluate one neighbour."),
        "percentile": percentile_setting(),
        "priority": PolicyOption(
            "latency",
            "What the search expands first: the least latency (latency, as in Orion's code) or the least "
            "cost (cost).",
            words=("latency", "cost"),
        ),
        "rounds": PolicyOption(10_000, "Largest number of states expanded.", least=1, most=1_000_000),
    },
    style=ChartStyle("#2b8fd6", "solid", "triangle-down"),
    by_length=True,
)
