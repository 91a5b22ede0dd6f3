"""Times of ESG's search on this machine for the requests of a simulated run, and without pruning.

Times are the clock's, so they differ from machine to machine and from run to run; what the simulation
charges is the number of paths looked at times a constant.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nona.options import Options
from nona.results.serverless.study import MeasuredSearches
from nona.results.serverless.values import Spread
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions, simulate_serverless
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, Place, Plan, Planner
from nona.serverless.policies.registry import get_policy
from nona.study.serverless.preparation import prepare_serverless

EVERY_SEARCH: Options = {"slack_resolution": 0.0}  # nothing is looked up


class TimedPlanner:
    """A planner that records the time and the steps of each answer of another planner."""

    def __init__(self, planner: Planner) -> None:
        self._planner, self.place = planner, None
        self.seconds: list[float] = []
        self.steps: list[int] = []

    place: Place | None

    def plan(self, ask: Ask) -> Plan:
        """The other's answer."""
        begin = time.perf_counter()
        plan = self._planner.plan(ask)
        self.seconds.append(time.perf_counter() - begin)
        self.steps.append(plan.steps)
        return plan


def measured_searches(scenario: Scenario, calls: int) -> MeasuredSearches:
    """Seconds and paths of ESG's searches over the requests of a run of ``calls``, and one unpruned.

    The unpruned one is of the first group of the application with most stages, in the same machine code.
    """
    system = prepare_serverless(scenario)
    esg = get_policy("esg")
    timed = TimedPlanner(esg.prepare(system, EVERY_SEARCH))
    simulate_serverless(
        system, replace(esg, prepare=lambda *_: timed), EVERY_SEARCH, RunOptions(calls=calls, warmup=50)
    )
    kept = [s for s, steps in zip(timed.seconds[50:], timed.steps[50:], strict=True) if steps]
    steps = [s for s in timed.steps[50:] if s]
    full_paths, every_path_s = _every_path(system)
    return MeasuredSearches(
        searches=len(kept),
        measured_s=quantiles(kept),
        steps=quantiles(steps),
        full_paths=full_paths,
        every_path_s=every_path_s,
    )


def _every_path(system: ServerlessSystem) -> tuple[int, float]:
    """All paths, and seconds to look at them."""
    longest = max(range(len(system.applications)), key=lambda a: system.applications[a].stages)
    app = system.applications[longest]
    ask = Ask(longest, 0, int(system.space.batch.max()), app.slo_s)
    planner = get_policy("esg").prepare(system, {**EVERY_SEARCH, "search": "exhaustive"})
    begin = time.perf_counter()
    plan = planner.plan(ask)
    return plan.steps, time.perf_counter() - begin


def quantiles(values: Sequence[float]) -> Spread:
    """Mean, 5th to 99th percentile; ``None`` where there are no values.

    >>> quantiles([1.0, 3.0]).mean, quantiles([]).p50
    (2.0, None)
    """
    if not len(values):
        return Spread(mean=None, p5=None, p25=None, p50=None, p75=None, p95=None, p99=None)
    found = np.percentile(np.asarray(values, dtype=float), [5.0, 25.0, 50.0, 75.0, 95.0, 99.0])
    p5, p25, p50, p75, p95, p99 = found.tolist()
    return Spread(mean=float(np.mean(values)), p5=p5, p25=p25, p50=p50, p75=p75, p95=p95, p99=p99)
