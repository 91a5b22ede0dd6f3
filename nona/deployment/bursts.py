"""Bursts that explain a queue: the CV of gamma gaps at which a simulated pool waits as long as was measured.

The mean wait grows with the CV, so bisection finds it, all runs with the same random streams. A mean over N
requests varies: an interval holds all CVs whose simulated mean wait may be the measured one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import yaml

from nona.core.errors import NonaError
from nona.core.statistics import student
from nona.deployment.facts import ASKED, text_of
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import AUTO, RunOptions, engine_named, simulate_run
from nona.queries.system import System
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import beyond_capacity
from nona.scenario.arrivals import Arrivals
from nona.scenario.file import parse_scenario
from nona.scenario.lookup import Sources

LEAST_CV, MOST_CV = 0.05, 10.0
LEVEL = 0.95
COUNTED_S = 1e-6
"""Counters of waits count microseconds."""
_SCHEDULER = "least-loaded"
_WAITS = slice(3, 6)  # of a server, of its own query, for a batch to fill


@dataclass(frozen=True, slots=True)
class _Effort:
    """Size of a search: a second or two compiled, about five in SimPy; of the first ``models`` alone.

    ``executors``: GPUs or slices at most; ``ratio``: of the ends of the bisection.
    """

    models: int
    executors: int
    runs: int
    jobs: int
    ratio: float


_EFFORTS = {"compiled": _Effort(5, 64, 8, 8000, 1.01), "simpy": _Effort(2, 16, 5, 800, 1.05)}


@dataclass(frozen=True, slots=True)
class Bursts:
    """The CV that explains a queue, and the lowest and highest that do; ``problem``: why none does.

    ``poisson_s``: the mean wait of Poisson arrivals.
    """

    cv: float = 1.0
    low: float = 1.0
    high: float = 1.0
    poisson_s: float = math.nan
    problem: str = ""


def short_text(seconds: float) -> str:
    """Return a time with three digits, as simulated ones have.

    >>> short_text(0.000244982)
    '245 us'
    """
    return text_of(float(f"{seconds:.3g}"), "time")


@dataclass(frozen=True, slots=True)
class Pool:
    """What serves a model: groups of servers and the row of a scenario that has it alone, with its file.

    ``before``: pools of other models, which were simulated before.
    """

    servers: list[dict[str, Any]]
    row: Mapping[str, Any]
    file: bytes
    cost: Mapping[str, Any] = field(default_factory=dict)
    before: int = 0

    def bursts(self, wait_s: float, requests: int) -> Bursts | None:
        """Return what explains a mean wait of so many requests; ``None`` where no scenario is whole."""
        data = {
            "version": 1,
            "cluster": {"servers": self.servers},
            "workload": [dict(self.row)],
            "schedulers": [_SCHEDULER],
            "cost": dict(self.cost),
        }
        text = yaml.safe_dump(data)
        if ASKED in text or ASKED.encode() in self.file:
            return None
        most = _EFFORTS[engine_named(AUTO)].models
        if self.before >= most:
            return Bursts(problem=f"the first {most} models alone are simulated")
        return _explained(text, self.row["model"], self.file, wait_s, requests)


@lru_cache(maxsize=64)
def _explained(text: str, name: str, file: bytes, wait_s: float, requests: int) -> Bursts | None:
    try:
        system = prepare(parse_scenario(text), Sources(None, in_memory={name: file})).system
    except NonaError:
        return None  # the scenario's own reader says why
    effort = _EFFORTS[engine_named(AUTO)]

    @cache
    def interval_s(cv: float) -> tuple[float, float]:
        """Return between which means that of so many requests falls, when all gaps have this CV."""
        return _interval_s(system, cv, effort, requests)

    def mean_s(cv: float) -> float:
        return math.sqrt(math.prod(interval_s(cv)))  # waits vary by a factor

    if system.executors > effort.executors:
        return Bursts(problem=f"more than {effort.executors} GPUs or slices are not simulated")
    if beyond_capacity(system, _SCHEDULER, None):
        return Bursts(problem="the servers cannot serve this rate at these times")
    wait_s = max(wait_s, COUNTED_S)
    poisson, poisson_s = interval_s(1.0), mean_s(1.0)
    if poisson[0] <= wait_s <= poisson[1]:
        return Bursts(poisson_s=poisson_s)
    end = MOST_CV if wait_s > poisson_s else LEAST_CV
    least_s, most_s = interval_s(end)
    if not (wait_s <= most_s if end > 1 else wait_s >= least_s):
        gaps = "even arrivals" if end < 1 else f"gaps of CV {end:g}"
        wait = short_text(mean_s(end))
        return Bursts(problem=f"{gaps} wait {wait}; look at its times, batching and instances")

    def first(reaches: Callable[[float], bool], low: float, high: float) -> float:
        """Return the least CV between two that reaches the wait; the wait grows with it."""
        if reaches(low):
            return low
        while high / low > effort.ratio:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return math.sqrt(low * high)

    below, above = (1.0, end) if end > 1 else (end, 1.0)
    cv = first(lambda x: mean_s(x) >= wait_s, below, above)
    return Bursts(
        cv=cv,
        low=first(lambda x: interval_s(x)[1] >= wait_s, below, cv),
        high=first(lambda x: interval_s(x)[0] > wait_s, cv, above),
        poisson_s=poisson_s,
    )


def _interval_s(system: System, cv: float, effort: _Effort, requests: int) -> tuple[float, float]:
    """Return where the mean wait of so many requests falls."""
    gaps = Arrivals("poisson") if cv == 1 else Arrivals("gamma", cv=cv)
    system = replace(system, queries=tuple(replace(query, arrivals=gaps) for query in system.queries))
    scheduler = get_scheduler(_SCHEDULER)
    tables = scheduler.prepare(system, None, {})
    jobs = max(200, min(effort.jobs, requests))
    means_s = []
    for run in range(effort.runs):
        records = simulate_run(
            system, scheduler, tables, RunOptions(jobs=jobs, replication=run, tail_jobs=jobs // 4)
        )
        means_s.append(float(records.tally.parts_s[0, _WAITS].sum() / records.tally.completed[0]))
    spread = float(np.std(np.log(np.maximum(means_s, COUNTED_S)), ddof=1))
    factor = math.exp(student(effort.runs - 1, LEVEL) * spread * math.sqrt(jobs / requests + 1 / effort.runs))
    mean_s = max(float(np.mean(means_s)), COUNTED_S)
    return mean_s / factor, mean_s * factor
