"""A Dask cluster on this machine: a scheduler and workers as processes, on ports that are free."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent


@contextmanager
def cluster(folder: Path, workers: int = 2, nanny: bool = False) -> Iterator[str]:
    """The address of a scheduler with ``workers`` workers of one thread each.

    With ``nanny`` a worker that dies is started again.
    """
    contact, log = folder / "scheduler.json", (folder / "log").open("wb")
    started: list[subprocess.Popen[bytes]] = []

    def start(command: str, *arguments: str) -> None:
        whole = [sys.executable, "-m", "dask", command, "--scheduler-file", str(contact), "--no-dashboard"]
        paths = [str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        started.append(subprocess.Popen([*whole, *arguments], env=environment, stdout=log, stderr=log))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0")
        end = time.monotonic() + 300
        while not (contact.exists() and contact.read_text()):
            assert started[0].poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)
        for _ in range(workers):
            start(
                "worker",
                *("--host", "127.0.0.1", "--nthreads", "1", "--memory-limit", "0"),
                *("--local-directory", str(folder), "--nanny" if nanny else "--no-nanny"),
            )
        yield str(json.loads(contact.read_text())["address"])
    finally:
        for process in reversed(started):  # a worker that cannot say goodbye to the scheduler waits for long
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        log.close()
