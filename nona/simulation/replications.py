"""Replications of several schedulers, one after the other or in worker processes.

A run depends on the system, the scheduler and the replication's number alone, so the records are
the same whatever the number of workers and the order in which they finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records import Records
from nona.simulation.run import Progress, RunOptions
from nona.simulation.workers import Key, Work, run_in_processes
from nona.system import System


@dataclass(frozen=True, slots=True)
class ReplicationProgress:
    """What one run reported, and how far all runs are together.

    ``fraction`` is the share of all runs' jobs that is done; ``run`` the report of the run of
    ``scheduler`` in ``replication``, with the measured jobs that it completed since its last one.
    """

    scheduler: str
    replication: int
    fraction: float
    run: Progress


DEFAULT = RunOptions()
OnReplicationProgress = Callable[[ReplicationProgress], None]


def run_replications(
    system: System,
    schedulers: Sequence[tuple[Scheduler, Prepared]],
    options: RunOptions = DEFAULT,
    replications: int = 5,
    workers: int = 1,
    on_progress: OnReplicationProgress | None = None,
) -> dict[str, tuple[Records, ...]]:
    """Simulate every scheduler in every replication.

    Parameters
    ----------
    schedulers
        Each with what its ``prepare`` returned for ``system``; names must differ.
    options
        Of every run; replications are numbered from ``options.replication`` on.
    replications
        Runs per scheduler.
    workers
        Processes; 1 runs all in this one. More need schedulers that are defined in a module.
    on_progress
        Called in this process as runs report; ``Cancelled`` raised there stops all runs, and comes
        out of this function.

    Returns
    -------
    dict
        Scheduler's name → its records in order of replication.

    Raises
    ------
    SimulationError
        For a number below 1, two schedulers of one name, or one that cannot be sent to a worker.
    """
    _check(schedulers, replications, workers)
    keys = [(s, options.replication + r) for r in range(replications) for s in range(len(schedulers))]
    merged = _Merged([s.name for s, _ in schedulers], len(keys), on_progress)
    work = Work(system, tuple(schedulers), options, on_progress is not None)
    if workers == 1 or len(keys) == 1:
        found = {key: work.run(key, merged.listener(key)) for key in keys}
    else:
        found = run_in_processes(work, keys, min(workers, len(keys)), merged.report)
    return {s.name: tuple(found[k] for k in keys if k[0] == i) for i, (s, _) in enumerate(schedulers)}


class _Merged:
    """Adds up the progress of all runs."""

    def __init__(self, names: Sequence[str], runs: int, on_progress: OnReplicationProgress | None) -> None:
        self._names, self._runs, self._on_progress = names, runs, on_progress
        self._done: dict[Key, float] = {}

    def listener(self, key: Key) -> Callable[[Progress], None] | None:
        return None if self._on_progress is None else lambda progress: self.report(key, progress)

    def report(self, key: Key, progress: Progress) -> None:
        if self._on_progress is None:
            return
        self._done[key] = progress.fraction
        fraction = sum(self._done[k] for k in sorted(self._done)) / self._runs
        self._on_progress(ReplicationProgress(self._names[key[0]], key[1], fraction, progress))


def _check(schedulers: Sequence[tuple[Scheduler, Prepared]], replications: int, workers: int) -> None:
    for name, value in (("replications", replications), ("workers", workers)):
        if value < 1:
            raise SimulationError(f"Replications: {name}={value} must be at least 1; give a larger number.")
    names = [s.name for s, _ in schedulers]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise SimulationError(f"Replications: scheduler {twice!r} is given twice; name each once.")
