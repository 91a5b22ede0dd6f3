"""The runs of a study: pilot runs for the warm-up, then as many replications as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nona.scenario.schema import SimulationSpec
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.experiments.precision import Precision, run_to_precision
from nona.simulation.experiments.replications import (
    OnReplicationProgress,
    ReplicationProgress,
    RunPool,
    run_replications,
)
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions
from nona.simulation.sizes import auto_warmup
from nona.simulation.statistics.warmup import PILOT_FIRST, PILOT_RUNS, Warmup, common_warmup
from nona.system import System

Found = dict[str, tuple[Records, ...]]


@dataclass(frozen=True, eq=False)
class Runner:
    """Runs replications of the ``chosen`` schedulers, with common workers and progress callback."""

    system: System
    chosen: Sequence[tuple[Scheduler, Prepared]]
    workers: int
    pool: RunPool | None
    on_progress: OnReplicationProgress | None

    def run(self, options: RunOptions, count: int, begin: float = 0.0, end: float = 1.0) -> Found:
        """``count`` replications; the reported progress is between ``begin`` and ``end``."""
        tell = self.on_progress

        def listen(progress: ReplicationProgress) -> None:
            if tell is not None:
                tell(replace(progress, fraction=begin + (end - begin) * progress.fraction))

        listener = None if tell is None else listen
        return run_replications(self.system, self.chosen, options, count, self.workers, listener, self.pool)


def find_warmup(runner: Runner, spec: SimulationSpec, options: RunOptions) -> Warmup:
    """The warm-up of the scenario: a number, the automatic one, or MSER-5 on pilot runs.

    The pilot runs measure everything from the first job on, and are as long as a run with the
    automatic warm-up.
    """
    otherwise = auto_warmup(spec.jobs)
    if spec.warmup != "mser":
        fixed = isinstance(spec.warmup, int)
        return Warmup("fixed" if fixed else "auto", int(spec.warmup) if fixed else otherwise, {}, ())
    pilot = replace(options, jobs=spec.jobs + otherwise, warmup=0, replication=PILOT_FIRST, timeline_jobs=0)
    return common_warmup(runner.run(pilot, PILOT_RUNS, end=pilot_share(spec)), otherwise)


def pilot_share(spec: SimulationSpec) -> float:
    """The pilot's share of all runs: 0 without one."""
    return PILOT_RUNS / (PILOT_RUNS + spec.replications) if spec.warmup == "mser" else 0.0


def replicate(runner: Runner, spec: SimulationSpec, options: RunOptions) -> tuple[Found, Precision | None]:
    """The replications: as many as the scenario says, or until its precision is reached."""
    begin = pilot_share(spec)
    if spec.precision is None:
        return runner.run(options, spec.replications, begin), None
    most = max(spec.max_replications, spec.replications)

    def more(first: int, count: int) -> Found:
        part = [begin + (1 - begin) * n / most for n in (first, first + count)]
        return runner.run(replace(options, replication=first), count, *part)

    return run_to_precision(more, spec.precision, spec.replications, most)
