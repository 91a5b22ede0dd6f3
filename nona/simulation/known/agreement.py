"""Simulate a known system, and say whether it agrees with theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from nona.simulation.known.parts import Expected, KnownSystem
from nona.simulation.records.run import Records
from nona.simulation.run import Progress, RunOptions, simulate_run
from nona.simulation.statistics.intervals import Interval, mean_interval


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is simulated.

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
        """Whether the interval meets theory."""
        return self.simulated.low <= self.expected.high_s and self.simulated.high >= self.expected.low_s

    def told_apart(self) -> tuple[str, ...]:
        """The rival theories that the interval rules out."""
        return tuple(k for k, v in self.expected.rivals.items() if not self.simulated.covers(v))


@dataclass(frozen=True, eq=False)
class Comparison:
    """A known system after its replications.

    Attributes
    ----------
    known
        The system.
    agreements
        One for each expectation, in its order.
    compute, network
        Simulated utilisation of the executors and of the link.
    trouble
        Reasons of runs that had no steady state, and self-checks that failed; empty: none.
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
    known: KnownSystem, effort: Effort = _NORMAL, on_progress: Callable[[float], None] | None = None
) -> Comparison:
    """Run the replications of a known system and build the intervals.

    Means of independent replications, Student's t.

    Parameters
    ----------
    on_progress
        Called with the share that is done, 0 to 1.

    Raises
    ------
    SimulationError
        For an unknown engine, or an effort that leaves no jobs.
    """
    prepared = known.scheduler.prepare(known.system, None, known.options)
    times: list[list[float]] = [[] for _ in known.expected]
    compute, network, trouble = [], [], []
    for r in range(effort.replications):
        options = RunOptions(
            jobs=round(known.length.jobs * effort.scale),
            warmup=known.length.warmup,
            replication=r,
            engine=effort.engine,
            run_on=known.run_on,
        )
        report = _share(on_progress, r, effort.replications)
        run = simulate_run(known.system, known.scheduler, prepared, options, report)
        for row, expected in zip(times, known.expected, strict=True):
            row.append(_mean_s(run, expected.query))
        compute.append(run.utilization_compute)
        network.append(run.utilization_network)
        trouble += [f"replication {r}: {run.state_reason}"] * (run.state == "overloaded")
        trouble += [f"replication {r}: {c.name}: {c.detail}" for c in run.checks if not c.ok]
    return Comparison(
        known=known,
        agreements=tuple(
            Agreement(e, mean_interval(row, effort.level))
            for e, row in zip(known.expected, times, strict=True)
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
) -> Callable[[Progress], None] | None:
    return None if on_progress is None else lambda p: on_progress((done + p.fraction) / of)
