"""Worker processes that stay: started ahead of the work, used for job after job.

A worker reads jobs as JSON lines on standard input, which stays open: when the server dies, by
whatever signal, the pipe closes and the worker ends itself. What it says comes back as JSON lines.
Nothing is pickled. A worker holds no state of a session, only caches keyed by content; after
``JOBS_EACH`` jobs, or above ``MOST_BYTES`` of memory, another takes its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from nona import import_root

JOBS_EACH = 100
MOST_BYTES = 1 << 30
Listener = Callable[[Mapping[str, Any]], None]


class Worker:
    """One process. ``listener`` gets its lines, and ``{"ended": status}`` when it has ended."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._writing = threading.Lock()
        self.process = _spawn()
        self.listener: Listener | None = None
        self.ready = False
        self.jobs = 0
        self.bytes = 0
        threading.Thread(target=self._read, daemon=True, name=f"worker-{self.process.pid}").start()

    @property
    def exhausted(self) -> bool:
        """True for a worker that another should replace."""
        return self.jobs >= JOBS_EACH or self.bytes > MOST_BYTES

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the worker; nothing happens where it is gone."""
        # If the pipe is broken, the reader notices that the worker is gone.
        with self._writing, contextlib.suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.write(json.dumps(message) + "\n")
                self.process.stdin.flush()

    def kill(self) -> None:
        """End it and the processes that it started, now."""
        if not hasattr(os, "killpg"):  # Windows has no process groups of this kind
            self.process.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # nothing of it needs tidying but its folder, ours

    def _read(self) -> None:
        for line in self.process.stdout or ():
            message = json.loads(line)
            if "ready" in message:
                self.ready = True
            self.bytes = int(message.get("bytes", self.bytes))
            if self.listener is not None:
                self.listener(message)
        code = self.process.wait()
        self._pool.forget(self)
        if self.listener is not None:
            self.listener({"ended": code})
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class WorkerPool:
    """Workers that wait for work.

    ``idle``: workers kept waiting; twice as many may wait for a while after much was going on.
    """

    def __init__(self, idle: int) -> None:
        self.idle = idle
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._closed = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the spare workers in a thread of their own."""
        threading.Thread(target=self.fill, daemon=True, name="workers").start()

    def acquire(self) -> Worker:
        """Return a waiting worker, one that has done its imports if there is one, or else a new one."""
        with self._lock:
            chosen = next((w for w in self._idle if w.ready), self._idle[0] if self._idle else None)
            if chosen is not None:
                self._idle.remove(chosen)
        return chosen or self._new()

    def give_back(self, worker: Worker) -> None:
        """Take a worker that has finished its job, and keep enough waiting."""
        worker.listener = None
        worker.jobs += 1
        with self._lock:
            keep = not (worker.exhausted or self._closed or len(self._idle) >= 2 * self.idle)
            if keep and worker in self._all:
                self._idle.insert(0, worker)  # the next job may find there what this one has worked out
        if not keep:
            worker.kill()
        self.fill()

    def forget(self, worker: Worker) -> None:
        """Remove a worker that has ended."""
        with self._lock:
            self._all.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)

    def fill(self) -> None:
        """Keep ``idle`` workers waiting."""
        while True:
            with self._lock:
                if self._closed or len(self._idle) >= self.idle:
                    return
            worker = self._new()
            with self._lock:
                if worker in self._all:
                    self._idle.append(worker)

    def waiting(self) -> int:
        """Return the number of workers that wait with their imports done."""
        with self._lock:
            return sum(w.ready for w in self._idle)

    def pids(self) -> list[int]:
        """List the process ids of all workers."""
        with self._lock:
            return [w.process.pid for w in self._all]

    def close(self) -> None:
        """End all workers; the pool starts no more."""
        with self._lock:
            self._closed = True
            workers = list(self._all)
        for worker in workers:
            worker.kill()

    def _new(self) -> Worker:
        with self._lock:
            worker = Worker(self)
            self._all.add(worker)
            if self._closed:
                worker.kill()
        return worker


def _spawn() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nona.app.tasks.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        cwd=import_root(),
        start_new_session=True,  # a group of its own, so that its own children end with it
    )
