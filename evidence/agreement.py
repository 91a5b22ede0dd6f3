"""Agreement of simulation and theory on known systems, and the description of such a system."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from nona.core.statistics import Interval, mean_interval
from nona.queries.schedulers.base import Scheduler
from nona.queries.simulation.collected import RunProgress
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import System

_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Expected:
    """The mean time of one class of jobs, or of all, as theory has it.

    ``jobs``: which jobs, for people; empty: all.
    ``low_s``, ``high_s``: seconds: bounds of the mean, equal where theory is exact.
    ``query``: number of the query class; ``None``: all.
    ``rivals``: neighbouring theories and their answers (s): what a simulator with a likely error would show.
    """

    low_s: float
    high_s: float
    jobs: str = ""
    query: int | None = None
    rivals: Mapping[str, float] = field(default_factory=lambda: _NONE)

    @property
    def exact(self) -> bool:
        """True where theory gives a number, not only bounds."""
        return self.low_s == self.high_s


@dataclass(frozen=True, slots=True)
class RunLength:
    """Measured jobs of a run of normal effort, and the jobs before them."""

    jobs: int
    warmup: int


@dataclass(frozen=True, eq=False)
class KnownSystem:
    """A system, its runs, and its known results.

    ``name``, ``theory``: what it is, and which result it tests.
    ``load``: utilisation of the busiest resource, 0 to 1; where steps have up to B members, λ·s(B)/B.
    ``expected``: mean times, of all jobs or class by class.
    ``compute``, ``network``: mean utilisation of the executors, and that of the link.
    ``length``: how long to run.
    ``scheduler``, ``options``, ``run_on``: the scheduler with its options, and whether tasks of a job run on.
    """

    name: str
    theory: str
    load: float
    system: System
    scheduler: Scheduler
    expected: tuple[Expected, ...]
    compute: float
    network: float
    length: RunLength
    options: Mapping[str, Any] = field(default_factory=dict)
    run_on: bool = True


def exactly(
    jct_s: float, rivals: Mapping[str, float] = _NONE, jobs: str = "", query: int | None = None
) -> Expected:
    """Return an expectation where theory is exact; arguments as in :class:`Expected`.

    >>> exactly(0.5).exact
    True
    """
    return Expected(jct_s, jct_s, jobs, query, rivals)


def run_length(load: float, share: float = 1.0) -> RunLength:
    """Return the length of a run at a load; ``share`` of the jobs visit a station, or are of a class.

    Runs grow with the load, as the correlation of waits does, at least roughly.

    >>> run_length(0.3), run_length(0.9, share=0.5)
    (RunLength(jobs=2000, warmup=400), RunLength(jobs=32000, warmup=8000))
    """
    jobs, warmup = (2_000, 400) if load < 0.5 else (4_000, 800) if load < 0.8 else (16_000, 4_000)
    return RunLength(round(jobs / share), round(warmup / share))


@dataclass(frozen=True, slots=True)
class Effort:
    """Size of the simulation.

    ``scale`` multiplies the measured jobs of every run; ``level`` is the probability with which
    each single interval covers the mean of a simulator that is right.
    """

    replications: int = 20
    scale: float = 1.0
    level: float = 0.999
    engine: str = "simpy"


@dataclass(frozen=True, slots=True)
class Agreement:
    """One expectation beside its simulated mean (seconds)."""

    expected: Expected
    simulated: Interval

    @property
    def error(self) -> float:
        """Simulated over theory, less 1; where there are bounds: over the nearer one, 0 between them."""
        mean = self.simulated.mean
        return mean / min(max(mean, self.expected.low_s), self.expected.high_s) - 1

    @property
    def half_width(self) -> float:
        """Half of the interval over its mean: smaller errors than this may go unnoticed."""
        return self.simulated.half_width / self.simulated.mean

    @property
    def agrees(self) -> bool:
        """True where the interval meets theory."""
        return self.simulated.low <= self.expected.high_s and self.simulated.high >= self.expected.low_s

    def told_apart(self) -> tuple[str, ...]:
        """Return the rival theories that the interval rules out."""
        return tuple(k for k, v in self.expected.rivals.items() if not self.simulated.covers(v))


@dataclass(frozen=True, eq=False)
class Comparison:
    """A known system after its replications.

    ``known``: the system.
    ``agreements``: one for each expectation, in its order.
    ``compute``, ``network``: simulated utilisation of the executors and of the link.
    ``trouble``: reasons of runs that had no steady state, and self-checks that failed; empty: none.
    """

    known: KnownSystem
    agreements: tuple[Agreement, ...]
    compute: Interval
    network: Interval
    trouble: tuple[str, ...]


_NORMAL = Effort()
#: Efforts by name, from seconds to minutes on the compiled engine.
EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {"short": Effort(10, 0.25), "normal": _NORMAL, "long": Effort(scale=8.0)}
)


def compare(
    case: KnownSystem, effort: Effort = _NORMAL, on_progress: Callable[[float], None] | None = None
) -> Comparison:
    """Run the replications of a known system and build the intervals.

    Means of independent replications, Student's t.

    ``on_progress``: called with the share that is done, 0 to 1.

    Raises ``SimulationError`` for an unknown engine, or an effort that leaves no jobs.
    """
    prepared = case.scheduler.prepare(case.system, None, case.options)
    times: list[list[float]] = [[] for _ in case.expected]
    compute, network, trouble = [], [], []
    for r in range(effort.replications):
        options = RunOptions(
            jobs=round(case.length.jobs * effort.scale),
            warmup=case.length.warmup,
            replication=r,
            engine=effort.engine,
            run_on=case.run_on,
        )
        report = _share(on_progress, r, effort.replications)
        run = simulate_run(case.system, case.scheduler, prepared, options, report)
        for row, expected in zip(times, case.expected, strict=True):
            row.append(_mean_s(run, expected.query))
        compute.append(run.utilization_compute)
        network.append(run.utilization_network)
        trouble += [f"replication {r}: {run.state_reason}"] * (run.state == "overloaded")
        trouble += [f"replication {r}: {c.name}: {c.detail}" for c in run.checks if not c.ok]
    return Comparison(
        known=case,
        agreements=tuple(
            Agreement(e, mean_interval(row, effort.level))
            for e, row in zip(case.expected, times, strict=True)
        ),
        compute=mean_interval(compute, effort.level),
        network=mean_interval(network, effort.level),
        trouble=tuple(trouble),
    )


def _mean_s(run: Records, query: int | None) -> float:
    jct = run.completion_s - run.arrival_s
    if query is not None:
        jct = jct[run.query == query]
    return float(np.mean(jct)) if len(jct) else math.nan


def _share(
    on_progress: Callable[[float], None] | None, done: int, of: int
) -> Callable[[RunProgress], None] | None:
    return None if on_progress is None else lambda p: on_progress((done + p.fraction) / of)
