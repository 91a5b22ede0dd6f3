"""Jobs: put in line, started, watched, cancelled, superseded; how long they take.

Work waits in two queues that are fair to their owners (:mod:`nona.app.jobs.fair_queue`): one of quick
answers, one of all else, each with places of its own. The processes are those of
:mod:`nona.app.jobs.pool`. Cancel kills the process. A job that is superseded is only asked to stop, so that
its process can go on with the next one at once; it is killed if it does not stop in time. One thread does
all that has to happen without being asked for; it ends when there is no job left.
"""

from __future__ import annotations

import secrets
import shutil
import statistics
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nona.app.jobs.fair_queue import FairQueue, wait_s
from nona.app.jobs.kinds import KINDS
from nona.app.jobs.pool import Worker, WorkerPool
from nona.app.server.ending import temporary_folder
from nona.core.errors import JobError

Status = Literal["waiting", "running", "done", "failed", "cancelled"]
UNFINISHED = ("waiting", "running")


def _do_nothing() -> None:
    return None


@dataclass
class AppJob:
    """One piece of long work. ``fingerprint`` names the state of the scenario that it works on.

    It waits until the registry gives it a worker. Fields change only under ``lock``, by the registry, the
    reading thread, :meth:`cancel` and :meth:`supersede`. ``worker`` serves the job until ``released``.
    ``phase`` names what it is at (``models``, ``placement``, else what its kind is for), ``step`` is when
    that began, of which ``fraction`` tells then; ``moved`` when ``fraction`` last changed.
    ``expected_s``: what it was expected to take on a machine of usual speed, where that is known.
    ``best`` is what the work would give if it ended now: the result of a job that is cancelled, marked by
    ``ended_early_s``. ``on_end`` is called once, when the job has ended.
    """

    id: str
    kind: str
    fingerprint: str
    folder: Path
    owner: str = ""
    expected_s: float = 0.0
    keep: object = None
    on_end: Callable[[], None] = _do_nothing
    worker: Worker | None = None
    started: float | None = None
    watched_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None
    phase: str = ""
    step: float | None = None
    moved: float | None = None
    status: Status = "waiting"
    fraction: float = 0.0
    text: str = "Starting"
    open_ended: bool = False
    live: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: str = ""
    released: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process that works on it; raises :class:`JobError` while the job waits for one."""
        if self.worker is None:
            raise JobError(f"Job {self.kind!r}: no process works on it yet; it waits for its turn.")
        return self.worker.process

    @property
    def waiting(self) -> bool:
        """True while the job waits for its turn."""
        return self.status == "waiting"

    @property
    def running(self) -> bool:
        """True while a worker executes the job."""
        return self.status == "running"

    @property
    def loads(self) -> bool:
        """True while its worker still does its imports."""
        return self.running and self.worker is not None and not self.worker.ready

    @property
    def unfinished(self) -> bool:
        """True while the job waits or runs."""
        return self.status in UNFINISHED

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds from start to end, or to now; 0 if it has not started."""
        if self.started is None:
            return 0.0
        return (self.ended_s if self.ended_s is not None else time.monotonic()) - self.started

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds to go, from the share that is done; ``None`` while too early, or overdue.

        Work of unknown length says so (``open``): its share is a guess.
        """
        before_s = 0.0 if self.step is None or self.started is None else self.step - self.started
        since_s = 0.0 if self.moved is None else time.monotonic() - self.moved
        elapsed_s = self.elapsed_s - before_s - since_s
        early = not 0.02 <= self.fraction < 1
        if early or elapsed_s < 1.0 or self.open_ended:
            return None
        left_s = elapsed_s * (1 - self.fraction) / self.fraction - since_s
        return left_s if left_s > 0 else None

    def begin(self, take: Callable[[], Worker]) -> bool:
        """Give it the worker that ``take`` returns; ``False``, without one, if it has ended meanwhile."""
        with self.lock:
            if self.status != "waiting":
                return False
            self.worker, self.status, self.started = take(), "running", time.monotonic()
        return True

    def mark_watched(self) -> None:
        """Mark the job as watched; unwatched jobs are cancelled after a while."""
        self.watched_s = time.monotonic()

    def cancel(self) -> None:
        """End the work now, and its process with it."""
        if self._end("cancelled") and self.worker is not None:
            self.worker.kill()

    def supersede(self) -> None:
        """Ask the work to stop because it is no longer needed; the process takes other work."""
        if self._end("cancelled") and self.worker is not None:
            self.worker.send({"stop": self.id})

    def take_in(self, message: Mapping[str, Any]) -> bool:
        """Process a line from the worker; returns whether it was this job's last."""
        if "ended" in message:
            if not self.error:
                self.error = (
                    f"Job {self.kind!r}: its worker ended with status {message['ended']}; start it again."
                )
            self._end("failed")
            return True
        if message.get("id") != self.id:
            return False
        with self.lock:
            if self.status == "running":
                if message.get("phase", self.phase) != self.phase:
                    self.phase = str(message["phase"])
                    self.step = self.moved = time.monotonic()
                if message.get("fraction", self.fraction) != self.fraction:
                    self.fraction, self.moved = float(message["fraction"]), time.monotonic()
                self.text = str(message.get("text", self.text))
                self.open_ended = bool(message.get("open", self.open_ended))
                self.live = message.get("live", self.live)
                self.best = self.live if message.get("keeps") else message.get("best", self.best)
                self.result = message.get("result", self.result)
                self.error = str(message.get("error", self.error))
        if not {"result", "error", "stopped"} & message.keys():
            return False
        self._end("done" if self.result is not None else "failed")
        return True

    def _end(self, status: Status) -> bool:
        with self.lock:
            if self.status not in UNFINISHED:
                return False
            self.status, self.ended_s = status, time.monotonic()
            if status == "cancelled" and self.best is not None:
                self.result = {**self.best, "ended_early_s": self.elapsed_s}
        self.on_end()
        return True


RECENT = 8


class Durations:
    """The seconds that the latest jobs of every kind took, also as a multiple of what was expected.

    >>> durations = Durations()
    >>> durations.note("simulate", 4.0, 2.0)
    >>> durations.note("simulate", 6.0, 4.0)
    >>> durations.typical("simulate"), durations.typical("sweep") is None, durations.pace("simulate")
    (5.0, True, 1.75)
    """

    def __init__(self) -> None:
        self._took: dict[str, deque[float]] = {}
        self._paces: dict[str, deque[float]] = {}

    def note(self, kind: str, seconds: float, expected_s: float = 0.0) -> None:
        """Note that a job has ended by itself."""
        self._took.setdefault(kind, deque(maxlen=RECENT)).append(seconds)
        if expected_s > 0:
            self._paces.setdefault(kind, deque(maxlen=RECENT)).append(seconds / expected_s)

    def pace(self, kind: str) -> float:
        """How many times as long as expected the latest jobs of a kind took; 1 before the first."""
        return statistics.median(self._paces.get(kind, (1.0,)))

    def typical(self, kind: str, running: Sequence[AppJob] = ()) -> float | None:
        """Return the median of the latest jobs of a kind, else of those that run now.

        ``None`` if there are none.
        """
        took = self._took.get(kind)
        if took:
            return statistics.median(took)
        expected_s = [
            j.elapsed_s + j.remaining_s for j in running if j.kind == kind and j.remaining_s is not None
        ]
        return statistics.median(expected_s) if expected_s else None

    def remaining_s(self, job: AppJob, running: Sequence[AppJob] = ()) -> float | None:
        """Seconds that a running job still takes: its own estimate, else what is typical; or ``None``.

        ``None`` once the job has run longer than usual.
        """
        left = job.remaining_s
        if left is not None or job.open_ended:
            return left
        usual = self.typical(job.kind, running)
        return None if usual is None or usual <= job.elapsed_s else usual - job.elapsed_s

    def wait_s(self, running: Sequence[AppJob], ahead: Sequence[AppJob], places: int) -> float | None:
        """Seconds until the job behind ``ahead`` starts; ``None`` if unknown."""
        return wait_s(
            [self.remaining_s(job, running) for job in running],
            [self.typical(job.kind, running) for job in ahead],
            places,
        )


GRACE_S, BEAT_S = 2.0, 0.5
MOST_OWN, MOST_WAITING = 8, 200  # jobs that wait, of one owner and in all


class JobRegistry:
    """All jobs of this server.

    ``limit``: jobs that may run at once, quick answers aside.
    ``quick``: quick answers that may run at once beside them.
    ``unwatched_s``: seconds without a watcher after which a job that waits or runs is cancelled.
    ``keep_s``: seconds without a watcher after which a finished job is forgotten.
    ``idle``: workers that wait for work with their imports done; 0: every job starts its own.
    ``present``: returns whether an owner is connected; their jobs count as watched.
    """

    def __init__(
        self,
        limit: int = 2,
        unwatched_s: float = 60.0,
        keep_s: float = 7200.0,
        idle: int = 0,
        *,
        quick: int = 1,
        present: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self.unwatched_s, self.keep_s, self.pool = unwatched_s, keep_s, WorkerPool(idle)
        self._lines = {False: FairQueue[str](limit), True: FairQueue[str](quick)}
        self._present = present
        self._jobs: dict[str, AppJob] = {}
        self._specs: dict[str, Mapping[str, Any]] = {}  # of jobs that wait
        self._stopping: list[AppJob] = []
        self._durations = Durations()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._watcher: threading.Thread | None = None
        if idle:
            self.pool.start()

    def free(self, kind: str) -> int:
        """Count the jobs of that kind that would start at once."""
        with self._lock:
            return self._queue(kind).free

    def start(
        self,
        kind: str,
        spec: Mapping[str, Any],
        fingerprint: str = "",
        keep: object = None,
        owner: str = "",
        expected_s: float = 0.0,
    ) -> AppJob:
        """Put a job in line; it starts at once if a place is free.

        ``keep`` is held as long as the job (its uploads, for example).

        Raises ``JobError`` for an unknown kind, or when too many jobs wait.
        """
        KINDS.find(kind)
        with self._lock:
            self._check_room(owner)
            folder = temporary_folder("job-", JobError)
            job = AppJob(
                secrets.token_urlsafe(16), kind, fingerprint, folder, owner, expected_s, keep, self._wake.set
            )
            weakref.finalize(job, shutil.rmtree, folder, True)
            self._jobs[job.id], self._specs[job.id] = job, spec
            self._queue(kind).put(owner, job.id)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True, name="jobs")
                self._watcher.start()
        self._advance()
        return job

    def pace(self, kind: str) -> float:
        """How many times as long as expected jobs of that kind take here."""
        return self._durations.pace(kind)

    def get(self, job_id: str | None) -> AppJob | None:
        """Return the job of that id, if it is still known."""
        return self._jobs.get(job_id) if job_id else None

    def count_ahead(self, job: AppJob) -> int:
        """Count the waiting jobs that start before this one."""
        with self._lock:
            return len(self._before(job))

    def running_before(self, job: AppJob) -> list[AppJob]:
        """Return the jobs that run in its line."""
        with self._lock:
            return [j for i in self._queue(job.kind).running if (j := self._jobs.get(i))]

    def wait_s(self, job: AppJob) -> float | None:
        """Estimated seconds until a waiting job starts; ``None`` if unknown."""
        running = self.running_before(job)
        with self._lock:
            ahead = [j for i in self._before(job) if (j := self._jobs.get(i))]
        return self._durations.wait_s(running, ahead, self._queue(job.kind).places)

    def discard(self, job_id: str | None) -> None:
        """Cancel a job and forget it with its files."""
        job = self._jobs.pop(job_id, None) if job_id else None
        if job:
            job.cancel()
            self._take_out(job)
            shutil.rmtree(job.folder, ignore_errors=True)

    def supersede(self, job_id: str | None) -> None:
        """Stop a job, leaving its process to the next one, and forget it with its files."""
        job = self._jobs.get(job_id) if job_id else None
        if job:
            job.supersede()
            with self._lock:
                if job.worker is not None and not job.released:
                    self._stopping.append(job)
            self.discard(job_id)

    def sweep(self) -> None:
        """Cancel jobs without an open page, and forget finished jobs long without one."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if self._present(job.owner):
                job.mark_watched()
            elif job.unfinished and now - job.watched_s > self.unwatched_s:
                job.cancel()
            elif not job.unfinished and now - job.watched_s > self.keep_s:
                self.discard(job.id)

    def close(self) -> None:
        """Cancel and forget everything; workers that wait stay, until the server ends."""
        for job_id in list(self._jobs):
            self.discard(job_id)

    def shut_down(self) -> None:
        """Cancel and forget everything, and end the workers."""
        self.pool.close()
        self.close()

    def _queue(self, kind: str) -> FairQueue[str]:
        return self._lines[KINDS.find(kind).quick]

    def _before(self, job: AppJob) -> tuple[str, ...]:
        """Return the jobs in line that start before this one; the lock is held."""
        order = self._queue(job.kind).order()
        return order[: order.index(job.id)] if job.id in order else ()

    def _check_room(self, owner: str) -> None:
        lines = self._lines.values()
        own, every = sum(line.waits(owner) for line in lines), sum(line.waits() for line in lines)
        if own >= MOST_OWN:
            raise JobError(f"Jobs: {own} of yours wait already, the most there may be; cancel one of them.")
        if every >= MOST_WAITING:
            raise JobError(f"Jobs: {every} wait already, the most there may be; try again in a minute.")

    def _take_out(self, job: AppJob) -> None:
        with self._lock:
            self._queue(job.kind).remove(job.id)
            self._specs.pop(job.id, None)
        self._wake.set()

    def _advance(self) -> None:
        begun: list[tuple[AppJob, Mapping[str, Any]]] = []
        with self._lock:
            for line in self._lines.values():
                self._clear(line)
                while len(self._stopping) < self._most_stopping and (job_id := line.start()) is not None:
                    job, spec = self._jobs.get(job_id), self._specs.pop(job_id, {})
                    if job is not None and job.begin(self.pool.acquire):
                        begun.append((job, spec))
        for job, spec in begun:  # a large one takes the pipe a moment
            self._hand_over(job, spec)

    def _clear(self, line: FairQueue[str]) -> None:
        """Take out of a line what has ended; the lock is held."""
        for job_id in (*line.running, *line.order()):
            job = self._jobs.get(job_id)
            if job is None or not job.unfinished:
                line.remove(job_id)
                self._specs.pop(job_id, None)
            if job is not None and job.status == "done":
                self._durations.note(job.kind, job.elapsed_s, job.expected_s)

    @property
    def _most_stopping(self) -> int:
        """Superseded jobs whose processes may still be busy; with more of them, nothing starts."""
        return sum(line.places for line in self._lines.values())

    def _hand_over(self, job: AppJob, spec: Mapping[str, Any]) -> None:
        worker = job.worker
        if worker is None:
            return
        worker.listener = lambda message: self._listen(job, message)
        if worker.process.poll() is not None:  # it died while it waited
            self._listen(job, {"ended": worker.process.returncode})
        worker.send({**spec, "id": job.id, "kind": job.kind, "folder": str(job.folder)})

    def _listen(self, job: AppJob, message: Mapping[str, Any]) -> None:
        if not job.take_in(message):
            return
        with job.lock:
            first, job.released = not job.released, True
        if first and "ended" in message:
            self.pool.fill()
        elif first and job.worker is not None:
            self.pool.give_back(job.worker)
        self._wake.set()

    def _watch(self) -> None:
        while True:
            self._wake.wait(min(BEAT_S, self.unwatched_s / 4))
            self._wake.clear()
            self.sweep()
            self._advance()
            with self._lock:
                self._end_stubborn()
                if not self._jobs and not self._stopping:
                    self._watcher = None
                    return

    def _end_stubborn(self) -> None:
        """Kill the processes that do not stop; the lock is held."""
        now = time.monotonic()
        for job in self._stopping:
            if job.worker is not None and job.ended_s is not None and now - job.ended_s > GRACE_S:
                job.worker.kill()
        self._stopping = [job for job in self._stopping if not job.released]
