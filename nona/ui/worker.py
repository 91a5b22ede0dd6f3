"""The worker process: ``python -m nona.ui.worker``, one job from standard input to standard output.

The first line of standard input is the job as JSON. Lines on standard output are JSON objects:
``{"fraction", "text", "live"}`` while it goes on, last ``{"result": …}`` or ``{"error": "one line"}``.
When standard input closes, whoever asked is gone, and the process ends at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any


def main() -> int:
    """Run one job; returns the exit status."""
    line = sys.stdin.readline()
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    out = sys.stdout
    sys.stdout = sys.stderr  # nothing but our lines may reach the pipe

    def emit(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    from nona.errors import NonaError
    from nona.ui.tasks import run_task

    try:
        emit({"result": run_task(json.loads(line), emit)})
    except NonaError as error:
        emit({"error": str(error)})
        return 2
    except MemoryError:
        emit({"error": "Job: it needs more memory than this machine has; make it smaller."})
        return 1
    return 0


def _end_with_the_server() -> None:
    sys.stdin.read()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)  # with the processes that it started
    os._exit(3)


if __name__ == "__main__":
    sys.exit(main())
