"""Runs on a Dask cluster: the same runs, elsewhere. It needs the extra ``dask``.

Dask's own client tries for many seconds, and prints a traceback, where nothing can ever answer.

The work is sent once to every worker. Dask repeats the runs of a lost worker on the others, as often
as the cluster allows (``distributed.scheduler.allowed-failures``); if all copies of the work are lost
with their workers, it is sent again. Workers report how far a run is; its jobs come with its records.
Start workers with one thread each (``dask worker --nthreads 1 --nworkers N``): a run is one thread.
"""

from __future__ import annotations

import gc
import importlib
import logging
import pickle
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Generic, cast

import numpy as np

from nona.core.errors import SimulationError
from nona.core.experiments import RETRIES, Key, OnEnd, P, R, RunListener, WorkerTask, do_nothing, pickled
from nona.queries.simulation.collected import RunProgress
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import Cancelled

ANSWER_S = 5.0  # for the connection, and again for the first byte: a scheduler speaks first
_ADDRESS = re.compile(
    r"(?:(?P<scheme>tcp|tls)://)?(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[\w.-]+)):(?P<port>\d{1,5})"
)


def check_address(address: str, timeout_s: float = ANSWER_S) -> None:
    """Raise at once if the address is none, and within ``timeout_s`` where no scheduler answers.

    Over TLS only the connection is tried: the server waits for the client there.

    >>> check_address("http://host:8786")
    Traceback (most recent call last):
    nona.core.errors.SimulationError: Dask: no scheduler answers at 'http://host:8786' (an address is \
tcp://HOST:PORT); start one with `dask scheduler`, and give the address that it prints.
    """
    parsed = _ADDRESS.fullmatch(address)
    if parsed is None or not 0 < int(parsed["port"]) < 65536:
        raise _unanswered(address, "an address is tcp://HOST:PORT")
    tls = parsed["scheme"] == "tls"
    if tls and not importlib.import_module("dask.config").get("distributed.comm.tls.ca-file", None):
        raise _unanswered(address, "Dask's setting distributed.comm.tls.ca-file names no certificates")
    try:
        place = (parsed["six"] or parsed["host"], int(parsed["port"]))
        with socket.create_connection(place, timeout=min(timeout_s, ANSWER_S)) as connection:
            if not tls and not connection.recv(1):
                raise _unanswered(address, "the connection was closed")
    except TimeoutError as error:
        raise _unanswered(address, f"silent for {min(timeout_s, ANSWER_S):g} s") from error
    except (OSError, UnicodeError) as error:  # the latter from names that no host can have
        raise _unanswered(address, " ".join(str(error).split())) from error


def _unanswered(address: str, why: str) -> SimulationError:
    return SimulationError(
        f"Dask: no scheduler answers at {address!r} ({why}); start one with `dask scheduler`, and give the "
        "address that it prints."
    )


TOPIC = "nona-progress"  # one for all studies: the scheduler keeps the last events of every topic
REPORT_S = 0.25  # seconds between two reports of a run, and between two looks whether it is cancelled


class DaskPool(Generic[P, R]):
    """The Dask cluster whose scheduler answers at ``address``, as ``tcp://host:8786``.

    ``report`` makes what the listener hears, from the share of a run that is done and, at its end, its
    result: :func:`simulation_report` for simulations. ``timeout_s`` is how long to wait for the scheduler,
    and for its first worker.

    Raises ``SimulationError`` when Dask is not installed here; from :meth:`run` when the cluster cannot be
    reached, has no worker, or loses a run again and again.
    """

    def __init__(self, address: str, report: Callable[[float, R | None], P], timeout_s: float = 10.0) -> None:
        self.address, self.timeout_s = address, timeout_s
        self._report = report
        self._distributed = _import()

    def run(
        self,
        work: WorkerTask[P, R],
        keys: Sequence[Key],
        listener: RunListener[P],
        on_end: OnEnd[R] = do_nothing,
    ) -> dict[Key, R]:
        """See :class:`~nona.core.experiments.Pool`."""
        payload = pickled(work)
        results: dict[Key, R] = {}
        with self._connected() as client:
            for _ in range(1 + RETRIES):
                self._attempt(
                    client, payload, [k for k in keys if k not in results], listener, on_end, results
                )
                if len(results) == len(keys):
                    return results
        raise SimulationError(
            f"Dask: the workers of {self.address} that held the study were lost {1 + RETRIES} times; "
            "give them more memory, or use fewer of them."
        )

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Connect a client with at least one worker; losing the scheduler is an error of one line."""
        check_address(self.address, self.timeout_s)
        try:
            client = self._client()
        except (OSError, ValueError, TypeError) as error:  # a timeout is an OSError
            raise _unanswered(self.address, _line(error)) from error
        with _unlogged("distributed.client"), client:
            try:
                client.wait_for_workers(1, timeout=self.timeout_s)
            except TimeoutError as error:
                raise SimulationError(
                    f"Dask: the scheduler at {self.address} has no worker; start some with "
                    f"`dask worker {self.address} --nthreads 1`."
                ) from error
            yield client

    def _client(self) -> Any:
        """Return a new client, made while no garbage is collected.

        One that failed to start closes itself when it is collected, and waits for a lock that a starting
        one holds: in the same thread, for ever.
        """
        gc.collect()
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._distributed.Client(
                self.address, timeout=self.timeout_s, set_as_default=False, name="nona"
            )
        finally:
            if collects:
                gc.enable()

    def _attempt(
        self,
        client: Any,
        payload: bytes,
        keys: Sequence[Key],
        listener: RunListener[P],
        on_end: OnEnd[R],
        results: dict[Key, R],
    ) -> None:
        """Run ``keys`` and fill in ``results``; keys lost with the work itself stay out."""
        prepared, events = uuid.uuid4().hex, SimpleQueue[tuple[Key, Any]]()

        def on_event(event: Any) -> None:
            sender, scheduler, replication, fraction = event[1]
            if sender == prepared:
                events.put(((scheduler, replication), fraction))

        client.subscribe_topic(TOPIC, on_event)
        futures: dict[Key, Any] = {}
        try:
            with self._scheduler():
                sent = client.scatter(payload, broadcast=True, hash=False)
            for key in keys:
                futures[key] = client.submit(_run_on_worker, sent, key, prepared, pure=False, retries=0)
                futures[key].add_done_callback(lambda future, key=key: events.put((key, future)))
            while futures:
                key, event = events.get()
                if key not in futures:  # a late report
                    continue
                if isinstance(event, float):
                    listener.report(key, self._report(event, None))
                    continue
                result = self._result(futures.pop(key))
                if result is not None:
                    results[key] = result
                    listener.report(key, self._report(1.0, result))
                    on_end(key, result)
        finally:
            client.cancel(list(futures.values()), force=True)

    @contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Report in one line that the scheduler does not answer any more."""
        try:
            yield
        except OSError as error:  # a timeout is one
            raise SimulationError(
                f"Dask: the scheduler at {self.address} was lost ({_line(error)}); start it again."
            ) from error

    def _result(self, future: Any) -> R | None:
        """Return the result of a run that has ended; ``None`` if its work was lost."""
        try:
            result: R = future.result()
        except self._distributed.CancelledError:
            return None
        except self._distributed.KilledWorker as error:
            raise SimulationError(
                f"Dask: a run lost its worker repeatedly ({_line(error)}); give the workers more memory, "
                "or use fewer jobs."
            ) from error
        return result


def _run_on_worker(payload: bytes, key: Key, prepared: str) -> object:
    """One run, on a worker: reports to the study, and ends when it has been cancelled."""
    worker = _import().get_worker()
    name = worker.get_current_task()
    try:
        work = _work(worker, payload)
    except Exception as error:  # whatever an import may raise is for the study to show
        raise SimulationError(
            f"Dask: worker {worker.address} cannot read the work ({_line(error)}); install the same "
            "version of nona-planner there, and the modules of your own schedulers."
        ) from error
    last_s = time.monotonic()

    def watch(progress: Any) -> None:  # whatever the work reports has a fraction
        nonlocal last_s
        if time.monotonic() - last_s < REPORT_S:
            return
        last_s = time.monotonic()
        task = worker.state.tasks.get(name)
        if task is None or task.state == "cancelled":
            raise Cancelled
        if work.reporting:
            worker.log_event(TOPIC, (prepared, *key, float(progress.fraction)))

    return work.run(key, watch)


def _work(worker: Any, payload: bytes) -> WorkerTask[Any, Any]:
    """Return the work; the one that a thread of the worker had last is kept with what it has prepared."""
    kept: dict[int, tuple[bytes, WorkerTask[Any, Any]]] = vars(worker).setdefault("nona_works", {})
    last = kept.get(threading.get_ident())
    if last is None or last[0] != payload:
        last = payload, cast(WorkerTask[Any, Any], pickle.loads(payload))
        kept[threading.get_ident()] = last
    return last[1]


def simulation_report(fraction: float, records: Records | None) -> RunProgress:
    """Return a report without jobs, or with all that the records hold, in order of completion."""
    if records is None:
        return RunProgress(fraction, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    order = np.argsort(records.completion_s, kind="stable")
    order = order[np.isfinite(records.completion_s[order])]
    of = records.tally
    return RunProgress(
        fraction,
        records.query[order],
        records.arrival_s[order],
        records.completion_s[order],
        waiting=of.arrived - of.completed,
    )


@contextmanager
def _unlogged(name: str) -> Iterator[None]:
    """Keep a library's logger silent about what is reported in one line here."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _import() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise SimulationError(
            f"Dask: it is not installed ({error}); install nona-planner[dask], or use --workers."
        ) from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
