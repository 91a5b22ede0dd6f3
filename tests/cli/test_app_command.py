"""``nona app`` serves at once on a machine that never ran Streamlit, from any folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nona
from nona.code_cache.folders import base_folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


def test_the_app_serves_without_asking_anything(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "log"
    root = str(Path(nona.__file__).resolve().parents[1])
    environment = os.environ | {"HOME": str(tmp_path), "BROWSER": "true", "PYTHONPATH": root}
    environment["NONA_CACHE_DIR"] = str(base_folder())  # nothing is compiled anew
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "nona.cli.main", "app", "--port", str(port)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,  # open and silent, like a terminal at which nobody types
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 300
        while not healthy(f"http://127.0.0.1:{port}/_stcore/health"):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.communicate(timeout=20)
