"""Workers that are threads of this process: they do as worker processes do, and start without imports."""

from __future__ import annotations

import json
import queue
import signal
import threading
from itertools import count
from typing import Any

import numba.core.event  # noqa: F401  before any thread does: two that import it at once see half of it

NUMBERS = count(-1, -1)  # no process has such a number


class Lines:
    """What a worker says, line by line, until it is killed."""

    def __init__(self):
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.write = self._said.put

    def __iter__(self):
        return iter(self._said.get, None)

    def close(self):
        """Nothing more is read."""


class Stops(set[str]):
    """The jobs that are to stop: all of them once the worker is killed."""

    killed = False

    def __contains__(self, job):
        return self.killed or super().__contains__(job)


class WorkerThread:
    """In place of the process of a worker. What it works on ends at its next look whether it should."""

    def __init__(self):
        self.pid, self.returncode = next(NUMBERS), None
        self.stdin, self.stdout = self, Lines()
        self._jobs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._stops = Stops()
        threading.Thread(target=self._work, daemon=True, name=f"worker thread {self.pid}").start()

    def write(self, line):
        message = json.loads(line)
        if "stop" in message:
            self._stops.add(message["stop"])
        else:
            self._jobs.put(message)

    def flush(self):
        """All was taken in."""

    def close(self):
        self._jobs.put(None)

    def kill(self):
        self.returncode = -signal.SIGKILL
        self._stops.killed = True
        self._jobs.put(None)
        self.stdout.write(None)

    def poll(self):
        return self.returncode

    wait = poll

    def _work(self):
        from nona.app.tasks.worker_loop import WorkerLoop

        server = WorkerLoop(self._stops, lambda message: self.stdout.write(json.dumps(message)))
        self.stdout.write(json.dumps({"ready": True}))
        while (spec := self._jobs.get()) is not None and self.returncode is None:
            server.serve(spec, lambda: 0)
