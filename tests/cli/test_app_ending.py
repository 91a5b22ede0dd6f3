"""``nona app`` ends in one line and leaves nothing: no process, no socket, no temporary folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kept_server import KeptServer, alive, until
from benchmarks.visitor import Visitor

# Far longer than an end takes on a busy machine, and far shorter than the run that it ends.
ENDED_S = 60.0
JOBS = 100_000_000
# Before this line Python itself starts, and ends by the signal in its own way.
UP = "from nona.__main__ import main; print('up', flush=True); raise SystemExit(main())"

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KeptServer]:
    made = KeptServer(tmp_path)
    yield made
    made.kill()


def at_work(server: KeptServer) -> list[int]:
    """A visitor's long run is under way; the numbers of all processes."""
    visitor = Visitor(server.port)
    visitor.open("simulation")
    visitor.fill("number_input", "Jobs measured per run", JOBS)
    visitor.press("Run the simulation")
    assert until(lambda: server.working(), 120)
    return server.tree()


@pytest.mark.parametrize(
    ("number", "status", "line"),
    [
        (signal.SIGTERM, 0, "nona: ended by SIGTERM"),
        (signal.SIGINT, 130, "nona: interrupted"),
        (signal.SIGHUP, 0, "nona: ended by SIGHUP"),
    ],
)
def test_a_signal_ends_all_of_a_server_at_work(
    server: KeptServer, number: signal.Signals, status: int, line: str
) -> None:
    server.start()
    processes = at_work(server)
    assert len(processes) >= 3
    assert len(list(server.temporary.iterdir())) == 1
    os.killpg(server.process.pid, number)
    assert server.process.wait(ENDED_S) == status
    assert until(lambda: not any(map(alive, processes)), ENDED_S)
    assert server.log().splitlines()[-1] == line
    assert "Traceback" not in server.log()
    assert list(server.temporary.iterdir()) == []
    assert not server.listens()


def test_the_next_server_removes_what_a_killed_one_left(server: KeptServer) -> None:
    server.start()
    processes = at_work(server)
    server.kill()
    assert until(lambda: not any(map(alive, processes)), ENDED_S)
    (left,) = server.temporary.iterdir()
    assert list(left.glob("job-*"))
    server.start()
    assert not left.exists()


@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.8])
def test_the_start_can_be_interrupted(server: KeptServer, seconds: float) -> None:
    server.program = ["-c", UP]
    server.launch()
    assert until(lambda: server.log().startswith("up\n"), ENDED_S)
    time.sleep(seconds)
    os.killpg(server.process.pid, signal.SIGINT)
    assert server.process.wait(ENDED_S) == 130
    told = [line for line in server.log().splitlines() if line.strip()][1:]
    assert told[-1] == "nona: interrupted"
    assert len(told) in (1, 3)  # before that the address may have been shown
    assert "Traceback" not in server.log()
    assert list(server.temporary.iterdir()) == []


@pytest.mark.parametrize("seconds", [0.15, 0.4, 0.9])
def test_a_command_can_be_interrupted_while_it_is_imported(seconds: float) -> None:
    command = [sys.executable, "-c", UP, "simulate", "slides_example", "--jobs", "100000"]
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, usual)
    with run:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=ENDED_S)[1]
    assert told.splitlines()[-1] == "nona: interrupted"
    assert "Traceback" not in told
    assert run.returncode in (
        130,
        -signal.SIGINT,
    )  # Python itself may choose the latter, which shells call 130


@pytest.mark.parametrize("port", ["0", "-1", "65536", "99999", "web"])
def test_what_is_no_port_is_refused(server: KeptServer, port: str) -> None:
    server.launch("--port", port)
    assert server.process.wait(ENDED_S) == 2
    assert len(server.log().splitlines()) == 1
    assert "--port" in server.log()


def test_a_port_in_use_is_refused(server: KeptServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", server.port))
        other.listen()
        server.launch()
        assert server.process.wait(ENDED_S) == 2
    assert len(server.log().splitlines()) == 1
    assert f"--port {server.port + 1}" in server.log()
