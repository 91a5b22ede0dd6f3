"""Jobs of many sessions: a line that is fair and in order, places kept over a reload, nothing left."""

import re
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from itertools import count

import pytest
from app_driver import go, new_session, state_of, until
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.app.jobs import expected
from nona.app.jobs import registry as room
from nona.app.jobs.expected import EXPECTED, about_text, expected_s
from nona.app.jobs.fair_queue import FairQueue, wait_s
from nona.app.jobs.kinds import KINDS
from nona.app.jobs.registry import Durations, JobRegistry
from nona.app.layout.job_panel import WAITING_S, poll_interval, progress_text, state_changed
from nona.app.session.workspace import jobs
from nona.core.errors import JobError
from nona.queries.workflows.race import SLOWER
from nona.scenario.sample_files import shipped_scenario

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


def spec(seconds=0.02):
    return {"seconds": seconds}


@pytest.fixture(autouse=True)
def sleepers(monkeypatch):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    started = partial(
        subprocess.Popen, [sys.executable, "-S", "-c", SLEEPER], start_new_session=True, **streams
    )
    monkeypatch.setattr("nona.app.jobs.pool._spawn", started)
    yield
    jobs().shut_down()  # a sleeper that is left would get the app's jobs of the tests that follow
    jobs.clear()


def over(*given):
    for job in given:
        job.mark_watched()
    return not any(job.unfinished for job in given)


@pytest.fixture
def registry():
    made = JobRegistry(limit=2, quick=1, idle=2)
    yield made
    made.shut_down()


@pytest.fixture
def app_jobs():
    """The app's own registry, made anew with these workers."""
    jobs.clear()
    yield jobs()
    jobs().shut_down()
    jobs.clear()


def test_quick_answers_do_not_wait_and_a_job_that_waits_is_cancelled_and_superseded_without_a_process(
    registry,
):
    long = [registry.start("simulate", spec(LONG), owner=f"{i}") for i in range(2)]
    answer = registry.start("answer", spec(), owner="quick")
    assert answer.running
    assert until(lambda: over(answer))
    assert answer.status == "done"
    assert all(job.running for job in long)
    first, second, third = (registry.start("simulate", spec(), owner=o) for o in ("a", "b", "c"))
    assert [registry.count_ahead(job) for job in (first, second, third)] == [0, 1, 2]
    first.cancel()
    assert until(lambda: registry.count_ahead(second) == 0)
    assert (first.status, first.elapsed_s, first.worker) == ("cancelled", 0.0, None)
    registry.supersede(second.id)
    assert registry.get(second.id) is None
    assert not second.folder.exists()
    with pytest.raises(JobError, match="waits for its turn"):
        _ = second.process
    assert registry.count_ahead(third) == 0
    for job in long:
        job.cancel()
    assert until(lambda: over(third))
    assert third.status == "done"


def test_too_many_that_wait_are_refused_in_one_line(registry, monkeypatch):
    monkeypatch.setattr(room, "MOST_OWN", 2)
    monkeypatch.setattr(room, "MOST_WAITING", 3)
    for _ in range(4):
        registry.start("simulate", spec(LONG), owner="a")
    with pytest.raises(JobError, match="2 of yours wait already"):
        registry.start("simulate", spec(), owner="a")
    registry.start("simulate", spec(), owner="b")
    with pytest.raises(JobError, match="3 wait already"):
        registry.start("simulate", spec(), owner="c")


def test_work_is_kept_while_its_owner_is_connected_and_forgotten_afterwards():
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


def test_the_expected_start_comes_from_what_runs_and_what_ran(registry):
    long = [registry.start("simulate", spec(60.0), owner=f"{i}") for i in range(2)]
    first, second = (registry.start("simulate", spec(), owner=o) for o in ("a", "b"))

    def told():
        for job in (*long, first, second):
            job.mark_watched()
        return registry.wait_s(second) is not None

    assert until(told)
    assert 0 < registry.wait_s(first) <= registry.wait_s(second)
    assert progress_text(first).startswith("Waiting: 1st in line")
    job, durations = first, Durations()  # estimates need something to go by
    assert durations.wait_s([job], [], 1) is None
    assert durations.wait_s([job], [], 2) == 0.0
    durations.note("simulate", 60.0)
    assert durations.wait_s([job], [job], 1) == pytest.approx(120.0, abs=10)


def test_a_page_looks_slowly_while_its_job_waits(registry):
    long = [registry.start("simulate", spec(LONG), owner=f"{i}") for i in range(2)]
    waits = registry.start("simulate", spec(LONG), owner="a")
    assert (poll_interval(long[0], 0.1), poll_interval(waits, 0.1), poll_interval(None, 0.1)) == (
        0.1,
        WAITING_S,
        None,
    )
    assert not state_changed(waits, WAITING_S)
    long[0].cancel()
    assert until(lambda: waits.running)
    assert state_changed(waits, WAITING_S)
    assert not state_changed(waits, 0.1)
    waits.cancel()
    assert (state_changed(waits, 0.1), poll_interval(waits, 0.1), state_changed(waits, None)) == (
        True,
        None,
        False,
    )


def test_a_page_says_its_place_and_a_reload_keeps_it(app_jobs, open_page):
    for i in range(app_jobs.free("simulate") + 1):
        app_jobs.start("simulate", spec(LONG), owner=f"other {i}")
    at = open_page("simulation")
    at.button(key="run-simulate").click().run()
    mine = state_of(at).jobs["simulate"]
    shown = " ".join(c.value for c in at.sidebar.caption)
    assert "Waiting for other work \\(simulation\\)\\: 2nd in line" in shown
    assert at.button(key="stop-simulate").label == "Cancel the simulation"
    again = new_session()
    for key in ("nona_state", "nona_token", "nona_workspaces"):
        again.session_state[key] = at.session_state[key]
    go(again.run(), "simulation")
    assert again.session_state["nona_state"].jobs["simulate"] == mine
    assert "2nd in line" in " ".join(c.value for c in again.sidebar.caption)
    again.button(key="stop-simulate").click().run()
    assert "was cancelled before it started" in " ".join(i.value for i in again.info)


OWNERS = ("ann", "bob", "carl", "dora")
steps = st.lists(st.tuples(st.sampled_from(("put", "end", "drop")), st.integers(0, 7)), max_size=60)


class Watched:
    """A line that starts work as soon as it may, and checks the rules at every step."""

    def __init__(self, places, each=0):
        self.line, self.each = FairQueue[int](places, each), each or places
        self.owner: dict[int, str] = {}
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.passed: dict[str, Counter[str]] = {}  # who waits with nothing running: who started meanwhile
        self.numbers = count()

    def put(self, owner):
        work = next(self.numbers)
        self.owner[work] = owner
        self.waiting.append(work)
        self.line.put(owner, work)
        self._start()
        return work

    def leave(self, work):
        for held in (self.waiting, self.running):
            if work in held:
                held.remove(work)
        self.line.remove(work)
        self._start()

    def owners(self, held):
        return {self.owner[work] for work in held}

    def _start(self):
        while True:
            waits, runs = self.owners(self.waiting), Counter(self.owner[w] for w in self.running)
            first = {o for o in waits if not runs[o]}
            self.passed = {o: self.passed.get(o, Counter()) for o in first}
            expected = self.line.order()
            assert sorted(expected) == sorted(self.waiting)
            work = self.line.start()
            if work is None:
                break
            owner = self.owner[work]
            assert work == expected[0]
            assert work == min(w for w in self.waiting if self.owner[w] == owner), "order within an owner"
            assert not (first and runs[owner]), "a second place while another waits for a first"
            self.waiting.remove(work)
            self.running.append(work)
            for other in first - {owner}:
                self.passed[other][owner] += 1
                assert self.passed[other][owner] == 1, "nobody is passed twice by the same owner"
        assert len(self.running) <= self.line.places
        able = {o for o in self.owners(self.waiting) if runs[o] < self.each}
        assert not able or not self.line.free, "a place is free though work may take it"
        assert list(self.line.running) == self.running


@examples(120)
@given(st.integers(1, 3), st.sampled_from((0, 1)), steps)
def test_the_line_is_fair_in_order_and_never_idle(places, each, told):
    watched = Watched(places, each)
    for what, number in told:
        if what == "put":
            watched.put(OWNERS[number % len(OWNERS)])
        elif what == "end" and watched.running:
            watched.leave(watched.running[number % len(watched.running)])
        elif what == "drop" and watched.waiting:
            watched.leave(watched.waiting[number % len(watched.waiting)])
    while watched.running:  # all that waits is served in the end
        watched.leave(watched.running[0])
    assert not watched.waiting
    watched.line.remove(99)  # which is not there
    line = watched.line
    assert (line.waits(), line.free, line.order(), line.start()) == (0, places, (), None)


@examples(40)
@given(st.integers(1, 3), st.lists(st.sampled_from(OWNERS), min_size=1, max_size=20))
def test_the_order_told_is_the_order_that_comes(places, owners):
    watched = Watched(places)
    for owner in owners:
        watched.put(owner)
    told, came = watched.line.order(), []
    while watched.running:
        before = set(watched.running)
        watched.leave(watched.running[0])
        came += [w for w in watched.running if w not in before]
    assert tuple(came) == told


def _simulated(running, ahead, places):
    """The start of what comes after ``ahead``, in steps of one second."""
    left, queue, now = list(running), [*ahead, 0.0], 0.0
    while True:
        left = [s for s in left if s > 0]
        while len(left) < places and queue:
            seconds = queue.pop(0)
            if not queue:
                return now
            if seconds > 0:
                left.append(seconds)
        left, now = [s - 1 for s in left], now + 1


@examples(60)
@given(st.integers(1, 3), st.data())
def test_the_expected_start_is_that_of_a_simulation(places, data):
    seconds = st.integers(0, 9).map(float)
    running = data.draw(st.lists(seconds, max_size=places))
    ahead = data.draw(st.lists(seconds, max_size=6))
    assert wait_s(running, ahead, places) == _simulated(running, ahead, places)


def test_every_kind_of_job_that_a_button_starts_is_expected_to_take_a_time_that_grows_with_its_size():
    assert EXPECTED.keys() == set(KINDS) - {"answer"}, "a quick answer is asked for by no button"
    small = shipped_scenario("vision_language_8_servers")
    size = small.simulation.model_copy(update={"jobs": 100 * small.simulation.jobs})
    large = small.model_copy(update={"simulation": size})
    sweep = {"values": (1.0, 2.0), "schedulers": ("local",), "jobs": 4000, "replications": 2}
    asked = {"holds": {"scheduler": "local"}, "sweep": sweep, "grid": {"sweep": sweep, "values": (1.0, 2.0)}}
    for kind in EXPECTED:
        options = asked.get(kind, {})
        assert 0 < expected_s(kind, small, options) <= expected_s(kind, large, options)
    assert expected_s("simulate", large, {}) > 20 * expected_s("simulate", small, {})
    assert expected_s("grid", small, asked["grid"]) > expected_s("sweep", small, sweep)


def test_until_code_is_compiled_a_run_is_expected_to_take_as_long_as_simpy_but_for_what_changes_over(
    monkeypatch,
):
    scenario = shipped_scenario("slides_example")
    few, many = (
        scenario.model_copy(
            update={"simulation": scenario.simulation.model_copy(update={"jobs": jobs, "replications": 20})}
        )
        for jobs in (100, 20_000)
    )
    chosen = {"schedulers": tuple(s for s in scenario.schedulers if s.name == "local")}
    few, many = few.model_copy(update=chosen), many.model_copy(update=chosen)
    times = {}
    for ready in (True, False):
        monkeypatch.setattr(expected, "is_ready", lambda family="queries", ready=ready: ready)
        times[ready] = [expected_s("simulate", s, {}) - expected.START_S for s in (few, many)]
    assert times[False][0] == pytest.approx(SLOWER * times[True][0])
    one_s = times[True][1] / 20
    changes_over_s = expected.COMPILE_S["queries"] + SLOWER * one_s + times[True][1]
    assert times[False][1] == pytest.approx(changes_over_s)
    assert changes_over_s < SLOWER * times[True][1]


def test_what_jobs_took_corrects_what_is_expected_of_the_next_one():
    durations = Durations()
    assert durations.pace("plan") == 1.0
    for took in (20.0, 30.0, 40.0):
        durations.note("plan", took, 10.0)
    assert durations.pace("plan") == 3.0, "the median of 2, 3 and 4"
    assert about_text(durations.pace("plan") * 12.0) == "about 40 s"
    assert durations.pace("simulate") == 1.0


def test_a_job_of_which_nothing_is_done_says_what_it_is_at_and_for_how_long(tmp_path):
    job = room.AppJob("1", "simulate", "", tmp_path, status="running", started=time.monotonic() - 40.0)
    job.take_in({"id": "1", "fraction": 0.0, "text": "Reading and contracting the models"})
    assert progress_text(job) == "Reading and contracting the models · 40 s so far"


def test_what_is_left_is_known_before_the_work_tells_it(tmp_path):
    expected_s = 90.0
    job = room.AppJob("1", "simulate", "", tmp_path, status="running", expected_s=expected_s)
    job.started = time.monotonic() - 30.0
    job.take_in({"id": "1", "fraction": 0.0, "text": "Preparing the schedulers"})
    assert job.remaining_s is None
    left_s = float(re.search(r"about (\d+) s left", progress_text(job))[1])
    assert left_s == pytest.approx(60.0 * jobs().pace("simulate"), rel=0.5)
    job.open_ended = True
    assert "left" not in progress_text(job), "nobody knows"
