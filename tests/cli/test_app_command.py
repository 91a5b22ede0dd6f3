"""``nona app``: what it is started with, what it refuses to open, how it ends and leaves nothing behind."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from calling import refusal
from sizes import first

from benchmarks.kept_server import KeptServer, alive, until
from benchmarks.visitor import Visitor
from nona.app.server import access, settings
from nona.cli import app as start
from nona.cli.main import main
from nona.core.compiled.cache import base_folder
from nona.scenario.sample_files import scenario_path

PASSWORD = "correct horse battery"
# Far longer than an end takes on a busy machine, and far shorter than the run that it ends.
ENDED_S = 60.0
JOBS = 100_000_000
# Before this line Python itself starts, and ends by the signal in its own way.
UP = "from nona.__main__ import main; print('up', flush=True); raise SystemExit(main())"
needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")


@pytest.fixture
def started(monkeypatch, tmp_path):
    """What would have been started, with the person's folder in an empty place."""
    calls = []
    monkeypatch.setenv("NONA_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(start, "_become", lambda *given: calls.append(given))
    monkeypatch.setattr(start, "_check_port", lambda host, port: None)
    return calls


def set_password(monkeypatch, text, *options):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))
    return main(["app", "--set-password", *options])


def flag(command, name):
    return command[command.index(name) + 1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "nona app --set-password"),
        (["--host", "192.168.0.7"], "nona app --set-password"),
        (["--allow-name", "plan.example.com"], "nona app --set-password"),
        (["--host", "plan.example.com"], "is no address"),
        (["--host", "0.0.0.0", "--user-header", "X Y"], "is no name of a header"),
        (["--host", "0.0.0.0", "--user-header", "X-User", "--proxy", "all"], "is no address"),
        (["--proxy", "10.0.0.2"], "--user-header"),
        (["--allow-name", "a/b"], "is no host name"),
        (["--host", "0.0.0.0", "--password-file", "gone.json"], "is missing"),
    ],
)
def test_nothing_is_opened_to_others_by_mistake(started, capsys, options, why):
    assert why in refusal(capsys, "app", *options)
    assert not started


def test_the_password_is_kept_as_a_hash_that_its_owner_alone_reads(started, monkeypatch, tmp_path, capsys):
    assert set_password(monkeypatch, "short") == 2
    assert set_password(monkeypatch, PASSWORD) == 0
    file = tmp_path / "password.json"
    assert PASSWORD not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert access.read_password(file).fits(PASSWORD)
    assert not started
    file.chmod(0o644)
    assert "chmod 600" in refusal(capsys, "app", "--host", "0.0.0.0")


def test_beyond_this_machine_it_says_what_it_exposes(started, monkeypatch, capsys):
    assert set_password(monkeypatch, PASSWORD) == 0
    assert main(["app", "--host", "0.0.0.0", "--allow-name", "plan.example.com", "--no-persist"]) == 0
    command, environment = started[0]
    serving = settings.Serving.read(environment)
    assert serving.guarded
    assert serving.hosts == ("plan.example.com",)
    assert not serving.persist
    assert flag(command, "--server.address") == "0.0.0.0"
    assert flag(command, "--browser.serverAddress") == "plan.example.com"
    assert flag(command, "--server.maxUploadSize") == "16"
    told = capsys.readouterr().err
    for part in ("0.0.0.0", "password", "upload", "not encrypted", "docs/deployment.md"):
        assert part in told
    assert main(["app", "--user-header", "X-Remote-User", "--allow-name", "plan.example.com"]) == 0
    serving = settings.Serving.read(started[1][1])
    assert (serving.user_header, serving.password_file) == ("X-Remote-User", None)
    assert "X-Remote-User" in capsys.readouterr().err


def test_on_this_machine_nothing_is_asked_and_the_app_is_told_which_scenario_to_open(started, capsys):
    assert main(["app", "mig_layouts", "--port", "8765", "--no-browser"]) == 0
    assert main(["app", "--host", "localhost"]) == 0
    (command, environment), (_, plain) = started
    assert "8765" in command
    assert Path(environment["NONA_SCENARIO"]) == scenario_path("mig_layouts").resolve()
    assert "NONA_SCENARIO" not in plain
    assert (settings.Serving.read(plain).guarded, settings.Serving.read(plain).persist) == (False, True)
    assert capsys.readouterr().err == ""


def test_a_scenario_that_cannot_be_opened_starts_nothing(started, tmp_path, capsys):
    broken = tmp_path / "s.yaml"
    broken.write_text("{version: 1, cluster: {servers: [{}]}, workload: [{model: gone.onnx, rate: 1}]}")
    for name in ("no_such_scenario", tmp_path / "gone.yaml", broken):
        assert refusal(capsys, "app", name)
    assert not started


def test_a_port_in_use_is_refused(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"--port {port + 1}" in refusal(capsys, "app", "--port", port)


@pytest.fixture
def usual_signals():
    """Processes are started that end by signals, also where this one ignores them (``nohup``, ``&``)."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def server(tmp_path, usual_signals):
    made = KeptServer(tmp_path)
    yield made
    made.kill()


@pytest.mark.verify
def test_the_app_serves_on_a_machine_that_never_ran_streamlit(tmp_path):
    new = {"HOME": str(tmp_path), "BROWSER": "true", "NONA_CACHE_DIR": str(base_folder())}
    server = KeptServer(tmp_path, **new)
    command = [sys.executable, *server.program, "app", "--port", str(server.port)]
    with (tmp_path / "log").open("wb") as log:
        # its input is open and silent, like a terminal at which nobody types
        streams = {"stdin": subprocess.PIPE, "stdout": log, "stderr": log}
        process = subprocess.Popen(command, cwd=tmp_path, env=server.environment, **streams)
    try:
        assert until(lambda: server.healthy() or process.poll() is not None, 300), server.log()
        assert process.poll() is None, server.log()
    finally:
        process.terminate()
        process.communicate(timeout=ENDED_S)


def at_work(server):
    """A visitor's long run is under way; the numbers of all processes."""
    visitor = Visitor(server.port)
    visitor.open("simulation")
    visitor.fill("number_input", "Jobs measured per run", JOBS)
    visitor.press("Run the simulation")
    assert until(lambda: server.working(), 120)
    return server.tree()


SIGNALS = [
    (signal.SIGTERM, 0, "nona: ended by SIGTERM"),
    (signal.SIGINT, 130, "nona: interrupted"),
    (signal.SIGHUP, 0, "nona: ended by SIGHUP"),
]


@needs_proc
@pytest.mark.parametrize(("number", "status", "line"), first(1, SIGNALS))
def test_a_signal_ends_all_of_a_server_at_work(server, number, status, line):
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


@needs_proc
@pytest.mark.verify
def test_the_next_server_removes_what_a_killed_one_left(server):
    server.start()
    processes = at_work(server)
    server.kill()
    assert until(lambda: not any(map(alive, processes)), ENDED_S)
    (left,) = server.temporary.iterdir()
    assert list(left.glob("job-*"))
    server.start()
    assert not left.exists()


@pytest.mark.parametrize("seconds", first(1, [0.4, 0.1, 0.8]))
def test_the_start_can_be_interrupted(server, seconds):
    server.program = ["-c", UP]
    server.launch()
    assert until(lambda: server.log().startswith("up\n"), ENDED_S)
    time.sleep(seconds)
    os.killpg(server.process.pid, signal.SIGINT)
    assert server.process.wait(ENDED_S) == 130
    told = [line for line in server.log().splitlines() if line.strip()][1:]
    assert told[-1] == "nona: interrupted"
    assert len(told) in (1, 2)  # before that the address may have been shown
    assert "Traceback" not in server.log()
    assert list(server.temporary.iterdir()) == []


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("seconds", first(1, [0.4, 0.15, 0.9]))
def test_a_command_can_be_interrupted_while_it_is_imported(seconds):
    command = [sys.executable, "-c", UP, "simulate", "slides_example", "--jobs", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "up\n"
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=ENDED_S)[1]
    assert told.splitlines()[-1] == "nona: interrupted"
    assert "Traceback" not in told
    # Python itself may choose the latter, which shells call 130.
    assert run.returncode in (130, -signal.SIGINT)
