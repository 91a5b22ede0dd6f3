"""Replications of several schedulers: in this process, in worker processes, or on a cluster.

A run depends on the system, the scheduler and the replication's number alone, so the records are
the same whatever the number of workers, the order in which they finish, and the workers lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.experiments.pool import Key, Pool, ThisProcess, Work
from nona.simulation.experiments.workers import ProcessPool
from nona.simulation.records.run import Records
from nona.simulation.run import Progress, RunOptions
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
    pool: Pool | None = None,
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
    pool
        Where the runs run, in place of ``workers``: a pool that is kept from one call to the next, or
        a cluster's (:mod:`nona.simulation.experiments.dask_pool`).

    Returns
    -------
    dict
        Scheduler's name → its records in order of replication.

    Raises
    ------
    SimulationError
        For a number below 1, two schedulers of one name, one that cannot be sent to a worker, or a run
        whose worker is lost again and again.
    """
    _check(schedulers, replications, workers)
    keys = [(s, options.replication + r) for r in range(replications) for s in range(len(schedulers))]
    merged = _Merged([s.name for s, _ in schedulers], len(keys), on_progress)
    work = Work(system, tuple(schedulers), options, on_progress is not None)
    if pool is not None:
        found = pool.run(work, keys, merged)
    elif workers == 1 or len(keys) == 1:
        found = ThisProcess().run(work, keys, merged)
    else:
        with ProcessPool(min(workers, len(keys))) as processes:
            found = processes.run(work, keys, merged)
    return {s.name: tuple(found[k] for k in keys if k[0] == i) for i, (s, _) in enumerate(schedulers)}


class _Merged:
    """Adds up the progress of all runs; what a repeated run has told before is not told again.

    ``_done``: the largest fraction of each run; ``_told`` and ``_again``: measured jobs that were passed
    on, and how many of them the run has still to repeat. Runs complete their jobs in the same order.
    """

    def __init__(self, names: Sequence[str], runs: int, on_progress: OnReplicationProgress | None) -> None:
        self._names, self._runs, self._on_progress = names, runs, on_progress
        self._done: dict[Key, float] = {}
        self._told, self._again = Counter[Key](), Counter[Key]()

    def report(self, key: Key, progress: Progress) -> None:
        if self._on_progress is None:
            return
        fresh = _without(progress, self._again[key])
        self._again[key] -= len(progress.query) - len(fresh.query)
        self._told[key] += len(fresh.query)
        self._done[key] = max(progress.fraction, self._done.get(key, 0.0))
        fraction = sum(self._done[k] for k in sorted(self._done)) / self._runs
        self._on_progress(ReplicationProgress(self._names[key[0]], key[1], fraction, fresh))

    def repeat(self, key: Key) -> None:
        self._again[key] = self._told[key]


def _without(progress: Progress, first: int) -> Progress:
    """The report without its ``first`` jobs."""
    if not first:
        return progress
    return replace(
        progress,
        query=progress.query[first:],
        arrival_s=progress.arrival_s[first:],
        completion_s=progress.completion_s[first:],
    )


def _check(schedulers: Sequence[tuple[Scheduler, Prepared]], replications: int, workers: int) -> None:
    for name, value in (("replications", replications), ("workers", workers)):
        if value < 1:
            raise SimulationError(f"Replications: {name}={value} must be at least 1; give a larger number.")
    names = [s.name for s, _ in schedulers]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise SimulationError(f"Replications: scheduler {twice!r} is given twice; name each once.")
