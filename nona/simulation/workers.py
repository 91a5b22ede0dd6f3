"""Runs in worker processes, each with a pipe of its own to this one.

Nothing is shared, so a worker can be ended at any instant: that is how runs are cancelled. A worker
that dies is noticed by the end of its pipe. The start method is ``spawn`` everywhere: forking a
process that has threads is not safe.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records import Records
from nona.simulation.run import Progress, RunOptions, simulate_run
from nona.system import System

Key = tuple[int, int]  # place of the scheduler, number of the replication
OnReport = Callable[[Key, Progress], None]


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


def run_in_processes(
    work: Work, keys: Sequence[Key], workers: int, on_report: OnReport
) -> dict[Key, Records]:
    """Run all ``keys``; whatever a run or ``on_report`` raises ends the workers and comes out here.

    Raises
    ------
    SimulationError
        When the work cannot be sent to a process, or a worker dies.
    """
    try:
        payload = pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(
            f"Replications: the schedulers cannot be sent to worker processes ({error}); define their "
            "functions in a module, or use one worker."
        ) from error
    found: dict[Key, Records] = {}
    left = iter(keys)
    with _processes(payload, workers) as connections:
        busy = [c for c in connections if _give(c, left)]
        while busy:
            for connection in cast(list[Connection], wait(busy)):
                kind, key, content = _receive(connection)
                if kind == "progress":
                    on_report(key, content)
                elif kind == "error":
                    raise content
                else:
                    found[key] = content
                    if not _give(connection, left):
                        busy.remove(connection)
    return found


def _give(connection: Connection, left: Iterator[Key]) -> bool:
    """Send the next run to a worker; whether there was one."""
    key = next(left, None)
    if key is not None:
        connection.send(key)
    return key is not None


def _receive(connection: Connection) -> tuple[str, Key, Any]:
    try:
        message: tuple[str, Key, Any] = connection.recv()
    except (EOFError, ConnectionResetError) as error:
        raise SimulationError(
            "Replications: a worker process died, perhaps for want of memory; use fewer workers or jobs."
        ) from error
    return message


@contextmanager
def _processes(payload: bytes, workers: int) -> Iterator[list[Connection]]:
    """Started workers, by their pipes; ended on the way out, whatever they do."""
    context = get_context("spawn")
    processes, connections = [], []
    try:
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, payload), daemon=True)
            process.start()
            theirs.close()  # so that the pipe ends when the worker does
            processes.append(process)
            connections.append(ours)
        yield connections
    finally:
        for process in processes:
            process.terminate()
        for process, connection in zip(processes, connections, strict=True):
            process.join()
            connection.close()


def serve(connection: Connection, payload: bytes) -> None:
    """The worker: run what comes through the pipe until it ends."""
    try:
        work: Work = pickle.loads(payload)
    except Exception as error:  # whatever an import may raise is for the parent to show
        connection.send(("error", (0, 0), SimulationError(f"Replications: a worker cannot start: {error}.")))
        return
    while True:
        try:
            key: Key = connection.recv()
        except EOFError:
            return

        def report(progress: Progress, key: Key = key) -> None:
            connection.send(("progress", key, progress))

        try:
            connection.send(("records", key, work.run(key, report if work.reporting else None)))
        except Exception as error:  # the parent raises it again
            connection.send(("error", key, error))
