"""Jobs of many sessions: all done in turn, none refused, places kept over a reload, nothing left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from app_driver import Open, go, new_session, until

from nona.errors import JobError
from nona.ui.jobs import registry as room
from nona.ui.jobs.registry import Durations, Job, JobRegistry
from nona.ui.session.workspace import jobs
from nona.ui.shell.job_panel import WAITING_S, beat, moved_on, progress_text

OWNERS, EACH = 20, 2
LONG = 600.0
# A process that does as a worker does, but only sleeps: what is tested here is whose turn it is.
SLEEPER = """
import json, queue, sys, threading, time
inbox, stopped = queue.SimpleQueue(), set()
def read():
    for line in sys.stdin:
        told = json.loads(line)
        stopped.add(told["stop"]) if "stop" in told else inbox.put(told)
    inbox.put(None)
def tell(**told):
    print(json.dumps(told), flush=True)
threading.Thread(target=read, daemon=True).start()
tell(ready=True)
while (job := inbox.get()) is not None:
    begin, last = time.monotonic(), {"result": {}}
    while (passed := time.monotonic() - begin) < job["seconds"]:
        if job["id"] in stopped:
            last = {"stopped": True}
            break
        tell(id=job["id"], fraction=passed / job["seconds"])
        time.sleep(min(0.05, job["seconds"]))
    tell(id=job["id"], **last)
"""


def spec(seconds: float = 0.02) -> dict[str, Any]:
    return {"seconds": seconds}


def _sleeper() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", SLEEPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


@pytest.fixture(autouse=True)
def sleepers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nona.ui.jobs.pool._spawn", _sleeper)


def over(*given: Job) -> bool:
    for job in given:
        job.touch()
    return not any(job.unfinished for job in given)


@pytest.fixture
def registry() -> Iterator[JobRegistry]:
    made = JobRegistry(limit=2, quick=1, idle=2)
    yield made
    made.shut_down()


@pytest.fixture
def app_jobs() -> Iterator[JobRegistry]:
    """The app's own registry, made anew with these workers."""
    jobs.clear()
    yield jobs()
    jobs().shut_down()
    jobs.clear()


def test_twenty_owners_are_all_served_in_turn(registry: JobRegistry) -> None:
    asked = [
        registry.start("simulate", spec(), owner=f"owner {i}") for i in range(OWNERS) for _ in range(EACH)
    ]
    assert sum(job.waiting for job in asked) >= OWNERS * EACH - 4
    assert until(lambda: over(*asked))
    assert Counter(job.status for job in asked) == {"done": OWNERS * EACH}
    starts = sorted(asked, key=lambda job: job.started or 0.0)
    # The second job of owner 0 started while nobody else was there; then everyone had a turn before it.
    turns = [job.owner for job in starts[2:]]
    firsts = turns[: OWNERS - 1]
    assert len(set(firsts)) == OWNERS - 1
    for owner in {job.owner for job in asked}:
        mine = [job for job in asked if job.owner == owner]
        assert [job.id for job in starts if job.owner == owner] == [job.id for job in mine]


def test_one_owner_with_many_jobs_delays_another_by_one_at_most(registry: JobRegistry) -> None:
    many = [registry.start("simulate", spec(), owner="many") for _ in range(8)]
    other = registry.start("simulate", spec(), owner="one")
    assert until(lambda: over(other, *many))
    assert other.started is not None
    assert sum((job.started or 0.0) < other.started for job in many) <= 3  # two places, one turn


def test_a_job_that_waits_is_cancelled_and_superseded_without_a_process(registry: JobRegistry) -> None:
    long = [registry.start("simulate", spec(LONG), owner="long") for _ in range(2)]
    first, second, third = (registry.start("simulate", spec(), owner=o) for o in ("a", "b", "c"))
    assert [registry.ahead(job) for job in (first, second, third)] == [0, 1, 2]
    first.cancel()
    assert until(lambda: registry.ahead(second) == 0)
    assert (first.status, first.elapsed_s, first.worker) == ("cancelled", 0.0, None)
    registry.supersede(second.id)
    assert registry.get(second.id) is None
    assert not second.folder.exists()
    with pytest.raises(JobError, match="waits for its turn"):
        _ = second.process
    assert registry.ahead(third) == 0
    for job in long:
        job.cancel()
    assert until(lambda: over(third))
    assert third.status == "done"


def test_quick_answers_do_not_wait_for_long_runs(registry: JobRegistry) -> None:
    long = [registry.start("simulate", spec(LONG), owner=f"{i}") for i in range(2)]
    answer = registry.start("answer", spec(), owner="quick")
    assert answer.running
    assert until(lambda: over(answer))
    assert answer.status == "done"
    assert all(job.running for job in long)


def test_too_many_that_wait_are_refused_in_one_line(
    registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_OWN", 2)
    monkeypatch.setattr(room, "MOST_WAITING", 3)
    for _ in range(4):
        registry.start("simulate", spec(LONG), owner="a")
    with pytest.raises(JobError, match="2 of yours wait already"):
        registry.start("simulate", spec(), owner="a")
    registry.start("simulate", spec(), owner="b")
    with pytest.raises(JobError, match="3 wait already"):
        registry.start("simulate", spec(), owner="c")


def test_work_is_kept_while_its_owner_is_connected_and_forgotten_afterwards() -> None:
    there = {"ann"}
    registry = JobRegistry(limit=1, unwatched_s=0.2, keep_s=0.2, idle=1, present=lambda o: o in there)
    try:
        done = registry.start("simulate", spec(), owner="ann")
        assert until(lambda: not done.unfinished)
        long, waits = (registry.start("simulate", spec(LONG), owner="ann") for _ in range(2))
        time.sleep(0.6)  # nobody looks, but she is there
        assert (done.status, long.status, waits.status) == ("done", "running", "waiting")
        assert done.folder.exists()
        there.clear()
        assert until(lambda: not (long.unfinished or waits.unfinished))
        assert until(lambda: not any(job.folder.exists() for job in (done, long, waits)))
        assert registry.get(done.id) is None
        assert until(lambda: registry._watcher is None)  # nothing is left to watch
    finally:
        registry.shut_down()


def test_the_expected_start_comes_from_what_runs_and_what_ran(registry: JobRegistry) -> None:
    long = [registry.start("simulate", spec(60.0), owner=f"{i}") for i in range(2)]
    first, second = (registry.start("simulate", spec(), owner=o) for o in ("a", "b"))

    def told() -> bool:
        for job in (*long, first, second):
            job.touch()
        return registry.wait_s(second) is not None

    assert until(told)
    soon, later = registry.wait_s(first), registry.wait_s(second)
    assert soon is not None
    assert later is not None
    assert 0 < soon <= later
    assert progress_text(first).startswith("Waiting: 1st in line")


def test_estimates_need_something_to_go_by(registry: JobRegistry) -> None:
    job = registry.start("simulate", spec(LONG), owner="a")
    durations = Durations()
    assert durations.wait_s([job], [], 1) is None
    assert durations.wait_s([job], [], 2) == 0.0
    durations.note("simulate", 60.0)
    assert durations.wait_s([job], [job], 1) == pytest.approx(120.0, abs=10)


def test_a_page_looks_slowly_while_its_job_waits(registry: JobRegistry) -> None:
    long = [registry.start("simulate", spec(LONG), owner=f"{i}") for i in range(2)]
    waits = registry.start("simulate", spec(LONG), owner="a")
    assert (beat(long[0], 0.1), beat(waits, 0.1), beat(None, 0.1)) == (0.1, WAITING_S, None)
    assert not moved_on(waits, WAITING_S)
    long[0].cancel()
    assert until(lambda: waits.running)
    assert moved_on(waits, WAITING_S)
    assert not moved_on(waits, 0.1)
    waits.cancel()
    assert (moved_on(waits, 0.1), beat(waits, 0.1), moved_on(waits, None)) == (True, None, False)


def test_a_page_says_its_place_and_a_reload_keeps_it(app_jobs: JobRegistry, open_page: Open) -> None:
    for i in range(app_jobs.free("simulate") + 1):
        app_jobs.start("simulate", spec(LONG), owner=f"other {i}")
    at = open_page("7_simulation")
    at.button(key="run-simulate").click().run()
    mine = at.session_state["nona_state"].jobs["simulate"]
    shown = " ".join(c.value for c in at.sidebar.caption)
    assert "Waiting\\: 2nd in line" in shown
    assert at.button(key="stop-simulate").label == "Cancel the simulation"
    again = new_session()
    for key in ("nona_state", "nona_token", "nona_workspaces"):
        again.session_state[key] = at.session_state[key]
    go(again.run(), "7_simulation")
    assert again.session_state["nona_state"].jobs["simulate"] == mine
    assert "2nd in line" in " ".join(c.value for c in again.sidebar.caption)
    again.button(key="stop-simulate").click().run()
    assert not again.exception
    assert "was cancelled before it started" in " ".join(i.value for i in again.info)
