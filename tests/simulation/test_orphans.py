"""Workers end with the process that started them, however it ends, and say nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORK = """
import os, time
from pathlib import Path

class Work:
    reporting = True

    def __init__(self, folder, chatty):
        self.folder, self.chatty = folder, chatty

    def run(self, key, on_progress):
        Path(self.folder, str(os.getpid())).touch()
        end = time.monotonic() + 600
        while time.monotonic() < end:
            if self.chatty:
                on_progress(b"x" * 1000)

class Listener:
    def report(self, key, progress):
        pass

    def repeat(self, key):
        pass
"""
START = """
import sys
sys.path.insert(0, sys.argv[1])
from endless import Listener, Work
from nona.experiments.workers import ProcessPool
ProcessPool(2).run(Work(sys.argv[2], sys.argv[3] == "chatty"), [(0, 0), (0, 1)], Listener())
"""

linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("manner", ["chatty", "silent"])
def test_workers_end_with_their_parent_without_a_word(number, manner, tmp_path) -> None:
    (tmp_path / "endless.py").write_text(WORK)
    begun = tmp_path / "begun"
    begun.mkdir()
    command = [sys.executable, "-c", START, str(tmp_path), str(begun), manner]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as parent:
        _until(lambda: len(list(begun.iterdir())) == 2, 120)
        os.kill(parent.pid, number)
        workers = [int(path.name) for path in begun.iterdir()]
        _until(lambda: not any(map(_lives, workers)), 60)
        assert parent.stderr.read() == b""


def _until(holds, most_s: float) -> None:
    end = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
