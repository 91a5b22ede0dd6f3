"""Runs on a Dask cluster: a real scheduler and real worker processes, and addresses at which none answers."""

import gc
import json
import logging
import os
import socket
import subprocess
import sys
import time
import types
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import distributed
import pytest
from mortal_scheduler import SYSTEM, mortal, prepared, total_jobs
from simulation_cases import same_runs

from evidence.by_hand import bind_to
from nona.cli.main import main
from nona.core.errors import SimulationError
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation import dask_pool
from nona.queries.simulation.dask_pool import DaskPool, check_address, simulation_report
from nona.queries.simulation.replications import run_replications
from nona.queries.simulation.run import Cancelled, RunOptions

HERE = Path(__file__).resolve().parent


@contextmanager
def cluster(folder, workers=2, nanny=False):
    """The address of a scheduler with ``workers`` workers of one thread each.

    With ``nanny`` a worker that dies is started again.
    """
    contact, log = folder / "scheduler.json", (folder / "log").open("wb")
    started = []

    def start(command, *arguments):
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


OPTIONS = RunOptions(jobs=400, warmup=50, engine="simpy")


def simulations(address, timeout_s=10.0):
    return DaskPool(address, simulation_report, timeout_s)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("dask")) as found:
        yield found


def test_the_records_are_those_of_the_embedded_pool(address):
    reports = []
    there = run_replications(SYSTEM, prepared(), OPTIONS, 3, 1, reports.append, simulations(address, 60))
    here = run_replications(SYSTEM, prepared(), OPTIONS, 3, workers=2)
    same_runs(here, there)
    assert reports[-1].fraction == pytest.approx(1.0)
    assert total_jobs(reports) == 6 * OPTIONS.jobs


LONG = replace(OPTIONS, jobs=2_000_000)  # minutes, if nobody ends it


def busy_tasks(dask_worker):
    return dask_worker.state.executing_count  # with those that go on although they were cancelled


@pytest.mark.parametrize("reason", [Cancelled, KeyboardInterrupt])
def test_cancelling_ends_the_runs_on_the_workers(address, reason):
    seen = []

    def stop(report):
        seen.append(report)
        raise reason

    with pytest.raises(reason):
        run_replications(SYSTEM, prepared(), LONG, 1, 1, stop, simulations(address))
    assert seen[0].fraction < 0.5
    with distributed.Client(address, set_as_default=False) as client:
        end = time.monotonic() + 30
        while sum(client.run(busy_tasks).values()):
            assert time.monotonic() < end, "a cancelled run goes on"
            time.sleep(0.1)


@pytest.mark.verify
@pytest.mark.parametrize("workers", [2, 1])
def test_a_lost_worker_also_the_only_one_costs_a_retry_and_not_the_study(workers, tmp_path):
    given = [mortal(tmp_path / "deaths", 1, 3.0), *prepared(("random",))]
    with cluster(tmp_path, workers, nanny=workers == 1) as address:
        there = run_replications(SYSTEM, given, OPTIONS, 3, pool=simulations(address, 60))
    assert list((tmp_path / "deaths").iterdir()) == []
    same_runs(run_replications(SYSTEM, given, OPTIONS, 3), there)  # no deaths are left


def test_what_is_wrong_with_a_cluster_is_said_in_one_line(tmp_path):
    with pytest.raises(SimulationError, match="no scheduler answers at 'nonsense'"):
        run_replications(SYSTEM, prepared(), OPTIONS, 1, pool=simulations("nonsense"))
    with cluster(tmp_path, workers=0) as address:
        with pytest.raises(SimulationError, match="has no worker; start some") as caught:
            run_replications(SYSTEM, prepared(), OPTIONS, 1, pool=simulations(address, 1.0))
        assert "\n" not in str(caught.value)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SimulationError, match=r"install nona-planner\[dask\]"):
        simulations("tcp://127.0.0.1:8786")


def test_a_decision_that_is_not_allowed_and_work_that_cannot_be_read_are_errors(address, monkeypatch):
    bad = bind_to([7], [7])
    given = [(bad, bad.prepare(SYSTEM, None, {}))]
    with pytest.raises(SimulationError, match="does not exist"):
        run_replications(SYSTEM, given, OPTIONS, 2, pool=simulations(address))
    here_only = types.ModuleType("here_only")
    exec("def decide(*given): pass", here_only.__dict__)
    monkeypatch.setitem(sys.modules, "here_only", here_only)
    scheduler = replace(get_scheduler("random"), decide=here_only.decide)
    given = [(scheduler, scheduler.prepare(SYSTEM, None, {}))]
    with pytest.raises(SimulationError, match="cannot read the work"):
        run_replications(SYSTEM, given, OPTIONS, 1, pool=simulations(address))


PLAN = ("vision_language_8_servers", "--offer", "a100-40gb", "--scheduler", "least-loaded", "--hit", "90%")


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "slides_example", "--jobs", "60", "--replications", "2"),
        pytest.param(("plan", *PLAN), marks=pytest.mark.verify),
    ],
    ids=lambda command: command[0],
)
def test_the_command_line_runs_on_a_cluster(address, capsys, command):
    common = [*command, "--json"]

    def answer(*more):
        assert main([*common, *more]) == 0
        return json.loads(capsys.readouterr().out) | {"seconds": None}

    assert answer("--dask", address) == answer()
    assert main([*common, "--dask", "nonsense"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.verify
def test_a_client_that_failed_is_not_collected_while_another_starts(address, monkeypatch):
    """It would close itself then, and wait for the lock of the one that starts (``Client.__del__``)."""
    monkeypatch.setattr(dask_pool, "check_address", lambda *_: None)  # so that the client itself fails
    for _ in range(3):
        with pytest.raises(SimulationError, match="no scheduler answers"):
            run_replications(SYSTEM, prepared(), OPTIONS, 1, pool=simulations("nonsense"))
        with simulations(address, 60)._connected() as client:
            assert client.status == "running"
            assert gc.isenabled()


def test_the_client_of_dask_is_silent_while_it_is_used(address, caplog, monkeypatch):
    log = logging.getLogger("distributed.client")
    monkeypatch.setattr(log, "propagate", True)
    heard = []

    def listen(progress):
        heard.append(progress)
        log.error("Failed to reconnect")

    run_replications(SYSTEM, prepared(("random",)), OPTIONS, 1, 1, listen, simulations(address, 60))
    assert heard
    assert "Failed to reconnect" not in caplog.text
    log.error("Said afterwards")
    assert "Said afterwards" in caplog.text


MALFORMED = [
    *("", "tcp://", "garbage", "http://127.0.0.1:8786", "tls://127.0.0.1:8786", "tcp://h:99999", "a\nb:1"),
    "tcp://" + "x" * 300 + ":8786",
]


@pytest.mark.parametrize("address", MALFORMED)
def test_what_is_no_address_is_refused_in_one_line(address):
    with pytest.raises(SimulationError, match="no scheduler answers at") as caught:
        check_address(address)
    assert "\n" not in str(caught.value)


@pytest.mark.verify
def test_a_silent_listener_ends_the_command_within_the_limit_and_a_closed_port_at_once(capfd):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        assert main(["simulate", "slides_example", "--jobs", "300", "--dask", address]) == 2
    err = capfd.readouterr().err
    assert "silent for 5 s" in err
    assert "Traceback" not in err
    assert err.count("\n") == 1
    with pytest.raises(SimulationError, match="refused"):
        check_address(address)
