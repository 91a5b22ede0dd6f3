"""Long work in worker processes: start, watch, cancel, forget.

A job is a child process ``python -m nona.ui.worker``. Its specification goes in as JSON on
standard input, which stays open: when the server dies, by whatever signal, the pipe closes and
the worker ends itself. Progress and result come out as JSON lines. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nona.errors import JobError

Status = Literal["running", "done", "failed", "cancelled"]
KINDS = ("place", "simulate", "count")


@dataclass
class Job:
    """One piece of long work. ``fingerprint`` names the state of the scenario that it works on.

    Fields change only under ``lock``, by the reading thread and by :meth:`cancel`.
    """

    id: str
    kind: str
    fingerprint: str
    folder: Path
    process: subprocess.Popen[str]
    keep: object = None
    started: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)
    ended: float | None = None
    status: Status = "running"
    fraction: float = 0.0
    text: str = "Starting"
    live: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    error: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def running(self) -> bool:
        """Whether the work goes on."""
        return self.status == "running"

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds from start to end, or to now."""
        return (self.ended if self.ended is not None else time.monotonic()) - self.started

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds to go, from the share that is done; ``None`` while too early to say."""
        if self.fraction < 0.02 or self.elapsed_s < 1.0:
            return None
        return self.elapsed_s * (1 - self.fraction) / self.fraction

    def touch(self) -> None:
        """Say that somebody watches; unwatched jobs are cancelled after a while."""
        self.seen = time.monotonic()

    def cancel(self) -> None:
        """End the work now."""
        with self.lock:
            if self.status != "running":
                return
            self.status, self.ended = "cancelled", time.monotonic()
        _stop(self.process)


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
    """

    def __init__(self, limit: int = 2, unwatched_s: float = 60.0, keep_s: float = 7200.0) -> None:
        self.limit, self.unwatched_s, self.keep_s = limit, unwatched_s, keep_s
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def start(self, kind: str, spec: Mapping[str, Any], fingerprint: str = "", keep: object = None) -> Job:
        """Start a job; ``keep`` is held as long as the job (its uploads, for example).

        Raises
        ------
        JobError
            For an unknown kind, or when ``limit`` jobs run already.
        """
        if kind not in KINDS:
            raise JobError(f"Job {kind!r}: it must be one of {', '.join(KINDS)}; choose one of these.")
        self.sweep()
        with self._lock:
            busy = sum(j.running for j in self._jobs.values())
            if busy >= self.limit:
                raise JobError(
                    f"Jobs: {busy} are running, the most that this server allows; wait for one or cancel it."
                )
            folder = Path(tempfile.mkdtemp(prefix="nona-job-"))
            job = Job(secrets.token_urlsafe(16), kind, fingerprint, folder, _spawn(), keep)
            weakref.finalize(job, shutil.rmtree, folder, True)
            self._jobs[job.id] = job
        threading.Thread(target=_read, args=(job,), daemon=True, name=f"job-{kind}").start()
        threading.Thread(target=self._watch, args=(job,), daemon=True, name=f"watch-{kind}").start()
        _send(job, {"kind": kind, "folder": str(folder), **spec})
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

    def sweep(self) -> None:
        """Forget finished jobs that nobody has looked at for long."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if not job.running and now - job.seen > self.keep_s:
                self.discard(job.id)

    def close(self) -> None:
        """Cancel and forget everything."""
        for job_id in list(self._jobs):
            self.discard(job_id)

    def _watch(self, job: Job) -> None:
        while job.running:
            if time.monotonic() - job.seen > self.unwatched_s:
                job.cancel()
                return
            time.sleep(min(1.0, self.unwatched_s / 4))


def _spawn() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nona.ui.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        cwd=Path(__file__).resolve().parents[2],
        start_new_session=True,  # a group of its own, so that its own children end with it
    )


def _send(job: Job, spec: Mapping[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the reader notices that the worker is gone
        if job.process.stdin is not None:
            job.process.stdin.write(json.dumps(spec) + "\n")
            job.process.stdin.flush()


def _read(job: Job) -> None:
    """Take in a worker's lines until it ends."""
    stdout = job.process.stdout
    for line in stdout if stdout is not None else ():
        message = json.loads(line)
        with job.lock:
            if job.status != "running":
                continue
            job.fraction = float(message.get("fraction", job.fraction))
            job.text = str(message.get("text", job.text))
            job.live = message.get("live", job.live)
            if "error" in message:
                job.error = str(message["error"])
            elif "result" in message:
                job.result = message["result"]
    code = job.process.wait()
    with job.lock:
        if job.status == "running":
            job.status = "done" if job.result is not None else "failed"
            job.ended = time.monotonic()
            if job.status == "failed" and not job.error:
                job.error = f"Job {job.kind!r}: its worker ended with status {code}; start it again."
    for pipe in (job.process.stdin, job.process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _stop(process: subprocess.Popen[str]) -> None:
    if not hasattr(os, "killpg"):  # Windows has no process groups of this kind
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # nothing of it needs tidying but its folder, which is ours
