"""Jobs: cancel, failure, death with the server; the worker's own protocol; the list of their kinds."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numba
import pytest
from app_driver import changed, state_of, until

from benchmarks.kept_server import alive
from nona.app.jobs.kinds import KINDS
from nona.app.jobs.pool import Worker
from nona.app.jobs.registry import AppJob, JobRegistry
from nona.app.session.state import AppState
from nona.app.tasks import process, simulation, worker_loop
from nona.app.tasks.context import JobContext
from nona.app.tasks.simulation import REPLICATIONS
from nona.core.compiled.families import FAMILIES
from nona.core.document import Document
from nona.core.errors import JobError
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario import file, schema

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("worker_processes")


def spec(**simulation):
    effort = simulation or {"jobs": 100, "replications": 1}
    scenario = changed(schedulers=["local"], objective="formula", simulation=effort)  # nothing is searched
    return {"scenario": scenario.model_dump(mode="json"), "uploads": None}


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(), reason="looks at processes in /proc, which only Linux has"
)
LONG = {"jobs": 100_000_000, "replications": 4}  # longer than any wait of a test


@pytest.fixture
def registry():
    """A registry of the test's own, for tests that end workers."""
    made = JobRegistry(limit=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def one_worker(worker_processes):
    made = JobRegistry(limit=2, idle=1)
    yield made
    made.shut_down()


@pytest.fixture
def lasting(one_worker):
    """A registry whose one worker waits, for tests that leave it alive; only its start takes seconds."""
    assert until(lambda: one_worker.pool.waiting() == 1)
    yield one_worker
    one_worker.close()


def ended(job):
    job.mark_watched()
    return not job.unfinished


def test_a_job_whose_id_cannot_be_guessed_runs_to_its_result_and_leaves_files(lasting):
    job = lasting.start("simulate", spec(), "f00")
    assert len(job.id) >= 20
    assert [lasting.get(told) for told in (None, job.id[:-1], job.id)] == [None, None, job]
    assert until(lambda: ended(job))
    assert (job.status, job.error, job.fingerprint) == ("done", "", "f00")
    assert job.result["report"]["schedulers"]["local"]["jct_s"]["mean"] == pytest.approx(0.022, rel=0.02)
    rows = (job.folder / "jobs.csv").read_text().splitlines()
    assert len(rows) == 101
    assert json.loads((job.folder / "report.json").read_text()) == job.result["report"]
    lasting.discard(job.id)
    assert not job.folder.exists()
    assert lasting.get(job.id) is None


def test_an_error_of_the_scenario_is_the_job_s_one_line(lasting):
    bad = spec()
    bad["scenario"]["workload"][0]["rate"] = "100000/s"
    job = lasting.start("place", bad)
    assert until(lambda: ended(job))
    assert (job.status, len(job.error.splitlines())) == ("failed", 1)


def test_a_worker_that_dies_is_a_failed_job(registry):
    job = registry.start("simulate", spec(**LONG))
    assert until(lambda: job.fraction > 0)
    os.kill(job.process.pid, signal.SIGKILL)
    assert until(lambda: ended(job))
    assert job.status == "failed"
    assert "ended with status" in job.error


@needs_proc
def test_workers_have_a_lower_priority_than_the_server(registry, monkeypatch):
    monkeypatch.setenv(process.NICE_VARIABLE, str(process.NICE))
    job, wanted = registry.start("simulate", spec(**LONG)), min(os.nice(0) + process.NICE, 19)

    def nice():
        stat = Path(f"/proc/{job.process.pid}/stat").read_text()
        return int(stat.rsplit(")", 1)[1].split()[16])

    assert until(lambda: nice() == wanted)
    job.cancel()


@pytest.mark.verify
@needs_proc
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_and_its_processes_die_with_the_server(tmp_path, how):
    """A server process starts a job and is killed; nothing of the job stays, nor of a worker that waits."""
    script = tmp_path / "server.py"
    script.write_text(
        "import json, sys, time\n"
        "from nona.app.jobs.registry import JobRegistry\n"
        "made = JobRegistry(idle=2)\n"
        "while made.pool.waiting() < 2: time.sleep(0.05)\n"
        "job = made.start('simulate', json.loads(sys.argv[1]))\n"
        "while job.fraction == 0: time.sleep(0.05)\n"
        "print(*made.pool.pids(), flush=True)\n"
        "time.sleep(600)\n"
    )
    server = subprocess.Popen(
        [sys.executable, str(script), json.dumps(spec(**LONG))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with server.stdout:
        workers = {int(pid) for pid in server.stdout.readline().split()}
    every = (int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit())
    group = [pid for pid in every if _group(pid) in workers]
    assert len(workers) == 2 <= len(group)
    server.send_signal(how)
    server.wait(60)
    assert until(lambda: not any(alive(p) for p in group))


def _group(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_the_worker_writes_nothing_but_its_lines_and_goes_on_after_an_error():
    with subprocess.Popen(
        [sys.executable, "-m", "nona.app.tasks.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as worker:
        for number in ("1", "2"):
            worker.stdin.write(json.dumps({"id": number, "kind": "nonsense"}) + "\n")
            worker.stdin.flush()
        lines = [json.loads(worker.stdout.readline()) for _ in range(3)]
        worker.stdin.close()
        assert worker.stdout.read() == ""
    # It ends itself, with its group where the pipe closed before it had noted that the job was over.
    assert worker.returncode in (0, -signal.SIGKILL)
    assert lines[0] == {"ready": True}
    assert [line["id"] for line in lines[1:]] == ["1", "2"]
    assert all("not known; choose from" in line["error"] for line in lines[1:])


@pytest.fixture
def warm():
    """A registry with one worker that waits, and room for two jobs."""
    made = JobRegistry(limit=2, idle=1)
    assert until(lambda: made.pool.waiting() >= 1)
    yield made
    made.shut_down()


@pytest.mark.verify
@needs_proc
def test_cancel_kills_the_worker_and_another_takes_its_place(warm):
    job = warm.start("simulate", spec(**LONG))
    assert until(lambda: job.fraction > 0)
    job.cancel()
    assert until(lambda: not alive(job.process.pid))
    assert until(lambda: warm.pool.waiting() >= 1)
    second = warm.start("place", spec())
    assert until(lambda: ended(second))
    assert second.status == "done"


@needs_proc
def test_a_superseded_job_leaves_its_worker_to_the_next(lasting):
    job = lasting.start("answer", spec(**LONG))
    assert until(lambda: job.fraction > 0)
    lasting.supersede(job.id)
    assert (job.status, job.result, lasting.get(job.id)) == ("cancelled", None, None)
    assert not job.folder.exists()
    assert until(lambda: job.released)
    assert alive(job.process.pid)


@pytest.mark.verify
@needs_proc
def test_a_superseded_job_that_does_not_stop_is_killed(warm, monkeypatch):
    job = warm.start("answer", spec(**LONG))
    assert until(lambda: job.fraction > 0)
    monkeypatch.setattr("nona.app.jobs.registry.GRACE_S", 0.2)
    os.kill(job.process.pid, signal.SIGSTOP)  # it hears nothing any more
    warm.supersede(job.id)
    assert until(lambda: not alive(job.process.pid))
    assert until(lambda: warm.pool.waiting() >= 1)


@pytest.mark.verify
def test_a_worn_worker_is_replaced(warm, monkeypatch):
    monkeypatch.setattr("nona.app.jobs.pool.JOBS_EACH", 1)
    job = warm.start("place", spec())
    assert until(lambda: ended(job))
    assert until(lambda: job.process.poll() is not None)
    assert until(lambda: warm.pool.waiting() >= 1)


def test_an_answer_comes_early_and_gets_better_until_it_equals_the_study(lasting):
    """After r replications the figures are those of r replications by the study itself."""
    chosen = spec(jobs=300, replications=3)
    job = lasting.start("answer", chosen)
    seen: dict[int, dict[str, Any]] = {}

    def watch():
        if job.live:
            seen[job.live["replications"]] = job.live
        return ended(job)

    assert until(watch)
    assert (job.status, job.result["replications"], job.result["jobs"]) == ("done", REPLICATIONS, 300)
    seen[job.result["replications"]] = job.result
    for count, told in seen.items():
        chosen["scenario"]["simulation"] = {"jobs": 300, "replications": count}
        wanted = simulate(prepare(file.scenario_from_mapping(chosen["scenario"]))).summaries["local"]
        found = told["report"]["schedulers"]["local"]
        assert found["jct_s"]["mean"] == wanted.result.jct_s.mean
        assert found["jobs"]["completed"] == wanted.result.jobs.completed


def test_sessions_share_no_files_through_a_worker(lasting, tmp_path):
    """The same name stands for another model in another folder, also in the caches of one worker."""
    means, workers = [], set()
    for number, compute_ms in enumerate((3.0, 7.0, 3.0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "m.json").write_text(json.dumps({"nodes": [{"id": "a", "compute_ms": compute_ms}]}))
        scenario = {"cluster": {"servers": [{"count": 2}]}, "workload": [{"model": "m.json", "rate": 0.01}]}
        scenario |= {"simulation": {"jobs": 50, "replications": 1}, "schedulers": ["local"]}
        job = lasting.start("simulate", {"scenario": scenario, "uploads": str(folder)})
        assert until(lambda job=job: ended(job))
        assert job.result is not None, job.error
        means.append(job.result["report"]["schedulers"]["local"]["jct_s"]["mean"])
        workers.add(job.process.pid)
        assert until(lambda: lasting.pool.waiting() == 1)  # the next job gets the same worker
    assert means == pytest.approx([0.003, 0.007, 0.003], rel=1e-6)
    assert len(workers) == 1


def test_a_worker_loads_the_compiled_engine_once_it_is_there(monkeypatch):
    """It never compiles itself: it asks for the one process that does."""
    ready, all_ready, done = [False], [False], []
    monkeypatch.setattr(worker_loop, "is_ready", lambda: ready[0])
    monkeypatch.setattr(
        worker_loop, "prepare_in_background", lambda *asked: done.append(asked) or all_ready[0]
    )
    monkeypatch.setattr("nona.app.tasks.worker_loop.warm", lambda: done.append("loaded"))
    server = worker_loop.WorkerLoop(set(), lambda message: None)
    server.load()
    asked = tuple(FAMILIES)
    assert (server.loaded, done) == (False, [asked])
    ready[0] = True
    server.load()
    assert (server.loaded, done) == (False, [asked, "loaded", asked])  # other families are not there yet
    all_ready[0] = True
    server.load()
    assert (server.loaded, done) == (True, [asked, "loaded", asked, asked])


@needs_proc
def test_a_worker_counts_its_own_memory_and_not_its_parent_s():
    """A server that uses much memory must not have its workers replaced after every job."""
    code = "from nona.app.tasks.process import _bytes; print(_bytes())"
    held = bytearray(600_000_000)
    held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])  # every page is in use
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 5_000_000 < int(told.stdout) < 300_000_000
    assert len(held) == 600_000_000


def test_a_job_says_that_it_compiles_and_that_it_runs_slowly_until_the_engine_is_ready(monkeypatch):
    told, twice = [], numba.njit(lambda x: 2 * x)
    task = SimpleNamespace(
        find=lambda name: SimpleNamespace(task=lambda: lambda spec, context: Told(value=twice(1)))
    )
    monkeypatch.setattr(worker_loop, "KINDS", task)
    for _ in range(2):
        assert worker_loop.run_task({}, JobContext(told.append)) == {"value": 2}
    assert told == [{"text": worker_loop.COMPILING}]  # the second time it is there
    for ready in (False, True):
        monkeypatch.setattr(simulation, "is_ready", lambda ready=ready: ready)
        assert ("while the fast engine is compiled" in simulation.slow_text()) != ready


def test_the_side_bar_says_what_is_compiled_in_the_background(open_page, monkeypatch):
    told = [("serverless", 4.2)]
    monkeypatch.setattr("nona.app.layout.frame.compiling", lambda: told[0])
    shown = " ".join(c.value for c in open_page("simulation").sidebar.caption)
    number = list(FAMILIES).index("serverless") + 1
    assert f"serverless ({number} of {len(FAMILIES)}, 4.2 s so far)" in shown
    assert "Everything can be run" in shown
    told[0] = None
    assert "Compiling" not in " ".join(c.value for c in open_page("simulation").sidebar.caption)


def test_a_run_changes_over_to_the_fast_engine_once_it_is_there(monkeypatch, tmp_path):
    answers = iter([False, False])  # to who counts processes, and to the first run
    monkeypatch.setattr("nona.queries.simulation.run.is_ready", lambda: next(answers, True))
    monkeypatch.setattr("nona.queries.simulation.run.prepare_in_background", lambda *families: None)
    (tmp_path / "m.json").write_text(json.dumps({"nodes": [{"id": "a", "compute_ms": 3.0}]}))
    scenario = {"cluster": {"servers": [{"count": 2}]}, "workload": [{"model": "m.json", "rate": 0.01}]}
    scenario |= {"simulation": {"jobs": 50, "replications": 2}, "schedulers": ["local"]}
    spec = {"scenario": scenario, "uploads": str(tmp_path), "folder": str(tmp_path / "files")}
    run = simulation.simulate_scenario(spec, JobContext(lambda message: None))
    assert run.report.engine == "compiled, simpy"


class Told(Document):
    """A result of one number."""

    value: int


OF_THE_SESSION = sorted(set(KINDS) - {"answer"})  # which no button starts


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_function_and_knows_what_it_depends_on(name):
    kind = KINDS.find(name)
    assert kind.name == name
    assert list(inspect.signature(kind.task()).parameters) == ["spec", "context"]
    assert set(kind.parts) <= set(schema.Scenario.model_fields)
    assert bool(AppState().fingerprint(name)) is bool(kind.parts)


def test_kinds_can_be_told_apart_buttons_start_them_and_others_are_refused(lasting):
    assert len({kind.noun for kind in KINDS.values()}) == len(KINDS)
    with pytest.raises(JobError, match="is not known; choose from place, plan"):
        lasting.start("shell", {})
    files = [
        *(ROOT / "nona/app/pages").rglob("*.py"),
        *(ROOT / "pages").glob("*.py"),
        ROOT / "evidence/tabs.py",
    ]
    text = "".join(p.read_text(encoding="utf-8") for p in files)
    named = {
        name
        for name in OF_THE_SESSION
        if re.search(rf'\bkind(?: ?= ?"|, of = \("|.* else \(?"){name}"', text)
    }
    assert named == set(OF_THE_SESSION)


class _Known:
    """The server's jobs: one of every kind that a session starts, all running."""

    def __init__(self):
        worker = cast("Worker", SimpleNamespace(kill=lambda: None))
        self.jobs = {n: AppJob(n, n, "", Path(), worker, watched_s=0.0) for n in OF_THE_SESSION}

    def get(self, job_id):
        return self.jobs.get(job_id or "")

    def running_before(self, job):
        return []

    def count_ahead(self, job):
        return 0

    def wait_s(self, job):
        return None


def test_a_job_of_any_kind_is_watched_and_can_be_ended_on_every_page(open_page, monkeypatch):
    """A job that nobody looks at is cancelled after a minute: the side bar looks at all of them."""
    at, known = open_page("scenario"), _Known()
    monkeypatch.setattr("nona.app.layout.job_panel.jobs", lambda: known)
    monkeypatch.setattr("nona.app.layout.frame.collect", lambda state: False)  # that of a page's start
    state_of(at).jobs |= {name: name for name in OF_THE_SESSION}
    at.run()
    assert [name for name, job in known.jobs.items() if not job.watched_s] == []
    keys = [b.key for b in at.sidebar.button]
    assert keys.index("stop-validate") < keys.index("undo")  # above the scenario: seen without scrolling
    at.button(key="stop-validate").click().run()
    assert known.jobs["validate"].status == "cancelled"
    assert not [b for b in at.button if b.key == "stop-validate"]
