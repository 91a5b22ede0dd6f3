"""Jobs: limit, cancel, failure, death with the server, forgetting; the worker's own protocol."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nona.errors import JobError
from nona.samples import scenario_path
from nona.scenario_file import load_scenario, scenario_to_mapping
from nona.ui.jobs import Job, JobRegistry

ROOT = Path(__file__).resolve().parents[2]


def spec(**simulation: int) -> dict[str, Any]:
    scenario = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    scenario["simulation"] = simulation or {"jobs": 100, "replications": 1}
    scenario["schedulers"] = ["local"]
    return {"scenario": scenario, "uploads": None}


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(), reason="looks at processes in /proc, which only Linux has"
)
LONG = {"jobs": 5_000_000, "replications": 4}


def until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    """Whether the process runs (one that is dead but not yet collected does not)."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@pytest.fixture
def registry() -> Iterator[JobRegistry]:
    made = JobRegistry(limit=1)
    yield made
    made.close()


def ended(job: Job) -> bool:
    job.touch()
    return not job.running


def test_a_job_runs_to_its_result_and_leaves_files(registry: JobRegistry) -> None:
    job = registry.start("simulate", spec(), "f00")
    assert until(lambda: ended(job))
    assert (job.status, job.error, job.fingerprint) == ("done", "", "f00")
    assert job.result is not None
    assert job.result["report"]["schedulers"]["local"]["jct_s"]["mean"] == pytest.approx(0.022, rel=0.02)
    rows = (job.folder / "jobs.csv").read_text().splitlines()
    assert len(rows) == 101
    assert json.loads((job.folder / "report.json").read_text()) == job.result["report"]
    registry.discard(job.id)
    assert not job.folder.exists()
    assert registry.get(job.id) is None


@needs_proc
def test_no_more_jobs_at_once_than_allowed_and_cancel_frees_the_place(registry: JobRegistry) -> None:
    first = registry.start("simulate", spec(**LONG))
    with pytest.raises(JobError, match="1 are running"):
        registry.start("place", spec())
    assert until(lambda: first.fraction > 0)
    first.cancel()
    assert first.status == "cancelled"
    assert until(lambda: not alive(first.process.pid), 10)
    second = registry.start("place", spec())
    assert until(lambda: ended(second))
    assert second.status == "done"
    assert first.result is None


def test_progress_grows_and_the_chart_data_follows(registry: JobRegistry) -> None:
    job = registry.start("simulate", spec(jobs=30_000, replications=1))
    seen = []

    def watch() -> bool:
        seen.append(job.fraction)
        return ended(job)

    assert until(watch)
    assert job.status == "done"
    assert seen == sorted(seen)
    assert job.live["local"]["jobs"] > 0
    assert all(v > 0 for v in job.live["local"]["jct_s"])


def test_an_error_of_the_scenario_is_the_job_s_one_line(registry: JobRegistry) -> None:
    bad = spec()
    bad["scenario"]["workload"][0]["rate"] = "100000/s"
    job = registry.start("place", bad)
    assert until(lambda: ended(job))
    assert job.status == "failed"
    assert job.error
    assert "\n" not in job.error


def test_a_worker_that_dies_is_a_failed_job(registry: JobRegistry) -> None:
    job = registry.start("simulate", spec(**LONG))
    assert until(lambda: job.fraction > 0)
    os.kill(job.process.pid, signal.SIGKILL)
    assert until(lambda: ended(job), 10)
    assert job.status == "failed"
    assert "ended with status" in job.error


def test_an_unwatched_job_is_cancelled() -> None:
    registry = JobRegistry(limit=1, unwatched_s=0.5)
    job = registry.start("simulate", spec(**LONG))
    assert until(lambda: not job.running, 20)
    assert job.status == "cancelled"
    registry.close()


def test_a_finished_job_is_forgotten_in_time() -> None:
    registry = JobRegistry(limit=1, keep_s=0.0)
    job = registry.start("place", spec())
    assert until(lambda: ended(job))
    time.sleep(0.01)
    registry.sweep()
    assert registry.get(job.id) is None
    assert not job.folder.exists()


def test_ids_cannot_be_guessed_and_unknown_kinds_are_refused(registry: JobRegistry) -> None:
    with pytest.raises(JobError, match="must be one of"):
        registry.start("shell", {})
    job = registry.start("place", spec())
    assert len(job.id) >= 20
    assert registry.get(None) is None
    assert registry.get(job.id[:-1]) is None


@needs_proc
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_and_its_processes_die_with_the_server(tmp_path: Path, how: signal.Signals) -> None:
    """A server process starts a job and is killed; nothing of the job stays."""
    script = tmp_path / "server.py"
    script.write_text(
        "import json, sys, time\n"
        "from nona.ui.jobs import JobRegistry\n"
        "job = JobRegistry().start('simulate', json.loads(sys.argv[1]))\n"
        "while job.fraction == 0: time.sleep(0.05)\n"
        "print(job.process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    server = subprocess.Popen(
        [sys.executable, str(script), json.dumps(spec(**LONG))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert server.stdout is not None
    with server.stdout:
        worker = int(server.stdout.readline())
    every = (int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit())
    group = [pid for pid in every if _group(pid) == worker]
    assert worker in group
    server.send_signal(how)
    server.wait(10)
    assert until(lambda: not any(alive(p) for p in group), 10)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_the_worker_writes_nothing_but_its_lines() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "nona.ui.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps({"kind": "nonsense"}) + "\n")
        worker.stdin.flush()
        lines = [json.loads(line) for line in worker.stdout]
    assert worker.returncode == 2
    assert list(lines[-1]) == ["error"]
