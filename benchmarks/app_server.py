"""A server of the app for benchmarks that visit it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def server(**environment: str) -> Iterator[tuple[str, int]]:
    """The address of a server that runs the app, and the number of its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, "--server.headless", "true"],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        url = f"http://127.0.0.1:{port}"
        try:
            while not _healthy(url):
                if process.poll() is not None:
                    raise RuntimeError("the server ended before it answered")
                time.sleep(0.1)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(20)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/_stcore/health", timeout=1) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False
