"""Long work in worker processes: put in line, start, watch, cancel, supersede, forget.

Work waits in two lines that are fair to their owners (:mod:`nona.ui.jobs.line`): one of quick answers, one
of all else, each with places of its own. The processes are those of :mod:`nona.ui.jobs.pool`. Cancel
kills the process; a job that is superseded is only asked to stop, so that its process can go on with
the next one at once, and is killed if it does not stop in time. One thread does all that has to happen
without being asked for; it ends when there is no job left.
"""

from __future__ import annotations

import secrets
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from nona.errors import JobError
from nona.serving.temporary import temporary_folder
from nona.ui.jobs.durations import Durations
from nona.ui.jobs.job import Job
from nona.ui.jobs.kinds import KINDS
from nona.ui.jobs.line import Line
from nona.ui.jobs.pool import WorkerPool

GRACE_S, BEAT_S = 2.0, 0.5
MOST_OWN, MOST_WAITING = 8, 200  # jobs that wait, of one owner and in all


class JobRegistry:
    """All jobs of this server.

    Parameters
    ----------
    limit
        Jobs that may run at once, quick answers aside.
    quick
        Quick answers that may run at once beside them.
    unwatched_s
        Seconds without a watcher after which a job that waits or runs is cancelled.
    keep_s
        Seconds without a watcher after which a finished job is forgotten.
    idle
        Workers that wait for work with their imports done; 0: every job starts its own.
    present
        Whether an owner is connected: their jobs count as watched.
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
        self._lines = {False: Line[str](limit), True: Line[str](quick)}
        self._present = present
        self._jobs: dict[str, Job] = {}
        self._specs: dict[str, Mapping[str, Any]] = {}  # of jobs that wait
        self._stopping: list[Job] = []
        self._durations = Durations()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._watcher: threading.Thread | None = None
        if idle:
            self.pool.start()

    def free(self, kind: str) -> int:
        """How many more jobs of that kind would start at once."""
        with self._lock:
            return self._line(kind).free

    def start(
        self, kind: str, spec: Mapping[str, Any], fingerprint: str = "", keep: object = None, owner: str = ""
    ) -> Job:
        """Put a job in line; it starts at once if a place is free.

        ``keep`` is held as long as the job (its uploads, for example).

        Raises
        ------
        JobError
            For an unknown kind, or when too many jobs wait.
        """
        KINDS.find(kind)
        with self._lock:
            self._check_room(owner)
            folder = temporary_folder("job-", JobError)
            job = Job(secrets.token_urlsafe(16), kind, fingerprint, folder, owner, keep, self._wake.set)
            weakref.finalize(job, shutil.rmtree, folder, True)
            self._jobs[job.id], self._specs[job.id] = job, spec
            self._line(kind).put(owner, job.id)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True, name="jobs")
                self._watcher.start()
        self._advance()
        return job

    def get(self, job_id: str | None) -> Job | None:
        """The job of that id, if it is still known."""
        return self._jobs.get(job_id) if job_id else None

    def ahead(self, job: Job) -> int:
        """How many of the jobs that wait start before this one."""
        with self._lock:
            return len(self._before(job))

    def wait_s(self, job: Job) -> float | None:
        """Estimated seconds until a job that waits starts; ``None`` if nobody can tell."""
        with self._lock:
            line = self._line(job.kind)
            known = [self._jobs.get(i) for i in line.running]
            ahead = [self._jobs.get(i) for i in self._before(job)]
        return self._durations.wait_s([j for j in known if j], [j for j in ahead if j], line.places)

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
        """Cancel jobs that nobody watches, and forget finished ones that nobody has watched for long."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if self._present(job.owner):
                job.touch()
            elif job.unfinished and now - job.seen > self.unwatched_s:
                job.cancel()
            elif not job.unfinished and now - job.seen > self.keep_s:
                self.discard(job.id)

    def close(self) -> None:
        """Cancel and forget everything; workers that wait stay, until the server ends."""
        for job_id in list(self._jobs):
            self.discard(job_id)

    def shut_down(self) -> None:
        """Cancel and forget everything, and end the workers."""
        self.pool.close()
        self.close()

    def _line(self, kind: str) -> Line[str]:
        return self._lines[KINDS.find(kind).quick]

    def _before(self, job: Job) -> tuple[str, ...]:
        """The jobs in line that start before this one; the lock is held."""
        order = self._line(job.kind).order()
        return order[: order.index(job.id)] if job.id in order else ()

    def _check_room(self, owner: str) -> None:
        lines = self._lines.values()
        own, every = sum(line.waits(owner) for line in lines), sum(line.waits() for line in lines)
        if own >= MOST_OWN:
            raise JobError(f"Jobs: {own} of yours wait already, the most there may be; cancel one of them.")
        if every >= MOST_WAITING:
            raise JobError(f"Jobs: {every} wait already, the most there may be; try again in a minute.")

    def _take_out(self, job: Job) -> None:
        with self._lock:
            self._line(job.kind).leave(job.id)
            self._specs.pop(job.id, None)
        self._wake.set()

    def _advance(self) -> None:
        """Take what has ended out of the lines, and start what comes next."""
        begun: list[tuple[Job, Mapping[str, Any]]] = []
        with self._lock:
            for line in self._lines.values():
                self._clear(line)
                while len(self._stopping) < self._most_stopping and (job_id := line.start()) is not None:
                    job, spec = self._jobs.get(job_id), self._specs.pop(job_id, {})
                    if job is not None and job.begin(self.pool.take):
                        begun.append((job, spec))
        for job, spec in begun:  # a large one takes the pipe a moment
            self._hand_over(job, spec)

    def _clear(self, line: Line[str]) -> None:
        """Take out of a line what has ended; the lock is held."""
        for job_id in (*line.running, *line.order()):
            job = self._jobs.get(job_id)
            if job is None or not job.unfinished:
                line.leave(job_id)
                self._specs.pop(job_id, None)
            if job is not None and job.status == "done":
                self._durations.note(job.kind, job.elapsed_s)

    @property
    def _most_stopping(self) -> int:
        """Superseded jobs whose processes may still be busy; with more of them, nothing starts."""
        return sum(line.places for line in self._lines.values())

    def _hand_over(self, job: Job, spec: Mapping[str, Any]) -> None:
        worker = job.worker
        if worker is None:
            return
        worker.listener = lambda message: self._listen(job, message)
        if worker.process.poll() is not None:  # it died while it waited, and nobody listened
            self._listen(job, {"ended": worker.process.returncode})
        worker.send({**spec, "id": job.id, "kind": job.kind, "folder": str(job.folder)})

    def _listen(self, job: Job, message: Mapping[str, Any]) -> None:
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
        """Keep the lines going until no job is left."""
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
            if job.worker is not None and job.ended is not None and now - job.ended > GRACE_S:
                job.worker.kill()
        self._stopping = [job for job in self._stopping if not job.released]
