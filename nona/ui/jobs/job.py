"""One piece of long work in a worker process, as the server knows it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nona.errors import JobError
from nona.ui.jobs.pool import Worker

Status = Literal["waiting", "running", "done", "failed", "cancelled"]
UNFINISHED = ("waiting", "running")


def _nobody() -> None:
    return None


@dataclass
class Job:
    """One piece of long work. ``fingerprint`` names the state of the scenario that it works on.

    It waits until the registry gives it a worker. Fields change only under ``lock``, by the registry, the
    reading thread, :meth:`cancel` and :meth:`supersede`. ``worker`` serves the job until ``released``.
    ``step`` is when the present step of work in several steps began, of which ``fraction`` tells then.
    ``best`` is what a search would give if it ended now: the result of a job that is cancelled, marked by
    ``ended_early_s``. ``on_end`` is called once, when the job has ended.
    """

    id: str
    kind: str
    fingerprint: str
    folder: Path
    owner: str = ""
    keep: object = None
    on_end: Callable[[], None] = _nobody
    worker: Worker | None = None
    started: float | None = None
    seen: float = field(default_factory=time.monotonic)
    ended: float | None = None
    step: float | None = None
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
        """Whether it waits for its turn."""
        return self.status == "waiting"

    @property
    def running(self) -> bool:
        """Whether a worker works on it."""
        return self.status == "running"

    @property
    def unfinished(self) -> bool:
        """Whether it waits or runs."""
        return self.status in UNFINISHED

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds from start to end, or to now; 0 if it has not started."""
        if self.started is None:
            return 0.0
        return (self.ended if self.ended is not None else time.monotonic()) - self.started

    @property
    def remaining_s(self) -> float | None:
        """Estimated seconds to go, from the share that is done; ``None`` while too early, or in a search.

        Work says itself that nobody knows how long it takes (``open``): its share is a guess.
        """
        before_s = 0.0 if self.step is None or self.started is None else self.step - self.started
        elapsed_s = self.elapsed_s - before_s
        early = not 0.02 <= self.fraction < 1
        if early or elapsed_s < 1.0 or self.best is not None or self.open_ended:
            return None
        return elapsed_s * (1 - self.fraction) / self.fraction

    def begin(self, take: Callable[[], Worker]) -> bool:
        """Give it the worker that ``take`` returns; ``False``, without one, if it has ended meanwhile."""
        with self.lock:
            if self.status != "waiting":
                return False
            self.worker, self.status, self.started = take(), "running", time.monotonic()
        return True

    def touch(self) -> None:
        """Mark the job as watched; unwatched jobs are cancelled after a while."""
        self.seen = time.monotonic()

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
                if message.get("step"):
                    self.step = time.monotonic()
                self.fraction = float(message.get("fraction", self.fraction))
                self.text = str(message.get("text", self.text))
                self.open_ended = bool(message.get("open", self.open_ended))
                self.live = message.get("live", self.live)
                self.best = message.get("best", self.best)
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
            self.status, self.ended = status, time.monotonic()
            if status == "cancelled" and self.best is not None:
                self.result = {**self.best, "ended_early_s": self.elapsed_s}
        self.on_end()
        return True
