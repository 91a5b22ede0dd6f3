"""What runs many runs: in this process, in worker processes, or on a cluster, behind one interface.

A run is a function of the work and its key alone, so the records are the same wherever it runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records.run import Records
from nona.simulation.run import Progress, RunOptions, simulate_run
from nona.system import System

Key = tuple[int, int]  # place of the scheduler, number of the replication
RETRIES = 2  # times that a run is repeated after its worker was lost, before the study gives up


@dataclass(frozen=True, slots=True)
class Work:
    """What every worker gets once; ``reporting``: whether progress is wanted."""

    system: System
    schedulers: tuple[tuple[Scheduler, Prepared], ...]
    options: RunOptions
    reporting: bool

    def run(self, key: Key, on_progress: Callable[[Progress], None] | None) -> Records:
        """The run of one scheduler in one replication."""
        scheduler, prepared = self.schedulers[key[0]]
        return simulate_run(
            self.system, scheduler, prepared, replace(self.options, replication=key[1]), on_progress
        )


class Listener(Protocol):
    """Hears of runs while they go on; what it raises ends them all."""

    def report(self, key: Key, progress: Progress) -> None:
        """A run is so far."""

    def repeat(self, key: Key) -> None:
        """A run's worker was lost: its reports begin again."""


class Pool(Protocol):
    """Runs keys of a work. It may be used again, and is closed by whoever made it."""

    def run(self, work: Work, keys: Sequence[Key], listener: Listener) -> Mapping[Key, Records]:
        """The records of every key; whatever a run or the listener raises ends all runs and comes out."""


class ThisProcess:
    """One run after the other in this process. It has no workers to lose."""

    def run(self, work: Work, keys: Sequence[Key], listener: Listener) -> Mapping[Key, Records]:
        """See :class:`Pool`."""

        def listen(key: Key) -> Callable[[Progress], None] | None:
            return (lambda progress: listener.report(key, progress)) if work.reporting else None

        return {key: work.run(key, listen(key)) for key in keys}


def pickled(work: Work) -> bytes:
    """``work`` as it is sent to other processes.

    Raises
    ------
    SimulationError
        When it cannot be: functions that are not defined in a module have no name to send.
    """
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(
            f"Replications: the schedulers cannot be sent to worker processes ({error}); define their "
            "functions in a module, or use one worker."
        ) from error
