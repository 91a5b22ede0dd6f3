"""The worker process: ``python -m nona.app.tasks.process``, jobs from standard input.

It does its imports, writes ``{"ready": true}``, and then runs one job for each line of standard input, a
JSON object with an ``id``. Lines on standard output are JSON objects too, all with that ``id``:
``{"fraction", "text", "live"}`` while it goes on, last ``{"result": …}``, ``{"error": "one line"}``, or
``{"stopped": true}`` after the line ``{"stop": id}``. When standard input closes, the server is gone,
and the process ends at once.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from nona.core.priority import give_way

LOOK_S = 2.0
NICE, NICE_VARIABLE = 10, "NONA_WORKER_NICE"  # how much the server's pages go before this work
_SCALE = {"darwin": 1}.get(sys.platform, 1024)  # what ru_maxrss counts in


class JobInput:
    """The input on standard input: jobs to run, and the ids of those to stop."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.stopped: set[str] = set()
        self.working = False

    def read(self) -> None:
        """Take in lines until the pipe closes; then end the process."""
        for line in sys.stdin:
            message = json.loads(line)
            if "stop" in message:
                self.stopped.add(str(message["stop"]))
            else:
                self.jobs.put(message)
        if self.working and hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)  # with the processes that it started
        os._exit(0)


def main() -> int:
    """Run jobs until standard input closes; returns the exit status."""
    _give_way()
    inbox = JobInput()
    threading.Thread(target=inbox.read, daemon=True).start()
    out = sys.stdout
    sys.stdout = sys.stderr  # nothing but our lines may reach the pipe
    lock = threading.Lock()

    def write(message: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message) + "\n")
            out.flush()

    from nona.app.tasks.worker_loop import WorkerLoop

    server = WorkerLoop(inbox.stopped, write)
    write({"ready": True})
    while True:
        spec = _next(inbox, server)
        inbox.working = True
        if not server.serve(spec, _bytes):
            return 1
        inbox.working = False


def _give_way() -> None:
    """Take a lower priority than the server; 0 in ``NONA_WORKER_NICE`` leaves it the server's."""
    given = os.environ.get(NICE_VARIABLE, "")
    nice = min(int(given), 19) if given.isdecimal() else NICE
    if nice:
        give_way(nice)


def _next(inbox: JobInput, server: Any) -> dict[str, Any]:
    """Return the next job; while there is none, the compiled engine is loaded as soon as it exists."""
    while True:
        if inbox.jobs.empty():
            server.load()
        try:
            return inbox.jobs.get(timeout=None if server.loaded else LOOK_S)
        except queue.Empty:
            continue


def _bytes() -> int:
    """Return the most memory that this process has used so far; 0 where that is not known.

    On Linux from ``VmHWM``: ``ru_maxrss`` begins with what the parent used when it started this process.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _SCALE


if __name__ == "__main__":
    sys.exit(main())
