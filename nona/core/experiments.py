"""Many independent runs, in this process or in several, behind one interface.

A run is a function of the work and its key alone, so the results are the same wherever it runs. Worker
processes share nothing, so one can be ended at any instant: that is how runs are cancelled. A worker
that dies is noticed by the end of its pipe; another takes its place and repeats the run. The start
method is ``spawn`` everywhere: forking a process that has threads is not safe.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, cast

from nona.core.errors import SimulationError

Key = tuple[int, int]  # what is run, by its place in the work; number of the replication
RETRIES = 2  # times that a run is repeated after its worker was lost, before the experiment gives up
P = TypeVar("P")
R = TypeVar("R")
_P_co = TypeVar("_P_co", covariant=True)
_R_co = TypeVar("_R_co", covariant=True)


class WorkerTask(Protocol[_P_co, _R_co]):
    """The work that every worker gets once: makes the result of each key, and reports progress if wanted."""

    @property
    def reporting(self) -> bool:
        """True where progress is wanted."""

    def run(self, key: Key, on_progress: Callable[[_P_co], None] | None) -> _R_co:
        """Return the result of one run."""


def do_nothing(*_: object) -> None:
    """Do nothing: the default where no one listens."""


@dataclass(frozen=True, slots=True)
class RunListener(Generic[P]):
    """Hears of runs while they go on; what it raises ends them all.

    ``report``: a run has come so far. ``repeat``: a run's worker was lost, so its reports start again.
    """

    report: Callable[[Key, P], None]
    repeat: Callable[[Key], None] = do_nothing


OnEnd = Callable[[Key, R], None]


class Pool(Protocol[P, R]):
    """Runs keys of a work. It may be used again; its creator closes it."""

    def run(
        self,
        work: WorkerTask[P, R],
        keys: Sequence[Key],
        listener: RunListener[P],
        on_end: OnEnd[R] = do_nothing,
    ) -> Mapping[Key, R]:
        """Return the result of every key; what a run, ``listener`` or ``on_end`` raises ends all runs."""


class InProcess:
    """One run after the other in this process. It has no workers to lose."""

    def run(
        self,
        work: WorkerTask[P, R],
        keys: Sequence[Key],
        listener: RunListener[P],
        on_end: OnEnd[R] = do_nothing,
    ) -> dict[Key, R]:
        """See :class:`Pool`."""

        def listen(key: Key) -> Callable[[P], None] | None:
            return (lambda progress: listener.report(key, progress)) if work.reporting else None

        results: dict[Key, R] = {}
        for key in keys:
            results[key] = work.run(key, listen(key))
            on_end(key, results[key])
        return results


def pickled(work: WorkerTask[P, R]) -> bytes:
    """``work`` as it is sent to other processes.

    Raises ``SimulationError`` when it cannot be: functions that are not defined in a module have no name to
    send.
    """
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(
            f"Replications: the schedulers cannot be sent to worker processes ({error}); define their "
            "functions in a module, or use one worker."
        ) from error


def check_runs(kind: str, names: Sequence[str], replications: int, workers: int) -> None:
    """Refuse a number below 1, no name, and a name that is given twice.

    Parameters
    ----------
    kind : str
        What the names are, such as ``scheduler``.
    names : sequence of str
        At least one, each once.
    replications, workers : int
        At least 1.

    Raises
    ------
    SimulationError
        If one of these does not hold.
    """
    for name, value in (("replications", replications), ("workers", workers)):
        if value < 1:
            raise SimulationError(f"Replications: {name}={value} must be at least 1; give a larger number.")
    if not names:
        raise SimulationError(f"Replications: there is no {kind}; name at least one.")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise SimulationError(f"Replications: {kind} {twice!r} is given twice; name each once.")


class Shares:
    """Adds up the shares of runs that are done; a run that is repeated does not fall back.

    ``weights``: key of every run → its part of the whole work, in any unit.

    >>> shares = Shares({(0, 0): 1.0, (1, 0): 3.0})
    >>> shares.add((1, 0), 0.5), shares.add((1, 0), 0.2), shares.add((0, 0), 1.0)
    (0.375, 0.375, 0.625)
    """

    def __init__(self, weights: Mapping[Key, float]) -> None:
        self._weights = dict(weights)
        self._done = dict.fromkeys(self._weights, 0.0)

    def add(self, key: Key, fraction: float) -> float:
        """Take in the share of a run that is done; the share of all."""
        self._done[key] = max(fraction, self._done[key])
        whole = sum(self._weights.values())
        return sum(self._weights[k] * done for k, done in self._done.items()) / whole


def cores() -> int:
    """Cores that this process may use.

    >>> 1 <= cores() <= (os.cpu_count() or 1)
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessPool:
    """At most ``size`` worker processes of this machine, kept from one call of :meth:`run` to the next.

    A work that is as the one before is not sent again: what it keeps in a worker stays there.

    They start when they are first needed. Use it in a ``with`` statement, or close it.

    Raises ``SimulationError`` for a size below 1; from :meth:`run` when the work cannot be sent to a process,
    or a run's worker is lost more often than :data:`RETRIES` times.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise SimulationError(f"Replications: workers={size} must be at least 1; give a larger number.")
        self.size = size
        self._idle: list[_Worker] = []

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the idle worker processes."""
        _end(self._idle)
        self._idle.clear()

    def run(
        self,
        work: WorkerTask[P, R],
        keys: Sequence[Key],
        listener: RunListener[P],
        on_end: OnEnd[R] = do_nothing,
    ) -> dict[Key, R]:
        """See :class:`Pool`."""
        payload = pickled(work)
        left, lost = deque(keys), Counter[Key]()
        results: dict[Key, R] = {}
        busy: dict[Connection, _Worker] = {}
        try:
            while left or busy:
                while left and len(busy) < self.size:
                    worker = self._idle.pop() if self._idle else _Worker()
                    busy[worker.connection] = worker
                    worker.give(payload, left.popleft())
                for connection in cast(list[Connection], wait(list(busy))):
                    worker = busy[connection]
                    message = worker.receive()
                    if message is None:
                        _end([busy.pop(connection)])
                        _count_loss(lost, worker.key)
                        left.appendleft(worker.key)
                        listener.repeat(worker.key)
                        continue
                    kind, content = message
                    if kind == "progress":
                        listener.report(worker.key, content)
                    elif kind == "error":
                        raise content
                    else:
                        results[worker.key] = content
                        self._idle.append(busy.pop(connection))
                        on_end(worker.key, content)
        finally:
            _end(list(busy.values()))
        return results


@contextlib.contextmanager
def kept_pool(workers: int) -> Iterator[ProcessPool | InProcess]:
    """``workers`` processes for all that is run in the ``with`` statement; this process if it is one.

    >>> with kept_pool(1) as pool:
    ...     type(pool).__name__
    'InProcess'

    Raises ``SimulationError`` for fewer than one.
    """
    if workers == 1:
        yield InProcess()
        return
    with ProcessPool(workers) as pool:
        yield pool


def _count_loss(lost: Counter[Key], key: Key) -> None:
    lost[key] += 1
    if lost[key] > RETRIES:
        raise SimulationError(
            f"Replications: a worker process died {lost[key]} times in the same run, perhaps for want of "
            "memory; use fewer workers or jobs."
        )


class _Worker:
    """A started process, this end of its pipe, and the run that it has been given."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # so that the pipe ends when the worker does
        self.key: Key = (-1, -1)
        self._payload: bytes | None = None

    def give(self, payload: bytes, key: Key) -> None:
        """Send a run; before the first of a work, the work."""
        self.key = key
        with contextlib.suppress(OSError):  # a worker that has died is noticed when we listen
            if payload != self._payload:
                self.connection.send(("work", payload))
                self._payload = payload
            self.connection.send(("run", key))

    def receive(self) -> tuple[str, Any] | None:
        try:
            message: tuple[str, Any] = self.connection.recv()
        except (EOFError, OSError):  # it may die in the middle of a message
            return None
        return message


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join()
        worker.process.close()
        worker.connection.close()


def _end_with_parent() -> None:
    """End this process, also in the middle of a run, when the one that started it is gone."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _serve(connection: Connection) -> None:
    """Run what comes through the pipe until it ends: the main loop of a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True, name="orphans").start()
    work: WorkerTask[Any, Any] | None = None

    def report(progress: Any) -> None:
        connection.send(("progress", progress))

    while True:
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):  # the parent is gone, perhaps in the middle of a message
            return
        try:
            if kind == "work":
                work = None
                work = pickle.loads(content)
            elif work is not None:
                result = work.run(content, report if work.reporting else None)
                connection.send(("result", result))
        except Exception as error:  # the parent raises it again, and ends this process
            if kind == "work":  # whatever an import may raise
                error = SimulationError(f"Replications: a worker cannot start: {error}.")
            with contextlib.suppress(OSError):  # the parent may be gone
                connection.send(("error", error))


def run_work(
    work: WorkerTask[P, R],
    keys: Sequence[Key],
    listener: RunListener[P],
    workers: int = 1,
    pool: Pool[P, R] | None = None,
    on_end: OnEnd[R] = do_nothing,
) -> Mapping[Key, R]:
    """Return the result of every key, whatever the number of processes.

    Parameters
    ----------
    work : WorkerTask
        What a process does for one key.
    keys : sequence
        The runs.
    listener : RunListener
        Is called with the progress of the runs.
    workers : int, optional
        Number of processes; results do not depend on it.
    pool : Pool, optional
        Runs the work in place of ``workers``.
    on_end : callable, optional
        Is called with each key and its result.

    Returns
    -------
    mapping
        Key → result.

    Raises
    ------
    SimulationError
        If the work cannot be sent to a process, or the process of a run is lost again and again.
    """
    if pool is not None:
        return pool.run(work, keys, listener, on_end)
    if workers == 1 or len(keys) < 2:
        return InProcess().run(work, keys, listener, on_end)
    with ProcessPool(min(workers, len(keys))) as processes:
        return processes.run(work, keys, listener, on_end)
