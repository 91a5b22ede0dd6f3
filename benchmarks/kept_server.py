"""A server of ``nona app`` whose folders are one's own: its data, its temporary files, its log."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_S = 60.0


class KeptServer:
    """A server that can be killed and started again on the same port with the same folders.

    Parameters
    ----------
    folder
        An empty folder, below which all of them lie.
    environment
        Variables beside those of this process.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.temporary, self.data = folder, folder / "tmp", folder / "data"
        self.temporary.mkdir()
        own = {"NONA_DATA_DIR": str(self.data), "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)}
        self.environment = {**os.environ, **own, **environment}
        self.program = ["-m", "nona"]  # for Python
        self.port = free_port()
        self.process: subprocess.Popen[bytes]

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers; raises ``RuntimeError`` if it ends or never does."""
        self.launch(*options)
        if not until(lambda: self.healthy() or self.process.poll() is not None, START_S):
            raise RuntimeError(f"the server does not answer after {START_S} s: {self.log()}")
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended before it answered: {self.log()}")

    def launch(self, *options: str) -> None:
        """Start it, with a log of its own; later options go before earlier ones."""
        app = ["app", "--no-browser", "--port", str(self.port)]
        command = [sys.executable, *self.program, *app, *options]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill −9, if it lives."""
        if hasattr(self, "process"):
            self.process.kill()
            self.process.wait()

    def log(self) -> str:
        """What it has printed since its last start."""
        return (self.folder / "log").read_text(errors="replace")

    def healthy(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=1) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    def listens(self) -> bool:
        """Whether anybody listens on its port."""
        with socket.socket() as trial:
            trial.settimeout(1)
            return trial.connect_ex(("127.0.0.1", self.port)) == 0

    def tree(self) -> list[int]:
        """The numbers of its process and of all that came from it."""
        return family(self.process.pid)

    def workers(self) -> list[int]:
        """Its worker processes, without the processes that these started."""
        return [pid for pid in _children().get(self.process.pid, ()) if b"nona.app" in _command(pid)]

    def working(self) -> list[int]:
        """Its workers that have a job: its folder is there, and they use processor time."""
        if not any(self.temporary.glob("*/job-*")):
            return []
        before = self.ticks()
        time.sleep(0.3)
        return [pid for pid, ticks in before.items() if ticks_of(pid) - ticks >= 5]

    def ticks(self) -> dict[int, int]:
        """Processor time of each of its workers so far, in ticks of 10 ms."""
        return {pid: ticks_of(pid) for pid in self.workers()}

    def readers(self) -> list[int]:
        """Its processes that read model files, of its workers too."""
        return [pid for pid in self.tree() if b"nona.models.graph.guard_child" in _command(pid)]


def alive(pid: int) -> bool:
    """Whether a process runs (one that is dead but not yet collected does not)."""
    return _stat(pid)[:1] not in ([], ["Z"])


def described(pid: int) -> str:
    """A process in a few words: its number, its state, its command."""
    words = _command(pid).replace(b"\0", b" ").decode(errors="replace").split()
    return f"{pid} ({' '.join(_stat(pid)[:1])}, {' '.join(words[1:5])})"


def until(holds: Callable[[], object], most_s: float) -> bool:
    """Wait until a condition holds; returns whether it did in time."""
    end = time.monotonic() + most_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(process: int) -> list[int]:
    """A process and all that came from it."""
    children = _children()
    found = [process]
    for pid in found:
        found += children.get(pid, ())
    return found


def _children() -> dict[int, list[int]]:
    """Processes by their parent."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and len(stat := _stat(int(entry.name))) > 1:
            found.setdefault(int(stat[1]), []).append(int(entry.name))
    return found


def _stat(pid: int) -> list[str]:
    """What Linux says of a process: its state, its parent, and so on; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def ticks_of(pid: int) -> int:
    """Processor time of a process, in ticks of 10 ms."""
    stat = _stat(pid)
    return int(stat[11]) + int(stat[12]) if len(stat) > 12 else 0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
