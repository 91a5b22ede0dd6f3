"""Replications: the same records whatever the number of workers; progress; cancelling; errors; no orphans."""

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mortal_scheduler import SYSTEM, mortal, prepared, total_jobs
from simulation_cases import same_runs
from sizes import first

from benchmarks.kept_server import alive, until
from evidence import by_hand
from nona.core.errors import SimulationError
from nona.core.experiments import RETRIES, InProcess, ProcessPool
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation import replications, run

OPTIONS = run.RunOptions(jobs=400, warmup=50)


def test_records_do_not_depend_on_the_number_of_workers():
    alone = replications.run_replications(SYSTEM, prepared(), OPTIONS, replications=3)
    shared = replications.run_replications(SYSTEM, prepared(), OPTIONS, replications=3, workers=2)
    assert list(alone) == ["random", "opportunistic"]
    assert [r.replication for r in alone["random"]] == [0, 1, 2]
    same_runs(alone, shared)


def test_replications_differ_and_schedulers_share_their_arrivals():
    found = replications.run_replications(SYSTEM, prepared(), replace(OPTIONS, replication=4), replications=2)
    first, second = found["random"]
    assert (first.replication, second.replication) == (4, 5)
    assert not np.array_equal(first.arrival_s, second.arrival_s)
    assert np.array_equal(first.arrival_s, found["opportunistic"][0].arrival_s)


@pytest.mark.parametrize("workers", first(1, [1, 2]))
def test_progress_covers_every_run_and_ends_at_one(workers):
    reports = []
    found = replications.run_replications(SYSTEM, prepared(), OPTIONS, 2, workers, reports.append)
    fractions = [r.fraction for r in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    for name, records in found.items():
        for r in records:
            own = [p.run for p in reports if (p.scheduler, p.replication) == (name, r.replication)]
            arrivals = np.sort(np.concatenate([p.arrival_s for p in own]))
            assert np.array_equal(arrivals, r.arrival_s[np.isfinite(r.completion_s)])


@pytest.mark.parametrize(("workers", "engine"), first(2, [(1, "simpy"), (1, "compiled"), (2, "auto")]))
def test_cancelling_or_an_error_stops_all_runs_and_leaves_no_process(workers, engine):
    seen = []

    def stop(report):
        seen.append(report)
        if len(seen) == 3:
            raise run.Cancelled

    long = replace(OPTIONS, jobs=500_000, engine=engine)
    with pytest.raises(run.Cancelled):
        replications.run_replications(SYSTEM, prepared(), long, 2, workers, stop)
    assert len(seen) == 3
    assert seen[-1].fraction < 0.5
    bad = by_hand.bind_to([7], [7])
    with pytest.raises(SimulationError, match="does not exist"):
        replications.run_replications(SYSTEM, [(bad, bad.prepare(SYSTEM, None, {}))], OPTIONS, 2, workers)
    assert multiprocessing.active_children() == []


def test_a_scheduler_that_cannot_be_sent_needs_one_worker():
    scheduler = replace(get_scheduler("random"), build=lambda system, placement, options: None)
    given = [(scheduler, get_scheduler("random").prepare(SYSTEM, None, {}))]
    with pytest.raises(SimulationError, match="use one worker"):
        replications.run_replications(SYSTEM, given, OPTIONS, 2, workers=2)
    assert len(replications.run_replications(SYSTEM, given, OPTIONS, 2)["random"]) == 2


@pytest.mark.parametrize("deaths", first(1, [1, RETRIES]))
def test_a_lost_worker_costs_a_retry_and_not_the_study(tmp_path, deaths):
    given = [mortal(tmp_path / "deaths", deaths, 3.0), *prepared(("random",))]
    options = replace(OPTIONS, engine="simpy")
    reports = []
    shared = replications.run_replications(SYSTEM, given, options, 2, 2, reports.append)
    assert list((tmp_path / "deaths").iterdir()) == []
    alone = replications.run_replications(SYSTEM, given, options, 2)  # no deaths are left
    same_runs(alone, shared)
    assert total_jobs(reports) == sum(np.isfinite(r.completion_s).sum() for n in shared for r in shared[n])
    fractions = [r.fraction for r in reports]
    assert fractions == sorted(fractions)


def test_a_run_that_always_loses_its_worker_ends_the_study(tmp_path):
    given = [mortal(tmp_path / "deaths", 10, 3.0), *prepared(("random",))]
    with pytest.raises(SimulationError, match=f"died {RETRIES + 1} times") as caught:
        replications.run_replications(SYSTEM, given, replace(OPTIONS, engine="simpy"), 1, 2)
    assert "\n" not in str(caught.value)
    assert len(list((tmp_path / "deaths").iterdir())) == 10 - RETRIES - 1
    assert multiprocessing.active_children() == []


@pytest.mark.verify
def test_a_pool_keeps_its_processes_from_one_study_to_the_next():
    with ProcessPool(2) as pool:
        first = replications.run_replications(SYSTEM, prepared(), OPTIONS, 2, pool=pool)
        processes = {p.pid for p in multiprocessing.active_children()}
        other = replications.run_replications(SYSTEM, prepared(("spark-fifo",)), OPTIONS, 2, pool=pool)
        assert {p.pid for p in multiprocessing.active_children()} == processes
        assert len(processes) == 2
    assert multiprocessing.active_children() == []
    alone = replications.run_replications(SYSTEM, prepared(), OPTIONS, 2, pool=InProcess())
    alone |= replications.run_replications(SYSTEM, prepared(("spark-fifo",)), OPTIONS, 2)
    same_runs(alone, first | other)


def test_nonsense_is_refused():
    with pytest.raises(SimulationError, match="workers=0"):
        ProcessPool(0)
    with pytest.raises(SimulationError, match="replications=0"):
        replications.run_replications(SYSTEM, prepared(), OPTIONS, replications=0)
    with pytest.raises(SimulationError, match="workers=-1"):
        replications.run_replications(SYSTEM, prepared(), OPTIONS, workers=-1)
    with pytest.raises(SimulationError, match="'random' is given twice"):
        replications.run_replications(SYSTEM, prepared(("random", "random")), OPTIONS)


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
from nona.core.experiments import ProcessPool
ProcessPool(2).run(Work(sys.argv[2], sys.argv[3] == "chatty"), [(0, 0), (0, 1)], Listener())
"""
linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("manner", ["chatty", "silent"])
def test_workers_end_with_their_parent_without_a_word(number, manner, tmp_path):
    (tmp_path / "endless.py").write_text(WORK)
    begun = tmp_path / "begun"
    begun.mkdir()
    command = [sys.executable, "-c", START, str(tmp_path), str(begun), manner]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as parent:
        assert until(lambda: len(list(begun.iterdir())) == 2, 120)
        os.kill(parent.pid, number)
        workers = [int(path.name) for path in begun.iterdir()]
        assert until(lambda: not any(map(alive, workers)), 60)
        assert parent.stderr.read() == b""
