"""Times of ESG's search on this machine for the requests of a simulated run, and without pruning.

Times are the clock's, so they differ from machine to machine and from run to run; what the simulation
charges is the number of paths looked at times a constant.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions, simulate_serverless
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, Place, Plan, Planner
from nona.serverless.policies.registry import get_policy
from nona.study.serverless.preparation import prepare_serverless

EVERY_SEARCH: Mapping[str, Any] = {"slack_resolution": 0.0}  # nothing is looked up


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


def measured_searches(scenario: Scenario, calls: int) -> dict[str, Any]:
    """Seconds and paths of ESG's searches over the requests of a run of ``calls``, and one unpruned.

    ``full_paths`` is the number of paths of the first group of the application with most stages;
    ``every_path_s`` the time to look at all of them in the same machine code.
    """
    system = prepare_serverless(scenario)
    esg = get_policy("esg")
    timed = TimedPlanner(esg.prepare(system, EVERY_SEARCH))
    simulate_serverless(
        system, replace(esg, prepare=lambda *_: timed), EVERY_SEARCH, RunOptions(calls=calls, warmup=50)
    )
    kept = [s for s, steps in zip(timed.seconds[50:], timed.steps[50:], strict=True) if steps]
    steps = [s for s in timed.steps[50:] if s]
    return {
        "searches": len(kept),
        "measured_s": quantiles(kept),
        "steps": quantiles(steps),
        **_every_path(system),
    }


def _every_path(system: ServerlessSystem) -> dict[str, Any]:
    longest = max(range(len(system.applications)), key=lambda a: system.applications[a].stages)
    app = system.applications[longest]
    ask = Ask(longest, 0, int(system.space.batch.max()), app.slo_s)
    planner = get_policy("esg").prepare(system, {**EVERY_SEARCH, "search": "exhaustive"})
    begin = time.perf_counter()
    plan = planner.plan(ask)
    taken = time.perf_counter() - begin
    return {"full_paths": plan.steps, "every_path_s": taken}


def quantiles(values: Sequence[float]) -> dict[str, float | None]:
    """Mean, 5th to 99th percentile; ``None`` where there are no values.

    >>> quantiles([1.0, 3.0])["mean"], quantiles([])["p50"]
    (2.0, None)
    """
    names = ("p5", "p25", "p50", "p75", "p95", "p99")
    if not len(values):
        return {"mean": None, **dict.fromkeys(names)}
    found = np.percentile(np.asarray(values, dtype=float), [float(n[1:]) for n in names])
    return {"mean": float(np.mean(values)), **dict(zip(names, map(float, found), strict=True))}
