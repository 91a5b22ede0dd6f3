"""Replications of several schedulers: in this process, in worker processes, on a cluster.

A run depends on the system, the scheduler and the replication's number alone, so the records are
the same whatever the number of workers, the order in which they finish, and the workers lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nona.core.experiments import Key, Pool, RunListener, Shares, check_runs, do_nothing, run_work
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.simulation.collected import RunProgress
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import System


@dataclass(frozen=True, slots=True)
class ReplicationWork:
    """Work that every worker receives once; ``reporting``: whether progress is wanted."""

    system: System
    schedulers: tuple[tuple[Scheduler, SchedulerTables], ...]
    options: RunOptions
    reporting: bool

    def run(self, key: Key, on_progress: Callable[[RunProgress], None] | None) -> Records:
        """Run one replication of a scheduler."""
        scheduler, prepared = self.schedulers[key[0]]
        return simulate_run(
            self.system, scheduler, prepared, replace(self.options, replication=key[1]), on_progress
        )


@dataclass(frozen=True, slots=True)
class ReplicationProgress:
    """Report of one run, with the progress of all runs together.

    ``fraction`` is the share of all runs' jobs that is done; ``run`` the report of the run of
    ``scheduler`` in ``replication``, with the measured jobs that it completed since its last one.
    """

    scheduler: str
    replication: int
    fraction: float
    run: RunProgress


DEFAULT = RunOptions()
OnReplicationProgress = Callable[[ReplicationProgress], None]
OnRunEnd = Callable[[str, Records], None]
RunPool = Pool[RunProgress, Records]


def run_replications(
    system: System,
    schedulers: Sequence[tuple[Scheduler, SchedulerTables]],
    options: RunOptions = DEFAULT,
    replications: int = 5,
    workers: int = 1,
    on_progress: OnReplicationProgress | None = None,
    pool: RunPool | None = None,
    on_end: OnRunEnd = do_nothing,
) -> dict[str, tuple[Records, ...]]:
    """Simulate every scheduler in every replication.

    ``schedulers``: each with what its ``prepare`` returned for ``system``; names must differ.
    ``options``: of every run; replications are numbered from ``options.replication`` on.
    ``replications``: runs per scheduler.
    ``workers``: processes; 1 runs all in this one. More need schedulers that are defined in a module.
    ``on_progress``: called in this process as runs report; ``Cancelled`` raised there stops all runs, and
        comes out of this function.
    ``pool``: where the runs run, in place of ``workers``: a pool that is kept from one call to the next, or a
        cluster's (:mod:`nona.queries.simulation.dask_pool`).
    ``on_end``: called in this process with a scheduler's name and the records of each run as it ends.

    Returns scheduler's name → its records in order of replication.

    Raises ``SimulationError`` for a number below 1, two schedulers of one name, one that cannot be sent to a
    worker, or a run whose worker is lost again and again.
    """
    names = [s.name for s, _ in schedulers]
    check_runs("scheduler", names, replications, workers)
    keys = [(s, options.replication + r) for r in range(replications) for s in range(len(schedulers))]
    merged = _Merged(names, keys, on_progress)
    runs = ReplicationWork(system, tuple(schedulers), options, on_progress is not None)
    listener = RunListener(merged.report, merged.repeat)
    by_key = run_work(runs, keys, listener, workers, pool, lambda key, run: on_end(names[key[0]], run))
    return {s.name: tuple(by_key[k] for k in keys if k[0] == i) for i, (s, _) in enumerate(schedulers)}


class _Merged:
    """Adds up the progress of all runs; jobs that a repeated run has reported before are left out.

    ``_told`` and ``_again``: measured jobs that were passed on, and how many of them the run has still to
    repeat. Runs complete their jobs in the same order.
    """

    def __init__(
        self, names: Sequence[str], keys: Sequence[Key], on_progress: OnReplicationProgress | None
    ) -> None:
        self._names, self._on_progress = names, on_progress
        self._shares = Shares(dict.fromkeys(keys, 1.0))
        self._told, self._again = Counter[Key](), Counter[Key]()

    def report(self, key: Key, progress: RunProgress) -> None:
        if self._on_progress is None:
            return
        fresh = _without(progress, self._again[key])
        self._again[key] -= len(progress.query) - len(fresh.query)
        self._told[key] += len(fresh.query)
        fraction = self._shares.add(key, progress.fraction)
        self._on_progress(ReplicationProgress(self._names[key[0]], key[1], fraction, fresh))

    def repeat(self, key: Key) -> None:
        self._again[key] = self._told[key]


def _without(progress: RunProgress, first: int) -> RunProgress:
    if not first:
        return progress
    return replace(
        progress,
        query=progress.query[first:],
        arrival_s=progress.arrival_s[first:],
        completion_s=progress.completion_s[first:],
    )
