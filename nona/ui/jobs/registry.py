"""Long work in worker processes: start, watch, cancel, supersede, forget.

The processes are those of :mod:`nona.ui.jobs.pool`, which wait for work with their imports done. Cancel
kills the process; a job that is superseded is only asked to stop, so that its process can go on with
the next one at once, and is killed if it does not stop in time.
"""

from __future__ import annotations

import secrets
import shutil
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

from nona.errors import JobError
from nona.serving.temporary import temporary_folder
from nona.ui.jobs.job import Job
from nona.ui.jobs.kinds import KINDS
from nona.ui.jobs.pool import WorkerPool

GRACE_S = 2.0


class JobRegistry:
    """All jobs of this server.

    Parameters
    ----------
    limit
        Jobs that may run at once.
    unwatched_s
        Seconds without a watcher after which a running job is cancelled.
    keep_s
        Seconds without a watcher after which a finished job is forgotten.
    idle
        Workers that wait for work with their imports done; 0: every job starts its own.
    """

    def __init__(
        self, limit: int = 2, unwatched_s: float = 60.0, keep_s: float = 7200.0, idle: int = 0
    ) -> None:
        self.limit, self.unwatched_s, self.keep_s = limit, unwatched_s, keep_s
        self.pool = WorkerPool(idle)
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        if idle:
            self.pool.start()

    @property
    def free(self) -> int:
        """How many more jobs may start now."""
        return max(0, self.limit - sum(j.running for j in list(self._jobs.values())))

    def start(self, kind: str, spec: Mapping[str, Any], fingerprint: str = "", keep: object = None) -> Job:
        """Start a job; ``keep`` is held as long as the job (its uploads, for example).

        Raises
        ------
        JobError
            For an unknown kind, or when ``limit`` jobs run already.
        """
        KINDS.find(kind)
        self.sweep()
        with self._lock:
            if not self.free:
                raise JobError(
                    f"Jobs: {self.limit} are running, the most that this server allows; wait for one or "
                    "cancel it."
                )
            folder = temporary_folder("job-", JobError)
            job = Job(secrets.token_urlsafe(16), kind, fingerprint, folder, self.pool.take(), keep)
            weakref.finalize(job, shutil.rmtree, folder, True)
            self._jobs[job.id] = job
        job.worker.listener = lambda message: self._listen(job, message)
        if job.process.poll() is not None:  # it died while it waited, and nobody listened
            self._listen(job, {"ended": job.process.returncode})
        threading.Thread(target=self._watch, args=(job,), daemon=True, name=f"watch-{kind}").start()
        job.worker.send({**spec, "id": job.id, "kind": kind, "folder": str(folder)})
        return job

    def get(self, job_id: str | None) -> Job | None:
        """The job of that id, if it is still known."""
        return self._jobs.get(job_id) if job_id else None

    def discard(self, job_id: str | None) -> None:
        """Cancel a job and forget it with its files."""
        job = self._jobs.pop(job_id, None) if job_id else None
        if job:
            job.cancel()
            shutil.rmtree(job.folder, ignore_errors=True)

    def supersede(self, job_id: str | None) -> None:
        """Stop a job, leaving its process to the next one, and forget it with its files."""
        job = self._jobs.get(job_id) if job_id else None
        if job:
            job.supersede()
            self.discard(job_id)

    def sweep(self) -> None:
        """Forget finished jobs that have not been watched for long."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if not job.running and now - job.seen > self.keep_s:
                self.discard(job.id)

    def close(self) -> None:
        """Cancel and forget everything; workers that wait stay, until the server ends."""
        for job_id in list(self._jobs):
            self.discard(job_id)

    def shut_down(self) -> None:
        """Cancel and forget everything, and end the workers."""
        self.pool.close()
        self.close()

    def _listen(self, job: Job, message: Mapping[str, Any]) -> None:
        if not job.take_in(message):
            return
        with job.lock:
            first, job.released = not job.released, True
        if first and "ended" in message:
            self.pool.fill()
        elif first:
            self.pool.give_back(job.worker)

    def _watch(self, job: Job) -> None:
        while job.running:
            if time.monotonic() - job.seen > self.unwatched_s:
                job.cancel()
            time.sleep(min(0.5, self.unwatched_s / 4))
        while not job.released and job.ended is not None:
            if time.monotonic() - job.ended > GRACE_S:
                job.worker.kill()
                return
            time.sleep(0.1)
